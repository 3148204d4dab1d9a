/* SPDX-License-Identifier: BSD-3-Clause */
/* The table in the orders of the projectors. All come from the folded columns element by element, so
   a forward projector over one and a back projector over another stay matched:

	W_d(y, i, k) = K[y, i mod Dx, k mod Dz](-s, d - s),  s = (floor(i/Dx), floor(k/Dz)). */
#include "model/srm/matrix/srm_matrix.h"
#include "srm_op.h"
#include "core/size.h"

#include <stdlib.h>

static int check_order(const iso_srm *m, const struct iso_srm_order *o)
{
	if (!m->ptr) return iso_fail(ISO_EARG, "srm: no table yet: give it a bound first");
	if (o->a < 0 || o->b < 0 || o->a >= m->shape.layers || o->b >= m->shape.layers)
		return iso_fail(ISO_EARG, "srm: layers %d and %d, must be 0 to %d", o->a, o->b,
		                m->shape.layers - 1);
	return ISO_OK;
}

static int planes_of(const iso_srm *m, const struct iso_srm_order *o)
{
	return o->half ? (m->shape.planes + 1) / 2 : m->shape.planes;
}

/* ---- one column of any plane and phase ---- */

struct walk {
	const iso_srm *m;
	int64_t at, end; /* elements of its folded column */
	int fold;        /* symmetry from there: its own inverse */
	int a, b;
};

static struct walk walk_column(const iso_srm *m, struct srm_column c, int a, int b)
{
	int g = srm_fold(&m->shape, c);
	int64_t n = iso_srm_column_number(&m->shape, srm_column_image(&m->shape, c, g));

	return (struct walk){ m, m->ptr[n], m->ptr[n + 1], g, a, b };
}

/* The next element between the two layers; false: no more. */
static bool walk_next(struct srm_lor *e, iso_real *w, struct walk *k)
{
	while (k->at < k->end) {
		int64_t i = k->at++;

		*e = srm_image(srm_at(&k->m->shape, k->m->at[i]), k->fold);
		if (e->a != k->a || e->b != k->b) continue;
		*w = k->m->w[i];
		return true;
	}
	return false;
}

/* ---- columns ---- */

static struct srm_column any_column(const struct srm_shape *s, int64_t number)
{
	return (struct srm_column){ (int)(number / (s->d[0] * s->d[1])),
		                    { (int)(number / s->d[1] % s->d[0]), (int)(number % s->d[1]) } };
}

static int64_t count_column(const iso_srm *m, int64_t number, const struct iso_srm_order *o)
{
	struct walk k = walk_column(m, any_column(&m->shape, number), o->a, o->b);
	struct srm_lor e;
	int64_t n = 0;
	iso_real w;

	if (m->shape.layers == 1) return k.end - k.at;
	while (walk_next(&e, &w, &k)) n++;
	return n;
}

static void fill_column(struct iso_srm_columns *c, const iso_srm *m, int64_t number,
                        const struct iso_srm_order *o)
{
	struct walk k = walk_column(m, any_column(&m->shape, number), o->a, o->b);
	int64_t at = c->ptr[number];
	struct srm_lor e;
	iso_real w;

	while (walk_next(&e, &w, &k)) {
		c->w[at] = w;
		c->pair[at++] = (struct iso_srm_pair){ (int16_t)e.u[0], (int16_t)e.u[1], (int16_t)e.l[0],
			                               (int16_t)e.l[1] };
	}
}

static int room_for(void **element, int64_t size, iso_real **w, int64_t n)
{
	*element = malloc((size_t)((n + 1) * size));
	*w = malloc((size_t)(n + 1) * sizeof **w);
	if (*element && *w) return ISO_OK;
	return iso_fail_memory("srm: elements in another order", n * (size + (int64_t)sizeof **w));
}

int iso_srm_columns(struct iso_srm_columns *out, iso_ctx *ctx, const iso_srm *m,
                    const struct iso_srm_order *o)
{
	if (!out || !ctx || !m || !o) return iso_fail_null(__func__);
	struct iso_srm_columns c = { 0 };
	int st = check_order(m, o);

	if (st) return st;
	c.n = (int64_t)planes_of(m, o) * m->shape.d[0] * m->shape.d[1];
	c.ptr = size_alloc(c.n + 1, sizeof *c.ptr);
	if (!c.ptr) return iso_fail_memory("srm: columns", c.n * (int64_t)sizeof *c.ptr);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < c.n; i++) c.ptr[i + 1] = count_column(m, i, o);
	for (int64_t i = 0; i < c.n; i++) c.ptr[i + 1] += c.ptr[i];
	st = room_for((void **)&c.pair, sizeof *c.pair, &c.w, c.ptr[c.n]);
	if (st) {
		iso_srm_columns_free(&c);
		return st;
	}
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < c.n; i++) fill_column(&c, m, i, o);
	*out = c;
	return ISO_OK;
}

