/* SPDX-License-Identifier: BSD-3-Clause */
/* The quadratic smoothness penalty on CUDA: a thread a voxel. */
#include "core/cuda.cuh"
#include "penalty_kern.h"

static __global__ void smoothness(struct penalty_grid g, int64_t voxels, iso_real *y, const iso_real *x)
{
	ISO_GRID_LOOP (v, voxels)
		y[v] = penalty_at(&g, x, v % g.n[0], v / g.n[0] % g.n[1], v / g.n[0] / g.n[1]);
}

static int apply(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct penalty_grid *g = (const struct penalty_grid *)op->data;

	smoothness<<<iso_blocks(op->n_in), ISO_THREADS, 0, iso_stream(op->ctx)>>>(*g, op->n_in, y, x);
	return iso_cuda_launched("smoothness");
}

static const struct iso_op_fn penalty_fn_cuda = {
	apply, apply, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL,
};

extern "C" int iso_smoothness_to_cuda(iso_op *op)
{
	op->fn = &penalty_fn_cuda;
	return ISO_OK;
}
