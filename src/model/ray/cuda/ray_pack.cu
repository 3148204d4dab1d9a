/* SPDX-License-Identifier: BSD-3-Clause */
/* Ordering rays: by main axis, then by where and how they cross the grid, and packing 32 neighbours
   together. One radix sort of 32-bit keys (CUB); rays are set up twice, which costs less than to
   move them. */
#include "ray_brick.cuh"

#include <cub/device/device_radix_sort.cuh>

#include <float.h>

#define BUNDLES RAY_BUNDLES
#define MISSED 3
#define SAMPLE 50000 /* rays that tell how large cells should be */

/* What is known of a bundle while rays are counted: ranges of k, b, c, and of the two slopes in
   parts of 1/256, and their number. */
struct extent {
	int lo[5], hi[5], n;
};

#define SLOPE_PARTS 256.f

/* The cells that keys count: along x (only with TOF, where windows are short), two slopes, and the
   place (b, c) in the middle of the ray. */
struct cells {
	float size;  /* voxels */
	float slope; /* of direction */
	int nx, ns, nb, nc;
	unsigned each; /* cells of a bundle */
};

struct ray_packer {
	iso_ctx *ctx;
	int64_t most;
	unsigned *key[2], *id[2];
	void *temp;
	size_t temp_bytes;
	struct extent *extent; /* BUNDLES of them */
	struct ray_finder finder;
};

/* ---- keys ---- */

/* Cells are made so small that a packet spans few: their number grows with that of the rays. A window
   of w voxels turns a range s of slopes into one of s w / 2 places. `seen`: of a sample of rays. */
static double volume_of(const struct extent *e, double window, bool tof)
{
	double v = tof ? (e->hi[0] - e->lo[0]) / 2. : 1;

	if (e->n == 0) return 0;
	for (int a = 1; a < 3; a++)
		v *= (double)(e->hi[a] - e->lo[a]) *
		     fmax(1, .5 * window * (e->hi[a + 2] - e->lo[a + 2]) / (double)SLOPE_PARTS);
	return v;
}

static struct cells choose_cells(const struct ray_model *m, const struct extent seen[BUNDLES], int64_t n)
{
	const int *g = m->grid.n;
	bool tof = m->tof.measure != RAY_LENGTH && isfinite(m->tof.half);
	double longest = fmax(g[0], fmax(g[1], g[2])), volume = 1;
	double voxel = fmin(m->grid.voxel[0], fmin(m->grid.voxel[1], m->grid.voxel[2]));
	double window = fmax(8, tof ? fmin(2 * m->tof.half / voxel, longest) : fmin(g[0], g[1]));
	struct cells c;

	for (int b = 0; b < MISSED; b++) volume += volume_of(seen + b, window, tof);
	/* rays a cell that served best on rings of 0.2 m and 2 m: 10 without TOF, 1.2 with it */
	double size = fmax(1, tof ? pow(1.2 * volume / (double)n, .2) : pow(10 * volume / (double)n, .25));

	for (;; size *= 1.1) {
		c.size = (float)size;
		c.slope = (float)(2 * size / window);
		c.nx = tof ? (int)(longest / (2 * size)) + 1 : 1;
		c.ns = (int)ceil(2 / c.slope) + 1;
		c.nb = c.nc = (int)(longest / size) + 3;
		double each = (double)c.nx * c.ns * c.ns * c.nb * c.nc;

		if (each * BUNDLES < 4e9) {
			c.each = (unsigned)each;
			return c;
		}
	}
}

static __device__ int cell(float at, float size, int n)
{
	return min(max((int)(at / size), 0), n - 1);
}

static __device__ unsigned cell_of(const struct cells *c, const struct ray *r, int n)
{
	float x = c->nx > 1 ? .5f * (r->x0 + r->x1) : .5f * n;
	unsigned key = cell(x, 2 * c->size, c->nx);

	key = key * c->ns + cell(r->bx + 1, c->slope, c->ns);
	key = key * c->ns + cell(r->cx + 1, c->slope, c->ns);
	key = key * c->nb + cell(fmaf(r->bx, x, r->b0) + c->size, c->size, c->nb);
	return key * c->nc + cell(fmaf(r->cx, x, r->c0) + c->size, c->size, c->nc);
}

