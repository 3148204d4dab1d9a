/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalised least squares by conjugate gradients (Wang 2013, 29 to 34): the x that makes

	F(x) = |y - A x|^2 + mu <x, L x>

   smallest, from the normal equations (A* A + mu L) x = A* y. One A and one A* an iteration; F
   does not rise. Scalar products are sums in double. */
#include "cg.h"

#include "core/comm.h"
#include "core/op.h"
#include "core/sized.h"

#include <math.h>
#include <stdlib.h>

/* ---- what all algorithms of least squares share ---- */

#define MOST_ITERATIONS 1000000 /* each keeps its cost, also in the checkpoint */

int iso_squares_check(const char *name, const struct iso_cg *p, const iso_real *x)
{
	const char *lacks = !p->op ? "operator" : !x ? "start image" : p->y ? NULL : "data";

	if (lacks) return iso_fail(ISO_EARG, "%s: there is no %s", name, lacks);
	int64_t n = iso_op_n_in(p->op);
	int st = iso_op_refuse_split(p->op, name);

	if (st) return st;
	if (p->iterations < 1 || p->iterations > MOST_ITERATIONS)
		return iso_fail(ISO_EARG, "%s: %d iterations, must be 1 to %d", name, p->iterations,
		                MOST_ITERATIONS);
	if (!(p->mu >= 0) || !isfinite(p->mu))
		return iso_fail(ISO_EARG, "%s: mu is %g, must be finite and not negative", name, p->mu);
	if (p->mu > 0 && !p->penalty)
		return iso_fail(ISO_EARG, "%s: mu is %g, but there is no penalty", name, p->mu);
	if (p->mu > 0 && iso_op_n_in(p->penalty) != n)
		return iso_fail(ISO_EARG, "%s: the penalty takes %" PRId64 " voxels, the image has %" PRId64,
		                name, iso_op_n_in(p->penalty), n);
	return ISO_OK;
}

static bool is_zero(const struct iso_loop *l, const iso_real *x)
{
	bool zero = true;

#pragma omp parallel for num_threads(l->ctx->threads) reduction(&& : zero)
	for (int64_t i = 0; i < l->n; i++) zero = zero && x[i] == 0;
	return zero;
}

/* New memory of a device is 0: most start images need no copy. */
int iso_squares_load(struct iso_squares *s, const struct iso_cg *p, const iso_real *x, iso_real **y)
{
	struct iso_loop *l = &s->l;
	const iso_real *data = p->y;
	int st;

	s->mu = p->mu;
	if (p->mu > 0) s->penalty = iso_op_keep(p->penalty);
	if ((st = iso_loop_take(l, "start image", l->n, &x, false))) return st;
	if ((st = iso_loop_take(l, "data", l->n_data, &data, false))) return st;
	if (p->mu > 0) ISO_DEVICE(&l->room, s->lap, l->n);
	if (is_zero(l, x))
		ISO_DEVICE(&l->room, l->x, l->n);
	else
		ISO_UPLOAD(&l->room, l->x, x, l->n);
	*y = iso_loop_rows(l, data);
	iso_room_free(&l->taken);
	return l->room.status;
}

void iso_squares_free(struct iso_squares *s)
{
	if (s) iso_op_free(s->penalty);
	iso_loop_free((struct iso_loop *)s);
}

_Static_assert(sizeof(struct iso_cg_result) == sizeof(struct iso_fista_result), "one struct serves both");

int iso_squares_run(struct iso_squares *s, int st, iso_real *x, void *result, const struct iso_run *run)
{
	struct iso_cg_result own = { 0 };

	if (!st) st = iso_loop_run(&s->l, x, run);
	if (!st && result)
		own = (struct iso_cg_result){
			.n = (int)s->l.done,
			.resumed_from = s->l.resumed_from,
			.unsaved = s->l.unsaved,
			.cost = s->l.curve[0],
			.gradient = s->l.curve[1],
			.stopped = s->l.stopped,
		};
	if (own.cost) s->l.curve[0] = s->l.curve[1] = NULL; /* they are the caller's now */
	if (result) iso_sized_give(result, sizeof own, &own);
	iso_squares_free(s);
	return st;
}

int iso_squares_add(struct iso_squares *s, iso_real *z, double mu, const iso_real *x)
{
	int st;

	if (!s->lap) return ISO_OK;
	if ((st = iso_forward(s->lap, s->penalty, ISO_ALL, x))) return st;
	return s->l.v->axpy(s->l.ctx, s->l.n, z, mu, s->lap);
}

int iso_squares_smoothness(struct iso_squares *s, double *f, const iso_real *x)
{
	int st;

	*f = 0;
	if (!s->lap) return ISO_OK;
	if ((st = iso_forward(s->lap, s->penalty, ISO_ALL, x))) return st;
	if ((st = s->l.v->dot(s->l.ctx, s->l.n, f, x, s->lap))) return st;
	*f *= s->mu;
	return ISO_OK;
}

/* ---- conjugate gradients ---- */

