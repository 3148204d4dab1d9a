/* SPDX-License-Identifier: BSD-3-Clause */
/* What commands share that put a volume onto a grid: its options, the grid that they say, the files of the volume. */
#ifndef ISO_ONTO_H
#define ISO_ONTO_H

#include "cmd/cmd.h"

struct onto {
	int64_t size[3];
	double voxel[3], centre[3];
	struct opt opts[4];
	char absent[3][64]; /* defaults in words */
};

/* --grid, --voxel and --centre. `whose` the defaults are: "the CT". */
struct opt_set onto_options(struct onto *o, const char *whose);

/* The grid of the image that --like names; else that of the options, where they are given, within the straight grid that covers
   the volume. The record tells it by numbers, which repeat the run without the image. */
int onto_grid(struct iso_grid *g, struct cmd *c, struct onto *o, const struct iso_volume *v);
bool onto_asked(const struct cmd *c); /* one of these options was given */

/* A file that the volume was read from may not be an output; each is in the record. */
int onto_inputs(struct cmd *c, const struct iso_volume *v);

#endif
