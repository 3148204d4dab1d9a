/* SPDX-License-Identifier: BSD-3-Clause */
/* Expected counts of pairs, from a shape or an image. */
#include "norm_scatter.h"

#include "core/comm.h"
#include "core/size.h"
#include "model/ray/ray_integrals.h"

#include <string.h>

#define LEAST 1e-4        /* of the mean q: least q of a used pair */
enum { BLOCK = 1 << 16 }; /* pairs at a time whose lines go through an image */

static const double differences[NORM_SHIFTS] = { .05, .05, 2e-4, 2e-4 }; /* mm, rad: half a step */

/* A place in the frame of a source that was moved by shift[0], shift[1] along x and y, and then turned about its centre, so
   that its axis leans by shift[2] towards x and shift[3] towards y. */
void norm_q_to_source(double p[3], const struct norm_q *q, const double shift[NORM_SHIFTS])
{
	const double *centre = q->shape->centre;
	const double x = p[0] - centre[0] - shift[0], y = p[1] - centre[1] - shift[1], z = p[2] - centre[2];
	const double c0 = cos(shift[2]), s0 = sin(shift[2]), c1 = cos(shift[3]), s1 = sin(shift[3]);
	const double up = x * s0 + z * c0;

	p[0] = centre[0] + x * c0 - z * s0;
	p[1] = centre[1] + y * c1 - up * s1;
	p[2] = centre[2] + y * s1 + up * c1;
}

static double weight(const struct norm_q *q, int64_t a, int64_t b)
{
	const double *pos = q->rows->s->pos;

	return q->factor * q->scale * (q->weigh ? pairs_solid_angle(pos + 3 * a, pos + 3 * b) : 1);
}

static void ends(double p1[3], double p2[3], const struct norm_q *q, int64_t a, int64_t b, int line)
{
	memcpy(p1, q->rows->s->pos + 3 * a, 3 * sizeof *p1);
	memcpy(p2, q->rows->s->pos + 3 * b, 3 * sizeof *p2);
	ray_move_ends(p1, p2, &q->spread, line);
}

/* ---- a block of pairs ---- */

/* Neighbouring pairs, and the integrals of the source along the lines of each. */
struct block {
	int64_t n;
	uint32_t *a, *b;
	int64_t first;   /* number of the first pair */
	iso_real *chord; /* (n, lines) */
	iso_real *alpha; /* the same, of the attenuation; NULL */
	struct iso_events e;
};

static int make_block(struct block *b, struct iso_room *room, const struct norm_q *q, int64_t most)
{
	*b = (struct block){ 0 };
	ISO_HOST(room, b->a, most);
	ISO_HOST(room, b->b, most);
	ISO_HOST(room, b->chord, most * q->spread.lines);
	if (q->mu) ISO_HOST(room, b->alpha, most * q->spread.lines);
	if (q->mu || q->image) ISO_HOST(room, b->e.v, most * q->spread.lines);
	return room->status;
}

/* Rows from *row to `end`, as many as fit. */
static void take_rows(struct block *b, const struct norm_q *q, int64_t *row, int64_t end,
                      struct norm_run *run, int64_t most)
{
	const struct norm_rows *r = q->rows;

	b->n = 0;
	b->first = r->first[*row];
	for (; *row < end && r->first[*row + 1] - b->first <= most; (*row)++) {
		const int64_t runs = norm_rows_runs(run, r, *row);

		for (int64_t k = 0; k < runs; k++)
			for (int64_t j = 0; j < run[k].n; j++) {
				b->a[b->n] = (uint32_t)*row;
				b->b[b->n++] = (uint32_t)(run[k].b + j);
			}
	}
}

static void set_lines(struct block *b, const struct norm_q *q, const iso_ctx *ctx)
{
	const int lines = q->spread.lines;

#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < b->n; i++)
		for (int l = 0; l < lines; l++) {
			double p1[3], p2[3];
			struct iso_event *e = b->e.v + i * lines + l;

			ends(p1, p2, q, b->a[i], b->b[i], l);
			for (int c = 0; c < 3; c++) {
				e->p1[c] = (float)p1[c];
				e->p2[c] = (float)p2[c];
			}
		}
	b->e.n = b->n * lines;
}

/* Where lines begin and end, in the frame of the source at these shifts: (crystals, lines, 3) each. A line needs them once for
   all its pairs. */
static int place_ends(double *end[2], struct iso_room *room, const struct norm_q *q, const double *shift)
{
	const int lines = q->spread.lines;

	ISO_HOST(room, end[0], 3 * q->rows->n * lines);
	ISO_HOST(room, end[1], 3 * q->rows->n * lines);
	for (int64_t i = 0; i < q->rows->n * lines && !room->status; i++) {
		double *p1 = end[0] + 3 * i, *p2 = end[1] + 3 * i;

		ends(p1, p2, q, i / lines, i / lines, (int)(i % lines));
		norm_q_to_source(p1, q, shift);
		norm_q_to_source(p2, q, shift);
	}
	return room->status;
}

