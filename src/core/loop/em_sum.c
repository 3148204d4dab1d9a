/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of an EM step over all ranks. */
#include "em_sum.h"
#include "core/comm.h"

_Static_assert(sizeof(struct em_tally) % sizeof(int64_t) == 0, "it has nothing but 64-bit integers");

int iso_em_tally_sum(struct em_tally *t, iso_ctx *ctx, int st)
{
	return iso_comm_sum(ctx, st, (int64_t *)t, sizeof *t / sizeof(int64_t));
}

double iso_largest(const iso_ctx *ctx, int64_t n, const iso_real *v)
{
	iso_real most = 0; /* not a double: gcc 12 ends in an internal error there on aarch64 */

#pragma omp parallel for num_threads(ctx->threads) reduction(max : most)
	for (int64_t i = 0; i < n; i++) most = v[i] > most ? v[i] : most;
	return (double)most;
}

int iso_ratio_counts(struct ratio_counts *c, iso_ctx *ctx, struct iso_rows rows, const iso_real *y)
{
	double sums[2] = { (double)rows.n, (double)rows.n };
	double most = y ? iso_largest(ctx, rows.n, y + rows.first) : 1;
	int st = y ? ctx->vec->asum(ctx, rows.n, sums, y + rows.first) : ISO_OK;

	st = iso_comm_sum_real(ctx, st, sums, 2);
	st = iso_comm_max(ctx, st, &most, 1);
	*c = (struct ratio_counts){ sums[0], most > 0 ? most : 1, sums[1] };
	return st;
}

int iso_em_stat_sum(struct iso_em_stat *s, iso_ctx *ctx, int st)
{
	double sums[3] = { s->loglik, s->counts, s->lost };
	int64_t rows[2] = { s->used, s->skipped };

	st = iso_comm_sum_real(ctx, st, sums, 3);
	st = iso_comm_sum(ctx, st, rows, 2);
	*s = (struct iso_em_stat){ sums[0], sums[1], sums[2], rows[0], rows[1] };
	return st;
}
