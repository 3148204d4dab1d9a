/* SPDX-License-Identifier: BSD-3-Clause */
/* Lifetimes of positronium: maps of the mean life of ortho-positronium, from triples of two annihilation photons and the
   prompt photon of the decay.

   The time from prompt to annihilation is t. In voxel n it has the density

	h(t) = [ w/r E(t; 1/tau_p) + (1 - w (1 + 1/r)) E(t; 1/tau_d) + w E(t; 1/tau_n) ] / Z

   E is an exponential behind a Gaussian error of the measurement. w is the share of ortho-positronium, r the ratio of ortho to
   para, tau_p and tau_d the lives of para-positronium and of direct annihilation, Z what lies inside of the window of times.
   Times are ns, rates 1/ns. Images are of doubles, x fastest.

   Threads: triples are not written after they were made. Results have the same bits for any number of threads. */
#ifndef ISOTOME_LIFETIME_H
#define ISOTOME_LIFETIME_H

#include "isotome/op.h"
#include "isotome/prior.h"

ISO_BEGIN_C

/* ---- the model of times ---- */

/* An exponential of `rate` behind a Gaussian error `sigma`: its density, its integral up to t, and the derivatives of the
   density by rate, sigma and t. */
struct iso_emg {
	double value, integral, by_rate, by_sigma, by_time;
};
ISO_CHECKED int iso_emg_at(struct iso_emg *v, double t, double rate, double sigma);

struct iso_lifetime_model {
	size_t size; /* size of this struct */
	double tau_p,
		tau_d; /* ns; tau_p 0: there is no para-positronium; both 0: one exponential alone, w = 1 */
	double ratio;  /* r; 0: 3 */
	double sigma;  /* error of t, above 0 */
	double offset; /* t = 0 as files have it */
	double lo, hi; /* window of times as files have them: triples with lo <= t < hi take part */
};

/* Both components, r = 3, sigma 0.15, a window from -1 to 15. */
void iso_lifetime_usual(struct iso_lifetime_model *m);

/* Mean of t and of t^2 inside the window, t against the offset, for one tau and w. */
ISO_CHECKED int iso_lifetime_mean(double mean[2], const struct iso_lifetime_model *m, double tau, double w);

/* What one triple tells of rate and w: information of (rate, rate), (rate, w), (w, w). `random`: share of triples that
   are random, uniform in the window. */
ISO_CHECKED int iso_lifetime_information(double info[3], const struct iso_lifetime_model *m, double tau,
                                         double w, double random);

/* A time of the mixture that lies inside of the window, as measured; depends on (seed, number) alone. */
ISO_CHECKED int iso_lifetime_draw(double *time, const struct iso_lifetime_model *m, double tau, double w,
                                  uint64_t seed, uint64_t number);

/* Hits a and b of the pair, p of the prompt photon, and its decay at x, which lies on the line: mm and ps. */
struct iso_triple_hits {
	size_t size; /* size of this struct */
	double a[3], b[3], p[3], x[3];
	double t_a, t_b, t_p;
	double sigma, sigma_p; /* errors of t_a and t_b, and of t_p */
};

/* t = (t_a + t_b)/2 - |ab|/(2c) - t_p + |px|/c and its error, ns; and its covariance with t_a - t_b, ps^2, where x comes
   from t_a - t_b. */
ISO_CHECKED int iso_triple_time(double *time, double *error, double *covariance,
                                const struct iso_triple_hits *h);

/* Times of a file of events: field `lifetime_ns` of records in a .npy file, with or without the field `sigma_ns`; or the last
   of so many columns of plain rows. */
struct iso_lifetimes {
	int64_t n;
	double *time, *sigma; /* sigma NULL: the file has none */
};
ISO_CHECKED int iso_lifetimes_read(struct iso_lifetimes *l, const char *path, int columns);
void iso_lifetimes_free(struct iso_lifetimes *l);

/* ---- triples ---- */

/* Events of a scan with their times, the model of those, and what each event sees of the image: 8 bytes a voxel. */
typedef struct iso_triples iso_triples;

/* Takes the rows from an operator of model ray or barrel on the CPU. `time` has the time of each event as measured, in the
   file's order, and `sigma` its error (NULL: m->sigma for all). Events outside of the window are left out. ISO_EARG for an
   operator that can't tell its rows. */
ISO_CHECKED int iso_triples_of_op(iso_triples **t, iso_op *op, const struct iso_lifetime_model *m,
                                  const double *time, const double *sigma);

/* The same of rows in memory: event j sees voxel[i] with the weight[i], for start[j] <= i < start[j + 1]. */
struct iso_triple_rows {
	size_t size; /* size of this struct */
	int64_t n, voxels;
	const int64_t *start; /* (n + 1), from 0 */
	const int32_t *voxel;
	const iso_real *weight;
};
ISO_CHECKED int iso_triples_of_rows(iso_triples **t, iso_ctx *ctx, const struct iso_triple_rows *rows,
                                    const struct iso_lifetime_model *m, const double *time,
                                    const double *sigma);

/* Brings the triples to the device of a CUDA context, on which the methods then run. Their rows lie there twice, 16 bytes a
   voxel; the host keeps its own. ISO_EARG for a context of the CPU, or of several ranks. */