static void meet_shape(struct block *b, const struct norm_q *q, const float *used, double *const end[2],
                       const iso_ctx *ctx)
{
	const int lines = q->spread.lines;

#pragma omp parallel for schedule(dynamic, 256) num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < b->n; i++)
		for (int l = 0; l < lines; l++) {
			const double *p1 = end[0] + 3 * ((int64_t)b->a[i] * lines + l);
			const double *p2 = end[1] + 3 * ((int64_t)b->b[i] * lines + l);
			const bool asked = !used || used[b->first + i] > 0;

			b->chord[i * lines + l] = asked ? (iso_real)source_integral(q->shape, p1, p2) : 0;
		}
}

static int meet_image(struct block *b, const struct norm_q *q, const iso_real *image, iso_ctx *ctx)
{
	const struct iso_ray p = { .size = sizeof p, .grid = q->image->grid, .n_sub = 1 };

	set_lines(b, q, ctx);
	return iso_ray_integrals(b->chord, ctx, &p, image, &b->e);
}

/* ---- all pairs ---- */

void norm_q_move_image(iso_real *to, const struct iso_array *image, const double *shift)
{
	const struct iso_grid *g = &image->grid;
	const int64_t nx = g->n[0], ny = g->n[1], nz = g->n[2];
	const double fx = -shift[0] / g->voxel[0], fy = -shift[1] / g->voxel[1];
	const int64_t ix = (int64_t)floor(fx), iy = (int64_t)floor(fy);
	const double wx = fx - (double)ix, wy = fy - (double)iy;

	for (int64_t k = 0; k < nz; k++)
		for (int64_t j = 0; j < ny; j++)
			for (int64_t i = 0; i < nx; i++) {
				double sum = 0;

				for (int c = 0; c < 4; c++) {
					const int64_t x = i + ix + c % 2, y = j + iy + c / 2;

					if (x < 0 || y < 0 || x >= nx || y >= ny) continue;
					sum += (c % 2 ? wx : 1 - wx) * (c / 2 ? wy : 1 - wy) *
					       (double)image->v[(k * ny + y) * nx + x];
				}
				to[(k * ny + j) * nx + i] = (iso_real)sum;
			}
}

/* The mean over lines; 0 where a line misses the source, of pairs that are being chosen. */
static double mean_line(struct norm_q *q, const struct block *b, int64_t i, bool choose)
{
	const int lines = q->spread.lines;
	const iso_real *chord = b->chord + i * lines;
	double sum = 0, passed = 0;
	int met = 0;

	for (int l = 0; l < lines; l++) {
		met += chord[l] > 0;
		sum += (double)chord[l];
		if (choose && b->alpha) passed += (double)chord[l] * (double)b->alpha[i * lines + l];
	}
	if (choose && met > 0 && met < lines) {
#pragma omp atomic
		q->edges++;
		return 0;
	}
	if (choose && q->alpha) q->alpha[b->first + i] = sum > 0 ? (float)(passed / sum) : 0;
	return sum / lines * (q->alpha ? (double)q->alpha[b->first + i] : 1);
}

/* Scattered counts of a pair that is used. */
static double scatter_of(const struct norm_q *q, int64_t pair)
{
	return q->h ? q->factor * q->scale * (double)q->h[pair] : 0;
}

static void put(float *to, struct norm_q *q, const struct block *b, const float *used, const iso_ctx *ctx)
{
#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < b->n; i++) {
		if (used && !(used[b->first + i] > 0)) {
			to[b->first + i] = 0;
			continue;
		}
		const double w = weight(q, b->a[i], b->b[i]), mean = mean_line(q, b, i, !used);
		const bool pair =
			q->rows->rings > 0 || iso_scanner_in_coincidence(q->rows->s, b->a[i], b->b[i]);

		to[b->first + i] = !pair  ? 0
		                   : used ? (float)(fmax(w * mean, q->least) + scatter_of(q, b->first + i))
		                          : (float)(w * mean);
	}
}

/* Each rank has made the pairs of its rows. */
static int gather(float *to, struct norm_q *q, bool chose, int st, iso_ctx *ctx)
{
	const int ranks = iso_ranks(ctx);
	int64_t *first;

	if (ranks == 1) return st;
	if (!(first = size_alloc(ranks + 1, sizeof *first)))
		return iso_comm_agree(ctx, iso_fail_memory("ranks", ranks * (int64_t)sizeof *first));
	for (int r = 0; r <= ranks; r++)
		first[r] = q->rows->first[norm_rows_of_part(q->rows, r, ranks)] * (int64_t)sizeof *to;
	st = iso_comm_gather_host(ctx, st, to, first);
	if (!st && chose) st = iso_comm_sum(ctx, st, &q->edges, 1);
	if (!st && chose && q->alpha) st = iso_comm_gather_host(ctx, st, q->alpha, first);
	free(first);
	return st;
}