static __device__ void extend(struct extent *e, int axis, float at0, float at1)
{
	atomicMin(e->lo + axis, (int)floorf(fminf(at0, at1)));
	atomicMax(e->hi + axis, (int)floorf(fmaxf(at0, at1)) + 1);
}

static __device__ void count(struct extent *e, const struct ray *r)
{
	atomicAdd(&e->n, 1);
	if (r->k0 >= r->k1) return;
	extend(e, 0, (float)r->k0, (float)(r->k1 - 1));
	extend(e, 1, fmaf(r->bx, r->x0, r->b0), fmaf(r->bx, r->x1, r->b0));
	extend(e, 2, fmaf(r->cx, r->x0, r->c0), fmaf(r->cx, r->x1, r->c0));
	extend(e, 3, r->bx * SLOPE_PARTS, r->bx * SLOPE_PARTS);
	extend(e, 4, r->cx * SLOPE_PARTS, r->cx * SLOPE_PARTS);
}

static __device__ __host__ void nothing(struct extent *e)
{
	for (int a = 0; a < 5; a++) {
		e->lo[a] = INT32_MAX;
		e->hi[a] = INT32_MIN;
	}
	e->n = 0;
}

static __device__ void add_extent(struct extent *all, const struct extent *part)
{
	if (part->n == 0) return;
	for (int a = 0; a < 5; a++) {
		atomicMin(all->lo + a, part->lo[a]);
		atomicMax(all->hi + a, part->hi[a]);
	}
	atomicAdd(&all->n, part->n);
}

/* Ray i of events: line i % lines of event i / lines. */
static __device__ struct ray ray_number(const struct ray_model *m, const struct iso_event *e, int64_t i)
{
	int lines = m->spread.lines;

	return lines == 1 ? ray_of_event(m, e + i * ray_stored(m), 0)
	                  : ray_of_event(m, e + i / lines * ray_stored(m), (int)(i % lines));
}

/* The extents of every step-th ray of n; and keys, if wanted, of all (step 1). */
static __global__ void survey(struct ray_model m, struct cells c, const struct iso_event *e, int64_t n,
                              int64_t step, unsigned *key, unsigned *id, struct extent *extent)
{
	__shared__ struct extent part[BUNDLES];

	if (threadIdx.x < BUNDLES) nothing(part + threadIdx.x);
	__syncthreads();
	ISO_GRID_LOOP (i, n / step) {
		struct ray r = ray_number(&m, e, i * step);
		int b = r.k0 < r.k1 ? r.axis : MISSED;

		count(part + b, &r);
		if (key) {
			key[i] = b * c.each + (b == MISSED ? 0 : cell_of(&c, &r, m.grid.n[b]));
			id[i] = (unsigned)i;
		}
	}
	__syncthreads();
	if (threadIdx.x < BUNDLES) add_extent(extent + threadIdx.x, part + threadIdx.x);
}

/* ---- packets ---- */

static struct ray_places lay_out(const struct extent extent[BUNDLES])
{
	struct ray_places p = ISO_ZERO;

	for (int b = 0; b < BUNDLES; b++) {
		int64_t n = extent[b].n, whole = (n + RAY_PACKET - 1) / RAY_PACKET * RAY_PACKET;

		p.sorted[b + 1] = p.sorted[b] + n;
		p.slot[b + 1] = p.slot[b] + whole;
	}
	return p;
}

static __device__ float warp_min(float v)
{
	for (int step = ISO_WARP / 2; step > 0; step /= 2)
		v = fminf(v, __shfl_xor_sync(ISO_FULL_WARP, v, step));
	return v;
}

static __device__ float warp_max(float v)
{
	return -warp_min(-v);
}

