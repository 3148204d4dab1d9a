/* SPDX-License-Identifier: BSD-3-Clause */
/* Strategy correlation: all LORs of a direction are shifted copies of one row, so projecting them is
   a correlation of the taps with the phase planes F_p[y][s] = f(y, D s + p) of the image:

	forward   P_d[u]             = sum over taps k of d: w_k F_{p_k}[y_k][u + q_k]
	back      B_{p_k}[y_k][u + q_k] += w_k P_d[u]   for all taps k of all d

   Rows along z of P_d stay in registers while the taps of d go by, each with a window of its own of
   a row of F or B. Plane by plane, so that the rows in use stay in the nearest cache. Forward,
   threads take blocks of directions of a plane, back, they take planes: no two write to one place,
   and the order of a sum is that of the table, for any number of threads. */
#include "srm_correlate.h"
#include "srm_share.h"
#include "core/size.h"

#if defined(__aarch64__)
#	include <arm_neon.h>
#endif

/* ---- vectors ---- */

#if defined(__clang__)
#	define UNROLL _Pragma("unroll")
#else
#	define UNROLL _Pragma("GCC unroll 16")
#endif
#define MOST (SRM_VECTORS + 3) /* vectors of rows at once */
#define INLINE static inline __attribute__((always_inline))

typedef iso_real vec __attribute__((vector_size(SRM_LANES * sizeof(iso_real))));
typedef iso_real loose
	__attribute__((vector_size(SRM_LANES * sizeof(iso_real)), aligned(sizeof(iso_real)), may_alias));

INLINE vec load(const iso_real *p)
{
	return *(const loose *)p;
}

INLINE void store(iso_real *p, vec v)
{
	*(loose *)p = v;
}

/* sum + w v, fused where one instruction does it. */
INLINE vec fused(vec sum, vec v, iso_real w)
{
#if defined(__aarch64__) && !defined(ISO_DOUBLE)
	return (vec)vfmaq_n_f32((float32x4_t)sum, (float32x4_t)v, w);
#elif defined(__aarch64__)
	return (vec)vfmaq_n_f64((float64x2_t)sum, (float64x2_t)v, w);
#else
	return sum + v * w;
#endif
}

/* ---- a plane: rows (cell x, phase), with room for windows that reach beyond it ---- */

/* One pass over it: of plane y of the table or, by the same taps, of its mirror image. */
struct plane {
	const struct srm_op *m;
	int y;
	bool mirrored; /* the image plane is Ny-1-y, backwards */
	int rows;      /* Ncx P */
	iso_real *v;
	int64_t n, origin, row; /* values; place of the first cell; from a cell to the next along x */
	double *sum;            /* back: (cell x, phase, cell z), what was drained from v */
};

enum { DRAIN = 256 }; /* directions that are added up in v: the ends of long sums would be lost in float */

static int64_t plane_size(const struct srm_op *m)
{
	return (m->shape.nc[0] + 2 * (SRM_ROWS - 1)) * (int64_t)m->correlation->phases *
	       m->correlation->width;
}

static bool make_plane(struct plane *f, const struct srm_op *m, bool sums)
{
	int64_t row = (int64_t)m->correlation->phases * m->correlation->width;

	*f = (struct plane){ .m = m, .n = plane_size(m), .row = row };
	f->rows = m->shape.nc[0] * m->correlation->phases;
	f->origin = (SRM_ROWS - 1) * row + m->shape.nc[1];
	f->v = size_alloc(f->n, sizeof *f->v);
	if (sums) f->sum = size_alloc((int64_t)f->rows * m->shape.nc[1], sizeof *f->sum);
	return f->v && (f->sum || !sums);
}

static void free_plane(struct plane *f)
{
	free(f->v);
	free(f->sum);
}

static int no_plane(const struct srm_op *m)
{
	return iso_fail_memory("srm: phase planes", plane_size(m) * (int64_t)sizeof(iso_real));
}

/* Passes 0 ... Ny - 1, one for each plane of the image. With Ny odd the middle plane has one pass, as it is
   its own mirror image. */
static void set_pass(struct plane *f, int number)
{
	int half = f->m->correlation->half;

	f->mirrored = number >= half;
	f->y = f->mirrored ? number - half : number;
}