/* to = q at this shift; `used`: of pairs that have a value there alone. NULL: they are chosen now. */
static int fill(float *to, struct norm_q *q, const float *used, const struct norm_scan *s, const double *all,
                iso_ctx *ctx)
{
	double shift[NORM_SHIFTS] = { 0 };
	struct iso_room room = iso_room_of(NULL, "norm");
	struct norm_run *run;
	struct block b;
	double *end[2] = { NULL, NULL };
	iso_real *image = q->image ? q->image->v : NULL;
	int64_t longest = BLOCK;
	int st;

	memcpy(shift, all, (size_t)q->places * sizeof *shift);
	q->scale = s->shifts > q->places ? exp(all[q->places]) : 1;
	for (int64_t a = 0; a < q->rows->n; a++) {
		const int64_t n = q->rows->first[a + 1] - q->rows->first[a];

		longest = n > longest ? n : longest;
	}
	ISO_HOST(&room, run, norm_rows_most(q->rows));
	if (q->image && (shift[0] != 0 || shift[1] != 0) && ISO_HOST(&room, image, q->image->n))
		norm_q_move_image(image, q->image, shift);
	st = make_block(&b, &room, q, longest);
	if (!st && q->shape) st = place_ends(end, &room, q, shift);
	const int rank = iso_rank(ctx), ranks = iso_ranks(ctx);
	const int64_t end_row = norm_rows_of_part(q->rows, rank + 1, ranks);

	for (int64_t row = norm_rows_of_part(q->rows, rank, ranks); row < end_row && !st;) {
		take_rows(&b, q, &row, end_row, run, longest);
		if (b.n == 0) continue;
		if (q->shape)
			meet_shape(&b, q, used, end, ctx);
		else
			st = meet_image(&b, q, image, ctx);
		if (!st && !used && b.alpha) {
			set_lines(&b, q, ctx);
			st = iso_ray_attenuation(b.alpha, ctx, q->mu, &b.e);
		}
		if (!st) put(to, q, &b, used, ctx);
		if (!st) st = iso_ctx_poll(ctx);
	}
	iso_room_free(&room);
	return gather(to, q, !used, st, ctx);
}

/* q of the pairs that were chosen, which has no scatter yet, gets it. */
static int add_scatter(struct norm_q *q, struct norm_scan *s, iso_ctx *ctx)
{
	const int64_t n = q->rows->first[q->rows->n];
	double shift[NORM_SHIFTS] = { 0 };
	int st;

	memcpy(shift, s->shift, (size_t)q->places * sizeof *shift);
	if ((st = norm_scatter_estimate(q, shift, ctx)) || (st = norm_scatter_fill(q, s->q, ctx))) return st;
	for (int64_t i = 0; i < n; i++)
		if (s->q[i] > 0) s->q[i] = (float)((double)s->q[i] + scatter_of(q, i));
	return ISO_OK;
}

static int choose(struct norm_q *q, struct norm_scan *s, iso_ctx *ctx)
{
	const int64_t n = q->rows->first[q->rows->n];
	double sum = 0;
	int64_t used = 0;

	q->edges = 0;
	int st = fill(s->q, q, NULL, s, s->shift, ctx);

	for (int64_t i = 0; i < n && !st; i++) {
		sum += (double)s->q[i];
		used += s->q[i] > 0;
	}
	q->least = used > 0 ? LEAST * sum / (double)used : 0;
	for (int64_t i = 0; i < n && !st; i++)
		if (s->q[i] > 0) s->q[i] = (float)fmax((double)s->q[i], q->least);
	if (!st && q->scatter && used > 0) st = add_scatter(q, s, ctx);
	q->chosen = !st;
	return st;
}

int norm_q_make(struct norm_scan *s, bool slopes, iso_ctx *ctx)
{
	struct norm_q *q = s->arg;
	const int64_t n = q->rows->first[q->rows->n];
	int st = q->chosen ? fill(s->q, q, s->q, s, s->shift, ctx) : choose(q, s, ctx);

	for (int c = 0; c < q->places && slopes && !st; c++) {
		double at[NORM_SHIFTS];
		const double h = differences[c];

		memcpy(at, s->shift, sizeof at);
		at[c] = s->shift[c] + h;
		if ((st = fill(s->slope[c], q, s->q, s, at, ctx))) break;
		at[c] = s->shift[c] - h;
		if ((st = fill(q->spare, q, s->q, s, at, ctx))) break;
#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
		for (int64_t i = 0; i < n; i++)
			s->slope[c][i] = (float)(((double)s->slope[c][i] - (double)q->spare[i]) / (2 * h));
	}
	return st;
}

int norm_q_create(struct norm_q *q, struct norm_scan *s, struct iso_room *room)
{
	const int64_t n = q->rows->first[q->rows->n];

	ISO_HOST(room, s->q, n);
	if (q->mu) ISO_HOST(room, q->alpha, n);
	if (q->scatter) ISO_HOST(room, q->h, n);
	for (int c = 0; c < q->places; c++) ISO_HOST(room, s->slope[c], n);
	if (q->places > 0) ISO_HOST(room, q->spare, n);
	s->make = norm_q_make;
	s->arg = q;
	return room->status;
}

void norm_q_free(struct norm_q *q)
{
	iso_scatter_free(q->table);
	q->table = NULL;
}
