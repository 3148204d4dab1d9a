/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators on traces on CUDA: a thread a sample. */
#include "core/cuda.cuh"
#include "sradon_time_kern.h"

#include <stdlib.h>

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

static void free_eir(iso_op *op)
{
	struct sradon_time *p = (struct sradon_time *)op->data;

	cudaFree(p->eir);
	free(p);
}

static const struct iso_op_fn derivative_fn_cuda = {
	apply<DERIVATIVE>, apply<DERIVATIVE_ADJOINT>, NULL, NULL, NULL, NULL, NULL, free_eir, NULL,
};

static const struct iso_op_fn response_fn_cuda = {
	apply<RESPONSE>, apply<RESPONSE_ADJOINT>, NULL, NULL, NULL, NULL, NULL, free_eir, NULL,
};

/* The response moves to the device; the host's copy goes. */
static int move(iso_op *op, const struct iso_op_fn *fn)
{
	struct sradon_time *p = (struct sradon_time *)op->data;
	int64_t bytes = p->n_eir * (int64_t)sizeof *p->eir;
	void *eir = NULL;
	int st = bytes > 0 ? op->ctx->vec->alloc(op->ctx, &eir, bytes) : ISO_OK;

	if (!st && bytes > 0) st = op->ctx->vec->upload(op->ctx, eir, p->eir, bytes);
	if (st) {
		cudaFree(eir);
		return st;
	}
	free(p->eir);
	p->eir = (double *)eir;
	op->fn = fn;
	return ISO_OK;
}

extern "C" int iso_sradon_derivative_to_cuda(iso_op *op)
{
	return move(op, &derivative_fn_cuda);
}

extern "C" int iso_sradon_response_to_cuda(iso_op *op)
{
	return move(op, &response_fn_cuda);
}
