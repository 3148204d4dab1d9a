/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rays cross which brick: found once, when rays are ordered, because neither changes. A warp
   takes a brick and some of the packets, and leaves the rays that cross it in chunks of 32, one a
   lane; a sort brings the chunks of each brick together. Most chunks are a packet whose rays all run inside the
   brick: its number is enough. */
#include "ray_cell.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <stdlib.h>

#define MARGIN .01f     /* voxels: rounding of hulls */
#define RESERVE 8       /* entries that a warp takes from the store at once, */
#define RESERVE_PARTS 2 /* and chunks that are not whole packets */
#define SPARE 4096      /* chunks, for those that stay partly empty */
#define WARPS (ISO_THREADS / ISO_WARP)
#define MOST_WARPS (1 << 17) /* that share the finding */
#define UNITS 24             /* of a multiprocessor, for balance; but each at least FEWEST chunks, to make */
#define FEWEST 256           /* up for loading its brick */

/* ---- hulls ---- */

struct span {
	float lo, hi;
};

/* Range of a coordinate of a hull between two shares of its length. */
static __device__ struct span span_of(const float lo[2], const float hi[2], float s, float t)
{
	float low = lo[1] - lo[0], high = hi[1] - hi[0];
	struct span r = { fminf(fmaf(low, s, lo[0]), fmaf(low, t, lo[0])),
		          fmaxf(fmaf(high, s, hi[0]), fmaf(high, t, hi[0])) };

	return r;
}

static __device__ enum ray_crossing hull_meets(const struct ray_hull *hull, const struct cell *c)
{
	struct ray_hull h = *hull;

	if (!(h.x_lo < c->k1 && h.x_hi > c->k0)) return RAY_ABSENT;
	float r = reciprocal(h.x_hi - h.x_lo);
	float s = (fmaxf(c->k0, h.x_lo) - h.x_lo) * r, t = (fminf(c->k1, h.x_hi) - h.x_lo) * r;
	struct span b = span_of(h.b_lo, h.b_hi, s, t), d = span_of(h.c_lo, h.c_hi, s, t);

	if (b.lo > c->b1 + MARGIN || b.hi < c->b0 - MARGIN || d.lo > c->c1 + MARGIN || d.hi < c->c0 - MARGIN)
		return RAY_ABSENT;
	bool inside = b.lo > c->b0 + MARGIN && b.hi < c->b1 - MARGIN && d.lo > c->c0 + MARGIN &&
	              d.hi < c->c1 - MARGIN;

	return inside && h.enter_hi < c->k1 && h.leave_lo > c->k0 ? RAY_INSIDE : RAY_SOMEWHERE;
}

/* Hulls of 32 packets, as straight lines over the range of them all. A packet's lines are
   prolonged to its ends; between, they then lie inside. */
static __device__ float prolong(const float v[2], const struct ray_hull *h, float x)
{
	float length = h->x_hi - h->x_lo;

	return length > 0 ? fmaf(v[1] - v[0], (x - h->x_lo) / length, v[0]) : fminf(v[0], v[1]);
}

static __global__ void join_hulls(struct ray_hull *all, const struct ray_hull *hull, int first, int n)
{
	ISO_GRID_LOOP (i, (n + RAY_PACKET - 1) / RAY_PACKET) {
		struct ray_hull j = { NOWHERE,
			              -NOWHERE,
			              0,
			              0,
			              { NOWHERE, NOWHERE },
			              { -NOWHERE, -NOWHERE },
			              { NOWHERE, NOWHERE },
			              { -NOWHERE, -NOWHERE } };
		int last = min(n, ((int)i + 1) * RAY_PACKET);

		for (int p = (int)i * RAY_PACKET; p < last; p++) {
			j.x_lo = fminf(j.x_lo, hull[first + p].x_lo);
			j.x_hi = fmaxf(j.x_hi, hull[first + p].x_hi);
		}
		for (int p = (int)i * RAY_PACKET; p < last; p++) {
			const struct ray_hull *h = hull + first + p;

			for (int end = 0; end < 2; end++) {
				float x = end ? j.x_hi : j.x_lo;

				j.b_lo[end] = fminf(j.b_lo[end], prolong(h->b_lo, h, x));
				j.b_hi[end] = fmaxf(j.b_hi[end], prolong(h->b_hi, h, x));
				j.c_lo[end] = fminf(j.c_lo[end], prolong(h->c_lo, h, x));
				j.c_hi[end] = fmaxf(j.c_hi[end], prolong(h->c_hi, h, x));
			}
		}
		all[i] = j;
	}
}

