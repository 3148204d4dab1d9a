/* SPDX-License-Identifier: BSD-3-Clause */
/* Strategy correlation: all LORs of a direction are shifted copies of one row, so projecting them is
   a correlation of the taps with the phase planes F_p[y][s] = f(y, D s + p) of the image:

	forward   P_d[u]    = sum over taps k of d: w_k F_{p_k}[y_k][u + q_k]
	back      B_p[y][s] = sum over d and taps k of y and p: w_k P_d[s - q_k]

   Both are gathers, contiguous along z. A row of sums stays in registers while the taps of a
   direction (forward) or of a block of directions (back) go by, one load a multiply-add. Plane by
   plane, so that the rows of F or P in use stay in the nearest cache. Forward, threads take blocks
   of a plane, back, planes: no two write to one place, and the order of a sum is that of the table,
   for any number of threads. */
#include "srm_correlate.h"
#include "core/size.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

/* ---- vectors ---- */

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

typedef iso_real vec __attribute__((vector_size(SRM_LANES * sizeof(iso_real))));
typedef iso_real loose __attribute__((vector_size(SRM_LANES * sizeof(iso_real)),
				      aligned(sizeof(iso_real)), may_alias));

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

/* ---- one pass: a plane, or its mirror image by the same taps ---- */

struct pass {
	int y;			/* of the table */
	bool mirrored;		/* the image plane is Ny-1-y, backwards */
};

/* The middle plane of an odd number is its own mirror image: it is passed once. */
static int n_passes(const struct srm_op *m)
{
	return m->shape.planes;
}

static struct pass pass_of(const struct srm_op *m, int number)
{
	int half = m->correlation->half;

	return number < half ? (struct pass){ number, false }
			     : (struct pass){ number - half, true };
}

/* The voxel of a cell and phase. */
static int64_t voxel(const struct srm_op *m, struct pass p, int x, int z)
{
	const struct srm_shape *s = &m->shape;

	if (!p.mirrored)
		return srm_voxel_index(s, p.y, x, z);
	return srm_voxel_index(s, s->planes - 1 - p.y, s->nc[0] * s->d[0] - 1 - x,
			       s->nc[1] * s->d[1] - 1 - z);
}

/* The direction that the taps of d serve, and whether its LORs stand backwards. */
static const struct srm_direction *served(const struct srm_op *m, struct pass p,
					  const struct srm_direction *d)
{
	int each = (2 * m->shape.nc[0] - 1) * (2 * m->shape.nc[1] - 1);

	if (!p.mirrored || d->a == d->b)
		return d;
	return &m->direction[m->place[(d->b * m->shape.layers + d->a) * each + d->number]];
}

/* ---- forward ---- */

/* Rows (cell x, phase) of a plane, with zeros on all sides; the first cell is at `origin`. */
struct plane {
	iso_real *v;
	int64_t origin, row;	/* row: from one cell to the next along x */
};

static int make_plane(struct plane *f, const struct srm_op *m)
{
	const struct srm_correlation *c = m->correlation;
	int64_t rows = m->shape.nc[0] + 2 * (SRM_ROWS - 1);

	f->row = (int64_t)c->phases * c->width;
	f->origin = (SRM_ROWS - 1) * f->row + m->shape.nc[1];
	f->v = size_alloc(rows * f->row, sizeof *f->v);
	return f->v ? ISO_OK
		    : iso_fail_memory("srm: phase planes", rows * f->row * (int64_t)sizeof *f->v);
}

static void fill_row(const struct plane *f, const struct srm_op *m, struct pass p, int cell,
		     const iso_real *x)
{
	const struct srm_shape *s = &m->shape;

	for (int i = 0; i < m->correlation->phases; i++) {
		iso_real *to = f->v + f->origin + cell * f->row + (int64_t)i * m->correlation->width;

		for (int z = 0; z < s->nc[1]; z++)
			to[z] = x[voxel(m, p, cell * s->d[0] + i / s->d[1],
					z * s->d[1] + i % s->d[1])];
	}
}

