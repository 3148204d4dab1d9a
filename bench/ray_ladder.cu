/* SPDX-License-Identifier: BSD-3-Clause */
/* The ladder of Van Gendt 2021 (its section 4) in CUDA: one kernel, whose steps are compiled in or
   out, in float32 and float64. What changes is where the image lies, who fetches the event, how the
   forward sum comes together, and how many threads share an event; the mathematics does not. */
#include "ladder.h"

#include "core/loop/box.h"
#include "core/cuda.cuh"
#include "core/progress.h"
#include "core/room.h"
#include "ray_tile.h"

#define MOST_THREADS 1024

/* Low corner in mm, voxels per axis; x fastest, or in tiles. */
struct ladder_grid {
	int n[3];
	double voxel[3], low[3];
	struct ray_tiles tiles;
};

template <class real> struct ladder_view {
	struct ladder_grid g;
	const struct iso_event *e;
	const real *x;
	real *corr;
	real *forward; /* one per event; the basic steps sum up here */
};

/* The event's line, set up in double and rounded once: main axis a, its coordinate x from x0 to x1,
   and b, c along the other two axes as straight lines in x. All in voxels. */
template <class real> struct ladder_line {
	int a, k0, k1;
	real x0, x1, b0, bx, c0, cx;
	real length; /* mm per unit of x */
};

/* An event that misses the image has no slices. */
template <class real>
static __device__ struct ladder_line<real> set_up(const struct ladder_grid *g, const struct iso_event *e) {
	struct ladder_line<real> l = ISO_ZERO;
	double p[3], d[3], t0 = 0, t1 = 1, square = 0;

	for (int i = 0; i < 3; i++) {
		double along = (double)e->p2[i] - e->p1[i];

		p[i] = (e->p1[i] - g->low[i]) / g->voxel[i];
		d[i] = along / g->voxel[i];
		square += along * along;
		if (fabs(d[i]) > fabs(d[l.a])) l.a = i;
	}
	if (!(square > 0) || !isfinite(square)) return l;
	for (int i = 0; i < 3; i++)
		if (!box_narrow(&t0, &t1, -p[i], g->n[i] - p[i], d[i])) return l;
	if (!(t1 > t0)) return l;

	int a = l.a, b = a == 0 ? 1 : 0, c = a == 2 ? 1 : 2;
	double xa = p[a] + t0 * d[a], xb = p[a] + t1 * d[a];

	l.x0 = (real)fmin(xa, xb);
	l.x1 = (real)fmax(xa, xb);
	l.k0 = max(0, (int)floor(fmin(xa, xb)));
	l.k1 = min(g->n[a], (int)ceil(fmax(xa, xb)));
	l.bx = (real)(d[b] / d[a]);
	l.cx = (real)(d[c] / d[a]);
	l.b0 = (real)(p[b] - p[a] * (d[b] / d[a]));
	l.c0 = (real)(p[c] - p[a] * (d[c] / d[a]));
	l.length = (real)(sqrt(square) / fabs(d[a]));
	return l;
}

/* Up to three voxels of one slice, and the chords in them. */
template <class real>
struct ladder_slice {
	int64_t voxel[3];
	real w[3];
};

/* First and last voxel over a slice, and the fraction of it at which the one becomes the other. */
template <class real> static __device__ real crossing(real from, real to, int *first, int *last)
{
	*first = (int)floor(from);
	*last = (int)floor(to);
	if (*first == *last) return 1;
	*first = *first < *last ? *last - 1 : *last + 1; /* rounding on diagonals can give 2 */
	return fmin((real)1, fmax((real)0, (max(*first, *last) - from) / (to - from)));
}

template <bool tiles>
static __device__ int64_t address(const struct ladder_grid *g, int a, int k, int b, int c)
{
	int ix = a == 0 ? k : b, iy = a == 1 ? k : a == 0 ? b : c, iz = a == 2 ? k : c;

	if (tiles) return ray_tile_index(&g->tiles, ix, iy, iz);
	return ((int64_t)iz * g->n[1] + iy) * g->n[0] + ix;
}

template <bool tiles, class real>
static __device__ struct ladder_slice<real> slice(const struct ladder_grid *g,
                                                  const struct ladder_line<real> *l, int k) {
	struct ladder_slice<real> s;
	int a = l->a, nb = g->n[a == 0 ? 1 : 0], nc = g->n[a == 2 ? 1 : 2];
	int b[3], c[3];
	real xa = fmax((real)k, l->x0), xb = fmax(xa, fmin((real)(k + 1), l->x1));
	real fb = crossing(l->b0 + l->bx * xa, l->b0 + l->bx * xb, &b[0], &b[2]);
	real fc = crossing(l->c0 + l->cx * xa, l->c0 + l->cx * xb, &c[0], &c[2]);
	real cut[4] = { 0, fmin(fb, fc), fmax(fb, fc), 1 };

	b[1] = fb < fc ? b[2] : b[0];
	c[1] = fb < fc ? c[0] : c[2];
	for (int i = 0; i < 3; i++) {
		bool inside = b[i] >= 0 && b[i] < nb && c[i] >= 0 && c[i] < nc;

		s.w[i] = inside ? (cut[i + 1] - cut[i]) * (xb - xa) * l->length : 0;
		s.voxel[i] = inside ? address<tiles>(g, a, k, b[i], c[i]) : 0;
	}
	return s;
}

