/* SPDX-License-Identifier: BSD-3-Clause */
/* Triples on CUDA: entries sorted by voxels, EM over them, and times dealt to voxels. A warp has a row, or a voxel. */
#include "lifetime_cuda.cuh"

#include <cub/device/device_radix_sort.cuh>

/* ---- entries by voxels ---- */

static __global__ void list_entries(struct triples_cuda t, struct triple_entry *to)
{
	ISO_WARP_LOOP (j, all_of(t.n))
		for (int64_t i = t.start[j] + lane_of(); i < t.start[j + 1]; i += ISO_WARP)
			to[i] = { (int32_t)j, t.w[i] };
}

/* The first entry whose voxel is no less than v. */
static __global__ void find_voxels(int64_t *begin, int64_t voxels, const int32_t *voxel, int64_t n)
{
	ISO_GRID_LOOP (v, voxels + 1) {
		int64_t low = 0, high = n;

		while (low < high) {
			const int64_t middle = (low + high) / 2;

			if (voxel[middle] < v)
				low = middle + 1;
			else
				high = middle;
		}
		begin[v] = low;
	}
}

/* Sorting keeps the order of the triples of a voxel. */
static int sort_entries(struct triples_cuda *c, iso_ctx *ctx)
{
	struct iso_room work = iso_room_of(ctx, "triples by voxels");
	const cudaStream_t stream = iso_stream(ctx);
	struct triple_entry *from;
	int32_t *key;
	size_t bytes = 0;
	int bits = 1;

	while (bits < 31 && c->voxels >> bits) bits++;
	ISO_DEVICE(&work, from, c->entries);
	ISO_DEVICE(&work, key, c->entries);
	int st = work.status;

	if (!st)
		st = iso_cuda_check(
			"triples by voxels",
			cub::DeviceRadixSort::SortPairs(NULL, bytes, c->voxel, key, (const uint64_t *)from,
		                                        (uint64_t *)c->entry, c->entries, 0, bits, stream));
	void *room = st ? NULL : iso_room_device(&work, (int64_t)bytes, 1);

	if (!st) st = work.status;
	if (!st) {
		list_entries<<<iso_blocks(c->n * ISO_WARP), ISO_THREADS, 0, stream>>>(*c, from);
		st = iso_cuda_check(
			"triples by voxels",
			cub::DeviceRadixSort::SortPairs(room, bytes, c->voxel, key, (const uint64_t *)from,
		                                        (uint64_t *)c->entry, c->entries, 0, bits, stream));
	}
	if (!st) {
		find_voxels<<<iso_blocks(c->voxels + 1), ISO_THREADS, 0, stream>>>(c->begin, c->voxels, key,
		                                                                   c->entries);
		st = iso_cuda_check("triples by voxels", cudaStreamSynchronize(stream));
	}
	iso_room_free(&work);
	return st;
}

static int open_triples(struct iso_triples *t)
{
	struct iso_room *room = &t->room;
	struct triples_cuda *c;

	if (!ISO_HOST(room, c, 1)) return room->status;
	c->n = t->n;
	c->entries = t->start[t->n];
	c->voxels = t->voxels;
	ISO_UPLOAD(room, c->start, t->start, t->n + 1);
	ISO_UPLOAD(room, c->voxel, t->voxel, c->entries);
	ISO_UPLOAD(room, c->w, t->w, c->entries);
	ISO_UPLOAD(room, c->t, t->t, t->n);
	ISO_UPLOAD(room, c->file, t->file, t->n);
	ISO_DEVICE(room, c->begin, t->voxels + 1);
	ISO_DEVICE(room, c->entry, c->entries);
	int st = room->status ? room->status : sort_entries(c, room->ctx);

	if (!st) t->cuda = c;
	return st;
}

/* ---- EM ---- */

struct em_cuda {
	double *x, *r; /* of each voxel and each triple: STRIDE values */
	const iso_real *sens;
	const uint8_t *copies; /* NULL: 1 */
	double shift;
	int subsets, subset;
};

/* Three values lie as four: one sector of memory. */
template <int POWERS> static __device__ __host__ constexpr int stride()
{
	return POWERS == 3 ? 4 : POWERS;
}

template <int POWERS> static __device__ void add_times(double sum[POWERS], double w, const double *from)
{
	if (POWERS == 1) {
		sum[0] += w * from[0];
		return;
	}
	const double2 v = *(const double2 *)from;

	sum[0] += w * v.x;
	sum[1] += w * v.y;
	if (POWERS == 3) sum[2] += w * from[2];
}

/* r = t'^k / (A x_k). */
template <int POWERS> static __global__ void em_rows(struct triples_cuda t, struct em_cuda e)
{
	ISO_WARP_LOOP (j, all_of(t.n)) {
		const double times = j % e.subsets != e.subset ? 0 : e.copies ? e.copies[j] : 1;
		double q[POWERS] = { 0 }, weight = times;

		if (times > 0)
			for (int64_t i = t.start[j] + lane_of(); i < t.start[j + 1]; i += ISO_WARP)
				add_times<POWERS>(q, t.w[i], e.x + t.voxel[i] * (int64_t)stride<POWERS>());
		for (int k = 0; k < POWERS; k++) {
			const double sum = iso_warp_sum(q[k]);

			if (lane_of() == 0) e.r[j * stride<POWERS>() + k] = sum > 0 ? weight / sum : 0;
			weight *= t.t[j] + e.shift;
		}
	}
}