/* Sums of R rows of V vectors into out, for taps t ... end - 1; f: the window of a tap at 0. */
INLINE void correlate(iso_real *out, const iso_real *f, int64_t row, const struct srm_tap *t,
		      const struct srm_tap *end, const int R, const int V)
{
	vec sum[SRM_VECTORS + 3];

	UNROLL for (int i = 0; i < R * V; i++)
		sum[i] = (vec){ 0 };
	for (; t < end; t++) {
		const iso_real *at = f + t->at;

		UNROLL for (int r = 0; r < R; r++)
			UNROLL for (int v = 0; v < V; v++)
				sum[r * V + v] = fused(sum[r * V + v], load(at + r * row +
							v * SRM_LANES), t->w);
	}
	UNROLL for (int i = 0; i < R * V; i++)
		store(out + i * SRM_LANES, sum[i]);
}

/* The loops above for constants that the compiler knows: as many rows as there are registers. */
#define CASE(R, V) case (V) * 8 + (R): correlate(out, f, row, t, end, R, V); break

static void correlate_any(iso_real *out, const iso_real *f, int64_t row, const struct srm_tap *t,
			  const struct srm_tap *end, int rows, int vectors)
{
	switch (vectors * 8 + rows) {
	CASE(1, 1); CASE(2, 1); CASE(4, 1);
	CASE(1, 2); CASE(2, 2); CASE(4, 2);
	CASE(1, 3); CASE(2, 3); CASE(4, 3);
	CASE(1, 4); CASE(2, 4); CASE(4, 4);
	CASE(1, 5); CASE(2, 5);
	CASE(1, 6); CASE(2, 6);
	CASE(1, 7); CASE(2, 7);
	CASE(1, 8); CASE(1, 9); CASE(1, 10); CASE(1, 11); CASE(1, 12); CASE(1, 13);
	}
}

static int rows_at_once(int vectors, int left)
{
	int most = vectors <= 4 ? 4 : vectors <= 7 ? 2 : 1;

	return left >= most ? most : left >= 2 && most > 2 ? 2 : 1;
}

/* The first tap whose cell is qx or beyond; a window reaches up to Ncz before its cell. */
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

/* y += sums; backwards for the mirror image. */
static void add_row(iso_real *y, const iso_real *sum, int n, int step)
{
	if (step > 0)
		for (int z = 0; z < n; z++)
			y[z] += sum[z];
	else
		for (int z = 0; z < n; z++)
			y[-z] += sum[z];
}

/* Rows ux ... ux + rows - 1 (counted from x0) of a direction, piece by piece along z. */
static void forward_rows(iso_real *y, const struct srm_op *m, struct pass p,
			 const struct srm_direction *d, const struct plane *f, int ux, int rows)
{
	const struct srm_correlation *c = m->correlation;
	const int64_t *ptr = c->ptr + (int64_t)p.y * m->n_direction + (d - m->direction);
	const struct srm_tap *t = c->tap + ptr[0], *end = c->tap + ptr[1];
	const struct srm_direction *to = served(m, p, d);
	int all = (d->nz + SRM_LANES - 1) / SRM_LANES, pieces = (all + SRM_VECTORS - 1) / SRM_VECTORS;
	int vectors = (all + pieces - 1) / pieces, cell = d->x0 + ux, nc = m->shape.nc[0];
	int64_t last = to->first + (int64_t)d->nx * d->nz - 1;
	iso_real sum[(SRM_VECTORS + 3) * SRM_LANES];

	t = from_cell(t, end, -(cell + rows - 1), f->row, m->shape.nc[1]);
	end = from_cell(t, end, nc - cell, f->row, m->shape.nc[1]);
	for (int z = 0; z < d->nz && t < end; z += vectors * SRM_LANES) {
		int n = d->nz - z < vectors * SRM_LANES ? d->nz - z : vectors * SRM_LANES;

		correlate_any(sum, f->v + f->origin + cell * f->row + d->z0 + z, f->row, t, end, rows,
			      vectors);
		for (int r = 0; r < rows; r++) {
			int64_t at = (int64_t)(ux + r) * d->nz + z;

			add_row(y + (p.mirrored ? last - at : to->first + at),
				sum + r * vectors * SRM_LANES, n, p.mirrored ? -1 : 1);
		}
	}
}

static void forward_block(iso_real *y, const struct srm_op *m, struct pass p,
			  const struct srm_block *b, const struct plane *f)
{
	const struct srm_direction *d = m->direction + b->first;

	for (int ux = 0; ux < d->nx; ux += SRM_ROWS)
		for (int i = 0; i < b->n; i++) {
			int vectors = (d[i].nz + SRM_LANES - 1) / SRM_LANES, rows;

			vectors = vectors < SRM_VECTORS ? vectors : SRM_VECTORS;
			for (int r = ux; r < d->nx && r < ux + SRM_ROWS; r += rows) {
				rows = rows_at_once(vectors, (d->nx < ux + SRM_ROWS ? d->nx
									: ux + SRM_ROWS) - r);
				forward_rows(y, m, p, &d[i], f, r, rows);
			}
		}
}

