/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of ratios by forward and adjoint, for operators that have room for a data vector. */
#ifndef ISO_RATIO_PLAIN_H
#define ISO_RATIO_PLAIN_H

#include "core/op.h"
#include "core/loop/em_kern.h"

ISO_BEGIN_C

/* As iso_ratio_step_plain; q: n_out values on the device, overwritten. */
int iso_ratio_step_in(const iso_op *op, int sub, iso_real *z, const struct ratio_rows *r, const iso_real *x,
                      const struct iso_em_data *d, struct iso_ratio_stat *s, iso_real *q);

/* Function of libisotome_cuda.so: q = new - rho from q = A x, for rows `rows`; *tally: their sums. */
#define ISO_RATIO_RESPOND_CUDA "iso_ratio_respond_cuda"
typedef int iso_ratio_respond_fn(iso_ctx *ctx, struct iso_rows rows, iso_real *q, const struct ratio_rows *r,
                                 const struct iso_em_data *d, const struct em_scales *scales,
                                 struct em_tally *tally);
iso_ratio_respond_fn iso_ratio_respond_cuda;

ISO_END_C
#endif
