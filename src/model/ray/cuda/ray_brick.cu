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

/* ---- several packs in one launch ---- */

struct jobs {
	const struct pass *all;
	const int *first_unit; /* n + 1 */
	int n, units;
	int *queue;
	struct rule_data rule;
	int words;
};

/* As `run`; of each unit a block first finds the job that it is of. */
template <int K, enum ray_rule RULE, bool JOSEPH, enum way WAY>
static __global__ void __launch_bounds__(THREADS, 1) run_jobs(struct jobs j)
{
	extern __shared__ float4 shared[];
	float *memory = (float *)(shared + (RULE == RAY_RULE_BIN ? j.rule.bins.cells : 0));
	__shared__ struct pass p;
	__shared__ int next, job;

	struct rule_data rule = j.rule;

	if (RULE == RAY_RULE_BIN) {
		for (int i = threadIdx.x; i < rule.bins.cells; i += THREADS) shared[i] = rule.bins.cell[i];
		rule.bins.cell = shared;
	}
	for (;;) {
		__syncthreads();
		if (threadIdx.x == 0) next = atomicAdd(j.queue, 1);
		__syncthreads();
		if (next >= j.units) return;
		for (int i = threadIdx.x; i < j.n; i += THREADS)
			if (j.first_unit[i] <= next && next < j.first_unit[i + 1]) job = i;
		__syncthreads();
		for (int i = threadIdx.x; i < (int)(sizeof p / sizeof(int)); i += THREADS)
			((int *)&p)[i] = ((const int *)(j.all + job))[i];
		__syncthreads();
		do_unit<K, RULE, JOSEPH, WAY>(&p, &rule, p.l.unit[next - j.first_unit[job]], memory,
		                              (unsigned *)memory + j.words);
	}
}

template <int K, enum ray_rule RULE, bool JOSEPH, enum way WAY>
static int launch(const struct ray_brick_jobs *all, iso_ctx *ctx)
{
	auto kernel = run_jobs<K, RULE, JOSEPH, WAY>;
	int bytes = all->words * (WAY == FORWARD ? 4 : 8) + all->bins.cells * (int)sizeof(float4), blocks = 0;
	struct jobs j = { (const struct pass *)all->all, all->first_unit,         all->n,    all->units,
		          all->queue + (WAY != FORWARD), { all->cut, all->bins }, all->words };
	cudaError_t e;

	if (all->units == 0) return ISO_OK;
	if ((e = cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, ctx->cuda_device)) ||
	    (e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) ||
	    (e = cudaMemsetAsync(j.queue, 0, sizeof *j.queue, iso_stream(ctx))))
		return iso_cuda_check("bricks of several packs", e);
	kernel<<<blocks, THREADS, bytes, iso_stream(ctx)>>>(j);
	return iso_cuda_launched(WAY == FORWARD ? "ray forward, several packs" : "ray back, several packs");
}
/* ---- which kernel ---- */

static bool by_samples(const struct pass *p)
{
	return p->reach != NULL;
}

static bool by_samples(const struct ray_brick_jobs *j)
{
	return j->joseph;
}

static int slices_of(const struct pass *p)
{
	return p->l.wall.slices;
}

static int slices_of(const struct ray_brick_jobs *j)
{
	return j->slices;
}

/* WORK: one pass, or several jobs. */
template <int K, enum ray_rule RULE, enum way WAY, class WORK>
static int by_projector(const WORK *p, iso_ctx *ctx)
{
	return by_samples(p) ? launch<K, RULE, true, WAY>(p, ctx) : launch<K, RULE, false, WAY>(p, ctx);
}

template <int K, enum way WAY, class WORK> static int by_rule(const WORK *p, iso_ctx *ctx, enum ray_rule rule)
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

template <enum way WAY, class WORK> static int dispatch(const WORK *p, iso_ctx *ctx, enum ray_rule rule)
{
	return slices_of(p) == RAY_SLICES_THIN ? by_rule<RAY_SLICES_THIN, WAY>(p, ctx, rule)
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

/* The bits of floats that are not negative are ordered as integers; those of NaN are above all. An image a row of blocks. */
static __global__ void find_limit(unsigned *limit, int64_t n, const float *x)
{
	unsigned most = 0;

	x += blockIdx.y * n;
	limit += blockIdx.y;

	ISO_GRID_LOOP (i, n) most = max(most, __float_as_uint(fabsf(x[i])));
	for (int step = ISO_WARP / 2; step > 0; step /= 2)
		most = max(most, __shfl_xor_sync(ISO_FULL_WARP, most, step));
	if (threadIdx.x % ISO_WARP == 0) atomicMax(limit, most);
}

int iso_ray_brick_limits(float *limit, iso_ctx *ctx, int images, int64_t n, const float *x)
{
	cudaError_t e = cudaMemsetAsync(limit, 0, (size_t)images * sizeof *limit, iso_stream(ctx));

	if (e != cudaSuccess) return iso_cuda_check("clear", e);
	find_limit<<<dim3(iso_blocks(n), images), ISO_THREADS, 0, iso_stream(ctx)>>>((unsigned *)limit, n, x);
	return iso_cuda_launched("greatest value");
}

int iso_ray_brick_limit(struct ray_brick_work *w, iso_ctx *ctx, int64_t n, const float *x)
{
	return iso_ray_brick_limits(w->limit, ctx, 1, n, x);
}

int iso_ray_brick_limit_u(struct ray_brick_work *w, iso_ctx *ctx, int64_t n, const float *u)
{
	return iso_ray_brick_limits(w->limit_u, ctx, 1, n, u);
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

/* ---- jobs ---- */

int iso_ray_brick_jobs_open(struct ray_brick_jobs *j, struct iso_room *room, int most)
{
	j->all = iso_room_device(room, most, sizeof(struct pass));
	ISO_DEVICE(room, j->first_unit, most + 1);
	ISO_DEVICE(room, j->queue, 2);
	return room->status;
}

int iso_ray_brick_jobs_set(struct ray_brick_jobs *j, iso_ctx *ctx, const struct ray_model *m, int n,
                           const struct ray_brick_job *job)
{
	struct iso_room room = iso_room_of(ctx, "passes of several packs"); /* for a while */
	struct pass *all;
	int *first, st;

	ISO_HOST(&room, all, n);
	ISO_HOST(&room, first, n + 1);
	if ((st = room.status)) goto done;
	for (int i = 0; i < n; i++) {
		const struct ray_lists *l = &job[i].pack->lists;

		all[i] = pass_of(&job[i].w, m, job[i].pack, job[i].x);
		all[i].acc = job[i].acc;
		first[i + 1] = first[i] + l->units;
		if (l->units > 0) { /* the same of all packs that have any */
			j->slices = l->wall.slices;
			j->words = l->wall.words;
		}
	}
	j->n = n;
	j->units = first[n];
	j->rule = job->pack->rule;
	j->cut = m->tof.cut;
	j->bins = job->pack->bins;
	j->joseph = m->projector == ISO_JOSEPH;
	if (!(st = ctx->vec->upload(ctx, j->all, all, n * (int64_t)sizeof *all)))
		st = ctx->vec->upload(ctx, j->first_unit, first, (n + 1) * (int64_t)sizeof *first);
done:
	iso_room_free(&room);
	return st;
}

int iso_ray_brick_jobs_forward(const struct ray_brick_jobs *j, iso_ctx *ctx)
{
	return dispatch<FORWARD>(j, ctx, j->rule);
}

int iso_ray_brick_jobs_back(const struct ray_brick_jobs *j, iso_ctx *ctx)
{
	return dispatch<BACK>(j, ctx, j->rule);
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
