/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of isotome measure: each is a function, named in the table of measure.c. */
#ifndef ISO_CMD_MEASURE_H
#define ISO_CMD_MEASURE_H

#include "cmd/cmd.h"
#include "cmd/facts.h"

#include <math.h>

enum { MEASURE_IMAGES = 3 };

struct measure {
	struct cmd c;
	int argc;
	char **argv;
	const char *name, *kind; /* of the kind, and the word where it was given */
	double below;            /* NaN: no limit */
	double figure;           /* what must lie below; set by the kind */
	const char *figure_name;
	int n;
	struct iso_array x[MEASURE_IMAGES]; /* those read so far */
	struct opt_set sets[3];
};

int measure_roi(struct measure *m);
int measure_profile(struct measure *m);
int measure_fwhm(struct measure *m);
int measure_diff(struct measure *m);
int measure_rmse(struct measure *m);
int measure_nema(struct measure *m);
int measure_rods(struct measure *m);
int measure_tbr(struct measure *m);
int measure_petric(struct measure *m);

/* To stand first and last in the options of a kind: what is measured, and the figure with its limit. */
struct opt measure_word(struct measure *m, const char *what);
struct opt measure_below(struct measure *m, const char *figure, const char *must);

/* cmd_parse of the options, and cmd_end; then CMD_NOT_BELOW unless the figure is below the limit. */
int measure_parse(struct measure *m, const struct opt_usage *u, struct opt *own);
int measure_end(struct measure *m, int st);

/* The next image of m->x, on the grid `want` (NULL: any); it goes into the record. */
int measure_read(struct measure *m, const char *path, const struct iso_grid *want);

/* Figures into the results and, without --json, on stdout: a line each; or rows under a key. */
int measure_put(struct measure *m, const struct fact *f, const void *v, int width);
int measure_put_rows(struct measure *m, const char *key, const struct fact *f, const void *v, int64_t n,
                     size_t stride);

/* The largest field of n rows `stride` bytes apart; NaN if one of them is. */
double measure_largest(const double *v, int64_t n, size_t stride);

/* Rods as JSON, and as boxes: FWHM and FWTM of each diameter. */
json_t *measure_rods_json(const struct iso_rods *r);
int measure_rods_boxes(struct iso_pixels *pixels, const struct iso_rods *r);

#endif
