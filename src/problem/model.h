/* SPDX-License-Identifier: BSD-3-Clause */
/* Imaging models as problems see them: everything that a problem does goes through this table. A new
   model is a file model_X.c and its name in model.c. */
#ifndef ISO_MODEL_H
#define ISO_MODEL_H

#include "core/size.h"
#include "param.h"
#include "problem/record/record.h"

enum {
	MODEL_PARAMS = 72,
	MODEL_BYTES = 8192, /* of a model's self, at most */
	MODEL_ASK_LOAD = 1, /* no failure: what was asked for is known after load */
};

/* What will be asked of the model, so that it reads and checks that and no more. */
enum model_need {
	MODEL_NEEDS_DATA = 1,    /* the measured rows: events */
	MODEL_NEEDS_SENS = 2,    /* the sensitivity */
	MODEL_NEEDS_ADD = 4,     /* the additive term of the rows */
	MODEL_MAY_STREAM = 8,    /* em_step is all that will be asked of the operator */
	MODEL_NEEDS_COUNTS = 16, /* the counts of rows that are known without them */
};

/* What a model has: which methods serve it, and some of its parameters. Bits above those of enum method_takes. */
enum model_has {
	MODEL_COUNTS = 1 << 16,   /* data that are counts, and a sensitivity */
	MODEL_FEATURES = 1 << 17, /* 'kernel' is that of kernel EM */
	MODEL_SIGNS = 1 << 18,    /* data of both signs, for least squares */
	MODEL_EVENTS = 1 << 19,   /* `direct` puts events where they came from */
	MODEL_FILTERS = 1 << 20,  /* `direct` is filtered back-projection */
	MODEL_UNITS = 1 << 21,    /* `scale`: units of activity */
	MODEL_ANALYTIC = 1 << 22, /* `direct` is filtered back-projection of counts */
	MODEL_REPLICATES =
		1
		<< 23, /* rows that are events or counts, each drawn by itself. TAKES_REPLICATES is 1 << 24 */
};

/* Parameters of models that can stream their rows from disk. */
struct model_stream {
	bool on;             /* also where the rows fit memory */
	int64_t block;       /* rows at a time; 0: what suits the memory */
	const char *scratch; /* folder for a copy in the order of use; "none": never; NULL: where it pays */
	bool never;          /* no copy, whatever `scratch` is: of problems that another makes */
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
	int parts; /* as struct iso_ray has them; 0: none. Of model ray alone */
	const int32_t *part;
};

/* One time of the scan: conventions.md, "Times, decay, dead time". */
struct model_frame {
	bool all;                    /* every row, of whatever time */
	double from_s, to_s;         /* else those from <= t < to */
	double factor;               /* decay x live time x units: multiplies m and S */
	double units;                /* counts/mm for an image value of 1 */
	double share, share_randoms; /* of r given for the whole scan; NaN: not known */
	int number;                  /* of the frame, from 1; 0: of no series */
	int gate;                    /* from 1: events of that gate alone; 0: of all */
	double half_life_s;          /* in `factor`; 0: no decay */
	double pile_up;              /* randoms of singles, over those of a constant rate */
};

/* What load finds. */
struct model_found {
	struct iso_grid grid;   /* of an image */
	const char *unit;       /* of it */
	int64_t rows;           /* of the frame that was selected, of all ranks */
	int64_t elsewhere;      /* rows that other ranks have: op and data are of the rest */
	const int64_t *number;  /* of each row here among all; NULL: no rank has rows of its own */
	const int64_t *in_file; /* of each row here in the whole file; NULL: that of the row */
	bool on_disk;           /* the rows: data has no vectors */
	bool counted;           /* rows have counts or weights of their own; else each counts 1 */
	int n_dim;              /* the rows as an array; 0: they have one axis */
	int64_t dim[8];
	int64_t most_subsets; /* where the model has fewer than rows; else 0 */
	int64_t images;       /* that the data hold, of several wavelengths or frames; else 1 */
	double duration_s;    /* of the scan; 0: not known */
	bool cut;        /* the sensitivity is set to 0 outside of the field of view, though lines cross it */
	bool psf_inside; /* operator and sensitivity hold the PSF already */
	bool sens_of_pairs; /* the sensitivity is `sens` of the scanner, not sens_of_subsets of the rows */
};

struct settings;
struct follow;
struct method;
struct gating;

/* A model as its problem sees it. Functions that a model has not are NULL where the comment says so. */
struct model {
	const char *name, *title; /* title: of its parameters in the help */
	const char *about;        /* what it is for, in a few words */
	unsigned has;             /* of enum model_has */
	size_t bytes;             /* of what a problem of this model holds, problem->self */
	/* Sets *self to the defaults and fills its table of parameters, at most MODEL_PARAMS with the entry
	   that ends it. */
	void (*params)(struct opt *table, void *self);
	bool streams_rows; /* self begins with a struct model_stream: load refuses what it can't do */
	bool rows_split; /* several ranks have rows of their own each; else each makes a part of every result */
	bool one_sens;   /* an image given by 'sens' serves all subsets */
	bool by_events;       /* a subset has the share n_k/n of the sensitivity, to the event; else 1/K */
	double sens_floor;    /* default of 'sens-floor': 0 where S has no ragged edge */
	bool flat;            /* images have one plane: as .npy they are (ny, nx) */
	const char *rule;     /* default of 'subset-rule'; NULL: interleaved */
	const char *row_name; /* in words; NULL: events */
	const char *timeless; /* why it has no times to choose rows by; NULL: `select` does */

	/* Reads the inputs that the parameters name, and sets problem->found. `image`: a grid to fall back
	   on, or NULL. */
	int (*load)(iso_problem *problem, int need, const struct iso_grid *image);
	void (*unload)(iso_problem *problem); /* frees them; the problem then restores the parameters */

