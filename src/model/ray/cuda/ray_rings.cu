/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity by equal rings on CUDA (model/ray/ray_rings.h, ray_means.h), some offsets at a time: their
   tables are blended, the means of their pairs found, a block of threads a pair, and lines in the plane
   traced, a warp a line and 32 slices. */
#include "core/loop/fixed.cuh"
#include "model/ray/ray_means.h"

#define BLOCKS 4    /* of pairs, on a multiprocessor */
#define TRACERS 512 /* threads of a block that traces */
#define RUN 64      /* pairs that it traces, at most */
#define LEAST 1e-4f /* sum of shapes of a cell; below are rounding errors */

/* What a line in the plane leaves in a pixel of mu; 16 bytes, to be read at once. */
struct alignas(16) part {
	int pixel;
	float length, at; /* mm; t, in steps */
	int unused;
};

/* The rings of a line. */
struct ends {
	short i, k;
};

/* A pair in the plane, as all threads of its block see it. */
struct sheet {
	struct rings_line line; /* in the plane of mu */
	int64_t crystal[2];
	int low, high;   /* cells of its pixels */
	int first, last; /* steps that meet mu; none if first > last */
	double per_step; /* slices of the plane of mu from step to step */
};

struct work {
	struct ray_rings r, map; /* map: one line a pair, in the plane of mu */
	struct ray_means m;
	bool means;
	float *table;      /* (offsets, kinds, RINGS_STEPS + 1, nz) of a batch */
	float *mean;       /* of a round: ray_means.h */
	float *over;       /* (offsets, kinds, cells, slices) of it: 1 over the sum of shapes; 0: no line */
	struct part *part; /* (blocks, parts): of each block's pair */
	int blocks, parts;
	/* Lines by the difference of their rings, the greatest first, so that the lanes of a warp walk as far as
	   each other, and meet neither each other's parts nor many of their banks */
	const struct ends *line;
	int lines;
	int floats;                /* in shared memory, of a sheet, then of some slices' cells */
	float scale;               /* of sums of factors, as integers */
	struct iso_fixed_cuda acc; /* (pixels, nz) */
};

/* ---- tables ---- */

static __global__ void blend(struct ray_rings r, float *table, int64_t first, int64_t n)
{
	int64_t size = (int64_t)(RINGS_STEPS + 1) * r.nz;

	ISO_GRID_LOOP (i, n * r.kinds * size) {
		double share[4], sum = 0;
		int64_t which = i / size, o = first + which / r.kinds, kind = which % r.kinds;
		int node = rings_between(&r, r.apart[o], share);

		for (int k = 0; k < 4; k++)
			sum += share[k] * r.table[(kind * RINGS_NODES + node + k) * size + i % size];
		table[i] = (float)sum;
	}
}

/* ---- the lines of a pair ---- */

/* Pair k: its line in the plane of mu, and what is needed of it. By the whole block. */
static __device__ void open_sheet(struct sheet *s, const struct work *w, int64_t k)
{
	const struct ray_means *m = &w->m;

	if (threadIdx.x == 0) {
		double p1[3], p2[3];

		rings_crystals(&w->r, k, s->crystal, s->crystal + 1, p1, p2);
		s->low = m->cells;
		s->high = s->last = -1;
		s->first = 0;
		if (m->column) {
			s->line = rings_line(&w->map, k, 0);
			s->per_step = 1 / (s->line.per_x * m->steps);
			double a = rings_t(&s->line, s->line.ray.x0), b = rings_t(&s->line, s->line.ray.x1);

			if (s->line.ray.k0 < s->line.ray.k1) {
				s->first = (int)(fmin(a, b) * m->steps);
				s->last = min((int)(fmax(a, b) * m->steps) + 1, m->steps);
			}
		}
	}
	__syncthreads();
	for (int kind = threadIdx.x; kind < w->r.kinds; kind += blockDim.x) {
		struct rings_line l = rings_line(&w->r, k, kind);
		int low, high;

		if (l.ray.k0 >= l.ray.k1) continue;
		means_cells(m, &l, &low, &high);
		atomicMin(&s->low, low);
		atomicMax(&s->high, high);
	}
	__syncthreads();
}

