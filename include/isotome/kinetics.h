/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinetics: curves of activity over time, models of tissue as sums of basis curves, images of their coefficients from
   events (nested EM, Wang and Qi 2010) and from frames (weighted fits), and the maps that follow.

   An image over time is f(t) = sum over k of theta_k b_k(t), corrected for decay to the start of the scan. Times are s
   since that start.

   Threads: functions may run at the same time. A handle serves one call at a time. */
#ifndef ISOTOME_KINETICS_H
#define ISOTOME_KINETICS_H

#include "isotome/algo.h"
#include "isotome/array.h"
#include "isotome/prior.h"

ISO_BEGIN_C

/* ---- curves ---- */

/* Linear between its samples, 0 before the first of them, constant behind the last. */
typedef struct iso_curve iso_curve;

/* Copies n samples; times must rise. (0, 0) is put in front where the first time is above 0. */
ISO_CHECKED int iso_curve_create(iso_curve **c, int64_t n, const double *time_s, const double *value);

/* Its samples, with the one that was put in front; either array may be NULL. Returns how many there are. */
int64_t iso_curve_samples(const iso_curve *c, const double **time_s, const double **value);

/* The value at a time, and the integral from its first sample on. */
double iso_curve_at(const iso_curve *c, double time_s);
double iso_curve_integral(const iso_curve *c, double time_s);
void iso_curve_free(iso_curve *c);

/* Columns of a text table with a head line: the column `time`, and the others in their order. `n`: how many others there
   are; *curve: a list of them, freed with iso_curves_free. */
ISO_CHECKED int iso_curves_read(iso_curve ***curve, int *n, const char *path);

/* The name of column k of such a list, as its head has it; "" of other curves. */
const char *iso_curve_name(const iso_curve *c);
void iso_curves_free(iso_curve **curve, int n);

/* ---- blood ---- */

/* Files of blood samples: PET-BIDS tables (*_blood.tsv, with *_blood.json beside it), or a table with the column `time` and
   one more. */
struct iso_blood {
	size_t size;      /* sizeof(struct iso_blood) */
	const char *file; /* the samples */
	const char *
		second; /* a second recording: one is manual and has plasma, one is an autosampler. NULL: none */
	const char
		*unit; /* unit of the samples where no .json tells it: Bq/mL, kBq/mL, ...; NULL: not known */
	double zero_s,
		delay_s;     /* scan time of the curve's time 0; how much later the tissue sees the curve */
	double half_life_s;  /* 0: no decay */
	bool raw;            /* the samples are not corrected for decay; else to their own time 0 */
	bool unitless;       /* take values as they stand, whatever their unit */
	double plasma_ratio; /* of files that have whole blood alone: plasma over it; 0: not known */
};

/* Curves in Bq/ml, corrected for decay to the start of the scan. */
struct iso_input {
	size_t size;       /* sizeof(struct iso_input) */
	iso_curve *plasma; /* parent plasma, or the one curve of a plain table */
	iso_curve *whole;  /* whole blood; NULL: the files have none */
	int64_t negative;  /* samples below 0, which are kept */
	char warning[400]; /* "": none */
};

/* ISO_EINPUT, with file, line and column, where a file is not what it should be. */
ISO_CHECKED int iso_input_read(struct iso_input *in, const struct iso_blood *b);
void iso_input_free(struct iso_input *in);

/* ---- bases ---- */

enum { ISO_BASES_MOST = 64 };

enum iso_kinetic_model {
	ISO_KINETIC_PATLAK,   /* integral of the input, and the input */
	ISO_KINETIC_SPECTRAL, /* the input convolved with exponentials of several rates */
	ISO_KINETIC_SRTM2,    /* the same of a reference tissue, which stands for the input */
	ISO_KINETIC_BSPLINE,  /* cubic B-splines */
	ISO_KINETIC_BASIS,    /* curves of the caller */
};

struct iso_basis_spec {
	size_t size; /* sizeof(struct iso_basis_spec) */
	enum iso_kinetic_model model;
	double from, to; /* rates of spectral and srtm2, 1/s: `rates` of them in equal ratios */
	int rates;       /* at least 2 */
	bool blood;      /* spectral: whole blood is the first basis curve */
	bool zero;       /* spectral: rate 0 comes before the others */
	double k2p;      /* srtm2: efflux rate of the reference tissue, 1/s */
	int knots;       /* bspline: rising times */
	double knot[ISO_BASES_MOST];
	const iso_curve *input;         /* plasma, or the reference tissue */
	const iso_curve *whole;         /* whole blood, for `blood` */
	int columns;                    /* basis: how many curves */
	const iso_curve *const *column; /* the curves */
};

/* The model of a text: patlak, spectral:beta=FROM/TO/N[,blood][,zero], srtm2:k2p=V,beta=FROM/TO/N, bspline:T0/T1/..., basis.
   Sets the size and all but the curves. */
ISO_CHECKED int iso_basis_parse(struct iso_basis_spec *s, const char *text);

typedef struct iso_basis iso_basis;

/* Copies what it is given. */
ISO_CHECKED int iso_basis_create(iso_basis **b, const struct iso_basis_spec *s);
int iso_basis_count(const iso_basis *b);
void iso_basis_free(iso_basis *b);

