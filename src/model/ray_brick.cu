/* SPDX-License-Identifier: BSD-3-Clause */
/* The two passes of an EM step through bricks of voxels in shared memory.

   A unit of work is a brick and a share of the packets that may cross it. A block takes units from
   a queue: it loads the brick, lists the packets whose hull meets it, and then each lane follows
   one ray through the brick, voxel by voxel. Forward, it ends with one addition to the ray's sum;
   back, it adds to the brick, which is added to the image at the end. Every addition between rays
   is one of integers, so the order of nothing matters: the same bits on every run. */
#include "ray_brick.cuh"

#include <stdlib.h>

#define THREADS 1024
#define WARPS (THREADS / ISO_WARP)
#define LIST 4096		/* packets listed at a time; offsets fit 15 bits */
#define HALO 2			/* voxels around a brick: rounding may step out of it, once at a face */
#define MARGIN .01f		/* voxels: rounding of hulls */
#define UNIT 40000		/* rays that a unit should follow: enough to make up for its brick */

/* Bricks over the part of the grid that a bundle's rays cross. */
struct bricks {
	int axis;			/* the main axis */
	int n[3];			/* grid along k, b, c */
	long long stride[3];
	int lo[3];			/* where the first brick begins */
	int slabs, nb, nc;		/* bricks along k, b, c */
	int wb, wc;			/* voxels of a brick along b, c */
	int packet, packets;
	int parts;			/* units that share a brick */
	int first;			/* unit */
};

struct work {
	struct bricks b[3];
	int n, units;			/* bundles that have rays; units of all */
};

/* The brick of a unit, in voxels of the grid. */
struct cell {
	float k0, k1, b0, b1, c0, c1;
};

