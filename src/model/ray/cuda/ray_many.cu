/* SPDX-License-Identifier: BSD-3-Clause */
/* EM steps of several images in one pass over the rays: a ray is cut, clipped and weighed once, for RAY_GROUP images.

   Bricks hold a vector of RAY_GROUP values for each voxel, and as many sums, so they have fewer voxels than those of one image,
   and lists of rays of their own. They are the same for any number of images: a group that is not full has images of 0.
   So the bits of an image depend neither on its group nor on its place there. */
#include "ray_many.cuh"
#include "ray_respond.cuh"
#include "ray_walk.cuh"

#include <stdlib.h>

#define THREADS 1024
#define WARPS (THREADS / ISO_WARP)
#define RESPOND_BLOCKS 2048
#define COUNT_BLOCKS 256 /* their partial sums are added in order */

/* Of a brick along the main axis: thin ones are wide, and more packets lie wholly in one of them. */
enum { K = RAY_GROUP_SLICES };

/* The images that share a pass, first to last: those of a step, or fewer. */
struct group {
	int n;
	const iso_real *x[RAY_GROUP], *y[RAY_GROUP];
	iso_real *acc[RAY_GROUP];
	struct iso_em_stat *stat[RAY_GROUP];
	struct em_scales scale[RAY_GROUP];
	double unit[RAY_GROUP]; /* of the sums of the image */
};

struct ray_group {
	iso_ctx *ctx;
	const struct ray_model *m;
	struct iso_room room;
	int packs;
	struct ray_pack *pack; /* as the operator has them, but for the lists */
	int64_t voxels, slots; /* slots: of the longest pack */
	/* on the device, RAY_GROUP of each, side by side in vectors, or one behind the other */
	float4 *x, *send;          /* a voxel, times its power of two; a slot */
	unsigned long long *sum;   /* slots of image 0, ... */
	struct iso_fixed_cuda acc; /* voxels of image 0, ...; each image has a scale of its own */
	float *limit;              /* greatest value of an image */
	struct em_tally *tally;
	int *queue;                /* next unit of work: forward, back */
	struct row_counts *counts; /* COUNT_BLOCKS of each image */
};

/* What is known of the counts of some rows. */
struct row_counts {
	double sum;
	float most;
};

/* ---- along a ray ---- */

static __device__ void add_times(float4 *sum, float w, float4 v)
{
	sum->x = fmaf(w, v.x, sum->x);
	sum->y = fmaf(w, v.y, sum->y);
	sum->z = fmaf(w, v.z, sum->z);
	sum->w = fmaf(w, v.w, sum->w);
}

/* The vector of the voxel whose word is `at` bytes from the first. */
static __device__ float4 vector_at(const float4 *x, int at)
{
	return *at_byte(x, at * RAY_GROUP);
}

template <enum ray_rule RULE>
static __device__ float4 sum_along(const struct ray_line *l, const brick<K> *u, const struct rule_data *r,
                                   enum ray_crossing how, const float4 *x)
{
	walk<K> w(l, u, how);
	measure<RULE> weight(l, u->cell.k0, w.t, r);
	float4 sum = make_float4(0, 0, 0, 0);

	while (w.t < w.end) {
		float f = w.face();

		add_times(&sum, weight(w.t, f), vector_at(x, w.at));
		w.cross(f);
	}
	return sum;
}

template <enum ray_rule RULE>
static __device__ float4 sum_samples(josephs<K> j, const struct rule_data *r, const float4 *x)
{
	measure<RULE> weight(&j.l, j.u->cell.k0, j.from(), r);
	int at, up = j.u->nb * 4;
	float4 sum = make_float4(0, 0, 0, 0);
	float b, c;

	for (; j.k < j.end; j.k += 1) {
		float w = weight(j.from(), j.to());

		if (!j.sample(&at, &b, &c)) continue;
		add_times(&sum, w * (1 - b) * (1 - c), vector_at(x, at));
		add_times(&sum, w * b * (1 - c), vector_at(x, at + 4));
		add_times(&sum, w * (1 - b) * c, vector_at(x, at + up));
		add_times(&sum, w * b * c, vector_at(x, at + up + 4));
	}
	return sum;
}

/* *to += term, without a branch, and nothing of a term of 0: the additions of a visit are all on their way before one comes
   back. */
