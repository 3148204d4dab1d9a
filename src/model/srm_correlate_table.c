/* SPDX-License-Identifier: BSD-3-Clause */
/* Taps in the two orders of the correlation projector: by direction, and by block and phase. */
#include "srm_correlate.h"
#include "core/size.h"

void iso_srm_correlate_free(struct srm_correlation *c)
{
	if (!c)
		return;
	free(c->block);
	free(c->sub);
	free(c->ptr);
	free(c->tap);
	free(c->back_ptr);
	free(c->back);
	free(c);
}

/* ---- blocks of directions ---- */

static bool alike(const struct srm_direction *x, const struct srm_direction *y)
{
	return x->subset == y->subset && x->a == y->a && x->b == y->b && x->dx == y->dx;
}

/* A row of struct srm_back_tap has 16 bits. */
static int most_in_block(const struct srm_op *m)
{
	int most = INT16_MAX / (m->shape.nc[0] + 1);

	return most < 1 ? 1 : most < SRM_BLOCK ? most : SRM_BLOCK;
}

static void make_blocks(struct srm_correlation *c, const struct srm_op *m)
{
	int most = most_in_block(m);

	for (int i = 0; i < m->n_direction; i++) {
		struct srm_block *b = &c->block[c->n_block - 1];

		if (i > 0 && b->n < most && alike(&m->direction[i], &m->direction[i - 1])) {
			b->n++;
			continue;
		}
		c->block[c->n_block++] = (struct srm_block){ i, 1 };
		c->sub[m->direction[i].subset + 1] = c->n_block;
	}
}

/* ---- taps of a plane ---- */

static int floor_div(int a, int b)
{
	return (a >= 0 ? a : a - b + 1) / b;
}

struct place {
	int qx, qz, phase;
};

static struct place place_of(const struct srm_shape *s, struct iso_srm_voxel v)
{
	int qx = floor_div(v.i, s->d[0]), qz = floor_div(v.k, s->d[1]);

	return (struct place){ qx, qz, (v.i - qx * s->d[0]) * s->d[1] + v.k - qz * s->d[1] };
}

static int by_place(const void *x, const void *y)
{
	const struct srm_tap *a = x, *b = y;

	return (a->at > b->at) - (a->at < b->at);
}

static int64_t fill_direction(struct srm_correlation *c, const struct srm_op *m,
			      const struct iso_srm_rows *taps, int y, int i, int64_t to)
{
	const struct srm_direction *d = &m->direction[i];
	const struct iso_srm_rows *r = &taps[d->a * m->shape.layers + d->b];
	int64_t list = y * r->directions + d->number, n = r->ptr[list + 1] - r->ptr[list];

	c->ptr[(int64_t)y * m->n_direction + i] = to;
	for (int64_t k = 0; k < n; k++) {
		struct place p = place_of(&m->shape, r->voxel[r->ptr[list] + k]);

		c->tap[to + k] = (struct srm_tap){ r->w[r->ptr[list] + k],
						   (p.qx * c->phases + p.phase) * c->width + p.qz };
	}
	qsort(c->tap + to, (size_t)n, sizeof *c->tap, by_place);
	return n;
}

/* Of one phase of a block; ties are settled by the direction. */
static int by_row(const void *x, const void *y)
{
	const struct srm_back_tap *a = x, *b = y;

	return a->row != b->row ? (a->row > b->row) - (a->row < b->row) : (a->z > b->z) - (a->z < b->z);
}

static struct srm_back_tap back_tap(const struct srm_correlation *c, const struct srm_block *b,
				    const struct srm_tap *t, int direction, int z0)
{
	int cell = c->phases * c->width, reach = c->width / 3;
	int qx = floor_div(t->at + reach, cell), rest = t->at - qx * cell;
	int qz = rest - floor_div(rest + reach, c->width) * c->width;

	return (struct srm_back_tap){ t->w, (int16_t)(qx * b->n + b->n - 1 - direction),
				      (int16_t)(qz + z0) };
}

static int phase_of(const struct srm_correlation *c, const struct srm_tap *t)
{
	int cell = c->phases * c->width, reach = c->width / 3;

	return (t->at + reach - floor_div(t->at + reach, cell) * cell) / c->width;
}

/* The taps of a block, dealt by phase; next: room for a place of each phase. */
static void fill_block(struct srm_correlation *c, const struct srm_op *m, int y, int number,
		       int64_t *next)
{
	const struct srm_block *b = &c->block[number];
	int64_t at = (int64_t)y * m->n_direction + b->first, first = c->ptr[at];
	int64_t *ptr = c->back_ptr + ((int64_t)y * c->n_block + number) * c->phases;

	memset(next, 0, (size_t)c->phases * sizeof *next);
	for (int64_t k = first; k < c->ptr[at + b->n]; k++)
		next[phase_of(c, &c->tap[k])]++;
	for (int p = 0; p < c->phases; p++) {
		int64_t n = next[p];

		next[p] = ptr[p] = first;
		first += n;
	}
	for (int i = 0; i < b->n; i++)
		for (int64_t k = c->ptr[at + i]; k < c->ptr[at + i + 1]; k++)
			c->back[next[phase_of(c, &c->tap[k])]++] =
				back_tap(c, b, &c->tap[k], i, m->direction[b->first + i].z0);
	for (int p = 0; p < c->phases; p++)
		qsort(c->back + ptr[p], (size_t)(next[p] - ptr[p]), sizeof *c->back, by_row);
}

