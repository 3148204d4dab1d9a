/* SPDX-License-Identifier: BSD-3-Clause */
/* The two passes of a step, of EM or of ratios, through bricks of voxels in shared memory.

   A unit of work is a brick and some of the rays that cross it. A block takes units from a queue:
   it loads the brick, and then each lane follows one ray through it, voxel by voxel. Forward, it
   ends with one addition to the ray's sum; back, it adds to the brick, which is added to the image
   at the end. Every addition between rays is one of integers, so the order of nothing matters: the
   same bits on every run. */
#include "ray_walk.cuh"

#define MOST_SUBSETS 4096 /* beyond, they are too small to be worth ordering */
#define THREADS 1024
#define WARPS (THREADS / ISO_WARP)

template <int K, enum ray_rule RULE>
static __device__ float sum_along(const struct ray_line *l, const brick<K> *u, const struct rule_data *r,
                                  enum ray_crossing how, const float *x)
{
	walk<K> w(l, u, how);
	measure<RULE> weight(l, u->cell.k0, w.t, r);
	float sum = 0;

	while (w.t < w.end) {
		float f = w.face();

		sum = fmaf(weight(w.t, f), *at_byte(x, w.at), sum);
		w.cross(f);
	}
	return sum;
}

/* Adds to a brick, which holds the low 32 bits of its sums; what overflows goes to the image at once. */
template <int K> struct positive_terms {
	const brick<K> *u;
	unsigned *low;
	unsigned long long *acc;

	__device__ void operator()(int at, float v) const
	{
		unsigned term = __float2uint_rn(v), old = atomicAdd(at_byte(low, at), term);

		if (old + term < old) add_beyond(u, at, 1ull << 32, acc);
	}
};

/* The same of terms of either sign: the low words are then signed themselves, so that a sum around 0 stays in them.
   A term of 2^31 units or more goes to the image. */
template <int K> struct signed_terms {
	const brick<K> *u;
	unsigned *low;
	unsigned long long *acc;
	const struct ray_brick_cut *cut;

	__device__ void operator()(int at, float v) const
	{
		if (!(fabsf(v) < 0x1p31f)) {
			large(at, v);
			return;
		}
		int term = __float2int_rn(v), old = (int)atomicAdd(at_byte(low, at), (unsigned)term);
		int sum = (int)((unsigned)old + (unsigned)term);

		if (((old ^ sum) & (term ^ sum)) < 0)
			add_beyond(u, at, term < 0 ? 0ull - (1ull << 32) : 1ull << 32, acc);
	}

	__device__ void large(int at, float v) const
	{
		int64_t count = 0;
		double term = ratio_cut(v, cut->limit, &count);

		add_beyond(u, at, (unsigned long long)__double2ll_rn(term), acc);
		if (count) atomicAdd((unsigned long long *)cut->count, 1ull);
	}
};

template <int K, enum ray_rule RULE, class TERMS>
static __device__ void add_along(const struct ray_line *l, const brick<K> *u, const struct rule_data *r,
                                 enum ray_crossing how, const float *x, float send, TERMS add)
{
	walk<K> w(l, u, how);
	measure<RULE> weight(l, u->cell.k0, w.t, r);

	while (w.t < w.end) {
		float f = w.face();

		add(w.at, weight(w.t, f) * send * *at_byte(x, w.at));
		w.cross(f);
	}
}

/* ---- the same by Joseph's samples ---- */

template <int K, enum ray_rule RULE>
static __device__ float sum_samples(josephs<K> j, const struct rule_data *r, const float *x)
{
	measure<RULE> weight(&j.l, j.u->cell.k0, j.from(), r);
	int at, up = j.u->nb * 4;
	float sum = 0, b, c;

	for (; j.k < j.end; j.k += 1) {
		float w = weight(j.from(), j.to());

		if (!j.sample(&at, &b, &c)) continue;
		float low = fmaf(b, *at_byte(x, at + 4) - *at_byte(x, at), *at_byte(x, at));
		float high = fmaf(b, *at_byte(x, at + up + 4) - *at_byte(x, at + up), *at_byte(x, at + up));

		sum = fmaf(w, fmaf(c, high - low, low), sum);
	}
	return sum;
}