/* x <- x/S A* r. */
template <int POWERS> static __global__ void em_voxels(struct triples_cuda t, struct em_cuda e)
{
	ISO_WARP_LOOP (v, all_of(t.voxels)) {
		double back[POWERS] = { 0 };

		for (int64_t i = t.begin[v] + lane_of(); i < t.begin[v + 1]; i += ISO_WARP)
			add_times<POWERS>(back, t.entry[i].w,
			                  e.r + t.entry[i].triple * (int64_t)stride<POWERS>());
		for (int k = 0; k < POWERS; k++) {
			const double sum = iso_warp_sum(back[k]);

			if (lane_of() == 0)
				e.x[v * stride<POWERS>() + k] *=
					e.sens[v] > 0 ? sum * e.subsets / (double)e.sens[v] : 0;
		}
	}
}

template <int POWERS> static __global__ void start_images(double *x, const iso_real *sens, int64_t n)
{
	ISO_GRID_LOOP (i, n * stride<POWERS>()) x[i] = sens[i / stride<POWERS>()] > 0 ? 1 : 0;
}

template <int POWERS> static __global__ void pack(double *to, const double *x, int64_t n)
{
	ISO_GRID_LOOP (i, n * POWERS) to[i] = x[i / POWERS * stride<POWERS>() + i % POWERS];
}

template <int POWERS>
static int em_of(double *x, const struct iso_triples *triples, const struct iso_lifetime *p,
                 const uint8_t *copies)
{
	const struct triples_cuda *t = triples->cuda;
	iso_ctx *ctx = triples->room.ctx;
	struct iso_room work = iso_room_of(ctx, "images of triples");
	const cudaStream_t stream = iso_stream(ctx);
	struct em_cuda e = ISO_ZERO;
	double *packed;

	e.subsets = p->subsets;
	e.shift = triple_shift(triples);
	ISO_DEVICE(&work, e.x, t->voxels * stride<POWERS>());
	ISO_DEVICE(&work, e.r, t->n * stride<POWERS>());
	ISO_DEVICE(&work, packed, t->voxels * POWERS);
	ISO_UPLOAD(&work, e.sens, p->sens, t->voxels);
	ISO_UPLOAD(&work, e.copies, copies, t->n);
	int st = work.status;

	if (!st) {
		start_images<POWERS>
			<<<iso_blocks(t->voxels), ISO_THREADS, 0, stream>>>(e.x, e.sens, t->voxels);
		st = iso_cuda_launched("images of triples");
	}
	for (int i = 0; i < p->iterations * p->subsets && !st; i++) {
		e.subset = i % p->subsets;
		em_rows<POWERS><<<iso_blocks(t->n * ISO_WARP), ISO_THREADS, 0, stream>>>(*t, e);
		em_voxels<POWERS><<<iso_blocks(t->voxels * ISO_WARP), ISO_THREADS, 0, stream>>>(*t, e);
		if (!(st = iso_cuda_launched("images of triples"))) st = iso_ctx_poll(ctx);
	}
	if (!st) {
		pack<POWERS><<<iso_blocks(t->voxels), ISO_THREADS, 0, stream>>>(packed, e.x, t->voxels);
		st = iso_cuda_launched("images of triples");
	}
	if (!st) st = ctx->vec->download(ctx, x, packed, t->voxels * POWERS * (int64_t)sizeof *x);
	iso_room_free(&work);
	return st;
}

static int em_cuda(double *x, const struct iso_triples *t, const struct iso_lifetime *p, int powers,
                   const uint8_t *copies)
{
	return powers == 1   ? em_of<1>(x, t, p, copies)
	       : powers == 2 ? em_of<2>(x, t, p, copies)
	                     : em_of<3>(x, t, p, copies);
}

/* ---- times dealt to voxels ---- */

static __global__ void deal_voxels(double *sums, struct triples_cuda t, const double *f, const double *r)
{
	ISO_WARP_LOOP (v, all_of(t.voxels)) {
		double share = 0, time = 0;

		for (int64_t i = t.begin[v] + lane_of(); i < t.begin[v + 1]; i += ISO_WARP) {
			const int32_t j = t.entry[i].triple;
			const double part = t.entry[i].w * f[v] * r[j];

			share += part;
			time += part * t.t[j];
		}
		share = iso_warp_sum(share);
		time = iso_warp_sum(time);
		if (lane_of() == 0) {
			sums[2 * v] = share;
			sums[2 * v + 1] = time;
		}
	}
}

static int deal_cuda(double *sums, const struct iso_triples *triples, const double *f)
{
	const struct triples_cuda *t = triples->cuda;
	iso_ctx *ctx = triples->room.ctx;
	struct iso_room work = iso_room_of(ctx, "times of voxels");
	struct em_cuda e = ISO_ZERO;
	double *to;

	e.subsets = 1;
	ISO_UPLOAD(&work, e.x, f, t->voxels);
	ISO_DEVICE(&work, e.r, t->n);
	ISO_DEVICE(&work, to, 2 * t->voxels);
	int st = work.status;

	if (!st) {
		em_rows<1><<<iso_blocks(t->n * ISO_WARP), ISO_THREADS, 0, iso_stream(ctx)>>>(*t, e);
		deal_voxels<<<iso_blocks(t->voxels * ISO_WARP), ISO_THREADS, 0, iso_stream(ctx)>>>(to, *t,
		                                                                                   e.x, e.r);
		st = iso_cuda_launched("times of voxels");
	}
	if (!st) st = ctx->vec->download(ctx, sums, to, 2 * t->voxels * (int64_t)sizeof *sums);
	iso_room_free(&work);
	return st;
}

extern "C" const struct triples_cuda_fn iso_triples_cuda = { open_triples,  em_cuda,         deal_cuda,
	                                                     iso_pass_cuda, iso_scores_cuda, iso_probe_cuda };