static void range(int *first, int *end, const struct srm_op *m, int sub)
{
	const struct srm_correlation *c = m->correlation;

	*first = sub == ISO_ALL ? 0 : c->sub[sub];
	*end = sub == ISO_ALL ? c->n_block : c->sub[sub + 1];
}

int iso_srm_correlate_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct srm_op *m = op->data;
	struct iso_rows rows = iso_op_rows(op, sub);
	struct plane f = { 0 };
	int st = make_plane(&f, m), first, end;

	if (st)
		return st;
	range(&first, &end, m, sub);
	memset(y + rows.first, 0, (size_t)rows.n * sizeof *y);
#pragma omp parallel num_threads(op->ctx->threads)
	for (int k = 0; k < n_passes(m); k++) {
		struct pass p = pass_of(m, k);

#pragma omp for
		for (int cell = 0; cell < m->shape.nc[0]; cell++)
			fill_row(&f, m, p, cell, x);
#pragma omp for schedule(dynamic)
		for (int b = first; b < end; b++)
			if (!iso_ctx_cancelled(op->ctx))
				forward_block(y, m, p, &m->correlation->block[b], &f);
	}
	free(f.v);
	return iso_ctx_poll(op->ctx);
}

/* ---- back ---- */

/* Work space of a thread: sums B of a plane, and the values of a block, rows (x, direction). */
struct back {
	iso_real *b, *g;
	int chunk;		/* of a row */
	int64_t row;		/* of b, from one cell to the next along x */
	int width;		/* of a row of g: a chunk of zeros, values, a chunk of zeros */
};

static int make_back(struct back *w, const struct srm_op *m)
{
	const struct srm_correlation *c = m->correlation;
	int64_t rows = m->shape.nc[0] + 2;

	w->chunk = c->vectors * SRM_LANES;
	w->row = (int64_t)c->phases * c->chunks * w->chunk;
	w->b = size_alloc(rows * w->row, sizeof *w->b);
	w->g = size_alloc(rows * SRM_BLOCK * (m->shape.nc[1] + 2 * w->chunk), sizeof *w->g);
	return w->b && w->g ? ISO_OK : ISO_ENOMEM;
}

/* The values of a block, with a row of zeros before and behind. */
static void take_block(struct back *w, const struct srm_op *m, struct pass p,
		       const struct srm_block *b, const iso_real *y)
{
	const struct srm_direction *d = m->direction + b->first;
	int nx = d->nx, most = 0;

	for (int i = 0; i < b->n; i++)
		most = d[i].nz > most ? d[i].nz : most;
	w->width = most + 2 * w->chunk;
	memset(w->g, 0, (size_t)(nx + 2) * (size_t)b->n * (size_t)w->width * sizeof *w->g);
	for (int i = 0; i < b->n; i++) {
		const iso_real *from = y + served(m, p, &d[i])->first;
		int n = nx * d[i].nz;

		for (int x = 0; x < nx; x++) {
			iso_real *to = w->g + ((int64_t)(x + 1) * b->n + i) * w->width + w->chunk;

			for (int z = 0; z < d[i].nz; z++)
				to[z] = from[p.mirrored ? n - 1 - x * d[i].nz - z : x * d[i].nz + z];
		}
	}
}

/* Two rows of V vectors of b, `row` apart, get what taps t ... end - 1 bring: g is the row of the tap
   row 0, and the place of z = 0 in it. Taps beyond the values of the block are left out. */
INLINE void gather(iso_real *b, int64_t row, const iso_real *g, int64_t next, int width, int values,
		   int c, const struct srm_back_tap *t, const struct srm_back_tap *end, const int V)
{
	vec sum[2 * SRM_CHUNK];

	UNROLL for (int v = 0; v < V; v++) {
		sum[v] = load(b + v * SRM_LANES);
		sum[V + v] = load(b + row + v * SRM_LANES);
	}
	for (; t < end; t++) {
		int z = c - t->z;
		const iso_real *at = g - (int64_t)t->row * width + z;

		if (z <= -V * SRM_LANES || z >= values)
			continue;
		UNROLL for (int v = 0; v < V; v++)
			sum[v] = fused(sum[v], load(at + v * SRM_LANES), t->w);
		UNROLL for (int v = 0; v < V; v++)
			sum[V + v] = fused(sum[V + v], load(at + next + v * SRM_LANES), t->w);
	}
	UNROLL for (int v = 0; v < V; v++) {
		store(b + v * SRM_LANES, sum[v]);
		store(b + row + v * SRM_LANES, sum[V + v]);
	}
}

