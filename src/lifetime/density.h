/* SPDX-License-Identifier: BSD-3-Clause */
/* The likelihood of triples, and what one pass over them adds up; what a pass knows is compiled as C and as CUDA. */
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

ISO_C int emg_table_make(struct emg_table *e, struct iso_room *room, const struct mixture *x);

/* Value and slope by u between two nodes, s of the way, from their values and slopes. */
ISO_HD void emg_between(double *o, double *by_u, double s, double du, const double v[2],
                        const double slope[2])
{
	const double r = 1 - s, m0 = slope[0] * du, m1 = slope[1] * du;

	*o = v[0] + s * s * (3 - 2 * s) * (v[1] - v[0]) + s * r * (r * m0 - s * m1);
	*by_u = (6 * s * r * (v[1] - v[0]) + r * (1 - 3 * s) * m0 + s * (3 * s - 2) * m1) / du;
}

/* A time in its bin: shares of the values and slopes at both ends. */
struct emg_place {
	int64_t bin;
	double low, high, slope_low, slope_high;
};

ISO_HD struct emg_place emg_place(const struct emg_table *e, double t)
{
	const double most = (double)e->bins - 1, in = (t - e->first) / e->step;
	const double at = in > 0 ? in < most ? in : most : 0;
	struct emg_place p = ISO_ZERO;

	p.bin = at < (double)(e->bins - 2) ? (int64_t)at : e->bins - 2;
	const double s = at - (double)p.bin, r = 1 - s;

	p.low = r * r * (1 + 2 * s);
	p.high = s * s * (3 - 2 * s);
	p.slope_low = s * r * r * e->step;
	p.slope_high = -s * s * r * e->step;
	return p;
}

/* What a pass knows of a voxel. */
struct voxel_state {
	double f, rate, w;
	struct inside in;
	double at; /* log(rate) in nodes of the table */
};

/* Sums of a pass, for each voxel. */
enum { SUM_COUNTS, SUM_RATE, SUM_W, SUM_RATE_RATE, SUM_RATE_W, SUM_W_W, SUMS };

struct likelihood_cuda;

struct likelihood {
	const struct iso_triples *t;
	struct iso_room *room; /* that has its arrays */
	struct likelihood_cuda
		*cuda; /* from the first pass on, where the triples lie on a device; NULL: on the host */
	bool on_host;
	struct mixture x;
	struct fixed_inside inside;    /* by m.sigma */
	const struct emg_table *table; /* NULL: each value by its formula */
	struct fixed_parts *fixed;     /* of each triple */
	struct fixed_inside *own;      /* of each triple, by its own error; NULL: all have m.sigma */
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

/* table: values by interpolation. on_host: passes run there, wherever the triples lie; rows need it. */
int likelihood_open(struct likelihood *l, struct iso_room *room, const struct iso_triples *t, bool table,
                    bool on_host);

/* Random triples: uniform in time, in place as `image` or else the activity f. */
int likelihood_background(struct likelihood *l, struct iso_room *room, const struct iso_lifetime *p,
                          const double *f);

/* The log-likelihood at these images, and l->sums. */
int likelihood_at(double *loglik, struct likelihood *l, const double *f, const double *rate, const double *w);

/* On the host, of triple j at the state of the last pass: q, and h of each entry of the row. */
double likelihood_row(const struct likelihood *l, struct scratch *s, int64_t j);

/* That thread's own. */
struct scratch *likelihood_scratch(const struct likelihood *l);

#endif
