/* SPDX-License-Identifier: BSD-3-Clause */
/* Least squares with total variation and a sign (FISTA: Beck and Teboulle 2009): the x that makes

	F(x) = |y - A x|^2 + mu <x, L x> + tv TV(x),   x >= 0 if wanted,

   smallest. One A and one A* an iteration: products with A are carried along with the images they
   belong to. A step that raises F is not taken: the momentum begins anew, with a shorter step. */
#include "loop.h"
#include "prox.h"

#include "core/ctx.h"
#include "text/number.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/vec.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { POWER_STEPS = 12 }; /* for the largest eigenvalue of A* A + mu L: to a few per cent */
#define SAFETY 1.1         /* over that estimate */

/* An image and its product with A. */
struct pair {
	iso_real *x, *ax;
};

struct fista {
	const struct iso_fista *p;
	iso_ctx *ctx;
	const struct iso_vec *v;
	int64_t n, n_data;
	struct prox prox;
	struct pair now, next, z; /* z: where the gradient is taken */
	iso_real *y, *e, *g, *lap, *dual;
	double theta, bound; /* of the momentum; of the gradient's slope */
	int64_t done;        /* iterations behind us */
	bool stepped;        /* next.x is made, and z not needed any more */
	iso_real *host;      /* the image, for the caller to look at */
	double *cost, *change;
	double start_s;
};

/* ---- the objective ---- */

/* g = A* e - mu L x, half the downhill gradient at x where e = y - A x. */
static int downhill(struct fista *f, iso_real *g, const iso_real *e, const iso_real *x)
{
	int st;

	if ((st = iso_adjoint(f->p->op, ISO_ALL, g, e))) return st;
	if (!f->lap) return ISO_OK;
	if ((st = iso_forward(f->p->penalty, ISO_ALL, f->lap, x))) return st;
	return f->v->axpy(f->ctx, f->n, g, -f->p->mu, f->lap);
}

/* e = y - A x */
static int residual(struct fista *f, const struct pair *a)
{
	int st = f->v->copy(f->ctx, f->n_data, f->e, f->y);

	return st ? st : f->v->axpy(f->ctx, f->n_data, f->e, -1, a->ax);
}

/* F at a pair; g is free to be written. */
static int cost_of(struct fista *f, const struct pair *a, double *cost)
{
	double smooth = 0, tv = 0;
	int st;

	if ((st = residual(f, a))) return st;
	if ((st = f->v->dot(f->ctx, f->n_data, cost, f->e, f->e))) return st;
	if (f->lap) {
		if ((st = iso_forward(f->p->penalty, ISO_ALL, f->lap, a->x))) return st;
		if ((st = f->v->dot(f->ctx, f->n, &smooth, a->x, f->lap))) return st;
	}
	if (f->p->tv > 0) {
		if ((st = iso_prox_steepness(f->g, f->ctx, &f->prox, a->x))) return st;
		if ((st = f->v->asum(f->ctx, f->n, &tv, f->g))) return st;
	}
	*cost += f->p->mu * smooth + f->p->tv * tv;
	if (!isfinite(*cost))
		return iso_fail(ISO_EINPUT,
		                "fista: the cost is %g: the data, the start image or a penalty "
		                "are too large",
		                *cost);
	return ISO_OK;
}

/* The largest eigenvalue of A* A + mu L by powers of it; bound = twice that, the slope of the
   gradient. */
static int find_bound(struct fista *f)
{
	double size;
	int st;

	if ((st = f->v->uniform(f->ctx, f->n, f->next.x, 1))) return st;
	for (int i = 0; i < POWER_STEPS; i++) {
		if ((st = f->v->dot(f->ctx, f->n, &size, f->next.x, f->next.x))) return st;
		if (!(size > 0)) break;
		if ((st = f->v->fill(f->ctx, f->n, f->z.x, 0))) return st;
		if ((st = f->v->axpy(f->ctx, f->n, f->z.x, 1 / sqrt(size), f->next.x))) return st;
		if ((st = iso_forward(f->p->op, ISO_ALL, f->e, f->z.x))) return st;
		if ((st = iso_adjoint(f->p->op, ISO_ALL, f->next.x, f->e))) return st;
		if (!f->lap) continue;
		if ((st = iso_forward(f->p->penalty, ISO_ALL, f->lap, f->z.x))) return st;
		if ((st = f->v->axpy(f->ctx, f->n, f->next.x, f->p->mu, f->lap))) return st;
	}
	if ((st = f->v->dot(f->ctx, f->n, &size, f->next.x, f->next.x))) return st;
	f->bound = 2 * SAFETY * sqrt(size);
	return f->bound > 0 ? ISO_OK : iso_fail(ISO_EINPUT, "fista: the model is 0: no voxel is heard");
}

