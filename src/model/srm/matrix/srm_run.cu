/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated voxels of a system matrix on CUDA: a thread a pair, one histogram of all elements a
   voxel, packed into sorted lists of those that were hit.

   Two voxels are under way at a time, each with a stream and a histogram of its own: while one is
   simulated, the list of the other goes to the host and into its class. Where memory has room for
   one histogram only, voxels follow each other. */
#include "core/comm.h"
#include "core/cuda.cuh"
#include "srm_seed.h"

#include <cub/device/device_scan.cuh>

#define CHUNK 4096 /* cells that a block packs */
#define EACH (CHUNK / ISO_THREADS)
#define PAIRS_BLOCKS 16384 /* many waves of blocks: pairs differ in length */

typedef unsigned long long count_t; /* what atomicAdd takes */

/* ---- pairs ---- */

/* KEYS: most elements of a pair; 1: photons have one outcome. */
template <int KEYS>
static __global__ void __launch_bounds__(ISO_THREADS)
	pairs(uint32_t *cell, count_t *recorded, const __grid_constant__ struct srm_seed s,
              const __grid_constant__ struct transport t, int64_t first, int64_t n)
{
	uint64_t seen = 0, key[KEYS];

	ISO_GRID_LOOP (i, n) {
		uint64_t history = (uint64_t)(first + i);
		int hits = KEYS > 1 ? srm_pair_outcomes(key, &seen, &s, &t, history)
		                    : srm_pair(key, &seen, &s, &t, history);

		for (int k = 0; k < hits; k++) atomicAdd(cell + key[k], 1u);
	}
	seen = iso_block_sum(seen);
	if (threadIdx.x == 0) atomicAdd(recorded, (count_t)seen);
}

/* ---- packing: cells that were hit, in order ---- */

static __device__ int hit_cells(uint32_t count[EACH], const uint32_t *cell, int64_t cells)
{
	int64_t at = blockIdx.x * (int64_t)CHUNK + threadIdx.x * EACH;
	int n = 0;

	for (int i = 0; i < EACH; i++) {
		count[i] = at + i < cells ? cell[at + i] : 0;
		n += count[i] > 0;
	}
	return n;
}

static __global__ void __launch_bounds__(ISO_THREADS)
	count_chunk(int64_t *hit, const uint32_t *cell, int64_t cells)
{
	uint32_t count[EACH];
	int64_t n = iso_block_sum((int64_t)hit_cells(count, cell, cells));

	if (threadIdx.x == 0) hit[blockIdx.x] = n;
}

/* Sum over the threads before this one. */
static __device__ int before_me(int n)
{
	__shared__ int warp_sum[ISO_THREADS / ISO_WARP];
	int lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP, up = n;

	for (int step = 1; step < ISO_WARP; step *= 2) {
		int below = __shfl_up_sync(ISO_FULL_WARP, up, step);

		up += lane >= step ? below : 0;
	}
	if (lane == ISO_WARP - 1) warp_sum[warp] = up;
	__syncthreads();
	for (int w = 0; w < warp; w++) up += warp_sum[w];
	return up - n;
}

/* Leaves the histogram empty for the next voxel. */
static __global__ void __launch_bounds__(ISO_THREADS)
	pack_chunk(uint64_t *key, uint32_t *out, uint32_t *cell, const int64_t *start, int64_t cells)
{
	uint32_t count[EACH];
	int n = hit_cells(count, cell, cells);
	int64_t to = start[blockIdx.x] + before_me(n);
	int64_t at = blockIdx.x * (int64_t)CHUNK + threadIdx.x * EACH;

	for (int i = 0; i < EACH; i++) {
		if (count[i] == 0) continue;
		key[to] = (uint64_t)(at + i);
		out[to++] = count[i];
		cell[at + i] = 0;
	}
}

/* ---- one voxel under way ---- */

struct slot {
	struct iso_room room; /* arrays of the device */
	cudaStream_t stream;
	uint32_t *cell;       /* histogram */
	int64_t *hit, *start; /* chunks + 1: elements of each, of those before it */
	char *scan;           /* work space of the running sum */
	size_t scan_bytes;
	count_t *recorded;
	uint64_t *key, *host_key; /* packed: on the device, and on the host */
	uint32_t *count, *host_count;
	int64_t packed; /* elements that there is room for */
	struct {
		int64_t n;
		count_t recorded;
	} * total;  /* on the host */
	int number; /* class of the voxel; -1: none under way */
};

