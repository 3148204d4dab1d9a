/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithms: from data to images through any operator, in one call (iso_em_run) or step by step
   (iso_em_create, iso_em_step, iso_em_image, iso_em_free). Both give the same bits.

   Structs that begin with `size` grow at their end in later versions: set it to the struct's sizeof. A
   size of 0 is refused; fields that a shorter struct lacks count as 0.

   Arrays are where `place` says, images and data alike, and data are in the file's order. They are
   copied: the caller may free them as soon as a state is made. States keep their operators.

   Threads: a state serves one call at a time, and uses its operator during the call; `each` and `wants`
   are called on the caller's thread. */
#ifndef ISOTOME_ALGO_H
#define ISOTOME_ALGO_H

#include "isotome/filter.h"
#include "isotome/memory.h"
#include "isotome/op.h"

ISO_BEGIN_C

enum iso_place {
	ISO_HOST,
	ISO_DEVICE, /* memory of the operator's context: GPU memory on CUDA, host memory on the CPU */
};

/* What a step of a run left. */
struct iso_watched {
	int64_t done, total; /* steps */
	int per;             /* steps of an iteration */
	double objective;    /* as of struct iso_run; NaN within an iteration */
	const char *figure;  /* what the objective is: "loglik" */
};

#define ISO_WATCH_IMAGE 1 /* what whoever looks on asks for after a step */
#define ISO_WATCH_SAVE 2

/* Looks on, on the caller's thread, and changes nothing of the run. */
struct iso_watch {
	size_t size; /* sizeof(struct iso_watch) */
	/* After each step: 0, or ISO_WATCH_IMAGE and ISO_WATCH_SAVE added up. */
	int (*step)(void *arg, const struct iso_watched *s);
	/* ISO_WATCH_IMAGE, and once more behind the last step: the image on the host, for the time of the call. A failure
	   ends the run. */
	int (*image)(void *arg, const iso_real *x);
	/* ISO_WATCH_SAVE, where the run has a checkpoint: it was written now, or could not be. */
	void (*saved)(void *arg, int status);
	void *arg;
};

/* What surrounds the steps of a run. */
struct iso_run {
	size_t size;               /* sizeof(struct iso_run) */
	const char *checkpoint;    /* file, or NULL */
	double checkpoint_minutes; /* least time between two writings */
	double stop_after_minutes; /* then checkpoint and ISO_ECANCEL; 0: never */
	uint64_t key;              /* of inputs and options: a checkpoint of another key is refused */
	bool resume;               /* from the checkpoint, if there is one */
	/* After each iteration, with the image on the host; NULL: not wanted. ISO_OK goes on, ISO_ENOUGH ends the run as
	   if there were no more iterations (a filter of EM that was to follow the last one alone follows this one); a
	   failure ends it too, with a checkpoint. With several ranks each has its own function or none, and all ranks
	   end if one of them asks to end. */
	int (*each)(void *arg, int iteration, const iso_real *x);
	void *arg;
	bool (*wants)(void *arg, int iteration); /* NULL: every iteration */
	bool keep; /* a checkpoint of the finished run too: resumed, it gives the image at once */
	/* Set before `each` is called; NULL: not wanted. For EM this is the log-likelihood: the sum over the updates
	   of the iteration, each for its subset and before the update. Otherwise it is the cost after the
	   iteration. */
	double *objective;
	const struct iso_watch *watch; /* NULL: nobody watches */
};

/* ---- expectation maximisation ---- */

/* Sensitivity images: one for all subsets (each then takes 1/n_sub of it), or one per subset. */
struct iso_sens {
	int n_images, n_sub;
	const iso_real *image; /* n_images images, one after the other */
};

/* Image and scale for a subset. */
const iso_real *iso_sens_get(double *scale, const struct iso_sens *s, int64_t n, int sub);

struct iso_em {
	size_t size; /* sizeof(struct iso_em) */
	iso_op *op;
	enum iso_place place;
	struct iso_em_data data; /* file order; add is r, not r/m */
	struct iso_sens sens;
	int iterations;                  /* most passes over all subsets */
	const struct iso_filter *filter; /* NULL: none; else after every filter_every-th */
	int filter_every;                /* iteration, on `grid`; as many as `iterations`: after the last */
	struct iso_grid grid;
};

typedef struct iso_em_state iso_em_state;

/* MLEM, or OSEM if the operator has subsets, before the first update; x is the start. */
ISO_CHECKED int iso_em_create(iso_em_state **e, const struct iso_em *p, const iso_real *x);

/* One update, with the next subset in turn, and the filter if one is due. After ISO_ECANCEL the next
   call goes on; ISO_EARG after the last. */
ISO_CHECKED int iso_em_step(iso_em_state *e);
bool iso_em_finished(const iso_em_state *e); /* all updates are done; true of NULL, here and below */
ISO_CHECKED int iso_em_image(iso_real *x, const iso_em_state *e); /* a copy */

/* The log-likelihood before each of the n updates done; valid until the next call. */
const double *iso_em_loglik(int *n, const iso_em_state *e);

/* Events of the iteration under way, used and skipped, and the counts of those skipped. */
void iso_em_events(int64_t *used, int64_t *skipped, double *lost, const iso_em_state *e);
void iso_em_free(iso_em_state *e);

struct iso_em_result {
	size_t size;           /* sizeof(struct iso_em_result), set by the caller */
	int64_t used, skipped; /* events in the last iteration */
	double lost;           /* counts of those skipped */
	int resumed_from;      /* updates found in the checkpoint, 0 if none */
	int unsaved;           /* checkpoints on the way that could not be written */
	int n;                 /* updates done: iterations x subsets, unless stopped */
	double *loglik;        /* log-likelihood before each update; free with iso_em_result_free */
	bool stopped;          /* by `each` of struct iso_run */
};

