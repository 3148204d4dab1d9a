/* SPDX-License-Identifier: BSD-3-Clause */
/* Tissue as users give it: options of the optoacoustic models, and of the commands that need delays. */
#ifndef ISO_PROBLEM_TISSUE_H
#define ISO_PROBLEM_TISSUE_H

#include "problem/param.h"
#include "problem/record/record.h"

struct tissue {
	/* options */
	const char *shape, *map, *path, *amplitude;
	double speed, table_mm, rotation[9]; /* rotation: of a description's ellipsoid */
	/* what they name */
	bool on;
	struct iso_tissue is;
	struct iso_array image;
};

enum { TISSUE_PARAMS = 6 };

/* The options, and their defaults; their number. */
int tissue_params(struct opt *table, struct tissue *tissue);

/* Reads what the options name, or where they say nothing takes the tissue of the description `s` (NULL: there is none);
   `needs_speed`: one of them must say its speed. */
int tissue_load(struct tissue *tissue, struct record *r, const iso_scanner *s,
                const struct iso_transducers *t, bool needs_speed);
void tissue_unload(struct tissue *tissue);

/* The delays, of which the record is told; NULL where there is no tissue. */
int tissue_delays(iso_delays **d, const struct tissue *tissue, struct record *r, iso_ctx *ctx,
                  const struct iso_transducers *t, const struct iso_grid *g);

#endif
