/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators on traces on CUDA: a thread a sample. */
#include "core/cuda.cuh"
#include "sradon_time_kern.h"

template <bool ADJOINT>
static __global__ void every_sample(struct sradon_time p, int64_t n, float *y, const float *x)
{
	ISO_GRID_LOOP (j, n) {
		int64_t k = j % p.samples;

		y[j] = (float)sradon_time(&p, ADJOINT, x + (j - k), k);
	}
}

template <bool ADJOINT> static int apply(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct sradon_time *p = (const struct sradon_time *)op->data;

	every_sample<ADJOINT>
		<<<iso_blocks(op->n_in), ISO_THREADS, 0, iso_stream(op->ctx)>>>(*p, op->n_in, y, x);
	return iso_cuda_launched("traces");
}

static const struct iso_op_fn time_fn_cuda = {
	apply<false>, apply<true>, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL,
};

/* The response moves to the device; the host's copy goes. */
extern "C" int iso_sradon_time_to_cuda(iso_op *op)
{
	struct sradon_time *p = (struct sradon_time *)op->data;

	ISO_MOVE(&op->shared->room, p->eir, p->n_eir);
	op->fn = &time_fn_cuda;
	return op->shared->room.status;
}