/* F = |e|^2 + mu <x, L x> */
int iso_cg_note_cost(iso_cg_state *c)
{
	struct iso_loop *l = &c->s.l;
	double e2, smooth, rr = c->rr[0], *cost = &l->curve[CG_COST][l->done];
	int st;

	if ((st = l->v->dot(l->ctx, l->n_data, &e2, c->e, c->e))) return st;
	if ((st = iso_squares_smoothness(&c->s, &smooth, l->x))) return st;
	*cost = e2 + smooth;
	l->curve[CG_GRADIENT][l->done] = c->rr[1] > 0 ? sqrt(rr / c->rr[1]) : 0;
	if (!isfinite(*cost) || !isfinite(rr))
		return iso_fail(ISO_EINPUT, "cg: the %s after iteration %" PRId64 " is %g" CG_TOO_LARGE,
		                isfinite(rr) ? "cost" : "squared gradient", l->done,
		                isfinite(rr) ? *cost : rr);
	return ISO_OK;
}

int iso_cg_residuals(iso_cg_state *c, bool *zero)
{
	struct iso_loop *l = &c->s.l;
	double size;
	int st;

	if ((st = l->v->dot(l->ctx, l->n, &size, l->x, l->x))) return st;
	*zero = !(size > 0);
	if (size > 0) {
		if ((st = iso_forward(c->w, l->op, ISO_ALL, l->x))) return st;
		if ((st = l->v->axpy(l->ctx, l->n_data, c->e, -1, c->w))) return st;
	}
	if ((st = iso_adjoint(c->r, l->op, ISO_ALL, c->e))) return st;
	return iso_squares_add(&c->s, c->r, -c->s.mu, l->x);
}

static int begin(struct iso_loop *l)
{
	iso_cg_state *c = (iso_cg_state *)l;
	bool zero;
	int st;

	if ((st = iso_cg_residuals(c, &zero))) return st;
	if ((st = l->v->copy(l->ctx, l->n, c->d, c->r))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &c->rr[0], c->r, c->r))) return st;
	c->rr[1] = c->rr[0];
	return iso_cg_note_cost(c);
}

/* One iteration: w = A d, z = A* w + mu L d. <d, z> is a sum of squares: where it is not positive, x is the
   solution as far as rounding goes, and stays. An interrupted apply leaves x, r, d, e as they were: only the
   products are lost. The next d = r + beta d is made in z. */
static int iterate(struct iso_loop *l)
{
	iso_cg_state *c = (iso_cg_state *)l;
	iso_real *old = c->d;
	double dz, rn;
	int st;

	if ((st = iso_forward(c->w, l->op, ISO_ALL, c->d))) return st;
	if ((st = iso_adjoint(c->z, l->op, ISO_ALL, c->w))) return st;
	if ((st = iso_squares_add(&c->s, c->z, c->s.mu, c->d))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &dz, c->d, c->z))) return st;
	if (!isfinite(dz))
		return iso_fail(ISO_EINPUT, "cg: the curvature in iteration %" PRId64 " is %g" CG_TOO_LARGE,
		                l->done + 1, dz);
	if ((l->ended = !(dz > 0))) return ISO_OK;
	double step = c->rr[0] / dz;

	if ((st = l->v->axpy(l->ctx, l->n, l->x, step, c->d))) return st;
	if ((st = l->v->axpy(l->ctx, l->n, c->r, -step, c->z))) return st;
	if ((st = l->v->axpy(l->ctx, l->n_data, c->e, -step, c->w))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &rn, c->r, c->r))) return st;
	if ((st = l->v->copy(l->ctx, l->n, c->z, c->r))) return st;
	if ((st = l->v->axpy(l->ctx, l->n, c->z, rn / c->rr[0], c->d))) return st;
	c->d = c->z;
	c->z = old;
	c->rr[0] = rn;
	l->done++;
	return iso_cg_note_cost(c);
}

bool iso_cg_is_finished(const struct iso_loop *l)
{
	const iso_cg_state *c = (const iso_cg_state *)l;

	return l->ended || c->rr[0] == 0 || l->done == l->total ||
	       l->curve[CG_GRADIENT][l->done] < c->tolerance;
}

/* ---- checkpoints: the whole state between two iterations ---- */

int iso_cg_items(iso_cg_state *c, struct iso_item *item)
{
	struct iso_loop *l = &c->s.l;

	item[0] = (struct iso_item){ "image", ISO_ITEM_REAL, l->n, l->x };
	item[1] = (struct iso_item){ "residual", ISO_ITEM_REAL, l->n, c->r };
	item[2] = (struct iso_item){ "direction", ISO_ITEM_REAL, l->n, c->d };
	item[3] = (struct iso_item){ "data residual", ISO_ITEM_REAL, l->n_data, c->e };
	item[4] = (struct iso_item){ "cost", ISO_ITEM_DOUBLE, l->total + 1, l->curve[CG_COST] };
	item[5] = (struct iso_item){ "gradient", ISO_ITEM_DOUBLE, l->total + 1, l->curve[CG_GRADIENT] };
	return 6;
}

