/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights of replicates on CUDA, the same integers as on the host. */
#include "core/cuda.cuh"
#include "weights.h"

/* One draw has the words of four replicates. */
static __global__ void draw(iso_real *w, int64_t n, const int64_t *event, uint64_t key, int64_t first,
                            int count)
{
	ISO_GRID_LOOP (i, n) {
		for (int64_t four = first / 4; four * 4 < first + count; four++) {
			struct philox p = philox_draw(key, (uint64_t)event[i], (uint64_t)four);

#pragma unroll
			for (int k = 0; k < 4; k++) {
				int64_t r = four * 4 + k - first;

				if (r >= 0 && r < count) w[r * n + i] = (iso_real)weight_of_word(p.w[k]);
			}
		}
	}
}

extern "C" int iso_weights_cuda(iso_ctx *ctx, iso_real *w, int64_t n, const int64_t *event, uint64_t key,
                                int64_t first, int count)
{
	draw<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(w, n, event, key, first, count);
	return iso_cuda_launched("weights of events");
}