#define BACK_CASE(V) case V: gather(b, row, g, next, width, values, c, t, end, V); break

static void gather_any(iso_real *b, int64_t row, const iso_real *g, int64_t next, int width,
		       int values, int c, const struct srm_back_tap *t,
		       const struct srm_back_tap *end, int vectors)
{
	switch (vectors) {
	BACK_CASE(1); BACK_CASE(2); BACK_CASE(3); BACK_CASE(4); BACK_CASE(5); BACK_CASE(6);
	BACK_CASE(7);
	}
}

static const struct srm_back_tap *from_row(const struct srm_back_tap *t,
					   const struct srm_back_tap *end, int row)
{
	while (t < end) {
		const struct srm_back_tap *middle = t + (end - t) / 2;

		if (middle->row < row)
			t = middle + 1;
		else
			end = middle;
	}
	return t;
}

/* Cells x and x + 1 of all phases. A tap reaches them from the LORs of x - qx and x + 1 - qx. */
static void back_cells(const struct back *w, const struct srm_op *m, struct pass p, int block, int x)
{
	const struct srm_correlation *c = m->correlation;
	const struct srm_block *b = &c->block[block];
	const struct srm_direction *d = m->direction + b->first;
	const int64_t *ptr = c->back_ptr + ((int64_t)p.y * c->n_block + block) * c->phases;
	const iso_real *g = w->g + ((int64_t)(x - d->x0 + 1) * b->n + b->n - 1) * w->width + w->chunk;

	for (int i = 0; i < c->phases; i++) {
		const struct srm_back_tap *t = c->back + ptr[i], *end = c->back + ptr[i + 1];

		t = from_row(t, end, (x - d->x0 - d->nx + 1) * b->n);
		end = from_row(t, end, (x - d->x0 + 2) * b->n);
		for (int k = 0; k < c->chunks && t < end; k++)
			gather_any(w->b + x * w->row + ((int64_t)i * c->chunks + k) * w->chunk, w->row, g,
				   (int64_t)b->n * w->width, w->width, w->width - 2 * w->chunk,
				   k * w->chunk, t, end, c->vectors);
	}
}

static void put_plane(iso_real *x, const struct back *w, const struct srm_op *m, struct pass p)
{
	const struct srm_shape *s = &m->shape;
	const struct srm_correlation *c = m->correlation;

	for (int cell = 0; cell < s->nc[0]; cell++)
		for (int i = 0; i < c->phases; i++) {
			const iso_real *from = w->b + cell * w->row + (int64_t)i * c->chunks * w->chunk;

			for (int z = 0; z < s->nc[1]; z++)
				x[voxel(m, p, cell * s->d[0] + i / s->d[1], z * s->d[1] + i % s->d[1])] =
					from[z];
		}
}

static void back_plane(iso_real *x, struct back *w, const struct srm_op *m, struct pass p, int sub,
		       const iso_real *y)
{
	int nc = m->shape.nc[0], first, end;

	range(&first, &end, m, sub);
	memset(w->b, 0, (size_t)(nc + 2) * (size_t)w->row * sizeof *w->b);
	for (int b = first; b < end; b++) {
		take_block(w, m, p, &m->correlation->block[b], y);
		for (int cell = 0; cell < nc; cell += 2)
			back_cells(w, m, p, b, cell);
	}
	put_plane(x, w, m, p);
}

int iso_srm_correlate_back(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct srm_op *m = op->data;
	bool failed = false;

#pragma omp parallel num_threads(op->ctx->threads)
	{
		struct back w = { 0 };
		bool made = make_back(&w, m) == ISO_OK;

		if (!made)
#pragma omp atomic write
			failed = true;
#pragma omp for schedule(dynamic)
		for (int k = 0; k < n_passes(m); k++)
			if (made && !iso_ctx_cancelled(op->ctx))
				back_plane(x, &w, m, pass_of(m, k), sub, y);
		free(w.b);
		free(w.g);
	}
	if (failed)
		return iso_fail_memory("srm: planes of a thread", 0);
	return iso_ctx_poll(op->ctx);
}
