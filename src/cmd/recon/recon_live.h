/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon --live: a page that fills while the run goes on. */
#ifndef ISO_RECON_LIVE_H
#define ISO_RECON_LIVE_H

#include "cmd/cmd.h"
#include "problem/problem.h"

struct live_page {
	const char *port, *bind;
	struct opt opts[3];
	iso_live *live; /* NULL: there is none */
};

struct opt_set live_params(struct live_page *l);

/* After the options are parsed: ISO_EARG for what is no port. */
int live_check(const struct live_page *l);

/* Where --live is given: serves the page, prints its address, and has the problem fill it. Not in a dry run, and of
   several processes in the first. */
int live_begin(struct live_page *l, iso_problem *p, const struct cmd *c, const char *out);
void live_end(struct live_page *l, int st, const char *out);

#endif
