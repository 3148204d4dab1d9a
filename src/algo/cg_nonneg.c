/* SPDX-License-Identifier: BSD-3-Clause */
/* Conjugate gradients that keep every voxel at 0 or above: the x >= 0 that makes

	F(x) = |y - A x|^2 + mu <x, L x>

   smallest. With r = A*(y - A x) - mu L x half the downhill gradient and Q = A* A + mu L, an iteration is

	s = max(x + t d, 0) - x            a step along d, bent where voxels reach 0
	a = <s, r> / <s, Q s>              the lowest point along s, but not beyond x + a s >= 0
	x += a s,  r -= a Q s
	d = z - s <z, Q s> / <s, Q s>      conjugate to the last step
	t = 2 t <s, r> / <s, Q s>          twice as far as the last would have gone

   z is r of the voxels that may go its way. Voxels that half of the next step would take to 0 count as there already: z is 0,
   and d is r. `by_image`: z and d have x/p + 1/5 times r in its place, with p = sum x^2 / sum x. One A and one A* an
   iteration; F does not rise. With no bound in reach these are conjugate gradients. */
#include "cg.h"

#include "core/ctx.h"
#include "core/op.h"

#include <math.h>

#define LEAST .2 /* of `by_image`: what a dark voxel moves beside a bright one */
#define FARTHER 2

/* ---- vectors on the CPU ---- */

static int vec_step(iso_ctx *ctx, int64_t n, iso_real *step, const iso_real *x, double t, const iso_real *d)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) step[i] = cg_step(x[i], (iso_real)t, d[i]);
	return ISO_OK;
}

static int vec_advance(iso_ctx *ctx, int64_t n, iso_real *x, double t, const iso_real *step)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) x[i] = cg_advance(x[i], (iso_real)t, step[i]);
	return ISO_OK;
}

static int vec_slope(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *r,
                     struct cg_slope p)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) z[i] = cg_slope(p, x[i], r[i]);
	return ISO_OK;
}

static int vec_turn(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *r,
                    struct cg_slope p, double beta, const iso_real *step)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) z[i] = cg_turn(p, x[i], r[i], z[i], (iso_real)beta, step[i]);
	return ISO_OK;
}

static int vec_share(iso_ctx *ctx, int64_t n, double *largest, const iso_real *x, const iso_real *step)
{
	double most = 0;

#pragma omp parallel for num_threads(ctx->threads) reduction(max : most)
	for (int64_t i = 0; i < n; i++) {
		double share = cg_share(x[i], step[i]);

		most = share > most ? share : most;
	}
	*largest = most;
	return ISO_OK;
}

static const struct cg_vec vec_cpu = { vec_step, vec_advance, vec_slope, vec_turn, vec_share };

static int find_vectors(iso_cg_state *c)
{
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(c->s.l.ctx) ? iso_cuda_symbol(&cuda, "iso_cg_vec_cuda") : ISO_OK;

	c->v = cuda ? cuda : &vec_cpu;
	return st;
}

/* ---- iterations ---- */

/* d = z, and <z, r>; with t 0 no voxel is near. */
static int slope(iso_cg_state *c, struct cg_slope *p, double t)
{
	struct iso_loop *l = &c->s.l;
	double squares = 0, sum = 0;
	int st;

	if (c->by_image) {
		if ((st = l->v->dot(l->ctx, l->n, &squares, l->x, l->x))) return st;
		if ((st = l->v->asum(l->ctx, l->n, &sum, l->x))) return st;
	}
	bool scaled = squares > 0;

	*p = (struct cg_slope){ (iso_real)(scaled ? sum / squares : 0), (iso_real)(scaled ? LEAST : 1),
		                (iso_real)t };
	if ((st = c->v->slope(l->ctx, l->n, c->d, l->x, c->r, *p))) return st;
	return l->v->dot(l->ctx, l->n, &c->rr[0], c->d, c->r);
}

/* t for a first step from an image that is not 0: the lowest point along d, if nothing bent it. */
static int first_reach(iso_cg_state *c)
{
	struct iso_loop *l = &c->s.l;
	double curvature, smooth;
	int st;

	if ((st = iso_forward(c->w, l->op, ISO_ALL, c->d))) return st;
	if ((st = l->v->dot(l->ctx, l->n_data, &curvature, c->w, c->w))) return st;
	if ((st = iso_squares_smoothness(&c->s, &smooth, c->d))) return st;
	curvature += smooth;
	c->rr[2] = curvature > 0 ? c->rr[0] / curvature : 1;
	return ISO_OK;
}