/* Row number cell x P + phase. */
static iso_real *row_of(const struct plane *f, int row)
{
	return f->v + f->origin + (int64_t)row * f->m->correlation->width;
}

/* The voxel at the first cell z of a row, and how far it is to the next cell's. */
static int64_t first_voxel(int64_t *step, const struct plane *f, int row)
{
	const struct srm_shape *s = &f->m->shape;
	int phases = s->d[0] * s->d[1], x = row / phases * s->d[0] + row % phases / s->d[1],
	    z = row % s->d[1];

	*step = srm_voxel_index(s, 0, 0, f->mirrored ? -s->d[1] : s->d[1]);
	if (!f->mirrored) return srm_voxel_index(s, f->y, x, z);
	return srm_voxel_index(s, s->planes - 1 - f->y, s->nc[0] * s->d[0] - 1 - x,
	                       s->nc[1] * s->d[1] - 1 - z);
}

static void drain(const struct plane *f)
{
	int nz = f->m->shape.nc[1];

	for (int row = 0; row < f->rows; row++) {
		double *sum = f->sum + (int64_t)row * nz;
		iso_real *v = row_of(f, row);

		for (int z = 0; z < nz; z++) {
			sum[z] += (double)v[z];
			v[z] = 0;
		}
	}
}

/* ---- rows of registers against the windows of taps ---- */

/* R rows of V vectors: sums of all windows, into `out`. */
INLINE void collect(const iso_real *f, iso_real *out, int64_t row, const struct srm_tap *t,
                    const struct srm_tap *end, const int R, const int V)
{
	vec sum[MOST];

	UNROLL for (int i = 0; i < R * V; i++) sum[i] = (vec){ 0 };
	for (; t < end; t++) {
		const iso_real *at = f + t->at;

		UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < V; v++) sum[r * V + v] =
			fused(sum[r * V + v], load(at + r * row + v * SRM_LANES), t->w);
	}
	UNROLL for (int i = 0; i < R * V; i++) store(out + i * SRM_LANES, sum[i]);
}

/* R rows of V vectors, from `in`, are added to every window. */
INLINE void spread(iso_real *b, iso_real *in, int64_t row, const struct srm_tap *t, const struct srm_tap *end,
                   const int R, const int V)
{
	vec value[MOST], sum[MOST];

	UNROLL for (int i = 0; i < R * V; i++) value[i] = load(in + i * SRM_LANES);
	for (; t < end; t++) {
		iso_real *at = b + t->at;

		UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < V; v++) sum[r * V + v] =
			fused(load(at + r * row + v * SRM_LANES), value[r * V + v], t->w);
		UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < V; v++)
			store(at + r * row + v * SRM_LANES, sum[r * V + v]);
	}
}

/* The loops above for sizes that the compiler knows: as many rows as there are registers for. */
#define CASE(R, V)          \
	case (V)*8 + (R):   \
		WORK(R, V); \
		break;
/* clang-format never comes to rest on a list of macros */
/* clang-format off */
#define SIZES \
	CASE(1, 1) CASE(2, 1) CASE(4, 1) CASE(1, 2) CASE(2, 2) CASE(4, 2) CASE(1, 3) CASE(2, 3) CASE(4, 3) \
	CASE(1, 4) CASE(2, 4) CASE(4, 4) CASE(1, 5) CASE(2, 5) CASE(1, 6) CASE(2, 6) CASE(1, 7) CASE(2, 7) \
	CASE(1, 8) CASE(1, 9) CASE(1, 10) CASE(1, 11) CASE(1, 12) CASE(1, 13)
/* clang-format on */

static void collect_any(const iso_real *f, iso_real *out, int64_t row, const struct srm_tap *t,
                        const struct srm_tap *end, int rows, int vectors)
{
#define WORK(R, V) collect(f, out, row, t, end, R, V)
	switch (vectors * 8 + rows) {
		SIZES
	}
#undef WORK
}

static void spread_any(iso_real *b, iso_real *in, int64_t row, const struct srm_tap *t,
                       const struct srm_tap *end, int rows, int vectors)
{
#define WORK(R, V) spread(b, in, row, t, end, R, V)
	switch (vectors * 8 + rows) {
		SIZES
	}
#undef WORK
}

