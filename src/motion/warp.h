/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields as one operator: subset k applies field k, so that all share one image of sums. */
#ifndef ISO_WARP_H
#define ISO_WARP_H

#include "warp_kern.h"
#include "core/op.h"
#include "isotome/warp.h"

ISO_BEGIN_C

/* A field with what its loops need. */
struct warp_model {
	struct warp w;
	double reach; /* the largest sum of |W| over a column, which bounds the sums of the adjoint */
};

/* Data of the operator: n fields on one grid. */
struct warps {
	int n;
	bool moves; /* one of them is not 1 */
	bool sent;  /* CUDA: they stay on the host, and one at a time is sent when it is used */
	struct warp_model *model;
};

/* Subset k is W_k: x and y have the voxels of the grid, whatever the subset. ISO_ALL: of one field alone. Refuses what
   iso_warp_create refuses. */
int iso_warps_create(iso_op **op, iso_ctx *ctx, int n, const struct iso_warp *warp);
void iso_warps_plan(struct iso_plan *plan, const iso_ctx *ctx, int n, const struct iso_warp *warp);

/* Whether n fields take so much of a CUDA device's memory that they are sent one by one. */
bool iso_warps_are_sent(const iso_ctx *ctx, int64_t n, int64_t voxels);

/* The field that a call of the operator means; NULL, with a message: ISO_ALL of several. */
const struct warp_model *iso_warps_choose(const iso_op *op, int sub);

/* The adjoint of a value that is not finite has no sums. */
int iso_warp_check_largest(double largest);

/* The reach from the largest sum of a column in fixed point. */
double iso_warp_reach(int64_t most, double scale);

ISO_C int iso_warps_to_cuda(iso_op *op);

ISO_END_C
#endif
