/* SPDX-License-Identifier: BSD-3-Clause */
/* Model srm on CUDA: uploads the tables of a strategy, and sends the operator's calls to it. `row`
   is rows both ways, `column` columns both ways, `combined` rows forward and columns back: in none
   of its sums do threads meet. */
#include "srm_cuda.cuh"

#include <limits.h>
#include <stdlib.h>

struct srm_cuda_work {
	struct srm_step_work step;
	struct iso_fixed_cuda image; /* rows back */
	struct iso_fixed_cuda sums;  /* columns forward */
	float2 *both;                /* columns back */
};

static const struct srm_op *model_of(const iso_op *op)
{
	return (const struct srm_op *)op->data;
}

/* ---- functions of the operator ---- */

static int srm_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	struct srm_cuda_work *w = (struct srm_cuda_work *)op->work;
	const struct srm_cuda *t = iso_srm_cuda_of(op);

	if (model_of(op)->strategy == ISO_SRM_COLUMN)
		return iso_srm_column_forward_cuda(&t->columns, op->ctx, sub, y, x, iso_op_rows(op, sub),
		                                   &w->sums);
	return iso_srm_row_forward_cuda(&t->rows, op->ctx, sub, y, x);
}

static int srm_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	struct srm_cuda_work *w = (struct srm_cuda_work *)op->work;
	const struct srm_cuda *t = iso_srm_cuda_of(op);
	struct iso_rows rows = iso_op_rows(op, sub);

	if (model_of(op)->strategy == ISO_SRM_ROW)
		return iso_srm_row_back_cuda(&t->rows, op->ctx, sub, x, y, rows, &w->image);
	return iso_srm_column_back_cuda(&t->columns, op->ctx, sub, x, y, rows, w->both);
}

static int srm_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                       const struct iso_em_data *d, struct iso_em_stat *stat)
{
	return iso_srm_step(op, sub, acc, x, d, stat, &((struct srm_cuda_work *)op->work)->step);
}

/* ---- work space ---- */

static void srm_close(iso_op *op)
{
	struct srm_cuda_work *w = (struct srm_cuda_work *)op->work;

	iso_srm_step_close(&w->step);
	cudaFree(w->image.v);
	cudaFree(w->sums.v);
	cudaFree(w->both);
	free(w);
}

static int open_fixed(struct iso_fixed_cuda *f, iso_ctx *ctx, int64_t n)
{
	f->n = n;
	return ctx->vec->alloc(ctx, (void **)&f->v, n * (int64_t)sizeof *f->v);
}

static int srm_open(iso_op *op)
{
	struct srm_cuda_work *w = (struct srm_cuda_work *)calloc(1, sizeof *w);
	enum iso_srm_strategy strategy = model_of(op)->strategy;
	int st;

	if (!w) return iso_fail_memory("srm", sizeof *w);
	op->work = w; /* from here srm_close cleans up */
	st = iso_srm_step_open(&w->step, op);
	if (!st && strategy == ISO_SRM_ROW) st = open_fixed(&w->image, op->ctx, op->n_in);
	if (!st && strategy == ISO_SRM_COLUMN) st = open_fixed(&w->sums, op->ctx, 2 * op->n_out);
	if (!st && strategy != ISO_SRM_ROW)
		st = op->ctx->vec->alloc(op->ctx, (void **)&w->both, op->n_out * (int64_t)sizeof *w->both);
	return st;
}

static void srm_free(iso_op *op)
{
	struct srm_cuda *t = iso_srm_cuda_of(op);

	iso_srm_rows_release(&t->rows);
	iso_srm_columns_release(&t->columns);
	free(t);
	iso_srm_op_free(op);
}

static const struct iso_op_fn srm_fn_cuda = {
	srm_forward, srm_adjoint, srm_em_step, iso_srm_op_rows, iso_srm_op_file_row, srm_open,
	srm_close,   srm_free,    NULL,
};

/* ---- tables ---- */

static int upload(struct srm_cuda *t, iso_ctx *ctx, const struct srm_op *m, const struct srm_row_order *o)
{
	int st = ISO_OK;

	if (m->strategy != ISO_SRM_COLUMN) st = iso_srm_rows_upload(&t->rows, ctx, m->srm, o);
	if (!st && m->strategy != ISO_SRM_ROW) st = iso_srm_columns_upload(&t->columns, ctx, m->srm, o, true);
	return st;
}

static int move(iso_op *op)
{
	struct srm_op *m = (struct srm_op *)op->data;
	struct srm_cuda *t = (struct srm_cuda *)calloc(1, sizeof *t);
	struct srm_row_order o = ISO_ZERO;
	int st;

	if (!t) return iso_fail_memory("srm", sizeof *t);
	m->device = t;
	op->fn = &srm_fn_cuda;
	st = iso_srm_row_order(&o, m);
	if (!st) st = upload(t, op->ctx, m, &o);
	iso_srm_row_order_free(&o);
	return st;
}

/* Places of voxels are 4 bytes here, as those of LORs are in the matrix. */
extern "C" int iso_srm_to_cuda(iso_op *op)
{
	if (op->n_in > INT_MAX)
		return iso_fail(ISO_EARG, "srm: %lld voxels, CUDA takes at most %d", (long long)op->n_in,
		                INT_MAX);
	if (model_of(op)->strategy == ISO_SRM_CORRELATION) return iso_srm_correlate_cuda(op);
	return move(op);
}
