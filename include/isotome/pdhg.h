/* SPDX-License-Identifier: BSD-3-Clause */
/* Total variation without smoothing, by primal-dual hybrid gradients: the image x at which

	P(x) = <S, x> - sum_j y_j log(m_j ((A x)_j + a_j)) + tv TV(x),   x >= 0,     or
	P(x) = |y - A x|^2 + tv TV(x),                                   x >= 0 if wanted,

   is smallest. TV(x) = sum over voxels of |D x|, (D x)_a = (v_1/v_a) times the difference to the next voxel along axis
   a, v the voxel sizes: ISO_PRIOR_TV of prior.h with eta = 0; for cubic voxels that of struct iso_fista. Each look also
   has a dual image, and with it the duality gap: P(x) is at most that far above the minimum. docs/priors-tv.md has the
   equations. As in algo.h: in one call (iso_pdhg_run) or step by step, which gives the same bits; arrays are copied. */
#ifndef ISOTOME_PDHG_H
#define ISOTOME_PDHG_H

#include "isotome/algo.h"
#include "isotome/grid.h"

ISO_BEGIN_C

struct iso_pdhg {
	size_t size; /* size of this struct */
	iso_op *op;
	enum iso_place place;    /* place of data, sens, y and images */
	struct iso_em_data data; /* for the likelihood: file order; add is r, not r/m */
	struct iso_sens sens;    /* S; its image NULL: least squares of y */
	const iso_real *y;       /* for least squares: file order */
	struct iso_grid grid;
	double tv;        /* >= 0 */
	bool nonneg;      /* for least squares: no voxel below 0; the likelihood always has this */
	bool subsets;     /* SPDHG: a step takes one of the operator's subsets, at random; false: all data */
	bool keep_unseen; /* voxels without sensitivity stay neighbours in TV */
	int iterations;   /* over all data, at most */
	double tolerance; /* relative gap that ends the run; 0: no gap does */
	int look_every; /* iterations from one look to the next; 0: 1, or 10 with subsets, because a look is then a
   pass */
	double balance; /* steps of the dual over steps of the image; 0: 0.3, or 1 for a likelihood with subsets */
	uint64_t seed; /* seed of the order of subsets */
};

typedef struct iso_pdhg_state iso_pdhg_state;

/* Like iso_em_create and so on. x is the start. For a likelihood, x must not be 0 everywhere, and its size
   matters. */
ISO_CHECKED int iso_pdhg_create(iso_pdhg_state **d, const struct iso_pdhg *p, const iso_real *x);
ISO_CHECKED int iso_pdhg_step(iso_pdhg_state *d); /* one of `iterations`, or a subset's share of it */
bool iso_pdhg_finished(const iso_pdhg_state *d);
ISO_CHECKED int iso_pdhg_image(iso_real *x, const iso_pdhg_state *d);
void iso_pdhg_free(iso_pdhg_state *d);

struct iso_pdhg_look {
	size_t size;               /* as in struct iso_map_look */
	double iterations, passes; /* so far; passes of A and A* over all data, including start and looks */
	double cost, penalty;      /* P, and tv TV(x) in it */
	double gap; /* gap between P(x) and the dual, >= 0. Least squares: over images of at most twice max |x|
   */
	double relative; /* gap over the counts used; for least squares, gap over |y|^2 */
};

/* The looks so far: after the first iteration, every look_every-th and the last. Valid until the next call. */
const struct iso_pdhg_look *iso_pdhg_looks(int *n, const iso_pdhg_state *d);

struct iso_pdhg_result {
	size_t size; /* size of this struct, set by the caller */
	int n;       /* iterations done */
	int n_looks;
	struct iso_pdhg_look *look; /* free with iso_pdhg_result_free */
	double counts,
		lost; /* counts used, and counts of skipped rows (m = 0, or no voxel and no additive term) */
	int64_t unseen;            /* voxels without sensitivity */
	bool converged, stopped;   /* by tolerance; by `each` of struct iso_run */
	int resumed_from, unsaved; /* as in struct iso_em_result */
};

/* As iso_em_run. */
ISO_CHECKED int iso_pdhg_run(iso_real *x, struct iso_pdhg_result *r, const struct iso_pdhg *p,
                             const struct iso_run *run);
void iso_pdhg_result_free(struct iso_pdhg_result *r);

/* Plans for n voxels and n_data rows. From p it uses the values, and which arrays are not NULL. */
void iso_pdhg_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_pdhg *p, int64_t n,
                   int64_t n_data);

ISO_END_C
#endif
