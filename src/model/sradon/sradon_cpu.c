/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops of the spherical Radon transform on the CPU. Of each ring the arcs inside of the image's box
   are found first; points of an arc go in groups, whose places are worked out as vectors. Forward, a
   thread takes a transducer; the adjoint scatters into slabs of planes, each a thread's own, so
   that its sums have one order. A rank has its share of the transducers, or of the slabs. */
#include "sradon.h"

#include "core/comm.h"
#include "core/size.h"

#include <omp.h>

enum { SLABS = 16, THIN = 8, THICK = 32 }; /* of an image; planes of a slab, whatever their number */
enum { GROUP = 8 };                        /* points whose places are worked out together */
enum {
	BEFORE = 2,
	AROUND = 4
}; /* cells before the first voxel (a point one voxel outside, and rounding); in all */

/* Planes of the image with zeros around. Voxel (i, j, k) of the image is cell (i, j, k - first),
   each plus BEFORE. */
struct padded {
	int64_t n[3];           /* cells */
	double low[3], high[3]; /* box of the points, voxels */
	int64_t first;          /* plane of the image behind cell plane BEFORE */
};

static struct padded padded(const struct sradon_params *p, int64_t first, int64_t planes)
{
	return (struct padded){ .n = { p->n[0] + AROUND, p->n[1] + AROUND, planes + AROUND },
		                .low = { -1, -1, (double)(first - 1) },
		                .high = { (double)p->n[0], (double)p->n[1], (double)(first + planes) },
		                .first = first };
}

static int64_t cells(const struct padded *b)
{
	return b->n[0] * b->n[1] * b->n[2];
}

/* Planes of a slab: thick ones cut rings into fewer arcs, many keep more threads busy. Of the image
   alone, so that sums are the same for every number of threads. */
static int64_t slab_planes(const struct sradon_params *p)
{
	int64_t n = p->n[2] / SLABS;

	return n < THIN ? THIN : n > THICK ? THICK : n;
}

/* Cell of voxel (0, iy, iz) of the image. */
static int64_t cell_of(const struct padded *b, int64_t iy, int64_t iz)
{
	return ((iz - b->first + BEFORE) * b->n[1] + iy + BEFORE) * b->n[0] + BEFORE;
}

struct sradon_work {
	iso_real *image; /* padded, for the forward */
	double *slab;    /* padded, for each thread */
};

/* ---- points ---- */

/* Places of a group of points: the first of the eight cells around each, and the fractions. */
struct group {
	double co[GROUP], si[GROUP]; /* of the azimuths */
	int32_t cell[3][GROUP];
	iso_real f[3][GROUP];
};

/* A ring in cells: point at azimuth phi is c + a cos(phi) + b sin(phi). Turns by one point, by two
   and so on. */
struct circle {
	double c[3], a[3], b[3];
	double co[4], si[4]; /* of 1, 2, 4, GROUP steps */
};

static void find_cells(struct group *g, const struct circle *circle)
{
	for (int k = 0; k < 3; k++) {
		double c = circle->c[k], a = circle->a[k], b = circle->b[k];

#pragma omp simd
		for (int i = 0; i < GROUP; i++) {
			double x = c + a * g->co[i] + b * g->si[i];
			int32_t cell = (int32_t)x;

			g->cell[k][i] = cell;
			g->f[k][i] = (iso_real)(x - (double)cell);
		}
	}
}

static void turn_group(struct group *g, const struct circle *c)
{
	double co = c->co[3], si = c->si[3];

#pragma omp simd
	for (int i = 0; i < GROUP; i++) {
		double old = g->co[i];

		g->co[i] = old * co - g->si[i] * si;
		g->si[i] = old * si + g->si[i] * co;
	}
}

/* Two neighbours along x, mixed at once; and where they lie in an image. */
typedef iso_real two __attribute__((vector_size(2 * sizeof(iso_real))));
typedef two two_at __attribute__((aligned(sizeof(iso_real)), may_alias));

