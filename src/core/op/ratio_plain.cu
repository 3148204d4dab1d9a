/* SPDX-License-Identifier: BSD-3-Clause */
/* The data side of a plain step of ratios on CUDA. */
#include "ratio_plain.h"
#include "core/loop/em.cuh"

static __global__ void ratios(struct iso_rows rows, iso_real *q, struct ratio_rows r, struct iso_em_data d,
                              struct em_scales scales, struct em_tally *all)
{
	struct em_tally tally = ISO_ZERO;

	ISO_GRID_LOOP (i, rows.n) {
		struct iso_em_stat row = ISO_ZERO;
		int64_t j = rows.first + i;

		q[j] = (iso_real)ratio_respond(&row, &r, j, &d, j, q[j]);
		em_tally_row(&tally, scales, &row);
	}
	em_leave_tally(all, &tally);
}

extern "C" int iso_ratio_respond_cuda(iso_ctx *ctx, struct iso_rows rows, iso_real *q,
                                      const struct ratio_rows *r, const struct iso_em_data *d,
                                      const struct em_scales *scales, struct em_tally *tally)
{
	struct iso_room room = iso_room_of(ctx, "ratios");
	struct em_tally *all;
	int st;

	if (!ISO_DEVICE(&room, all, 1)) return iso_room_free(&room);
	ratios<<<iso_blocks(rows.n), ISO_THREADS, 0, iso_stream(ctx)>>>(rows, q, *r, *d, *scales, all);
	if (!(st = iso_cuda_launched("ratios"))) st = ctx->vec->download(ctx, tally, all, sizeof *tally);
	iso_room_free(&room);
	return st;
}