/* The parts of its line, two a slice of the plane, on either side of where it changes pixel; some of length 0. */
static __device__ void find_parts(struct part *part, const struct sheet *s, const struct ray_means *m)
{
	const struct ray *ray = &s->line.ray;

	for (int k = ray->k0 + threadIdx.x; k < ray->k1; k += blockDim.x) {
		struct ray_cut cut = ray_cut_slice(ray, k);
		/* the plane has one slice along z, which is never left */
		float x[3] = { cut.x[0], cut.voxel[1] == cut.voxel[0] ? cut.x[2] : cut.x[1], cut.x[3] };

		for (int i = 0; i < 2; i++) {
			double middle = .5 * ((double)x[i] + x[i + 1]);
			struct part p = { cut.voxel[2 * i], (x[i + 1] - x[i]) * ray->len,
				          (float)(rings_t(&s->line, middle) * m->steps) };

			part[2 * (k - ray->k0) + i] = p;
		}
	}
}

/* Slices of the plane within a step on either side. */
static __device__ void slices_between(const struct sheet *s, int step, int *k0, int *k1)
{
	const struct rings_line *l = &s->line;
	float a = (float)(l->from + (step - 1) * s->per_step);
	float b = (float)(l->from + (step + 1) * s->per_step);

	*k0 = max((int)floorf(fminf(a, b)), l->ray.k0);
	*k1 = min((int)floorf(fmaxf(a, b)) + 1, l->ray.k1);
}

/* sheet[step - first][row] = mu along t around the step: a warp a step. */
static __device__ void fill_sheet(float *sheet, const struct part *part, const struct sheet *s,
                                  const struct ray_means *m)
{
	int rows = m->nz + MEANS_PAD, warps = blockDim.x / ISO_WARP, k0, k1;

	for (int step = s->first + threadIdx.x / ISO_WARP; step <= s->last; step += warps) {
		slices_between(s, step, &k0, &k1);
		for (int row = threadIdx.x % ISO_WARP; row < rows; row += ISO_WARP) {
			const float *mu = m->column + row - 1;
			float sum = 0;

			if (row > 0 && row <= m->nz)
				for (int n = 2 * (k0 - s->line.ray.k0); n < 2 * (k1 - s->line.ray.k0); n++) {
					struct part p = part[n];
					float share = p.length * (1 - fabsf(p.at - (float)step));

					if (share > 0) sum = fmaf(share, mu[(int64_t)p.pixel * m->nz], sum);
				}
			sheet[(step - s->first) * rows + row] = sum;
		}
	}
}

#define ROW_BITS 20 /* of a row's coordinate, after the binary point */

/* Integral of mu along a line, as it is in the plane, from row a at t = 0 to row b at t = 1. */
static __device__ float integral(const float *sheet, const struct sheet *s, const struct ray_means *m,
                                 float a, float b)
{
	int rows = m->nz + MEANS_PAD, top = m->nz + 1;
	float each = (b - a) / (float)m->steps, at = fmaf(each, (float)s->first - .25f, a), sum = 0;
	int row = __float2int_rn(ldexpf(at, ROW_BITS)), half = __float2int_rn(ldexpf(.5f * each, ROW_BITS));

	for (int step = s->first; step <= s->last; step++, sheet += rows) {
		sum += sheet[max(min(row >> ROW_BITS, top), 0)];
		row += half;
		sum += sheet[max(min(row >> ROW_BITS, top), 0)];
		row += half;
	}
	return .5f * sum;
}

