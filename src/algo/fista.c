/* SPDX-License-Identifier: BSD-3-Clause */
/* Least squares with total variation and a sign (FISTA: Beck and Teboulle 2009): the x that makes

	F(x) = |y - A x|^2 + mu <x, L x> + tv TV(x),   x >= 0 if wanted,

   smallest. One A and one A* an iteration: products with A are carried along with the images they
   belong to. A step that raises F is not taken: the momentum begins anew, with a shorter step. */
#include "prox_kern.h"
#include "squares.h"

#include "core/comm.h"
#include "core/op.h"
#include "core/sized.h"

#include <stdlib.h>

enum { POWER_STEPS = 12 }; /* for the largest eigenvalue of A* A + mu L: to a few per cent */
#define SAFETY 1.1         /* over that estimate */

enum { COST, CHANGE }; /* curves */

/* An image and its product with A. */
struct pair {
	iso_real *x, *ax;
};

struct iso_fista_state {
	struct iso_squares s;
	double tv;
	int tv_steps;
	struct prox prox;
	struct pair now, next, z; /* z: where the gradient is taken */
	iso_real *y, *e, *g, *dual;
	double theta, bound; /* of the momentum; of the gradient's slope */
	bool stepped;        /* next.x is made, and z not needed any more */
	double scale[2];     /* for checkpoints: theta, bound */
	int64_t counter[2];  /* done, stepped */
};

/* ---- the objective ---- */

/* e = y - A x */
static int residual(iso_fista_state *f, const struct pair *a)
{
	struct iso_loop *l = &f->s.l;
	int st = l->v->copy(l->ctx, l->n_data, f->e, f->y);

	return st ? st : l->v->axpy(l->ctx, l->n_data, f->e, -1, a->ax);
}

/* F at a pair; g is free to be written. */
static int cost_of(iso_fista_state *f, const struct pair *a, double *cost)
{
	struct iso_loop *l = &f->s.l;
	double smooth, tv = 0;
	int st;

	if ((st = residual(f, a))) return st;
	if ((st = l->v->dot(l->ctx, l->n_data, cost, f->e, f->e))) return st;
	if ((st = iso_squares_smoothness(&f->s, &smooth, a->x))) return st;
	if (f->tv > 0) {
		if ((st = iso_prox_steepness(f->g, l->ctx, &f->prox, a->x))) return st;
		if ((st = l->v->asum(l->ctx, l->n, &tv, f->g))) return st;
	}
	*cost += smooth + f->tv * tv;
	if (!isfinite(*cost))
		return iso_fail(ISO_EINPUT,
		                "fista: the cost is %g: data, start image or penalty are too large", *cost);
	return ISO_OK;
}

/* The largest eigenvalue of A* A + mu L by powers of it; bound = twice that, the slope of the gradient. */
static int find_bound(iso_fista_state *f)
{
	struct iso_loop *l = &f->s.l;
	double size;
	int st;

	if ((st = l->v->uniform(l->ctx, l->n, f->next.x, 1))) return st;
	for (int i = 0; i < POWER_STEPS; i++) {
		if ((st = l->v->dot(l->ctx, l->n, &size, f->next.x, f->next.x))) return st;
		if (!(size > 0)) break;
		if ((st = l->v->fill(l->ctx, l->n, f->z.x, 0))) return st;
		if ((st = l->v->axpy(l->ctx, l->n, f->z.x, 1 / sqrt(size), f->next.x))) return st;
		if ((st = iso_forward(f->e, l->op, ISO_ALL, f->z.x))) return st;
		if ((st = iso_adjoint(f->next.x, l->op, ISO_ALL, f->e))) return st;
		if ((st = iso_squares_add(&f->s, f->next.x, f->s.mu, f->z.x))) return st;
	}
	if ((st = l->v->dot(l->ctx, l->n, &size, f->next.x, f->next.x))) return st;
	f->bound = 2 * SAFETY * sqrt(size);
	return f->bound > 0 ? ISO_OK : iso_fail(ISO_EINPUT, "fista: the model is 0: no voxel is heard");
}

