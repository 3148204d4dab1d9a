/* SPDX-License-Identifier: BSD-3-Clause */
/* The Monte Carlo in the table of an estimate. */
#ifndef ISO_SCATTER_MC_H
#define ISO_SCATTER_MC_H

#include "table.h"

/* h of t, filled by the formula, becomes that of p->method, sss+mc or mc; guide: of multiple scatter, on the same samples.
   What was counted goes into t->info. Collective, see core/comm.h. */
int mc_join(struct iso_scatter_table *t, const struct iso_scatter_table *guide, iso_ctx *ctx,
            const struct scene *s, const struct iso_scatter *p);

/* What that takes of memory; g with its cells. */
void mc_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct scene *s, const struct scatter_grid *g);

#endif
