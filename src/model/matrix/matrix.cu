/* SPDX-License-Identifier: BSD-3-Clause */
/* Model matrix on CUDA: a warp for each row, or for each column. A lane adds every 32nd element; then the lanes add up in a
   fixed order, so that results have the same bits on every run. */
#include "core/comm.h"
#include "core/cuda.cuh"
#include "matrix.h"

static __device__ float dot(const int32_t *at, const float *w, int64_t first, int64_t end, const float *v)
{
	double sum = 0;

	for (int64_t k = first + threadIdx.x % ISO_WARP; k < end; k += ISO_WARP)
		sum += (double)w[k] * (double)v[at[k]];
	for (int step = ISO_WARP / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
	return (float)sum;
}

/* Lines first ... first + n - 1, of which the elements lie in the places from ... to - 1. */
static __global__ void apply(float *out, struct matrix_lines l, int64_t first, int64_t n, int64_t from,
                             int64_t to, const float *v)
{
	int64_t warps = (int64_t)gridDim.x * blockDim.x / ISO_WARP;

	for (int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / ISO_WARP; i < n; i += warps) {
		int64_t begin = matrix_from(l.at, l.start[first + i], l.start[first + i + 1], from);
		int64_t end = matrix_from(l.at, begin, l.start[first + i + 1], to);
		float sum = dot(l.at, l.w, begin, end, v);

		if (threadIdx.x % ISO_WARP == 0) out[first + i] = sum;
	}
}

static int launch(const iso_op *op, float *out, const struct matrix_lines &l, struct iso_rows lines,
                  struct iso_rows places, const float *v)
{
	if (lines.n == 0) return ISO_OK;
	apply<<<iso_blocks(lines.n * ISO_WARP), ISO_THREADS, 0, iso_stream(op->ctx)>>>(
		out, l, lines.first, lines.n, places.first, places.first + places.n, v);
	return iso_cuda_launched("product with a matrix");
}

static int forward(const iso_op *op, int sub, float *y, const float *x)
{
	const struct matrix_model *m = (const struct matrix_model *)op->data;
	const struct iso_rows rows = iso_op_rows(op, sub), own = iso_share(op->ctx, rows.n);
	int st = launch(op, y, m->by_rows, { rows.first + own.first, own.n }, { 0, m->columns }, x);

	return iso_comm_gather(op->ctx, st, y + rows.first, rows.n, sizeof *y);
}

static int adjoint(const iso_op *op, int sub, float *x, const float *y)
{
	const struct matrix_model *m = (const struct matrix_model *)op->data;
	int st = launch(op, x, m->by_columns, iso_share(op->ctx, m->columns), iso_op_rows(op, sub), y);

	return iso_comm_gather(op->ctx, st, x, m->columns, sizeof *x);
}

static struct iso_op_fn matrix_fn_cuda()
{
	struct iso_op_fn fn = {};

	fn.forward = forward;
	fn.adjoint = adjoint;
	fn.rows = iso_matrix_rows;
	fn.file_row = iso_matrix_file_row;
	return fn;
}

static void move(struct iso_room *room, struct matrix_lines *l, int64_t lines, int64_t elements)
{
	ISO_MOVE(room, l->start, lines + 1);
	ISO_MOVE(room, l->at, elements + 1);
	ISO_MOVE(room, l->w, elements + 1);
}

extern "C" int iso_matrix_to_cuda(iso_op *op)
{
	static const struct iso_op_fn fn = matrix_fn_cuda();
	struct matrix_model *m = (struct matrix_model *)op->data;
	struct iso_room *room = &op->shared->room;

	move(room, &m->by_rows, m->rows, m->elements);
	move(room, &m->by_columns, m->columns, m->elements);
	op->fn = &fn;
	return room->status;
}
