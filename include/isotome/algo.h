/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithms: from data to images through any operator. Images and data are on the host, data in the
   file's order.

   Threads: a run uses its operator until it returns; `each` and `wants` are called on the caller's
   thread. */
#ifndef ISOTOME_ALGO_H
#define ISOTOME_ALGO_H

#include "isotome/filter.h"
#include "isotome/memory.h"
#include "isotome/op.h"

ISO_BEGIN_C

/* ---- expectation maximisation ---- */

/* Sensitivity images: one for all subsets (each then takes 1/n_sub of it), or one per subset. */
struct iso_sens {
	int n_images, n_sub;
	const iso_real *image; /* n_images images, one after the other */
};

/* Image and scale for a subset. */
const iso_real *iso_sens_get(const struct iso_sens *s, int64_t n, int sub, double *scale);

struct iso_em {
	iso_op *op;
	struct iso_em_data data; /* host, file order; add is r, not r/m */
	struct iso_sens sens;    /* host */
	int iterations;
	const char *checkpoint;    /* file, or NULL */
	double checkpoint_minutes; /* least time between two writings */
	double stop_after_minutes; /* then checkpoint and ISO_ECANCEL; 0: never */
	uint64_t key;              /* of inputs and options: a checkpoint of another key is refused */
	bool resume;
	/* After each iteration, with the image on the host; NULL: not wanted. */
	int (*each)(void *arg, int iteration, const iso_real *x);
	void *arg;
	bool (*wants)(void *arg, int iteration); /* NULL: every iteration */
	const struct iso_filter *filter;         /* NULL: none; else after every filter_every-th */
	int filter_every;                        /* iteration, on `grid` */
	struct iso_grid grid;
};

struct iso_em_result {
	int64_t used, skipped; /* events in the last iteration */
	double lost;           /* counts of those skipped */
	int resumed_from;      /* updates found in the checkpoint, 0 if none */
	int unsaved;           /* checkpoints on the way that could not be written */
	int n;                 /* updates: iterations x subsets */
	double *loglik;        /* of each update, before it; free with iso_em_result_free */
};

/* MLEM, or OSEM if the operator has subsets. x, on the host, is the start and the result. */
int iso_em_run(iso_real *x, struct iso_em_result *r, const struct iso_em *p);
void iso_em_result_free(struct iso_em_result *r);

/* For n voxels, n_data rows, n_images sensitivity images; which data vectors there will be. */
void iso_em_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, int n_images,
                 int n_vectors);

/* ---- penalised least squares by conjugate gradients ---- */

/* Quadratic smoothness, its own adjoint: <x, L x> is the sum of (x_n - x_m)^2 over neighbours. */
int iso_smoothness_create(iso_op **op, iso_ctx *ctx, const struct iso_grid *g);

struct iso_cg {
	iso_op *op;
	const iso_real *y; /* data, host, file order */
	iso_op *penalty;   /* NULL: none, and mu is 0 */
	double mu;
	int iterations;
	double tolerance; /* stop where |gradient| falls below this share of the first */
	/* as in struct iso_em: */
	const char *checkpoint;
	double checkpoint_minutes, stop_after_minutes;
	uint64_t key;
	bool resume;
	int (*each)(void *arg, int iteration, const iso_real *x);
	void *arg;
	bool (*wants)(void *arg, int iteration);
};

struct iso_cg_result {
	int n; /* iterations done */
	int resumed_from, unsaved;
	double *cost;     /* |y - A x|^2 + mu <x, L x>: n + 1, at the start and after each */
	double *gradient; /* |gradient| over that at the start: n + 1 */
};

/* x, on the host, is the start and the result. */
int iso_cg_run(iso_real *x, struct iso_cg_result *r, const struct iso_cg *p);
void iso_cg_result_free(struct iso_cg_result *r);
void iso_cg_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, bool penalty);

/* ---- least squares with total variation and a sign ---- */

struct iso_fista {
	iso_op *op;
	const iso_real *y; /* data, host, file order */
	struct iso_grid grid;
	iso_op *penalty; /* as in struct iso_cg */
	double mu;
	double tv;   /* times the sum of |gradient| over the voxels; 0: none */
	bool nonneg; /* no voxel below 0 */
	int iterations;
	int tv_steps; /* inside an iteration; 20 do */
	/* as in struct iso_em: */
	const char *checkpoint;
	double checkpoint_minutes, stop_after_minutes;
	uint64_t key;
	bool resume;
	int (*each)(void *arg, int iteration, const iso_real *x);
	void *arg;
	bool (*wants)(void *arg, int iteration);
};

/* x, on the host, is the start and the result. The cost of r does not rise; its `gradient` is the
   change of the image over its size, 0 where a step was not taken. */
int iso_fista_run(iso_real *x, struct iso_cg_result *r, const struct iso_fista *p);
void iso_fista_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, bool penalty,
                    bool tv);

ISO_END_C
#endif
