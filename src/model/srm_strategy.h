/* SPDX-License-Identifier: BSD-3-Clause */
/* The strategies of model srm on the CPU. Each makes a table of its own, into m->table and
   m->free_table, and applies it; adjoints and forwards of all are the same sums. */
#ifndef ISO_SRM_STRATEGY_H
#define ISO_SRM_STRATEGY_H

#include "srm_op.h"

int iso_srm_row_table(struct srm_op *m, iso_ctx *ctx);
int iso_srm_row_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x);
int iso_srm_row_back(const iso_op *op, int sub, iso_real *x, const iso_real *y);

#endif
