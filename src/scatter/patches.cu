/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting coincidences between patches of the ring on CUDA. Threads of a warp begin decays together and follow photon 0;
   of the few decays whose photon 0 is seen the warp keeps a stock in shared memory, and follows photon 1 when there are
   enough for all its threads. */
#include "core/cuda.cuh"
#include "patches.h"

enum { BLOCK = 256, STOCK = 2 * ISO_WARP };

/* Decays whose photon 0 has ended, of one warp. */
struct stock {
	struct photon_decay decay[STOCK];
	struct photon_end end[STOCK];
};

/* Photon 1 of decay k of the stock, and the coincidence. */
static __device__ void finish(const struct patch_tally &t, const struct stock *s, int k)
{
	int64_t size = (int64_t)t.patches.pairs * t.patches.cells;
	struct photon_decay d = s->decay[k];
	struct photon_end e[2] = { s->end[k] };
	struct patch_count c;

	if (!photon_follow(e + 1, &t.world, &d, 1, 0) ||
	    !patch_place(&c, &t.patches, e, t.world.seed, d.history))
		return;
	atomicAdd((unsigned long long *)t.sum + c.sum * size + c.at, (unsigned long long)c.weight);
	if (c.weight_square)
		atomicAdd((unsigned long long *)t.sum + c.square * size + c.at,
		          (unsigned long long)c.weight_square);
}

static __global__ void __launch_bounds__(BLOCK) count(struct patch_tally t, int64_t first, int64_t n)
{
	extern __shared__ char shared[];
	struct stock *s = (struct stock *)shared + threadIdx.x / ISO_WARP;
	int lane = threadIdx.x % ISO_WARP, have = 0;
	int64_t warps = (int64_t)gridDim.x * (BLOCK / ISO_WARP);

	for (int64_t i = (blockIdx.x * (int64_t)(BLOCK / ISO_WARP) + threadIdx.x / ISO_WARP) * ISO_WARP;
	     i < n; i += warps * ISO_WARP) {
		struct photon_decay d;
		struct photon_end e;
		bool seen = false;

		if (i + lane < n) {
			photon_decay(&d, &t.world, (uint64_t)(first + i + lane));
			seen = photon_follow(&e, &t.world, &d, 0, 0);
		}
		__syncwarp();
		unsigned who = __ballot_sync(ISO_FULL_WARP, seen);

		if (seen) {
			int k = have + __popc(who & ((1u << lane) - 1));

			s->decay[k] = d;
			s->end[k] = e;
		}
		have += __popc(who);
		__syncwarp();
		if (have >= ISO_WARP) {
			have -= ISO_WARP;
			finish(t, s, have + lane);
			__syncwarp();
		}
	}
	if (lane < have) finish(t, s, lane);
}

extern "C" int iso_patch_count_cuda(iso_ctx *ctx, const struct patch_tally *t, int64_t first, int64_t n)
{
	const int bytes = (int)sizeof(struct stock) * (BLOCK / ISO_WARP);
	int blocks = 0, processors = 0, st = iso_cuda_use(ctx);

	if (st ||
	    (st = iso_cuda_check(
		     "photons",
		     cudaFuncSetAttribute(count, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes))) ||
	    (st = iso_cuda_check("photons", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, count,
	                                                                                  BLOCK, bytes))) ||
	    (st = iso_cuda_check(
		     "photons",
		     cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ctx->cuda_device))))
		return st;
	int64_t all = (int64_t)blocks * processors, need = (n + BLOCK - 1) / BLOCK;

	count<<<(int)(need < all ? need : all), BLOCK, bytes, iso_stream(ctx)>>>(*t, first, n);
	return iso_cuda_launched("photons");
}