/* Of the rays in a warp; lanes without one do not count, and then not all rays enter anywhere. */
static __device__ struct ray_hull hull_of(const struct ray_line *l, bool there)
{
	struct ray_hull h;
	float none = there ? 0 : NOWHERE;

	h.x_lo = warp_min(l->x0 + none);
	h.x_hi = warp_max(l->x1 - none);
	h.enter_hi = warp_max(there ? l->x0 : NOWHERE);
	h.leave_lo = warp_min(there ? l->x1 : -NOWHERE);
	for (int end = 0; end < 2; end++) {
		float x = end ? h.x_hi : h.x_lo;
		float b = fmaf(l->bx, x, l->b0), c = fmaf(l->cx, x, l->c0);

		h.b_lo[end] = warp_min(b + none);
		h.b_hi[end] = warp_max(b - none);
		h.c_lo[end] = warp_min(c + none);
		h.c_hi[end] = warp_max(c - none);
	}
	return h;
}

/* What multiplies all weights of a ray: mm per unit of x; in bins mm per unit of u; TOF by the middle: the Gaussian's height over x, so that
   weights are dx exp(-u^2); by erf: the norm alone. */
static __device__ float factor_of(const struct ray *r, const struct ray_tof *t, enum ray_rule rule)
{
	const double two_over_root_pi = 1.1283791670955126;

	if (rule == RAY_RULE_LENGTH) return r->len;
	if (rule == RAY_RULE_BIN) return t->scale;
	return (float)(rule == RAY_RULE_ERF ? t->norm : t->norm * two_over_root_pi * fabs(r->ux));
}

static __global__ void fill(struct ray_model m, enum ray_rule rule, struct ray_places at,
                            const struct iso_event *e, const unsigned *id, struct ray_pack p,
                            struct ray_hull *hull)
{
	ISO_GRID_LOOP (i, p.slots) { /* whole warps: slots are a multiple of 32 */
		int b = 0;

		while (i >= at.slot[b + 1]) b++;
		int64_t from = at.sorted[b] + (i - at.slot[b]);
		bool there = from < at.sorted[b + 1];
		struct ray_line l = { 1, 0, 0, 0, 0, 0, 0, 0 };
		float factor = 0;

		if (there && b != MISSED) {
			struct ray r = ray_number(&m, e, id[from]);

			l = { r.x0, r.x1, r.b0, r.bx, r.c0, r.cx, r.u0, r.ux };
			factor = factor_of(&r, &m.tof, rule);
			if (m.projector == ISO_JOSEPH) {
				p.reach[i] = { r.x0, r.x1, r.g0, r.g1 };
				l.x0 = (float)r.k0;
				l.x1 = (float)r.k1;
			}
		}
		p.line[i] = l;
		p.factor[i] = factor;
		p.ray[i] = there ? id[from] : RAY_NO_RAY;
		if (there && p.slot) p.slot[id[from]] = (unsigned)i;
		struct ray_hull h = hull_of(&l, there && b != MISSED);

		if (i % RAY_PACKET == 0) hull[i / RAY_PACKET] = h;
	}
}

static __global__ void find_hulls(struct ray_pack p, struct ray_hull *hull)
{
	ISO_GRID_LOOP (i, p.at.slot[MISSED]) { /* whole warps, as above */
		struct ray_line l = p.line[i];
		struct ray_hull h = hull_of(&l, p.ray[i] != RAY_NO_RAY);

		if (i % RAY_PACKET == 0) hull[i / RAY_PACKET] = h;
	}
}

int iso_ray_pack_hulls(const struct ray_pack *p, struct ray_hull *hull, iso_ctx *ctx)
{
	find_hulls<<<iso_blocks(p->slots), ISO_THREADS, 0, iso_stream(ctx)>>>(*p, hull);
	return iso_cuda_launched("hulls of packets");
}

/* ---- memory ---- */

int64_t iso_ray_pack_slots(int64_t n)
{
	return n + BUNDLES * RAY_PACKET;
}

int iso_ray_pack_create(struct ray_pack *p, struct iso_room *room, const struct ray_model *m, int64_t n)
{
	int64_t rays = n * m->spread.lines, slots = iso_ray_pack_slots(rays);

	*p = ISO_ZERO;
	p->lines = m->spread.lines;
	ISO_DEVICE(room, p->line, slots);
	ISO_DEVICE(room, p->factor, slots);
	ISO_DEVICE(room, p->ray, slots);
	if (m->projector == ISO_JOSEPH) ISO_DEVICE(room, p->reach, slots);
	if (p->lines > 1) ISO_DEVICE(room, p->slot, rays);
	return iso_ray_bins_create(&p->bins, room, m);
}