static __device__ unsigned add_shared(unsigned *to, unsigned term)
{
	unsigned old;

	asm volatile("{ .reg .pred some; setp.ne.u32 some, %2, 0; mov.u32 %0, 0;\n"
	             "@some atom.shared.add.u32 %0, [%1], %2; }"
	             : "=&r"(old)
	             : "r"((unsigned)__cvta_generic_to_shared(to)), "r"(term)
	             : "memory");
	return old;
}

/* mask, one bit up, and below it whether a sum went over its 32 bits. */
static __device__ unsigned with_carry(unsigned mask, unsigned old, unsigned term)
{
	asm("{ .reg .u32 sum; add.cc.u32 sum, %1, %2; addc.u32 %0, %0, %0; }"
	    : "+r"(mask)
	    : "r"(old), "r"(term));
	return mask;
}

/* Adds to a brick, which holds the low 32 bits of its sums, image after image; what overflows goes to the images at once. A
   term below a half is 0, as are those of an image that sends nothing. */
struct terms {
	const brick<K> *u;
	unsigned *low;
	int words; /* from image to image */
	unsigned long long *acc;
	int64_t voxels;
	float4 send;

	__device__ void operator()(int at, float w, float4 x) const
	{
		unsigned *to = at_byte(low, at), old[RAY_GROUP], term[RAY_GROUP] = {
			__float2uint_rn(w * send.x * x.x),
			__float2uint_rn(w * send.y * x.y),
			__float2uint_rn(w * send.z * x.z),
			__float2uint_rn(w * send.w * x.w),
		}, over = 0;

#pragma unroll
		for (int e = 0; e < RAY_GROUP; e++) old[e] = add_shared(to + e * words, term[e]);
#pragma unroll
		for (int e = RAY_GROUP - 1; e >= 0; e--) over = with_carry(over, old[e], term[e]);
		for (; over; over &= over - 1)
			add_beyond(u, at, 1ull << 32, acc + (__ffs((int)over) - 1) * voxels);
	}
};

template <enum ray_rule RULE>
static __device__ void add_along(const struct ray_line *l, const brick<K> *u, const struct rule_data *r,
                                 enum ray_crossing how, const float4 *x, struct terms add)
{
	walk<K> w(l, u, how);
	measure<RULE> weight(l, u->cell.k0, w.t, r);

	while (w.t < w.end) {
		float f = w.face();

		add(w.at, weight(w.t, f), vector_at(x, w.at));
		w.cross(f);
	}
}

template <enum ray_rule RULE>
static __device__ void add_samples(josephs<K> j, const struct rule_data *r, const float4 *x, struct terms add)
{
	measure<RULE> weight(&j.l, j.u->cell.k0, j.from(), r);
	int at, up = j.u->nb * 4;
	float b, c;

	for (; j.k < j.end; j.k += 1) {
		float w = weight(j.from(), j.to());

		if (!j.sample(&at, &b, &c)) continue;
		add(at, w * (1 - b) * (1 - c), vector_at(x, at));
		add(at + 4, w * b * (1 - c), vector_at(x, at + 4));
		add(at + up, w * (1 - b) * c, vector_at(x, at + up));
		add(at + up + 4, w * b * c, vector_at(x, at + up + 4));
	}
}

/* ---- a pass ---- */

struct pass {
	struct ray_lists l;
	const struct ray_line *line;
	const struct ray_reach *reach;
	const float4 *x, *send;
	unsigned long long *sum, *acc;
	int64_t slots, voxels; /* of sum, acc from image to image */
	int *queue;
	float scale; /* of sums */
	struct rule_data rule;
};

enum way { FORWARD, BACK };

static __device__ void leave_sum(const struct pass *p, int image, unsigned slot, float sum)
{
	if (sum != 0)
		atomicAdd(p->sum + image * p->slots + slot,
		          (unsigned long long)__float2ll_rn(sum * p->scale));
}

template <enum ray_rule RULE, bool JOSEPH>
static __device__ void follow_forward(const struct pass *p, const struct rule_data *rule, const brick<K> *u,
                                      const struct listed *r, const float4 *x)
{
	float4 sum;

	if (JOSEPH) {
		josephs<K> j(&r->line, p->reach + r->slot, u, r->how);

		sum = sum_samples<RULE>(j, rule, x);
	} else {
		sum = sum_along<RULE>(&r->line, u, rule, r->how, x);
	}
	if (r->how == RAY_ABSENT) return;
	leave_sum(p, 0, r->slot, sum.x);
	leave_sum(p, 1, r->slot, sum.y);
	leave_sum(p, 2, r->slot, sum.z);
	leave_sum(p, 3, r->slot, sum.w);
}

