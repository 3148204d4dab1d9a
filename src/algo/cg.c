/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalised least squares by conjugate gradients (Wang 2013, 29 to 34): the x that makes

	F(x) = |y - A x|^2 + mu <x, L x>

   smallest, from the normal equations (A* A + mu L) x = A* y. One A and one A* an iteration; F
   does not rise. Scalar products are sums in double. */
#include "loop.h"

#include "core/ctx.h"
#include "text/number.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/vec.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define MOST_ITERATIONS 1000000 /* each keeps its cost, also in the checkpoint */

struct cg {
	const struct iso_cg *p;
	iso_ctx *ctx;
	const struct iso_vec *v;
	int64_t n, n_data;
	int64_t done;            /* iterations behind us */
	bool ended;              /* rounding is all that is left to gain */
	double rr, rr0;          /* <r, r> now, and at the start */
	iso_real *x, *r, *d, *z; /* on the device: image, residual, direction, its product */
	iso_real *lap;           /* L times an image; NULL: no penalty */
	iso_real *e, *w;         /* data side: y - A x, and A d */
	iso_real *host, *host_data;
	double *cost, *residual; /* at the start, then after each iteration */
	double start_s;
};

/* ---- the equations ---- */

/* z += mu L x */
static int add_penalty(struct cg *c, iso_real *z, double mu, const iso_real *x)
{
	int st;

	if (!c->lap) return ISO_OK;
	if ((st = iso_forward(c->p->penalty, ISO_ALL, c->lap, x))) return st;
	return c->v->axpy(c->ctx, c->n, z, mu, c->lap);
}

/* F = |e|^2 + mu <x, L x> */
static int note_cost(struct cg *c)
{
	double e2, smooth = 0;
	int st;

	if ((st = c->v->dot(c->ctx, c->n_data, &e2, c->e, c->e))) return st;
	if (c->lap) {
		if ((st = iso_forward(c->p->penalty, ISO_ALL, c->lap, c->x))) return st;
		if ((st = c->v->dot(c->ctx, c->n, &smooth, c->x, c->lap))) return st;
	}
	c->cost[c->done] = e2 + c->p->mu * smooth;
	c->residual[c->done] = c->rr0 > 0 ? sqrt(c->rr / c->rr0) : 0;
	if (!isfinite(c->cost[c->done]) || !isfinite(c->rr))
		return iso_fail(ISO_EINPUT,
		                "cg: the %s after iteration %" PRId64 " is %g: the data, the "
		                "start image or mu are too large",
		                isfinite(c->rr) ? "cost" : "squared gradient", c->done,
		                isfinite(c->rr) ? c->cost[c->done] : c->rr);
	return ISO_OK;
}

/* e = y - A x, r = A* e - mu L x, d = r; e holds y. */
static int begin(struct cg *c)
{
	double size;
	int st;

	if ((st = c->v->dot(c->ctx, c->n, &size, c->x, c->x))) return st;
	if (size > 0) {
		if ((st = iso_forward(c->p->op, ISO_ALL, c->w, c->x))) return st;
		if ((st = c->v->axpy(c->ctx, c->n_data, c->e, -1, c->w))) return st;
	}
	if ((st = iso_adjoint(c->p->op, ISO_ALL, c->r, c->e))) return st;
	if ((st = add_penalty(c, c->r, -c->p->mu, c->x))) return st;
	if ((st = c->v->copy(c->ctx, c->n, c->d, c->r))) return st;
	if ((st = c->v->dot(c->ctx, c->n, &c->rr, c->r, c->r))) return st;
	c->rr0 = c->rr;
	return note_cost(c);
}

/* d = r + beta d, through z. */
static int turn(struct cg *c, double beta)
{
	iso_real *old = c->d;
	int st;

	if ((st = c->v->copy(c->ctx, c->n, c->z, c->r))) return st;
	if ((st = c->v->axpy(c->ctx, c->n, c->z, beta, c->d))) return st;
	c->d = c->z;
	c->z = old;
	return ISO_OK;
}

/* w = A d, z = A* w + mu L d, dz = <d, z> */
static int multiply(struct cg *c, double *dz)
{
	int st;

	if ((st = iso_forward(c->p->op, ISO_ALL, c->w, c->d))) return st;
	if ((st = iso_adjoint(c->p->op, ISO_ALL, c->z, c->w))) return st;
	if ((st = add_penalty(c, c->z, c->p->mu, c->d))) return st;
	return c->v->dot(c->ctx, c->n, dz, c->d, c->z);
}

/* One iteration. <d, z> is a sum of squares: where it is not positive, x is the solution as far
   as rounding goes, and stays. An interrupted apply leaves x, r, d, e as they were: only the products
   are lost. */