ISO_CHECKED int iso_triples_move(iso_triples *t, iso_ctx *ctx);
void iso_triples_free(iso_triples *t);

/* Triples inside of the window; all that were given; and those with a time from lo to hi. */
int64_t iso_triples_count(const iso_triples *t);
int64_t iso_triples_given(const iso_triples *t);
int64_t iso_triples_between(const iso_triples *t, double lo, double hi);

/* ---- random triples ---- */

/* How many of the triples inside of the window are random: uniform in time, in place as an image. */
struct iso_lifetime_randoms {
	double number;       /* so many inside of the window; 0: none */
	const double *image; /* NULL: as the activity */
	const double *
		density; /* maximum likelihood: instead of these, of each triple in the file's order, 1/ns and in
	                          counts of the activity; NULL: by `image` */
};

/* ---- error maps ---- */

enum iso_lifetime_error {
	ISO_LIFETIME_DIAGONAL,  /* each voxel by itself: too small where voxels are blurred into each other */
	ISO_LIFETIME_FULL,      /* maximum likelihood: with what voxels share, by random probes */
	ISO_LIFETIME_BOOTSTRAP, /* moments: repeats of the triples */
};

/* ---- methods ---- */

/* What each method makes; images may be NULL. */
struct iso_lifetime_maps {
	size_t size;     /* size of this struct */
	double *tau;     /* ns; NaN: none */
	double *error;   /* standard error of tau, ns; infinity where tau is NaN */
	double *w;       /* share of ortho-positronium */
	double *w_error; /* its standard error; 0 where w was given */
	double *counts;  /* triples of the voxel */
	double *mean;    /* mean life over all components, ns */
	/* means of tau over regions, weighted by counts, and their standard errors; (regions), may be NULL: */
	double *region_tau, *region_error;
	/* of maximum likelihood: */
	int iterations;
	double objective[2]; /* log-likelihood less penalty: at the start, at the end */
	double residual;     /* largest gradient in log(rate), over that at the start */
	double beta;         /* the penalty's strength */
	bool converged;
};

struct iso_lifetime {
	size_t size;            /* size of this struct */
	const iso_real *sens;   /* sensitivity, of all events */
	const double *activity; /* in any unit; NULL: the image that EM makes of the triples */
	const double *w;        /* image of w; NULL: */
	double w_all;           /* one w for all voxels; 0: both tau and w are free */
	struct iso_lifetime_randoms randoms;
	double min_counts;       /* fewer triples in a voxel: no tau */
	int iterations, subsets; /* EM has so many; 0: 10, 1 */
	enum iso_lifetime_error error;
	int repeats; /* bootstraps, or probes; 0: 20, 32 */
	uint64_t seed;
	/* of maximum likelihood: */
	iso_prior *prior;    /* penalty of log(rate) and w, on the CPU; NULL: none */
	double beta;         /* its strength; 0: by `rel` */
	double rel;          /* strength relative to what the data tell of a voxel */
	int most;            /* iterations; 0: 200 */
	const double *start; /* image of tau; NULL: 2 ns */
	/* of `posterior`: rates have a Gamma(a, b) prior */
	double prior_a, prior_b;
	/* regions of voxels, from 1; 0: none. For means of regions, of moments with bootstraps and of maximum likelihood */
	const int32_t *region; /* NULL: there are none */
	int regions;
};

/* Lives by the moments of t: three images by weighted EM of the same rows, corrected for the window. `sums`, unless it is NULL,
   gets the three images one behind the other: counts, and those with weights t' and t'^2, t' = t - lo + 0.5 as measured. */
ISO_CHECKED int iso_lifetime_moments(struct iso_lifetime_maps *to, double *sums, const iso_triples *t,
                                     const struct iso_lifetime *p);

/* Lives by maximum likelihood, with the penalty `prior` unless it is NULL. */
ISO_CHECKED int iso_lifetime_emg(struct iso_lifetime_maps *to, const iso_triples *t,
                                 const struct iso_lifetime *p);

/* One pass: the mean of t by voxel. tau is that of all components together. */
ISO_CHECKED int iso_lifetime_posterior(struct iso_lifetime_maps *to, const iso_triples *t,
                                       const struct iso_lifetime *p);

/* Log-likelihood at images of rate and w, and what it is made of; each may be NULL. Activity in counts, as it is. */
struct iso_lifetime_likelihood {
	size_t size; /* size of this struct */
	double loglik;
	double *q;      /* of each triple in the file's order; those outside of the window stay as they are */
	double *counts; /* triples of each voxel */
	double *by_rate, *by_w;                   /* gradient */
	double *info_rate, *info_rate_w, *info_w; /* of each voxel by itself */
};
ISO_CHECKED int iso_lifetime_likelihood_at(struct iso_lifetime_likelihood *to, const iso_triples *t,
                                           const double *activity, const double *rate, const double *w,
                                           const double *background);

/* Times of the triples of each region, and what tau and w of its voxels make of them; (regions, bins) from lo to hi. */
struct iso_lifetime_curves {
	size_t size; /* size of this struct */
	int bins;
	double *counts, *fit;
};
ISO_CHECKED int iso_lifetime_curves_of(struct iso_lifetime_curves *to, const iso_triples *t,
                                       const struct iso_lifetime *p, const double *tau, const double *w);

ISO_END_C
#endif