template <enum ray_rule RULE, bool JOSEPH>
static __device__ void follow_back(const struct pass *p, const struct rule_data *rule, const brick<K> *u,
                                   const struct listed *r, const float4 *x, unsigned *low)
{
	float4 send = p->send[r->slot];
	struct terms add = { u, low, p->l.wall.words, p->acc, p->voxels, send };

	if (r->how == RAY_ABSENT || (send.x == 0 && send.y == 0 && send.z == 0 && send.w == 0)) return;
	if (JOSEPH) {
		josephs<K> j(&r->line, p->reach + r->slot, u, r->how);

		add_samples<RULE>(j, rule, x, add);
	} else {
		add_along<RULE>(&r->line, u, rule, r->how, x, add);
	}
}

/* Sums of the brick, image after image, to those of the grid. */
static __device__ void leave_brick(const struct pass *p, const brick<K> *u, const unsigned *low)
{
	u->each([&](int i, long long voxel) {
		if (voxel < 0) return;
		for (int e = 0; e < RAY_GROUP; e++) {
			unsigned long long sum = low[e * p->l.wall.words + i];

			if (sum) atomicAdd(p->acc + e * p->voxels + voxel, sum);
		}
	});
}

template <enum ray_rule RULE, bool JOSEPH, enum way WAY>
static __device__ void do_unit(const struct pass *p, const struct rule_data *rule, struct ray_unit unit,
                               float4 *x, unsigned *low)
{
	/* without TOF the rays of a chunk are so near to each other that their additions would wait for each other */
	const bool apart = WAY == BACK && RULE == RAY_RULE_LENGTH;
	brick<K> u(&p->l.wall, unit.brick);
	int warp = threadIdx.x / ISO_WARP, words = p->l.wall.words;

	u.each([&](int i, long long voxel) {
		x[i] = voxel < 0 ? make_float4(0, 0, 0, 0) : p->x[voxel];
		for (int e = 0; WAY == BACK && e < RAY_GROUP; e++) low[e * words + i] = 0;
	});
	__syncthreads();
	/* while one ray is followed, the next one and the number after it are on their way */
	struct listed here = fetch(p, listed_at<apart>(&p->l, unit, warp));
	unsigned soon = listed_at<apart>(&p->l, unit, warp + WARPS);

	for (int i = warp; i < unit.n; i += WARPS) {
		struct listed next = fetch(p, soon);

		soon = listed_at<apart>(&p->l, unit, i + 2 * WARPS);
		if (WAY == FORWARD)
			follow_forward<RULE, JOSEPH>(p, rule, &u, &here, x);
		else
			follow_back<RULE, JOSEPH>(p, rule, &u, &here, x, low);
		__syncwarp(); /* lanes leave their rays at different times */
		here = next;
	}
	__syncthreads();
	if (WAY == BACK) leave_brick(p, &u, low);
}

template <enum ray_rule RULE, bool JOSEPH, enum way WAY>
static __global__ void __launch_bounds__(THREADS, 1) run(struct pass p)
{
	extern __shared__ float4 shared[];
	float4 *x = shared + (RULE == RAY_RULE_BIN ? p.rule.bins.cells : 0);
	__shared__ int next;

	struct rule_data rule = p.rule;

	if (RULE == RAY_RULE_BIN) {
		for (int i = threadIdx.x; i < rule.bins.cells; i += THREADS) shared[i] = rule.bins.cell[i];
		rule.bins.cell = shared;
	}
	for (;;) {
		__syncthreads(); /* the brick before is read to its end */
		if (threadIdx.x == 0) next = atomicAdd(p.queue, 1);
		__syncthreads();
		if (next >= p.l.units) return;
		do_unit<RULE, JOSEPH, WAY>(&p, &rule, p.l.unit[next], x, (unsigned *)(x + p.l.wall.words));
	}
}

/* ---- launching ---- */