/* ---- finding ---- */

/* Where chunks go. Beyond the room they are only counted. */
struct store {
	unsigned *key, *id; /* of each entry: its brick, and a packet with RAY_MARK, or a part */
	struct ray_parts part;
	int64_t entries, parts; /* room */
	unsigned long long *used;
};

struct search {
	struct ray_wall wall;
	const struct ray_line *line;
	const struct ray_hull *hull, *joint; /* joint: of 32 packets, bundle after bundle */
	int joint_of[3];                     /* first of each bundle */
	int parts;                           /* warps that share a brick */
	float wider; /* than bricks, voxels: Joseph's samples may be rounded into one */
	struct store store;
};

/* What a warp has reserved of the store. */
struct reserve {
	unsigned long long next, end;

	__device__ unsigned long long take(unsigned long long *used, int many)
	{
		if (next == end) {
			if (threadIdx.x % ISO_WARP == 0) next = atomicAdd(used, (unsigned long long)many);
			next = __shfl_sync(ISO_FULL_WARP, next, 0);
			end = next + many;
		}
		return next++;
	}
};

/* A warp's chunks. */
struct writer {
	const struct store *s;
	unsigned brick, nothing; /* number of the brick, and of no brick */
	struct reserve entry, part;

	__device__ void enter(unsigned id)
	{
		unsigned long long at = entry.take(s->used, RESERVE);

		if (threadIdx.x % ISO_WARP == 0 && at < (unsigned long long)s->entries) {
			s->key[at] = brick;
			s->id[at] = id;
		}
	}

	__device__ void put_packet(unsigned packet)
	{
		enter(packet | RAY_MARK);
	}

	__device__ void put_part(uint2 base, unsigned off)
	{
		unsigned long long at = part.take(s->used + 1, RESERVE_PARTS);
		int lane = threadIdx.x % ISO_WARP;

		if (at < (unsigned long long)s->parts) {
			s->part.off[at * RAY_PACKET + lane] = (uint16_t)off;
			if (lane == 0) s->part.base[at] = base;
		}
		enter((unsigned)at);
	}

	/* The first slot of those that are left, and which of them are near to it. */
	__device__ unsigned near_to_first(unsigned *base, unsigned left, unsigned slot)
	{
		int lane = threadIdx.x % ISO_WARP;

		*base = __shfl_sync(ISO_FULL_WARP, slot, left ? __ffs((int)left) - 1 : 0);
		return __ballot_sync(ISO_FULL_WARP, left >> lane & 1 && slot - *base < RAY_OFF_Y - 1);
	}

	/* One slot a lane, rising, or RAY_NO_SLOT. The packets of 32 joint hulls are near to each other: a part holds rays of
	   two times so many, and so hardly ever there are two parts. */
	__device__ void put(unsigned slot)
	{
		unsigned left = __ballot_sync(ISO_FULL_WARP, slot != RAY_NO_SLOT),
			 mine = 1u << threadIdx.x % ISO_WARP;

		while (left) {
			uint2 base;
			unsigned x = near_to_first(&base.x, left, slot),
				 y = near_to_first(&base.y, left & ~x, slot);

			put_part(base, x & mine   ? slot - base.x
			               : y & mine ? (slot - base.y) | RAY_OFF_Y
			                          : RAY_NO_OFF);
			left &= ~(x | y);
		}
	}