template <int K, enum ray_rule RULE, class TERMS>
static __device__ void add_samples(josephs<K> j, const struct rule_data *r, const float *x, float send,
                                   TERMS add)
{
	measure<RULE> weight(&j.l, j.u->cell.k0, j.from(), r);
	int at, up = j.u->nb * 4;
	float b, c;

	for (; j.k < j.end; j.k += 1) {
		float w = weight(j.from(), j.to()) * send;

		if (!j.sample(&at, &b, &c)) continue;
		add(at, w * (1 - b) * (1 - c) * *at_byte(x, at));
		add(at + 4, w * b * (1 - c) * *at_byte(x, at + 4));
		add(at + up, w * (1 - b) * c * *at_byte(x, at + up));
		add(at + up + 4, w * b * c * *at_byte(x, at + up + 4));
	}
}

/* ---- a pass ---- */

struct pass {
	struct ray_lists l;
	const struct ray_line *line;
	const struct ray_reach *reach;
	const float *x, *limit, *send;
	unsigned long long *sum, *acc;
	int *queue;
	float scale; /* of sums */
	struct ray_brick_cut cut;
	struct rule_data rule;
};

/* BACK: what rays send is not negative. */
enum way { FORWARD, BACK, BACK_SIGNED };

template <int K, enum ray_rule RULE, bool JOSEPH, class TERMS>
static __device__ void follow_back(const struct pass *p, const struct rule_data *rule, const brick<K> *u,
                                   const struct listed *r, const float *x, TERMS add)
{
	float send = p->send[r->slot];

	if (JOSEPH) {
		josephs<K> j(&r->line, p->reach + r->slot, u, r->how);

		add_samples<K, RULE>(j, rule, x, send, add);
	} else {
		add_along<K, RULE>(&r->line, u, rule, r->how, x, send, add);
	}
}

template <int K, enum ray_rule RULE, bool JOSEPH>
static __device__ void follow_forward(const struct pass *p, const struct rule_data *rule, const brick<K> *u,
                                      const struct listed *r, const float *x)
{
	float sum = 0;

	if (JOSEPH) {
		josephs<K> j(&r->line, p->reach + r->slot, u, r->how);

		sum = sum_samples<K, RULE>(j, rule, x);
	} else {
		sum = sum_along<K, RULE>(&r->line, u, rule, r->how, x);
	}
	if (r->how != RAY_ABSENT)
		atomicAdd(p->sum + r->slot, (unsigned long long)__float2ll_rn(sum * p->scale));
}

template <int K, enum ray_rule RULE, bool JOSEPH, enum way WAY>
static __device__ void follow(const struct pass *p, const struct rule_data *rule, const brick<K> *u,
                              const struct listed *r, const float *x, unsigned *low)
{
	if (WAY == FORWARD)
		follow_forward<K, RULE, JOSEPH>(p, rule, u, r, x);
	else if (WAY == BACK)
		follow_back<K, RULE, JOSEPH>(p, rule, u, r, x, positive_terms<K>{ u, low, p->acc });
	else
		follow_back<K, RULE, JOSEPH>(p, rule, u, r, x, signed_terms<K>{ u, low, p->acc, &p->cut });
}

template <int K, enum ray_rule RULE, bool JOSEPH, enum way WAY>
static __device__ void do_unit(const struct pass *p, const struct rule_data *rule, struct ray_unit unit,
                               float *x, unsigned *low)
{
	brick<K> u(&p->l.wall, unit.brick);
	int warp = threadIdx.x / ISO_WARP;
	float up = ray_brick_up(*p->limit);

	u.each([&](int i, long long voxel) {
		x[i] = voxel < 0 ? 0 : p->x ? p->x[voxel] * up : 1;
		if (WAY != FORWARD) low[i] = 0;
	});
	__syncthreads();
	/* while one ray is followed, the next one and the number after it are on their way */
	struct listed here = fetch(p, listed_at(&p->l, unit, warp));
	unsigned soon = listed_at(&p->l, unit, warp + WARPS);

	for (int i = warp; i < unit.n; i += WARPS) {
		struct listed next = fetch(p, soon);

		soon = listed_at(&p->l, unit, i + 2 * WARPS);
		follow<K, RULE, JOSEPH, WAY>(p, rule, &u, &here, x, low);
		__syncwarp(); /* lanes leave their rays at different times */
		here = next;
	}
	__syncthreads();
	if (WAY != FORWARD)
		u.each([&](int i, long long voxel) {
			unsigned long long sum =
				WAY == BACK ? low[i] : (unsigned long long)(long long)(int)low[i];

			if (voxel >= 0 && sum) atomicAdd(p->acc + voxel, sum);
		});
}