/* value[k n + i] = b_k(time_s[i]). */
ISO_CHECKED int iso_basis_at(double *value, const iso_basis *b, int64_t n, const double *time_s);

/* Bins of time. */
struct iso_bins {
	size_t size; /* sizeof(struct iso_bins) */
	int n;
	const double *edge_s; /* n + 1, rising */
	const double *live;   /* live share of each; NULL: 1 */
	double half_life_s;   /* 0: no decay */
};

/* mean[k n + m]: mean of b_k over bin m, weighted by live share and decay; weight[m]: integral of these over the bin. Either
   may be NULL. To 1e-9. ISO_EINPUT where a curve ends more than 60 s before the last edge, or is below 0 inside a bin. */
ISO_CHECKED int iso_basis_bins(double *mean, double *weight, const iso_basis *b, const struct iso_bins *bins);

/* A map of the model: value = add + sum of factor_k theta_k. */
struct iso_basis_map {
	size_t size; /* sizeof(struct iso_basis_map) */
	const char *name, *unit;
	double add, factor[ISO_BASES_MOST];
};

/* Map i of the model, from 0. ISO_EARG: it has i or fewer; iso_basis_maps tells how many. */
ISO_CHECKED int iso_basis_map(struct iso_basis_map *m, const iso_basis *b, int i);
int iso_basis_maps(const iso_basis *b);

/* ---- from frames ---- */

struct iso_frame_fit {
	size_t size; /* sizeof(struct iso_frame_fit) */
	int frames, coefficients;
	const double *mean;   /* coefficients x frames, of iso_basis_bins */
	const double *weight; /* one a frame, above 0 */
	bool nonneg;          /* coefficients are not negative; at most 8 of them */
};

/* Weighted least squares in each of n voxels. y: frames x n. theta, se: coefficients x n, s2: n; all but theta may be NULL.
   se: standard errors of the coefficients; s2: weighted squares of the residuals over frames - coefficients. */
ISO_CHECKED int iso_frame_fit(iso_real *theta, iso_real *se, iso_real *s2, int64_t n, const iso_real *y,
                              const struct iso_frame_fit *p);

struct iso_logan {
	size_t size;          /* sizeof(struct iso_logan) */
	int frames, first;    /* the regression takes frames from `first` on, from 0 */
	const double *edge_s; /* frames + 1 */
	const iso_curve *input;
};

/* Logan's plot in each of n voxels: slope VT, ml/ml, and intercept, s, which may be NULL. y: frames x n. *skipped: voxels
   that are 0 because one of their frames is not above 0; may be NULL. */
ISO_CHECKED int iso_logan_fit(iso_real *vt, iso_real *intercept, int64_t *skipped, int64_t n,
                              const iso_real *y, const struct iso_logan *p);

/* ---- from events: nested EM ---- */

struct iso_kinetic {
	size_t size; /* sizeof(struct iso_kinetic) */
	/* Its rows are in subsets * bins ranges: s * bins + m is bin m of subset s, as struct iso_ray's parts make them. */
	iso_op *op;
	int bins, coefficients;
	int iterations, inner; /* passes over the data; fits of the coefficients behind each subset, 0: 4 */
	const double *mean;    /* coefficients x bins, of iso_basis_bins */
	const double *weight;  /* of each bin: expected counts of a line are m weight (A f + ...) */
	/* In the file's order. mult: a row's factor m times the weight of the row's bin, and expected counts that are added.
	   y: NULL, or counts. */
	struct iso_em_data data;
	const iso_real *sens;    /* the sensitivity of all lines, for a weight of 1 */
	iso_prior *const *prior; /* of each coefficient; NULL: no penalty. Lives as long as the run */
	const double *beta;      /* of each coefficient */
};

struct iso_kinetic_result {
	size_t size;           /* sizeof(struct iso_kinetic_result) */
	int64_t used, skipped; /* rows, of the last iteration */
	double lost;
	int resumed_from, unsaved, n;
	double *phi; /* n values: log-likelihood of the rows of a subset before its update, less the penalty */
	bool stopped;
};

/* theta: coefficients x n_in, the start and the result, on the host. Zeros stay zeros. */
ISO_CHECKED int iso_kinetic_run(iso_real *theta, struct iso_kinetic_result *r, const struct iso_kinetic *p,
                                const struct iso_run *run);
void iso_kinetic_result_free(struct iso_kinetic_result *r);

/* The uniform start: every coefficient expects the same share of so many counts. */
ISO_CHECKED int iso_kinetic_start(iso_real *theta, const struct iso_kinetic *p, double counts);

/* Whether the model fits: score[i bins + m] = (events of bin m that region i claims - those that it expects) / their error,
   at theta. region: n_in values for each of `regions`, not 0 inside it. misfit: n_in values, the root of the mean square
   difference of each voxel's EM image of the bins from its curve, over the curve; may be NULL. */
ISO_CHECKED int iso_kinetic_scores(double *score, iso_real *misfit, const struct iso_kinetic *p,
                                   const iso_real *theta, int regions, const unsigned char *region);

/* Memory of a run, for a plan. */
void iso_kinetic_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, int bins,
                      int coefficients, bool penalty);

ISO_END_C
#endif