	/* What was reserved and not used belongs to no brick. */
	__device__ void close()
	{
		unsigned long long i = entry.next + threadIdx.x % ISO_WARP;

		if (i < entry.end && i < (unsigned long long)s->entries) s->key[i] = nothing;
	}
};

/* Rays that cross the brick, gathered until there is one for every lane. */
struct gatherer {
	int *slots; /* 2 x 32 in shared memory */
	int held;

	__device__ void add(struct writer *w, int slot, bool crosses)
	{
		int lane = threadIdx.x % ISO_WARP;
		unsigned who = __ballot_sync(ISO_FULL_WARP, crosses);

		if (crosses) slots[held + __popc(who & ((1u << lane) - 1))] = slot;
		held += __popc(who);
		__syncwarp();
		if (held >= ISO_WARP) {
			held -= ISO_WARP;
			w->put((unsigned)slots[held + lane]);
		}
		__syncwarp();
	}

	__device__ void close(struct writer *w)
	{
		int lane = threadIdx.x % ISO_WARP;

		if (held) w->put(lane < held ? (unsigned)slots[lane] : RAY_NO_SLOT);
	}
};

/* The packets of one joint hull. */
template <int K>
static __device__ void search_packets(const struct search *s, const brick<K> *u, int joint, struct writer *w,
                                      struct gatherer *g)
{
	int lane = threadIdx.x % ISO_WARP, mine = joint * RAY_PACKET + lane;
	enum ray_crossing how =
		mine < u->g->packets ? hull_meets(s->hull + u->g->packet + mine, &u->cell) : RAY_ABSENT;
	unsigned some = __ballot_sync(ISO_FULL_WARP, how != RAY_ABSENT);
	unsigned inside = __ballot_sync(ISO_FULL_WARP, how == RAY_INSIDE);

	for (; some; some &= some - 1) {
		int i = __ffs(some) - 1, packet = u->g->packet + joint * RAY_PACKET + i;

		if (inside >> i & 1) {
			w->put_packet((unsigned)packet);
		} else {
			int slot = packet * RAY_PACKET + lane;
			float x0, x1;

			g->add(w, slot, clip<K>(s->line + slot, &u->cell, &x0, &x1));
		}
	}
}

template <int K> static __global__ void find(struct search s)
{
	__shared__ int slots[WARPS][2 * ISO_WARP];
	int lane = threadIdx.x % ISO_WARP;
	int unit = blockIdx.x * WARPS + threadIdx.x / ISO_WARP;

	if (unit >= s.wall.bricks * s.parts) return;
	brick<K> u(&s.wall, unit / s.parts);

	u.cell = u.cell.wider(s.wider);
	struct writer w = {
		&s.store, (unsigned)(unit / s.parts), (unsigned)s.wall.bricks, { 0, 0 }, { 0, 0 }
	};
	struct gatherer g = { slots[threadIdx.x / ISO_WARP], 0 };
	const struct ray_hull *joint = s.joint + s.joint_of[u.g->axis];
	int n = (u.g->packets + RAY_PACKET - 1) / RAY_PACKET, step = s.parts * ISO_WARP;

	for (int j = unit % s.parts * ISO_WARP; j < n; j += step) {
		bool met = j + lane < n && hull_meets(joint + j + lane, &u.cell) != RAY_ABSENT;
		unsigned who = __ballot_sync(ISO_FULL_WARP, met);

		for (; who; who &= who - 1) search_packets<K>(&s, &u, j + __ffs(who) - 1, &w, &g);
	}
	g.close(&w);
	w.close();
}

/* ---- how the grid is cut ---- */

/* Wide bricks have fewer rays that cross two of them; along c, which often is short, the number
   of bricks is tried. A ray drifts by about half a voxel a slice along b, a fifth along c. Where
   rays run does not count: the sum along a ray is rounded once a brick, and must not depend on the
   rays it is packed with. */
