/* SPDX-License-Identifier: BSD-3-Clause */
/* Chords through a shape, of neighbouring crystals side by side, so that the processor takes several at once. */
#include "norm_shape.h"

#include <string.h>

#define TINY 1e-200 /* mm; a line that moves by less along an axis does not move along it */
#define EDGE 1e-190 /* mm; a line on the edge of a slab is within it */

/* ---- ends of lines ---- */

/* From the frame of the source to that of its shape: about its centre, a cylinder along the third axis, a box along all. */
static void to_shape(double to[3], const struct source *s, const double p[3])
{
	double d[3];

	for (int c = 0; c < 3; c++) d[c] = p[c] - s->centre[c];
	for (int c = 0; c < 3; c++) to[c] = d[(s->axis + 1 + c) % 3];
	if (s->kind != SOURCE_PLANE) return;
	to[0] = s->turn[0] * d[0] + s->turn[1] * d[1];
	to[1] = s->turn[0] * d[1] - s->turn[1] * d[0];
	to[2] = d[2];
}

static void place_ends(struct norm_shape *m, const double *shift)
{
	const struct norm_q *q = m->q;
	const int64_t n = q->rows->n;

	for (int64_t a = 0; a < n; a++)
		for (int l = 0; l < q->spread.lines; l++) {
			double p[2][3];

			norm_q_ends(p[0], p[1], q, a, a, l);
			for (int side = 0; side < 2; side++) {
				double to[3];

				norm_q_to_source(p[side], q, shift);
				if (q->shape->kind == SOURCE_ORBIT)
					memcpy(to, p[side], sizeof to);
				else
					to_shape(to, q->shape, p[side]);
				for (int c = 0; c < 3; c++) m->end[side][(3 * l + c) * n + a] = to[c];
			}
		}
}

int norm_shape_create(struct norm_shape *m, struct iso_room *room, const struct norm_q *q,
                      const double shift[NORM_SHIFTS], const iso_ctx *ctx)
{
	const int64_t n = q->rows->n, threads = iso_ctx_threads(ctx);

	*m = (struct norm_shape){ .q = q, .width = q->rows->rings > 0 ? q->rows->per_ring : n };
	for (int side = 0; side < 2; side++) ISO_HOST(room, m->end[side], 3 * q->spread.lines * n);
	ISO_HOST(room, m->place, 3 * n);
	ISO_HOST(room, m->sum, threads * m->width);
	ISO_HOST(room, m->weight, threads * m->width);
	ISO_HOST(room, m->met, threads * m->width);
	if (room->status) return room->status;
	for (int64_t a = 0; a < n; a++)
		for (int c = 0; c < 3; c++) m->place[c * n + a] = q->rows->s->pos[3 * a + c];
	place_ends(m, shift);
	return ISO_OK;
}

/* ---- chords: the line is p + t d, 0 <= t <= 1 ---- */

struct stretch {
	double from, to;
};

static inline double least_of(double a, double b)
{
	return a < b ? a : b;
}

static inline double most_of(double a, double b)
{
	return a > b ? a : b;
}

/* Where |p + t d| <= half: without branches, so that the loops stay vectors. A line along the slab, of d = 0, is within it
   from TINY away: all of it, or none. */
static inline struct stretch slab(double p, double d, double half)
{
	const double by = fabs(d) < TINY ? TINY : d;
	const double a = (-half - p - EDGE) / by, b = (half - p + EDGE) / by;

	return (struct stretch){ least_of(a, b), most_of(a, b) };
}

/* Where (px + t dx)^2 + (py + t dy)^2 <= radius^2; a line that misses it has a stretch of length 0. */
static inline struct stretch disc(double px, double py, double dx, double dy, double radius)
{
	const double dd = most_of(dx * dx + dy * dy, TINY), pd = px * dx + py * dy;
	const double c = px * px + py * py - radius * radius;
	const double half = sqrt(most_of(pd * pd - dd * c, 0));

	return (struct stretch){ (-pd - half) / dd, (-pd + half) / dd };
}

static inline double length_of(struct stretch a, struct stretch b, double length)
{
	const double from = most_of(most_of(a.from, b.from), 0), to = least_of(least_of(a.to, b.to), 1);

	return most_of(to - from, 0) * length;
}