static int iterate(void *state)
{
	struct cg *c = state;
	double dz, rn;
	int st;

	if ((st = multiply(c, &dz))) return st;
	if (!isfinite(dz))
		return iso_fail(ISO_EINPUT,
		                "cg: the curvature in iteration %" PRId64 " is %g: the data, the start "
		                "image or mu are too large",
		                c->done + 1, dz);
	if (!(dz > 0)) {
		c->ended = true;
		return ISO_OK;
	}
	double step = c->rr / dz;

	if ((st = c->v->axpy(c->ctx, c->n, c->x, step, c->d))) return st;
	if ((st = c->v->axpy(c->ctx, c->n, c->r, -step, c->z))) return st;
	if ((st = c->v->axpy(c->ctx, c->n_data, c->e, -step, c->w))) return st;
	if ((st = c->v->dot(c->ctx, c->n, &rn, c->r, c->r))) return st;
	if ((st = turn(c, rn / c->rr))) return st;
	c->rr = rn;
	c->done++;
	return note_cost(c);
}

static bool finished(const void *state)
{
	const struct cg *c = state;

	return c->ended || c->rr == 0 || c->done == c->p->iterations ||
	       c->residual[c->done] < c->p->tolerance;
}

/* ---- memory ---- */

static int check_finite(const char *what, int64_t n, const iso_real *v)
{
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(v[i]))
			return iso_fail(ISO_EINPUT, "cg: %s holds %g at %" PRId64 ", must be finite", what,
			                (double)v[i], i);
	return ISO_OK;
}

static int check(const struct cg *c, const iso_real *x)
{
	const struct iso_cg *p = c->p;
	int st;

	if (p->iterations < 1 || p->iterations > MOST_ITERATIONS)
		return iso_fail(ISO_EARG, "cg: %d iterations, must be 1 to %d", p->iterations,
		                MOST_ITERATIONS);
	if (!(p->mu >= 0) || !isfinite(p->mu))
		return iso_fail(ISO_EARG, "cg: mu is %g, must be finite and not negative", p->mu);
	if (p->mu > 0 && !p->penalty)
		return iso_fail(ISO_EARG, "cg: mu is %g, but there is no penalty", p->mu);
	if (p->mu > 0 && iso_op_n_in(p->penalty) != c->n)
		return iso_fail(ISO_EARG, "cg: the penalty takes %" PRId64 " voxels, the image has %" PRId64,
		                iso_op_n_in(p->penalty), c->n);
	if (!(p->tolerance >= 0 && p->tolerance < 1))
		return iso_fail(ISO_EARG, "cg: the tolerance is %g, must be at least 0 and below 1",
		                p->tolerance);
	if ((st = check_finite("start image", c->n, x))) return st;
	return check_finite("data", c->n_data, p->y);
}

static int allocate(struct cg *c)
{
	int64_t curve = c->p->iterations + 1;
	int st;

	c->host = size_alloc(c->n, sizeof *c->host);
	c->host_data = size_alloc(c->n_data, sizeof *c->host_data);
	c->cost = size_alloc(curve, sizeof *c->cost);
	c->residual = size_alloc(curve, sizeof *c->residual);
	if (!c->host || !c->host_data || !c->cost || !c->residual)
		return iso_fail_memory("cg", (c->n + c->n_data) * (int64_t)sizeof *c->host);
	if ((st = iso_vec_alloc(c->ctx, &c->x, c->n))) return st;
	if ((st = iso_vec_alloc(c->ctx, &c->r, c->n))) return st;
	if ((st = iso_vec_alloc(c->ctx, &c->d, c->n))) return st;
	if ((st = iso_vec_alloc(c->ctx, &c->z, c->n))) return st;
	if (c->p->mu > 0 && (st = iso_vec_alloc(c->ctx, &c->lap, c->n))) return st;
	if ((st = iso_vec_alloc(c->ctx, &c->e, c->n_data))) return st;
	return iso_vec_alloc(c->ctx, &c->w, c->n_data);
}

static void release(struct cg *c)
{
	iso_real *const on_device[] = { c->x, c->r, c->d, c->z, c->lap, c->e, c->w };

	for (size_t i = 0; i < sizeof on_device / sizeof on_device[0]; i++) c->v->free(c->ctx, on_device[i]);
	free(c->host);
	free(c->host_data);
	free(c->cost);
	free(c->residual);
}

/* ---- checkpoints: the whole state between two iterations ---- */

enum { N_VECTORS = 4, N_ITEMS = 8 };

static void items(struct cg *c, double rr[2], struct iso_item item[N_ITEMS])
{
	int64_t curve = c->p->iterations + 1;

	item[0] = (struct iso_item){ "image", ISO_ITEM_REAL, c->n, c->x };
	item[1] = (struct iso_item){ "residual", ISO_ITEM_REAL, c->n, c->r };
	item[2] = (struct iso_item){ "direction", ISO_ITEM_REAL, c->n, c->d };
	item[3] = (struct iso_item){ "data residual", ISO_ITEM_REAL, c->n_data, c->e };
	item[4] = (struct iso_item){ "cost", ISO_ITEM_DOUBLE, curve, c->cost };
	item[5] = (struct iso_item){ "gradient", ISO_ITEM_DOUBLE, curve, c->residual };
	item[6] = (struct iso_item){ "norms", ISO_ITEM_DOUBLE, 2, rr };
	item[7] = (struct iso_item){ "iterations", ISO_ITEM_INT64, 1, &c->done };
}

