/* SPDX-License-Identifier: BSD-3-Clause */
/* The strategies of model srm on the CPU. Each makes a table of its own, and applies it; forwards and
   adjoints of all are the same sums. */
#ifndef ISO_SRM_STRATEGY_H
#define ISO_SRM_STRATEGY_H

#include "srm_op.h"

#define SRM_PAIRS(m) ((m)->shape.layers * (m)->shape.layers) /* of layers */

/* Into m->taps. */
int iso_srm_row_table(struct srm_op *m, iso_ctx *ctx);
int iso_srm_row_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x);
int iso_srm_row_back(const iso_op *op, int sub, iso_real *x, const iso_real *y);

/* Into m->columns. */
int iso_srm_column_table(struct srm_op *m, iso_ctx *ctx);
int iso_srm_column_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x);
int iso_srm_column_back(const iso_op *op, int sub, iso_real *x, const iso_real *y);

/* Into m->correlation. */
int iso_srm_correlate_table(struct srm_op *m, iso_ctx *ctx);
int iso_srm_correlate_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x);
int iso_srm_correlate_back(const iso_op *op, int sub, iso_real *x, const iso_real *y);

#endif
