/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops of the spherical Radon transform on the CPU. Points outside of the image are never visited:
   along a ring the distance to the image's box says how many points can be left out, or taken
   without looking again. Forward, a thread takes a transducer; the adjoint scatters into slabs of
   planes, each a thread's own, so that its sums have one order. */
#include "sradon.h"

#include "core/size.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { SLAB = 16 };	/* planes */

/* Planes of the image with zeros around: points lie up to one voxel outside, one more is for
   rounding. Voxel (i, j, k) of the image is cell (i + 1, j + 1, k - first + 1). */
struct padded {
	int64_t n[3];		/* cells */
	double low[3], high[3];	/* box of the points, voxels */
	int64_t first;		/* plane of the image behind cell plane 1 */
};

static struct padded padded(const struct sradon_params *p, int64_t first, int64_t planes)
{
	struct padded b = { .first = first };
	int64_t n[3] = { p->n[0], p->n[1], planes };

	for (int a = 0; a < 3; a++) {
		b.n[a] = n[a] + 3;
		b.low[a] = -1;
		b.high[a] = (double)n[a];
	}
	b.low[2] += (double)first;
	b.high[2] += (double)first;
	return b;
}

static int64_t cells(const struct padded *b)
{
	return b->n[0] * b->n[1] * b->n[2];
}

struct sradon_work {
	iso_real *image;		/* padded, for the forward */
	double *slab;			/* padded, for each thread */
	struct sradon_ring *rings;	/* of one sphere, for each thread: algorithm 4 */
};

/* ---- along a ring ---- */

/* Eight voxels around a point: the first cell, and the fractions. */
struct corner {
	int64_t cell;
	iso_real f[3];
};

static inline struct corner corner_of(const struct padded *b, const double at[3])
{
	double x = at[0] - b->low[0], y = at[1] - b->low[1], z = at[2] - b->low[2];
	int64_t ix = (int64_t)x, iy = (int64_t)y, iz = (int64_t)z;

	return (struct corner){ (iz * b->n[1] + iy) * b->n[0] + ix,
				{ (iso_real)(x - (double)ix), (iso_real)(y - (double)iy),
				  (iso_real)(z - (double)iz) } };
}

static inline iso_real mix(iso_real a, iso_real b, iso_real f)
{
	return iso_fma(f, b - a, a);
}

static inline iso_real take(const iso_real *image, const struct padded *b, const double at[3])
{
	struct corner c = corner_of(b, at);
	const iso_real *p = image + c.cell, *u = p + b->n[0] * b->n[1];
	int64_t row = b->n[0];
	iso_real low = mix(mix(p[0], p[1], c.f[0]), mix(p[row], p[row + 1], c.f[0]), c.f[1]);
	iso_real high = mix(mix(u[0], u[1], c.f[0]), mix(u[row], u[row + 1], c.f[0]), c.f[1]);

	return mix(low, high, c.f[2]);
}

static inline void give(double *image, const struct padded *b, const double at[3], double v)
{
	struct corner c = corner_of(b, at);
	double *p = image + c.cell;

	for (int k = 0; k < 2; k++)
		for (int j = 0; j < 2; j++) {
			double *to = p + (k * b->n[1] + j) * b->n[0];
			double w = v * (k ? c.f[2] : 1 - c.f[2]) * (j ? c.f[1] : 1 - c.f[1]);

			to[0] += w * (1 - c.f[0]);
			to[1] += w * c.f[0];
		}
}

static inline void point_at(double at[3], const struct sradon_circle *c, double co, double si)
{
	for (int a = 0; a < 3; a++)
		at[a] = c->c[a] + c->a[a] * co + c->b[a] * si;
}

/* How far a point lies outside of the box; inside: minus the distance to its surface. */
static double outside(const struct padded *b, const double at[3])
{
	double most = -INFINITY;

	for (int a = 0; a < 3; a++)
		most = fmax(most, fmax(b->low[a] - at[a], at[a] - b->high[a]));
	return most;
}

/* Either the sum over the ring's points of the image, or `give` of v to all of them. */
struct visit {
	const struct padded *box;
	const iso_real *image;
	double *to, v;
};

