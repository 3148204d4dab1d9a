/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over the pairs of a ring on CUDA. A warp sums the row of a crystal a: of every ring the partners
   b = (c + d + k) mod n, k = 0 ... K - 1, with c the place of a round its ring, d the least distance and K = n - 2 d + 1.
   Eight neighbouring rows share the efficiencies of a ring in shared memory. Floats are added up over a ring by each
   thread, all else is double, in an order that is always the same. */
#include "norm_pairs.h"
#include "norm_rows_kern.h"

#include "core/cuda.cuh"
#include "core/room.h"

#include <stdlib.h>

#define ROWS (ISO_THREADS / ISO_WARP) /* of a block, a warp each */

struct ring {
	int64_t crystals, rings, n, partners; /* n: of a ring; partners in each other ring */
	int64_t distance, most_apart;         /* least distance, greatest ring difference */
};

struct table {
	float *q, *r, *slope[NORM_SHIFTS]; /* (crystals, rings, partners); r NULL: by rates */
};

struct norm_device {
	struct iso_room room;
	iso_ctx *ctx;
	struct ring ring;
	struct table *scan; /* of each, on the host */
	int64_t *first;     /* of rows */
	float *part;        /* one table as the host has it, of some rows */
	int64_t part_pairs;
	float *crystal; /* (3, crystals): eps, rate, v */
	double *sum;    /* (1 + NORM_SHIFTS, crystals) */
	float *host;
	double *host_sum;
};

/* ---- tables ---- */

/* Element i of a table: crystals a and b; false: their rings are no pair. */
static __device__ bool crystals_of(int64_t *a, int64_t *b, const struct ring &g, int64_t i)
{
	const int64_t k = i % g.partners, ring = i / g.partners % g.rings;

	*a = i / g.partners / g.rings;
	*b = ring * g.n + (*a % g.n + g.distance + k) % g.n;
	const int64_t apart = *a / g.n - ring;

	return apart <= g.most_apart && -apart <= g.most_apart;
}

/* Values of the rows from `from` up to `to`, both ends of each pair. */
static __global__ void spread(float *table, struct ring g, const int64_t *first, const float *part,
                              int64_t from, int64_t to)
{
	ISO_GRID_LOOP (i, g.crystals * g.rings * g.partners) {
		int64_t a, b;

		if (!crystals_of(&a, &b, g, i)) continue;
		const int64_t low = a < b ? a : b, high = a < b ? b : a;

		if (low >= from && low < to)
			table[i] =
				part[first[low] - first[from] + norm_rows_place(low, high, g.distance, g.n)];
	}
}

/* Pieces of rows, so that the copy of a table on the device stays small. */
static int load_table(float *table, struct norm_device *d, const struct norm_rows *rows, const float *values)
{
	int st = ISO_OK;

	for (int64_t from = 0, to; from < rows->n && !st; from = to) {
		for (to = from + 1; to < rows->n && rows->first[to + 1] - rows->first[from] <= d->part_pairs;)
			to++;
		const int64_t pairs = rows->first[to] - rows->first[from];

		if (pairs == 0) continue;
		if ((st = d->ctx->vec->upload(d->ctx, d->part, values + rows->first[from],
		                              pairs * (int64_t)sizeof *values)))
			break;
		spread<<<iso_blocks(d->ring.crystals * d->ring.rings * d->ring.partners), ISO_THREADS, 0,
		         iso_stream(d->ctx)>>>(table, d->ring, d->first, d->part, from, to);
		st = iso_cuda_launched("norm: tables of pairs");
	}
	return st;
}

static int load(struct norm_device *d, const struct norm_fit *f, bool slopes)
{
	int st = iso_cuda_use(d->ctx);

	for (int s = 0; s < f->scans && !st; s++) {
		const struct norm_scan *from = f->scan + s;

		st = load_table(d->scan[s].q, d, f->rows, from->q);
		if (!st && from->r) st = load_table(d->scan[s].r, d, f->rows, from->r);
		for (int c = 0; c < from->shifts && slopes && !st; c++)
			if (from->slope[c]) st = load_table(d->scan[s].slope[c], d, f->rows, from->slope[c]);
	}
	return st;
}

static void free_device(struct norm_device *d)
{
	if (!d) return;
	iso_room_free(&d->room);
	free(d);
}

static int64_t longest_row(const struct norm_rows *rows)
{
	int64_t most = 0;

	for (int64_t a = 0; a < rows->n; a++)
		if (rows->first[a + 1] - rows->first[a] > most) most = rows->first[a + 1] - rows->first[a];
	return most;
}

static void make_tables(struct norm_device *d, const struct norm_fit *f)
{
	const int64_t values = d->ring.crystals * d->ring.rings * d->ring.partners;

	ISO_HOST(&d->room, d->scan, f->scans);
	for (int s = 0; s < f->scans && !d->room.status; s++) {
		ISO_DEVICE(&d->room, d->scan[s].q, values);
		if (f->scan[s].r) ISO_DEVICE(&d->room, d->scan[s].r, values);
		for (int c = 0; c < f->scan[s].shifts; c++)
			if (f->scan[s].slope[c]) ISO_DEVICE(&d->room, d->scan[s].slope[c], values);
	}
}

