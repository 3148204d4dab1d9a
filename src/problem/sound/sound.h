/* SPDX-License-Identifier: BSD-3-Clause */
/* What the optoacoustic models share on the command line: transducers, grid, traces. */
#ifndef ISO_SOUND_H
#define ISO_SOUND_H

#include "problem/model.h"
#include "sound_transducers.h"

/* Part of an axis of a recording: from `first` on. */
struct sound_part {
	int64_t first, n;
};

/* Speeds of sound to try, from low to high. */
struct sound_speeds {
	int n; /* 0: one speed, of the options or the file */
	double low, high;
};

struct sound {
	/* options */
	const char *scanner, *data, *wavelength, *frame;
	int64_t size[3];
	double voxel[3], centre[3], speed;
	/* what they name */
	struct transducers array;        /* of --scanner; nothing: it was not given */
	iso_recording *traces;           /* of --data; NULL: not asked for, or spectra */
	struct iso_transducers own;      /* of one of these, with the speed of the options; borrows */
	const struct iso_transducers *t; /* the same */
	struct sound_speeds speeds;      /* set by a model before it loads */
	bool takes_spectra;              /* set by a model: data may be (transducers, lines, 2) */
	struct sound_part wavelengths, frames;
	struct iso_grid grid;
	struct iso_array several; /* traces of an array, of which y is one image's */
	struct iso_array y;       /* no values: not asked for */
};

extern struct sound sound;

#define SOUND_GRID "the image's; or the field of view of the file, or of a planar array"
#define SOUND_DATA                                                                                        \
	"traces: an array (transducers, samples), of several (frames, wavelengths, "                      \
	"transducers, samples), as .npy; or with their transducers as IPASC (.hdf5, .h5) or iThera MSOT " \
	"(.msot with .bin)"

/* Entries of a table of options. */
#define SOUND_OPTIONS                                                                                   \
	{ 0,                                                                                            \
	  "scanner",                                                                                    \
	  .text = &sound.scanner,                                                                       \
	  .file = OPT_READS,                                                                            \
	  .value = "FILE",                                                                              \
	  .absent = "what the data say",                                                                \
	  .help = "the transducers: " TRANSDUCERS_FILES },                                              \
		{ 0,                                                                                    \
		  "speed",                                                                              \
		  .real = &sound.speed,                                                                 \
		  .value = "C",                                                                         \
		  .min = .01,                                                                           \
		  .max = 100,                                                                           \
		  .absent = "the scanner's, or the data's",                                             \
		  .help = "speed of sound, mm/us; goes before what any file says" },                    \
		{ 0,                                                                                    \
		  "wavelength",                                                                         \
		  .text = &sound.wavelength,                                                            \
		  .value = "N|all",                                                                     \
		  .absent = "the first",                                                                \
		  .help = "of a file with several: by number, by its nm, or all: one image for each" }, \
		{ 0,                                                                                    \
		  "frame",                                                                              \
		  .text = &sound.frame,                                                                 \
		  .value = "N|all",                                                                     \
		  .absent = "the first",                                                                \
		  .help = "of a file with several: by number, or all: one image for each" },            \
		{ 0,                                                                                    \
		  "grid",                                                                               \
		  .integer = sound.size,                                                                \
		  .count = 3,                                                                           \
		  .spread = true,                                                                       \
		  .value = "NX,NY,NZ",                                                                  \
		  .min = 1,                                                                             \
		  .max = 1e15,                                                                          \
		  .absent = SOUND_GRID,                                                                 \
		  .help = "number of voxels; alone, it settles their size in the field of view; one "   \
		          "number: "                                                                    \
		          "along every axis, but one plane where all transducers lie in a plane" },     \
		{ 0,                                                                                    \
		  "voxel",                                                                              \
		  .real = sound.voxel,                                                                  \
		  .count = 1,                                                                           \
		  .value = "MM",                                                                        \
		  .min = 1e-6,                                                                          \
		  .max = 1e6,                                                                           \
		  .absent = SOUND_GRID,                                                                 \
		  .help = "edge of a voxel: they are cubes; alone, it settles their number" },          \
	{                                                                                               \
		0, "centre", .real = sound.centre, .count = 3, .value = "X,Y,Z",                        \
			     .absent = SOUND_GRID ", or 0,0,0", .help = "centre of the image, mm"       \
	}

/* Reads the scanner, settles the grid, and with MODEL_NEEDS_COUNTS reads the data. */
int sound_load(struct cmd *c, const struct opt_set *sets, int need, const struct iso_grid *image);
void sound_unload(struct opt *opts);

double sound_speed(int i); /* number i of those to try */

/* Images that the data hold, as in struct model. */
int64_t sound_images(void);
int sound_image(struct cmd *c, int64_t k);
json_t *sound_image_json(int64_t k);

struct iso_grid sound_grid(void);
const char *sound_unit(void);
int64_t sound_rows(void); /* of traces */
int sound_shape(int64_t dim[8]);
int sound_select(struct cmd *c, const struct model_frame *f);
int sound_weights(const double **w, int64_t *n);    /* areas of the transducers */
int sound_sens(struct iso_array *s, struct cmd *c); /* refused: least squares has none */

/* Entries of a struct model. */
#define SOUND_FUNCTIONS                                                                         \
	.grid = sound_grid, .unit = sound_unit, .select = sound_select, .images = sound_images, \
	.image = sound_image, .image_json = sound_image_json, .weights = sound_weights, .sens = sound_sens

#endif