template <enum ray_rule RULE, bool JOSEPH, enum way WAY> static int launch(const struct pass *p, iso_ctx *ctx)
{
	auto kernel = run<RULE, JOSEPH, WAY>;
	int bytes = p->l.wall.words * RAY_GROUP * (WAY == FORWARD ? 4 : 8) +
	            p->rule.bins.cells * (int)sizeof(float4),
	    blocks = 0;
	cudaError_t e;

	if (p->l.units == 0) return ISO_OK;
	if ((e = cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, ctx->cuda_device)) ||
	    (e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) ||
	    (e = cudaMemsetAsync(p->queue, 0, sizeof *p->queue, iso_stream(ctx))))
		return iso_cuda_check("bricks of several images", e);
	kernel<<<blocks, THREADS, bytes, iso_stream(ctx)>>>(*p);
	return iso_cuda_launched(WAY == FORWARD ? "ray forward, several images" : "ray back, several images");
}

template <enum ray_rule RULE, enum way WAY> static int by_projector(const struct pass *p, iso_ctx *ctx)
{
	return p->reach ? launch<RULE, true, WAY>(p, ctx) : launch<RULE, false, WAY>(p, ctx);
}

template <enum way WAY> static int by_rule(const struct pass *p, iso_ctx *ctx, enum ray_rule rule)
{
	switch (rule) {
	case RAY_RULE_LENGTH:
		return by_projector<RAY_RULE_LENGTH, WAY>(p, ctx);
	case RAY_RULE_MIDDLE:
		return by_projector<RAY_RULE_MIDDLE, WAY>(p, ctx);
	case RAY_RULE_ERF:
		return by_projector<RAY_RULE_ERF, WAY>(p, ctx);
	default:
		return by_projector<RAY_RULE_BIN, WAY>(p, ctx);
	}
}

static struct pass pass_of(const struct ray_group *g, const struct ray_pack *p)
{
	struct pass s = ISO_ZERO;

	s.l = p->lists;
	s.line = p->line;
	s.reach = g->m->projector == ISO_JOSEPH ? p->reach : NULL;
	s.x = g->x;
	s.send = g->send;
	s.sum = g->sum;
	s.acc = g->acc.v;
	s.slots = g->slots;
	s.voxels = g->voxels;
	s.scale = (float)iso_ray_brick_scale(&g->m->grid);
	s.rule = { g->m->tof.cut, p->bins };
	return s;
}

static int forward(const struct ray_group *g, const struct ray_pack *p)
{
	struct pass s = pass_of(g, p);
	cudaError_t e = cudaMemsetAsync(g->sum, 0, (size_t)(RAY_GROUP * g->slots) * sizeof *g->sum,
	                                iso_stream(g->ctx));

	if (e != cudaSuccess) return iso_cuda_check("clear", e);
	s.queue = g->queue;
	return by_rule<FORWARD>(&s, g->ctx, p->rule);
}

static int back(const struct ray_group *g, const struct ray_pack *p)
{
	struct pass s = pass_of(g, p);

	s.queue = g->queue + 1;
	return by_rule<BACK>(&s, g->ctx, p->rule);
}

/* ---- images, and what rows send back ---- */

/* Images side by side, each times its power of two. */
static __global__ void interleave(float4 *to, int64_t n, struct group images, const float *limit)
{
	ISO_GRID_LOOP (i, n) {
		float v[RAY_GROUP];

		for (int e = 0; e < RAY_GROUP; e++)
			v[e] = e < images.n ? images.x[e][i] * ray_brick_up(limit[e]) : 0;
		to[i] = make_float4(v[0], v[1], v[2], v[3]);
	}
}

/* A row of a pack, for all images of a group. */
struct row {
	int64_t number;
	double mult, add;

	__device__ row(const struct iso_em_data *d, int64_t n)
	    : number(n), mult(d->mult ? d->mult[n] : 1), add(d->add ? d->add[n] : 0)
	{
	}

	/* em_respond without the logarithm. */
	__device__ double respond(struct em_tally *t, struct em_scales scale, const iso_real *y,
	                          double ax) const
	{
		double count = y[number], q = ax + add;
		bool used = mult > 0 && q > 0;
		struct iso_em_stat s = ISO_ZERO;

		s.used = used;
		s.skipped = !used;
		s.lost = used ? 0 : count;
		s.counts = used && ax > 0 ? count : 0;
		em_tally_row(t, scale, &s);
		return used && ax > 0 ? count / q : 0;
	}
};

/* Where a row's sums and answers of an image are, and their units. */
struct answer {
	const unsigned long long *sum;
	double unit, out;