template <int K, enum ray_rule RULE, bool JOSEPH, enum way WAY>
static __global__ void __launch_bounds__(THREADS, 1) run(struct pass p)
{
	extern __shared__ float4 shared[];
	float *memory = (float *)(shared + (RULE == RAY_RULE_BIN ? p.rule.bins.cells : 0));
	__shared__ int next;

	struct rule_data rule = p.rule;

	if (RULE == RAY_RULE_BIN) {
		for (int i = threadIdx.x; i < rule.bins.cells; i += THREADS) shared[i] = rule.bins.cell[i];
		rule.bins.cell = shared;
	}
	for (;;) {
		__syncthreads();
		if (threadIdx.x == 0) next = atomicAdd(p.queue, 1);
		__syncthreads();
		if (next >= p.l.units) return;
		do_unit<K, RULE, JOSEPH, WAY>(&p, &rule, p.l.unit[next], memory,
		                              (unsigned *)memory + p.l.wall.words);
	}
}

/* ---- launching ---- */

template <int K, enum ray_rule RULE, bool JOSEPH, enum way WAY>
static int launch(const struct pass *p, iso_ctx *ctx)
{
	auto kernel = run<K, RULE, JOSEPH, WAY>;
	int bytes = p->l.wall.words * (WAY == FORWARD ? 4 : 8) + p->rule.bins.cells * (int)sizeof(float4),
	    blocks = 0;
	cudaError_t e;

	if (p->l.units == 0) return ISO_OK;
	if ((e = cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, ctx->cuda_device)) ||
	    (e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) ||
	    (e = cudaMemsetAsync(p->queue, 0, sizeof *p->queue, iso_stream(ctx))))
		return iso_cuda_check("bricks", e);
	kernel<<<blocks, THREADS, bytes, iso_stream(ctx)>>>(*p);
	return iso_cuda_launched(WAY == FORWARD ? "ray forward" : "ray back");
}

template <int K, enum ray_rule RULE, enum way WAY> static int by_projector(const struct pass *p, iso_ctx *ctx)
{
	return p->reach ? launch<K, RULE, true, WAY>(p, ctx) : launch<K, RULE, false, WAY>(p, ctx);
}

template <int K, enum way WAY> static int by_rule(const struct pass *p, iso_ctx *ctx, enum ray_rule rule)
{
	switch (rule) {
	case RAY_RULE_LENGTH:
		return by_projector<K, RAY_RULE_LENGTH, WAY>(p, ctx);
	case RAY_RULE_MIDDLE:
		return by_projector<K, RAY_RULE_MIDDLE, WAY>(p, ctx);
	case RAY_RULE_ERF:
		return by_projector<K, RAY_RULE_ERF, WAY>(p, ctx);
	default:
		return by_projector<K, RAY_RULE_BIN, WAY>(p, ctx);
	}
}

template <enum way WAY> static int dispatch(const struct pass *p, iso_ctx *ctx, enum ray_rule rule)
{
	return p->l.wall.slices == RAY_SLICES_THIN ? by_rule<RAY_SLICES_THIN, WAY>(p, ctx, rule)
	                                           : by_rule<RAY_SLICES_THICK, WAY>(p, ctx, rule);
}