static int create(struct norm_device **device, iso_ctx *ctx, const struct norm_fit *f)
{
	const struct norm_rows *rows = f->rows;
	struct norm_device *d = (struct norm_device *)calloc(1, sizeof *d);
	int st = iso_cuda_use(ctx);

	if (!d) return iso_fail_memory("norm", sizeof *d);
	d->room = iso_room_of(ctx, "norm");
	d->ctx = ctx;
	d->ring = { rows->n,
		    rows->rings,
		    rows->per_ring,
		    rows->per_ring - 2 * rows->min_distance + 1,
		    rows->min_distance,
		    rows->max_ring_difference };
	d->part_pairs = longest_row(rows) > (1 << 24) ? longest_row(rows) : 1 << 24;
	if (d->part_pairs > rows->first[rows->n]) d->part_pairs = rows->first[rows->n];
	make_tables(d, f);
	ISO_UPLOAD(&d->room, d->first, rows->first, rows->n + 1);
	ISO_DEVICE(&d->room, d->part, d->part_pairs);
	ISO_DEVICE(&d->room, d->crystal, 3 * rows->n);
	ISO_DEVICE(&d->room, d->sum, (1 + NORM_SHIFTS) * rows->n);
	ISO_HOST(&d->room, d->host, 3 * rows->n);
	ISO_HOST(&d->room, d->host_sum, (1 + NORM_SHIFTS) * rows->n);
	if (st || (st = d->room.status)) {
		free_device(d);
		return st;
	}
	*device = d;
	return ISO_OK;
}

/* ---- sums ---- */

struct pass {
	struct ring ring;
	struct table t;
	int shifts;
	float factor, v; /* of all pairs: t z, and the directions of both */
	float shift_v[NORM_SHIFTS];
	const float *crystal; /* (3, crystals) */
	double *sum;          /* (1 + shifts, crystals) */
};

/* d ln q / d shift of a pair. */
static __device__ __forceinline__ float slope(const struct pass &p, int c, int64_t i, float q)
{
	return p.t.slope[c] ? p.t.slope[c][i] * iso_over(q) : 1;
}

/* What a pair adds: mu, mu^2/ybar, that times the directions v of all it touches, or 1. */
template <int WHAT, int SHIFTS>
static __device__ __forceinline__ float term(const struct pass &p, float mu, float r, float v, int64_t i,
                                             float q)
{
	if (!(mu > 0)) return 0;
	const float w = WHAT == NORM_EXPECTED ? mu : WHAT == NORM_USED ? 1 : mu * mu * iso_over(mu + r);

	if constexpr (WHAT == NORM_PRODUCT) {
#pragma unroll
		for (int c = 0; c < SHIFTS; c++)
			if (c < p.shifts) v += p.shift_v[c] * slope(p, c, i, q);
		return w * v;
	}
	return w;
}

/* SHIFTS: NORM_SHIFTS, or 0 where the scan has none. */
template <int WHAT, int SHIFTS> static __global__ void sum_rows(struct pass p)
{
	extern __shared__ float staged[]; /* (3, n) */
	const struct ring g = p.ring;
	const int n = (int)g.n, partners = (int)g.partners, lane = threadIdx.x % ISO_WARP;
	const int groups = (n + ROWS - 1) / ROWS;
	const int64_t ring = blockIdx.x / groups;
	const int c = blockIdx.x % groups * ROWS + threadIdx.x / ISO_WARP;
	const int64_t a = ring * n + c;
	const float *eps = staged, *rate = staged + n, *direction = staged + 2 * n;
	const float own = c < n ? p.crystal[a] * p.factor : 0,
		    own_rate = c < n ? p.crystal[g.crystals + a] : 0,
		    own_v = c < n ? p.crystal[2 * g.crystals + a] + p.v : 0;
	double sum = 0, shift[SHIFTS + 1] = { 0 };

	for (int64_t other = 0; other < g.rings; other++) {
		if (other - ring > g.most_apart || ring - other > g.most_apart) continue;
		__syncthreads();
		for (int i = threadIdx.x; i < n; i += blockDim.x)
			for (int s = 0; s < 3; s++)
				staged[s * n + i] = p.crystal[s * g.crystals + other * n + i];
		__syncthreads();
		if (!(own > 0)) continue;
		const int64_t row = (a * g.rings + other) * partners;
		float part = 0, parts[SHIFTS + 1] = { 0 };

#pragma unroll 4
		for (int k = lane; k < partners; k += ISO_WARP) {
			const float q = __ldcs(p.t.q + row + k);
			int b = c + (int)g.distance + k;

			b -= b >= n ? n : 0;
			const float r = p.t.r ? p.t.r[row + k] : own_rate * rate[b];
			const float x =
				term<WHAT, SHIFTS>(p, own * eps[b] * q, r, own_v + direction[b], row + k, q);

			part += x;
#pragma unroll
			for (int s = 0; s < SHIFTS; s++)
				if (s < p.shifts && q > 0) {
					const float d = slope(p, s, row + k, q);

					parts[s] += x * d * (WHAT == NORM_FISHER ? d : 1);
				}
		}
		sum += part;
#pragma unroll
		for (int s = 0; s < SHIFTS; s++) shift[s] += parts[s];
	}
	sum = iso_warp_sum(sum);
	if (lane == 0 && c < n) p.sum[a] = sum;
#pragma unroll
	for (int s = 0; s < SHIFTS; s++) {
		if (s >= p.shifts) continue;
		const double all = iso_warp_sum(shift[s]);

		if (lane == 0 && c < n) p.sum[(1 + s) * g.crystals + a] = all;
	}
}