/* The sum of the image at the first n points of a group. */
static iso_real take(const iso_real *image, const struct padded *b, const struct group *g, int n)
{
	int64_t row = b->n[0], plane = row * b->n[1];
	iso_real sum = 0;

	for (int i = 0; i < n; i++) {
		const iso_real *p = image + g->cell[2][i] * plane + g->cell[1][i] * row + g->cell[0][i];
		two low = *(const two_at *)p, high = *(const two_at *)(p + row);

		low += g->f[2][i] * (*(const two_at *)(p + plane) - low);
		high += g->f[2][i] * (*(const two_at *)(p + plane + row) - high);
		low += g->f[1][i] * (high - low);
		sum += iso_fma(g->f[0][i], low[1] - low[0], low[0]);
	}
	return sum;
}

static void give(double *image, const struct padded *b, const struct group *g, int n, double v)
{
	int64_t row = b->n[0], plane = row * b->n[1];

	for (int i = 0; i < n; i++) {
		double *p = image + g->cell[2][i] * plane + g->cell[1][i] * row + g->cell[0][i];
		double x = g->f[0][i], y = g->f[1][i], z = g->f[2][i];
		double up = v * z, low = v - up, high_y = low * y, up_y = up * y;
		double w[4] = { low - high_y, high_y, up - up_y, up_y };
		int64_t at[4] = { 0, row, plane, plane + row };

		for (int k = 0; k < 4; k++) {
			double second = w[k] * x;

			p[at[k]] += w[k] - second;
			p[at[k] + 1] += second;
		}
	}
}

/* With `to` NULL a ring's points read `image`; else each adds v, spread trilinearly, to `to`. */
struct visit {
	const struct padded *box;
	const iso_real *image;
	double *to, v;
};

/* n points from an azimuth on. */
static double run(const struct visit *v, const struct circle *c, int n, double azimuth)
{
	struct group g;
	double sum = 0;

	g.co[0] = cos(azimuth);
	g.si[0] = sin(azimuth);
	for (int k = 1, t = 0; k < GROUP; k *= 2, t++)
		for (int i = 0; i < k; i++) { /* point k + i from point i */
			g.co[k + i] = g.co[i] * c->co[t] - g.si[i] * c->si[t];
			g.si[k + i] = g.co[i] * c->si[t] + g.si[i] * c->co[t];
		}
	for (int j = 0; j < n; j += GROUP) {
		int some = n - j < GROUP ? n - j : GROUP;

		find_cells(&g, c);
		if (v->to)
			give(v->to, v->box, &g, some, v->v);
		else
			sum += take(v->image, v->box, &g, some);
		turn_group(&g, c);
	}
	return sum;
}

/* ---- rings and spheres ---- */

/* A transducer as the voxels see it: place and axes in voxels; what iso_sradon_arcs wants. */
struct seen {
	double pos[3], n[3], ex[3], ey[3];
	double reach[3], phase[3]; /* of a ring of 1 mm */
};

static struct seen seen_of(const struct sradon_params *p, const struct sradon_frame *f)
{
	struct seen s;

	for (int a = 0; a < 3; a++) {
		s.pos[a] = (f->pos[a] - p->first[a]) / p->ds;
		s.n[a] = f->n[a] / p->ds;
		s.ex[a] = f->ex[a] / p->ds;
		s.ey[a] = f->ey[a] / p->ds;
		s.reach[a] = hypot(s.ex[a], s.ey[a]);
		s.phase[a] = atan2(s.ey[a], s.ex[a]);
	}
	return s;
}

