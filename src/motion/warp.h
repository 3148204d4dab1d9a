/* SPDX-License-Identifier: BSD-3-Clause */
/* A displacement field with what its loops need, apart from an operator, so that several fields share one image of sums. */
#ifndef ISO_WARP_H
#define ISO_WARP_H

#include "warp_kern.h"
#include "core/loop/fixed.h"
#include "core/op.h"
#include "isotome/warp.h"

struct warp_model {
	struct warp w;
	double reach; /* the largest sum of |W| over a column, which bounds the sums of the adjoint */
};

/* *m of a warp, whose field is copied into the room; refuses what iso_warp_create refuses. */
int warp_model_make(struct warp_model *m, struct iso_room *room, const struct iso_warp *p);
int64_t warp_sum_bytes(const iso_ctx *ctx, const struct iso_grid *g); /* of a voxel */
int warp_sum_create(struct iso_fixed *sum, const iso_ctx *ctx, const struct iso_grid *g);

/* y = W x; x = W^t y by way of `sum`. */
int warp_apply(const struct warp_model *m, iso_ctx *ctx, iso_real *y, const iso_real *x);
int warp_apply_back(const struct warp_model *m, struct iso_fixed *sum, iso_ctx *ctx, iso_real *x,
                    const iso_real *y);

#endif
