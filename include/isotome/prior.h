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

enum iso_prior_kind {
	ISO_PRIOR_QUADRATIC, /* d^2 / 2, d = x_n - x_m */
	ISO_PRIOR_RDP,       /* relative differences (Nuyts 2002): d^2 / (x_n + x_m + gamma |d| + epsilon) */
	ISO_PRIOR_LOGCOSH,   /* log cosh(s d) / s^2 */
	ISO_PRIOR_HUBER,     /* d^2 / 2 to |d| = delta, then straight on */
	ISO_PRIOR_TV,        /* sum of k_n^2 (sqrt(|gradient|^2 + eta^2) - eta): no pairs */
};

struct iso_prior_spec {
	size_t size; /* size of this struct */
	enum iso_prior_kind kind;
	struct iso_grid grid;
	double gamma, epsilon, s, delta,
		eta;             /* parameters of the kind; epsilon >= 0, the others > 0, gamma >= 0 */
	enum iso_place place;    /* place of the images below, which are copied */
	const iso_real *kappa;   /* >= 0; NULL: 1. Voxels with kappa 0 are no neighbours of any voxel */
	const iso_real *anatomy; /* NULL: none; not with ISO_PRIOR_TV */
	int bowsher;             /* number of neighbours that count: the most alike in `anatomy` */
};

typedef struct iso_prior iso_prior;

/* ISO_EARG for a parameter out of its range, ISO_EINPUT where kappa is negative or an image not finite. */
ISO_CHECKED int iso_prior_create(iso_prior **r, iso_ctx *ctx, const struct iso_prior_spec *p);
void iso_prior_free(iso_prior *r); /* NULL: nothing */

/* R, its gradient, the curvature C and the Hessian's diagonal at x in one pass; images in memory of the
   context's device; each destination may be NULL. x of relative differences is not negative. The same bits on every run,
   on the CPU for any number of threads. */
ISO_CHECKED int iso_prior_eval(double *value, iso_real *gradient, iso_real *curvature, iso_real *hessian,
                               iso_prior *r, const iso_real *x);

/* Word of a kind ("rdp"; NULL: it is none), and back: ISO_EARG, with the nearest word, if it is none. */
const char *iso_prior_name(enum iso_prior_kind kind);
ISO_CHECKED int iso_prior_kind_of(enum iso_prior_kind *kind, const char *name);

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