/* What a line adds to its pair. */
static inline void add(double *sum, double *met, double chord)
{
	*sum += chord;
	*met += chord > 0 ? 1 : 0;
}

/* Line l of crystal a with n crystals from b on. */
struct fan {
	double p[3];             /* its first end */
	const double *x, *y, *z; /* last ends */
	int64_t n;
	double *sum;
	double *met;
};

static void through_cylinder(const struct fan *f, const struct source *s)
{
	const double px = f->p[0], py = f->p[1], pz = f->p[2], radius = s->radius, half = .5 * s->length;

#pragma omp simd
	for (int64_t j = 0; j < f->n; j++) {
		const double dx = f->x[j] - px, dy = f->y[j] - py, dz = f->z[j] - pz;

		add(f->sum + j, f->met + j,
		    length_of(disc(px, py, dx, dy, radius), slab(pz, dz, half),
		              sqrt(dx * dx + dy * dy + dz * dz)));
	}
}

static void through_box(const struct fan *f, const struct source *s)
{
	const double px = f->p[0], py = f->p[1], pz = f->p[2];
	const double hx = s->half[0], hy = s->half[1], hz = s->half[2];

#pragma omp simd
	for (int64_t j = 0; j < f->n; j++) {
		const double dx = f->x[j] - px, dy = f->y[j] - py, dz = f->z[j] - pz;
		const struct stretch a = slab(px, dx, hx), b = slab(py, dy, hy);
		const struct stretch flat = { most_of(a.from, b.from), least_of(a.to, b.to) };

		add(f->sum + j, f->met + j,
		    length_of(flat, slab(pz, dz, hz), sqrt(dx * dx + dy * dy + dz * dz)));
	}
}

static void through_orbit(const struct fan *f, const struct source *s)
{
	for (int64_t j = 0; j < f->n; j++)
		add(f->sum + j, f->met + j,
		    source_integral(s, f->p, (const double[]){ f->x[j], f->y[j], f->z[j] }));
}

static void (*const through[])(const struct fan *, const struct source *) = {
	[SOURCE_CYLINDER] = through_cylinder,
	[SOURCE_PLANE] = through_box,
	[SOURCE_ORBIT] = through_orbit,
};

/* pairs_solid_angle of neighbours. */
static void weigh(double *w, const struct norm_shape *m, int64_t a, int64_t b, int64_t n)
{
	const int64_t all = m->q->rows->n;
	const double *x = m->place + b, *y = x + all, *z = y + all;
	const double px = m->place[a], py = m->place[all + a], pz = m->place[2 * all + a];

#pragma omp simd
	for (int64_t j = 0; j < n; j++) {
		const double dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
		const double l2 = dx * dx + dy * dy + dz * dz;
		const double c1 = -(px * dx + py * dy), c2 = x[j] * dx + y[j] * dy;

		w[j] = most_of(c1, 0) * most_of(c2, 0) * 4 / (l2 * l2);
	}
}

/* The line from crystal a, with its n partners from b on. */
static struct fan fan_of(const struct norm_shape *m, int64_t a, int64_t b, int64_t n, int line)
{
	const int64_t all = m->q->rows->n;
	const double *from = m->end[0] + 3 * line * all + a, *to = m->end[1] + 3 * line * all + b;

	return (struct fan){
		.p = { from[0], from[all], from[2 * all] }, .x = to, .y = to + all, .z = to + 2 * all, .n = n
	};
}

double norm_shape_chord(const struct norm_shape *m, int64_t a, int64_t b, int line)
{
	struct fan f = fan_of(m, a, b, 1, line);
	double sum = 0;
	double met = 0;

	f.sum = &sum;
	f.met = &met;
	through[m->q->shape->kind](&f, m->q->shape);
	return sum;
}

void norm_shape_run(struct norm_shape *m, int thread, int64_t a, int64_t b, int64_t n)
{
	double *sum = m->sum + thread * m->width;
	double *met = m->met + thread * m->width;

	memset(sum, 0, (size_t)n * sizeof *sum);
	memset(met, 0, (size_t)n * sizeof *met);
	for (int l = 0; l < m->q->spread.lines; l++) {
		struct fan f = fan_of(m, a, b, n, l);

		f.sum = sum;
		f.met = met;
		through[m->q->shape->kind](&f, m->q->shape);
	}
	if (m->q->weigh) weigh(m->weight + thread * m->width, m, a, b, n);
}
