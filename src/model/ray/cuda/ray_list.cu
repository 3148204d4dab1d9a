/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rays cross which brick: found once, when rays are ordered, because neither changes. A warp
   takes a brick and some of the packets, and leaves the rays that cross it in chunks of 32, one a
   lane; a sort brings the chunks of each brick together. */
#include "ray_cell.cuh"

#include <cub/device/device_radix_sort.cuh>

#include <stdlib.h>

#define MARGIN .01f /* voxels: rounding of hulls */
#define RESERVE 8   /* chunks that a warp takes from the store at once */
#define SPARE 4096  /* chunks, for those that stay partly empty */
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

/* Where chunks go. */
struct store {
	unsigned *slot, *key; /* RAY_PACKET of slots a chunk, and its brick */
	int64_t room;         /* chunks; beyond, they are only counted */
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

/* A warp's chunks. */
struct writer {
	const struct store *s;
	unsigned brick, nothing; /* number of the brick, and of no brick */
	unsigned long long next, end;

	/* One slot a lane. */
	__device__ void put(unsigned slot)
	{
		int lane = threadIdx.x % ISO_WARP;

		if (next == end) {
			if (lane == 0) next = atomicAdd(s->used, RESERVE);
			next = __shfl_sync(ISO_FULL_WARP, next, 0);
			end = next + RESERVE;
		}
		if (next < (unsigned long long)s->room) {
			s->slot[next * RAY_PACKET + lane] = slot;
			if (lane == 0) s->key[next] = brick;
		}
		next++;
	}