	/* 'preset': parameters that nobody gave become what suits the data, which are looked at; before settings are checked
	   and before load. Again and again: the second time there is nothing to do. NULL: the model has no such parameter. */
	int (*preset)(iso_problem *problem);
	struct opt (*preset_param)(struct settings *s);

	/* The gates that are to have an image each, before load; of n = 0: none. NULL: the model knows none. */
	int (*gating)(const iso_problem *problem, struct gating *g);

	/* The grid, where the parameters alone settle it and load would not find another; MODEL_ASK_LOAD, or NULL:
	   load finds it. */
	int (*grid)(iso_problem *problem, struct iso_grid *g);

	/* After load: */
	/* From now on found.rows, op and data are those of a frame; after load, of all. NULL: always so. */
	int (*select)(iso_problem *problem, const struct model_frame *f);
	/* The last to plan: what it keeps depends on what is left. */
	void (*plan)(iso_problem *problem, struct iso_plan *plan, const struct model_subsets *s);
	/* After it: fills record->way, and tells whoever listens. NULL: there is one way alone. */
	int (*way)(iso_problem *problem, const struct iso_plan *plan);
	/* In a dry run, to be timed: an operator, without ranks, over some rows, of one subset, and how many times as many
	   there are in all. NULL, or no operator: nothing small stands for the whole. */
	int (*sample)(iso_problem *problem, iso_op **op, iso_ctx *alone, double *times);
	int (*op)(iso_problem *problem, iso_op **op, const struct model_subsets *s);
	int (*data)(iso_problem *problem,
	            struct model_data *d); /* NULL: each row counts 1, nothing is added */
	int (*sens)(iso_problem *problem, struct iso_array *s); /* NULL: it has none */
	bool (*sens_differs)(const iso_problem *problem);       /* between frames; NULL: one serves all */
	/* Where the additive term of a frame needs an image of it: makes what `data` will need, after select. `sens`: the
	   sensitivity, without PSF and the frame's factor; no values where it is of the rows. NULL: never needed. */
	bool (*needs_rounds)(const iso_problem *problem);
	int (*rounds)(iso_problem *problem, const struct iso_array *sens, int64_t frame);
	/* After the iterations of that frame, with their image: what a report is to show of it; NULL: nothing. */
	int (*seen)(iso_problem *problem, const struct iso_array *image);
	json_t *(*told)(
		const iso_problem *problem); /* of them, for the results of the frame; NULL: nothing */
	/* The scatter of an image on the rows, found.rows less those elsewhere, and as a file; either may be NULL. After load. */
	int (*scatter)(iso_problem *problem, const struct iso_array *image, iso_real *r, const char *table);
	int (*finish)(
		iso_problem *
			problem); /* before the image is written, which comes last: what else was asked for */
	/* Into the record: how the rows of the frame were read; NULL: as a whole. */
	int (*describe)(iso_problem *problem);

	/* What not every model has; NULL: it is not there. */
	/* Another form of EM: it runs on weight x image, with what this leaves in `s` for the
	   sensitivity. No weight made: on the image itself. */
	int (*form)(iso_problem *problem, struct iso_array *s, struct iso_array *weight);
	/* The sensitivity of each subset of `op`, images one behind the other. */
	int (*sens_of_subsets)(iso_problem *problem, iso_real *parts, iso_op *op);
	/* Before load, the rows that backproject has; their values are not looked at. A model that asks
	   takes complex numbers as pairs. */
	void (*show)(iso_problem *problem, const struct iso_array *y);
	/* From now on data and direct are those of image k, after load of the first; and what image k is,
	   for the record, NULL: not known. */
	int (*image)(iso_problem *problem, int64_t k);
	json_t *(*image_json)(iso_problem *problem, int64_t k);
	/* Weights of equal runs of rows, for least squares, and their number; ISO_EINPUT where the data do
	   not say. */
	int (*weights)(iso_problem *problem, const double **w, int64_t *n);
	/* Of images in counts/mm: what their scale depends on, an object of names and plain values; NULL: 'calibration'
	   can't be used. And K of the events' file; ISO_EINPUT where it says none. */
	json_t *(*scale)(iso_problem *problem);
	int (*calibration)(iso_problem *problem, double *k);
	/* An image without iterating, into x, which lies on the grid. */
	int (*direct)(iso_problem *problem, struct iso_array *x);
	int (*direct_check)(iso_problem *problem); /* its parameters, before data are read; NULL: nothing */
	/* 'follow', data as they come: its parameters, and how it runs. */
	struct opt_set (*follow_params)(struct follow *f);
	const struct method *follow;
	const struct method
		*batched; /* with 'batch' and without 'follow': images of the data, several at once */
	/* The model and the setup of a stream of frames, as the parameters have them; setup->model is not set. */
	int (*stream)(iso_problem *problem, struct iso_svoxel *model, struct iso_sound_stream_setup *setup);
};

/* Entry k of the table of models, NULL beyond the last; and that of a name, NULL: none. */
const struct model *model_at(int k);
const struct model *model_find(const char *name);

void model_data_free(struct model_data *d);

/* The sensitivity of each subset of an operator by its rows, images one behind the other: S_k = A_k* m. m in the file's order;
   NULL: 1. */
int model_sens_of_rows(iso_real *parts, iso_op *of, const iso_real *m);

/* n zeros, `what` in the message of a failure. */
static inline int model_vector(iso_real **v, int64_t n, const char *what)
{
	return (*v = size_alloc(n, sizeof **v)) ? ISO_OK : iso_fail_memory(what, n * (int64_t)sizeof **v);
}

#endif
