/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of isotome measure: each is a struct measure_kind, named in the table of measure.c. */
#ifndef ISO_CMD_MEASURE_H
#define ISO_CMD_MEASURE_H

#include "cmd/cmd.h"
#include "cmd/facts.h"

#include <math.h>

enum { MEASURE_IMAGES = 3 };

struct measure {
	struct cmd c;
	const struct measure_kind *k;
	const char *kind; /* the word */
	double below;     /* NaN: no limit */
	double figure;    /* what must lie below; set by the kind */
	const char *figure_name;
	int n;
	struct iso_array x[MEASURE_IMAGES]; /* those read so far */
};

struct measure_kind {
	const char *name, *what;                               /* the word, and what is measured */
	struct opt_usage usage;                                /* its command is "measure" */
	const char *below;                                     /* the help of --below */
	const char *figure;                                    /* what must lie below */
	int which;                                             /* CMD_WRITES or 0 */
	int (*main)(struct measure *m, int argc, char **argv); /* ends in measure_run */
};

extern const struct measure_kind measure_roi, measure_profile, measure_fwhm, measure_diff, measure_rmse,
	measure_nema, measure_rods, measure_tbr;

/* To stand first and last in the options of a kind, and second in most. */
struct opt measure_word(struct measure *m);
struct opt measure_below(struct measure *m);
struct opt measure_image(const char **path, enum opt_file file);

/* Parses the options, runs, tells the record with --json; then CMD_NOT_BELOW unless the figure is
   below the limit. */
int measure_run(struct measure *m, struct opt *own, int (*run)(struct measure *m, void *settings),
                void *settings, int argc, char **argv);

/* The next image of m->x, with a grid; or an array of any shape. Both go into the record. */
int measure_read(struct measure *m, const char *path);
int measure_read_any(struct measure *m, const char *path);

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