static void cut(struct ray_bricks *g, int slices, int words)
{
	int rb = g->n[1], rc = g->n[2];
	double best = 1e30;

	for (int nc = 1; nc <= rc; nc++) {
		int wc = (rc + nc - 1) / nc, wb = words / slices / (wc + 2 * HALO) - 2 * HALO;

		if (wb < 2) continue;
		int nb = (rb + wb - 1) / wb;

		wb = (rb + nb - 1) / nb;
		double visits = (1 + .5 * slices / wb) * (1 + .2 * slices / wc) * (1 + 1e-4 * nb * nc);

		if (visits >= best) continue;
		best = visits;
		g->nb = nb;
		g->nc = nc;
		g->wb = wb;
		g->wc = wc;
	}
}

/* Thick bricks have fewer faces, but short TOF windows fill only part of them. */
static int choose_slices(const struct ray_model *m, int images)
{
	if (images > 1) return RAY_GROUP_SLICES;
	double voxel = fmax(m->grid.voxel[0], fmax(m->grid.voxel[1], m->grid.voxel[2]));

	return m->tof.measure != RAY_LENGTH && 2 * m->tof.half < 60 * voxel ? RAY_SLICES_THIN
	                                                                    : RAY_SLICES_THICK;
}

static struct ray_wall cut_grid(const iso_ctx *ctx, const struct ray_model *m, const struct ray_pack *p,
                                int images)
{
	struct ray_wall w = ISO_ZERO;
	int bytes = 0;

	cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx->cuda_device);
	/* values and sums of a brick for each image, the table of bins, and a little else */
	w.words = (bytes - 1024 - iso_ray_bin_cells(&m->tof) * (int)sizeof(float4)) / (8 * images);
	w.slices = choose_slices(m, images);
	for (int a = 0; a < 3; a++) {
		const struct ray_bundle *u = p->bundle + a;
		struct ray_bricks *g = w.b + w.n;
		int axis[3] = { a, a == 0 ? 1 : 0, a == 2 ? 1 : 2 };

		if (u->n == 0) continue;
		g->axis = a;
		for (int i = 0; i < 3; i++) {
			g->n[i] = m->grid.n[axis[i]];
			g->stride[i] = m->grid.stride[axis[i]];
		}
		g->packet = u->packet;
		g->packets = u->packets;
		g->slabs = (g->n[0] + w.slices - 1) / w.slices;
		cut(g, w.slices, w.words);
		g->first = w.bricks;
		w.bricks += g->slabs * g->nb * g->nc;
		w.n++;
	}
	return w;
}

/* ---- all of it ---- */

/* Chunks that n rays should need: each crosses some slabs, and about a third more bricks. */
static int64_t guess(const struct ray_model *m, int images, int64_t n)
{
	double voxel = fmin(m->grid.voxel[0], m->grid.voxel[1]), slices = choose_slices(m, images);
	double slabs = fmax(m->grid.n[0], m->grid.n[1]) / slices + 1;
	double window = 2 * m->tof.half / voxel / slices + 1;

	if (m->tof.measure != RAY_LENGTH && window < slabs) slabs = window;
	return (int64_t)(1.4 * slabs * (double)n / RAY_PACKET) + SPARE;
}

/* Of them, those that are whole packets need no slots: hardly ever fewer than two in five. */
#define PARTS .6

