/* SPDX-License-Identifier: BSD-3-Clause */
/* Model srm as a problem: options in model_srm.c, counts and factors in srm_data.c, heads that turn in srm_turn.c. */
#ifndef ISO_MODEL_SRM_H
#define ISO_MODEL_SRM_H

#include "problem/inputs.h"
#include "problem/problem.h"

/* Heads that turn: a histogram for each known row of the table. */
struct srm_turn {
	const char *gantry;
	double duration_s; /* 0: not said */
	/* what they name */
	int n;               /* histograms; without a table 1 */
	struct iso_pose *at; /* G of each; NULL: the heads do not turn */
	double *weight;      /* of each: its share of the time x mean of exp(-kt), over that of the scan */
};

struct srm_model {
	iso_problem *p; /* whose self this is, from load on */
	struct srm_turn turn;
	/* options */
	const char *matrix, *data, *scanner, *strategy, *norm, *additive, *delayed, *randoms, *mu, *deal;
	bool absolute;
	/* what they name */
	const iso_srm *m; /* given in memory, or own */
	iso_srm *own;     /* read from a file */
	struct iso_srm_info info;
	struct iso_array counts, norm_of, add, late, mu_map;
	int *deal_of;
	bool needs_add;
	iso_real *
		factor; /* normalisation x attenuation (/ kept share), made once; NULL: 1. Without weights of angles */
};

/* Reads what the options name; counts only where they are asked for. */
int srm_load_data(struct srm_model *srm, int need);

/* Makes the factors of the LORs once, and of those the factors of EM; NULL where all are 1. */
int srm_mult(struct srm_model *srm, iso_real **mult);
int srm_data(iso_problem *problem, struct model_data *d);

/* The table, before data are read; and the operator: A itself, or all A W_k. Takes over `op`. */
int srm_turn_load(struct srm_model *srm);
void srm_turn_free(struct srm_turn *t);
int srm_turn_op(struct srm_model *srm, iso_op **op);
void srm_turn_plan(struct srm_model *srm, struct iso_plan *plan);

#endif