static int begin(struct iso_loop *l)
{
	iso_cg_state *c = (iso_cg_state *)l;
	struct cg_slope p;
	bool zero;
	int st;

	if ((st = find_vectors(c))) return st;
	if ((st = c->v->advance(l->ctx, l->n, l->x, 0, l->x)))
		return st; /* a start without negative values */
	if ((st = iso_cg_residuals(c, &zero))) return st;
	if ((st = slope(c, &p, 0))) return st;
	c->rr[1] = c->rr[0];
	c->rr[2] = 0; /* from 0 every voxel that moves rises */
	if (!zero && (st = first_reach(c))) return st;
	return iso_cg_note_cost(c);
}

/* The step along d, and <step, r>. */
static int make_step(iso_cg_state *c, double *downhill)
{
	struct iso_loop *l = &c->s.l;
	int st = c->rr[2] > 0 ? c->v->step(l->ctx, l->n, c->step, l->x, c->rr[2], c->d)
	                      : l->v->copy(l->ctx, l->n, c->step, c->d);

	return st ? st : l->v->dot(l->ctx, l->n, downhill, c->step, c->r);
}

/* Not farther than to where the first voxel reaches 0. A step of 1 is short enough: it was bent. */
static int shorten(iso_cg_state *c, double *a)
{
	struct iso_loop *l = &c->s.l;
	double most;
	int st = c->v->share(l->ctx, l->n, &most, l->x, c->step);

	if (!st && *a * most > 1) *a = most < 1 ? 1 / most : 1;
	return st;
}

/* F of an iteration: where it rises, rounding is all that is left. */
static int note(struct iso_loop *l)
{
	double *cost = &l->curve[CG_COST][l->done];
	int st = iso_cg_note_cost((iso_cg_state *)l);

	if (st || !(cost[0] > cost[-1])) return st;
	cost[0] = cost[-1];
	l->ended = true;
	return ISO_OK;
}

/* Where the bent step would not go down, along the slope alone, which does unless x is the solution. An interrupted
   apply leaves x, r, d, e as they were, as in cg.c. */
static int iterate(struct iso_loop *l)
{
	iso_cg_state *c = (iso_cg_state *)l;
	struct cg_slope p;
	double downhill, curvature, turn;
	int st;

	if ((st = make_step(c, &downhill))) return st;
	if (!(downhill > 0)) {
		if ((st = slope(c, &p, 0))) return st;
		if ((st = make_step(c, &downhill))) return st;
	}
	if ((l->ended = !(downhill > 0))) return ISO_OK;
	if ((st = iso_forward(c->w, l->op, ISO_ALL, c->step))) return st;
	if ((st = iso_adjoint(c->z, l->op, ISO_ALL, c->w))) return st;
	if ((st = iso_squares_add(&c->s, c->z, c->s.mu, c->step))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &curvature, c->step, c->z))) return st;
	if (!isfinite(curvature))
		return iso_fail(ISO_EINPUT, "cg: the curvature in iteration %" PRId64 " is %g" CG_TOO_LARGE,
		                l->done + 1, curvature);
	if ((l->ended = !(curvature > 0))) return ISO_OK;
	double lowest = downhill / curvature, a = lowest;

	if (lowest > 1 && (st = shorten(c, &a))) return st;
	if ((st = c->v->advance(l->ctx, l->n, l->x, a, c->step))) return st;
	if ((st = l->v->axpy(l->ctx, l->n, c->r, -a, c->z))) return st;
	if ((st = l->v->axpy(l->ctx, l->n_data, c->e, -a, c->w))) return st;
	double t = lowest * (c->rr[2] > 0 ? c->rr[2] : 1);

	if ((st = slope(c, &p, t))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &turn, c->d, c->z))) return st;
	if ((st = c->v->turn(l->ctx, l->n, c->d, l->x, c->r, p, -turn / curvature, c->step))) return st;
	c->rr[2] = FARTHER * t;
	l->done++;
	return note(l);
}

/* ---- checkpoints ---- */

static int items(struct iso_loop *l, struct iso_item item[LOOP_ITEMS])
{
	iso_cg_state *c = (iso_cg_state *)l;
	int n = iso_cg_items(c, item);

	item[n++] = (struct iso_item){ "norms, reach", ISO_ITEM_DOUBLE, 3, c->rr };
	item[n++] = (struct iso_item){ "iterations", ISO_ITEM_INT64, 1, &l->done };
	return n;
}

static int restored(struct iso_loop *l, const char *path)
{
	int st = find_vectors((iso_cg_state *)l);

	return st ? st : iso_cg_restored(l, path);
}

const struct iso_loop_fn iso_cg_nonneg_fn = {
	.name = "nncg",
	.unit = "iterations",
	.figure = "cost",
	.curves = 2,
	.at_start = 1,
	.begin = begin,
	.step = iterate,
	.finished = iso_cg_is_finished,
	.items = items,
	.restored = restored,
};
