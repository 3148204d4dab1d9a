/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays through the crystals of a scanner on CUDA: a thread a decay. Photons of a warp part soon, as most miss a ring; so a
   lazy scan first lists the decays whose first photon may leave energy, and warps go on with these alone. Coincidences come in any order, and are put into that
   of their decays by a sort of their numbers. */
#include "core/cuda.cuh"
#include "crystal_scan.h"

#include <cub/device/device_radix_sort.cuh>

enum { BLOCK = 128 };

/* Counters of a block, and one of events: in 32 bits, as a launch has at most CRYSTAL_PIECE decays. */
struct crystal_sums {
	unsigned int v[CRYSTAL_COUNTS];
};

static __device__ void put(struct crystal_event *e, uint32_t *number, unsigned long long *found,
                           const struct crystal_event &made, uint32_t i)
{
	unsigned long long at = atomicAdd(found, 1ull);

	if (at >= CRYSTAL_ROOM) return; /* the host will see it */
	e[at] = made;
	number[at] = i;
}

static __device__ void add_up(unsigned long long *count, const uint32_t *part)
{
	__shared__ struct crystal_sums sums;

	for (int c = threadIdx.x; c < CRYSTAL_COUNTS; c += BLOCK) sums.v[c] = 0;
	__syncthreads();
#pragma unroll
	for (int c = 0; c < CRYSTAL_COUNTS; c++) {
		unsigned sum = iso_warp_sum((unsigned)part[c]);

		if (threadIdx.x % ISO_WARP == 0 && sum > 0) atomicAdd(&sums.v[c], sum);
	}
	__syncthreads();
	for (int c = threadIdx.x; c < CRYSTAL_COUNTS; c += BLOCK)
		if (sums.v[c] > 0) atomicAdd(count + 2 + c, (unsigned long long)sums.v[c]);
}

/* count[0]: of events; count[1]: of listed decays. */
static __global__ void __launch_bounds__(BLOCK)
	decays(struct crystal_event *e, uint32_t *number, unsigned long long *count,
               const struct crystal_scan *scan, uint64_t first, int64_t n)
{
	uint32_t part[CRYSTAL_COUNTS] = { 0 };

	ISO_GRID_LOOP (i, n) {
		struct crystal_event made;

		if (crystal_run(&made, part, scan, first + (uint64_t)i))
			put(e, number, count, made, (uint32_t)i);
	}
	add_up(count, part);
}

/* The decays that may have a coincidence, in any order. */
static __global__ void __launch_bounds__(BLOCK)
	list_decays(uint32_t *may, unsigned long long *many, const struct crystal_scan *scan, uint64_t first,
                    int64_t n)
{
	const unsigned before = (1u << threadIdx.x % ISO_WARP) - 1;

	ISO_GRID_LOOP (i, n) {
		const bool keep = crystal_may(scan, first + (uint64_t)i);
		const unsigned who = __ballot_sync(__activemask(), keep);
		unsigned long long at = 0;

		if (!keep) continue;
		const int leader = __ffs((int)who) - 1;

		if ((int)(threadIdx.x % ISO_WARP) == leader)
			at = atomicAdd(many, (unsigned long long)__popc(who));
		at = __shfl_sync(who, at, leader);
		may[at + (unsigned)__popc(who & before)] = (uint32_t)i;
	}
}

static __global__ void __launch_bounds__(BLOCK)
	listed_decays(struct crystal_event *e, uint32_t *number, unsigned long long *count,
                      const uint32_t *may, const struct crystal_scan *scan, uint64_t first)
{
	uint32_t part[CRYSTAL_COUNTS] = { 0 };
	const int64_t n = (int64_t)count[1];

	ISO_GRID_LOOP (i, n) {
		struct crystal_event made;

		if (crystal_run(&made, part, scan, first + may[i])) put(e, number, count, made, may[i]);
	}
	add_up(count, part);
}

static __global__ void numbers(uint32_t *slot, int64_t n)
{
	ISO_GRID_LOOP (i, n) slot[i] = (uint32_t)i;
}

static __global__ void gather(struct crystal_event *to, const struct crystal_event *from,
                              const uint32_t *slot, int64_t n)
{
	ISO_GRID_LOOP (i, n) to[i] = from[slot[i]];
}

