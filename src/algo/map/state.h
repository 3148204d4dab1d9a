/* SPDX-License-Identifier: BSD-3-Clause */
/* What the algorithms of penalised likelihood share: the state, and what is done at its start, in every pass and every
   update. One algorithm a file: svrg.c, saga.c, bsrem.c, lbfgs.c, ...; anchor.c has what svrg and saga share. */
#ifndef ISO_MAP_STATE_H
#define ISO_MAP_STATE_H

#include "algo/loop.h"
#include "algo/prior.h"
#include "map_vec.h"

/* Saved as they are: doubles only. */
struct map_numbers {
	double beta, relative;
	double parameter[ISO_PRIOR_PARAMETERS]; /* of the penalty */
	double step;                            /* alpha, halved by guards */
	double off;                             /* u = x + off, 1e-3 of the largest voxel of the start */
	double most;                            /* guard of bsrem: 100 times the largest voxel of the start */
	double phi;                             /* at the last anchor; of lbfgs, now */
	double first; /* Phi at the first anchor, and the best so far: the scale of a fall */
	double best;
	double change; /* over the last two epochs; NAN: not known yet */
	double kkt;    /* of lbfgs; NAN: not known */
	double scale;  /* of lbfgs: of the first direction */
};

/* Saved as they are: integers only. */
struct map_counters {
	int64_t done; /* updates */
	int64_t used; /* passes over the data, in parts of 1/subsets */
	int64_t looks;
	int64_t went_back; /* times that a guard acted */
	int64_t cut;       /* terms of ratio steps */
	int64_t converged;
	int64_t pairs; /* of lbfgs: that there are, and the place of the next */
	int64_t next_pair;
	int64_t restarted;
	int64_t skipped; /* of lbfgs: rows at the start */
	int64_t stale;   /* of saga: ratios and gradient do not belong together */
};

enum { MAP_PAIRS = 20 }; /* of lbfgs */

/* What a subset's last visit found. Saved as it is: doubles only. */
struct map_visit {
	double loglik;
	double lost;          /* counts of rows that are left out */
	double used, skipped; /* rows */
	double counts;        /* of the rows that were used */
};

struct map_lbfgs {
	iso_real *s, *y; /* pairs, images one after the other */
	iso_real *slope; /* gradient of Phi at x */
	iso_real *scale; /* p^2 */
	iso_real *free;  /* 1 where a voxel is free to move */
	iso_real *step;  /* direction */
	iso_real *next_slope;
};

struct iso_map_state {
	struct iso_loop l; /* x: the image */
	struct iso_map p;  /* arrays of data and sensitivity: ours, on the device */
	const struct map_method *method;
	const struct map_vec *v;
	struct iso_prior_spec spec; /* images: on the host, until there is a prior */
	iso_prior *prior;           /* NULL: beta is 0 */
	int subsets;
	int64_t budget, rows;
	double counts; /* sum of y, of all ranks */
	int64_t unseen;
	iso_real *seen_by; /* sensitivity of each subset, for the start; NULL: one image serves all */
	iso_real *sens;
	iso_real *next, *z; /* images: the next one; of a ratio step, and scratch */
	iso_real *gradient; /* A* rho - S; of bsrem: -S */
	iso_real *balance;  /* M */
	iso_real *precond;  /* P */
	iso_real *u;        /* scale of ratio steps */
	iso_real *anchor;   /* image two epochs before, of svrg and saga that of the last anchor */
	iso_real *kappa;    /* of kappa_auto */
	iso_real *rho;      /* ratios, rows of this rank */
	iso_real *old;      /* ratios of one subset before an update */
	struct map_lbfgs b;
	struct map_visit *visit; /* of each subset */
	struct iso_map_look *look;
	int64_t most_looks;
	struct map_numbers num;
	struct map_counters tally;
};

/* An algorithm. */
struct map_method {
	const char *name;
	int images, saved;              /* on the device besides those of the state, and in a checkpoint */
	int start;                      /* passes that `begin` takes */
	bool by_subsets;                /* updates take a subset each; else all data */
	bool anchors;                   /* every second epoch begins with an update of all data: anchor.c */
	bool fresh;                     /* P is made anew in every epoch */
	bool rates;                     /* it has ratios */
	int (*take)(iso_map_state *m);  /* arrays; NULL: none of its own */
	int (*begin)(iso_map_state *m); /* after the start image and the prior are there; NULL: nothing */
	int (*update)(iso_map_state *m);
	int (*items)(iso_map_state *m, struct iso_item *item, int n); /* adds its own to the n items */
	int (*restored)(iso_map_state *m);                            /* NULL: nothing */
};

const struct map_method *map_method(enum iso_map_method method);

/* ---- start.c: from the caller's image to the first update ---- */

int map_begin(iso_map_state *m);
int map_make_prior(iso_map_state *m);                                 /* from the numbers and kappa */
int map_curvature(iso_map_state *m, iso_real *k2, const iso_real *x); /* A*(y (A 1) / (A x + a)^2), a pass */

/* ---- pass.c: passes, updates, guards, looks ---- */

/* Subset of update k, of a new random order each epoch. */
int map_subset(const iso_map_state *m, int64_t k);

/* rho = y / (A x + a), gradient = A* rho - S and the balance image at x, subset by subset; u: of the ratio steps. */
int map_pass(iso_map_state *m, const iso_real *x, const iso_real *u);

/* What a step tells of the rows of subset b. */
void map_visited(iso_map_state *m, int b, const struct iso_em_stat *s);

/* z of a ratio step of subset b at the present image. */
int map_ratio(iso_map_state *m, int b, bool keep);

/* u and P of the present image, where the epoch that update k begins is one of those at which they are made. */
int map_renew(iso_map_state *m, int64_t k, const iso_real *balance);

/* The image becomes [x + step P (scale z + gradient - beta grad R)]+, of a scan with few counts no voxel more than
   doubled; z is 0 then. The image before is in m->next. */
int map_move(iso_map_state *m, double scale, double step);

/* <S, x> of an image that is fit to go on from; ISO_EINPUT if it is not finite. */
int map_expected(iso_map_state *m, double *sum);

/* Guard: an image with more than 1.5 times the counts goes back to `to`, with half the step. */
int map_guard(iso_map_state *m, const iso_real *to);

/* Phi of the image x, the one place that computes it: `rows` is the sum of y log(m (A x + a)) over all rows at x. Writes
   the gradient of R too, where that is wanted. */
int map_phi(iso_map_state *m, struct iso_map_look *look, double rows, iso_real *gradient, const iso_real *x);

/* Phi of the image that the last map_pass was at, which is m->l.x. */
int map_objective(iso_map_state *m, struct iso_map_look *look);

/* Looks: what is known without a pass, Phi is not; and the whole, by a pass of its own, in place of a look that the
   image had before. */
int map_glance(iso_map_state *m);
int map_look(iso_map_state *m);

/* The end of update k: counts it, and at the end of every second epoch takes the change; `keep`: the image there is the
   next anchor. */
int map_end(iso_map_state *m, bool keep);

/* ---- anchor.c ---- */

bool map_at_anchor(const iso_map_state *m);
int map_anchored(iso_map_state *m); /* the update at an anchor */

/* ---- images ---- */

/* r = |a - b| / |b|, by way of m->z, which is 0 then. */
int map_difference(iso_map_state *m, double *r, const iso_real *a, const iso_real *b);

int map_penalty(iso_map_state *m, double *value, iso_real *gradient, iso_real *curvature, iso_real *hessian,
                const iso_real *x); /* of R; zeros without a prior */

#endif