	__device__ answer(const struct pass *p, const struct group *images, int e, double sum_scale,
	                  const float *limit)
	{
		double up = ray_brick_up(limit[e]);

		sum = p->sum + e * p->slots;
		unit = 1 / (sum_scale * up);
		out = images->unit[e] / up;
	}
};

static __device__ void leave_tallies(struct em_tally *all, const struct em_tally mine[RAY_GROUP], int n)
{
#pragma unroll
	for (int e = 0; e < RAY_GROUP; e++)
		if (e < n) em_leave_tally(all + e, mine + e);
}

/* One ray a row, in the order of slots. */
static __global__ void answer_slots(struct ray_pack p, struct pass w, float4 *to, double sum_scale,
                                    struct iso_em_data d, struct group images, const float *limit,
                                    struct em_tally *all)
{
	struct em_tally tally[RAY_GROUP] = ISO_ZERO;

	ISO_GRID_LOOP (i, p.slots) {
		if (p.ray[i] == RAY_NO_RAY) continue;
		struct row row(&d, p.rows.first + p.ray[i]);
		float send[RAY_GROUP] = ISO_ZERO, factor = p.factor[i];

#pragma unroll
		for (int e = 0; e < RAY_GROUP; e++) {
			if (e >= images.n) continue;
			struct answer a(&w, &images, e, sum_scale, limit);
			double ax = (double)(long long)a.sum[i] * a.unit * factor;

			send[e] = (float)(row.respond(tally + e, images.scale[e], images.y[e], ax) * factor *
			                  a.out);
		}
		to[i] = make_float4(send[0], send[1], send[2], send[3]);
	}
	leave_tallies(all, tally, images.n);
}

/* Several rays a row, in the order of rows. */
static __global__ void answer_lines(struct ray_pack p, struct pass w, float4 *to, double sum_scale,
                                    struct iso_em_data d, struct group images, const float *limit,
                                    struct em_tally *all)
{
	struct em_tally tally[RAY_GROUP] = ISO_ZERO;

	ISO_GRID_LOOP (r, p.rows.n) {
		struct row row(&d, p.rows.first + r);
		double send[RAY_GROUP] = ISO_ZERO;

#pragma unroll
		for (int e = 0; e < RAY_GROUP; e++) {
			if (e >= images.n) continue;
			struct answer a(&w, &images, e, sum_scale, limit);
			double ax = mean_of_lines(&p, a.sum, r, a.unit);

			send[e] = row.respond(tally + e, images.scale[e], images.y[e], ax) * a.out / p.lines;
		}
		for (int64_t i = r * p.lines; i < (r + 1) * p.lines; i++) {
			unsigned slot = p.slot[i];
			double factor = p.factor[slot];

			to[slot] = make_float4((float)(send[0] * factor), (float)(send[1] * factor),
			                       (float)(send[2] * factor), (float)(send[3] * factor));
		}
	}
	leave_tallies(all, tally, images.n);
}

static int respond(const struct ray_group *g, const struct ray_pack *p, const struct group *images,
                   const struct iso_em_data *d)
{
	auto kernel = p->lines == 1 ? answer_slots : answer_lines;

	kernel<<<RESPOND_BLOCKS, ISO_THREADS, 0, iso_stream(g->ctx)>>>(*p, pass_of(g, p), g->send,
	                                                               iso_ray_brick_scale(&g->m->grid), *d,
	                                                               *images, g->limit, g->tally);
	return iso_cuda_launched("ray response, several images");
}

/* ---- a group ---- */

static int limit_of(float *limit, iso_ctx *ctx, int64_t n, const iso_real *v)
{
	struct ray_brick_work w = ISO_ZERO;

	w.limit = limit;
	return iso_ray_brick_limit(&w, ctx, n, v);
}

/* Sums and tallies are 0; the images side by side. */
static int begin(struct ray_group *g, const struct group *images)
{
	cudaStream_t stream = iso_stream(g->ctx);
	int st = iso_cuda_check("clear",
	                        cudaMemsetAsync(g->acc.v, 0, (size_t)g->acc.n * sizeof *g->acc.v, stream));

	if (!st)
		st = iso_cuda_check("clear",
		                    cudaMemsetAsync(g->tally, 0, RAY_GROUP * sizeof *g->tally, stream));
	for (int e = 0; e < images->n && !st; e++)
		st = limit_of(g->limit + e, g->ctx, g->voxels, images->x[e]);
	if (st) return st;
	interleave<<<iso_blocks(g->voxels), ISO_THREADS, 0, stream>>>(g->x, g->voxels, *images, g->limit);
	return iso_cuda_launched("images side by side");
}