/* ---- the whole ---- */

static int64_t elements_of_plane(const struct srm_op *m, const struct iso_srm_rows *taps, int y)
{
	int64_t n = 0;

	for (int i = 0; i < SRM_PAIRS(m); i++)
		n += taps[i].ptr[(y + 1) * taps[i].directions] - taps[i].ptr[y * taps[i].directions];
	return n;
}

/* Planes one behind the other; the place after the last list ends it. */
static int fill(struct srm_correlation *c, const struct srm_op *m, const iso_ctx *ctx,
		const struct iso_srm_rows *taps)
{
	int64_t *first = size_alloc(c->half + 1, sizeof *first);
	int64_t *next = size_alloc((int64_t)c->half * c->phases, sizeof *next);

	for (int y = 0; first && y < c->half; y++)
		first[y + 1] = first[y] + elements_of_plane(m, taps, y);
	if (first) {
		c->tap = size_alloc(first[c->half], sizeof *c->tap);
		c->back = size_alloc(first[c->half], sizeof *c->back);
	}
	if (!first || !next || !c->tap || !c->back) {
		free(first);
		free(next);
		return iso_fail_memory("srm: taps", 0);
	}
	c->ptr[(int64_t)c->half * m->n_direction] = first[c->half];
	c->back_ptr[(int64_t)c->half * c->n_block * c->phases] = first[c->half];
	for (int y = 0; y < c->half; y++)
		c->ptr[(int64_t)y * m->n_direction] = first[y];
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int y = 0; y < c->half; y++)
		for (int64_t i = 0, to = first[y]; i < m->n_direction; i++)
			to += fill_direction(c, m, taps, y, (int)i, to);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int y = 0; y < c->half; y++)
		for (int b = 0; b < c->n_block; b++)
			fill_block(c, m, y, b, next + (int64_t)y * c->phases);
	free(first);
	free(next);
	return ISO_OK;
}

static int check_size(const struct srm_op *m, int64_t width)
{
	int64_t n = (int64_t)m->shape.d[0] * m->shape.d[1] * (m->shape.nc[0] + 2 * SRM_ROWS) * width;

	return n < INT32_MAX / 2 ? ISO_OK : iso_fail(ISO_EARG, "srm: a plane of %d x %d cells of %d x %d "
		"voxels is too large for the correlation; take another strategy", m->shape.nc[0],
		m->shape.nc[1], m->shape.d[0], m->shape.d[1]);
}

static struct srm_correlation *make(const struct srm_op *m, int64_t width)
{
	int vectors = (m->shape.nc[1] + SRM_LANES - 1) / SRM_LANES;
	struct srm_correlation *c = size_alloc(1, sizeof *c);

	if (!c)
		return NULL;
	*c = (struct srm_correlation){
		.phases = m->shape.d[0] * m->shape.d[1], .half = (m->shape.planes + 1) / 2,
		.width = (int)width, .chunks = (vectors + SRM_CHUNK - 1) / SRM_CHUNK,
		.block = size_alloc(m->n_direction, sizeof *c->block),
		.sub = size_alloc(m->n_sub + 1, sizeof *c->sub),
	};
	c->vectors = (vectors + c->chunks - 1) / c->chunks;
	if (!c->block || !c->sub)
		return c;
	make_blocks(c, m);
	c->ptr = size_alloc((int64_t)c->half * m->n_direction + 1, sizeof *c->ptr);
	c->back_ptr = size_alloc((int64_t)c->half * c->n_block * c->phases + 1, sizeof *c->back_ptr);
	return c;
}

/* A window of a row begins up to Ncz before the row and ends up to Ncz and two vectors behind. */
int iso_srm_correlate_table(struct srm_op *m, iso_ctx *ctx)
{
	int64_t width = 3 * (int64_t)m->shape.nc[1] + SRM_LANES * (2 + m->shape.nc[1] / 32);
	int layers = m->shape.layers, st = check_size(m, width);
	struct iso_srm_rows *taps;

	if (st)
		return st;
	taps = size_alloc(SRM_PAIRS(m), sizeof *taps);
	m->correlation = make(m, width);
	if (!taps || !m->correlation || !m->correlation->ptr || !m->correlation->back_ptr)
		st = iso_fail_memory("srm: places of taps", (int64_t)m->n_direction * m->shape.planes * 8);
	for (int i = 0; i < SRM_PAIRS(m) && !st; i++) {
		struct iso_srm_order o = { .a = i / layers, .b = i % layers, .half = true };

		st = iso_srm_taps(&taps[i], ctx, m->srm, &o);
	}
	if (!st)
		st = fill(m->correlation, m, ctx, taps);
	for (int i = 0; taps && i < SRM_PAIRS(m); i++)
		iso_srm_rows_free(&taps[i]);
	free(taps);
	return st;
}
