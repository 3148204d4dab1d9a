/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of an EM step over all ranks; collective, see comm.h. */
#ifndef ISO_EM_SUM_H
#define ISO_EM_SUM_H

#include "core/ctx.h"
#include "em_kern.h"

ISO_BEGIN_C

/* Integers: the same for any number of ranks. */
int iso_em_tally_sum(struct em_tally *t, iso_ctx *ctx, int st);

/* Of counts y on the host, of rows of this rank, from those of all ranks; NULL: ones. */
int iso_ratio_counts(struct ratio_counts *c, iso_ctx *ctx, struct iso_rows rows, const iso_real *y);

/* The largest of n values on the host that are not negative. */
double iso_largest(const iso_ctx *ctx, int64_t n, const iso_real *v);

/* Doubles: to their rounding. */
int iso_em_stat_sum(struct iso_em_stat *s, iso_ctx *ctx, int st);

ISO_END_C
#endif
