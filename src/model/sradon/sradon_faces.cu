/* SPDX-License-Identifier: BSD-3-Clause */
/* The mean over the faces of transducers on CUDA: a thread a sample. */
#include "core/cuda.cuh"
#include "sradon_faces.h"

static __global__ void mean(struct sradon_mean p, int64_t n, float *y, const float *x)
{
	ISO_GRID_LOOP (i, n) y[i] = (float)sradon_mean(&p, x, i);
}

static __global__ void mean_back(struct sradon_mean p, int64_t n, float *x, const float *y)
{
	ISO_GRID_LOOP (i, n) x[i] = (float)sradon_mean_back(&p, y, i);
}

static int forward(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	mean<<<iso_blocks(op->n_out), ISO_THREADS, 0, iso_stream(op->ctx)>>>(
		*(const struct sradon_mean *)op->data, op->n_out, y, x);
	return iso_cuda_launched("mean over faces");
}

static int adjoint(const iso_op *op, int, iso_real *x, const iso_real *y)
{
	mean_back<<<iso_blocks(op->n_in), ISO_THREADS, 0, iso_stream(op->ctx)>>>(
		*(const struct sradon_mean *)op->data, op->n_in, x, y);
	return iso_cuda_launched("mean over faces, adjoint");
}

static const struct iso_op_fn mean_fn_cuda = {
	forward, adjoint, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL,
};

extern "C" int iso_sradon_mean_to_cuda(iso_op *op)
{
	struct sradon_mean *p = (struct sradon_mean *)op->data;
	int64_t faces = 0;

	for (int64_t q = 0; q < p->n; q++) faces = max(faces, p->face[q] + 1);
	ISO_MOVE(&op->shared->room, p->weight, faces * p->points);
	ISO_MOVE(&op->shared->room, p->face, p->n);
	op->fn = &mean_fn_cuda;
	return op->shared->room.status;
}