static struct pass pass_of(const struct ray_brick_work *w, const struct ray_model *m,
                           const struct ray_pack *p, const float *x)
{
	struct pass s = ISO_ZERO;

	s.l = p->lists;
	s.line = p->line;
	s.reach = m->projector == ISO_JOSEPH ? p->reach : NULL;
	s.x = x;
	s.limit = w->limit;
	s.send = w->send;
	s.sum = w->sum;
	s.scale = (float)iso_ray_brick_scale(&m->grid);
	s.rule = { m->tof.cut, p->bins };
	return s;
}

/* The bits of floats that are not negative are ordered as integers; those of NaN are above all. */
static __global__ void find_limit(unsigned *limit, int64_t n, const float *x)
{
	unsigned most = 0;

	ISO_GRID_LOOP (i, n) most = max(most, __float_as_uint(fabsf(x[i])));
	for (int step = ISO_WARP / 2; step > 0; step /= 2)
		most = max(most, __shfl_xor_sync(ISO_FULL_WARP, most, step));
	if (threadIdx.x % ISO_WARP == 0) atomicMax(limit, most);
}

static int limit_of(float *limit, iso_ctx *ctx, int64_t n, const float *x)
{
	cudaError_t e = cudaMemsetAsync(limit, 0, sizeof *limit, iso_stream(ctx));

	if (e != cudaSuccess) return iso_cuda_check("clear", e);
	find_limit<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>((unsigned *)limit, n, x);
	return iso_cuda_launched("greatest value");
}

int iso_ray_brick_limit(struct ray_brick_work *w, iso_ctx *ctx, int64_t n, const float *x)
{
	return limit_of(w->limit, ctx, n, x);
}

int iso_ray_brick_limit_u(struct ray_brick_work *w, iso_ctx *ctx, int64_t n, const float *u)
{
	return limit_of(w->limit_u, ctx, n, u);
}

int iso_ray_brick_forward(struct ray_brick_work *w, iso_ctx *ctx, const struct ray_model *m,
                          const struct ray_pack *p, const float *x)
{
	struct pass s = pass_of(w, m, p, x);
	cudaError_t e = cudaMemsetAsync(w->sum, 0, (size_t)p->slots * sizeof *w->sum, iso_stream(ctx));

	if (e != cudaSuccess) return iso_cuda_check("clear", e);
	s.queue = w->queue;
	return dispatch<FORWARD>(&s, ctx, p->rule);
}

int iso_ray_brick_back(struct ray_brick_work *w, iso_ctx *ctx, const struct ray_model *m,
                       const struct ray_pack *p, const float *x, unsigned long long *acc)
{
	struct pass s = pass_of(w, m, p, x);

	s.acc = acc;
	s.queue = w->queue + 1;
	return dispatch<BACK>(&s, ctx, p->rule);
}

int iso_ray_brick_back_signed(struct ray_brick_work *w, iso_ctx *ctx, const struct ray_model *m,
                              const struct ray_pack *p, const float *u, unsigned long long *acc,
                              struct ray_brick_cut cut)
{
	struct pass s = pass_of(w, m, p, u);

	s.acc = acc;
	s.limit = w->limit_u;
	s.queue = w->queue + 1;
	s.cut = cut;
	return dispatch<BACK_SIGNED>(&s, ctx, p->rule);
}

/* ---- work space ---- */

double iso_ray_brick_scale(const struct ray_grid *g)
{
	return iso_fixed_scale(2. * (fmax(g->n[0], fmax(g->n[1], g->n[2])) + 1));
}

double iso_ray_brick_unit(double most)
{
	return ldexp(1, RAY_BRICK_BITS - (most > 1 ? ilogb(most) + 1 : 0));
}

bool iso_ray_brick_serves(const struct ray_model *m)
{
	return m->subsets <= MOST_SUBSETS && iso_ray_bin_cells(&m->tof) <= RAY_MOST_CELLS;
}

int iso_ray_brick_open(struct ray_brick_work *w, struct iso_room *room, int64_t slots)
{
	ISO_DEVICE(room, w->sum, slots);
	ISO_DEVICE(room, w->send, slots);
	ISO_DEVICE(room, w->limit, 1);
	ISO_DEVICE(room, w->limit_u, 1);
	ISO_DEVICE(room, w->queue, 2);
	return room->status;
}
