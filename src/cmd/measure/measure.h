/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of isotome measure: each is a file measure_X.c and an entry in the table of measure.c. */
#ifndef ISO_CMD_MEASURE_H
#define ISO_CMD_MEASURE_H

#include "cmd/cmd.h"

#include <math.h>

struct measure {
	struct cmd c;
	const char *kind;
	double below; /* NaN: no limit */
};

#define MEASURE_BEGIN        \
	{                    \
		.below = NAN \
	}

/* To stand first and last in the table of a kind; `figure` is what must lie below. */
struct opt measure_kind(struct measure *m, const char *name, const char *help);
struct opt measure_below(struct measure *m, const char *figure);

/* An image with a grid, and its place in the record. */
int measure_read(struct iso_array *x, struct measure *m, const char *path);

/* At the end: the record with --json; then CMD_NOT_BELOW unless the figure is below the limit. */
int measure_end(struct measure *m, const char *figure, double value);

int measure_roi(int argc, char **argv);
int measure_profile(int argc, char **argv);
int measure_fwhm(int argc, char **argv);
int measure_diff(int argc, char **argv);
int measure_rmse(int argc, char **argv);
int measure_nema(int argc, char **argv);
int measure_rods(int argc, char **argv);
int measure_tbr(int argc, char **argv);

/* Rods as JSON, and as boxes: FWHM and FWTM of each diameter. */
json_t *measure_rods_json(const struct iso_rods *r);
int measure_rods_boxes(struct iso_pixels *pixels, const struct iso_rods *r);

#endif