/* All updates; x is the start and the result. r and run may be NULL: not wanted. A failure leaves r
   empty. */
ISO_CHECKED int iso_em_run(iso_real *x, struct iso_em_result *r, const struct iso_em *p,
                           const struct iso_run *run);
void iso_em_result_free(struct iso_em_result *r);

/* For n voxels, n_data rows, n_images sensitivity images; which data vectors there will be. */
void iso_em_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, int n_images,
                 int n_vectors);

/* ---- penalised least squares by conjugate gradients ---- */

struct iso_penalty {
	const char *name; /* in parameter `penalty` of a problem: "quadratic" */
	const char *help; /* in words, the sum that mu multiplies */
	bool proximal;    /* has no operator; use the member of struct iso_fista */
};

/* Returns penalty i, or NULL if there are i or fewer. */
const struct iso_penalty *iso_penalty(int i);

/* A quadratic penalty <x, L x> as the operator L, which is its own adjoint. ISO_EARG for any other name. */
ISO_CHECKED int iso_penalty_create(iso_op **op, iso_ctx *ctx, const char *name, const struct iso_grid *g);

/* "quadratic", smoothness: <x, L x> is the sum of (x_n - x_m)^2 over neighbours. */
ISO_CHECKED int iso_smoothness_create(iso_op **op, iso_ctx *ctx, const struct iso_grid *g);

struct iso_cg {
	size_t size; /* sizeof(struct iso_cg) */
	iso_op *op;
	enum iso_place place;
	const iso_real *y; /* data, file order */
	iso_op *penalty;   /* NULL: none, and mu is 0 */
	double mu;
	int iterations;   /* at most */
	double tolerance; /* finished where |gradient| falls below this share of the first */
	bool nonneg;      /* no voxel below 0; the gradient is that of the voxels that may go its way */
	bool by_image;    /* with nonneg: bright voxels go farther, as suits images that are mostly 0 */
};

typedef struct iso_cg_state iso_cg_state;

/* As iso_em_create and so on: x is the start, a step an iteration. */
ISO_CHECKED int iso_cg_create(iso_cg_state **c, const struct iso_cg *p, const iso_real *x);
ISO_CHECKED int iso_cg_step(iso_cg_state *c);
bool iso_cg_finished(const iso_cg_state *c); /* by number, by tolerance, or as only rounding is left */
ISO_CHECKED int iso_cg_image(iso_real *x, const iso_cg_state *c);

/* The curves of struct iso_cg_result so far, n values each; valid until the next call. */
const double *iso_cg_cost(int *n, const iso_cg_state *c);
const double *iso_cg_gradient(int *n, const iso_cg_state *c);
void iso_cg_free(iso_cg_state *c);

struct iso_cg_result {
	size_t size;               /* sizeof(struct iso_cg_result), set by the caller */
	int n;                     /* iterations done */
	int resumed_from, unsaved; /* as in struct iso_em_result */
	double *cost;              /* |y - A x|^2 + mu <x, L x>: n + 1, at the start and after each */
	double *gradient;          /* |gradient| over that at the start: n + 1 */
	bool stopped;              /* as in struct iso_em_result */
};

/* As iso_em_run. */
ISO_CHECKED int iso_cg_run(iso_real *x, struct iso_cg_result *r, const struct iso_cg *p,
                           const struct iso_run *run);
void iso_cg_result_free(struct iso_cg_result *r);
void iso_cg_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, bool penalty);

/* ---- least squares with total variation and a sign ---- */

struct iso_fista {
	size_t size; /* sizeof(struct iso_fista) */
	iso_op *op;
	enum iso_place place;
	const iso_real *y; /* data, file order */
	struct iso_grid grid;
	iso_op *penalty; /* as in struct iso_cg */
	double mu;
	double tv;      /* times the sum of |gradient| over the voxels; 0: none */
	bool nonneg;    /* no voxel below 0 */
	int iterations; /* at most */
	int tv_steps;   /* inside an iteration; 20 do */
};

typedef struct iso_fista_state iso_fista_state;

/* As iso_em_create and so on: x is the start, a step an iteration. */
ISO_CHECKED int iso_fista_create(iso_fista_state **f, const struct iso_fista *p, const iso_real *x);
ISO_CHECKED int iso_fista_step(iso_fista_state *f);
bool iso_fista_finished(const iso_fista_state *f);
ISO_CHECKED int iso_fista_image(iso_real *x, const iso_fista_state *f);

/* The curves of struct iso_fista_result so far, n values each; valid until the next call. */
const double *iso_fista_cost(int *n, const iso_fista_state *f);
const double *iso_fista_change(int *n, const iso_fista_state *f);
void iso_fista_free(iso_fista_state *f);

struct iso_fista_result {
	size_t size;               /* sizeof(struct iso_fista_result), set by the caller */
	int n;                     /* iterations done */
	int resumed_from, unsaved; /* as in struct iso_em_result */
	double *cost;              /* as of struct iso_cg, with tv: n + 1 values that do not rise */
	double *change; /* change of the image over its size, 0 if a step was not taken; n + 1 values */
	bool stopped;   /* as in struct iso_em_result */
};

/* As iso_em_run. */
ISO_CHECKED int iso_fista_run(iso_real *x, struct iso_fista_result *r, const struct iso_fista *p,
                              const struct iso_run *run);
void iso_fista_result_free(struct iso_fista_result *r);
void iso_fista_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, bool penalty,
                    bool tv);

ISO_END_C
#endif