static size_t sort_bytes(int64_t most)
{
	cub::DoubleBuffer<unsigned> key(NULL, NULL), id(NULL, NULL);
	size_t bytes = 0;

	cub::DeviceRadixSort::SortPairs(NULL, bytes, key, id, most);
	return bytes;
}

int iso_ray_packer_create(struct ray_packer **k, struct iso_room *room, int64_t most)
{
	struct ray_packer p = { room->ctx, most, {}, {}, NULL, sort_bytes(most), NULL, ISO_ZERO };

	for (int i = 0; i < 2; i++) {
		ISO_DEVICE(room, p.key[i], most);
		ISO_DEVICE(room, p.id[i], most);
	}
	p.temp = iso_room_device(room, (int64_t)p.temp_bytes, 1);
	ISO_DEVICE(room, p.extent, BUNDLES);
	p.finder.room = room;
	ISO_DEVICE(room, p.finder.hull, iso_ray_pack_slots(most) / RAY_PACKET + 1);
	if (ISO_HOST(room, *k, 1)) **k = p;
	return room->status;
}

/* ---- bins of TOF ---- */

#define LONGEST_CELL .03 /* in u */

/* Width of cells in u: a whole number of them is a bin. */
static double cell_width(const struct ray_tof *t)
{
	return 2. * t->shift / ceil(2. * t->shift / LONGEST_CELL);
}

int iso_ray_bin_cells(const struct ray_tof *t)
{
	if (t->measure != RAY_TOF_BIN) return 0;
	return (int)fmin(ceil(((double)t->cut + t->shift) / cell_width(t)) + 1, INT32_MAX);
}

/* C(u), and its integral from 0 to u. */
static double share_below(const struct ray_tof *t, double u)
{
	return t->norm * erf(fmin(fmax(u, -t->cut), t->cut));
}

static double integral_of_share(const struct ray_tof *t, double u)
{
	double v = fmin(fabs(u), t->cut);

	return t->norm * (v * erf(v) + (exp(-v * v) - 1) * 0.56418958354775629 + erf(v) * (fabs(u) - v));
}

/* p(u), and T(u). */
static double bin_share(const struct ray_tof *t, double u)
{
	return share_below(t, u + t->shift) - share_below(t, u - t->shift);
}

static double bin_tail(const struct ray_tof *t, double u)
{
	double cut = t->cut, s = t->shift;

	return integral_of_share(t, cut + 2 * s) - integral_of_share(t, u + s) - integral_of_share(t, cut) +
	       integral_of_share(t, u - s);
}

/* Hermite's cubic: T and its slope, the width times p, at both ends of cell k. */
static float4 bin_cell(const struct ray_tof *t, int k)
{
	double width = cell_width(t), u0 = t->cut + t->shift - k * width, u1 = u0 - width;
	double t0 = bin_tail(t, u0), rise = bin_tail(t, u1) - t0;
	double m0 = bin_share(t, u0) * width, m1 = bin_share(t, u1) * width;

	return make_float4((float)t0, (float)m0, (float)(3 * rise - 2 * m0 - m1),
	                   (float)(m0 + m1 - 2 * rise));
}

int iso_ray_bins_create(struct ray_bins *b, struct iso_room *room, const struct ray_model *m)
{
	const struct ray_tof *t = &m->tof;
	struct iso_room own = iso_room_of(room->ctx, "ray"); /* for a while */
	float4 *host;
	int st;

	if ((b->cells = iso_ray_bin_cells(t)) == 0) return room->status;
	b->edge = t->cut + t->shift;
	b->per_u = (float)(1 / cell_width(t));
	b->total = (float)(2 * bin_tail(t, 0));
	if (ISO_HOST(&own, host, b->cells)) {
		for (int k = 0; k < b->cells; k++) host[k] = bin_cell(t, k);
		ISO_UPLOAD(room, b->cell, host, b->cells);
	}
	st = own.status ? own.status : room->status;
	iso_room_free(&own);
	return st;
}

