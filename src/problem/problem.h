/* SPDX-License-Identifier: BSD-3-Clause */
/* A problem inside: its model, its parameters, what it has read, its record. */
#ifndef ISO_PROBLEM_INSIDE_H
#define ISO_PROBLEM_INSIDE_H

#include "method.h"

enum { PRESET_CHOICES = 10 };

/* What 'preset' has set in place of the user: ray/ray_preset.c. */
struct preset {
	bool by_default;        /* the command chose it, because nothing else was said */
	bool settled;           /* for the parameters as they are */
	double counts, crystal; /* that the choices come from; crystal in mm */
	int n;
	struct preset_choice {
		struct opt *o;
		char text[48];   /* its value, as a user would give it */
		const char *why; /* in words */
		union {
			const char *text;
			double real[3];
			int64_t integer[3];
		} was; /* its value before */
	} choice[PRESET_CHOICES];
};

/* The tables of parameters, in the order in which they are described. */
enum problem_set {
	SET_RECON,
	SET_IMAGE,
	SET_MODEL,
	SET_FRAMES,
	SET_PENALTY,
	SET_STOP,
	SET_MEMORY, /* or those of 'follow' */
	SET_OUTPUT,
	SET_UNITS,
	SET_SQUARES,
	SET_REPLICATES,
	SET_KINETICS,
	SET_CHECKS,
	PROBLEM_SETS
};

struct iso_problem {
	iso_ctx *ctx; /* NULL while a command has not made it yet */
	const struct model *m;
	void *self;  /* the model's: parameters, and after load what they name */
	void *fresh; /* the same before load, to go back to */
	int loaded;  /* what it was loaded for, of enum model_need; 0: nothing */
	struct model_found found;
	bool like; /* parameters come from a record, which has the defaults too: those were not asked for */
	bool force;
	bool ends;          /* the process does nothing behind this run but end: the device may go first */
	bool projects;      /* during project and backproject: what comes out may become a reference */
	const char *accept; /* checks whose refusals become warnings, with commas between them; NULL: none */

	struct opt params[MODEL_PARAMS], psf[2], more[2], fit[2];
	struct settings s; /* of the reconstruction */
	struct preset preset;
	struct opt_set sets[PROBLEM_SETS + 1]; /* all tables of parameters, and one that ends them */
	char value[256];                       /* of iso_problem_param: numbers as text */
	json_t *kept; /* a list of texts that were set, and of records: values lie in them */

	struct record *record, own; /* record: its own, or that of the command */
	json_t *blank, *read;       /* what its own says at first, and after load */
	bool told;                  /* its own tells of a run with the parameters as they are */

	struct replicated *replicated; /* of the last run; NULL: none */
	iso_iteration_fn each;         /* whom to show images, or NULL */
	void *each_arg;
};

/* As iso_problem_create; the context comes later, and `record`, where not NULL, is used in place of one
   of its own. */
int problem_create(iso_problem **p, const char *model, struct record *record);

bool problem_given(const iso_problem *p, const char *name);

/* Whether the grid is that of the image, where there is one: none was given. Else one that was settled
   must be a grid, and that of the image. */
bool problem_takes_grid(const iso_problem *p, const struct iso_grid *image);
int problem_check_grid(const struct iso_grid *g, const struct iso_grid *image);

/* 'preset' is quick from now on where nobody gave it or another parameter that it would choose, or that
   it does not go with. For a command; in the library nothing is chosen unless 'preset' is given. */
void problem_default_preset(iso_problem *p);
/* What 'preset' has set is as before; it will be chosen anew. */
void problem_forget_preset(iso_problem *p);

/* Loads what is needed and is not there; `image`: a grid to fall back on, or NULL. */
int problem_load(iso_problem *p, int need, const struct iso_grid *image);
void problem_unload(iso_problem *p);

/* After settings_check: ISO_EARG where something stands in the place of the image ('output'), of one between iterations
   or of what an interrupted run leaves, and may not be replaced or continued. `names`: all of them are outputs, which must
   differ from its other names; NULL: none is known. */
int problem_check_files(iso_problem *p, struct iso_names *names);
int problem_check_output(const iso_problem *p); /* the image alone */

/* The problem's own record, after load, forgets what an earlier run left in it. */
int problem_begin_run(iso_problem *p);

/* The parameters as they are now into the record; into that of a command, those that the command has. */
int problem_record_parameters(iso_problem *p);

/* Of a dry run of several ranks: how long an update takes, where the model can say and the plan `fits` all of them;
   collective. estimate.c */
int problem_estimate(iso_problem *p, struct record_split *s, bool fits);

/* Seconds of a step over all rows of an operator, once it is warm. estimate.c */
int problem_time_step(iso_op *op, double *seconds);

/* The beginning of a plan: a line for the arrays that were read; and its end: refused if it does not fit,
   or whatever the record's listener says; it is freed. */
struct iso_plan problem_plan_begin(const iso_problem *p);
int problem_plan_end(iso_problem *p, struct iso_plan *plan);

bool problem_has_psf(const iso_problem *p);

/* The operator behind the problem's PSF; as it is where that is 0. `op` is taken over, NULL on failure. */
int problem_add_psf(iso_problem *p, iso_op **op);

/* s = P* s, where there is a PSF: the sensitivity of A P from that of A. Where that was cut at the edge of the field of
   view, s = P* s / P* (s > 0) within it and 0 outside: lines go on beyond the edge, and an s that fell towards it would
   let the image grow there without bound. */
int problem_blur_sens(iso_problem *p, struct iso_array *s);
int problem_blur(iso_problem *p, struct iso_array *s); /* wherever the PSF is */

/* record_write of an image, in the shape that the model's images have in this format. */
int problem_write_image(iso_problem *p, const char *path, const struct iso_array *image, const iso_ctx *stop);

/* iso_problem_project and iso_problem_backproject of what was read from the file `name`; `out`: a file that the
   image must fit, or NULL. In a dry run the arrays have no values. */
int problem_project(iso_problem *p, struct iso_array *y, const struct iso_array *x, const char *name);
int problem_backproject(iso_problem *p, struct iso_array *x, const struct iso_array *y, const char *name,
                        const char *out);

/* iso_problem_scatter; in a dry run the image has no values. */
int problem_scatter(iso_problem *p, const struct iso_array *image, struct iso_array *r, const char *table);

/* What a run made of a frame, for checks of it. */
struct run_made {
	const struct iso_array *image;
	const iso_real *sens; /* of all subsets, times the frame's factor */
	double expected;      /* sum of S x over all voxels: counts that the image expects on all lines */
	double counts;        /* of the rows that were used; NaN: not known */
	double added; /* expected counts besides the image's: 0, or NaN where their sum is not known */
	const json_t *loglik; /* of each update; NULL: the method tells another figure */
	int updates;
	bool filtered; /* since the last update */
};

/* check/check.c: that inputs fit each other, after load, and that an image fits its data. A finding is a warning, or, if
   the image can only be wrong, ISO_EINPUT; and that the words of 'accept' are names of checks. */
int problem_check_inputs(iso_problem *p);
int problem_check_image(iso_problem *p, const struct run_made *made);
int problem_check_accept(const iso_problem *p);

/* check/idle.c: notes of parameters that were given and do nothing in this run; after load. */
void problem_tell_idle(const iso_problem *p);

/* The model's sensitivity without the PSF, after load. */
int problem_sens(iso_problem *p, struct iso_array *s);

#endif
