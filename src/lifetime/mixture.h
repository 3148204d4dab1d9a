/* SPDX-License-Identifier: BSD-3-Clause */
/* The density h of times in a voxel: two exponentials of fixed lives and one of the rate of ortho-positronium, with their
   integral over the window; compiled as C and as CUDA. */
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
	double per, k; /* para for each ortho; 1 + per */
	double lo, hi; /* against the offset */
	bool single;
};

/* What one time has of the fixed components. */
struct fixed_parts {
	double p, d;
};

/* What of them lies inside the window, by an error sigma. */
struct fixed_inside {
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

ISO_C void mixture_of(struct mixture *x, const struct iso_lifetime_model *m);

ISO_HD struct fixed_parts mixture_fixed(const struct mixture *x, double t, double sigma)
{
	struct fixed_parts f = ISO_ZERO;

	if (x->m.tau_p > 0) f.p = emg(t, 1 / x->m.tau_p, sigma);
	if (!x->single) f.d = emg(t, 1 / x->m.tau_d, sigma);
	return f;
}

ISO_HD struct fixed_inside mixture_fixed_inside(const struct mixture *x, double sigma)
{
	const double p = 1 / x->m.tau_p, d = 1 / x->m.tau_d;
	struct fixed_inside z = ISO_ZERO;

	if (x->m.tau_p > 0) z.p = emg_integral(x->hi, p, sigma) - emg_integral(x->lo, p, sigma);
	if (!x->single) z.d = emg_integral(x->hi, d, sigma) - emg_integral(x->lo, d, sigma);
	return z;
}

ISO_HD struct inside mixture_inside(const struct mixture *x, const struct fixed_inside *f, double rate,
                                    double w, double sigma)
{
	const double e[2] = { emg(x->lo, rate, sigma), emg(x->hi, rate, sigma) };
	const double z_o = emg_integral(x->hi, rate, sigma) - emg_integral(x->lo, rate, sigma);
	const double by_rate =
		(e[1] - e[0]) / (rate * rate) -
		(emg_by_rate(e[1], x->hi, rate, sigma) - emg_by_rate(e[0], x->lo, rate, sigma)) / rate;
	struct inside in = ISO_ZERO;

	in.z = w * z_o;
	in.by_rate = w * by_rate;
	if (x->single) return in;
	in.z += w * x->per * f->p + (1 - w * x->k) * f->d;
	in.by_w = x->per * f->p - x->k * f->d + z_o;
	return in;
}

/* o, o_by_rate: emg of the rate at this time. */
ISO_HD struct density mixture_density(const struct mixture *x, const struct fixed_parts *f,
                                      const struct inside *in, double w, double o, double o_by_rate)
{
	const double over = 1 / in->z;
	const double fixed = x->single ? 0 : w * x->per * f->p + (1 - w * x->k) * f->d;
	const double slope = x->single ? 0 : x->per * f->p - x->k * f->d + o;
	const double h = (fixed + w * o) * over;
	struct density d = ISO_ZERO;

	d.h = h;
	d.by_rate = (w * o_by_rate - h * in->by_rate) * over;
	d.by_w = (slope - h * in->by_w) * over;
	return d;
}

/* Mean of t and t^2 inside of the window. */
ISO_C void mixture_mean(double mean[2], const struct mixture *x, double tau, double w);

/* tau and w of those two means: by Newton from what they would be without a window; NaN: there is none. */
ISO_C void mixture_solve(double *tau, double *w, const struct mixture *x, const double mean[2]);

/* tau of the first alone, between 0.4 and 20; NaN: there is none. */
ISO_C double mixture_solve_tau(const struct mixture *x, double w, double mean);

/* Mean life of all components. */
static inline double mixture_life(const struct mixture *x, double tau, double w)
{
	return x->single ? tau : w * x->per * x->m.tau_p + (1 - w * x->k) * x->m.tau_d + w * tau;
}

#endif