/* The sums of this rank to those of all, and to the images. */
static int end(struct ray_group *g, const struct group *images, int st)
{
	struct em_tally tally[RAY_GROUP];
	int64_t words = images->n * (int64_t)(sizeof *tally / sizeof(int64_t));
	struct iso_fixed_cuda acc = { images->n * g->voxels, g->acc.v, 1 };

	if ((st = iso_fixed_sum(&acc, g->ctx, st)) ||
	    (st = iso_comm_sum_device(g->ctx, st, (int64_t *)g->tally, words)))
		return st;
	for (int e = 0; e < images->n && !st; e++) {
		acc = { g->voxels, g->acc.v + e * g->voxels, images->unit[e] };
		st = iso_fixed_end(images->acc[e], &acc, g->ctx);
	}
	if (!st) st = g->ctx->vec->download(g->ctx, tally, g->tally, images->n * (int64_t)sizeof *tally);
	for (int e = 0; e < images->n && !st; e++)
		*images->stat[e] = em_tally_stat(tally + e, images->scale[e]);
	return st;
}

static int step_of_group(struct ray_group *g, const struct ray_packs *packs, int sub, int n_sub,
                         const struct group *images, const struct iso_em_data *d)
{
	int first = packs->first[sub == ISO_ALL ? 0 : sub];
	int last = packs->first[sub == ISO_ALL ? n_sub : sub + 1], st = begin(g, images);

	for (int k = first; k < last && !st; k++) {
		const struct ray_pack *p = g->pack + k;

		if (!(st = forward(g, p)) && !(st = respond(g, p, images, d))) st = back(g, p);
	}
	return end(g, images, st);
}

/* ---- work space ---- */

void iso_ray_group_free(struct ray_group *g)
{
	if (!g) return;
	iso_room_free(&g->room);
	free(g);
}

/* Lists of a pack for bricks of several images. */
static int find_rays(struct ray_group *g, struct ray_finder *f, struct ray_pack *p)
{
	int st = iso_ray_pack_hulls(p, f->hull, g->ctx);

	return st ? st : iso_ray_lists_fill(p, f, g->ctx, g->m, RAY_GROUP, &g->room);
}

static int find_all(struct ray_group *g)
{
	struct iso_room room = iso_room_of(g->ctx, "rays of bricks of several images"); /* for a while */
	struct ray_finder f = ISO_ZERO;
	int st;

	f.room = &room;
	ISO_DEVICE(&room, f.hull, g->slots / RAY_PACKET + 1);
	st = room.status;
	for (int k = 0; k < g->packs && !st; k++) st = find_rays(g, &f, g->pack + k);
	if (!st) st = iso_cuda_check("rays of bricks", cudaStreamSynchronize(iso_stream(g->ctx)));
	iso_room_free(&room);
	return st;
}

static int open(struct ray_group *g, const struct ray_pack *pack)
{
	if (!ISO_HOST(&g->room, g->pack, g->packs + 1)) return g->room.status;
	for (int k = 0; k < g->packs; k++) {
		g->pack[k] = pack[k];
		g->slots = pack[k].slots > g->slots ? pack[k].slots : g->slots;
	}
	ISO_DEVICE(&g->room, g->x, g->voxels);
	ISO_DEVICE(&g->room, g->send, g->slots + 1);
	ISO_DEVICE(&g->room, g->sum, RAY_GROUP * g->slots + 1);
	ISO_DEVICE(&g->room, g->limit, RAY_GROUP);
	ISO_DEVICE(&g->room, g->tally, RAY_GROUP);
	ISO_DEVICE(&g->room, g->queue, 2);
	ISO_DEVICE(&g->room, g->counts, RAY_GROUP * COUNT_BLOCKS);
	iso_fixed_open(&g->acc, &g->room, RAY_GROUP * g->voxels);
	return g->room.status ? g->room.status : find_all(g);
}

static int create(struct ray_group **out, const iso_op *op, const struct ray_model *m,
                  const struct ray_packs *packs)
{
	struct ray_group *g = (struct ray_group *)calloc(1, sizeof *g);
	int st;

	if (!g) return iso_fail_memory("ray", sizeof *g);
	g->ctx = op->ctx;
	g->m = m;
	g->room = iso_room_of(op->ctx, "ray, several images");
	g->voxels = ray_voxels(&m->grid);
	g->packs = packs->first[op->n_sub];
	if ((st = open(g, packs->pack)))
		iso_ray_group_free(g);
	else
		*out = g;
	return st;
}

