/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors: the array functions that algorithms need, one table per device.

   Sizes n are values of iso_real, `bytes` bytes. Vectors are in memory of the context's device, except `host`.
   On CUDA all work follows the order of the context's stream; download, dot and asum wait for the stream.

   Threads: as the context. */
#ifndef ISOTOME_VEC_H
#define ISOTOME_VEC_H

#include "isotome/context.h"

ISO_BEGIN_C

struct iso_vec {
	int (*alloc)(iso_ctx *ctx, void **p, int64_t bytes); /* zeroed */
	void (*free)(iso_ctx *ctx, void *p);
	int (*upload)(iso_ctx *ctx, void *dst, const void *host, int64_t bytes);
	int (*download)(iso_ctx *ctx, void *host, const void *src, int64_t bytes);
	int (*copy)(iso_ctx *ctx, int64_t n, iso_real *y, const iso_real *x);
	int (*fill)(iso_ctx *ctx, int64_t n, iso_real *x, double value);
	int (*axpy)(iso_ctx *ctx, int64_t n, iso_real *y, double a, const iso_real *x); /* y += a x */
	int (*mul)(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *y);
	/* z = x / y, 0 where y <= 0 */
	int (*div)(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *y);
	/* EM update: x = acc / (scale * sens); x stays where sens <= 0 */
	int (*update)(iso_ctx *ctx, int64_t n, iso_real *x, const iso_real *acc, const iso_real *sens,
	              double scale);
	int (*dot)(iso_ctx *ctx, int64_t n, double *r, const iso_real *x, const iso_real *y);
	int (*asum)(iso_ctx *ctx, int64_t n, double *r, const iso_real *x); /* sum of |x| */
	/* uniform in (0,1), the same numbers on every device: Philox, counter i, key seed */
	int (*uniform)(iso_ctx *ctx, int64_t n, iso_real *x, uint64_t seed);
};

/* The functions for vectors on the context's device. */
const struct iso_vec *iso_ctx_vec(const iso_ctx *ctx);

ISO_END_C
#endif