/* ---- all of it ---- */

/* The middle of a stretch serves up to a tenth of sqrt2 sigma on either side: what is left out is
   then 1e-5 of a weight at the peak, 1e-4 at three sigma. Where each event has a sigma, the narrowest is not known to all blocks
   of a stream. */
static enum ray_rule choose_rule(const struct ray_model *m)
{
	if (m->tof.measure == RAY_LENGTH) return RAY_RULE_LENGTH;
	if (m->tof.measure == RAY_TOF_BIN) return RAY_RULE_BIN;
	double half = .5 * iso_ray_largest_weight(&m->grid, NULL) / (RAY_SQRT2 * m->tof.sigma);

	return half <= .1 && !m->tof.each ? RAY_RULE_MIDDLE : RAY_RULE_ERF;
}

static void describe(struct ray_pack *p, const struct extent extent[BUNDLES])
{
	p->at = lay_out(extent);
	for (int b = 0; b < 3; b++) {
		struct ray_bundle *u = p->bundle + b;

		u->n = extent[b].n;
		u->packet = (int)(p->at.slot[b] / RAY_PACKET);
		u->packets = (int)((p->at.slot[b + 1] - p->at.slot[b]) / RAY_PACKET);
	}
	p->slots = p->at.slot[BUNDLES];
}

static int sort(struct ray_packer *k, int64_t n, unsigned keys, const unsigned **ids)
{
	cub::DoubleBuffer<unsigned> key(k->key[0], k->key[1]), id(k->id[0], k->id[1]);
	int bits = 1;

	while (bits < 32 && ((uint64_t)1 << bits) < keys) bits++;
	cudaError_t e = cub::DeviceRadixSort::SortPairs(k->temp, k->temp_bytes, key, id, n, 0, bits,
	                                                iso_stream(k->ctx));

	*ids = id.Current();
	return iso_cuda_check("sort of rays", e);
}

static int look(struct ray_packer *k, iso_ctx *ctx, const struct ray_model *m, struct cells c,
                const struct iso_event *e, int64_t n, int64_t step, unsigned *key,
                struct extent extent[BUNDLES])
{
	int st;

	for (int b = 0; b < BUNDLES; b++) nothing(extent + b);
	if ((st = ctx->vec->upload(ctx, k->extent, extent, BUNDLES * sizeof *extent))) return st;
	survey<<<iso_blocks(n / step), ISO_THREADS, 0, iso_stream(ctx)>>>(*m, c, e, n, step, key, k->id[0],
	                                                                  k->extent);
	if ((st = iso_cuda_launched("survey of rays"))) return st;
	return ctx->vec->download(ctx, extent, k->extent, BUNDLES * sizeof *extent);
}

int iso_ray_pack_again(struct ray_pack *p, struct ray_packer *k, iso_ctx *ctx, const struct ray_model *m,
                       const struct iso_event *e)
{
	fill<<<iso_blocks(p->slots), ISO_THREADS, 0, iso_stream(ctx)>>>(*m, p->rule, p->at, e, p->sorted, *p,
	                                                                k->finder.hull);
	return iso_cuda_launched("packets of rays");
}

int iso_ray_pack_fill(struct ray_pack *p, struct ray_packer *k, iso_ctx *ctx, const struct ray_model *m,
                      const struct iso_event *e, struct iso_rows rows, struct iso_room *keep)
{
	struct cells c = ISO_ZERO;
	struct extent extent[BUNDLES];
	int64_t n = rows.n * m->spread.lines;
	int st;

	if ((st = look(k, ctx, m, c, e, n, n / SAMPLE + 1, NULL, extent))) return st;
	c = choose_cells(m, extent, n);
	if ((st = look(k, ctx, m, c, e, n, 1, k->key[0], extent))) return st;
	if ((st = sort(k, n, BUNDLES * c.each, &p->sorted))) return st;
	p->rows = rows;
	p->rule = choose_rule(m);
	describe(p, extent);
	if ((st = iso_ray_pack_again(p, k, ctx, m, e))) return st;
	return iso_ray_lists_fill(p, &k->finder, ctx, m, 1, keep);
}