/* factor[i][k] = shape times attenuation and efficiencies; l: mm in the plane. */
static __device__ void fill_factors(float *factor, const float *sheet, const struct sheet *s,
                                    const struct work *w, float l)
{
	const struct ray_means *m = &w->m;
	int64_t per_ring = w->r.pairs.per_ring;

	for (int n = threadIdx.x; n < m->rings * m->rings; n += blockDim.x) {
		int i = n / m->rings, k = n % m->rings;
		float tilt = means_tilt(m, l, i, k), f = means_shape(m, tilt, i, k);

		if (m->column && f > 0)
			f *= expf(-sqrtf(tilt) * integral(sheet, s, m, means_row(m, i), means_row(m, k)));
		if (m->eff) f *= m->eff[i * per_ring + s->crystal[0]] * m->eff[k * per_ring + s->crystal[1]];
		factor[n] = f;
	}
}

/* ---- means ---- */

/* Parts of slices at work, and their cells in shared memory: (cells + 2, n). */
struct cells {
	unsigned *sum; /* how factors change from cell to cell, then their sum */
	int first, n;  /* parts */
	int low, high; /* cells */
	float scale;
};

/* Adds f to the factor of part p in all cells from `cell` on: f - next from `cell` itself, the rest from the cell behind
   it. */
static __device__ void change(const struct cells *c, int p, int cell, unsigned f, unsigned next)
{
	p -= c->first;
	if (p < 0 || p >= c->n) return;
	atomicAdd(c->sum + cell * c->n + p, f - next);
	atomicAdd(c->sum + (cell + 1) * c->n + p, next);
}

/* Adds one line to the parts that it passes. Where the line leaves a part, exactly the number is subtracted that was added
   where it entered. */
static __device__ void enter_line(const struct cells *c, const struct ray_means *m, float z, float z_k,
                                  float factor)
{
	struct means_walk a = means_walk(m, z, z_k, c->low, c->high);
	float cells = (float)(c->high - c->low + 1);
	unsigned f = (unsigned)__float2int_rn(factor * c->scale);
	/* parts that are passed before the first that counts */
	int skip = a.up > 0 ? c->first - 1 - a.now : a.now - (c->first + c->n);

	if (f == 0) return;
	unsigned beside = (unsigned)(int)rintf(a.beside * (float)(int)f);

	change(c, a.now, 0, f - beside, 0);
	if (beside) change(c, a.now + a.up, 0, beside, 0);
	if (skip > 0) {
		skip = min(skip, a.left);
		a.now += a.up * skip;
		a.at += a.every * (float)skip;
		a.left -= skip;
	}
	for (; a.left > 0 && a.at < cells; a.left--, a.at += a.every) {
		int cell = (int)a.at;
		unsigned next = (unsigned)(int)rintf((a.at - (float)cell) * (float)(int)f);

		change(c, a.now, cell, 0 - f, 0 - next);
		a.now += a.up;
		change(c, a.now, cell, f, next);
		if (a.up > 0 ? a.now >= c->first + c->n : a.now < c->first) return;
	}
}

/* c->sum = sums of factors of each cell and part, by lines of a kind. By the whole block. */
static __device__ void fill_cells(const struct cells *c, const float *factor, const struct work *w, int kind)
{
	const struct ray_means *m = &w->m;
	const struct ray_spread *spread = &w->r.spread;
	double up = rings_up(spread, kind, 0), up_k = rings_up(spread, kind, 1);
	int cells = c->high - c->low + 1;

	for (int i = threadIdx.x; i < (cells + 2) * c->n; i += blockDim.x) c->sum[i] = 0;
	__syncthreads();
	for (int n = threadIdx.x; n < w->lines; n += blockDim.x) {
		struct ends e = w->line[n];

		if (means_join(m, spread, kind, e.i, e.k))
			enter_line(c, m, means_part(m, e.i, up), means_part(m, e.k, up_k),
			           factor[e.i * m->rings + e.k]);
	}
	__syncthreads();
	for (int p = threadIdx.x; p < c->n; p += blockDim.x) {
		unsigned sum = 0;

		for (int cell = 0; cell <= cells; cell++) {
			sum += c->sum[cell * c->n + p];
			c->sum[cell * c->n + p] = sum;
		}
	}
	__syncthreads();
}

