/* SPDX-License-Identifier: BSD-3-Clause */
/* The integral of sound that arrives at one time through tissue, on the CPU. It goes over a surface rho(w) round the
   transducer, w a direction:

	S = sum over directions of solid angle rho^2 B/(4 pi c^2 dT/drho) A,   B the amplitude,

   which is rho/(4 pi c) A on straight rays with B = 1/rho. Directions are those of the sphere of the greater speed.

   Forward, a thread takes a transducer. The adjoint adds whole numbers, so that sums do not depend on their order: a
   thread takes a transducer, and adds to an image of its own, or where memory is short to that of all. */
#include "sradon_tissue.h"

#include "core/comm.h"

#include <omp.h>

#define ROUNDING .01 /* voxels */

#define OWN_BYTES (1ll << 30) /* of the images of all threads */

struct work {
	int copies;    /* images: of each thread, or one */
	int64_t *sums; /* (copies, voxels) */
};

static int copies_of(const iso_ctx *ctx, int64_t voxels)
{
	int n = iso_ctx_threads(ctx);

	return n * voxels * (int64_t)sizeof(int64_t) <= OWN_BYTES ? n : 1;
}

/* ---- the points of a transducer's surface at one time ---- */

/* For every point in the image; a visit reads x into `sum`, or adds `value` to `to`. */
struct visit {
	const iso_real *x;
	double sum;
	int64_t *to;
	bool alone;   /* no other thread adds to it */
	double value; /* times the scale of whole numbers */
};

static inline void add(const struct visit *v, int64_t voxel, double value)
{
	int64_t whole = llrint(value);

	if (v->alone) {
		v->to[voxel] += whole;
		return;
	}
#pragma omp atomic
	v->to[voxel] += whole;
}

/* A cell that has no corner outside. */
static void look_inside(struct visit *v, const struct sradon *s, double weight, int64_t voxel,
                        const double f[3])
{
	const int64_t row = s->p.n[0], plane = row * s->p.n[1];
	const int64_t at[4] = { voxel, voxel + row, voxel + plane, voxel + plane + row };

	if (v->x) {
		double line[4];

		for (int i = 0; i < 4; i++) {
			double low = (double)v->x[at[i]];

			line[i] = low + f[0] * ((double)v->x[at[i] + 1] - low);
		}
		double low = line[0] + f[1] * (line[1] - line[0]),
		       high = line[2] + f[1] * (line[3] - line[2]);

		v->sum += weight * (low + f[2] * (high - low));
		return;
	}
	double all = weight * v->value, up = all * f[2], low = all - up;
	const double part[4] = { low - low * f[1], low * f[1], up - up * f[1], up * f[1] };

	for (int i = 0; i < 4; i++) {
		add(v, at[i], part[i] - part[i] * f[0]);
		add(v, at[i] + 1, part[i] * f[0]);
	}
}

static void look(struct visit *v, const struct sradon *s, const struct sradon_point *p)
{
	const int64_t *n = s->p.n;
	double part[3], w;
	int64_t low[3];

	if (!sradon_cell(low, part, s, p->at)) return;
	if (low[0] >= 0 && low[1] >= 0 && low[2] >= 0 && low[0] + 1 < n[0] && low[1] + 1 < n[1] &&
	    low[2] + 1 < n[2]) {
		look_inside(v, s, p->weight, (low[2] * n[1] + low[1]) * n[0] + low[0], part);
		return;
	}
	for (int k = 0; k < 8; k++) {
		int64_t voxel = sradon_corner(&w, s, low, part, k);

		if (voxel < 0) continue;
		if (v->x)
			v->sum += p->weight * w * (double)v->x[voxel];
		else
			add(v, voxel, p->weight * w * v->value);
	}
}

/* The image as the points of a ring meet it: a point lies `off` along its direction from one of a sphere, as far as delays
   of tissue differ. Lengths are voxels. */
struct seen {
	struct sradon_hoop hoop; /* its box, and for each axis the phase */
	double middle, pos[3], reach[3];
};

static struct seen seen_of(const struct sradon *s, int64_t q, double t)
{
	const struct sradon_frame *f = &s->frame[q];
	const struct sound *m = &s->sound;
	double off = m->c0 * (m->most - m->least) / 2 / s->p.ds + ROUNDING;
	struct seen v = { .middle = m->c0 * (t - (m->least + m->most) / 2) / s->p.ds };

	for (int a = 0; a < 3; a++) {
		v.pos[a] = (f->pos[a] - s->p.first[a]) / s->p.ds;
		v.reach[a] = hypot(f->ex[a], f->ey[a]);
		v.hoop.phase[a] = atan2(f->ey[a], f->ex[a]);
		v.hoop.low[a] = -1 - off;
		v.hoop.high[a] = (double)s->p.n[a] + off;
	}
	return v;
}

/* The arcs of a ring whose points may lie in the image. */
static int arcs_of(struct sradon_arc arc[SRADON_ARCS], struct seen *v, const struct sradon *s, int64_t q,
                   const struct sradon_ring *r)
{
	const struct sradon_frame *f = &s->frame[q];

	for (int a = 0; a < 3; a++) {
		v->hoop.c[a] = v->pos[a] + v->middle * r->cos_theta * f->n[a];
		v->hoop.reach[a] = v->middle * r->sin_theta * v->reach[a];
	}
	return iso_sradon_arcs(arc, &v->hoop, r->step, sradon_shift(&s->p), r->n);
}

