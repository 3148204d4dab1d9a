/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods of reconstruction: a row each says what a method is for, which models it serves, which parameters it takes with
   which defaults, and how it runs. A new method is a file method/method_X.c with its row, and its name in method.c. */
#ifndef ISO_METHOD_H
#define ISO_METHOD_H

#include "recon.h"

/* What a parameter is for (`goes` of struct opt), and which of that a method takes. Bits of enum model_has go on above. */
enum method_takes {
	TAKES_METHOD = 1,        /* 'method' itself */
	TAKES_START = 2,         /* a start image */
	TAKES_ITERATIONS = 4,    /* their number */
	TAKES_FILES = 8,         /* files on the way: checkpoints, images between iterations, a curve */
	TAKES_COUNTS = 16,       /* subsets, sensitivity, PSF, filter, times, units */
	TAKES_FILTER_EVERY = 32, /* the filter is a part of the iterations; else it comes after the last */
	TAKES_PENALTY = 64,
	TAKES_TOLERANCE = 128, /* an end before the last iteration */
	TAKES_UNSEEN = 256,    /* what a penalty does with voxels that no line sees */
	TAKES_PAIRS = 512,     /* weights of a penalty's pairs of voxels */
	TAKES_STEP = 1024,
	TAKES_RELAX = 2048,
	TAKES_KERNEL = 4096,
	TAKES_SIGNS = 8192, /* data and image of both signs, with weights */
	TAKES_PRECONDITION = 16384,
	TAKES_WINDOW = 32768, /* of the ramp */
	TAKES_REPLICATES = 1 << 24,
	TAKES_REGIONS = 1 << 25, /* labels whose error is asked for */
	TAKES_FISHER = 1 << 26,  /* their covariance at the maximum */

	TAKES_WORK = TAKES_METHOD | TAKES_START | TAKES_ITERATIONS | TAKES_FILES,
	TAKES_PHI = TAKES_WORK | TAKES_COUNTS | TAKES_PENALTY | TAKES_TOLERANCE | TAKES_UNSEEN,
};

/* What penalised likelihood and kernel EM have besides EM; zeros at first. */
struct recon_map {
	struct iso_array kappa, anatomy; /* no values: none */
	bool kappa_auto;
	int n_features; /* images in `feature`, of which one may hold several */
	struct iso_array feature[MAP_FEATURES];
	/* of all frames so far, for warnings */
	int frames, went_back, unfinished, few;
	int64_t cut, unseen;
	double relative;                         /* the greatest */
	const struct iso_prior_parameter *large; /* the first parameter that is too large; NULL: none */
	double large_is, mean;                   /* its value, and the mean of the image there */
	double counts;                           /* of the first whose subsets have few */
	int subsets;
	double change, passes; /* of the first that did not converge */
};

/* What a method says of a frame. */
struct recon_result {
	int64_t used, skipped;
	double lost;
	int resumed_from, unsaved;
	int updates, iterations; /* done; 0: there were no events */
	bool stopped;
	json_t *loglik, *map; /* one of them, taken over by whoever describes it */
};

/* The sensitivity of a frame: of its subsets, and of all of them. */
struct recon_sens {
	struct iso_sens parts;
	const iso_real *whole;
};

/* What methods load, of enum model_need: of counts, the sensitivity too, unless it is given. */
enum {
	LOAD_SQUARES = MODEL_NEEDS_DATA | MODEL_NEEDS_COUNTS,
	LOAD_COUNTS = LOAD_SQUARES | MODEL_NEEDS_ADD | MODEL_MAY_STREAM | MODEL_NEEDS_SENS,
};

struct method {
	const char *name;  /* NULL: no word of 'method' */
	const char *about; /* what it is for, in a few words: the help of 'method' is made of them */
	unsigned needs;    /* what a model must have, of enum model_has */
	unsigned takes;    /* parameters, of enum method_takes */

	/* defaults of parameters */
	const char *start;
	int iterations;
	int subsets; /* 0: by the counts of a frame */
	double tolerance;

	const char *more; /* it has one subset, the method of this name more; NULL: any number */
	bool shuffles;    /* subsets come in an order of 'seed' */
	bool one_limit;   /* where it ends does not depend on subsets: they may share one sensitivity */
	bool in_memory;   /* the rows must be */
	enum iso_map_method map; /* of iso_map_run */
	const char *residual;    /* what 'tolerance' is compared with, in words */

	int load; /* enum model_need */
	int (*check)(
		iso_problem
			*problem); /* parameters that are its own, before anything is read; NULL: nothing */
	int (*run)(iso_problem *problem,
	           struct iso_array *to); /* the image to `to`, to settings.out, or both */

	/* Of counts, for recon_em; NULL: nothing to do. */
	int (*read)(struct recon *r, struct recon_map *m); /* files that its parameters name */
	/* `images`: of the sensitivity */
	void (*plan)(const struct recon *r, const struct recon_map *m, struct iso_plan *plan, int64_t rows,
	             int images);
	int (*begin)(struct recon *r, struct recon_map *m);  /* before the first frame */
	int (*settle)(struct recon *r, struct recon_map *m); /* a frame's data are read: its subsets */
	int (*iterate)(struct recon *r, struct recon_map *m, const struct recon_sens *sens,
	               struct recon_result *out);
	void (*warn)(const struct recon *r, const struct recon_map *m); /* once, of all frames */

	/* Of data of both signs, for recon_squares: its memory, and the image under way, which it describes. */
	void (*plan_squares)(const struct recon *r, struct iso_plan *plan, int64_t rows);
	int (*fit)(struct recon *r);
};

/* Method k of those that serve the model, NULL beyond the last; and that of a name, NULL: none. The first is the default. */
const struct method *method_at(const struct model *m, int k);
const struct method *method_find(const struct model *m, const char *name);

/* Words and help of 'method', and defaults that depend on it: "20 for svrg, saga and bsrem; 400 for lbfgs". */
void method_describe(struct method_words *w, const struct model *m);

/* Sets settings.how from the parameters. ISO_EARG where one is given that neither the method nor the model has a use for,
   from what its row says. */
int method_choose(iso_problem *problem);

/* ISO_EARG if a parameter is given that is there for one of the bits `goes`: it does not go with `with`. */
int method_refuse(const iso_problem *problem, unsigned goes, const char *with);

/* method/method_em.c */
void em_plan(const struct recon *r, const struct recon_map *m, struct iso_plan *plan, int64_t rows,
             int images);
int em_iterate(struct recon *r, struct recon_map *m, const struct recon_sens *sens, struct recon_result *out);

/* method/method_kem.c: K x or K* x, images on the host; r->op becomes A K, where there is a kernel */
int kernel_apply(const struct recon *r, iso_real *to, const iso_real *from, bool adjoint);
int kernel_add(struct recon *r);

/* method/method_map.c */
int map_check_likelihood(const iso_problem *problem); /* ISO_EARG: the data are of another than this */
int map_start(struct recon *r, const iso_real *sens); /* r->x: uniform where the sensitivity is */
int map_settle(struct recon *r, struct recon_map *m); /* subsets, where none were asked for */
void map_warn(const struct recon *r, const struct recon_map *m);
void map_free(struct recon_map *m);
void curve_number(FILE *f, double v); /* of a curve's line: behind a comma, nothing where it is not finite */

/* recon_squares.c, for methods of least squares */
#define SQUARES_CURVE "iteration,cost,gradient\n" /* the head of a curve */
int squares_check(iso_problem *problem);          /* 'penalty' and 'curve' */
int squares_add_image(struct recon *r,
                      double cost); /* what was made of which data, and how well they are met */

#endif
