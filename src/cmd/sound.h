/* SPDX-License-Identifier: BSD-3-Clause */
/* What the optoacoustic models share on the command line: transducers, grid, traces. */
#ifndef ISO_SOUND_H
#define ISO_SOUND_H

#include "model.h"

struct sound {
	/* options */
	const char *scanner, *data;
	int64_t size[3];
	double voxel[3], centre[3];
	/* what they name */
	iso_scanner *s;
	const struct iso_transducers *t;
	struct iso_grid grid;
	struct iso_array y;		/* as the file has it; no values: not asked for */
};

extern struct sound sound;

/* Entries of a table of options. */
#define SOUND_OPTIONS \
	{ 0, "scanner", .text = &sound.scanner, .value = "FILE", \
	  .help = "description of the transducers (YAML or JSON, kind: transducers)" }, \
	{ 0, "grid", .integer = sound.size, .count = 3, .spread = true, .value = "NX,NY,NZ", \
	  .min = 1, .max = 1e15, .absent = "the image's, where there is one", \
	  .help = "number of voxels" }, \
	{ 0, "voxel", .real = sound.voxel, .count = 1, .value = "MM", .min = 1e-6, .max = 1e6, \
	  .absent = "the image's, where there is one", .help = "edge of a voxel: they are cubes" }, \
	{ 0, "centre", .real = sound.centre, .count = 3, .value = "X,Y,Z", \
	  .help = "centre of the image, mm" }

/* Reads the scanner, settles the grid, and with MODEL_NEEDS_COUNTS reads the data. */
int sound_load(struct cmd *c, const struct opt_set *sets, int need, const struct iso_grid *image);
void sound_unload(struct opt *opts);

struct iso_grid sound_grid(void);
const char *sound_unit(void);
int64_t sound_rows(void);		/* of traces */
int sound_shape(int64_t dim[8]);
int sound_select(struct cmd *c, const struct model_frame *f);
int sound_sens(struct iso_array *s, struct cmd *c);	/* refused: least squares has none */

/* Entries of a struct model. */
#define SOUND_FUNCTIONS \
	.grid = sound_grid, .unit = sound_unit, .select = sound_select, .sens = sound_sens

#endif
