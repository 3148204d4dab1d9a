/* SPDX-License-Identifier: BSD-3-Clause */
/* The forward projection of single directions on CUDA (srm_single.h), for srm_correlate.cu. */
#ifndef ISO_SRM_SINGLE_CUH
#define ISO_SRM_SINGLE_CUH

#include "model/srm/srm_cuda.cuh"
#include "srm_single.h"

struct single_cuda {
	struct srm_single host; /* blocks of subsets, slices, the image */
	struct single_block *block;
	uint4 *strip;
	float4 *quad;
};

/* Strips of all directions, onto the device. */
int iso_single_upload(struct single_cuda *s, struct iso_room *room, const struct srm_op *m,
                      const struct iso_srm_rows *taps);

/* An image into quads, whose margins are zero already; adds to *infinite the voxels that are not finite. */
int iso_single_pad(const struct single_cuda *s, iso_ctx *ctx, float4 *quads, unsigned *infinite,
                   const float *x, const struct srm_shape *shape);

/* Sums of subset `sub`, whose rows are `rows`: slice after slice of them. */
int iso_single_forward(const struct single_cuda *s, iso_ctx *ctx, int sub, float *slices,
                       struct iso_rows rows, const float4 *quads);

#endif