template <bool tiles, class real>
static __device__ real forward_sum(const struct ladder_view<real> *v, const struct ladder_line<real> *l)
{
	real sum = 0;

	for (int k = l->k0 + threadIdx.x; k < l->k1; k += blockDim.x) {
		struct ladder_slice<real> s = slice<tiles>(&v->g, l, k);

		for (int i = 0; i < 3; i++) sum += s.w[i] * v->x[s.voxel[i]];
	}
	return sum;
}

/* Over all threads of the block, in every one of them. */
template <class real> static __device__ real reduce(real sum)
{
	__shared__ real part[MOST_THREADS / ISO_WARP];
	real all = 0;

	sum = iso_warp_sum(sum);
	if (threadIdx.x % ISO_WARP == 0) part[threadIdx.x / ISO_WARP] = sum;
	__syncthreads();
	for (int w = 0; w < (int)blockDim.x / ISO_WARP; w++) all += part[w];
	return all;
}

/* Through global memory, as in the paper's Figure 2. The sum is read past the first-level cache:
   it may hold the line from before, read for a neighbouring event. */
template <class real> static __device__ real gather(real *forward, real sum)
{
	atomicAdd(forward, sum);
	__syncthreads();
	return __ldcg(forward);
}

/* Forward, compare, back: one block an event. */
template <class real, int step> static __global__ void correct(struct ladder_view<real> v)
{
	constexpr bool tiles = step >= ISO_LADDER_TILES;
	__shared__ struct ladder_line<real> shared;
	struct ladder_line<real> l;

	if (step < ISO_LADDER_SHARED) {
		l = set_up<real>(&v.g, v.e + blockIdx.x);
	} else {
		if (threadIdx.x == 0) shared = set_up<real>(&v.g, v.e + blockIdx.x);
		__syncthreads();
		l = shared;
	}
	real sum = forward_sum<tiles>(&v, &l);
	real forward = step >= ISO_LADDER_REDUCED ? reduce(sum) : gather(v.forward + blockIdx.x, sum);

	if (!(forward > 0)) return;
	for (int k = l.k0 + threadIdx.x; k < l.k1; k += blockDim.x) {
		struct ladder_slice<real> s = slice<tiles>(&v.g, &l, k);

		for (int i = 0; i < 3; i++)
			if (s.w[i] > 0) atomicAdd(v.corr + s.voxel[i], s.w[i] / forward);
	}
}

/* image = image x corr; padding of tiles holds 0 and stays so. */
template <class real> static __global__ void multiply(int64_t n, real *x, const real *corr)
{
	ISO_GRID_LOOP (i, n) x[i] *= corr[i];
}

/* Between the image of the host and the layout of a step. */
template <class real>
static __global__ void lay_out(struct ladder_grid g, bool tiles, real *in, iso_real *out, bool back)
{
	int64_t n = (int64_t)g.n[0] * g.n[1] * g.n[2];

	ISO_GRID_LOOP (i, n) {
		int ix = (int)(i % g.n[0]), iy = (int)(i / g.n[0] % g.n[1]);
		int iz = (int)(i / g.n[0] / g.n[1]);
		int64_t j = tiles ? ray_tile_index(&g.tiles, ix, iy, iz) : i;

		if (back)
			out[i] = (iso_real)in[j];
		else
			in[j] = out[i];
	}
}

/* ---- a whole run ---- */

template <class real> struct ladder_run {
	iso_ctx *ctx;
	struct iso_room room;
	struct ladder_view<real> v;
	enum iso_ladder_step step;
	int64_t voxels, padded, events;
	real *x;
	iso_real *plain; /* the image as the host has it */
};

template <class real> static int launch(const struct ladder_run<real> *r, int threads)
{
	static void (*const kernel[])(struct ladder_view<real>) = {
		NULL,
		correct<real, ISO_LADDER_BASIC>,
		correct<real, ISO_LADDER_TILES>,
		correct<real, ISO_LADDER_SHARED>,
		correct<real, ISO_LADDER_REDUCED>,
		correct<real, ISO_LADDER_SHAPED>,
	};

	kernel[r->step]<<<(unsigned)r->events, threads, 0, iso_stream(r->ctx)>>>(r->v);
	return iso_cuda_launched("ladder");
}

