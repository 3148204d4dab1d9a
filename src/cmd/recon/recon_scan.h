/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon --beta-scan: the same reconstruction with several strengths of its penalty, each from the image of the one
   before, and a page to choose by. */
#ifndef ISO_RECON_SCAN_H
#define ISO_RECON_SCAN_H

#include "cmd/cmd.h"
#include "problem/problem.h"

#include <limits.h>

enum { SCAN_MOST = 32 };

struct scan {
	const char *list, *background, *region;
	struct opt opts[4];
	/* what they say */
	bool relative;
	int n;
	double strength[SCAN_MOST];
	const char *penalty; /* as it was given, without a strength */
	const char *out;
	char text[160];                      /* of 'penalty', with the strength of the run under way */
	char path[PATH_MAX], from[PATH_MAX]; /* its image, and the one before it */
	char page[PATH_MAX];
};

struct opt_set scan_params(struct scan *s);

/* After the options are parsed, before they are checked: the problem has the first strength from now on, s->path is its
   output. */
int scan_begin(struct scan *s, iso_problem *p, struct cmd *c, const char *out);
int scan_run(struct scan *s, iso_problem *p, struct cmd *c);

#endif
