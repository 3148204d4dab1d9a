/* SPDX-License-Identifier: BSD-3-Clause */
/* The papers' strategies on CUDA: uploads their lists, and sends the operator's calls to them. `row` is rows both ways,
   `column` columns both ways, `combined` rows forward and columns back: in none of its sums do threads meet. */
#include "strategies.cuh"

#include "model/srm/srm_share.h"

static int srm_open(iso_op *op)
{
	struct srm_cuda_work *w = (struct srm_cuda_work *)op->work;
	int strategy = ((const struct srm_op *)op->data)->way->number;

	iso_srm_step_open(op);
	if (strategy == SRM_ROW) iso_fixed_open(&w->image, &op->room, op->n_in);
	if (strategy == SRM_COLUMN) iso_fixed_open(&w->sums, &op->room, 2 * op->n_out);
	if (strategy != SRM_ROW) ISO_DEVICE(&op->room, w->both, op->n_out);
	return op->room.status;
}

static void srm_free(iso_op *op)
{
	iso_room_free(&iso_srm_cuda_of(op)->room);
}

#define SHARED                                                                                            \
	iso_srm_step, iso_srm_ratio_step, iso_srm_op_rows, iso_srm_op_file_row, srm_open, NULL, srm_free, \
		NULL, sizeof(struct srm_cuda_work), NULL, NULL, NULL

static const struct iso_op_fn srm_fn_cuda[] = {
	/* from SRM_ROW on */
	{ iso_srm_row_forward_cuda, iso_srm_row_back_cuda, SHARED },
	{ iso_srm_column_forward_cuda, iso_srm_column_back_cuda, SHARED },
	{ iso_srm_row_forward_cuda, iso_srm_column_back_cuda, SHARED },
};

extern "C" int iso_srm_strategy_to_cuda(iso_op *op)
{
	struct srm_op *m = (struct srm_op *)op->data;
	int strategy = m->way->number, st = ISO_OK;
	struct srm_cuda *t;

	if (!ISO_HOST(m->room, t, 1)) return m->room->status;
	t->room = iso_room_of(op->ctx, "srm: columns");
	m->device = t;
	op->fn = &srm_fn_cuda[strategy - SRM_ROW];
	if (strategy != SRM_COLUMN) st = iso_srm_rows_upload(&t->rows, m->room, m);
	if (!st && strategy != SRM_ROW) st = iso_srm_columns_upload(&t->columns, &t->room, m, true);
	return st ? st : iso_srm_share_move(m, m->room);
}