template <class real> static int iterate(const struct ladder_run<real> *r, int n, int threads)
{
	cudaStream_t stream = iso_stream(r->ctx);
	int st = ISO_OK;

	for (int it = 0; it < n && !st; it++) {
		cudaMemsetAsync(r->v.corr, 0, (size_t)r->padded * sizeof(real), stream);
		cudaMemsetAsync(r->v.forward, 0, (size_t)r->events * sizeof(real), stream);
		if ((st = launch(r, threads))) return st;
		multiply<<<iso_blocks(r->padded), ISO_THREADS, 0, stream>>>(r->padded, r->x, r->v.corr);
		st = iso_cuda_launched("ladder");
	}
	return st ? st : iso_cuda_check("ladder", cudaStreamSynchronize(stream));
}

/* The number of threads that is fastest, each tried once on the start image. */
template <class real> static int choose_threads(const struct ladder_run<real> *r, int *best)
{
	double least = 1e300;
	int st = launch(r, ISO_WARP); /* warm-up */

	if (!st) st = iso_cuda_check("ladder", cudaStreamSynchronize(iso_stream(r->ctx)));
	for (int threads = ISO_WARP; threads <= 512 && !st; threads *= 2) {
		double start_s = iso_now_s();

		if ((st = launch(r, threads))) return st;
		st = iso_cuda_check("ladder", cudaStreamSynchronize(iso_stream(r->ctx)));
		if (iso_now_s() - start_s < least) {
			least = iso_now_s() - start_s;
			*best = threads;
		}
	}
	return st;
}

/* The image from `plain` to the layout of the step, or back. */
template <class real> static int arrange(const struct ladder_run<real> *r, bool back)
{
	lay_out<<<iso_blocks(r->voxels), ISO_THREADS, 0, iso_stream(r->ctx)>>>(
		r->v.g, r->step >= ISO_LADDER_TILES, r->x, r->plain, back);
	return iso_cuda_launched("ladder");
}

/* The choice of a launch shape is not counted: the paper's authors made it beforehand too. */
template <class real>
static int run(struct ladder_run<real> *r, iso_real *x, struct iso_ladder_time *time, int iterations,
               const struct iso_event *e)
{
	const int slices = max(r->v.g.n[0], max(r->v.g.n[1], r->v.g.n[2]));
	double began_s = iso_now_s(), start_s, chose_s = 0;
	int st;

	ISO_DEVICE(&r->room, r->x, r->padded);
	ISO_DEVICE(&r->room, r->v.corr, r->padded);
	ISO_DEVICE(&r->room, r->v.forward, r->events);
	ISO_UPLOAD(&r->room, r->plain, x, r->voxels);
	ISO_UPLOAD(&r->room, r->v.e, e, r->events);
	r->v.x = r->x;
	if ((st = r->room.status) || (st = arrange(r, false))) return st;
	time->threads = min(MOST_THREADS, (slices + ISO_WARP - 1) / ISO_WARP * ISO_WARP); /* in whole warps */
	if (r->step >= ISO_LADDER_SHAPED) {
		start_s = iso_now_s();
		if ((st = choose_threads(r, &time->threads))) return st;
		chose_s = iso_now_s() - start_s;
	}
	start_s = iso_now_s();
	if ((st = iterate(r, iterations, time->threads))) return st;
	time->iterations_s = iso_now_s() - start_s;
	if (!(st = arrange(r, true)))
		st = r->ctx->vec->download(r->ctx, x, r->plain, r->voxels * (int64_t)sizeof *x);
	time->total_s = iso_now_s() - began_s - chose_s;
	return st;
}

template <class real>
static int run_in(iso_real *x, struct iso_ladder_time *time, iso_ctx *ctx, const struct iso_ladder *p,
                  const struct iso_events *e)
{
	struct ladder_run<real> r = ISO_ZERO;
	int st = iso_cuda_use(ctx);

	r.ctx = ctx;
	r.room = iso_room_of(ctx, "ladder");
	r.step = p->step;
	r.events = e->n;
	r.voxels = iso_grid_voxels(&p->grid);
	for (int a = 0; a < 3; a++) {
		r.v.g.n[a] = (int)p->grid.n[a];
		r.v.g.voxel[a] = p->grid.voxel[a];
		r.v.g.low[a] = p->grid.centre[a] - .5 * (double)p->grid.n[a] * p->grid.voxel[a];
	}
	r.v.g.tiles = ray_tiles(p->grid.n);
	r.padded = p->step >= ISO_LADDER_TILES ? ray_tile_voxels(&r.v.g.tiles) : r.voxels;
	if (!st) st = run(&r, x, time, p->iterations, e->v);
	iso_room_free(&r.room);
	return st;
}

extern "C" int iso_ladder_cuda(iso_real *x, struct iso_ladder_time *time, iso_ctx *ctx,
                               const struct iso_ladder *p, const struct iso_events *e)
{
	if (e->n < 1 || e->n > INT32_MAX || iso_grid_voxels(&p->grid) > INT32_MAX)
		return iso_fail(ISO_EARG,
		                "ladder: %" PRId64 " events and %" PRId64 " voxels, must be 1 to %d", e->n,
		                iso_grid_voxels(&p->grid), INT32_MAX);
	return p->wide ? run_in<double>(x, time, ctx, p, e) : run_in<float>(x, time, ctx, p, e);
}