/* Of slice j, cell c->low + cell. */
static __device__ float slice_sum(const struct cells *c, const struct ray_means *m, int cell, int j)
{
	float all = 0;

	for (int p = means_first(m, j); p <= means_last(m, j); p++) {
		const unsigned *at = c->sum + cell * c->n + p - c->first;
		float beside = (float)(int)at[c->n] + (cell > 0 ? (float)(int)at[-c->n] : 0);

		all += means_counts(m, j, p) * ((float)(int)at[0] + MEANS_NEXT * beside);
	}
	return fmaxf(all, 0) / c->scale;
}

/* leave(cell, slice, sum of factors) for all, by lines of a kind. memory: shared, w->floats. By the whole block. */
template <class F>
static __device__ void each_cell(float *memory, const float *factor, const struct work *w, int kind, int low,
                                 int high, float scale, F leave)
{
	const struct ray_means *m = &w->m;
	int most = w->floats / (high - low + 3); /* parts at a time */

	for (int j = 0, end; j < m->slices; j = end) {
		struct cells c = { (unsigned *)memory, means_first(m, j), 0, low, high, scale };

		for (end = j + 1; end < m->slices && means_last(m, end) < c.first + most;) end++;
		c.n = means_last(m, end - 1) - c.first + 1;
		fill_cells(&c, factor, w, kind);
		for (int i = threadIdx.x; i < (high - low + 1) * (end - j); i += blockDim.x) {
			int cell = i / (end - j), slice = j + i % (end - j);

			leave(low + cell, slice, slice_sum(&c, m, cell, slice));
		}
		__syncthreads();
	}
}

/* Where `over` has offset o and a kind of lines. */
static __device__ float *over_at(const struct work *w, const struct means_round *round, int64_t o, int kind)
{
	int64_t which = (o - round->o0) * (round->k1 - round->k0) + kind - round->k0;

	return w->over + which * w->m.cells * w->m.slices;
}

/* Shapes alone, a block an offset and kind of the round. */
static __global__ void find_over(struct work w, struct means_round round)
{
	extern __shared__ float memory[];
	const struct ray_means *m = &w.m;
	float *factor = memory + w.floats;
	int kinds = round.k1 - round.k0;

	for (int64_t b = blockIdx.x; b < (round.o1 - round.o0) * kinds; b += gridDim.x) {
		int64_t o = round.o0 + b / kinds;
		int kind = round.k0 + (int)(b % kinds);
		float *over = over_at(&w, &round, o, kind);

		for (int n = threadIdx.x; n < m->rings * m->rings; n += blockDim.x) {
			int i = n / m->rings, k = n % m->rings;

			factor[n] = means_shape(m, means_tilt(m, (float)w.r.apart[o], i, k), i, k);
		}
		__syncthreads();
		each_cell(memory, factor, &w, kind, 0, m->cells - 1, w.scale,
		          [&](int cell, int j, float sum) {
				  over[(int64_t)cell * m->slices + j] = sum > LEAST ? 1 / sum : 0;
			  });
	}
}

/* The n pairs of the round, from pair `first` on, a block each at a time. */
static __global__ void __launch_bounds__(ISO_THREADS, BLOCKS)
	find_means(struct work w, struct means_round round, float scale, int64_t first, int64_t n)
{
	extern __shared__ float memory[];
	__shared__ struct sheet s;
	const struct ray_means *m = &w.m;
	struct part *part = w.part + (int64_t)blockIdx.x * w.parts;
	float *factor = memory + w.floats;

	for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
		int64_t o = (first + i) / w.r.pairs.per_ring;

		open_sheet(&s, &w, first + i);
		if (s.low <= s.high) {
			if (m->column) find_parts(part, &s, m);
			__syncthreads();
			if (m->column) fill_sheet(memory, part, &s, m);
			__syncthreads();
			fill_factors(factor, memory, &s, &w, (float)w.r.apart[o]);
			__syncthreads();
			for (int kind = round.k0; kind < round.k1; kind++) {
				const float *over = over_at(&w, &round, o, kind);
				float *mean = w.mean + means_place(m, &round, i, 0, kind);

				each_cell(memory, factor, &w, kind, s.low, s.high, scale,
				          [&](int cell, int j, float sum) {
						  mean[(int64_t)cell * m->stride + j] =
							  sum * over[(int64_t)cell * m->slices + j];
					  });
			}
		}
		__syncthreads();
	}
}