/* The part of a ring that lies in the box. */
static double walk(const struct visit *v, const struct seen *s, double rho, const struct sradon_ring *r,
                   double shift)
{
	const struct padded *b = v->box;
	double along = rho * r->cos_theta, across = rho * r->sin_theta, sum = 0;
	struct sradon_arc arc[SRADON_ARCS];
	struct sradon_hoop h;
	struct circle c;

	for (int a = 0; a < 3; a++) {
		h.c[a] = s->pos[a] + along * s->n[a];
		h.reach[a] = across * s->reach[a];
		h.phase[a] = s->phase[a];
		h.low[a] = b->low[a];
		h.high[a] = b->high[a];
		if (h.c[a] + h.reach[a] < b->low[a] || h.c[a] - h.reach[a] > b->high[a]) return 0;
		c.c[a] = h.c[a] - b->low[a] + (BEFORE - 1); /* low is a voxel before the first */
		c.a[a] = across * s->ex[a];
		c.b[a] = across * s->ey[a];
	}
	int n = iso_sradon_arcs(arc, &h, r->step, shift, r->n);

	if (n == 0) return 0;
	c.co[0] = cos(r->step);
	c.si[0] = sin(r->step);
	for (int i = 1; i < 4; i++) {
		c.co[i] = c.co[i - 1] * c.co[i - 1] - c.si[i - 1] * c.si[i - 1];
		c.si[i] = 2 * c.co[i - 1] * c.si[i - 1];
	}
	for (int i = 0; i < n; i++) sum += run(v, &c, arc[i].n, (arc[i].first + shift) * r->step);
	return sum;
}

/* The weighted sum over the sphere of sample k around transducer q; a visit that gives takes v->v times each
   weight. */
static double sphere(const struct sradon *s, int64_t q, const struct seen *seen, int64_t k,
                     const struct visit *v)
{
	double rho = sradon_radius(&s->p, k), sum = 0, shift = sradon_shift(&s->p);
	double top = rho > 0 ? sradon_theta_max(&s->p, s->frame[q].distance, rho) : -1;
	int n = sradon_n_rings(&s->p, rho, top);

	for (int i = 0; i < n; i++) {
		const struct sradon_ring r = sradon_ring_of(s, k, rho, top, i);
		struct visit weighted = *v;

		weighted.v *= r.weight;
		sum += r.weight * walk(&weighted, seen, rho, &r, shift);
	}
	return sum;
}

/* ---- the operator ---- */

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct sradon *s = op->data;
	const struct sradon_work *w = op->work;
	const struct padded box = padded(&s->p, 0, s->p.n[2]);
	const struct visit v = { .box = &box, .image = w->image };
	const int64_t samples = s->p.samples, *n = s->p.n;
	const struct iso_rows own = iso_share(op->ctx, s->p.n_trans);

	(void)sub; /* one subset only */
	iso_op_counts(op, "project", "traces", own.n);
	memset(w->image, 0, (size_t)cells(&box) * sizeof *x);
	for (int64_t iz = 0; iz < n[2]; iz++)
		for (int64_t iy = 0; iy < n[1]; iy++)
			memcpy(w->image + cell_of(&box, iy, iz), x + (iz * n[1] + iy) * n[0],
			       (size_t)n[0] * sizeof *x);
#pragma omp parallel for schedule(dynamic) num_threads(op->ctx->threads)
	for (int64_t q = own.first; q < own.first + own.n; q++) {
		const struct seen seen = seen_of(&s->p, &s->frame[q]);

		for (int64_t k = 0; k < samples && !iso_ctx_cancelled(op->ctx); k++)
			y[q * samples + k] = (iso_real)sphere(s, q, &seen, k, &v);
		iso_op_count(op, 1);
	}
	return iso_comm_gather(op->ctx, iso_ctx_poll(op->ctx), y, s->p.n_trans, samples * (int64_t)sizeof *y);
}

/* What a transducer's trace gives to the box: of the samples whose spheres meet it. */
static void scatter_trace(const struct sradon *s, int64_t q, struct visit *v, const iso_real *trace)
{
	const struct seen seen = seen_of(&s->p, &s->frame[q]);
	const struct padded *b = v->box;
	double per_voxel = s->p.ds / (s->p.speed * s->p.dt_us), start = s->p.first_us / s->p.dt_us;
	double near = 0, far = 0;

	for (int a = 0; a < 3; a++) {
		double middle = (b->low[a] + b->high[a]) / 2, half = (b->high[a] - b->low[a]) / 2;
		double off = fabs(seen.pos[a] - middle);

		near += off > half ? (off - half) * (off - half) : 0;
		far += (off + half) * (off + half);
	}
	int64_t first = (int64_t)fmax(0, floor(sqrt(near) * per_voxel - start) - 1);
	int64_t last = (int64_t)fmin((double)(s->p.samples - 1), ceil(sqrt(far) * per_voxel - start) + 1);

	for (int64_t k = first; k <= last; k++) {
		v->v = trace[k];
		if (v->v != 0) sphere(s, q, &seen, k, v);
	}
}