/* Room for at least so many entries and parts; what there is already is kept if it has that many. */
static int make_room(struct ray_finder *f, int64_t entries, int64_t parts)
{
	struct iso_room *room = f->room;
	cub::DoubleBuffer<unsigned> none(NULL, NULL);
	size_t sort = 0, scan = 0;

	if (parts > f->parts) {
		iso_room_drop(room, f->part.base);
		iso_room_drop(room, f->part.off);
		ISO_DEVICE(room, f->part.base, parts);
		ISO_DEVICE(room, f->part.off, parts * RAY_PACKET);
		f->parts = parts;
	}
	if (!f->used) ISO_DEVICE(room, f->used, 2);
	if (entries <= f->entries) return room->status;
	if (entries >= INT32_MAX)
		return iso_fail(ISO_ENOMEM,
		                "CUDA: %" PRId64
		                " chunks of rays, fewer than %d are possible; take more subsets",
		                entries, INT32_MAX);
	cub::DeviceRadixSort::SortPairs(NULL, sort, none, none, entries);
	cub::DeviceScan::ExclusiveSum(NULL, scan, (unsigned *)NULL, (unsigned *)NULL, entries + 1);
	for (int i = 0; i < 2; i++) {
		iso_room_drop(room, f->key[i]);
		iso_room_drop(room, f->id[i]);
		ISO_DEVICE(room, f->key[i], entries + 1);
		ISO_DEVICE(room, f->id[i], entries + 1);
	}
	iso_room_drop(room, f->temp);
	f->temp_bytes = (int64_t)(sort > scan ? sort : scan);
	f->temp = iso_room_device(room, f->temp_bytes, 1);
	f->entries = entries;
	return room->status;
}

static int search_once(struct search *s, struct ray_finder *f, iso_ctx *ctx, int64_t used[2])
{
	int blocks = (s->wall.bricks * s->parts + WARPS - 1) / WARPS;
	cudaError_t e = cudaMemsetAsync(f->used, 0, 2 * sizeof *f->used, iso_stream(ctx));
	int st;

	if (e != cudaSuccess) return iso_cuda_check("clear", e);
	s->store = { f->key[0], f->id[0], f->part, f->entries, f->parts, (unsigned long long *)f->used };
	if (s->wall.slices == RAY_SLICES_THIN)
		find<RAY_SLICES_THIN><<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(*s);
	else
		find<RAY_SLICES_THICK><<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(*s);
	if ((st = iso_cuda_launched("rays of bricks"))) return st;
	return ctx->vec->download(ctx, used, f->used, 2 * sizeof *used);
}

/* The search, again where there was too little room; used: entries, parts. */
static int search_all(struct search *s, struct ray_finder *f, iso_ctx *ctx, int64_t chunks, int64_t used[2])
{
	int st;

	if ((st = make_room(f, chunks, (int64_t)(PARTS * (double)chunks)))) return st;
	if ((st = search_once(s, f, ctx, used))) return st;
	if (used[0] <= f->entries && used[1] <= f->parts) return ISO_OK;
	if ((st = make_room(f, used[0] + used[0] / 16, used[1] + used[1] / 16))) return st;
	return search_once(s, f, ctx, used);
}

/* first[b] = where the chunks of brick b begin, also for bricks without any. */
static __global__ void find_borders(int *first, const unsigned *key, int64_t n, int bricks)
{
	ISO_GRID_LOOP (i, n + 1) {
		int before = i > 0 ? (int)key[i - 1] : -1, here = i < n ? (int)key[i] : bricks;

		for (int b = before + 1; b <= min(here, bricks); b++) first[b] = (int)i;
	}
}

/* Entries in order of bricks; first[b]: where those of brick b begin, first[bricks] the end of all that count. Leaves
   the other two arrays of the finder free. */
static int sort_chunks(unsigned **order, unsigned *spare[2], struct ray_finder *f, iso_ctx *ctx, int bricks,
                       int64_t n, int *first)
{
	cub::DoubleBuffer<unsigned> key(f->key[0], f->key[1]), id(f->id[0], f->id[1]);
	size_t bytes = (size_t)f->temp_bytes;
	int bits = 1;

	while (bits < 32 && ((int64_t)1 << bits) <= bricks) bits++;
	cudaError_t e = cub::DeviceRadixSort::SortPairs(f->temp, bytes, key, id, n, 0, bits, iso_stream(ctx));

	if (e != cudaSuccess) return iso_cuda_check("sort of chunks", e);
	*order = id.Current();
	spare[0] = id.Alternate();
	spare[1] = key.Alternate();
	find_borders<<<iso_blocks(n + 1), ISO_THREADS, 0, iso_stream(ctx)>>>(first, key.Current(), n, bricks);
	return iso_cuda_launched("chunks of bricks");
}

