/* SPDX-License-Identifier: BSD-3-Clause */
/* What the optoacoustic models share as problems: transducers, grid, traces. */
#ifndef ISO_SOUND_H
#define ISO_SOUND_H

#include "problem/inputs.h"
#include "problem/problem.h"
#include "sound_tissue.h"

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
	iso_problem *p; /* whose self this is, from load on */
	/* options */
	const char *scanner, *data, *wavelength, *frame;
	int64_t size[3];
	double voxel[3], centre[3], speed;
	struct tissue tissue;
	/* what they name */
	struct transducers array;        /* of 'scanner'; nothing: it was not given */
	iso_recording *traces;           /* of 'data'; NULL: not asked for, or spectra */
	struct iso_transducers own;      /* of one of these, with the speed of the options; borrows */
	const struct iso_transducers *t; /* the same */
	const struct iso_faces *faces;   /* of them; NULL: flat */
	struct sound_speeds speeds;      /* set by a model before it loads */
	bool takes_spectra;              /* set by a model: data may be (transducers, lines, 2) */
	bool finds_tissue;               /* set by a model: it looks for 'tissue-speed' itself */
	iso_delays *delays;              /* of sound_delays; NULL: not made, or no tissue */
	struct sound_part wavelengths, frames;
	struct iso_grid grid;
	struct iso_array several; /* traces of an array, of which y is one image's */
	struct iso_array y;       /* no values: not asked for */
};

#define SOUND_GRID "that of the image, or the field of view of the file or of a planar array"
#define SOUND_DATA                                                                                        \
	"traces: an array (transducers, samples), of several (frames, wavelengths, "                      \
	"transducers, samples), as .npy; or with their transducers as IPASC (.hdf5, .h5) or iThera MSOT " \
	"(.msot with .bin)"

enum { SOUND_PARAMS = 7 + TISSUE_PARAMS };

/* Parameters that all of these models have, first in their tables; their number. */
int sound_params(struct opt *table, struct sound *sound);

/* Reads the scanner, settles the grid, and with MODEL_NEEDS_COUNTS reads the data. */
int sound_load(iso_problem *problem, int need, const struct iso_grid *image);

/* The delays through tissue: made at the first call, and kept. NULL: no tissue; in a dry run also where they need tables. */
int sound_delays(const iso_delays **d, iso_problem *problem);
void sound_plan_delays(iso_problem *problem, struct iso_plan *plan);
void sound_unload(iso_problem *problem);

double sound_speed(struct sound *sound, int i); /* number i of those to try */
const char *sound_scanner(struct sound *sound); /* the file that says where the transducers are */

/* What the record holds of the image's sound, of several speeds at the worst; ISO_EINPUT if nothing. `at`: that speed. */
int sound_hearing(struct sound *sound, struct iso_hearing *worst, double *at);

/* Format of a warning that it does not hold all. */
#define SOUND_HELD                                                                                       \
	"at %g mm/us sound of the image arrives from %.4g to %.4g us after the laser pulse; the record " \
	"holds %.3g %% of that"

/* The unit that would make a speed, or a record (NULL: leave that alone), of no use: ": is the speed in m/s"; "": none. */
const char *sound_wrong_unit(struct sound *sound, const struct iso_hearing *h);

/* Images that the data hold, as in struct model. */
int sound_image(iso_problem *problem, int64_t k);
json_t *sound_image_json(iso_problem *problem, int64_t k);

int sound_data(iso_problem *problem, struct model_data *d);            /* a copy of what was read */
int sound_weights(iso_problem *problem, const double **w, int64_t *n); /* areas of the transducers */

/* Entries of a struct model. */
#define SOUND_FUNCTIONS \
	.unload = sound_unload, .image = sound_image, .image_json = sound_image_json, .weights = sound_weights

/* The first of the transducers, to be timed (model.h), and how many times as many there are. */
struct iso_transducers sound_sample(const struct iso_transducers *t, const iso_ctx *alone, double *times);

/* model_svoxel.c: the model that was loaded, of which the record is told. */
int sound_svoxel(struct iso_svoxel *p, iso_problem *problem);

/* sound_follow.c: 'follow' of svoxel */
struct opt_set sound_follow_params(struct follow *f);
extern const struct method sound_follow;
int sound_follow_check(iso_problem *problem); /* parameters of both */
int sound_stream(iso_problem *problem, struct iso_svoxel *model, struct iso_sound_stream_setup *setup);

/* sound_batch.c: 'batch' of svoxel without 'follow' */
extern const struct method sound_batched;

#endif
