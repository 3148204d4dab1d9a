/* SPDX-License-Identifier: BSD-3-Clause */
/* Image filters on CUDA: a thread a voxel, neighbours in x side by side. */
#include "core/cuda.cuh"
#include "image_filter.h"

/* Along an axis of n voxels, `step` elements apart. */
static __global__ void smooth(int64_t voxels, int64_t n, int64_t step, struct filter_taps t, iso_real *y,
                              const iso_real *x)
{
	ISO_GRID_LOOP (v, voxels) {
		int64_t at = v / step % n;
		const iso_real *line = x + (v - at * step);
		double sum = 0;

		for (int64_t k = -t.radius; k <= t.radius; k++)
			if (!filter_beyond(&t, at + k, n))
				sum += t.w[t.radius + k] * line[filter_clamp(at + k, n) * step];
		y[v] = (iso_real)sum;
	}
}

/* From x over y and the work space in turn, so that the last pass ends in y. */
static int gaussian(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                    enum filter_border border, const iso_real *x)
{
	struct iso_room room = iso_room_of(ctx, "filter");
	int64_t n = iso_grid_voxels(g), step[3] = { 1, g->n[0], g->n[0] * g->n[1] };
	struct filter_taps t[3];
	iso_real *work, *to = y;
	int left = 0;

	for (int a = 0; a < 3; a++) {
		t[a] = iso_filter_taps(&room, f, g, a, border);
		left += t[a].radius > 0;
		ISO_MOVE(&room, t[a].w, 2 * t[a].radius + 1);
	}
	ISO_DEVICE(&room, work, n);
	if (left == 0 && !room.status) room.status = ctx->vec->copy(ctx, n, y, x);
	for (int a = 0; a < 3 && !room.status; a++) {
		if (t[a].radius == 0) continue;
		to = --left % 2 ? work : y;
		smooth<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(n, g->n[a], step[a], t[a], to, x);
		room.status = iso_cuda_launched("filter gaussian");
		x = to;
	}
	return iso_room_free(&room); /* waits for the device */
}

/* The median of the n values that `below(key)` counts. */
template <class Below> static __device__ iso_real median_of(int n, Below below)
{
	filter_key found = FILTER_KEY_MIN;

	for (int bit = FILTER_KEY_BITS - 1; bit >= 0; bit--) {
		filter_key trial = filter_trial(found, bit);

		if (below(trial) <= n / 2) found = trial;
	}
	return filter_value_of(found);
}

/* First element of row (iy, iz), or of the nearest to it in the image. */
static __device__ const iso_real *row_at(const iso_real *x, const struct iso_grid &g, int64_t iy, int64_t iz)
{
	return x + (filter_clamp(iz, g.n[2]) * g.n[1] + filter_clamp(iy, g.n[1])) * g.n[0];
}

/* 27 keys in registers. */
static __global__ void median_small(struct iso_grid g, int64_t voxels, iso_real *y, const iso_real *x)
{
	ISO_GRID_LOOP (v, voxels) {
		int64_t ix = v % g.n[0], iy = v / g.n[0] % g.n[1], iz = v / g.n[0] / g.n[1];
		filter_key key[27];

#pragma unroll
		for (int j = 0; j < 27; j++) {
			const iso_real *row = row_at(x, g, iy + j / 3 % 3 - 1, iz + j / 9 - 1);

			key[j] = filter_key_of(row[filter_clamp(ix + j % 3 - 1, g.n[0])]);
		}
		y[v] = median_of(27, [&](filter_key trial) {
			int n = 0;

#pragma unroll
			for (int j = 0; j < 27; j++) n += key[j] < trial;
			return n;
		});
	}
}

/* Larger cubes are read again for each bit, from the cache. */
static __global__ void median_large(struct iso_grid g, int64_t voxels, int size, iso_real *y,
                                    const iso_real *x)
{
	ISO_GRID_LOOP (v, voxels) {
		int64_t ix = v % g.n[0], iy = v / g.n[0] % g.n[1], iz = v / g.n[0] / g.n[1];
		int half = size / 2;

		y[v] = median_of(size * size * size, [&](filter_key trial) {
			int n = 0;

			for (int j = 0; j < size * size; j++) {
				const iso_real *row =
					row_at(x, g, iy + j % size - half, iz + j / size - half);

				for (int64_t i = ix - half; i <= ix + half; i++)
					n += filter_key_of(row[filter_clamp(i, g.n[0])]) < trial;
			}
			return n;
		});
	}
}

extern "C" int iso_filter_cuda(iso_real *y, iso_ctx *ctx, const struct iso_filter *f,
                               const struct iso_grid *g, enum filter_border border, const iso_real *x)
{
	int64_t voxels = iso_grid_voxels(g);
	int st = iso_cuda_use(ctx), blocks = iso_blocks(voxels);

	if (st) return st;
	if (f->kind != ISO_MEDIAN) return gaussian(y, ctx, f, g, border, x);
	if (f->size == 3)
		median_small<<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(*g, voxels, y, x);
	else
		median_large<<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(*g, voxels, f->size, y, x);
	return iso_cuda_launched("filter median");
}