struct work {
	int64_t cells, chunks;
	struct slot slot[2];
	int slots;
};

static void free_packed(struct slot *s)
{
	iso_room_drop(&s->room, s->key);
	iso_room_drop(&s->room, s->count);
	if (s->host_key) cudaFreeHost(s->host_key); /* the counts lie behind the keys */
	s->host_key = NULL;
	s->packed = 0;
}

static void free_slot(struct slot *s)
{
	if (s->stream) cudaStreamSynchronize(s->stream);
	free_packed(s);
	iso_room_free(&s->room);
	if (s->total) cudaFreeHost(s->total);
	if (s->stream) cudaStreamDestroy(s->stream);
}

/* Sums of s->hit before each chunk; the first call, without work space, tells how much it takes. */
static int sum_chunks(struct slot *s, const struct work *w)
{
	return iso_cuda_check("srm: running sum",
	                      cub::DeviceScan::ExclusiveSum(s->scan, s->scan_bytes, s->hit, s->start,
	                                                    w->chunks + 1, s->stream));
}

static int make_slot(struct slot *s, const struct work *w, iso_ctx *ctx)
{
	int st;

	s->number = -1;
	s->room = iso_room_of(ctx, "srm: histogram of a voxel");
	ISO_DEVICE(&s->room, s->cell, w->cells);
	ISO_DEVICE(&s->room, s->hit, w->chunks + 1);
	ISO_DEVICE(&s->room, s->start, w->chunks + 1);
	ISO_DEVICE(&s->room, s->recorded, 1);
	if ((st = s->room.status) ||
	    (st = iso_cuda_check("srm: stream",
	                         cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking))) ||
	    (st = iso_cuda_check("srm: sums", cudaMallocHost((void **)&s->total, sizeof *s->total))) ||
	    (st = sum_chunks(s, w)))
		return st;
	ISO_DEVICE(&s->room, s->scan, (int64_t)s->scan_bytes);
	return s->room.status;
}

/* Room for n packed elements and a quarter more, so that it grows a few times only. */
static int make_room(struct slot *s, int64_t n)
{
	int64_t room = n + n / 4 + 1024;
	size_t bytes = (size_t)room * (sizeof *s->key + sizeof *s->count);
	int st;

	if (n <= s->packed) return ISO_OK;
	free_packed(s);
	ISO_DEVICE(&s->room, s->key, room);
	ISO_DEVICE(&s->room, s->count, room);
	if ((st = s->room.status) || /* cleared on the context's stream, and written on the slot's */
	    (st = iso_cuda_check("srm: keys", cudaStreamSynchronize(iso_stream(s->room.ctx)))) ||
	    (st = iso_cuda_check("srm: keys", cudaMallocHost((void **)&s->host_key, bytes))))
		return st;
	s->host_count = (uint32_t *)(s->host_key + room);
	s->packed = room;
	return ISO_OK;
}

/* Simulates n pairs of a voxel from `first` on, and counts what was hit; returns at once. */
static int begin_voxel(struct slot *s, const struct work *w, const struct srm_round *r, int64_t voxel,
                       int64_t first, int64_t n)
{
	int number, image;

	iso_srm_find_voxel(&number, &image, r->m, voxel);
	struct srm_seed seed = iso_srm_seed(r->m, number, image);
	int64_t blocks = (n + ISO_THREADS - 1) / ISO_THREADS;
	int grid = (int)(blocks < PAIRS_BLOCKS ? blocks : PAIRS_BLOCKS), st;
	auto kernel = seed.outcomes > 1 ? pairs<SRM_OUTCOMES * SRM_OUTCOMES> : pairs<1>;

	s->number = number;
	cudaMemsetAsync(s->recorded, 0, sizeof *s->recorded, s->stream);
	kernel<<<grid, ISO_THREADS, 0, s->stream>>>(s->cell, s->recorded, seed, *r->t, first, n);
	count_chunk<<<(unsigned)w->chunks, ISO_THREADS, 0, s->stream>>>(s->hit, s->cell, w->cells);
	if ((st = sum_chunks(s, w))) return st;
	cudaMemcpyAsync(&s->total->n, s->start + w->chunks, sizeof s->total->n, cudaMemcpyDeviceToHost,
	                s->stream);
	cudaMemcpyAsync(&s->total->recorded, s->recorded, sizeof *s->recorded, cudaMemcpyDeviceToHost,
	                s->stream);
	return iso_cuda_launched("srm: pairs");
}