static void scatter(const iso_op *op, iso_real *x, int64_t first, const iso_real *y)
{
	const struct sradon *s = op->data;
	const struct sradon_work *w = op->work;
	int64_t left = s->p.n[2] - first, most = slab_planes(&s->p), planes = left < most ? left : most;
	const struct padded whole = padded(&s->p, 0, most), box = padded(&s->p, first, planes);
	struct visit v = { .box = &box, .to = w->slab + omp_get_thread_num() * cells(&whole) };

	memset(v.to, 0, (size_t)cells(&whole) * sizeof *v.to);
	for (int64_t q = 0; q < s->p.n_trans && !iso_ctx_cancelled(op->ctx); q++) {
		scatter_trace(s, q, &v, y + q * s->p.samples);
		iso_op_count(op, 1);
	}
	for (int64_t iz = first; iz < first + planes; iz++)
		for (int64_t iy = 0; iy < s->p.n[1]; iy++) {
			iso_real *to = x + (iz * s->p.n[1] + iy) * s->p.n[0];
			const double *from = v.to + cell_of(&box, iy, iz);

			for (int64_t ix = 0; ix < s->p.n[0]; ix++) to[ix] = (iso_real)from[ix];
		}
}

/* Voxel by voxel. */
static int adjoint_gather(const iso_op *op, iso_real *x, const iso_real *y)
{
	const struct iso_rows own = iso_share(op->ctx, op->n_in);

	iso_op_counts(op, "backproject", "voxels", own.n);
#pragma omp parallel for schedule(dynamic, 16) num_threads(op->ctx->threads)
	for (int64_t n = own.first; n < own.first + own.n; n++) {
		if (!iso_ctx_cancelled(op->ctx)) x[n] = (iso_real)iso_sradon_at(op->data, n, y);
		iso_op_count(op, 1);
	}
	return iso_comm_gather(op->ctx, iso_ctx_poll(op->ctx), x, op->n_in, sizeof *x);
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct sradon *s = op->data;
	int64_t planes = slab_planes(&s->p), slabs = (s->p.n[2] + planes - 1) / planes;
	const int64_t plane = s->p.n[0] * s->p.n[1] * (int64_t)sizeof *x; /* bytes */
	const struct iso_rows own = iso_share(op->ctx, slabs);

	(void)sub; /* one subset only */
	if (s->adjoint == ISO_SRADON_GATHER) return adjoint_gather(op, x, y);
	iso_op_counts(op, "backproject", "traces", own.n * s->p.n_trans);
#pragma omp parallel for schedule(dynamic) num_threads(op->ctx->threads)
	for (int64_t i = own.first; i < own.first + own.n; i++) scatter(op, x, i * planes, y);
	return iso_comm_gather_cut(op->ctx, iso_ctx_poll(op->ctx), x, slabs, planes * plane,
	                           s->p.n[2] * plane);
}

int64_t iso_sradon_slab_cells(const struct sradon_params *p, int threads)
{
	const struct padded slab = padded(p, 0, slab_planes(p));
	int64_t n[4] = { slab.n[0], slab.n[1], slab.n[2], threads }, all;

	return size_product(&all, 4, n) ? all : INT64_MAX;
}

static int open_work(iso_op *op)
{
	const struct sradon *s = op->data;
	const struct padded whole = padded(&s->p, 0, s->p.n[2]);
	struct sradon_work *w = op->work;

	ISO_HOST(&op->room, w->image, cells(&whole));
	ISO_HOST(&op->room, w->slab, iso_sradon_slab_cells(&s->p, op->ctx->threads));
	return op->room.status;
}

const struct iso_op_fn iso_sradon_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.open = open_work,
	.to_cuda = "iso_sradon_to_cuda",
	.work = sizeof(struct sradon_work),
};