/* ---- what is kept ---- */

static __global__ void mark_parts(unsigned *is_part, const unsigned *order, int64_t n)
{
	ISO_GRID_LOOP (i, n + 1) is_part[i] = i < n && !(order[i] & RAY_MARK);
}

/* kept[i] = order[i], of a part its new number, which is `number` of it. */
static __global__ void gather(unsigned *kept, struct ray_parts to, const unsigned *order,
                              struct ray_parts from, const unsigned *number, struct iso_rows entries)
{
	int lane = threadIdx.x % ISO_WARP;

	ISO_WARP_LOOP (i, entries) {
		unsigned here = order[i], now = number[i];

		if (lane == 0) kept[i] = here & RAY_MARK ? here : now;
		if (here & RAY_MARK) continue;
		to.off[(size_t)now * RAY_PACKET + lane] = from.off[(size_t)here * RAY_PACKET + lane];
		if (lane == 0) to.base[now] = from.base[here];
	}
}

/* Entries and parts in the order of bricks, and no more of them than there are, in the room. */
static int keep_lists(struct ray_lists *l, struct ray_finder *f, unsigned *const spare[2], iso_ctx *ctx,
                      struct iso_room *room, int64_t n)
{
	struct iso_rows entries = { 0, n };
	size_t bytes = (size_t)f->temp_bytes;
	struct ray_parts part;
	unsigned *order, parts = 0;
	int st;

	mark_parts<<<iso_blocks(n + 1), ISO_THREADS, 0, iso_stream(ctx)>>>(spare[0], l->order, n);
	if ((st = iso_cuda_launched("parts of packets")) ||
	    (st = iso_cuda_check("numbers of parts",
	                         cub::DeviceScan::ExclusiveSum(f->temp, bytes, spare[0], spare[1], n + 1,
	                                                       iso_stream(ctx)))) ||
	    (st = ctx->vec->download(ctx, &parts, spare[1] + n, sizeof parts)))
		return st;
	ISO_DEVICE(room, order, n + 1);
	ISO_DEVICE(room, part.base, (int64_t)parts + 1);
	ISO_DEVICE(room, part.off, ((int64_t)parts + 1) * RAY_PACKET);
	if (room->status) return room->status;
	gather<<<iso_blocks(n * ISO_WARP), ISO_THREADS, 0, iso_stream(ctx)>>>(order, part, l->order, l->part,
	                                                                      spare[1], entries);
	l->order = order;
	l->part = part;
	return iso_cuda_launched("chunks that are kept");
}

/* ---- units of work ---- */

/* Room for n units: of the pack's own, or of the finder. */
static int make_units(struct ray_unit **unit, struct ray_finder *f, struct iso_room *keep, int64_t n)
{
	if (keep) {
		ISO_DEVICE(keep, *unit, n + 1);
		return keep->status;
	}
	if (n > f->units) {
		iso_room_drop(f->room, f->unit);
		ISO_DEVICE(f->room, f->unit, 2 * n);
		f->units = 2 * n;
	}
	*unit = f->unit;
	return f->room->status;
}

/* Bricks with many chunks are shared by several units. */
static int deal_units(struct ray_lists *l, struct ray_finder *f, iso_ctx *ctx, struct iso_room *keep,
                      const int *first)
{
	int multiprocessors = 1, bricks = l->wall.bricks, n = 0, st;

	cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ctx->cuda_device);
	int most = first[bricks] / (multiprocessors * UNITS);

	most = most > FEWEST ? most : FEWEST;
	for (int b = 0; b < bricks; b++) n += (first[b + 1] - first[b] + most - 1) / most;
	struct iso_room room = iso_room_of(ctx, "ray"); /* for a while */
	struct ray_unit *unit;

	if (!ISO_HOST(&room, unit, n)) return room.status;
	l->units = 0;
	for (int b = 0; b < bricks; b++)
		for (int i = first[b]; i < first[b + 1]; i += most)
			unit[l->units++] = { b, i, first[b + 1] - i < most ? first[b + 1] - i : most };
	if (!(st = make_units(&l->unit, f, keep, n)))
		st = ctx->vec->upload(ctx, l->unit, unit, n * (int64_t)sizeof *unit);
	iso_room_free(&room);
	return st;
}

