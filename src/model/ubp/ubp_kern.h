/* SPDX-License-Identifier: BSD-3-Clause */
/* Mathematics of filtered back-projection, for both backends.

   On a sphere of radius R (Wang 2013, eq. (25)-(27)), with d the distance from voxel to transducer
   q, w its area, and p between samples k and k + 1 a straight line of slope D = p_(k+1) - p_k,
	A = -1/(2 pi Gamma R) sum over q of w {(2/d) [p_k + f D] + D/(c dt)},  k + f = (d/c - t_0)/dt.
   This form has no cancellation, unlike the printed weights 1.5 - k/k~.

   On any surface (Xu and Wang 2005, eq. (20)-(22)), with n the normal and v from q to the voxel,
	A = 1/Gamma sum over q of W [2 p - 2 t dp/dt] / sum over q of W,  W = w (n v)/d^3,
   the solid angle of the patch; one seen from behind has none.

   Through tissue d/c becomes the delay, and c beside a derivative the speed at the voxel.

   Traces come as pairs (2 w p_k, 2 w D), 0 where either sample lies outside the record. Those of q
   begin so many samples before the nearest voxel and end behind the farthest: no delay of the grid
   falls outside, and the loops have no bounds to check. */
#ifndef ISO_UBP_KERN_H
#define ISO_UBP_KERN_H

#include "core/hd.h"
#include "tissue/tissue_delays.h"

struct ubp_pair {
	iso_real p, slope; /* 2 w p_k, 2 w (p_(k+1) - p_k) */
};

/* A transducer: delay (samples since the first of its pairs) = d per_mm - offset >= 0. */
struct ubp_source {
	iso_real at[3], offset;
};

struct ubp_face {
	iso_real normal[3], area;
};

struct ubp_params {
	int64_t n[3];           /* voxels */
	double first[3], voxel; /* centre of the first, mm */
	int sources, samples;   /* transducers, samples of a trace */
	int pairs;              /* of each transducer */
	iso_real per_mm;        /* samples: 1/(c dt) */
	double scale;           /* of the sum, after which A is left */
};

/* Pair j of a transducer whose pairs begin with sample `first` of its trace. */
ISO_HD struct ubp_pair ubp_pair_of(const iso_real *trace, int samples, int64_t first, int j,
                                   double twice_area)
{
	struct ubp_pair r = { 0, 0 };
	int64_t k = first + j;

	if (k >= 0 && k + 1 < samples) {
		r.p = (iso_real)(twice_area * (double)trace[k]);
		r.slope = (iso_real)(twice_area * ((double)trace[k + 1] - (double)trace[k]));
	}
	return r;
}

/* The part of a term with 1/d; the other, slope per_mm/2, is summed by itself. */
ISO_HD iso_real ubp_near(iso_real per_d, iso_real f, struct ubp_pair v)
{
	return per_d * iso_fma(f, v.slope, v.p);
}

/* Solid angle over area, with `along` = n v. */
ISO_HD iso_real ubp_angle(iso_real per_d, iso_real along)
{
	return along > 0 ? along * per_d * per_d * per_d : 0;
}

/* w [2 p - 2 t dp/dt]; delay = d per_mm = t/dt, per_mm at the voxel. */
ISO_HD iso_real ubp_term(iso_real delay, iso_real f, struct ubp_pair v)
{
	return v.p + (f - delay) * v.slope;
}

/* Data of the operator; on CUDA the arrays are device memory. */
struct ubp_model {
	struct ubp_params p;
	enum iso_ubp_weights weights;
	struct ubp_source *source;
	struct ubp_face *face;
	int64_t *first;     /* sample of the first pair, of each transducer */
	iso_delays *delays; /* through tissue; NULL: none, and no sound */
	struct sound sound;
	const double *pos; /* of the transducers, on CUDA */
};

ISO_C void iso_ubp_free(iso_op *op); /* what is kept */

#define UBP_CANNOT "ubp: it makes images from traces; there is no way back"

#endif
