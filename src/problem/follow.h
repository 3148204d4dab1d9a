/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon strip --follow: the image of a scan that is still going on. */
#ifndef ISO_FOLLOW_H
#define ISO_FOLLOW_H

#include "recon.h"

struct opt_set follow_options(struct follow *f);

/* After parsing: the options that do not go with --follow, and the name of the picture. */
int follow_check(struct settings *s, struct cmd *c, const struct opt_set *sets);

int follow_run(struct cmd *c, const struct opt_set *sets, const struct model *m, const struct settings *s);

#endif