/* eps, rates and directions of a scan, as floats. */
static int load_crystals(struct norm_device *d, const struct norm_fit *f, const struct norm_scan *s,
                         const double *v)
{
	const int64_t n = d->ring.crystals;

	for (int64_t a = 0; a < n; a++) {
		d->host[a] = (float)f->eps[a];
		d->host[n + a] = s->rate ? (float)s->rate[a] : 0;
		d->host[2 * n + a] = v ? (float)v[a] : 0;
	}
	return d->ctx->vec->upload(d->ctx, d->crystal, d->host, 3 * n * (int64_t)sizeof *d->host);
}

template <int WHAT> static void start(const struct pass &p, cudaStream_t stream)
{
	const int blocks = (int)(p.ring.rings * ((p.ring.n + ROWS - 1) / ROWS));
	const size_t shared = 3 * (size_t)p.ring.n * sizeof(float);

	if (p.shifts > 0)
		sum_rows<WHAT, NORM_SHIFTS><<<blocks, ISO_THREADS, shared, stream>>>(p);
	else
		sum_rows<WHAT, 0><<<blocks, ISO_THREADS, shared, stream>>>(p);
}

static int launch(const struct pass &p, enum norm_sum what, iso_ctx *ctx)
{
	cudaStream_t stream = iso_stream(ctx);

	if (what == NORM_EXPECTED)
		start<NORM_EXPECTED>(p, stream);
	else if (what == NORM_FISHER)
		start<NORM_FISHER>(p, stream);
	else if (what == NORM_PRODUCT)
		start<NORM_PRODUCT>(p, stream);
	else
		start<NORM_USED>(p, stream);
	return iso_cuda_launched("norm: pass over pairs");
}

static struct pass pass_of(struct norm_device *d, const struct norm_fit *f, int scan, const double *v)
{
	const struct norm_scan *s = f->scan + scan;
	const int64_t n = f->rows->n, classes = f->classes->n_t; /* parameters: eps, t, z, shifts */
	const int64_t at = n + classes + f->classes->n_z;
	struct pass p = {};
	int64_t first = at;

	p.ring = d->ring;
	p.t = d->scan[scan];
	p.shifts = s->shifts;
	p.factor = (float)(f->t[0] * f->z[0]);
	for (int i = 0; i < scan; i++) first += f->scan[i].shifts;
	p.v = v ? (float)(v[n] + v[n + classes]) : 0;
	for (int c = 0; c < s->shifts; c++) p.shift_v[c] = v ? (float)v[first + c] : 0;
	p.crystal = d->crystal;
	p.sum = d->sum;
	return p;
}

/* Each pair was added to both its rows. */
static void take_sums(double *to, double *total, const struct norm_device *d, const struct pass &p,
                      int64_t at_shift)
{
	const int64_t n = d->ring.crystals;

	for (int64_t a = 0; a < n; a++) {
		to[a] += d->host_sum[a];
		*total += .5 * d->host_sum[a];
	}
	for (int s = 0; s < p.shifts; s++)
		for (int64_t a = 0; a < n; a++) to[at_shift + s] += .5 * d->host_sum[(1 + s) * n + a];
}

static int sum(double *to, double *total, struct norm_device *d, const struct norm_fit *f, enum norm_sum what,
               const double *v)
{
	int64_t at = f->rows->n + f->classes->n_t + f->classes->n_z, all = at;
	int st = iso_cuda_use(d->ctx);

	for (int s = 0; s < f->scans; s++) all += f->scan[s].shifts;
	for (int64_t p = 0; p < all; p++) to[p] = 0;
	*total = 0;
	for (int s = 0; s < f->scans && !st; s++) {
		const struct pass p = pass_of(d, f, s, v);

		if ((st = load_crystals(d, f, f->scan + s, v)) || (st = launch(p, what, d->ctx)) ||
		    (st = d->ctx->vec->download(d->ctx, d->host_sum, d->sum,
		                                (1 + p.shifts) * d->ring.crystals * (int64_t)sizeof *d->sum)))
			break;
		take_sums(to, total, d, p, at);
		at += p.shifts;
	}
	return st;
}

extern "C" {
extern const struct norm_device_fn iso_norm_device_cuda;
const struct norm_device_fn iso_norm_device_cuda = { create, load, sum, free_device };
}