/* ---- iterations ---- */

/* z = a + beta (a - b), images and products alike. */
static int extrapolate(iso_fista_state *f, const struct pair *a, double beta, const struct pair *b)
{
	struct iso_loop *l = &f->s.l;
	int st;

	if ((st = l->v->copy(l->ctx, l->n, f->z.x, a->x))) return st;
	if ((st = l->v->axpy(l->ctx, l->n, f->z.x, beta, a->x))) return st;
	if ((st = l->v->axpy(l->ctx, l->n, f->z.x, -beta, b->x))) return st;
	if ((st = l->v->copy(l->ctx, l->n_data, f->z.ax, a->ax))) return st;
	if ((st = l->v->axpy(l->ctx, l->n_data, f->z.ax, beta, a->ax))) return st;
	return l->v->axpy(l->ctx, l->n_data, f->z.ax, -beta, b->ax);
}

/* next.x = prox(z + 2/bound g), with g = A*(y - A z) - mu L z half the downhill gradient at z. Until
   that is begun z and the dual fields are as they were. */
static int step(iso_fista_state *f)
{
	struct iso_loop *l = &f->s.l;
	int st;

	if (f->stepped) return ISO_OK;
	if ((st = residual(f, &f->z))) return st;
	if ((st = iso_adjoint(f->g, l->op, ISO_ALL, f->e))) return st;
	if ((st = iso_squares_add(&f->s, f->g, -f->s.mu, f->z.x))) return st;
	if ((st = l->v->axpy(l->ctx, l->n, f->z.x, 2 / f->bound, f->g))) return st;
	f->prox.lambda = f->tv / f->bound;
	if ((st = iso_prox_apply(f->next.x, l->ctx, &f->prox, f->tv_steps, f->dual, f->z.x))) return st;
	f->stepped = true;
	return ISO_OK;
}

/* Interrupted, it goes on behind the last of its two applies that was done: before or behind step. */
static int iterate(struct iso_loop *l)
{
	iso_fista_state *f = (iso_fista_state *)l;
	struct pair old = f->now;
	double cost, change, size, was = l->curve[COST][l->done], next_theta;
	int st;

	if ((st = step(f))) return st;
	if ((st = iso_forward(f->next.ax, l->op, ISO_ALL, f->next.x))) return st;
	if ((st = cost_of(f, &f->next, &cost))) return st;
	if ((st = l->v->copy(l->ctx, l->n, f->g, f->next.x))) return st;
	if ((st = l->v->axpy(l->ctx, l->n, f->g, -1, f->now.x))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &change, f->g, f->g))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &size, f->next.x, f->next.x))) return st;
	l->done++;
	f->stepped = false;
	l->curve[COST][l->done] = cost > was ? was : cost;
	l->curve[CHANGE][l->done] =
		cost > was || !(size > 0) ? 0 : sqrt(change / size); /* |next - now| / |next| */
	if (cost > was) {
		f->bound *= f->theta > 1 ? 1 : 1.5; /* a plain step that rises was too long */
		f->theta = 1;
		return extrapolate(f, &f->now, 0, &f->now);
	}
	next_theta = (1 + sqrt(1 + 4 * f->theta * f->theta)) / 2;
	if ((st = extrapolate(f, &f->next, (f->theta - 1) / next_theta, &f->now))) return st;
	f->theta = next_theta;
	f->now = f->next;
	f->next = old;
	l->x = f->now.x;
	return ISO_OK;
}

/* The start, made fit for the constraint. */
static int begin(struct iso_loop *l)
{
	iso_fista_state *f = (iso_fista_state *)l;
	int st;

	f->theta = 1;
	if ((st = find_bound(f))) return st;
	if ((st = iso_prox_apply(f->next.x, l->ctx, &f->prox, 0, f->dual, f->now.x))) return st;
	if ((st = l->v->copy(l->ctx, l->n, f->now.x, f->next.x))) return st;
	if ((st = iso_forward(f->now.ax, l->op, ISO_ALL, f->now.x))) return st;
	if ((st = extrapolate(f, &f->now, 0, &f->now))) return st;
	return cost_of(f, &f->now, &l->curve[COST][0]);
}