static int fetch(struct slot *s, const struct work *w)
{
	int st = iso_cuda_check("srm: pairs", cudaStreamSynchronize(s->stream));
	int64_t n = s->total->n;

	if (st || n == 0 || (st = make_room(s, n))) return st;
	pack_chunk<<<(unsigned)w->chunks, ISO_THREADS, 0, s->stream>>>(s->key, s->count, s->cell, s->start,
	                                                               w->cells);
	cudaMemcpyAsync(s->host_key, s->key, (size_t)n * sizeof *s->key, cudaMemcpyDeviceToHost, s->stream);
	cudaMemcpyAsync(s->host_count, s->count, (size_t)n * sizeof *s->count, cudaMemcpyDeviceToHost,
	                s->stream);
	return iso_cuda_check("srm: elements", cudaStreamSynchronize(s->stream));
}

/* Ends the voxel of a slot, if there is one. */
static int end_voxel(struct srm_counts *fresh, struct slot *s, const struct work *w)
{
	struct srm_counts counts = ISO_ZERO;
	int number = s->number, st;

	if (number < 0) return ISO_OK;
	s->number = -1;
	if ((st = fetch(s, w))) return st;
	counts.recorded = s->total->recorded;
	if (!(st = iso_srm_list_from(&counts.list, s->host_key, s->host_count, s->total->n)))
		st = iso_srm_counts_add(&fresh[number], &counts);
	iso_srm_list_free(&counts.list);
	return st;
}

/* This rank's pairs of those of all voxels, one voxel after the other. */
static int run_voxels(struct work *w, const struct srm_round *r)
{
	int64_t all = iso_srm_all_voxels(r->m) * r->n, n;
	struct iso_rows mine = iso_share(r->ctx, all);
	int next = 0, st = ISO_OK;

	for (int64_t i = mine.first; i < mine.first + mine.n && !st; i += n) {
		n = min(r->n - i % r->n, mine.first + mine.n - i);
		st = begin_voxel(&w->slot[next], w, r, i / r->n, r->first + i % r->n, n);
		next = (next + 1) % w->slots;
		if (!st) st = end_voxel(r->fresh, &w->slot[next], w);
		if (!st) st = iso_ctx_poll(r->ctx);
		iso_clock_step(r->clock,
		               r->done +
		                       (int64_t)((double)(i + n - mine.first) / (double)mine.n * (double)all),
		               NULL);
	}
	for (int i = 0; i < w->slots && !st; i++) st = end_voxel(r->fresh, &w->slot[i], w);
	return st;
}

/* One slot is enough. */
static int make_slots(struct work *w, iso_ctx *ctx)
{
	int st = ISO_OK;

	while (w->slots < 2 && !(st = make_slot(&w->slot[w->slots], w, ctx))) w->slots++;
	if (st != ISO_ENOMEM || w->slots == 0) return st;
	free_slot(&w->slot[1]);
	w->slot[1] = ISO_ZERO;
	return ISO_OK;
}

extern "C" int iso_srm_round_cuda(const struct srm_round *r)
{
	struct work w = ISO_ZERO;
	int st = iso_cuda_use(r->ctx);

	w.cells = (int64_t)srm_numbers(r->m->shape.reach, r->m->shape.layers);
	w.chunks = (w.cells + CHUNK - 1) / CHUNK;
	if (!st) st = make_slots(&w, r->ctx);
	if (!st) /* histograms were cleared, and the tables that r->t names sent, on the context's stream */
		st = iso_cuda_check("srm: tables", cudaStreamSynchronize(iso_stream(r->ctx)));
	if (!st) st = run_voxels(&w, r);
	for (int i = 0; i < 2; i++) free_slot(&w.slot[i]);
	return st;
}
