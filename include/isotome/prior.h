/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalties of penalised likelihood, and weights from an anatomical image.

	R(x) = 1/2 sum_n sum_m w_nm k_n k_m f(x_n, x_m)

   over the voxels m that touch n (26; 8 in one plane), w_nm the voxel size along x over the distance of the two
   centres, k the image kappa. Values, gradients and Hessians are STIR's. docs/priors.md has f of each kind.

   Threads: a prior serves one call at a time. */
#ifndef ISOTOME_PRIOR_H
#define ISOTOME_PRIOR_H

#include "isotome/algo.h"
#include "isotome/grid.h"

ISO_BEGIN_C

/* In the comment of each kind its parameters come first, in their order. */
enum iso_prior_kind {
	ISO_PRIOR_QUADRATIC, /* none: d^2 / 2, d = x_n - x_m */
	ISO_PRIOR_RDP, /* gamma, epsilon: d^2 / (x_n + x_m + gamma |d| + epsilon), relative differences (Nuyts 2002) */
	ISO_PRIOR_LOGCOSH, /* s: log cosh(s d) / s^2 */
	ISO_PRIOR_HUBER,   /* delta: d^2 / 2 to |d| = delta, then straight on */
	ISO_PRIOR_TV,      /* eta: sum of k_n^2 (sqrt(|gradient|^2 + eta^2) - eta), no pairs */
	ISO_PRIOR_GGD,     /* p, delta: delta^2 ((1 + (d/delta)^2)^(p/2) - 1) / p, generalised Gaussian */
};

enum { ISO_PRIOR_PARAMETERS = 4 }; /* at most, of any kind */

struct iso_prior_spec {
	size_t size; /* size of this struct */
	enum iso_prior_kind kind;
	struct iso_grid grid;
	double parameter[ISO_PRIOR_PARAMETERS]; /* the kind's, in the order above */
	enum iso_place place;                   /* place of the images below, which are copied */
	const iso_real *kappa;   /* >= 0; NULL: 1. Voxels with kappa 0 are no neighbours of any voxel */
	const iso_real *anatomy; /* NULL: none; only for kinds with pairs */
	int bowsher;             /* number of neighbours that count: the most alike in `anatomy` */
};

/* ---- the table of kinds ---- */

struct iso_prior_about {
	const char *name;
	const char *help;
	bool pairs;       /* a sum over pairs of neighbours, which an anatomical image can choose */
	bool nonnegative; /* images must be >= 0 */
};

/* Where a default comes from, and with it the unit of the parameter. */
enum iso_prior_rule {
	ISO_PRIOR_NUMBER,     /* `usual` itself, without unit */
	ISO_PRIOR_OF_LARGEST, /* `usual` times the largest voxel of the start image */
	ISO_PRIOR_OF_MEAN, /* `usual` times the mean of the start image, where its sensitivity is above a tenth of the largest */
	ISO_PRIOR_OVER_MEAN, /* 1 / (`usual` times that mean) */
};

struct iso_prior_parameter {
	const char *name;
	double usual;
	enum iso_prior_rule rule;
	double least, most;
	bool above; /* `least` itself is not allowed */
	double large; /* a run warns if the parameter is larger than this times the mean of the image; 0: never */
};

/* The kind; NULL: there is none. Kinds count from 0. */
const struct iso_prior_about *iso_prior_about(enum iso_prior_kind kind);

/* Parameter i of a kind; NULL: it has i or fewer. */
const struct iso_prior_parameter *iso_prior_parameter(enum iso_prior_kind kind, int i);

/* Its default for a start image with this largest voxel and this mean; NAN if there is no such parameter. */
double iso_prior_default(enum iso_prior_kind kind, int i, double largest, double mean);

/* The kind of a word ("rdp"), and a parameter by its name. ISO_EARG, with a list of the known names, if there is none of
   that name, or the value is out of range. */
ISO_CHECKED int iso_prior_kind_of(enum iso_prior_kind *kind, const char *name);
ISO_CHECKED int iso_prior_set(struct iso_prior_spec *p, const char *name, double value);

/* ---- a prior ---- */

typedef struct iso_prior iso_prior;

/* ISO_EARG for a parameter out of its range, ISO_EINPUT where kappa is negative or an image not finite. */
ISO_CHECKED int iso_prior_create(iso_prior **r, iso_ctx *ctx, const struct iso_prior_spec *p);
void iso_prior_free(iso_prior *r); /* NULL: nothing */

/* R, its gradient, the curvature C and the Hessian's diagonal at x in one pass; images in memory of the
   context's device; each destination may be NULL. The same bits on every run,
   on the CPU for any number of threads. */
ISO_CHECKED int iso_prior_eval(double *value, iso_real *gradient, iso_real *curvature, iso_real *hessian,
                               iso_prior *r, const iso_real *x);

/* ---- kernels from features (Wang and Qi 2015) ---- */

struct iso_kernel {
	size_t size; /* size of this struct */
	struct iso_grid grid;
	int n_features;
	const iso_real *feature; /* n_features images on the host, one after the other */
	int neighbours;          /* k; 0: 48 */
	int radius;              /* radius of the window, voxels; 0: 3 */
	double sigma;            /* 0: 1 */
};

/* x = K alpha, each row of K the voxels of its window most alike in the features; for EM on the chain A K with the
   sensitivity K* S. 16 bytes a voxel and neighbour, with the table of the adjoint. */
ISO_CHECKED int iso_kernel_create(iso_op **op, iso_ctx *ctx, const struct iso_kernel *p);

ISO_END_C
#endif
