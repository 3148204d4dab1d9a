/* SPDX-License-Identifier: BSD-3-Clause */
/* What `isotome recon` can do beside one reconstruction. */
#ifndef ISO_RECON_PARTS_H
#define ISO_RECON_PARTS_H

#include "cmd/cmd.h"
#include "problem/problem.h"

#include <limits.h>

/* ---- --live: a page that fills while the run goes on ---- */

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

/* ---- --unmix: maps of what absorbs, after the images ---- */

struct unmixing {
	const char *names;
	struct opt opts[2];
	/* from unmixing_check on */
	const char *out;
	bool nonneg, force;
};

struct opt_set unmixing_params(struct unmixing *u);

/* After the options are parsed: whether the recording's wavelengths can tell the chromophores apart, and the maps be
   written. */
int unmixing_check(struct unmixing *u, const iso_problem *p, struct cmd *c, const char *out);

/* After the command, whose output it reads: runs unmix. */
int unmixing_run(const struct unmixing *u, bool quiet);

/* ---- --beta-scan: the same reconstruction with several strengths of its penalty, each from the image of the one
   before, and a page to choose by ---- */

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