/* ---- iterations ---- */

/* z = a + beta (a - b), images and products alike. */
static int extrapolate(struct fista *f, const struct pair *a, double beta, const struct pair *b)
{
	int st;

	if ((st = f->v->copy(f->ctx, f->n, f->z.x, a->x))) return st;
	if ((st = f->v->axpy(f->ctx, f->n, f->z.x, beta, a->x))) return st;
	if ((st = f->v->axpy(f->ctx, f->n, f->z.x, -beta, b->x))) return st;
	if ((st = f->v->copy(f->ctx, f->n_data, f->z.ax, a->ax))) return st;
	if ((st = f->v->axpy(f->ctx, f->n_data, f->z.ax, beta, a->ax))) return st;
	return f->v->axpy(f->ctx, f->n_data, f->z.ax, -beta, b->ax);
}

/* next.x = prox(z + 2/bound g). Until that is begun z and the dual fields are as they were. */
static int step(struct fista *f)
{
	int st;

	if (f->stepped) return ISO_OK;
	if ((st = residual(f, &f->z))) return st;
	if ((st = downhill(f, f->g, f->e, f->z.x))) return st;
	if ((st = f->v->axpy(f->ctx, f->n, f->z.x, 2 / f->bound, f->g))) return st;
	f->prox.lambda = f->p->tv / f->bound;
	if ((st = iso_prox_apply(f->next.x, f->ctx, &f->prox, f->p->tv_steps, f->dual, f->z.x))) return st;
	f->stepped = true;
	return ISO_OK;
}

/* |next - now| / |next|, through g. */
static int find_change(struct fista *f, double *change)
{
	double d, s;
	int st;

	if ((st = f->v->copy(f->ctx, f->n, f->g, f->next.x))) return st;
	if ((st = f->v->axpy(f->ctx, f->n, f->g, -1, f->now.x))) return st;
	if ((st = f->v->dot(f->ctx, f->n, &d, f->g, f->g))) return st;
	if ((st = f->v->dot(f->ctx, f->n, &s, f->next.x, f->next.x))) return st;
	*change = s > 0 ? sqrt(d / s) : 0;
	return ISO_OK;
}

/* Interrupted, it goes on behind the last of its two applies that was done: before or behind step. */
static int iterate(void *state)
{
	struct fista *f = state;
	struct pair old = f->now;
	double cost, change, was = f->cost[f->done], next_theta;
	int st;

	if ((st = step(f))) return st;
	if ((st = iso_forward(f->p->op, ISO_ALL, f->next.ax, f->next.x))) return st;
	if ((st = cost_of(f, &f->next, &cost))) return st;
	if ((st = find_change(f, &change))) return st;
	f->done++;
	f->stepped = false;
	if (cost > was) {
		f->bound *= f->theta > 1 ? 1 : 1.5; /* a plain step that rises was too long */
		f->theta = 1;
		f->cost[f->done] = was;
		f->change[f->done] = 0;
		return extrapolate(f, &f->now, 0, &f->now);
	}
	next_theta = (1 + sqrt(1 + 4 * f->theta * f->theta)) / 2;
	if ((st = extrapolate(f, &f->next, (f->theta - 1) / next_theta, &f->now))) return st;
	f->theta = next_theta;
	f->now = f->next;
	f->next = old;
	f->cost[f->done] = cost;
	f->change[f->done] = change;
	return ISO_OK;
}

/* The start, made fit for the constraint. */
static int begin(struct fista *f)
{
	int st;

	f->theta = 1;
	if ((st = find_bound(f))) return st;
	if ((st = iso_prox_apply(f->next.x, f->ctx, &f->prox, 0, f->dual, f->now.x))) return st;
	if ((st = f->v->copy(f->ctx, f->n, f->now.x, f->next.x))) return st;
	if ((st = iso_forward(f->p->op, ISO_ALL, f->now.ax, f->now.x))) return st;
	if ((st = extrapolate(f, &f->now, 0, &f->now))) return st;
	return cost_of(f, &f->now, &f->cost[0]);
}

static bool finished(const void *state)
{
	const struct fista *f = state;

	return f->done == f->p->iterations;
}

static int show(void *state)
{
	struct fista *f = state;
	const struct iso_fista *p = f->p;
	int st;

	if (!p->each || (p->wants && !p->wants(p->arg, (int)f->done))) return ISO_OK;
	if ((st = f->v->download(f->ctx, f->host, f->now.x, f->n * (int64_t)sizeof *f->host))) return st;
	return p->each(p->arg, (int)f->done, f->host);
}

static const char *note(char *text, size_t size, const void *state)
{
	const struct fista *f = state;

	iso_snprintf(text, size, "cost %.9g", f->cost[f->done]);
	return text;
}