/* ---- checkpoints: the whole state between two iterations, or in the middle of one ---- */

/* The dual fields, if any, are carried along, as each iteration begins at those of the last. "point" is
   where the gradient will be taken, or, if that was done, the image that came of it. */
static int items(struct iso_loop *l, struct iso_item item[LOOP_ITEMS])
{
	iso_fista_state *f = (iso_fista_state *)l;
	iso_real *point = f->stepped ? f->next.x : f->z.x;
	int64_t curve = l->total + 1;
	int n = 0;

	f->scale[0] = f->theta;
	f->scale[1] = f->bound;
	f->counter[0] = l->done;
	f->counter[1] = f->stepped;
	item[n++] = (struct iso_item){ "image", ISO_ITEM_REAL, l->n, f->now.x };
	item[n++] = (struct iso_item){ "its product", ISO_ITEM_REAL, l->n_data, f->now.ax };
	item[n++] = (struct iso_item){ "point", ISO_ITEM_REAL, l->n, point };
	item[n++] = (struct iso_item){ "product of the point", ISO_ITEM_REAL, l->n_data, f->z.ax };
	if (f->dual) item[n++] = (struct iso_item){ "dual", ISO_ITEM_REAL, 3 * l->n, f->dual };
	item[n++] = (struct iso_item){ "cost", ISO_ITEM_DOUBLE, curve, l->curve[COST] };
	item[n++] = (struct iso_item){ "change", ISO_ITEM_DOUBLE, curve, l->curve[CHANGE] };
	item[n++] = (struct iso_item){ "momentum, slope", ISO_ITEM_DOUBLE, 2, f->scale };
	item[n++] = (struct iso_item){ "iterations, stepped", ISO_ITEM_INT64, 2, f->counter };
	return n;
}

static int restored(struct iso_loop *l, const char *path)
{
	iso_fista_state *f = (iso_fista_state *)l;
	int64_t done = f->counter[0];

	if (done < 0 || done > l->total || !(f->scale[0] >= 1) || !(f->scale[1] > 0))
		return iso_fail(ISO_EINPUT,
		                "%s: checkpoint after iteration %" PRId64 " of %" PRId64
		                ", momentum %g, slope %g",
		                path, done, l->total, f->scale[0], f->scale[1]);
	l->done = done;
	f->stepped = f->counter[1] != 0;
	f->theta = f->scale[0];
	f->bound = f->scale[1];
	return f->stepped ? l->v->copy(l->ctx, l->n, f->next.x, f->z.x) : ISO_OK;
}

static const struct iso_loop_fn fista_fn = {
	.name = "fista",
	.unit = "iterations",
	.figure = "cost",
	.curves = 2,
	.at_start = 1,
	.begin = begin,
	.step = iterate,
	.items = items,
	.restored = restored,
};

/* ---- the interface ---- */

static int check(const struct iso_fista *p)
{
	int st = iso_grid_check(&p->grid);

	if (st) return st;
	if (iso_grid_voxels(&p->grid) != iso_op_n_in(p->op))
		return iso_fail(ISO_EARG, "fista: the grid has %" PRId64 " voxels, the image %" PRId64,
		                iso_grid_voxels(&p->grid), iso_op_n_in(p->op));
	if (p->tv_steps < 1)
		return iso_fail(ISO_EARG, "fista: %d steps of total variation, must be at least 1",
		                p->tv_steps);
	if (!(p->tv >= 0) || !isfinite(p->tv))
		return iso_fail(ISO_EARG, "fista: tv is %g, must be finite and not negative", p->tv);
	return ISO_OK;
}

