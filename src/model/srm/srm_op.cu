/* SPDX-License-Identifier: BSD-3-Clause */
/* Model srm on CUDA: uploads the tables of a strategy, and sends the operator's calls to it. `row`
   is rows both ways, `column` columns both ways, `combined` rows forward and columns back: in none
   of its sums do threads meet. */
#include "srm_cuda.cuh"

#include <limits.h>

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

static int srm_open(iso_op *op)
{
	struct srm_cuda_work *w = (struct srm_cuda_work *)op->work;
	enum iso_srm_strategy strategy = model_of(op)->strategy;

	iso_srm_step_open(&w->step, op);
	if (strategy == ISO_SRM_ROW) iso_fixed_open(&w->image, &op->room, op->n_in);
	if (strategy == ISO_SRM_COLUMN) iso_fixed_open(&w->sums, &op->room, 2 * op->n_out);
	if (strategy != ISO_SRM_ROW) ISO_DEVICE(&op->room, w->both, op->n_out);
	return op->room.status;
}

static void srm_free(iso_op *op)
{
	iso_room_free(&iso_srm_cuda_of(op)->room);
	iso_srm_op_free(op);
}

static const struct iso_op_fn srm_fn_cuda = {
	srm_forward,
	srm_adjoint,
	srm_em_step,
	iso_srm_op_rows,
	iso_srm_op_file_row,
	srm_open,
	NULL,
	srm_free,
	NULL,
	sizeof(struct srm_cuda_work),
	NULL,
};

/* ---- tables ---- */

static int move(iso_op *op)
{
	struct srm_op *m = (struct srm_op *)op->data;
	struct srm_row_order o = ISO_ZERO;
	struct srm_cuda *t;
	int st;

	if (!ISO_HOST(m->room, t, 1)) return m->room->status;
	t->room = iso_room_of(op->ctx, "srm: columns");
	m->device = t;
	op->fn = &srm_fn_cuda;
	st = iso_srm_row_order(&o, m);
	if (!st && m->strategy != ISO_SRM_COLUMN) st = iso_srm_rows_upload(&t->rows, m->room, m->srm, &o);
	if (!st && m->strategy != ISO_SRM_ROW)
		st = iso_srm_columns_upload(&t->columns, &t->room, m->srm, &o, true);
	iso_srm_row_order_free(&o);
	return st;
}

/* The kernels number voxels with 32 bits. */
extern "C" int iso_srm_to_cuda(iso_op *op)
{
	if (op->n_in > INT_MAX)
		return iso_fail(ISO_EARG, "srm: %lld voxels, CUDA takes at most %d", (long long)op->n_in,
		                INT_MAX);
	((struct srm_op *)op->data)->room = &op->shared->room;
	if (model_of(op)->strategy == ISO_SRM_CORRELATION) return iso_srm_correlate_cuda(op);
	return move(op);
}