void iso_srm_columns_free(struct iso_srm_columns *c)
{
	free(c->ptr);
	free(c->pair);
	free(c->w);
	*c = (struct iso_srm_columns){ 0 };
}

/* ---- rows and taps ---- */

/* Direction of an element; -1: not asked for. */
static int64_t direction(const struct srm_shape *s, const struct srm_lor *e, bool is_unsigned)
{
	int x = e->l[0] - e->u[0], z = e->l[1] - e->u[1];

	if (is_unsigned) return x < 0 || z < 0 ? -1 : (int64_t)x * s->nc[1] + z;
	return (int64_t)(x + s->nc[0] - 1) * (2 * s->nc[1] - 1) + z + s->nc[1] - 1;
}

struct deal {
	const iso_srm *m;
	const struct iso_srm_order *o;
	struct iso_srm_rows r;
	int64_t *next; /* (planes, directions): count, then the next free place */
};

static void count_plane(const struct deal *d, int y)
{
	const struct srm_shape *s = &d->m->shape;
	int64_t *next = d->next + y * d->r.directions;

	for (int p = 0; p < s->d[0] * s->d[1]; p++) {
		struct walk k = walk_column(d->m, (struct srm_column){ y, { p / s->d[1], p % s->d[1] } },
		                            d->o->a, d->o->b);
		struct srm_lor e;
		iso_real w;

		while (walk_next(&e, &w, &k)) {
			int64_t j = direction(s, &e, d->o->is_unsigned);

			if (j >= 0) next[j]++;
		}
	}
}

static bool stands_after(const struct iso_srm_voxel *a, const struct iso_srm_voxel *b)
{
	return a->i > b->i || (a->i == b->i && a->k > b->k);
}

/* Puts (v, w) at its place in the order (i, k) among r->voxel[first ... at - 1] of the same phase, about ten
   elements; those behind it move on by one. */
static void insert(struct iso_srm_rows *r, int64_t first, int64_t at, struct iso_srm_voxel v, iso_real w,
                   const int d[2])
{
	while (at > first && stands_after(&r->voxel[at - 1], &v) && (r->voxel[at - 1].i - v.i) % d[0] == 0 &&
	       (r->voxel[at - 1].k - v.k) % d[1] == 0) {
		r->voxel[at] = r->voxel[at - 1];
		r->w[at] = r->w[at - 1];
		at--;
	}
	r->voxel[at] = v;
	r->w[at] = w;
}

static void fill_phase(struct deal *d, int y, int px, int pz, const int64_t *first)
{
	const struct srm_shape *s = &d->m->shape;
	struct walk k = walk_column(d->m, (struct srm_column){ y, { px, pz } }, d->o->a, d->o->b);
	int64_t *next = d->next + y * d->r.directions;
	struct srm_lor e;
	iso_real w;

	while (walk_next(&e, &w, &k)) {
		int64_t j = direction(s, &e, d->o->is_unsigned);
		struct iso_srm_voxel v = { (int16_t)y, (int16_t)(-e.u[0] * s->d[0] + px),
			                   (int16_t)(-e.u[1] * s->d[1] + pz) };

		if (j >= 0) insert(&d->r, first[j], next[j]++, v, w, s->d);
	}
}

/* Directions write to places of their own, planes too. */
static int fill_planes(struct deal *d, iso_ctx *ctx, int planes)
{
	int64_t n = planes * d->r.directions;
	int64_t *first = malloc((size_t)n * sizeof *first);

	if (!first) return iso_fail_memory("srm: places of directions", n * (int64_t)sizeof *first);
	for (int64_t i = 0; i < n; i++) first[i] = d->next[i];
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int y = 0; y < planes; y++)
		for (int p = 0; p < d->m->shape.d[0] * d->m->shape.d[1]; p++)
			fill_phase(d, y, p / d->m->shape.d[1], p % d->m->shape.d[1],
			           first + y * d->r.directions);
	free(first);
	return ISO_OK;
}

/* Running sums over the lists in their order: direction by direction, or plane by plane. */
static void place_lists(struct deal *d, int planes, bool by_plane)
{
	int64_t sum = 0, directions = d->r.directions, n = planes * directions;

	for (int64_t i = 0; i < n; i++) {
		int64_t *next = &d->next[by_plane ? i : i % planes * directions + i / planes];
		int64_t count = *next;

		if (by_plane)
			d->r.ptr[i] = sum;
		else if (i % planes == 0)
			d->r.ptr[i / planes] = sum;
		*next = sum;
		sum += count;
	}
	d->r.ptr[d->r.n] = sum;
}

