/* SPDX-License-Identifier: BSD-3-Clause */
/* The operator of kernel EM on CUDA: a warp a row, lanes side by side in its entries; the sum has a fixed order. */
#include "core/cuda.cuh"
#include "core/hd.h"
#include "kernel.h"

static __global__ void all_rows(struct kernel_rows r, struct iso_rows rows, iso_real *y, const iso_real *x)
{
	const int lane = threadIdx.x % ISO_WARP;

	ISO_WARP_LOOP (v, rows) {
		const int64_t end = r.first[v + 1];
		float sum = 0;

		for (int64_t i = r.first[v] + lane; i < end; i += ISO_WARP)
			sum = fmaf(r.w[i], x[r.at[i]], sum);
		sum = iso_warp_sum(sum);
		if (lane == 0) y[v] = sum;
	}
}

/* As many warps as rows: they are short, and blocks that end make room for the next. */
static int apply(const iso_op *op, const struct kernel_rows *r, iso_real *y, const iso_real *x)
{
	const int64_t n = op->n_in, blocks = (n + ISO_THREADS / ISO_WARP - 1) / (ISO_THREADS / ISO_WARP);
	const struct iso_rows rows = { 0, n };

	all_rows<<<(unsigned)(blocks < INT32_MAX ? blocks : INT32_MAX), ISO_THREADS, 0,
	           iso_stream(op->ctx)>>>(*r, rows, y, x);
	return iso_cuda_launched("kernel");
}

static int forward(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	return apply(op, &((const struct kernel *)op->data)->of, y, x);
}

static int adjoint(const iso_op *op, int, iso_real *x, const iso_real *y)
{
	return apply(op, &((const struct kernel *)op->data)->back, x, y);
}

static struct iso_op_fn functions(void)
{
	struct iso_op_fn fn = ISO_ZERO;

	fn.forward = forward;
	fn.adjoint = adjoint;
	return fn;
}

static const struct iso_op_fn kernel_fn_cuda = functions();

extern "C" int iso_kernel_to_cuda(iso_op *op)
{
	struct kernel *k = (struct kernel *)op->data;
	struct kernel_rows *const both[] = { &k->of, &k->back };
	struct iso_room *room = &op->shared->room;
	const int64_t entries = k->of.first[k->n];

	for (int i = 0; i < 2; i++) {
		ISO_MOVE(room, both[i]->at, entries);
		ISO_MOVE(room, both[i]->w, entries);
		ISO_MOVE(room, both[i]->first, k->n + 1);
	}
	op->fn = &kernel_fn_cuda;
	return room->status;
}