static int rows_at_once(int vectors, int left)
{
	int most = vectors <= 4 ? 4 : vectors <= 7 ? 2 : 1;

	return left >= most ? most : left >= 2 ? 2 : 1;
}

/* ---- rows ux ... ux + n - 1 (from x0) of a direction, in pieces along z ---- */

struct rows {
	const struct srm_direction *d;
	int n, vectors; /* vectors of a piece */
	const struct srm_tap *tap, *end;
	int64_t at;    /* in the plane, of tap place 0 */
	int64_t first; /* data: place of (ux, z0), and the step along z */
	int step;
};

/* The first tap whose cell is qx or beyond; places of a cell begin up to Ncz before it. */
static const struct srm_tap *from_cell(const struct srm_tap *t, const struct srm_tap *end, int64_t qx,
                                       int64_t row, int reach)
{
	while (t < end) {
		const struct srm_tap *middle = t + (end - t) / 2;

		if (middle->at + reach < qx * row)
			t = middle + 1;
		else
			end = middle;
	}
	return t;
}

static int vectors_of(const struct srm_direction *d)
{
	int all = (d->nz + SRM_LANES - 1) / SRM_LANES, pieces = (all + SRM_VECTORS - 1) / SRM_VECTORS;

	return (all + pieces - 1) / pieces;
}

/* Taps that meet none of the cells x of the image are left out. A mirrored pass meets the LORs between the
   exchanged layers, backwards. */
static struct rows rows_of(const struct plane *f, const struct srm_direction *d, int ux, int n)
{
	const struct srm_op *m = f->m;
	const struct srm_tap *tap = m->correlation->tap;
	const int64_t *ptr = m->correlation->ptr + (int64_t)f->y * m->n_direction + (d - m->direction);
	int64_t skip = (int64_t)ux * d->nz, last = (int64_t)d->nx * d->nz - 1;
	int cell = d->x0 + ux, reach = m->shape.nc[1];
	struct rows w = { .d = d, .n = n, .vectors = vectors_of(d), .step = f->mirrored ? -1 : 1 };

	w.tap = from_cell(tap + ptr[0], tap + ptr[1], -(cell + n - 1), f->row, reach);
	w.end = from_cell(w.tap, tap + ptr[1], m->shape.nc[0] - cell, f->row, reach);
	w.at = f->origin + cell * f->row + d->z0;
	w.first = f->mirrored ? srm_direction_at(m, d->b, d->a, d->number)->first + last - skip
	                      : d->first + skip;
	return w;
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

static void forward_rows(iso_real *y, const struct plane *f, const struct rows *w)
{
	int piece = w->vectors * SRM_LANES, nz = w->d->nz;
	iso_real sum[MOST * SRM_LANES];

	for (int z = 0; z < nz && w->tap < w->end; z += piece) {
		collect_any(f->v + w->at + z, sum, f->row, w->tap, w->end, w->n, w->vectors);
		for (int r = 0; r < w->n; r++) {
			iso_real *to = y + w->first + w->step * ((int64_t)r * nz + z);

			for (int i = 0; i < smaller(piece, nz - z); i++)
				to[w->step * i] += sum[r * piece + i];
		}
	}
}

static void back_rows(const struct plane *b, const iso_real *y, const struct rows *w)
{
	int piece = w->vectors * SRM_LANES, nz = w->d->nz;

	for (int z = 0; z < nz && w->tap < w->end; z += piece) {
		iso_real value[MOST * SRM_LANES] = { 0 };

		for (int r = 0; r < w->n; r++) {
			const iso_real *from = y + w->first + w->step * ((int64_t)r * nz + z);

			for (int i = 0; i < smaller(piece, nz - z); i++)
				value[r * piece + i] = from[w->step * i];
		}
		spread_any(b->v + w->at + z, value, b->row, w->tap, w->end, w->n, w->vectors);
	}
}

/* ---- blocks of directions, and the operator ---- */

/* Forward into y, this rank's rows, or, with y NULL, back from `from`. */
static void apply_block(iso_real *y, const iso_real *from, const struct plane *f, const struct srm_block *b)
{
	const struct srm_direction *d = f->m->direction + b->first;
	const uint8_t *mine = f->m->correlation->mine + b->first;

	for (int ux = 0; ux < d->nx; ux += SRM_ROWS)
		for (int i = 0; i < b->n; i++) {
			int end = smaller(d->nx, ux + SRM_ROWS), n;

			if (y && !(mine[i] >> f->mirrored & 1)) continue;
			for (int x = ux; x < end; x += n) {
				n = rows_at_once(vectors_of(&d[i]), end - x);
				struct rows w = rows_of(f, &d[i], x, n);

				if (y)
					forward_rows(y, f, &w);
				else
					back_rows(f, from, &w);
			}
		}
}

static int forward_mine(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct srm_op *m = op->data;
	const struct srm_correlation *c = m->correlation;
	struct srm_subsets s = srm_subsets(m->n_sub, sub);
	struct iso_rows rows = iso_op_rows(op, sub);
	struct plane f;

	if (!make_plane(&f, m, false)) return no_plane(m);
	memset(y + rows.first, 0, (size_t)rows.n * sizeof *y);
	iso_op_counts(op, "project", "planes", m->shape.planes);
#pragma omp parallel num_threads(op->ctx->threads) firstprivate(f)
	for (int k = 0; k < m->shape.planes; k++) {
		set_pass(&f, k);
#pragma omp for
		for (int row = 0; row < f.rows; row++) {
			int64_t step, first = first_voxel(&step, &f, row);

			for (int z = 0; z < m->shape.nc[1]; z++) row_of(&f, row)[z] = x[first + z * step];
		}
#pragma omp for schedule(dynamic)
		for (int b = c->sub[s.first]; b < c->sub[s.end]; b++)
			if (!iso_ctx_cancelled(op->ctx)) apply_block(y, NULL, &f, &c->block[b]);
#pragma omp master
		iso_op_count(op, 1);
	}
	free_plane(&f);
	return iso_ctx_poll(op->ctx);
}

int iso_srm_correlate_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	return iso_srm_gather_rows(op, sub, y, forward_mine(op, sub, y, x));
}

