/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalised likelihood: the image x >= 0 at which

	Phi(x) = sum_j y_j log(m_j ((A x)_j + a_j)) - <S, x> - beta R(x)

   is greatest. Every method means this by its objective, of one image, with the same constants: the sum of r and the
   factorials of y are left out, rows with m = 0 or A x + a = 0 are left out and counted. The image is found
   through any operator with subsets. docs/priors.md has the algorithms with their equations. As in algo.h: in one call
   (iso_map_run) or step by step, which gives the same bits; arrays are copied. */
#ifndef ISOTOME_MAP_H
#define ISOTOME_MAP_H

#include "isotome/prior.h"

ISO_BEGIN_C

enum iso_map_method {
	ISO_MAP_SVRG,  /* stochastic variance reduced gradients, with one ratio a row in place of images */
	ISO_MAP_SAGA,  /* the same, with ratios renewed at every update between two anchors */
	ISO_MAP_BSREM, /* Ahn and Fessler 2003, steps that shrink: svrg is nearer after as many passes */
	ISO_MAP_OSL,   /* one step late (Green 1990): the baseline, ends beside the maximum */
	ISO_MAP_LBFGS, /* L-BFGS for x >= 0 of the preconditioned image (Tsai 2018), all data at once: the reference */
};

/* Where an image has 1.5 times the counts, or Phi falls from one anchor to the next, svrg and saga go back to the anchor
   before with half the step; bsrem keeps below 100 times the start's maximum, and shortens steps where subsets are
   uneven. Of scans with fewer than 32 counts a voxel, 8 where the start is taken as given, all three let a voxel double at most in
   an update. */
enum iso_map_guard { ISO_MAP_GUARDS, ISO_MAP_NO_GUARDS };

struct iso_map {
	size_t size; /* of this struct */
	iso_op *op;
	enum iso_place place;    /* of data, sens, kappa, anatomy and images */
	struct iso_em_data data; /* file order; add is r, not r/m */
	struct iso_sens sens;
	enum iso_map_method method;
	const struct iso_prior_spec
		*prior;   /* NULL: none, beta is 0. A parameter of its kind that is 0 is taken from
	                                       the start image: epsilon 1e-3 of its maximum, ... */
	bool kappa_auto;  /* kappa = sqrt(A*(y (A 1) / (A x + a)^2)) at the start image, a pass of its own */
	bool keep_unseen; /* voxels without sensitivity stay neighbours, as in STIR */
	double beta;      /* >= 0 */
	double relative;  /* > 0: scale-free strength in place of beta */
	int passes;       /* over the data, at most, the start's included; of lbfgs evaluations */
	double tolerance; /* change of the image over two epochs (lbfgs: KKT residual) that ends the run; 0: none does */
	double step; /* 0: 1 */
	double relax; /* of bsrem: step / (1 + relax epoch); < 0: it does not shrink; 0: to 1/50 by the last update */
	uint64_t seed; /* of the order of subsets */
	bool in_turn;  /* subsets 0, 1, 2, ... in every epoch */
	bool as_given; /* x is the start as it is; else one OSEM pass from it comes first */
	enum iso_map_guard guard;
};

typedef struct iso_map_state iso_map_state;

/* From the caller's image to the first update: the OSEM pass, kappa, the parameters and the strength of the penalty. After
   ISO_ECANCEL the next update goes on. The image is a copy. */
int iso_map_create(iso_map_state **m, const struct iso_map *p, const iso_real *x);
int iso_map_update(iso_map_state *m); /* one update; ISO_EARG after the last */
bool iso_map_finished(const iso_map_state *m);
int iso_map_image(iso_real *x, const iso_map_state *m);
double iso_map_passes(const iso_map_state *m); /* over the data so far, the start's included */
void iso_map_free(iso_map_state *m);

/* A look at Phi: of svrg and saga at anchors, before their update; of lbfgs after each step; and of all at the end, where it
   takes a pass that `passes` does not count. Phi is that of one image, or NAN: bsrem and osl look after each epoch, where
   only the penalty and the change are known. */
struct iso_map_look {
	double passes; /* over the data so far */
	int64_t updates;
	double objective, loglik, penalty; /* Phi, its data's part, beta R; the first two NAN: not known */
	double gradient; /* of svrg and saga |[x + P grad Phi]+ - x| over |x|; of lbfgs the KKT residual; else NAN */
	double change; /* of the image since two epochs, over its size; NAN: not known yet */
};

/* Those so far; valid until the next call. */
const struct iso_map_look *iso_map_looks(const iso_map_state *m, int *n);

struct iso_map_result {
	size_t size;               /* of this struct, set by the caller */
	int n;                     /* looks */
	struct iso_map_look *look; /* free with iso_map_result_free */
	int64_t updates;
	double passes;
	double beta, relative;                /* both, whichever was given */
	double gamma, epsilon, s, delta, eta; /* as used */
	double step;                          /* at the end: guards halve it */
	int went_back;                        /* times that a guard acted */
	int64_t cut;                          /* terms cut to the bound of iso_ratio_step */
	int64_t unseen;                       /* voxels without sensitivity */
	double kkt;                           /* lbfgs: residual; else NAN */
	bool converged, stopped;              /* by tolerance; by `each` of struct iso_run */
	int64_t used, skipped;                /* rows, in the last look */
	double lost;
	int resumed_from, unsaved; /* as in struct iso_em_result */
};

/* All updates; x is the start and the result. r and run may be NULL. `each` of run is called after each
   epoch, B updates with B subsets; of lbfgs after each step. saga has no checkpoint where ranks have rows of their own. */
int iso_map_run(iso_real *x, struct iso_map_result *r, const struct iso_map *p, const struct iso_run *run);
void iso_map_result_free(struct iso_map_result *r);
void iso_map_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_map *p, int64_t n,
                  int64_t n_data);

ISO_END_C
#endif
