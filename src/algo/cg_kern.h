/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of conjugate gradients that keep every voxel at 0 or above, voxel by voxel. */
#ifndef ISO_CG_KERN_H
#define ISO_CG_KERN_H

#include "core/hd.h"

/* From x to where x + t d would be if no voxel could be below 0. */
ISO_HD iso_real cg_step(iso_real x, iso_real t, iso_real d)
{
	iso_real to = iso_fma(t, d, x);

	return (to > 0 ? to : 0) - x;
}

/* x + t step; rounding leaves nothing below 0. */
ISO_HD iso_real cg_advance(iso_real x, iso_real t, iso_real step)
{
	iso_real to = iso_fma(t, step, x);

	return to > 0 ? to : 0;
}

/* How a voxel goes downhill: r times scale x + least. A step t along it takes a voxel that is `near` to 0. */
struct cg_slope {
	iso_real scale, least, t;
};

ISO_HD iso_real cg_downhill(struct cg_slope p, iso_real x, iso_real r)
{
	return iso_fma(p.scale, x, p.least) * r;
}

ISO_HD bool cg_near(struct cg_slope p, iso_real x, iso_real r)
{
	return x > 0 && !(iso_fma(p.t, cg_downhill(p, x, r), x) > 0);
}

/* Of voxels that are neither near, nor 0 and would fall; else 0. */
ISO_HD iso_real cg_slope(struct cg_slope p, iso_real x, iso_real r)
{
	return (x > 0 || r > 0) && !cg_near(p, x, r) ? cg_downhill(p, x, r) : 0;
}

/* The direction of slope z that is conjugate to the last step; voxels that are near go to 0 whatever the others do. */
ISO_HD iso_real cg_turn(struct cg_slope p, iso_real x, iso_real r, iso_real z, iso_real beta, iso_real step)
{
	return cg_near(p, x, r) ? cg_downhill(p, x, r) : iso_fma(beta, step, z);
}

/* The share of a voxel that the step takes away; 1 at most, but for rounding. */
ISO_HD double cg_share(iso_real x, iso_real step)
{
	return step < 0 && x > 0 ? -(double)step / x : 0;
}

/* These over vectors of n on the context's device. */
struct cg_vec {
	int (*step)(iso_ctx *ctx, int64_t n, iso_real *step, const iso_real *x, double t, const iso_real *d);
	int (*advance)(iso_ctx *ctx, int64_t n, iso_real *x, double t, const iso_real *step);
	int (*slope)(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *r,
	             struct cg_slope p);
	int (*turn)(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *r,
	            struct cg_slope p, double beta, const iso_real *step);
	int (*share)(iso_ctx *ctx, int64_t n, double *largest, const iso_real *x, const iso_real *step);
};

#endif
