/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of a ring by photons on CUDA. Threads of a warp begin histories together and follow their first photon; of the few
   whose first photon is counted the warp keeps a stock in shared memory, and follows the second photon when there are
   enough for all its threads. Events are then pushed together in the order of their histories. */
#include "photon_select.cuh"

enum { BLOCK = 256, STOCK = 2 * ISO_WARP };

/* Histories of one launch: number i of them is first + i % n of block + i / n. */
struct piece {
	enum photon_kind kind;
	int64_t block, blocks, first, n;
};

/* Histories of one warp whose first photon is counted, and their numbers. */
struct stock {
	struct photon_half half[STOCK];
	uint32_t number[STOCK];
};

static __device__ void finish(struct photon_event *e, const struct photon_scan &s, const struct stock *k,
                              int i)
{
	struct photon_half half = k->half[i];
	struct photon_event made = ISO_ZERO;

	if (!photon_finish(&made, &s, &half)) return;
	made.history = k->number[i];
	e[made.history] = made;
}

/* e: one for each history, of which those without an event have the order PHOTON_NONE before. */
static __global__ void __launch_bounds__(BLOCK)
	events(struct photon_event *e, const struct photon_scan s, const struct piece p)
{
	extern __shared__ char shared[];
	struct stock *k = (struct stock *)shared + threadIdx.x / ISO_WARP;
	int lane = threadIdx.x % ISO_WARP, have = 0;
	const int64_t n = p.blocks * p.n, warps = (int64_t)gridDim.x * (BLOCK / ISO_WARP);

	for (int64_t i = (blockIdx.x * (int64_t)(BLOCK / ISO_WARP) + threadIdx.x / ISO_WARP) * ISO_WARP;
	     i < n; i += warps * ISO_WARP) {
		const uint32_t number = (uint32_t)i + lane, size = (uint32_t)p.n;
		struct photon_half half;
		bool seen = false;

		if (number < n)
			seen = photon_begin(
				&half, &s,
				photon_history(p.kind, p.block + number / size, p.first + number % size));
		__syncwarp();
		unsigned who = __ballot_sync(ISO_FULL_WARP, seen);

		if (seen) {
			int to = have + __popc(who & ((1u << lane) - 1));

			k->half[to] = half;
			k->number[to] = number;
		}
		have += __popc(who);
		__syncwarp();
		if (have < ISO_WARP) continue;
		have -= ISO_WARP;
		finish(e, s, k, have + lane);
		__syncwarp();
	}
	if (lane < have) finish(e, s, k, lane);
}

static int launch(struct photon_event *e, iso_ctx *ctx, const struct photon_scan *s, const struct piece *p)
{
	const int bytes = (int)sizeof(struct stock) * (BLOCK / ISO_WARP);
	int blocks = 0, processors = 0, st;

	if ((st = iso_cuda_check(
		     "photons",
		     cudaFuncSetAttribute(events, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes))) ||
	    (st = iso_cuda_check("photons", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, events,
	                                                                                  BLOCK, bytes))) ||
	    (st = iso_cuda_check(
		     "photons",
		     cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ctx->cuda_device))))
		return st;
	int64_t all = (int64_t)blocks * processors, need = (p->blocks * p->n + BLOCK - 1) / BLOCK;

	events<<<(int)(need < all ? need : all), BLOCK, bytes, iso_stream(ctx)>>>(e, *s, *p);
	return iso_cuda_launched("photons");
}

extern "C" int iso_photon_events_cuda(struct photon_event *e, int64_t *found,
                                      const struct iso_photon_scan *scan, enum photon_kind kind,
                                      int64_t block, int64_t blocks, int64_t first, int64_t n)
{
	iso_ctx *ctx = scan->ctx;
	const struct piece p = { kind, block, blocks, first, n };
	const int64_t all = blocks * n;
	int st;

	if ((st = iso_cuda_use(ctx)) ||
	    (st = iso_cuda_check(
		     "photons",
		     cudaMemsetAsync(scan->made, 0xff, (size_t)all * sizeof *scan->made, iso_stream(ctx)))) ||
	    (st = launch(scan->made, ctx, &scan->device, &p)))
		return st;
	return photon_select(e, found, ctx, scan->made, scan->kept, all);
}
