/* SPDX-License-Identifier: BSD-3-Clause */
/* The mean of operators that have the same rows: each applies by itself, and what they give is added up in their order. */
#include "mean.h"
#include "ratio_plain.h"
#include "core/comm.h"

struct mean {
	int n;
	iso_op **part; /* the caller's handles; the mean applies its own clones */
};

struct mean_work {
	iso_op **part;
	iso_real *rows, *image; /* of one operator */
	iso_real *ratio, *zero; /* rows of a step of EM */
};

static struct iso_rows mean_rows(const iso_op *op, int sub)
{
	const struct mean *p = op->data;

	return iso_op_rows(p->part[0], sub);
}

static int64_t mean_file_row(const iso_op *op, int64_t row)
{
	const iso_op *part = ((const struct mean *)op->data)->part[0];

	return part->fn->file_row ? part->fn->file_row(part, row) : row;
}

static int mean_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct mean *p = op->data;
	const struct iso_vec *v = op->ctx->vec;
	struct iso_rows r = iso_op_rows(op, sub);
	struct mean_work *w = op->work;
	int st = v->fill(op->ctx, r.n, y + r.first, 0);

	for (int k = 0; k < p->n && !st; k++)
		if (!(st = iso_forward(w->rows, w->part[k], sub, x)))
			st = v->axpy(op->ctx, r.n, y + r.first, 1. / p->n, w->rows + r.first);
	return st;
}

static int mean_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct mean *p = op->data;
	const struct iso_vec *v = op->ctx->vec;
	struct mean_work *w = op->work;
	int st = v->fill(op->ctx, op->n_in, x, 0);

	for (int k = 0; k < p->n && !st; k++)
		if (!(st = iso_adjoint(w->image, w->part[k], sub, y)))
			st = v->axpy(op->ctx, op->n_in, x, 1. / p->n, w->image);
	return st;
}

/* A step of ratios from rho = 0, which stays: A*(y / (A x + a)). */
static int mean_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                        const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct mean_work *w = op->work;
	const struct ratio_rows r = { w->zero, true };
	struct iso_ratio_stat stat;
	int st = iso_ratio_step_in(op, sub, acc, &r, x, d, &stat, w->ratio);

	if (st) return st;
	*s = stat.em;
	return op->ctx->vec->mul(op->ctx, op->n_in, acc, acc, x);
}

static int mean_open(iso_op *op)
{
	const struct mean *p = op->data;
	struct mean_work *w = op->work;
	int st = ISO_OK;

	if (!ISO_HOST(&op->room, w->part, p->n)) return op->room.status;
	for (int k = 0; k < p->n && !st; k++) st = iso_op_clone(&w->part[k], p->part[k]);
	if (st) return st;
	ISO_DEVICE(&op->room, w->rows, op->n_out);
	ISO_DEVICE(&op->room, w->image, op->n_in);
	ISO_DEVICE(&op->room, w->ratio, op->n_out);
	ISO_DEVICE(&op->room, w->zero, op->n_out);
	return op->room.status;
}

static void mean_close(iso_op *op)
{
	const struct mean *p = op->data;
	struct mean_work *w = op->work;

	for (int k = 0; w->part && k < p->n; k++) iso_op_free(w->part[k]);
}

static void mean_free(iso_op *op)
{
	const struct mean *p = op->data;

	for (int k = 0; k < p->n; k++) iso_op_free(p->part[k]);
}

static const struct iso_op_fn mean_fn = {
	.forward = mean_forward,
	.adjoint = mean_adjoint,
	.em_step = mean_em_step,
	.rows = mean_rows,
	.file_row = mean_file_row,
	.open = mean_open,
	.close = mean_close,
	.free = mean_free,
	.work = sizeof(struct mean_work),
};

static int check(int n, iso_op *const *part)
{
	for (int k = 1; k < n; k++)
		if (part[k]->ctx != part[0]->ctx || part[k]->n_in != part[0]->n_in ||
		    part[k]->n_out != part[0]->n_out || part[k]->n_sub != part[0]->n_sub)
			return iso_fail(ISO_EARG,
			                "mean: operator %d has %" PRId64 " values, %" PRId64
			                " rows and %d subsets, expected %" PRId64 ", %" PRId64 " and %d",
			                k, part[k]->n_in, part[k]->n_out, part[k]->n_sub, part[0]->n_in,
			                part[0]->n_out, part[0]->n_sub);
	return ISO_OK;
}

static int make_mean(iso_op **op, int n, iso_op *const *part)
{
	struct iso_room room = iso_room_of(part[0]->ctx, "mean of operators");
	struct mean *p;
	int st = check(n, part);

	if (st) return st;
	if (ISO_HOST(&room, p, 1)) ISO_HOST(&room, p->part, n);
	if (room.status) return iso_room_free(&room);
	p->n = n;
	for (int k = 0; k < n; k++) {
		iso_op_rest(part[k]);
		p->part[k] = iso_op_keep(part[k]);
	}
	st = iso_op_create_in(op, part[0]->ctx, &mean_fn, part[0]->n_in, part[0]->n_out, part[0]->n_sub,
	                      &room, p);
	if (!st) (*op)->rows_split = part[0]->rows_split;
	return st;
}

int iso_mean_create(iso_op **op, int n, iso_op *const *part)
{
	iso_op *made = NULL;
	int st = make_mean(&made, n, part);

	return iso_op_agree(op, made, part[0]->ctx, st);
}

void iso_mean_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n_in, int64_t n_out)
{
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "rows of a line of every event, ratios", n_out, 3 * sizeof(iso_real), cuda);
	iso_plan_add(plan, "image of a line of every event", n_in, sizeof(iso_real), cuda);
}