/* ---- lines in the plane ---- */

/* What a lane knows: a line, its tables and means, and a slice, of the warp's 32. */
struct trace {
	const float *table, *mean; /* at the slice; mean NULL: 1 */
	unsigned long long *acc;   /* the slice of pixel 0 */
	float from, per_x;         /* t = from + per_x x */
	float scale;               /* of the line, in units of acc */
};

static __device__ float t_at(const struct trace *l, float x)
{
	return fminf(fmaxf(fmaf(l->per_x, x, l->from), 0), 1);
}

static __device__ float column_at(const struct trace *l, const struct ray_rings *r, float t)
{
	float at = t * RINGS_STEPS, m = fminf(floorf(at), RINGS_STEPS - 1);
	const float *low = l->table + (int64_t)m * r->nz;

	return fmaf(at - m, low[r->nz] - low[0], low[0]);
}

static __device__ int cell_at(const struct ray_means *m, float t)
{
	return min((int)(t * m->cells), m->cells - 1);
}

static __device__ float mean_of(const struct trace *l, const struct ray_means *m, int cell)
{
	return l->mean[(int64_t)cell * m->stride];
}

static __device__ void add(const struct trace *l, const struct ray_rings *r, int pixel, float v)
{
	atomicAdd(l->acc + (int64_t)pixel * r->nz, (unsigned long long)__float2ll_rn(v * l->scale));
}

/* Where a line is on its way, and the table there. */
struct way {
	float t, column;
};

/* What is left from there to t, cell by cell: in each the mean is that of the lines there. */
static __device__ float go_to(struct way *way, const struct trace *l, const struct work *w, float t)
{
	const struct ray_means *m = &w->m;
	int cell = l->mean ? cell_at(m, way->t) : 0, last = l->mean ? cell_at(m, t) : 0;
	int up = last < cell ? -1 : 1;
	float sum = 0;

	for (;; cell += up) {
		float to = cell == last ? t : (float)(up > 0 ? cell + 1 : cell) / (float)m->cells;
		float here = column_at(l, &w->r, to), left = fabsf(here - way->column);

		sum += l->mean ? left * mean_of(l, m, cell) : left;
		way->column = here;
		if (cell == last) break;
	}
	way->t = t;
	return sum;
}

static __device__ void trace_chords(const struct trace *l, const struct work *w, const struct ray *ray)
{
	struct way way = { t_at(l, ray->x0), 0 };

	way.column = column_at(l, &w->r, way.t);
	for (int k = ray->k0; k < ray->k1; k++) {
		struct ray_cut cut = ray_cut_slice(ray, k);

		for (int i = 0; i < 3; i++)
			if (cut.x[i + 1] > cut.x[i])
				add(l, &w->r, cut.voxel[i], go_to(&way, l, w, t_at(l, cut.x[i + 1])));
	}
}

static __device__ void trace_samples(const struct trace *l, const struct work *w, const struct ray *ray)
{
	for (int k = ray->k0; k < ray->k1; k++) {
		struct ray_sample s = ray_sample_slice(ray, k);
		float x0 = fmaxf((float)k, ray->x0), x1 = fmaxf(x0, fminf((float)(k + 1), ray->x1));
		float t = t_at(l, .5f * (x0 + x1)), v = column_at(l, &w->r, t) * (x1 - x0) * fabsf(l->per_x);

		if (l->mean) v *= mean_of(l, &w->m, cell_at(&w->m, t));
		for (int i = 0; i < 2; i++) add(l, &w->r, s.voxel[i], v * s.share[i]);
	}
}