	/* What was reserved and not used belongs to no brick. */
	__device__ void close()
	{
		unsigned long long i = next + threadIdx.x % ISO_WARP;

		if (i < end && i < (unsigned long long)s->room) s->key[i] = nothing;
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
		int i = __ffs(some) - 1;
		int slot = (u->g->packet + joint * RAY_PACKET + i) * RAY_PACKET + lane;

		if (inside >> i & 1) {
			w->put((unsigned)slot | RAY_MARK);
		} else {
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
	struct writer w = { &s.store, (unsigned)(unit / s.parts), (unsigned)s.wall.bricks, 0, 0 };
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
static int choose_slices(const struct ray_model *m)
{
	double voxel = fmax(m->grid.voxel[0], fmax(m->grid.voxel[1], m->grid.voxel[2]));

	return m->tof.measure != RAY_LENGTH && 2 * m->tof.half < 60 * voxel ? RAY_SLICES_THIN
	                                                                    : RAY_SLICES_THICK;
}

static struct ray_wall cut_grid(const iso_ctx *ctx, const struct ray_model *m, const struct ray_pack *p)
{
	struct ray_wall w = ISO_ZERO;
	int bytes = 0;

	cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx->cuda_device);
	/* values and sums of a brick, the table of bins, and a little else */
	w.words = (bytes - 1024 - iso_ray_bin_cells(&m->tof) * (int)sizeof(float4)) / 8;
	w.slices = choose_slices(m);
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
static int64_t guess(const struct ray_model *m, int64_t n)
{
	double voxel = fmin(m->grid.voxel[0], m->grid.voxel[1]), slices = choose_slices(m);
	double slabs = fmax(m->grid.n[0], m->grid.n[1]) / slices + 1;
	double window = 2 * m->tof.half / voxel / slices + 1;

	if (m->tof.measure != RAY_LENGTH && window < slabs) slabs = window;
	return (int64_t)(1.4 * slabs * (double)n / RAY_PACKET) + SPARE;
}

/* Not cleared: every chunk that is used is written first. */
static int take(void **p, int64_t bytes)
{
	return iso_cuda_check("memory for lists of rays", cudaMalloc(p, (size_t)bytes));
}

/* Memory for at least `chunks` chunks; what there is already is kept if it has that many. */
static int make_room(struct ray_lists *l, int64_t chunks)
{
	cub::DoubleBuffer<unsigned> none(NULL, NULL);
	int64_t bytes = chunks * (int64_t)sizeof(unsigned);
	size_t temp = 0;
	int st;

	if (chunks <= l->room) return ISO_OK;
	if (chunks > INT32_MAX)
		return iso_fail(
			ISO_ENOMEM,
			"CUDA: %" PRId64
			" chunks of rays, at most %d are possible; take more subsets, or smaller blocks",
			chunks, INT32_MAX);
	iso_ray_lists_free(l);
	cub::DeviceRadixSort::SortPairs(NULL, temp, none, none, chunks);
	l->temp_bytes = temp;
	if ((st = take((void **)&l->slot, bytes * RAY_PACKET)) || (st = take((void **)&l->key[0], bytes)) ||
	    (st = take((void **)&l->key[1], bytes)) || (st = take((void **)&l->id[0], bytes)) ||
	    (st = take((void **)&l->id[1], bytes)) || (st = take(&l->temp, (int64_t)temp)) ||
	    (st = take((void **)&l->used, sizeof *l->used)))
		return st;
	l->room = chunks;
	return ISO_OK;
}

int iso_ray_lists_create(struct ray_lists *l, const struct ray_model *m, int64_t n)
{
	return make_room(l, guess(m, n));
}

static int search_once(struct search *s, struct ray_lists *l, iso_ctx *ctx, int64_t *used)
{
	int blocks = (s->wall.bricks * s->parts + WARPS - 1) / WARPS;
	cudaError_t e = cudaMemsetAsync(l->used, 0, sizeof *l->used, iso_stream(ctx));
	struct store store = { l->slot, l->key[0], l->room, l->used };
	unsigned long long n = 0;
	int st;

	if (e != cudaSuccess) return iso_cuda_check("clear", e);
	s->store = store;
	if (s->wall.slices == RAY_SLICES_THIN)
		find<RAY_SLICES_THIN><<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(*s);
	else
		find<RAY_SLICES_THICK><<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(*s);
	if ((st = iso_cuda_launched("rays of bricks")) ||
	    (st = ctx->vec->download(ctx, &n, l->used, sizeof n)))
		return st;
	*used = (int64_t)n;
	return ISO_OK;
}

static __global__ void number(unsigned *id, int64_t n)
{
	ISO_GRID_LOOP (i, n) id[i] = (unsigned)i;
}

/* first[b] = where the chunks of brick b begin, also for bricks without any. */
static __global__ void find_borders(int *first, const unsigned *key, int64_t n, int bricks)
{
	ISO_GRID_LOOP (i, n + 1) {
		int before = i > 0 ? (int)key[i - 1] : -1, here = i < n ? (int)key[i] : bricks;

		for (int b = before + 1; b <= min(here, bricks); b++) first[b] = (int)i;
	}
}

static int sort_chunks(struct ray_lists *l, iso_ctx *ctx, int64_t n, int *first)
{
	cub::DoubleBuffer<unsigned> key(l->key[0], l->key[1]), id(l->id[0], l->id[1]);
	int bits = 1;

	while (bits < 32 && ((int64_t)1 << bits) <= l->wall.bricks) bits++;
	number<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(l->id[0], n);
	cudaError_t e =
		cub::DeviceRadixSort::SortPairs(l->temp, l->temp_bytes, key, id, n, 0, bits, iso_stream(ctx));

	if (e != cudaSuccess) return iso_cuda_check("sort of chunks", e);
	l->order = id.Current();
	find_borders<<<iso_blocks(n + 1), ISO_THREADS, 0, iso_stream(ctx)>>>(first, key.Current(), n,
	                                                                     l->wall.bricks);
	return iso_cuda_launched("chunks of bricks");
}

/* Bricks with many chunks are shared by several units. */
static int deal_units(struct ray_lists *l, iso_ctx *ctx, const int *first)
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
	cudaFree(l->unit);
	l->unit = NULL;
	st = ctx->vec->alloc(ctx, (void **)&l->unit, (n + 1) * (int64_t)sizeof *unit);
	if (!st) st = ctx->vec->upload(ctx, l->unit, unit, n * (int64_t)sizeof *unit);
	iso_room_free(&room);
	return st;
}

static int make_units(struct ray_lists *l, iso_ctx *ctx, int64_t n)
{
	int bricks = l->wall.bricks + 1, *host, *device, st;
	struct iso_room room = iso_room_of(ctx, "ray");

	ISO_HOST(&room, host, bricks);
	ISO_DEVICE(&room, device, bricks);
	if (!(st = room.status) && !(st = sort_chunks(l, ctx, n, device)) &&
	    !(st = ctx->vec->download(ctx, host, device, bricks * (int64_t)sizeof *host)))
		st = deal_units(l, ctx, host);
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

int iso_ray_lists_fill(struct ray_lists *l, iso_ctx *ctx, const struct ray_model *m, const struct ray_pack *p)
{
	struct ray_hull *joint = NULL;
	struct search s = ISO_ZERO;
	int64_t used = 0;
	int st;

	s.wall = cut_grid(ctx, m, p);
	s.line = p->line;
	s.hull = p->hull;
	s.wider = m->projector == ISO_JOSEPH ? MARGIN : 0;
	l->units = 0;
	l->wall = s.wall;
	if (s.wall.bricks == 0) return ISO_OK; /* all rays miss */
	s.parts = share(&s.wall);
	if ((st = join(&s, &joint, ctx))) goto done;
	if ((st = make_room(l, guess(m, p->rows.n * p->lines)))) goto done;
	if ((st = search_once(&s, l, ctx, &used))) goto done;
	if (used > l->room) {
		if ((st = make_room(l, used))) goto done;
		if ((st = search_once(&s, l, ctx, &used))) goto done;
	}
	l->wall = s.wall;
	st = make_units(l, ctx, used);
done:
	cudaFree(joint);
	return st;
}

void iso_ray_lists_free(struct ray_lists *l)
{
	cudaFree(l->slot);
	cudaFree(l->unit);
	cudaFree(l->temp);
	cudaFree(l->used);
	for (int i = 0; i < 2; i++) {
		cudaFree(l->key[i]);
		cudaFree(l->id[i]);
	}
	*l = ISO_ZERO;
}
