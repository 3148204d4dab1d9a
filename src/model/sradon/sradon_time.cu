/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators on traces on CUDA: a thread a sample. */
#include "core/cuda.cuh"
#include "sradon_time_kern.h"

enum what { DERIVATIVE, DERIVATIVE_ADJOINT, RESPONSE, RESPONSE_ADJOINT };

template <int WHAT>
static __global__ void every_sample(struct sradon_time p, int64_t n, float *y, const float *x)
{
	ISO_GRID_LOOP (j, n) {
		int64_t k = j % p.samples;
		const float *trace = x + (j - k);

		y[j] = (float)(WHAT == DERIVATIVE           ? sradon_derivative(&p, trace, k)
		               : WHAT == DERIVATIVE_ADJOINT ? sradon_derivative_adjoint(&p, trace, k)
		               : WHAT == RESPONSE           ? sradon_response(&p, trace, k)
		                                            : sradon_response_adjoint(&p, trace, k));
	}
}

template <int WHAT> static int apply(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct sradon_time *p = (const struct sradon_time *)op->data;

	every_sample<WHAT><<<iso_blocks(op->n_in), ISO_THREADS, 0, iso_stream(op->ctx)>>>(*p, op->n_in, y, x);
	return iso_cuda_launched("traces");
}

template <int FORWARD, int ADJOINT>
static const struct iso_op_fn fn_cuda = {
	apply<FORWARD>, apply<ADJOINT>, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL,
};

/* The response moves to the device; the host's copy goes. */
static int move(iso_op *op, const struct iso_op_fn *fn)
{
	struct sradon_time *p = (struct sradon_time *)op->data;

	ISO_MOVE(&op->shared->room, p->eir, p->n_eir);
	op->fn = fn;
	return op->shared->room.status;
}

extern "C" int iso_sradon_derivative_to_cuda(iso_op *op)
{
	return move(op, &fn_cuda<DERIVATIVE, DERIVATIVE_ADJOINT>);
}

extern "C" int iso_sradon_response_to_cuda(iso_op *op)
{
	return move(op, &fn_cuda<RESPONSE, RESPONSE_ADJOINT>);
}