/* The points of an arc: the next direction is this one turned by a step. */
static void visit_arc(struct visit *v, const struct sradon *s, const struct sradon_ear *e, int64_t q,
                      const struct sradon_shell *shell, const struct sradon_ring *r, struct sradon_arc arc)
{
	const struct sradon_frame *f = &s->frame[q];
	double phi = (arc.first + sradon_shift(&s->p)) * r->step, co = cos(phi), si = sin(phi);
	const double turn_co = cos(r->step), turn_si = sin(r->step);

	for (int j = 0; j < arc.n; j++) {
		struct sradon_point p;
		double w[3], old = co;

		for (int a = 0; a < 3; a++)
			w[a] = r->cos_theta * f->n[a] + r->sin_theta * (co * f->ex[a] + si * f->ey[a]);
		if (sradon_shell_point(&p, s, e, q, shell, w, r->weight)) look(v, s, &p);
		co = old * turn_co - si * turn_si;
		si = old * turn_si + si * turn_co;
	}
}

static void surface(struct visit *v, const struct sradon *s, const struct sradon_ear *e, int64_t q, int64_t k)
{
	struct sradon_shell shell = sradon_shell(s, q, k);
	struct seen seen = seen_of(s, q, shell.t);
	struct sradon_arc arc[SRADON_ARCS];

	for (int i = 0; i < shell.rings; i++) {
		struct sradon_ring r = sradon_shell_ring(s, &shell, i);
		int n = arcs_of(arc, &seen, s, q, &r);

		for (int c = 0; c < n; c++) visit_arc(v, s, e, q, &shell, &r, arc[c]);
	}
}

/* ---- the operator ---- */

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct sradon *s = op->data;
	const int64_t samples = s->p.samples;
	const struct iso_rows own = iso_share(op->ctx, s->p.n_trans);

	(void)sub; /* one subset only */
	iso_op_counts(op, "project", "traces", own.n);
#pragma omp parallel for schedule(dynamic) num_threads(op->ctx->threads)
	for (int64_t q = own.first; q < own.first + own.n; q++) {
		const struct sradon_ear e = sradon_ear(s, q);

		for (int64_t k = 0; k < samples && !iso_ctx_cancelled(op->ctx); k++) {
			struct visit v = { .x = x };

			surface(&v, s, &e, q, k);
			y[q * samples + k] = (iso_real)v.sum;
		}
		iso_op_count(op, 1);
	}
	return iso_comm_gather(op->ctx, iso_ctx_poll(op->ctx), y, s->p.n_trans, samples * (int64_t)sizeof *y);
}

/* No voxel can get more: all of a sphere's weight of every sample. */
static double bound(const struct sradon *s, const iso_real *y)
{
	double most = 0;

	for (int64_t k = 0; k < s->p.samples; k++) {
		double sum = 0;

		for (int64_t q = 0; q < s->p.n_trans; q++) sum += fabs((double)y[q * s->p.samples + k]);
		most += sum * sradon_shell_most(s, k);
	}
	return most;
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct sradon *s = op->data;
	const struct work *w = op->work;
	const struct iso_rows own = iso_share(op->ctx, s->p.n_trans);
	double scale = iso_fixed_scale(bound(s, y));

	(void)sub;
	iso_op_counts(op, "backproject", "traces", own.n);
	memset(w->sums, 0, (size_t)(w->copies * op->n_in) * sizeof *w->sums);
#pragma omp parallel for schedule(dynamic) num_threads(op->ctx->threads)
	for (int64_t q = own.first; q < own.first + own.n; q++) {
		const struct sradon_ear e = sradon_ear(s, q);

		for (int64_t k = 0; k < s->p.samples && !iso_ctx_cancelled(op->ctx); k++) {
			struct visit v = { .to = w->sums + omp_get_thread_num() % w->copies * op->n_in,
				           .alone = w->copies == op->ctx->threads,
				           .value = scale * (double)y[q * s->p.samples + k] };

			if (v.value != 0) surface(&v, s, &e, q, k);
		}
		iso_op_count(op, 1);
	}
#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t i = 0; i < op->n_in; i++)
		for (int c = 1; c < w->copies; c++) w->sums[i] += w->sums[c * op->n_in + i];
	int st = iso_comm_sum(op->ctx, iso_ctx_poll(op->ctx), w->sums, op->n_in);

	for (int64_t i = 0; i < op->n_in; i++) x[i] = (iso_real)((double)w->sums[i] / scale);
	return st;
}

static int open_work(iso_op *op)
{
	struct work *w = op->work;

	w->copies = copies_of(op->ctx, op->n_in);
	ISO_HOST(&op->room, w->sums, w->copies * op->n_in);
	return op->room.status;
}

void iso_sradon_free(iso_op *op)
{
	iso_delays_free(((struct sradon *)op->data)->delays);
}

const struct iso_op_fn iso_sradon_tissue_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.open = open_work,
	.free = iso_sradon_free,
	.to_cuda = "iso_sradon_tissue_to_cuda",
	.work = sizeof(struct work),
};
