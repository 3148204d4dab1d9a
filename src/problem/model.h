/* SPDX-License-Identifier: BSD-3-Clause */
/* Imaging models as the commands see them: project, backproject, sens and recon work through this
   table alone. A new model is one more entry in model.c and a file model_X.c. */
#ifndef ISO_MODEL_H
#define ISO_MODEL_H

#include "cmd/cmd.h"

/* What a command will ask of the model, so that it reads and checks that and no more. */
enum model_need {
	MODEL_NEEDS_DATA = 1,    /* the measured rows: events */
	MODEL_NEEDS_SENS = 2,    /* the sensitivity */
	MODEL_NEEDS_ADD = 4,     /* the additive term of the rows */
	MODEL_MAY_STREAM = 8,    /* em_step is all that will be asked of the operator */
	MODEL_NEEDS_COUNTS = 16, /* the counts of rows that are known without them */
};

/* Options of models that can stream their rows from disk. */
struct model_stream {
	bool on;             /* also where the rows fit memory */
	int64_t block;       /* rows at a time; 0: what suits the memory */
	const char *scratch; /* folder for a copy in the order of use, or NULL */
};

/* Data side of the model, host vectors in the file's order; NULL where there is none. */
struct model_data {
	iso_real *y, *add, *mult;
};

/* Rows in subsets: how many, by which rule. */
struct model_subsets {
	int n;
	enum iso_subset_rule rule;
	uint64_t seed;
};

/* One time of the scan: conventions.md, "Times, decay, dead time". */
struct model_frame {
	bool all;                    /* every row, of whatever time */
	double from_s, to_s;         /* else those from <= t < to */
	double factor;               /* decay x live time: multiplies m and S */
	double share, share_randoms; /* of r given for the whole scan; NaN: not known */
	double pile_up;              /* randoms of singles, over those of a constant rate */
};

struct model {
	const char *name, *title; /* title: of its options in the help */
	struct opt *opts;
	struct model_stream *stream; /* place of its options: load refuses what it can't do; NULL:
					   it follows instead */
	bool follows;                /* recon --follow: events as they come (strip alone) */
	bool by_events;              /* a subset has the share n_k/n of the sensitivity, to the
					   event; else 1/K */
	bool flat;                   /* images have one plane: as .npy they are (ny, nx) */
	const char *method;          /* default of --method; NULL: mlem. A model of fbp, or of
					   cg, has no other */
	const char *rule;            /* default of --subset-rule; NULL: interleaved */
	const char *row_name;        /* in words; NULL: events */

	/* Reads the inputs that the options name. `image`: a grid to fall back on, or NULL. */
	int (*load)(struct cmd *c, const struct opt_set *sets, int need, const struct iso_grid *image);
	void (*unload)(void);

	/* After load: */
	struct iso_grid (*grid)(void);
	const char *(*unit)(void);  /* of an image */
	double (*duration_s)(void); /* of the scan; 0, or NULL: not known */
	/* From now on rows, op and data are those of a frame; after load, of all. */
	int (*select)(struct cmd *c, const struct model_frame *f);
	int64_t (*rows)(void);
	bool (*streams)(void); /* rows are on disk: data has no vectors; NULL: never */
	/* The last to plan: what it keeps depends on what is left. */
	void (*plan)(struct iso_plan *plan, const struct cmd *c, const struct model_subsets *s);
	int (*op)(iso_op **op, struct cmd *c, const struct model_subsets *s);
	int (*data)(struct model_data *d, struct cmd *c);
	int (*sens)(struct iso_array *s, struct cmd *c);
	/* Into the record: how the rows of the frame were read; NULL: as a whole. */
	int (*describe)(struct cmd *c);

	/* What not every model has; NULL: it is not there. */
	/* Another form of EM: it runs on weight x image, with what this leaves in `s` for the
	   sensitivity. No weight made: on the image itself. */
	int (*form)(struct iso_array *s, struct iso_array *weight);
	/* The sensitivity of each subset of `op`, images one behind the other. */
	int (*sens_of_subsets)(iso_real *parts, struct cmd *c, iso_op *op);
	/* Before load, the rows that backproject has; their values are not looked at. A model that asks
	   takes complex numbers as pairs. */
	void (*show)(const struct iso_array *y);
	/* The rows as an array: its axes, and their number; else one axis. */
	int (*shape)(int64_t dim[8]);
	/* Data of several images (wavelengths, frames): their number; from now on data and direct are
	   those of image k, after load of the first; what image k is, for the record, NULL: not
	   known. */
	int64_t (*images)(void);
	int (*image)(struct cmd *c, int64_t k);
	json_t *(*image_json)(int64_t k);
	/* Weights of equal runs of rows, for least squares, and their number; ISO_EINPUT where the data do
	   not say. */
	int (*weights)(const double **w, int64_t *n);
	/* An image without iterating, into x, which lies on the grid. */
	int (*direct)(struct iso_array *x, struct cmd *c);
};

/* Options of the chosen model stand in the sets given to cmd_parse: the model must be the first
   word after the command, or that of the record that --like names. Before --help any will do: the
   first is taken. */
int model_pick(const struct model **m, int argc, char **argv);

/* The positional `model`, to stand first in the table of a command. */
struct opt model_positional(const char **name);

/* The option --psf, and the model's operator behind a PSF of that FWHM; as it is where all is 0.
   `op` is taken over. */
struct opt model_psf_option(double fwhm[3]);
int model_add_psf(iso_op **op, const struct iso_grid *g, const double fwhm[3]);
bool model_has_psf(const double fwhm[3]);

void model_data_free(struct model_data *d);

int64_t model_images(const struct model *m); /* at least 1 */

/* Images one behind the other: (n, nz, ny, nx). */
int model_series(struct iso_array *series, const struct iso_grid *g, int64_t n, const char *unit);

/* cmd_write of an image, in the shape that the model's images have in this format. */
int model_write(const struct model *m, struct cmd *c, const char *path, const struct iso_array *image);

extern const struct model model_ray, model_strip, model_srm, model_ubp, model_svoxel, model_sradon;

#endif
