/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of ratios spelled out: forward, difference of ratios, adjoint. The reference for every fused step, and what
   operators without one use. Nothing is cut: the adjoint has its own scale. */
#include "ratio_plain.h"
#include "core/comm.h"
#include "core/loop/em_sum.h"

static int respond_cpu(iso_ctx *ctx, struct iso_rows rows, iso_real *q, const struct ratio_rows *r,
                       const struct iso_em_data *d, const struct em_scales *scales, struct em_tally *all)
{
#pragma omp parallel num_threads(ctx->threads)
	{
		struct em_tally tally = { 0 };

#pragma omp for
		for (int64_t j = rows.first; j < rows.first + rows.n; j++) {
			struct iso_em_stat row = { 0 };

			q[j] = (iso_real)ratio_respond(&row, r, j, d, j, q[j]);
			em_tally_row(&tally, *scales, &row);
		}
#pragma omp critical(ratio_tally)
		em_tally_add(all, &tally);
	}
	return ISO_OK;
}

/* From A x to what goes back, and the statistics of all rows. */
static int respond(const iso_op *op, struct iso_rows rows, iso_real *q, const struct ratio_rows *r,
                   const struct iso_em_data *d, struct iso_ratio_stat *s)
{
	void *fn = (void *)respond_cpu;
	struct em_tally tally = { 0 };
	double counts = (double)rows.n;
	int st = op->ctx->cuda ? iso_cuda_symbol(&fn, ISO_RATIO_RESPOND_CUDA) : ISO_OK;

	if (!st && d->y) st = op->ctx->vec->asum(op->ctx, rows.n, &counts, d->y + rows.first);
	if (op->rows_split) st = iso_comm_sum_real(op->ctx, st, &counts, 1);
	struct em_scales scales = em_scales(counts);

	if (!st) st = ((iso_ratio_respond_fn *)fn)(op->ctx, rows, q, r, d, &scales, &tally);
	if (op->rows_split) st = iso_em_tally_sum(&tally, op->ctx, st);
	*s = ratio_stat(&tally, scales);
	return st;
}

int iso_ratio_step_in(const iso_op *op, int sub, iso_real *z, const struct ratio_rows *r, const iso_real *x,
                      const struct iso_em_data *d, struct iso_ratio_stat *s, iso_real *q)
{
	int st = op->fn->forward(op, sub, q, x);

	if (!st) st = respond(op, iso_op_rows(op, sub), q, r, d, s);
	return st ? st : op->fn->adjoint(op, sub, z, q);
}

int iso_ratio_step_plain(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                         const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *s)
{
	struct iso_room room = iso_room_of(op->ctx, "step of ratios");
	struct ratio_rows r = { rho, keep };
	iso_real *q;
	int st;

	(void)u; /* of fixed-point sums */
	if (!op->fn->forward || !op->fn->adjoint) return iso_fail(ISO_EARG, "%s", op->fn->cannot);
	ISO_DEVICE(&room, q, op->n_out);
	if (!(st = iso_comm_agree(op->ctx, room.status))) st = iso_ratio_step_in(op, sub, z, &r, x, d, s, q);
	iso_room_free(&room);
	return st;
}