/* ---- checkpoints: the whole state between two iterations, or in the middle of one ---- */

enum { MOST_ITEMS = 9, N_COUNTERS = 2 };

/* What a checkpoint holds besides the vectors and the curve. */
struct rest {
	double scale[2];             /* theta, bound */
	int64_t counter[N_COUNTERS]; /* done, stepped */
};

/* How many there are. The dual fields, if any, are carried along, as each iteration begins at those
   of the last. `point` is where the gradient will be taken, or, if that was done, the image that
   came of it. */
static int items(struct fista *f, iso_real *point, struct rest *r, struct iso_item item[MOST_ITEMS])
{
	int64_t curve = f->p->iterations + 1;
	int n = 0;

	item[n++] = (struct iso_item){ "image", ISO_ITEM_REAL, f->n, f->now.x };
	item[n++] = (struct iso_item){ "its product", ISO_ITEM_REAL, f->n_data, f->now.ax };
	item[n++] = (struct iso_item){ "point", ISO_ITEM_REAL, f->n, point };
	item[n++] = (struct iso_item){ "product of the point", ISO_ITEM_REAL, f->n_data, f->z.ax };
	if (f->dual) item[n++] = (struct iso_item){ "dual", ISO_ITEM_REAL, 3 * f->n, f->dual };
	item[n++] = (struct iso_item){ "cost", ISO_ITEM_DOUBLE, curve, f->cost };
	item[n++] = (struct iso_item){ "change", ISO_ITEM_DOUBLE, curve, f->change };
	item[n++] = (struct iso_item){ "momentum, slope", ISO_ITEM_DOUBLE, 2, r->scale };
	item[n++] = (struct iso_item){ "iterations, stepped", ISO_ITEM_INT64, N_COUNTERS, r->counter };
	return n;
}

static int n_vectors(const struct fista *f)
{
	return f->dual ? 5 : 4;
}

static int save(void *state)
{
	struct fista *f = state;
	struct rest r = { { f->theta, f->bound }, { f->done, f->stepped } };
	struct iso_item item[MOST_ITEMS];
	int n = items(f, f->stepped ? f->next.x : f->z.x, &r, item);

	return iso_loop_write(f->ctx, f->p->checkpoint, f->p->key, n_vectors(f), n, item);
}

static int restore(struct fista *f)
{
	struct rest r = { 0 };
	struct iso_item item[MOST_ITEMS];
	int n = items(f, f->z.x, &r, item), st;

	if ((st = iso_loop_read(f->ctx, f->p->checkpoint, f->p->key, n_vectors(f), n, item))) return st;
	if (r.counter[0] < 0 || r.counter[0] > f->p->iterations || !(r.scale[0] >= 1) || !(r.scale[1] > 0))
		return iso_fail(ISO_EINPUT,
		                "%s: checkpoint after iteration %" PRId64 " of %d, with a "
		                "momentum of %g and a slope of %g",
		                f->p->checkpoint, r.counter[0], f->p->iterations, r.scale[0], r.scale[1]);
	f->done = r.counter[0];
	f->stepped = r.counter[1] != 0;
	f->theta = r.scale[0];
	f->bound = r.scale[1];
	return f->stepped ? f->v->copy(f->ctx, f->n, f->next.x, f->z.x) : ISO_OK;
}

/* ---- memory ---- */

static int check(const struct fista *f, const iso_real *x)
{
	const struct iso_fista *p = f->p;
	int st = iso_grid_check(&p->grid);

	if (st) return st;
	if (iso_grid_voxels(&p->grid) != f->n)
		return iso_fail(ISO_EARG, "fista: the grid has %" PRId64 " voxels, the image %" PRId64,
		                iso_grid_voxels(&p->grid), f->n);
	if (p->iterations < 1 || p->iterations > 1000000 || p->tv_steps < 1)
		return iso_fail(ISO_EARG,
		                "fista: %d iterations with %d steps of total variation, both must "
		                "be at least 1",
		                p->iterations, p->tv_steps);
	if (!(p->mu >= 0) || !isfinite(p->mu) || !(p->tv >= 0) || !isfinite(p->tv))
		return iso_fail(ISO_EARG, "fista: mu is %g, tv is %g, must be finite and not negative", p->mu,
		                p->tv);
	if (p->mu > 0 && (!p->penalty || iso_op_n_in(p->penalty) != f->n))
		return iso_fail(ISO_EARG, "fista: mu is %g, but there is no penalty of this grid", p->mu);
	for (int64_t i = 0; i < f->n; i++)
		if (!isfinite(x[i]))
			return iso_fail(ISO_EINPUT, "fista: start image holds %g at %" PRId64, (double)x[i],
			                i);
	for (int64_t i = 0; i < f->n_data; i++)
		if (!isfinite(p->y[i]))
			return iso_fail(ISO_EINPUT, "fista: data holds %g at %" PRId64, (double)p->y[i], i);
	return ISO_OK;
}