static void back_plane(iso_real *x, const struct plane *f, int sub, const iso_real *y)
{
	const struct srm_correlation *c = f->m->correlation;
	struct srm_subsets s = srm_subsets(f->m->n_sub, sub);
	int directions = 0, nz = f->m->shape.nc[1];

	memset(f->v, 0, (size_t)f->n * sizeof *f->v);
	memset(f->sum, 0, (size_t)f->rows * (size_t)nz * sizeof *f->sum);
	for (const struct srm_block *b = c->block + c->sub[s.first]; b < c->block + c->sub[s.end]; b++) {
		apply_block(NULL, y, f, b);
		directions += b->n;
		if (directions < DRAIN) continue;
		drain(f);
		directions = 0;
	}
	drain(f);
	for (int row = 0; row < f->rows; row++) {
		int64_t step, first = first_voxel(&step, f, row);

		for (int z = 0; z < nz; z++) x[first + z * step] = (iso_real)f->sum[(int64_t)row * nz + z];
	}
}

/* The pass that gives a plane. */
static int pass_of(const struct srm_op *m, int y)
{
	int half = m->correlation->half;

	return y < half ? y : half + m->shape.planes - 1 - y;
}

static int back_mine(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct srm_op *m = op->data;
	struct iso_rows mine = srm_my_planes(m);
	bool failed = false;

	iso_op_counts(op, "backproject", "planes", mine.n);
#pragma omp parallel num_threads(op->ctx->threads) reduction(|| : failed)
	{
		struct plane f;

		failed = !make_plane(&f, m, true);
#pragma omp for schedule(dynamic)
		for (int64_t k = mine.first; k < mine.first + mine.n; k++) {
			set_pass(&f, pass_of(m, m->share->plane[k]));
			if (!failed && !iso_ctx_cancelled(op->ctx)) back_plane(x, &f, sub, y);
			iso_op_count(op, 1);
		}
		free_plane(&f);
	}
	return failed ? no_plane(m) : iso_ctx_poll(op->ctx);
}

int iso_srm_correlate_back(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	return iso_srm_gather_planes(op, x, back_mine(op, sub, x, y));
}