static cudaError_t sort(void *temp, size_t &bytes, uint32_t *number, uint32_t *slot, int64_t n,
                        cudaStream_t stream)
{
	return cub::DeviceRadixSort::SortPairs(temp, bytes, number, number + CRYSTAL_ROOM, slot,
	                                       slot + CRYSTAL_ROOM, (int)n, 0, 32, stream);
}

extern "C" int iso_crystal_sort_bytes_cuda(int64_t *bytes)
{
	size_t need = 0;
	int st = iso_cuda_check("crystals", sort(NULL, need, NULL, NULL, CRYSTAL_ROOM, 0));

	*bytes = (int64_t)need;
	return st;
}

/* Blocks that fill the device. */
static int fill_device(int *blocks, const iso_ctx *ctx)
{
	int per = 0, processors = 0, st;

	if ((st = iso_cuda_check("crystals",
	                         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, decays, BLOCK, 0))) ||
	    (st = iso_cuda_check(
		     "crystals",
		     cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ctx->cuda_device))))
		return st;
	*blocks = per * processors;
	return ISO_OK;
}

/* Twice as much work of half the size. */
static int halve(struct crystal_event *e, int64_t *found, int64_t count[CRYSTAL_COUNTS],
                 const struct iso_crystal_scan *s, uint64_t first, int64_t n);

extern "C" int iso_crystal_events_cuda(struct crystal_event *e, int64_t *found, int64_t count[CRYSTAL_COUNTS],
                                       const struct iso_crystal_scan *s, uint64_t first, int64_t n)
{
	iso_ctx *ctx = s->ctx;
	cudaStream_t stream = iso_stream(ctx);
	int64_t sums[2 + CRYSTAL_COUNTS];
	size_t bytes = (size_t)s->temp_bytes;
	int blocks, st;

	if ((st = iso_cuda_use(ctx)) || (st = fill_device(&blocks, ctx)) ||
	    (st = iso_cuda_check("crystals", cudaMemsetAsync(s->count, 0, sizeof sums, stream))) ||
	    (st = iso_cuda_check("crystals", cudaMemcpyAsync(s->on_device, &s->device, sizeof s->device,
	                                                     cudaMemcpyHostToDevice, stream))))
		return st;
	int64_t need = (n + BLOCK - 1) / BLOCK;

	unsigned long long *total = (unsigned long long *)s->count;
	const int grid = (int)(need < blocks ? need : blocks);

	if (s->device.lazy) {
		list_decays<<<grid, BLOCK, 0, stream>>>(s->may, total + 1, s->on_device, first, n);
		if ((st = iso_cuda_launched("crystals"))) return st;
		listed_decays<<<grid, BLOCK, 0, stream>>>(s->made, s->number, total, s->may, s->on_device,
		                                          first);
	} else {
		decays<<<grid, BLOCK, 0, stream>>>(s->made, s->number, total, s->on_device, first, n);
	}
	if ((st = iso_cuda_launched("crystals")) ||
	    (st = ctx->vec->download(ctx, sums, s->count, (int64_t)sizeof sums)) || (st = iso_ctx_poll(ctx)))
		return st;
	*found = sums[0];
	if (*found > CRYSTAL_ROOM) return halve(e, found, count, s, first, n);
	for (int c = 0; c < CRYSTAL_COUNTS; c++) count[c] += sums[2 + c];
	if (*found == 0) return ISO_OK;
	numbers<<<iso_blocks(*found), ISO_THREADS, 0, stream>>>(s->slot, *found);
	if ((st = iso_cuda_launched("crystals")) ||
	    (st = iso_cuda_check("crystals", sort(s->temp, bytes, s->number, s->slot, *found, stream))))
		return st;
	gather<<<iso_blocks(*found), ISO_THREADS, 0, stream>>>(s->kept, s->made, s->slot + CRYSTAL_ROOM,
	                                                       *found);
	if ((st = iso_cuda_launched("crystals"))) return st;
	return e ? ctx->vec->download(ctx, e, s->kept, *found * (int64_t)sizeof *e) : ISO_OK;
}

static int halve(struct crystal_event *e, int64_t *found, int64_t count[CRYSTAL_COUNTS],
                 const struct iso_crystal_scan *s, uint64_t first, int64_t n)
{
	int64_t more = 0;
	int st = iso_crystal_events_cuda(e, found, count, s, first, n / 2);

	if (!st)
		st = iso_crystal_events_cuda(e ? e + *found : NULL, &more, count, s,
		                             first + (uint64_t)(n / 2), n - n / 2);
	*found += more;
	return st;
}