static int deal_out(struct deal *d, iso_ctx *ctx, bool by_plane)
{
	int planes = planes_of(d->m, d->o), st;

	d->r.n = by_plane ? planes * d->r.directions : d->r.directions;
	d->r.ptr = size_alloc(d->r.n + 1, sizeof *d->r.ptr);
	d->next = size_alloc(planes * d->r.directions, sizeof *d->next);
	if (!d->r.ptr || !d->next)
		return iso_fail_memory("srm: places of directions",
		                       planes * d->r.directions * (int64_t)sizeof *d->next);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int y = 0; y < planes; y++) count_plane(d, y);
	place_lists(d, planes, by_plane);
	if ((st = room_for((void **)&d->r.voxel, sizeof *d->r.voxel, &d->r.w, d->r.ptr[d->r.n]))) return st;
	return fill_planes(d, ctx, planes);
}

/* Positions of voxels are 16 bits. */
static int check_reach(const struct srm_shape *s)
{
	if ((int64_t)s->nc[0] * s->d[0] < INT16_MAX && (int64_t)s->nc[1] * s->d[1] < INT16_MAX) return ISO_OK;
	return iso_fail(ISO_EARG, "srm: images of more than %d voxels an axis have no rows", INT16_MAX);
}

static int make_rows(struct iso_srm_rows *r, iso_ctx *ctx, const iso_srm *m, const struct iso_srm_order *o,
                     bool by_plane)
{
	const struct srm_shape *s = &m->shape;
	struct deal d = { .m = m, .o = o };
	int st;

	if ((st = check_order(m, o)) || (st = check_reach(s))) return st;
	d.r.directions = o->is_unsigned ? (int64_t)s->nc[0] * s->nc[1]
	                                : (int64_t)(2 * s->nc[0] - 1) * (2 * s->nc[1] - 1);
	st = deal_out(&d, ctx, by_plane);
	free(d.next);
	if (st)
		iso_srm_rows_free(&d.r);
	else
		*r = d.r;
	return st;
}

int iso_srm_rows(struct iso_srm_rows *r, iso_ctx *ctx, const iso_srm *m, const struct iso_srm_order *o)
{
	if (!r || !ctx || !m || !o) return iso_fail_null(__func__);
	return make_rows(r, ctx, m, o, false);
}

int iso_srm_taps(struct iso_srm_rows *r, iso_ctx *ctx, const iso_srm *m, const struct iso_srm_order *o)
{
	if (!r || !ctx || !m || !o) return iso_fail_null(__func__);
	return make_rows(r, ctx, m, o, true);
}

static int srm_pairs(const iso_srm *m)
{
	return m->shape.layers * m->shape.layers;
}

int iso_srm_pair_rows(struct iso_srm_rows **out, iso_ctx *ctx, const iso_srm *m, struct iso_srm_order o,
                      bool taps)
{
	struct iso_srm_rows *r = size_alloc(srm_pairs(m), sizeof *r);
	int st = r ? ISO_OK : iso_fail_memory("srm: rows", srm_pairs(m) * (int64_t)sizeof *r);

	for (int i = 0; i < srm_pairs(m) && !st; i++) {
		o.a = i / m->shape.layers;
		o.b = i % m->shape.layers;
		st = make_rows(&r[i], ctx, m, &o, taps);
	}
	if (st)
		iso_srm_pair_rows_free(r, srm_pairs(m));
	else
		*out = r;
	return st;
}

void iso_srm_pair_rows_free(struct iso_srm_rows *r, int pairs)
{
	for (int i = 0; r && i < pairs; i++) iso_srm_rows_free(&r[i]);
	free(r);
}

int iso_srm_pair_columns(struct iso_srm_columns **out, iso_ctx *ctx, const iso_srm *m)
{
	struct iso_srm_columns *c = size_alloc(srm_pairs(m), sizeof *c);
	int st = c ? ISO_OK : iso_fail_memory("srm: columns", srm_pairs(m) * (int64_t)sizeof *c);

	for (int i = 0; i < srm_pairs(m) && !st; i++) {
		struct iso_srm_order o = { .a = i / m->shape.layers, .b = i % m->shape.layers, .half = true };

		st = iso_srm_columns(&c[i], ctx, m, &o);
	}
	if (st)
		iso_srm_pair_columns_free(c, srm_pairs(m));
	else
		*out = c;
	return st;
}

void iso_srm_pair_columns_free(struct iso_srm_columns *c, int pairs)
{
	for (int i = 0; c && i < pairs; i++) iso_srm_columns_free(&c[i]);
	free(c);
}

void iso_srm_rows_free(struct iso_srm_rows *r)
{
	free(r->ptr);
	free(r->voxel);
	free(r->w);
	*r = (struct iso_srm_rows){ 0 };
}