/* n points from azimuth (co, si) on, each turned by (dc, ds) from the one before. */
static double run(const struct visit *v, const struct sradon_circle *c, int n, double co,
		  double si, double dc, double ds)
{
	double sum = 0, at[3];

	for (int j = 0; j < n; j++) {
		double next = co * dc - si * ds;

		point_at(at, c, co, si);
		if (v->to)
			give(v->to, v->box, at, v->v);
		else
			sum += take(v->image, v->box, at);
		si = co * ds + si * dc;
		co = next;
	}
	return sum;
}

/* Neighbouring points are at most `chord` apart, so a point `far` outside is followed by
   floor(far / chord) more, and so is one inside. */
static double walk(const struct visit *v, const struct sradon_circle *c,
		   const struct sradon_ring *r, double shift, double chord)
{
	double sum = 0, at[3], dc = cos(r->step), ds = sin(r->step);

	for (int j = 0; j < r->n; ) {
		double co = cos((j + shift) * r->step), si = sin((j + shift) * r->step);

		point_at(at, c, co, si);
		double far = outside(v->box, at);
		double more = fmin(fabs(far) / chord, r->n);
		int n = 1 + (int)more < r->n - j ? 1 + (int)more : r->n - j;

		if (far <= 0)
			sum += run(v, c, n, co, si, dc, ds);
		j += n;
	}
	return sum;
}

/* ---- spheres ---- */

/* Half of a ring's extent along each axis, over its radius. */
struct extent {
	double v[3];
};

static struct extent extent_of(const struct sradon_frame *f)
{
	struct extent e;

	for (int a = 0; a < 3; a++)
		e.v[a] = sqrt(f->ex[a] * f->ex[a] + f->ey[a] * f->ey[a]);
	return e;
}

static bool meets(const struct padded *b, const struct sradon_circle *c, const struct extent *e,
		  double radius)
{
	for (int a = 0; a < 3; a++)
		if (c->c[a] + radius * e->v[a] < b->low[a] || c->c[a] - radius * e->v[a] > b->high[a])
			return false;
	return true;
}

/* Rings of the sphere of sample k around a transducer. */
static const struct sradon_ring *rings_of(const struct sradon *s, const struct sradon_frame *f,
					  int64_t k, int *n, struct sradon_ring *room)
{
	double rho = sradon_radius(&s->p, k);
	double top = rho > 0 ? sradon_theta_max(&s->p, f->distance, rho) : -1;

	*n = sradon_n_rings(&s->p, rho, top);
	if (s->p.sampling == ISO_SRADON_MIDPOINT)
		return s->ring + s->start[k];
	for (int i = 0; i < *n; i++)
		room[i] = sradon_ring(&s->p, rho, sradon_theta(&s->p, rho, top, i));
	return room;
}

/* The weighted sum over the sphere of sample k; a visit that gives takes v->v times each weight. */
static double sphere(const struct sradon *s, const struct sradon_frame *f, int64_t k,
		     const struct visit *v, struct sradon_ring *room)
{
	struct extent e = extent_of(f);
	double rho = sradon_radius(&s->p, k), sum = 0, shift = sradon_shift(&s->p);
	int n;
	const struct sradon_ring *r = rings_of(s, f, k, &n, room);

	for (int i = 0; i < n; i++) {
		double radius = rho * r[i].sin_theta / s->p.ds;
		struct sradon_circle c = sradon_circle(&s->p, f, rho, &r[i]);
		struct visit weighted = *v;

		weighted.v *= r[i].weight;
		if (meets(v->box, &c, &e, radius))
			sum += r[i].weight * walk(&weighted, &c, &r[i], shift,
						  fmax(radius * r[i].step, 1e-9));
	}
	return sum;
}

/* ---- forward ---- */