/* Lists of the entries and parts that were found: `used`. */
static int make_lists(struct ray_lists *l, struct ray_finder *f, iso_ctx *ctx, struct iso_room *keep,
                      const int64_t used[2])
{
	int bricks = l->wall.bricks + 1, *host, *device, st;
	struct iso_room room = iso_room_of(ctx, "ray");
	unsigned *order = NULL, *spare[2] = { NULL, NULL };

	ISO_HOST(&room, host, bricks);
	ISO_DEVICE(&room, device, bricks);
	if (!(st = room.status) &&
	    !(st = sort_chunks(&order, spare, f, ctx, l->wall.bricks, used[0], device)) &&
	    !(st = ctx->vec->download(ctx, host, device, bricks * (int64_t)sizeof *host))) {
		l->order = order;
		l->part = f->part;
		l->entries = host[l->wall.bricks];
		l->parts = used[1];
		if (keep) st = keep_lists(l, f, spare, ctx, keep, l->entries);
		if (!st) st = deal_units(l, f, ctx, keep, host);
	}
	iso_room_free(&room);
	return st;
}

/* Warps for a brick: enough to fill the card, while each has joint hulls for all its lanes. */
static int share(const struct ray_wall *w)
{
	int parts = MOST_WARPS / w->bricks, most = 1;

	for (int i = 0; i < w->n; i++) {
		int useful = w->b[i].packets / (RAY_PACKET * ISO_WARP);

		most = useful > most ? useful : most;
	}
	return parts < 1 ? 1 : parts < most ? parts : most;
}

/* Hulls of 32 packets each, of all bundles. */
static int join(struct search *s, struct ray_hull **joint, iso_ctx *ctx)
{
	int n = 0, st;

	for (int i = 0; i < s->wall.n; i++) {
		s->joint_of[s->wall.b[i].axis] = n;
		n += (s->wall.b[i].packets + RAY_PACKET - 1) / RAY_PACKET;
	}
	if ((st = ctx->vec->alloc(ctx, (void **)joint, (n + 1) * (int64_t)sizeof **joint))) return st;
	for (int i = 0; i < s->wall.n; i++) {
		const struct ray_bricks *g = s->wall.b + i;

		join_hulls<<<iso_blocks(g->packets), ISO_THREADS, 0, iso_stream(ctx)>>>(
			*joint + s->joint_of[g->axis], s->hull, g->packet, g->packets);
	}
	s->joint = *joint;
	return iso_cuda_launched("joint hulls");
}

int iso_ray_lists_fill(struct ray_pack *p, struct ray_finder *f, iso_ctx *ctx, const struct ray_model *m,
                       int images, struct iso_room *keep)
{
	struct ray_lists *l = &p->lists;
	struct ray_hull *joint = NULL;
	struct search s = ISO_ZERO;
	int64_t used[2] = { 0, 0 };
	int st;

	s.wall = cut_grid(ctx, m, p, images);
	s.line = p->line;
	s.hull = f->hull;
	s.wider = m->projector == ISO_JOSEPH ? MARGIN : 0;
	*l = ISO_ZERO;
	l->wall = s.wall;
	if (s.wall.bricks == 0) return ISO_OK; /* all rays miss */
	s.parts = share(&s.wall);
	st = join(&s, &joint, ctx);
	if (!st) st = search_all(&s, f, ctx, guess(m, images, p->rows.n * p->lines), used);
	if (!st) st = make_lists(l, f, ctx, keep, used);
	cudaFree(joint);
	return st;
}
