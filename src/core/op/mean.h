/* SPDX-License-Identifier: BSD-3-Clause */
/* The mean of operators that have the same rows. */
#ifndef ISO_OP_MEAN_H
#define ISO_OP_MEAN_H

#include "core/op.h"

ISO_BEGIN_C

/* y = (A_0 x + ... + A_n-1 x) / n. All have the same image, rows, subsets and order of rows. Keeps them; their own handles
   must not be called any more. */
int iso_mean_create(iso_op **op, int n, iso_op *const *part);
/* Work space, without the operators. */
void iso_mean_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n_in, int64_t n_out);

ISO_END_C
#endif