static void pad(iso_real *to, const struct padded *b, const struct sradon_params *p,
		const iso_real *x)
{
	memset(to, 0, (size_t)cells(b) * sizeof *to);
	for (int64_t iz = 0; iz < p->n[2]; iz++)
		for (int64_t iy = 0; iy < p->n[1]; iy++)
			memcpy(to + ((iz + 1) * b->n[1] + iy + 1) * b->n[0] + 1,
			       x + (iz * p->n[1] + iy) * p->n[0], (size_t)p->n[0] * sizeof *x);
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct sradon *s = op->data;
	const struct sradon_work *w = op->work;
	const struct padded box = padded(&s->p, 0, s->p.n[2]);
	const struct visit v = { .box = &box, .image = w->image };
	int64_t samples = s->p.samples;

	(void)sub;	/* one subset only */
	pad(w->image, &box, &s->p, x);
#pragma omp parallel for schedule(dynamic) num_threads(op->ctx->threads)
	for (int64_t q = 0; q < s->p.n_trans; q++)
		for (int64_t k = 0; k < samples && !iso_ctx_cancelled(op->ctx); k++)
			y[q * samples + k] = (iso_real)sphere(s, &s->frame[q], k, &v,
							      w->rings + omp_get_thread_num() * s->most);
	return iso_ctx_poll(op->ctx);
}

/* ---- adjoint ---- */

static void scatter(const iso_op *op, iso_real *x, int64_t first, const iso_real *y)
{
	const struct sradon *s = op->data;
	const struct sradon_work *w = op->work;
	int64_t left = s->p.n[2] - first, planes = left < SLAB ? left : SLAB;
	const struct padded whole = padded(&s->p, 0, SLAB), box = padded(&s->p, first, planes);
	struct visit v = { .box = &box, .to = w->slab + omp_get_thread_num() * cells(&whole) };

	memset(v.to, 0, (size_t)cells(&whole) * sizeof *v.to);
	for (int64_t j = 0; j < op->n_out && !iso_ctx_cancelled(op->ctx); j++) {
		v.v = y[j];
		if (y[j] != 0)
			sphere(s, &s->frame[j / s->p.samples], j % s->p.samples, &v,
			       w->rings + omp_get_thread_num() * s->most);
	}
	for (int64_t iz = 0; iz < planes; iz++)
		for (int64_t iy = 0; iy < s->p.n[1]; iy++)
			for (int64_t ix = 0; ix < s->p.n[0]; ix++)
				x[((first + iz) * s->p.n[1] + iy) * s->p.n[0] + ix] = (iso_real)
					v.to[((iz + 1) * box.n[1] + iy + 1) * box.n[0] + ix + 1];
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct sradon *s = op->data;

	(void)sub;	/* one subset only */
	if (s->adjoint == ISO_SRADON_GATHER) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(op->ctx->threads)
		for (int64_t n = 0; n < op->n_in; n++)
			if (!iso_ctx_cancelled(op->ctx))
				x[n] = (iso_real)iso_sradon_at(s, n, y);
	} else {
#pragma omp parallel for schedule(dynamic) num_threads(op->ctx->threads)
		for (int64_t first = 0; first < s->p.n[2]; first += SLAB)
			scatter(op, x, first, y);
	}
	return iso_ctx_poll(op->ctx);
}

/* ---- work space ---- */

static void close_work(iso_op *op)
{
	struct sradon_work *w = op->work;

	free(w->image);
	free(w->slab);
	free(w->rings);
	free(w);
}

static int open_work(iso_op *op)
{
	const struct sradon *s = op->data;
	const struct padded whole = padded(&s->p, 0, s->p.n[2]), slab = padded(&s->p, 0, SLAB);
	struct sradon_work *w = size_alloc(1, sizeof *w);

	if (!w)
		return iso_fail_memory("sradon", sizeof *w);
	op->work = w;	/* from here close_work cleans up */
	w->image = size_alloc(cells(&whole), sizeof *w->image);
	w->slab = size_alloc(op->ctx->threads * cells(&slab), sizeof *w->slab);
	w->rings = size_alloc((int64_t)op->ctx->threads * s->most, sizeof *w->rings);
	if (!w->image || !w->slab || !w->rings)
		return iso_fail_memory("image between the steps", cells(&whole) * 8);
	return ISO_OK;
}

const struct iso_op_fn iso_sradon_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.open = open_work,
	.close = close_work,
	.free = iso_sradon_free,
	.to_cuda = "iso_sradon_to_cuda",
};