/* ---- a step ---- */

/* One image a row of blocks, n values apart. */
static __global__ void count_rows(struct row_counts *part, struct iso_rows rows, const iso_real *y, int64_t n)
{
	double sum = 0;
	float most = 0;

	y += blockIdx.y * n + rows.first;
	ISO_GRID_LOOP (i, rows.n) {
		sum += y[i];
		most = fmaxf(most, y[i]);
	}
	sum = iso_block_sum(sum);
	most = __uint_as_float(iso_warp_max(__float_as_uint(most)));
	__shared__ unsigned all;

	if (threadIdx.x == 0) all = 0;
	__syncthreads();
	if (threadIdx.x % ISO_WARP == 0) atomicMax(&all, __float_as_uint(most));
	__syncthreads();
	if (threadIdx.x == 0) part[blockIdx.y * COUNT_BLOCKS + blockIdx.x] = { sum, __uint_as_float(all) };
}

/* Of the rows of a step, of all ranks: of n images, at most RAY_GROUP. */
static int find_counts(struct ray_counts *c, struct ray_group *g, const iso_op *op, struct iso_rows rows,
                       const iso_real *y, int n)
{
	struct row_counts part[RAY_GROUP * COUNT_BLOCKS];

	count_rows<<<dim3(COUNT_BLOCKS, n), ISO_THREADS, 0, iso_stream(g->ctx)>>>(g->counts, rows, y,
	                                                                          op->n_out);
	int st = iso_cuda_launched("counts");

	if (!st)
		st = g->ctx->vec->download(g->ctx, part, g->counts, n * COUNT_BLOCKS * (int64_t)sizeof *part);
	for (int e = 0; e < n && !st; e++) {
		c[e] = { 0, 0, (double)rows.n };
		for (int i = 0; i < COUNT_BLOCKS; i++) {
			c[e].sum += part[e * COUNT_BLOCKS + i].sum;
			c[e].most = fmax(c[e].most, part[e * COUNT_BLOCKS + i].most);
		}
	}
	for (int e = 0; e < n; e++) st = iso_ray_counts(c + e, g->ctx, st);
	return st;
}

/* One more image; the bits of its terms follow from its own counts. */
static void join(struct group *to, const iso_op *op, const struct ray_images *all, int image,
                 const struct ray_counts *c)
{
	int e = to->n++;

	to->x[e] = all->x + image * op->n_in;
	to->y[e] = all->y + image * op->n_out;
	to->acc[e] = all->acc + image * op->n_in;
	to->stat[e] = all->stat + image;
	to->scale[e] = em_scales(c->sum);
	to->unit[e] = iso_ray_brick_unit(c->most);
}

/* A step of its own, of an image whose counts are too many for bricks. */
static int step_alone(const iso_op *op, int sub, const struct ray_images *all, int image)
{
	struct iso_em_data d = *all->data;

	d.y = all->y + image * op->n_out;
	return op->fn->em_step(op, sub, all->acc + image * op->n_in, all->x + image * op->n_in, &d,
	                       all->stat + image);
}

int iso_ray_group_step(struct ray_group **own, const iso_op *op, const struct ray_model *m,
                       const struct ray_packs *packs, int sub, const struct ray_images *all)
{
	struct iso_rows rows = iso_op_rows(op, sub);
	struct group images = ISO_ZERO;
	struct ray_counts c[RAY_GROUP];
	int st = iso_comm_agree(op->ctx, *own ? ISO_OK : create(own, op, m, packs));

	for (int k = 0; k < all->n && !st; k++) {
		int i = k % RAY_GROUP, left = all->n - k;

		if (i == 0)
			st = find_counts(c, *own, op, rows, all->y + k * op->n_out,
			                 left < RAY_GROUP ? left : RAY_GROUP);
		if (st) break;
		if (c[i].most > ISO_RAY_MOST_COUNT)
			st = step_alone(op, sub, all, k);
		else
			join(&images, op, all, k, c + i);
		if (!st && images.n > 0 && (images.n == RAY_GROUP || k == all->n - 1)) {
			st = step_of_group(*own, packs, sub, op->n_sub, &images, all->data);
			images.n = 0;
		}
	}
	return st;
}