/* Line `kind` of pair i of the round, at slice z. */
static __device__ struct trace trace_of(const struct work *w, const struct means_round *round,
                                        const struct rings_line *l, int64_t i, int kind, int z)
{
	int64_t size = (int64_t)(RINGS_STEPS + 1) * w->r.nz, o = i / w->r.pairs.per_ring;
	struct trace t = { w->table + (o * w->r.kinds + kind) * size + z,
		           w->means ? w->mean + means_place(&w->m, round, i, 0, kind) + z : NULL,
		           w->acc.v + z,
		           (float)(-l->from * l->per_x),
		           (float)l->per_x,
		           (float)(l->scale * w->acc.scale) };

	return t;
}

/* By a warp: line `kind` of pair i of the round, at slice z. */
static __device__ void trace_line(const struct work *w, const struct means_round *round, int64_t i, int kind,
                                  int z)
{
	struct rings_line l = rings_line(&w->r, rings_first(&w->r, round->o0) + i, kind);

	if (z >= w->r.nz || l.ray.k0 >= l.ray.k1) return;
	struct trace t = trace_of(w, round, &l, i, kind, z);

	if (w->r.projector == ISO_JOSEPH)
		trace_samples(&t, w, &l.ray);
	else
		trace_chords(&t, w, &l.ray);
}

static __host__ __device__ int chunks_of(const struct ray_rings *r)
{
	return (r->nz + ISO_WARP - 1) / ISO_WARP;
}

static __host__ __device__ int64_t runs_of(const struct ray_rings *r)
{
	return (r->pairs.per_ring + RUN - 1) / RUN;
}

/* A round: a warp a line and 32 slices. A block has a run of pairs of one offset and kind and of the
   same slices, of which one table tells: it stays in the first-level cache. */
static __global__ void __launch_bounds__(TRACERS, 2) trace(struct work w, struct means_round round)
{
	int chunks = chunks_of(&w.r), lane = threadIdx.x % ISO_WARP, kinds = round.k1 - round.k0;
	int64_t runs = runs_of(&w.r), n = round.o1 - round.o0;

	for (int64_t i = blockIdx.x; i < n * kinds * chunks * runs; i += gridDim.x) {
		int64_t of = i / runs, o = of / chunks / kinds, begin = i % runs * RUN;
		int64_t end = min(begin + RUN, rings_count(&w.r, round.o0 + o));
		int z = (int)(of % chunks) * ISO_WARP + lane, kind = round.k0 + (int)(of / chunks % kinds);

		for (int64_t k = begin + threadIdx.x / ISO_WARP; k < end; k += blockDim.x / ISO_WARP)
			trace_line(&w, &round, rings_first(&w.r, o) + k, kind, z);
	}
}

/* From (pixels, nz) to (nz, pixels). */
static __global__ void leave(iso_real *s, struct iso_fixed_cuda acc, int nz)
{
	int64_t pixels = acc.n / nz;

	ISO_GRID_LOOP (i, acc.n)
		s[i] = (iso_real)((double)(long long)acc.v[i % pixels * nz + i / pixels] / acc.scale);
}

/* ---- all of it ---- */

static int64_t pairs_of(const struct ray_rings *r, int64_t o0, int64_t o1)
{
	return rings_first(r, o1 - 1) + rings_count(r, o1 - 1) - rings_first(r, o0);
}

static int64_t sheet_floats(const struct ray_means *m)
{
	int64_t sheet = m->column ? (int64_t)(m->steps + 1) * (m->nz + MEANS_PAD) : 0;
	int64_t least = (int64_t)(m->cells + 2) * (2 * (int)ceilf(m->width) + 1) * m->sub; /* one slice */

	least = least > 8192 ? least : 8192;
	return sheet > least ? sheet : least;
}

static int shared_bytes(const struct work *w)
{
	return (w->floats + w->m.rings * w->m.rings) * (int)sizeof(float);
}

