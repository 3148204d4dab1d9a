/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of the algorithms of penalised likelihood, on the context's device; one function a line of an equation. What
   a voxel does is in map_kern.h. */
#ifndef ISO_MAP_VEC_H
#define ISO_MAP_VEC_H

#include "map_kern.h"

ISO_BEGIN_C

struct map_vec {
	/* u = x + off */
	int (*shift)(iso_ctx *ctx, int64_t n, iso_real *u, const iso_real *x, double off);
	/* p = the preconditioner at u; balance and curvature may be NULL: 0 */
	int (*precondition)(iso_ctx *ctx, int64_t n, iso_real *p, const iso_real *u, const iso_real *sens,
	                    const iso_real *balance, const iso_real *curvature, double beta);
	/* g += z; balance = max(balance, scale z) */
	int (*gather)(iso_ctx *ctx, int64_t n, iso_real *g, iso_real *balance, const iso_real *z,
	              double scale);
	/* x = map_solve; gradient and curvature NULL: 0 */
	int (*solve)(iso_ctx *ctx, int64_t n, iso_real *x, const iso_real *e, const iso_real *sens,
	             const iso_real *gradient, const iso_real *curvature, double beta);
	/* here = the rows' weights of the likelihood's curvature; n rows */
	int (*row_curvature)(iso_ctx *ctx, int64_t n, iso_real *here, const iso_real *there, double t);
	/* k = sqrt(k), 0 where the sensitivity is 0 */
	int (*root)(iso_ctx *ctx, int64_t n, iso_real *k, const iso_real *sens);
	/* p = map_scale; hessian NULL: 0. p may be k2 */
	int (*scale)(iso_ctx *ctx, int64_t n, iso_real *p, const iso_real *k2, const iso_real *hessian,
	             const iso_real *u, const iso_real *sens, double beta);
	/* free = 1 where map_is_free with the scale `scale p`, else 0 */
	int (*find_free)(iso_ctx *ctx, int64_t n, iso_real *free, const iso_real *x, const iso_real *g,
	                 const iso_real *p, const iso_real *sens, double scale);
	/* d = free d + (1 - free) scale p g */
	int (*join)(iso_ctx *ctx, int64_t n, iso_real *d, const iso_real *free, const iso_real *p,
	            const iso_real *g, double scale);
	/* to = [x + t d]+ */
	int (*along)(iso_ctx *ctx, int64_t n, iso_real *to, const iso_real *x, double t, const iso_real *d);
	/* x = min(x, most) */
	int (*limit)(iso_ctx *ctx, int64_t n, iso_real *x, double most);
	/* the largest x, or, with g, the largest map_residual; 0 if none is above 0 */
	int (*largest)(iso_ctx *ctx, int64_t n, double *r, const iso_real *x, const iso_real *g,
	               const iso_real *sens);
};

/* The table of the context's device. */
int iso_map_vec(const struct map_vec **v, iso_ctx *ctx);

ISO_END_C
#endif