static int make(iso_fista_state **out, const struct iso_fista *given, const iso_real *x)
{
	struct iso_fista p;
	int st = iso_sized_take(&p, "iso_fista", sizeof p, given);
	const struct iso_cg squares = {
		.op = p.op, .y = p.y, .penalty = p.penalty, .mu = p.mu, .iterations = p.iterations
	};

	if (st || (st = iso_squares_check("fista", &squares, x)) || (st = check(&p))) return st;
	iso_fista_state *f = *out = iso_loop_make(sizeof *f, &fista_fn, p.op, p.place, p.iterations);

	if (!f) return iso_comm_agree(iso_op_ctx(p.op), ISO_ENOMEM);
	struct iso_loop *l = &f->s.l;

	f->tv = p.tv;
	f->tv_steps = p.tv_steps;
	f->prox = (struct prox){ { p.grid.n[0], p.grid.n[1], p.grid.n[2] }, 0, p.nonneg };
	ISO_DEVICE(&l->room, f->now.ax, l->n_data);
	ISO_DEVICE(&l->room, f->next.x, l->n);
	ISO_DEVICE(&l->room, f->next.ax, l->n_data);
	ISO_DEVICE(&l->room, f->z.x, l->n);
	ISO_DEVICE(&l->room, f->z.ax, l->n_data);
	ISO_DEVICE(&l->room, f->e, l->n_data);
	ISO_DEVICE(&l->room, f->g, l->n);
	if (f->tv > 0) ISO_DEVICE(&l->room, f->dual, 3 * l->n);
	st = iso_comm_agree(l->ctx, iso_squares_load(&f->s, &squares, x, &f->y));
	f->now.x = l->x;
	return st;
}

int iso_fista_create(iso_fista_state **out, const struct iso_fista *p, const iso_real *x)
{
	iso_fista_state *f = NULL;
	int st = out ? make(&f, p, x) : iso_fail_null(__func__);

	if (st || (st = begin(&f->s.l)))
		iso_fista_free(f);
	else
		*out = f;
	return st;
}

int iso_fista_step(iso_fista_state *f)
{
	return f ? iso_loop_step(&f->s.l) : iso_fail_null(__func__);
}

bool iso_fista_finished(const iso_fista_state *f)
{
	return !f || iso_loop_finished(&f->s.l);
}

int iso_fista_image(iso_real *x, const iso_fista_state *f)
{
	return x && f ? iso_loop_image(x, &f->s.l) : iso_fail_null(__func__);
}

const double *iso_fista_cost(int *n, const iso_fista_state *f)
{
	return n && f ? iso_loop_curve(&f->s.l, COST, n) : NULL;
}

const double *iso_fista_change(int *n, const iso_fista_state *f)
{
	return n && f ? iso_loop_curve(&f->s.l, CHANGE, n) : NULL;
}

void iso_fista_free(iso_fista_state *f)
{
	iso_squares_free((struct iso_squares *)f);
}

int iso_fista_run(iso_real *x, struct iso_fista_result *r, const struct iso_fista *p,
                  const struct iso_run *run)
{
	iso_fista_state *f = NULL;
	int st = iso_sized_clear(r, "iso_fista_result", sizeof *r);

	if (!st) st = make(&f, p, x);
	return iso_squares_run((struct iso_squares *)f, st, x, r, run);
}

void iso_fista_result_free(struct iso_fista_result *r)
{
	if (!r) return;
	free(r->cost);
	free(r->change);
	r->cost = r->change = NULL;
}

void iso_fista_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, bool penalty,
                    bool tv)
{
	int64_t real = sizeof(iso_real);
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "images of three steps, gradient", n, (4 + penalty + 3 * tv) * real, cuda);
	iso_plan_add(plan, "data, residual, products", n_data, 5 * real, cuda);
	iso_plan_add(plan, "copies on the host", n + n_data, real, false);
	if (cuda) iso_plan_add(plan, "checkpoint", (2 + 3 * tv) * n + 2 * n_data, real, false);
}