static int save(void *state)
{
	struct cg *c = state;
	double rr[2] = { c->rr, c->rr0 };
	struct iso_item item[N_ITEMS];

	items(c, rr, item);
	return iso_loop_write(c->ctx, c->p->checkpoint, c->p->key, N_VECTORS, N_ITEMS, item);
}

static int restore(struct cg *c)
{
	double rr[2] = { 0 };
	struct iso_item item[N_ITEMS];
	int st;

	items(c, rr, item);
	st = iso_loop_read(c->ctx, c->p->checkpoint, c->p->key, N_VECTORS, N_ITEMS, item);
	if (!st && (c->done < 0 || c->done > c->p->iterations))
		st = iso_fail(ISO_EINPUT, "%s: checkpoint after iteration %" PRId64 " of %d",
		              c->p->checkpoint, c->done, c->p->iterations);
	c->rr = rr[0];
	c->rr0 = rr[1];
	return st ? st : note_cost(c); /* a stop may have come before it was noted */
}

/* ---- the run ---- */

static int start(struct cg *c, const iso_real *x)
{
	int st;

	if (c->p->resume && access(c->p->checkpoint, F_OK) == 0) return restore(c);
	iso_op_sort(c->p->op, c->host_data, c->p->y);
	if ((st = c->v->upload(c->ctx, c->x, x, c->n * (int64_t)sizeof *x))) return st;
	if ((st = c->v->upload(c->ctx, c->e, c->host_data, c->n_data * (int64_t)sizeof *x))) return st;
	return begin(c);
}

static int show(void *state)
{
	struct cg *c = state;
	const struct iso_cg *p = c->p;
	int st;

	if (c->ended || !p->each || (p->wants && !p->wants(p->arg, (int)c->done))) return ISO_OK;
	if ((st = c->v->download(c->ctx, c->host, c->x, c->n * (int64_t)sizeof *c->x))) return st;
	return p->each(p->arg, (int)c->done, c->host);
}

static const char *note(char *text, size_t size, const void *state)
{
	const struct cg *c = state;

	iso_snprintf(text, size, "cost %.9g", c->cost[c->done]);
	return text;
}

static int run(struct cg *c, iso_real *x, struct iso_cg_result *r)
{
	struct iso_loop loop = {
		.state = c,
		.ctx = c->ctx,
		.name = "cg",
		.unit = "iterations",
		.done = &c->done,
		.total = c->p->iterations,
		.checkpoint = c->p->checkpoint,
		.start_s = c->start_s,
		.checkpoint_minutes = c->p->checkpoint_minutes,
		.stop_after_minutes = c->p->stop_after_minutes,
		.step = iterate,
		.finished = finished,
		.show = show,
		.save = save,
		.note = note,
	};
	int st;

	if ((st = check(c, x))) return st;
	if ((st = allocate(c))) return st;
	if ((st = start(c, x))) return st;
	r->resumed_from = (int)c->done;
	if ((st = iso_loop_run(&loop))) return st;
	if ((st = c->v->download(c->ctx, x, c->x, c->n * (int64_t)sizeof *x))) return st;
	r->n = (int)c->done;
	r->unsaved = loop.unsaved;
	r->cost = c->cost;
	r->gradient = c->residual;
	c->cost = c->residual = NULL;
	return ISO_OK;
}

int iso_cg_run(iso_real *x, struct iso_cg_result *r, const struct iso_cg *p)
{
	struct cg c = {
		.p = p, .ctx = iso_op_ctx(p->op), .n = iso_op_n_in(p->op), .n_data = iso_op_n_out(p->op)
	};

	c.v = c.ctx->vec;
	c.start_s = iso_now_s();
	*r = (struct iso_cg_result){ 0 };
	int st = run(&c, x, r);

	release(&c);
	return st;
}

void iso_cg_result_free(struct iso_cg_result *r)
{
	free(r->cost);
	free(r->gradient);
	*r = (struct iso_cg_result){ 0 };
}

void iso_cg_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, bool penalty)
{
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "image, residual, direction, products", n,
	             (penalty ? 5 : 4) * (int64_t)sizeof(iso_real), cuda);
	iso_plan_add(plan, "data residual and product", n_data, 2 * sizeof(iso_real), cuda);
	iso_plan_add(plan, "copies on the host", n + n_data, sizeof(iso_real), false);
	if (cuda) iso_plan_add(plan, "checkpoint", 3 * n + n_data, sizeof(iso_real), false);
}
