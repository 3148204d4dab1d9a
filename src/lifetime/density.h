/* SPDX-License-Identifier: BSD-3-Clause */
/* The likelihood of triples, and what one pass over them adds up. */
#ifndef ISO_DENSITY_H
#define ISO_DENSITY_H

#include "mixture.h"
#include "triples.h"

/* emg of all rates of a range, at times of the window: cubic pieces in time and in log(rate). */
struct emg_table {
	int64_t bins;
	int nodes;
	double first, step; /* ns */
	double u, du;       /* log(rate) */
	double *v;          /* of each time: value, by u, by t, by both, of all nodes */
};

int emg_table_make(struct emg_table *e, struct iso_room *room, const struct mixture *x);

/* What a pass knows of a voxel. */
struct voxel_state {
	double f, rate, w;
	struct inside in;
	double at; /* log(rate) in nodes of the table */
};

/* Sums of a pass, for each voxel. */
enum { SUM_COUNTS, SUM_RATE, SUM_W, SUM_RATE_RATE, SUM_RATE_W, SUM_W_W, SUMS };

struct likelihood {
	const struct iso_triples *t;
	struct mixture x;
	const struct emg_table *table; /* NULL: each value by its formula */
	struct fixed_parts *fixed;     /* of each triple */
	double *background;            /* of each triple; NULL: none */
	struct voxel_state *state;
	struct parts parts; /* SUMS values a voxel */
	struct scratch {
		struct density *d; /* of the longest row */
		double *curve;     /* of the table at one time: values and slopes */
	} * scratch;               /* of each thread */
	double *sums;              /* (voxels, SUMS) */
	double *logs;              /* of each part */
	int64_t without;           /* triples that nothing explains */
	double *q;                 /* of each triple; NULL: not wanted */
};

int likelihood_open(struct likelihood *l, struct iso_room *room, const struct iso_triples *t, bool table);

/* Random triples: uniform in time, in place as `image` or else the activity f. */
int likelihood_background(struct likelihood *l, struct iso_room *room, const struct iso_lifetime *p,
                          const double *f);

/* The log-likelihood at these images, and l->sums. */
double likelihood_at(struct likelihood *l, const double *f, const double *rate, const double *w);

/* Of triple j at the state of the last pass: q, and h of each entry of the row. */
double likelihood_row(const struct likelihood *l, struct scratch *s, int64_t j);

/* That thread's own. */
struct scratch *likelihood_scratch(const struct likelihood *l);

#endif