static __device__ float reciprocal(float v)
{
	float r;

	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

static __device__ float power_of_2(float v)
{
	float r;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

/* ---- which rays cross a brick ---- */

/* Narrows [t0, t1], shares of a slab, to where a coordinate that runs from v0 to v1 lies in
   [lo, hi). Neighbouring bricks compute their common face alike: no piece is lost or doubled. */
static __device__ void narrow(float v0, float v1, float lo, float hi, float *t0, float *t1)
{
	if (v0 == v1) {
		*t1 = v0 >= lo && v0 < hi ? *t1 : -1;
		return;
	}
	float r = reciprocal(v1 - v0), ta = (lo - v0) * r, tb = (hi - v0) * r;

	*t0 = fmaxf(*t0, fminf(ta, tb));
	*t1 = fminf(*t1, fmaxf(ta, tb));
}

/* The stretch [x0, x1] of a ray inside a brick of K slices, from its first slice on. */
template <int K>
static __device__ bool clip(const struct ray_line *l, const struct cell *c, float *x0, float *x1)
{
	float t0 = 0, t1 = 1;

	narrow(fmaf(l->bx, c->k0, l->b0), fmaf(l->bx, c->k0 + K, l->b0), c->b0, c->b1, &t0, &t1);
	narrow(fmaf(l->cx, c->k0, l->c0), fmaf(l->cx, c->k0 + K, l->c0), c->c0, c->c1, &t0, &t1);
	*x0 = fmaxf(l->x0 - c->k0, t0 * K);
	*x1 = fminf(l->x1 - c->k0, t1 * K);
	return *x1 > *x0;
}

/* What is known of a lane's ray, or of a packet. ALL_INSIDE: it stays inside along b and c; it is
   the mark in the list of packets. */
enum crossing { NO_RAY, SOMEWHERE, ALL_INSIDE = 0x8000 };

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

static __device__ enum crossing hull_meets(const struct ray_hull *hull, const struct cell *c)
{
	struct ray_hull h = *hull;

	if (!(h.x_lo < c->k1 && h.x_hi > c->k0))
		return NO_RAY;
	float r = reciprocal(h.x_hi - h.x_lo);
	float s = (fmaxf(c->k0, h.x_lo) - h.x_lo) * r, t = (fminf(c->k1, h.x_hi) - h.x_lo) * r;
	struct span b = span_of(h.b_lo, h.b_hi, s, t), d = span_of(h.c_lo, h.c_hi, s, t);

	if (b.lo > c->b1 + MARGIN || b.hi < c->b0 - MARGIN || d.lo > c->c1 + MARGIN ||
	    d.hi < c->c0 - MARGIN)
		return NO_RAY;
	bool inside = b.lo > c->b0 + MARGIN && b.hi < c->b1 - MARGIN && d.lo > c->c0 + MARGIN &&
		      d.hi < c->c1 - MARGIN;

	return inside && h.enter_hi < c->k1 && h.leave_lo > c->k0 ? ALL_INSIDE : SOMEWHERE;
}

/* ---- a block's brick ---- */

/* The brick in shared memory: (k, c, b), b fastest, with a halo along b and c. */
template <int K> struct brick {
	const struct bricks *g;
	struct cell cell;
	int k0, b0, c0;		/* its first voxel, without and with halo */
	int nb, nc, plane;	/* with halo */
	int part;

	__device__ brick(const struct work *w, int unit)
	{
		int i = w->n - 1;

		while (unit < w->b[i].first)
			i--;
		g = w->b + i;
		unit -= g->first;
		part = unit % g->parts;
		unit /= g->parts;
		int ic = unit % g->nc, ib = unit / g->nc % g->nb, slab = unit / g->nc / g->nb;

		k0 = g->lo[0] + slab * K;
		b0 = g->lo[1] + ib * g->wb;
		c0 = g->lo[2] + ic * g->wc;
		cell = { (float)k0, (float)min(k0 + K, g->n[0]), (float)b0, (float)(b0 + g->wb),
			 (float)c0, (float)(c0 + g->wc) };
		b0 -= HALO;
		c0 -= HALO;
		nb = g->wb + 2 * HALO;
		nc = g->wc + 2 * HALO;
		plane = nb * nc;
	}

	__device__ bool in_grid(int k, int b, int c) const
	{
		return k < g->n[0] && (unsigned)b < (unsigned)g->n[1] && (unsigned)c < (unsigned)g->n[2];
	}

	__device__ long long voxel(int k, int b, int c) const
	{
		return k * g->stride[0] + b * g->stride[1] + c * g->stride[2];
	}

	/* do_it(index in the brick, voxel of the grid or -1) for all, neighbours in the grid by
	   neighbouring lanes: along k if that is x, else along b, which then is. */
	template <class F> __device__ void each(F do_it) const
	{
		int lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP;
		int lanes_k = g->axis == 0 ? K : 1, lanes_b = ISO_WARP / lanes_k;
		int warps_k = K / lanes_k, k = lane % lanes_k + warp % warps_k;

		for (int c = warp / warps_k; c < nc; c += WARPS / warps_k) {
			bool row = k0 + k < g->n[0] && (unsigned)(c0 + c) < (unsigned)g->n[2];
			long long at = voxel(k0 + k, b0 + lane / lanes_k, c0 + c);
			long long step = lanes_b * g->stride[1];

			for (int b = lane / lanes_k; b < nb; b += lanes_b, at += step)
				do_it((k * nc + c) * nb + b,
				      row && (unsigned)(b0 + b) < (unsigned)g->n[1] ? at : -1);
		}
	}
};

/* ---- one ray through a brick ---- */

/* Follows the ray from face to face: t is where it is, in slices from the brick's first; next[a]
   where it meets the next face across axis a. at: byte offset of its voxel in the brick. */
template <int K> struct walk {
	float t, end;
	float next_k, next_b, next_c, every_b, every_c;
	int at, to_k, to_b, to_c;

	__device__ walk(const struct ray_line *l, const brick<K> *u, enum crossing how)
	{
		if (how == ALL_INSIDE) {
			t = fmaxf(l->x0 - u->cell.k0, 0);
			end = fminf(l->x1, u->cell.k1) - u->cell.k0;
		} else {
			clip<K>(l, &u->cell, &t, &end);
		}
		end = how == NO_RAY ? t : end;
		float k0 = u->cell.k0, b0 = fmaf(l->bx, k0, l->b0), c0 = fmaf(l->cx, k0, l->c0);
		float k = floorf(t), b = floorf(fmaf(l->bx, t, b0)), c = floorf(fmaf(l->cx, t, c0));
		float rb = reciprocal(l->bx), rc = reciprocal(l->cx);

		next_k = k + 1;
		next_b = fabsf(l->bx) > 1e-9f ? (b + (l->bx > 0) - b0) * rb : 1e30f;
		next_c = fabsf(l->cx) > 1e-9f ? (c + (l->cx > 0) - c0) * rc : 1e30f;
		every_b = fabsf(rb);
		every_c = fabsf(rc);
		to_k = u->plane * 4;
		to_b = l->bx > 0 ? 4 : -4;
		to_c = l->cx > 0 ? u->nb * 4 : -u->nb * 4;
		at = (((int)k * u->nc + (int)c - u->c0) * u->nb + (int)b - u->b0) * 4;
	}

	__device__ float face() const
	{
		return fminf(fminf(next_b, next_c), fminf(next_k, end));
	}

	/* Into the voxel behind the face at x. */
	__device__ void cross(float x)
	{
		if (next_b <= x) {
			next_b += every_b;
			at += to_b;
		}
		if (next_c <= x) {
			next_c += every_c;
			at += to_c;
		}
		if (next_k <= x) {
			next_k += 1;
			at += to_k;
		}
		t = x;
	}
};

/* Weight of a stretch over the ray's factor. */
template <enum ray_rule RULE> struct measure {
	float u0, ux, bend, far, erf_before;

	/* By the middle m of a stretch of d: d exp(-m^2) (1 + (2 m^2 - 1) d^2 ux^2 / 12), u in units of
	   1/sqrt(log2 e) so that exp is exp2. */
	__device__ measure(const struct ray_line *l, float k0, float start, float cut)
	{
		const float root = RULE == RAY_RULE_MIDDLE ? 1.2011224087864498f : 1;

		u0 = fmaf(l->ux, k0, l->u0) * root;
		ux = (RULE == RAY_RULE_MIDDLE ? .5f : 1.f) * l->ux * root;
		bend = l->ux * l->ux / 12;
		far = cut;
		if (RULE == RAY_RULE_ERF)
			erf_before = ray_erf(fmaf(ux, start, u0), cut);
	}

	__device__ float operator()(float from, float to)
	{
		if (RULE == RAY_RULE_LENGTH)
			return to - from;
		if (RULE == RAY_RULE_ERF) {
			float before = erf_before;

			erf_before = ray_erf(fmaf(ux, to, u0), far);
			return erf_before - before;
		}
		const float two_ln2 = 1.3862943611f;
		float d = to - from, m = fmaf(ux, from + to, u0), mm = m * m;

		return d * power_of_2(-mm) * fmaf(d * d, bend * fmaf(two_ln2, mm, -1), 1);
	}
};

template <class T> static __device__ T *at_byte(T *p, int offset)
{
	return (T *)((char *)p + offset);
}

template <int K, enum ray_rule RULE>
static __device__ float sum_along(const struct ray_line *l, const brick<K> *u, float cut,
				  enum crossing how, const float *x)
{
	walk<K> w(l, u, how);
	measure<RULE> weight(l, u->cell.k0, w.t, cut);
	float sum = 0;

	while (w.t < w.end) {
		float f = w.face();

		sum = fmaf(weight(w.t, f), *at_byte(x, w.at), sum);
		w.cross(f);
	}
	return sum;
}

/* The brick holds the low 32 bits of its sums; what overflows goes to the image at once. */
template <int K>
static __device__ void carry(const brick<K> *u, int at, unsigned long long *acc)
{
	int i = at / 4, k = i / u->plane, c = i / u->nb % u->nc, b = i % u->nb;

	if (u->in_grid(u->k0 + k, u->b0 + b, u->c0 + c))
		atomicAdd(acc + u->voxel(u->k0 + k, u->b0 + b, u->c0 + c), 1ull << 32);
}

template <int K, enum ray_rule RULE>
static __device__ void add_along(const struct ray_line *l, const brick<K> *u, float cut,
				 enum crossing how, const float *x, float send, unsigned *low, unsigned long long *acc)
{
	walk<K> w(l, u, how);
	measure<RULE> weight(l, u->cell.k0, w.t, cut);

	while (w.t < w.end) {
		float f = w.face();
		unsigned term = __float2uint_rn(weight(w.t, f) * send * *at_byte(x, w.at));
		unsigned old = atomicAdd(at_byte(low, w.at), term);

		if (old + term < old)
			carry(u, w.at, acc);
		w.cross(f);
	}
}

/* ---- a pass ---- */

struct pass {
	struct work w;
	float scale;		/* of sums */
	float cut;		/* of TOF */
	const struct ray_line *line;
	const struct ray_hull *hull;
	const float *x, *limit, *send;
	unsigned long long *sum, *acc;
	int *queue;
	int words;		/* voxels of the largest brick */
};

/* Packets first .. last that may cross the brick go to the list. */
template <int K>
static __device__ void list_packets(const struct pass *p, const brick<K> *u, int first, int last,
				    unsigned short *list, int *listed)
{
	for (int i = first + threadIdx.x; i < last; i += THREADS) {
		enum crossing c = hull_meets(p->hull + u->g->packet + i, &u->cell);

		if (c != NO_RAY)
			list[atomicAdd(listed, 1)] = (unsigned short)((i - first) | (c & ALL_INSIDE));
	}
}

template <int K, enum ray_rule RULE, bool BACK>
static __device__ void follow(const struct pass *p, const brick<K> *u, int slot, enum crossing how,
			      const float *x, unsigned *low)
{
	struct ray_line l = p->line[slot];

	if (BACK) {
		add_along<K, RULE>(&l, u, p->cut, how, x, p->send[slot], low, p->acc);
		return;
	}
	float sum = sum_along<K, RULE>(&l, u, p->cut, how, x);

	if (how != NO_RAY)
		atomicAdd(p->sum + slot, (unsigned long long)__float2ll_rn(sum * p->scale));
}

/* Rays of a packet that cross the brick are gathered until there is one for every lane. The slot
   of this lane's ray, or -1 while there are too few. */
template <int K>
static __device__ int gather(const struct pass *p, const brick<K> *u, int slot, int *held,
			     int *gathered)
{
	struct ray_line l = p->line[slot];
	int lane = threadIdx.x % ISO_WARP;
	float x0, x1;
	bool crosses = clip<K>(&l, &u->cell, &x0, &x1);
	unsigned who = __ballot_sync(ISO_FULL_WARP, crosses);

	if (crosses)
		gathered[*held + __popc(who & ((1u << lane) - 1))] = slot;
	*held += __popc(who);
	__syncwarp();
	if (*held < ISO_WARP)
		return -1;
	*held -= ISO_WARP;
	slot = gathered[*held + lane];
	__syncwarp();
	return slot;
}

template <int K, enum ray_rule RULE, bool BACK>
static __device__ void follow_listed(const struct pass *p, const brick<K> *u, int first,
				     const unsigned short *list, int listed, int *next, int *held,
				     int *gathered, const float *x, unsigned *low)
{
	int lane = threadIdx.x % ISO_WARP;

	for (;;) {
		__syncwarp();	/* lanes leave their rays at different times */
		int i = lane == 0 ? atomicAdd(next, 1) : 0;

		i = __shfl_sync(ISO_FULL_WARP, i, 0);
		if (i >= listed)
			return;
		int slot = (u->g->packet + first + (list[i] & ~ALL_INSIDE)) * RAY_PACKET + lane;

		enum crossing how = list[i] & ALL_INSIDE ? ALL_INSIDE : SOMEWHERE;

		if (how != ALL_INSIDE)
			slot = gather<K>(p, u, slot, held, gathered);
		if (slot >= 0)
			follow<K, RULE, BACK>(p, u, slot, how, x, low);
	}
}

template <int K, enum ray_rule RULE, bool BACK>
static __device__ void do_unit(const struct pass *p, int unit, float *x, unsigned *low)
{
	__shared__ unsigned short list[LIST];
	__shared__ int listed, next, gathered[WARPS][2 * ISO_WARP];
	brick<K> u(&p->w, unit);
	int share = (u.g->packets + u.g->parts - 1) / u.g->parts, held = 0;
	int begin = u.part * share, end = min(u.g->packets, begin + share);
	int lane = threadIdx.x % ISO_WARP, *mine = gathered[threadIdx.x / ISO_WARP];

	float up = ray_brick_up(*p->limit);

	u.each([&](int i, long long voxel) {
		x[i] = voxel < 0 ? 0 : p->x[voxel] * up;
		if (BACK)
			low[i] = 0;
	});
	for (int first = begin; first < end; first += LIST) {
		__syncthreads();
		if (threadIdx.x == 0)
			listed = next = 0;
		__syncthreads();
		list_packets<K>(p, &u, first, min(end, first + LIST), list, &listed);
		__syncthreads();
		follow_listed<K, RULE, BACK>(p, &u, first, list, listed, &next, &held, mine, x, low);
	}
	if (held)
		follow<K, RULE, BACK>(p, &u, mine[lane < held ? lane : 0],
				      lane < held ? SOMEWHERE : NO_RAY, x, low);
	__syncthreads();
	if (BACK)
		u.each([&](int i, long long voxel) {
			if (voxel >= 0 && low[i])
				atomicAdd(p->acc + voxel, (unsigned long long)low[i]);
		});
}

template <int K, enum ray_rule RULE, bool BACK>
static __global__ void __launch_bounds__(THREADS, 1) run(struct pass p)
{
	extern __shared__ float memory[];
	__shared__ int unit;
	for (;;) {
		__syncthreads();
		if (threadIdx.x == 0)
			unit = atomicAdd(p.queue, 1);
		__syncthreads();
		if (unit >= p.w.units)
			return;
		do_unit<K, RULE, BACK>(&p, unit, memory, (unsigned *)memory + p.words);
	}
}

/* ---- how the grid is cut ---- */

/* Wide bricks have fewer rays that cross two of them; along c, which often is short, the number
   of bricks is tried. A ray drifts by about half a voxel a slice along b, a fifth along c. */
static void cut(struct bricks *g, const struct ray_bundle *u, int slices, int words)
{
	int rb = u->hi[1] - u->lo[1], rc = u->hi[2] - u->lo[2];
	double best = 1e30;

	for (int nc = 1; nc <= rc; nc++) {
		int wc = (rc + nc - 1) / nc, wb = words / slices / (wc + 2 * HALO) - 2 * HALO;

		if (wb < 2)
			continue;
		int nb = (rb + wb - 1) / wb;

		wb = (rb + nb - 1) / nb;
		double visits = (1 + .5 * slices / wb) * (1 + .2 * slices / wc) * (1 + 1e-4 * nb * nc);

		if (visits >= best)
			continue;
		best = visits;
		g->nb = nb;
		g->nc = nc;
		g->wb = wb;
		g->wc = wc;
	}
}

/* Share of the slabs that a ray crosses: all, or those in its TOF window. */
static double share_of_slabs(const struct ray_model *m, const struct bricks *g, int slabs, int slices)
{
	double voxel = m->grid.voxel[g->axis], window = 2 * m->tof.half / voxel;

	if (m->tof.measure == RAY_LENGTH || !isfinite(window))
		return 1;
	return fmin(1, (window / slices + 1) / slabs);
}

static struct work plan_work(const struct ray_model *m, const struct ray_pack *p, int slices, int words)
{
	struct work w = ISO_ZERO;

	for (int a = 0; a < 3; a++) {
		const struct ray_bundle *u = p->bundle + a;
		struct bricks *g = w.b + w.n;
		int axis[3] = { a, a == 0 ? 1 : 0, a == 2 ? 1 : 2 };

		if (u->n == 0)
			continue;
		g->axis = a;
		for (int i = 0; i < 3; i++) {
			g->n[i] = m->grid.n[axis[i]];
			g->stride[i] = m->grid.stride[axis[i]];
			g->lo[i] = u->lo[i];
		}
		g->packet = u->packet;
		g->packets = u->packets;
		g->slabs = (u->hi[0] - u->lo[0] + slices - 1) / slices;
		cut(g, u, slices, words);
		g->parts = (int)fmax(1, 1.3 * u->n * share_of_slabs(m, g, g->slabs, slices) / UNIT /
				     ((double)g->nb * g->nc) + .5);
		g->first = w.units;
		w.units += g->slabs * g->nb * g->nc * g->parts;
		w.n++;
	}
	return w;
}

/* ---- launching ---- */

struct device {
	int multiprocessors, shared_bytes;
};

static struct device device_of(const iso_ctx *ctx)
{
	struct device d = ISO_ZERO;

	cudaDeviceGetAttribute(&d.multiprocessors, cudaDevAttrMultiProcessorCount, ctx->cuda_device);
	cudaDeviceGetAttribute(&d.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
			       ctx->cuda_device);
	return d;
}

template <int K, enum ray_rule RULE, bool BACK>
static int launch(struct pass *p, iso_ctx *ctx, const struct ray_model *m, const struct ray_pack *k)
{
	cudaFuncAttributes attributes;
	struct device d = device_of(ctx);
	auto kernel = run<K, RULE, BACK>;
	cudaError_t e = cudaFuncGetAttributes(&attributes, kernel);

	if (e != cudaSuccess)
		return iso_cuda_check("bricks", e);
	int bytes = d.shared_bytes - (int)attributes.sharedSizeBytes;

	p->words = bytes / (BACK ? 8 : 4);
	p->w = plan_work(m, k, K, p->words);
	if ((e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) ||
	    (e = cudaMemsetAsync(p->queue, 0, sizeof *p->queue, iso_stream(ctx))))
		return iso_cuda_check("bricks", e);
	kernel<<<d.multiprocessors, THREADS, bytes, iso_stream(ctx)>>>(*p);
	return iso_cuda_launched(BACK ? "ray back" : "ray forward");
}

/* Thick bricks have fewer faces, but short TOF windows fill only part of them. */
template <bool BACK>
static int dispatch(struct pass *p, iso_ctx *ctx, const struct ray_model *m, const struct ray_pack *k)
{
	double voxel = fmax(m->grid.voxel[0], fmax(m->grid.voxel[1], m->grid.voxel[2]));
	bool thick = !(2 * m->tof.half < 60 * voxel);

	switch (k->rule) {
	case RAY_RULE_LENGTH:
		return launch<16, RAY_RULE_LENGTH, BACK>(p, ctx, m, k);
	case RAY_RULE_MIDDLE:
		return thick ? launch<16, RAY_RULE_MIDDLE, BACK>(p, ctx, m, k)
			     : launch<8, RAY_RULE_MIDDLE, BACK>(p, ctx, m, k);
	default:
		return launch<8, RAY_RULE_ERF, BACK>(p, ctx, m, k);
	}
}

static struct pass pass_of(const struct ray_brick_work *w, const struct ray_model *m,
			   const struct ray_pack *p, const float *x)
{
	struct pass s = ISO_ZERO;

	s.cut = m->tof.cut;
	s.scale = (float)iso_ray_brick_scale(&m->grid);
	s.line = p->line;
	s.hull = p->hull;
	s.x = x;
	s.limit = w->limit;
	s.send = w->send;
	s.sum = w->sum;
	return s;
}

/* The bits of floats that are not negative are ordered as integers. */
static __global__ void find_limit(unsigned *limit, int64_t n, const float *x)
{
	float most = 0;

	ISO_GRID_LOOP(i, n)
		most = fmaxf(most, x[i]);
	for (int step = ISO_WARP / 2; step > 0; step /= 2)
		most = fmaxf(most, __shfl_xor_sync(ISO_FULL_WARP, most, step));
	if (threadIdx.x % ISO_WARP == 0)
		atomicMax(limit, __float_as_uint(most));
}

int iso_ray_brick_limit(struct ray_brick_work *w, iso_ctx *ctx, int64_t n, const float *x)
{
	cudaError_t e = cudaMemsetAsync(w->limit, 0, sizeof *w->limit, iso_stream(ctx));

	if (e != cudaSuccess)
		return iso_cuda_check("clear", e);
	find_limit<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>((unsigned *)w->limit, n, x);
	return iso_cuda_launched("greatest value");
}

int iso_ray_brick_forward(struct ray_brick_work *w, iso_ctx *ctx, const struct ray_model *m,
			  const struct ray_pack *p, const float *x)
{
	struct pass s = pass_of(w, m, p, x);
	cudaError_t e = cudaMemsetAsync(w->sum, 0, (size_t)p->slots * sizeof *w->sum, iso_stream(ctx));

	if (e != cudaSuccess)
		return iso_cuda_check("clear", e);
	s.queue = w->queue;
	return dispatch<false>(&s, ctx, m, p);
}

int iso_ray_brick_back(struct ray_brick_work *w, iso_ctx *ctx, const struct ray_model *m,
		       const struct ray_pack *p, const float *x, unsigned long long *acc)
{
	struct pass s = pass_of(w, m, p, x);

	s.acc = acc;
	s.queue = w->queue + 1;
	return dispatch<true>(&s, ctx, m, p);
}

/* ---- work space ---- */

double iso_ray_brick_scale(const struct ray_grid *g)
{
	return iso_fixed_scale(2. * (fmax(g->n[0], fmax(g->n[1], g->n[2])) + 1));
}

bool iso_ray_brick_serves(const struct ray_model *m)
{
	return m->projector == ISO_SLICE && m->spread.lines == 1 && m->tof.measure != RAY_TOF_BIN &&
	       m->n < INT32_MAX - RAY_PACKET * RAY_PACKET;
}

int64_t iso_ray_brick_bytes(int64_t slots)
{
	return slots * (int64_t)(sizeof(unsigned long long) + sizeof(float));
}

int iso_ray_brick_open(struct ray_brick_work *w, iso_ctx *ctx, int64_t slots)
{
	const struct iso_vec *v = ctx->vec;
	int st;

	*w = ISO_ZERO;
	w->slots = slots;
	if ((st = v->alloc(ctx, (void **)&w->sum, slots * (int64_t)sizeof *w->sum)) ||
	    (st = v->alloc(ctx, (void **)&w->send, slots * (int64_t)sizeof *w->send)) ||
	    (st = v->alloc(ctx, (void **)&w->limit, sizeof *w->limit)) ||
	    (st = v->alloc(ctx, (void **)&w->queue, 2 * sizeof *w->queue)))
		iso_ray_brick_close(w);
	return st;
}

void iso_ray_brick_close(struct ray_brick_work *w)
{
	cudaFree(w->sum);
	cudaFree(w->send);
	cudaFree(w->limit);
	cudaFree(w->queue);
	*w = ISO_ZERO;
}
