/* SPDX-License-Identifier: BSD-3-Clause */
/* The density h of times in a voxel: two exponentials of fixed lives and one of the rate of ortho-positronium, with their
   integral over the window. */
#ifndef ISO_MIXTURE_H
#define ISO_MIXTURE_H

#include "emg.h"
#include "isotome/lifetime.h"

#define RATE_LEAST .05 /* 1/ns; above RATE_MOST ortho-positronium and direct annihilation are one */
#define RATE_MOST 2.5
#define W_LEAST .01
#define W_MOST .74

/* The model, and what all voxels share. */
struct mixture {
	struct iso_lifetime_model m;
	double per, k;   /* para for each ortho; 1 + per */
	double lo, hi;   /* against the offset */
	double z_p, z_d; /* inside the window, by m.sigma */
	bool single;
};

/* What one time has of the fixed components. */
struct fixed_parts {
	double p, d;
};

/* h and its derivatives by rate and w. */
struct density {
	double h, by_rate, by_w;
};

/* Of a voxel: Z and its derivatives. */
struct inside {
	double z, by_rate, by_w;
};

void mixture_of(struct mixture *x, const struct iso_lifetime_model *m);
struct fixed_parts mixture_fixed(const struct mixture *x, double t, double sigma);
struct inside mixture_inside(const struct mixture *x, double rate, double w, double sigma);

/* o, o_by_rate: emg of the rate at this time. */
static inline struct density mixture_density(const struct mixture *x, const struct fixed_parts *f,
                                             const struct inside *in, double w, double o, double o_by_rate)
{
	const double over = 1 / in->z;
	const double fixed = x->single ? 0 : w * x->per * f->p + (1 - w * x->k) * f->d;
	const double slope = x->single ? 0 : x->per * f->p - x->k * f->d + o;
	const double h = (fixed + w * o) * over;

	return (struct density){ h, (w * o_by_rate - h * in->by_rate) * over, (slope - h * in->by_w) * over };
}

/* Mean of t and t^2 inside of the window. */
void mixture_mean(double mean[2], const struct mixture *x, double tau, double w);

/* tau and w of those two means: by Newton from what they would be without a window; NaN: there is none. */
void mixture_solve(double *tau, double *w, const struct mixture *x, const double mean[2]);

/* tau of the first alone, between 0.4 and 20; NaN: there is none. */
double mixture_solve_tau(const struct mixture *x, double w, double mean);

/* Mean life of all components. */
static inline double mixture_life(const struct mixture *x, double tau, double w)
{
	return x->single ? tau : w * x->per * x->m.tau_p + (1 - w * x->k) * x->m.tau_d + w * tau;
}

#endif
