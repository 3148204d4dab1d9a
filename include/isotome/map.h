/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalised likelihood: the image x >= 0 at which

	Phi(x) = sum_j y_j log(m_j ((A x)_j + a_j)) - <S, x> - beta R(x)

   has its maximum. Every method means this by its objective, for one image, with the same constants. The sum
   of r and the factorials of y are left out. Rows with m = 0 or A x + a = 0 are left out and counted. Any
   operator with subsets will do. docs/priors.md has the algorithms with their equations. As in algo.h: in one call
   (iso_map_run) or step by step, which gives the same bits; arrays are copied. */
#ifndef ISOTOME_MAP_H
#define ISOTOME_MAP_H

#include "isotome/prior.h"

ISO_BEGIN_C

enum iso_map_method {
	ISO_MAP_SVRG,  /* stochastic variance reduced gradients, with one ratio per row in place of images */
	ISO_MAP_SAGA,  /* the same, with ratios renewed at every update between two anchors */
	ISO_MAP_BSREM, /* Ahn and Fessler 2003, steps that shrink; svrg is nearer after as many passes */
	ISO_MAP_LBFGS, /* L-BFGS for x >= 0 of the preconditioned image (Tsai 2018), all data at once: the reference */
	ISO_MAP_DEPIERRO, /* De Pierro 1995: EM by separable surrogates; with one subset Phi never falls */
};

/* If an image has 1.5 times the counts, or Phi falls from one anchor to the next, svrg and saga go back to the
   anchor before, with half the step. bsrem stays below 100 times the start's maximum, and shortens steps if
   subsets are uneven. With fewer than 32 counts a voxel (8 if the start is taken as given), all three let a
   voxel at most double in an update. */
enum iso_map_guard { ISO_MAP_GUARDS, ISO_MAP_NO_GUARDS };

struct iso_map {
	size_t size; /* size of this struct */
	iso_op *op;
	enum iso_place place;    /* place of data, sens, kappa, anatomy and images */
	struct iso_em_data data; /* file order; add is r, not r/m */
	struct iso_sens sens;
	enum iso_map_method method;
	const struct iso_prior_spec *prior; /* NULL: none, beta is 0. A parameter that is 0 gets its default
	                                       (iso_prior_default), unless it has no unit and may be 0 */
	bool kappa_auto; /* kappa = sqrt(A*(y (A 1) / (A x + a)^2)) at the start image, in a pass of its own */
	bool keep_unseen; /* voxels without sensitivity stay neighbours, as in STIR */
	double beta;      /* >= 0 */
	double relative;  /* > 0: scale-free strength in place of beta */
	int passes;       /* most passes over the data, including the start; for lbfgs evaluations */
	double tolerance; /* change of the image over two epochs (lbfgs: KKT residual) that ends the run; 0: no change
   does */
	double step; /* 0: 1 */
	double relax; /* for bsrem: step / (1 + relax epoch); < 0: the step stays; 0: the step falls to 1/50 by the
   last update */
	uint64_t seed; /* seed of the order of subsets */
	bool in_turn;  /* subsets 0, 1, 2, ... in every epoch */
	bool as_given; /* x is the start as it is; false: one OSEM pass comes first */
	enum iso_map_guard guard;
};

typedef struct iso_map_state iso_map_state;

/* From the caller's image to the first update: the OSEM pass, kappa, the parameters and the strength of the penalty. After
   ISO_ECANCEL the next update continues. The image is a copy. */
ISO_CHECKED int iso_map_create(iso_map_state **m, const struct iso_map *p, const iso_real *x);
ISO_CHECKED int iso_map_step(iso_map_state *m); /* one update; ISO_EARG after the last */
bool iso_map_finished(const iso_map_state *m);
ISO_CHECKED int iso_map_image(iso_real *x, const iso_map_state *m);
double iso_map_passes(const iso_map_state *m); /* over the data so far, the start's included */
void iso_map_free(iso_map_state *m);

/* A look at Phi. svrg and saga look at anchors, before the update; lbfgs looks after each step. All look at
   the end, in a pass that `passes` does not count. Phi belongs to one image, or is NAN: bsrem looks
   after each epoch, and then knows only the penalty and the change. */
struct iso_map_look {
	size_t size;   /* size of this struct in the library: look i stands i * size bytes behind the first */
	double passes; /* over the data so far */
	int64_t updates;
	double objective, loglik, penalty; /* Phi, its data's part, beta R; the first two NAN: not known */
	double gradient; /* for svrg and saga |[x + P grad Phi]+ - x| over |x|; for lbfgs the KKT residual; otherwise
   NAN */
	double change; /* change of the image over two epochs, over its size; NAN: not known yet */
};

/* The looks so far; valid until the next call. */
const struct iso_map_look *iso_map_looks(int *n, const iso_map_state *m);

struct iso_map_result {
	size_t size;               /* size of this struct, set by the caller */
	int n;                     /* looks */
	struct iso_map_look *look; /* free with iso_map_result_free */
	int64_t updates;
	double passes;
	double beta, relative;                  /* both, whichever was given */
	double parameter[ISO_PRIOR_PARAMETERS]; /* the penalty's, as used */
	double step;                            /* at the end: guards halve it */
	int went_back;                          /* times that a guard acted */
	int64_t cut;                            /* terms cut to the bound of iso_op_ratio_step */
	int64_t unseen;                         /* voxels without sensitivity */
	double kkt;                             /* lbfgs: residual; else NAN */
	bool converged, stopped;                /* by tolerance; by `each` of struct iso_run */
	int64_t used, skipped;                  /* rows, in the last look */
	double lost;
	int resumed_from, unsaved; /* as in struct iso_em_result */
};

/* All updates; x is the start and the result. r and run may be NULL. `each` of run is called after each epoch
   (B updates with B subsets), and for lbfgs after each step. saga writes no checkpoint if ranks have rows of
   their own. */
ISO_CHECKED int iso_map_run(iso_real *x, struct iso_map_result *r, const struct iso_map *p,
                            const struct iso_run *run);
void iso_map_result_free(struct iso_map_result *r);
void iso_map_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_map *p, int64_t n,
                  int64_t n_data);

ISO_END_C
#endif