/* Sums of a part and cell stay below 2^30. Each ring at one end sees it through a few at the other. */
static float scale_of(const struct work *w, double eff)
{
	const struct ray_means *m = &w->m;
	double few = fmin(m->rings, 2 * m->part / m->pitch + 2);
	double most = m->solid_angle ? 1 : hypot(1, m->pitch * m->rings / w->r.node[0]);

	return (float)ldexp(1, 29 - ilogb(fmax(m->rings * few * most * eff * eff, 1e-30)));
}

static void send_tables(struct work *w, struct iso_room *room)
{
	struct ray_rings *r = &w->r;
	struct ray_means *m = &w->m;

	ISO_UPLOAD(room, r->pos, r->pos, 3 * r->pairs.per_ring);
	ISO_UPLOAD(room, r->apart, r->apart, r->offsets);
	ISO_UPLOAD(room, r->table, r->table, (int64_t)r->kinds * RINGS_NODES * (RINGS_STEPS + 1) * r->nz);
	if (!w->means) return;
	ISO_UPLOAD(room, m->eff, m->eff, m->rings * r->pairs.per_ring);
	ISO_UPLOAD(room, m->column, m->column, (int64_t)m->plane.n[0] * m->plane.n[1] * m->nz);
}

/* Lines of rings in coincidence, as means_shape has them. */
static void send_lines(struct work *w, struct iso_room *room)
{
	const struct ray_means *m = &w->m;
	struct ends *line;

	if (!ISO_HOST(room, line, m->rings * m->rings)) return;
	for (int d = m->rings - 1; d >= 0; d--)
		for (int down = 0; down < (d > 0 ? 2 : 1) && d < m->reach + 1; down++)
			for (int i = 0; i + d < m->rings; i++) {
				struct ends up = { (short)i, (short)(i + d) };

				line[w->lines++] = down ? ends{ up.k, up.i } : up;
			}
	ISO_UPLOAD(room, w->line, line, w->lines);
}

/* Memory for the means of a round of at most o1 offsets and k1 kinds. */
static int open_means(struct work *w, struct iso_room *room, struct means_round most)
{
	int multiprocessors = 1;
	cudaError_t e = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
	                                       room->ctx->cuda_device);

	w->floats = (int)sheet_floats(&w->m);
	w->blocks = BLOCKS * multiprocessors;
	w->parts = 2 * max(w->m.plane.n[0], w->m.plane.n[1]);
	send_lines(w, room);
	ISO_DEVICE(room, w->mean, most.o1 * most.k1 * w->r.pairs.per_ring * means_size(&w->m));
	ISO_DEVICE(room, w->over, most.o1 * most.k1 * w->m.cells * w->m.slices);
	ISO_DEVICE(room, w->part, (int64_t)w->blocks * w->parts);
	if (room->status) return room->status;
	if (!e)
		e = cudaFuncSetAttribute(find_over, cudaFuncAttributeMaxDynamicSharedMemorySize,
		                         shared_bytes(w));
	if (!e)
		e = cudaFuncSetAttribute(find_means, cudaFuncAttributeMaxDynamicSharedMemorySize,
		                         shared_bytes(w));
	if (e) return iso_cuda_check("lines between rings", e);
	w->map = w->r;
	w->map.plane = w->m.plane;
	w->map.spread.lines = 1;
	w->scale = scale_of(w, 1);
	return ISO_OK;
}

/* Its sums without attenuation and efficiencies, its means, and its lines in the plane. */
static void start_round(const struct work *w, iso_ctx *ctx, struct means_round round, float scale)
{
	int64_t first = rings_first(&w->r, round.o0), n = pairs_of(&w->r, round.o0, round.o1);
	double blocks = (double)(round.o1 - round.o0) * (round.k1 - round.k0) * chunks_of(&w->r) *
	                (double)runs_of(&w->r);

	if (w->means) {
		find_over<<<w->blocks, ISO_THREADS, shared_bytes(w), iso_stream(ctx)>>>(*w, round);
		find_means<<<w->blocks, ISO_THREADS, shared_bytes(w), iso_stream(ctx)>>>(*w, round, scale,
		                                                                         first, n);
	}
	trace<<<(unsigned)fmin(blocks, 1 << 20), TRACERS, 0, iso_stream(ctx)>>>(*w, round);
}

