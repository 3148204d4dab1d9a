/* SPDX-License-Identifier: BSD-3-Clause */
/* Parallel photons on CUDA, a thread a photon; counts are integers, so that their order does not matter. */
#include "core/cuda.cuh"
#include "beams_kern.h"

#define PIECE ((int64_t)1 << 28) /* photons a launch */

static __global__ void run(struct beams b, int64_t first, int64_t n)
{
	ISO_GRID_LOOP (i, n) beams_run(&b, first + i);
}

extern "C" int iso_beams_cuda(iso_ctx *ctx, const struct beams *b)
{
	int64_t n = b->each * RESPONSE_DIRECTIONS;
	int st = ISO_OK;

	for (int64_t i = 0; i < n && !st; i += PIECE) {
		int64_t m = n - i < PIECE ? n - i : PIECE;

		run<<<iso_blocks(m), ISO_THREADS, 0, iso_stream(ctx)>>>(*b, i, m);
		if (!(st = iso_cuda_launched("photons of beams")) &&
		    !(st = iso_cuda_check("photons of beams", cudaStreamSynchronize(iso_stream(ctx)))))
			st = iso_ctx_poll(ctx);
		iso_clock_add(b->clock, m);
	}
	return st;
}
