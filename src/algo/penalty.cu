/* SPDX-License-Identifier: BSD-3-Clause */
/* Quadratic penalties on CUDA: a thread a voxel. */
#include "core/cuda.cuh"
#include "penalty_kern.h"

static __global__ void all_voxels(struct penalty p, int64_t voxels, iso_real *y, const iso_real *x)
{
	ISO_GRID_LOOP (v, voxels)
		y[v] = penalty_at(&p, x, v % p.n[0], v / p.n[0] % p.n[1], v / p.n[0] / p.n[1]);
}

static int apply(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct penalty *p = (const struct penalty *)op->data;

	all_voxels<<<iso_blocks(op->n_in), ISO_THREADS, 0, iso_stream(op->ctx)>>>(*p, op->n_in, y, x);
	return iso_cuda_launched("penalty");
}

static const struct iso_op_fn penalty_fn_cuda = {
	apply, apply, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL,
};

extern "C" int iso_penalty_to_cuda(iso_op *op)
{
	op->fn = &penalty_fn_cuda;
	return ISO_OK;
}