/* Offsets o0 .. o1, by all kinds of lines, so many at a time. */
static int batch(const struct work *w, iso_ctx *ctx, int64_t o0, int64_t o1, int kinds, float scale)
{
	blend<<<2048, ISO_THREADS, 0, iso_stream(ctx)>>>(w->r, w->table, o0, o1 - o0);
	for (int k = 0; k < w->r.kinds; k += kinds) {
		struct means_round round = { o0, o1, k, min(k + kinds, w->r.kinds) };

		start_round(w, ctx, round, scale);
	}
	return iso_cuda_check("sensitivity", cudaStreamSynchronize(iso_stream(ctx)));
}

static int trace_all(struct work *w, struct iso_room *room, const struct ray_sens *q, double eff)
{
	struct means_round most = means_batch(q, w->means ? &w->m : NULL);
	iso_ctx *ctx = room->ctx;
	int64_t offsets = w->r.offsets, each = most.o1;
	int st;

	if (iso_ranks(ctx) > 1 && each > offsets / (4 * iso_ranks(ctx)) + 1) /* several batches a rank */
		each = offsets / (4 * iso_ranks(ctx)) + 1;
	ISO_DEVICE(room, w->table, each * w->r.kinds * (RINGS_STEPS + 1) * w->r.nz);
	iso_fixed_open(&w->acc, room, (int64_t)w->r.plane.n[0] * w->r.plane.n[1] * w->r.nz);
	if ((st = room->status) || (w->means && (st = open_means(w, room, most)))) return st;
	float scale = w->means ? scale_of(w, eff) : 1;

	st = iso_fixed_begin(&w->acc, ctx, q->bound);
	for (int64_t o = iso_rank(ctx) * each; o < offsets && !st; o += iso_ranks(ctx) * each) {
		int64_t end = offsets - o < each ? offsets : o + each;

		if (!(st = batch(w, ctx, o, end, most.k1, scale))) st = iso_ctx_poll(ctx);
		ray_sens_step(q, (double)end / (double)offsets);
	}
	return st;
}

/* The greatest efficiency. */
static double largest(const struct ray_rings *r, const struct ray_means *m)
{
	double most = m && m->eff ? 0 : 1;

	for (int64_t i = 0; m && m->eff && i < m->rings * r->pairs.per_ring; i++)
		most = fmax(most, (double)m->eff[i]);
	return most;
}

/* Two blocks fit a multiprocessor of 228 KiB; other cards have as little as 64 for a block. */
extern "C" int64_t iso_ray_sheet_cuda(const iso_ctx *ctx)
{
	int bytes = 0;

	cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx->cuda_device);
	return bytes < 112000 ? bytes - 2048 : 110000;
}

extern "C" int iso_ray_rings_cuda(iso_real *s, iso_ctx *ctx, const struct ray_sens *q,
                                  const struct ray_rings *r, const struct ray_means *m)
{
	struct iso_room room = iso_room_of(ctx, "sensitivity");
	struct work w = ISO_ZERO;
	double eff = largest(r, m);
	iso_real *image;
	int st;

	w.r = *r;
	w.means = m != NULL;
	if (m) w.m = *m;
	send_tables(&w, &room);
	if (!(st = room.status)) st = trace_all(&w, &room, q, eff);
	st = iso_fixed_sum(&w.acc, ctx, st);
	if (!st && ISO_DEVICE(&room, image, w.acc.n)) {
		leave<<<iso_blocks(w.acc.n), ISO_THREADS, 0, iso_stream(ctx)>>>(image, w.acc, r->nz);
		if (!(st = iso_cuda_launched("sensitivity")))
			st = ctx->vec->download(ctx, s, image, w.acc.n * (int64_t)sizeof *s);
	}
	if (!st) st = room.status;
	iso_room_free(&room);
	return st;
}