static int allocate_pair(struct fista *f, struct pair *a)
{
	int st = iso_vec_alloc(f->ctx, &a->x, f->n);

	return st ? st : iso_vec_alloc(f->ctx, &a->ax, f->n_data);
}

static int allocate(struct fista *f)
{
	int64_t curve = f->p->iterations + 1;
	int st;

	f->cost = size_alloc(curve, sizeof *f->cost);
	f->change = size_alloc(curve, sizeof *f->change);
	f->host = size_alloc(f->n, sizeof *f->host);
	if (!f->cost || !f->change || !f->host)
		return iso_fail_memory("fista", 2 * curve * (int64_t)sizeof *f->cost +
		                                        f->n * (int64_t)sizeof *f->host);
	if ((st = allocate_pair(f, &f->now))) return st;
	if ((st = allocate_pair(f, &f->next))) return st;
	if ((st = allocate_pair(f, &f->z))) return st;
	if ((st = iso_vec_alloc(f->ctx, &f->y, f->n_data))) return st;
	if ((st = iso_vec_alloc(f->ctx, &f->e, f->n_data))) return st;
	if ((st = iso_vec_alloc(f->ctx, &f->g, f->n))) return st;
	if (f->p->mu > 0 && (st = iso_vec_alloc(f->ctx, &f->lap, f->n))) return st;
	return f->p->tv > 0 ? iso_vec_alloc(f->ctx, &f->dual, 3 * f->n) : ISO_OK;
}

static void release(struct fista *f)
{
	iso_real *const on_device[] = { f->now.x, f->now.ax, f->next.x, f->next.ax, f->z.x, f->z.ax,
		                        f->y,     f->e,      f->g,      f->lap,     f->dual };

	for (size_t i = 0; i < sizeof on_device / sizeof on_device[0]; i++) f->v->free(f->ctx, on_device[i]);
	free(f->host);
	free(f->cost);
	free(f->change);
}

static int upload(struct fista *f, const iso_real *x)
{
	iso_real *sorted = size_alloc(f->n_data, sizeof *sorted);
	int st;

	if (!sorted) return iso_fail_memory("fista data", f->n_data * (int64_t)sizeof *sorted);
	iso_op_sort(f->p->op, sorted, f->p->y);
	st = f->v->upload(f->ctx, f->y, sorted, f->n_data * (int64_t)sizeof *sorted);
	free(sorted);
	return st ? st : f->v->upload(f->ctx, f->now.x, x, f->n * (int64_t)sizeof *x);
}

static int start(struct fista *f, const iso_real *x)
{
	int st = upload(f, x);

	if (st) return st;
	return f->p->resume && access(f->p->checkpoint, F_OK) == 0 ? restore(f) : begin(f);
}

static int run(struct fista *f, iso_real *x, struct iso_cg_result *r)
{
	struct iso_loop loop = {
		.state = f,
		.ctx = f->ctx,
		.name = "fista",
		.unit = "iterations",
		.done = &f->done,
		.total = f->p->iterations,
		.checkpoint = f->p->checkpoint,
		.start_s = f->start_s,
		.checkpoint_minutes = f->p->checkpoint_minutes,
		.stop_after_minutes = f->p->stop_after_minutes,
		.step = iterate,
		.finished = finished,
		.show = show,
		.save = save,
		.note = note,
	};
	int st;

	if ((st = check(f, x))) return st;
	if ((st = allocate(f))) return st;
	if ((st = start(f, x))) return st;
	r->resumed_from = (int)f->done;
	if ((st = iso_loop_run(&loop))) return st;
	if ((st = f->v->download(f->ctx, x, f->now.x, f->n * (int64_t)sizeof *x))) return st;
	r->n = (int)f->done;
	r->unsaved = loop.unsaved;
	r->cost = f->cost;
	r->gradient = f->change;
	f->cost = f->change = NULL;
	return ISO_OK;
}

int iso_fista_run(iso_real *x, struct iso_cg_result *r, const struct iso_fista *p)
{
	struct fista f = {
		.p = p, .ctx = iso_op_ctx(p->op), .n = iso_op_n_in(p->op), .n_data = iso_op_n_out(p->op)
	};

	f.v = f.ctx->vec;
	f.start_s = iso_now_s();
	f.prox = (struct prox){ { p->grid.n[0], p->grid.n[1], p->grid.n[2] }, 0, p->nonneg };
	*r = (struct iso_cg_result){ 0 };
	int st = run(&f, x, r);

	release(&f);
	return st;
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