static int items(struct iso_loop *l, struct iso_item item[LOOP_ITEMS])
{
	iso_cg_state *c = (iso_cg_state *)l;
	int n = iso_cg_items(c, item);

	item[n++] = (struct iso_item){ "norms", ISO_ITEM_DOUBLE, 2, c->rr };
	item[n++] = (struct iso_item){ "iterations", ISO_ITEM_INT64, 1, &l->done };
	return n;
}

int iso_cg_restored(struct iso_loop *l, const char *path)
{
	if (l->done < 0 || l->done > l->total)
		return iso_fail(ISO_EINPUT, "%s: checkpoint after iteration %" PRId64 " of %" PRId64, path,
		                l->done, l->total);
	return iso_cg_note_cost((iso_cg_state *)l); /* a stop may have come before it was noted */
}

static const struct iso_loop_fn cg_fn = {
	.name = "cg",
	.unit = "iterations",
	.figure = "cost",
	.curves = 2,
	.at_start = 1,
	.begin = begin,
	.step = iterate,
	.finished = iso_cg_is_finished,
	.items = items,
	.restored = iso_cg_restored,
};

/* ---- the interface ---- */

static int make(iso_cg_state **out, const struct iso_cg *given, const iso_real *x)
{
	struct iso_cg p;
	int st = iso_sized_take(&p, "iso_cg", sizeof p, given);

	if (st || (st = iso_squares_check("cg", &p, x))) return st;
	if (!(p.tolerance >= 0 && p.tolerance < 1))
		return iso_fail(ISO_EARG, "cg: the tolerance is %g, must be at least 0 and below 1",
		                p.tolerance);
	if (p.by_image && !p.nonneg)
		return iso_fail(ISO_EARG,
		                "cg: 'by_image' is for images without negative values: set 'nonneg'");
	iso_cg_state *c = *out =
		iso_loop_make(sizeof *c, p.nonneg ? &iso_cg_nonneg_fn : &cg_fn, p.op, p.place, p.iterations);

	if (!c) return iso_comm_agree(iso_op_ctx(p.op), ISO_ENOMEM);
	struct iso_loop *l = &c->s.l;

	c->tolerance = p.tolerance;
	c->by_image = p.by_image;
	if (p.nonneg) ISO_DEVICE(&l->room, c->step, l->n);
	ISO_DEVICE(&l->room, c->r, l->n);
	ISO_DEVICE(&l->room, c->d, l->n);
	ISO_DEVICE(&l->room, c->z, l->n);
	ISO_DEVICE(&l->room, c->w, l->n_data);
	return iso_comm_agree(l->ctx, iso_squares_load(&c->s, &p, x, &c->e));
}

int iso_cg_create(iso_cg_state **out, const struct iso_cg *p, const iso_real *x)
{
	iso_cg_state *c = NULL;
	int st = out ? make(&c, p, x) : iso_fail_null(__func__);

	if (st || (st = c->s.l.fn->begin(&c->s.l)))
		iso_cg_free(c);
	else
		*out = c;
	return st;
}

int iso_cg_step(iso_cg_state *c)
{
	return c ? iso_loop_step(&c->s.l) : iso_fail_null(__func__);
}

bool iso_cg_finished(const iso_cg_state *c)
{
	return !c || iso_loop_finished(&c->s.l);
}

int iso_cg_image(iso_real *x, const iso_cg_state *c)
{
	return x && c ? iso_loop_image(x, &c->s.l) : iso_fail_null(__func__);
}

const double *iso_cg_cost(int *n, const iso_cg_state *c)
{
	return n && c ? iso_loop_curve(&c->s.l, CG_COST, n) : NULL;
}

const double *iso_cg_gradient(int *n, const iso_cg_state *c)
{
	return n && c ? iso_loop_curve(&c->s.l, CG_GRADIENT, n) : NULL;
}

void iso_cg_free(iso_cg_state *c)
{
	iso_squares_free((struct iso_squares *)c);
}

int iso_cg_run(iso_real *x, struct iso_cg_result *r, const struct iso_cg *p, const struct iso_run *run)
{
	iso_cg_state *c = NULL;
	int st = iso_sized_clear(r, "iso_cg_result", sizeof *r);

	if (!st) st = make(&c, p, x);
	return iso_squares_run((struct iso_squares *)c, st, x, r, run);
}

void iso_cg_result_free(struct iso_cg_result *r)
{
	if (!r) return;
	free(r->cost);
	free(r->gradient);
	r->cost = r->gradient = NULL;
}

void iso_cg_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, bool penalty)
{
	int64_t real = sizeof(iso_real);
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "image, residual, direction, products", n, (4 + penalty) * real, cuda);
	iso_plan_add(plan, "data residual and product", n_data, 2 * real, cuda);
	iso_plan_add(plan, "copies on the host", n + n_data, real, false);
	if (cuda) iso_plan_add(plan, "checkpoint", 3 * n + n_data, real, false);
}
