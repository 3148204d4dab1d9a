/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon --method cg. */
#ifndef ISO_RECON_CG_H
#define ISO_RECON_CG_H

#include "recon.h"

/* Its options. */
struct opt_set recon_cg_options(struct least_squares *p);

bool recon_is_cg(const struct settings *s);

/* Refuses what does not go with the method, or with the model's data. */
int recon_cg_check(struct settings *s, const struct cmd *c, const struct opt_set *sets,
                   const struct model *m);

int recon_cg_run(struct cmd *c, const struct opt_set *sets, const struct model *m, struct settings *s);

#endif
