/* SPDX-License-Identifier: BSD-3-Clause */
/* The table in the orders of the projectors. All come from the folded columns element by element, so
   a forward projector over one and a back projector over another stay matched:

	W_d(y, i, k) = K[y, i mod Dx, k mod Dz](-s, d - s),  s = (floor(i/Dx), floor(k/Dz)). */
#include "model/srm/matrix/srm_matrix.h"
#include "srm_op.h"
#include "core/size.h"

#include <stdlib.h>
#include <string.h>

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

static int room_for(void **element, int64_t size, iso_real **w, int64_t n)
{
	*element = size_alloc(n + 1, size);
	*w = size_alloc(n + 1, sizeof **w);
	if (*element && *w) return ISO_OK;
	return iso_fail_memory("srm: elements in another order", n * (size + (int64_t)sizeof **w));
}

/* ---- one column of any plane and phase, number (y Dx + px) Dz + pz ---- */

/* Crystals by their number in a position, counted from the voxel's cell: one division an element, not four. */
struct crystals {
	const iso_srm *m;
	uint32_t n; /* (2 Ncx-1) (2 Ncz-1) */
	struct {
		int16_t x, z;
	} *at;
};

static int list_crystals(struct crystals *c, const iso_srm *m)
{
	int nx = 2 * m->shape.nc[0] - 1, nz = 2 * m->shape.nc[1] - 1;

	*c = (struct crystals){ m, (uint32_t)nx * (uint32_t)nz, size_alloc((int64_t)nx * nz, sizeof *c->at) };
	if (!c->at) return iso_fail_memory("srm: crystals", (int64_t)nx * nz * (int64_t)sizeof *c->at);
	for (int i = 0; i < nx * nz; i++) {
		c->at[i].x = (int16_t)(i / nz - nx / 2);
		c->at[i].z = (int16_t)(i % nz - nz / 2);
	}
	return ISO_OK;
}

struct walk {
	const struct crystals *c;
	int64_t at, end; /* elements of its folded column */
	int step;        /* 1, or -1: from the last to the first */
	int fold;        /* symmetry from there: its own inverse */
	int a, b;
};

static struct walk walk_column(const struct crystals *c, int64_t number, const struct iso_srm_order *o)
{
	const struct srm_shape *s = &c->m->shape;
	struct srm_column column = { (int)(number / (s->d[0] * s->d[1])),
		                     { (int)(number / s->d[1] % s->d[0]), (int)(number % s->d[1]) } };
	int g = srm_fold(s, column);
	int64_t n = iso_srm_column_number(s, srm_column_image(s, column, g));

	return (struct walk){ c, c->m->ptr[n], c->m->ptr[n + 1], 1, g, o->a, o->b };
}

/* Of one direction, elements stand in the order of ux, in which i = -ux Dx + px falls: they are taken backwards,
   and those that the mirror of x turns round forwards. */
static struct walk walk_rising(const struct crystals *c, int64_t number, const struct iso_srm_order *o)
{
	struct walk k = walk_column(c, number, o);
	int64_t first = k.at;

	if (k.fold & SRM_MIRROR_X) return k;
	k.step = -1;
	k.at = k.end - 1;
	k.end = first - 1;
	return k;
}

/* The next element between the two layers; false: no more. */
static inline bool walk_next(struct srm_lor *e, iso_real *w, struct walk *k)
{
	const struct crystals *c = k->c;

	while (k->at != k->end) {
		int64_t i = k->at;
		uint32_t at = c->m->at[i], upper = at / c->n, l = at - upper * c->n;
		uint32_t pair = upper < c->n ? 0 : upper / c->n, u = upper - pair * c->n;
		uint32_t layers = (uint32_t)c->m->shape.layers;
		struct srm_lor stored = { { c->at[u].x, c->at[u].z },
			                  { c->at[l].x, c->at[l].z },
			                  (int)(pair ? pair / layers : 0),
			                  (int)(pair ? pair % layers : 0) };

		k->at += k->step;
		*e = srm_image(stored, k->fold);
		if (e->a != k->a || e->b != k->b) continue;
		*w = c->m->w[i];
		return true;
	}
	return false;
}

/* ---- columns ---- */

/* Elements from place `at` on, or, before there are any (c->w is NULL), none; returns how many. */
static int64_t fill_column(struct iso_srm_columns *c, const struct crystals *of, int64_t number,
                           const struct iso_srm_order *o)
{
	struct walk k = walk_column(of, number, o);
	int64_t at = c->w ? c->ptr[number] : 0;
	struct srm_lor e;
	iso_real w;

	if (!c->w && of->m->shape.layers == 1) return k.end - k.at;
	for (; walk_next(&e, &w, &k); at++) {
		if (!c->w) continue;
		c->w[at] = w;
		c->pair[at] = (struct iso_srm_pair){ (int16_t)e.u[0], (int16_t)e.u[1], (int16_t)e.l[0],
			                             (int16_t)e.l[1] };
	}
	return at;
}

static int fill_columns(struct iso_srm_columns *c, iso_ctx *ctx, const struct crystals *of,
                        const struct iso_srm_order *o)
{
	int st;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < c->n; i++) c->ptr[i + 1] = fill_column(c, of, i, o);
	for (int64_t i = 0; i < c->n; i++) c->ptr[i + 1] += c->ptr[i];
	if ((st = room_for((void **)&c->pair, sizeof *c->pair, &c->w, c->ptr[c->n]))) return st;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < c->n; i++) fill_column(c, of, i, o);
	return ISO_OK;
}

int iso_srm_columns(struct iso_srm_columns *out, iso_ctx *ctx, const iso_srm *m,
                    const struct iso_srm_order *o)
{
	if (!out || !ctx || !m || !o) return iso_fail_null(__func__);
	struct iso_srm_columns c = { 0 };
	struct crystals of;
	int st = check_order(m, o);

	if (st || (st = list_crystals(&of, m))) return st;
	c.n = (int64_t)planes_of(m, o) * m->shape.d[0] * m->shape.d[1];
	c.ptr = size_alloc(c.n + 1, sizeof *c.ptr);
	st = c.ptr ? fill_columns(&c, ctx, &of, o)
	           : iso_fail_memory("srm: columns", c.n * (int64_t)sizeof *c.ptr);
	free(of.at);
	if (st)
		iso_srm_columns_free(&c);
	else
		*out = c;
	return st;
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

/* Lists of one plane and direction, number y directions + direction. */
struct deal {
	struct crystals of;
	const struct iso_srm_order *o;
	struct iso_srm_rows r;
	int64_t *next;  /* elements of a list, then its next free place */
	int64_t *first; /* its first place; while the plane is dealt, that of the phase at work */
};

static bool stands_after(const struct iso_srm_voxel *a, const struct iso_srm_voxel *b)
{
	return a->i > b->i || (a->i == b->i && a->k > b->k);
}

/* Puts (v, w) at its place in the order (i, k) among r->voxel[first ... at - 1], those of its phase; they come
   nearly in that order. Those behind it move on by one. */
static inline void insert(struct iso_srm_rows *r, int64_t first, int64_t at, struct iso_srm_voxel v,
                          iso_real w)
{
	while (at > first && stands_after(&r->voxel[at - 1], &v)) {
		r->voxel[at] = r->voxel[at - 1];
		r->w[at] = r->w[at - 1];
		at--;
	}
	r->voxel[at] = v;
	r->w[at] = w;
}

/* Elements of a plane to their lists or, before there is room for them (r.w is NULL), their counts. Planes
   write to places of their own. */
static void deal_plane(const struct deal *d, int y)
{
	const struct srm_shape *s = &d->of.m->shape;
	int phases = s->d[0] * s->d[1];
	int64_t *next = d->next + y * d->r.directions, *first = d->first + y * d->r.directions;
	struct iso_srm_rows r = d->r;
	struct srm_lor e;
	iso_real w;

	for (int p = 0; p < phases; p++) {
		int px = p / s->d[1], pz = p % s->d[1];
		struct walk k = walk_rising(&d->of, (int64_t)y * phases + p, d->o);

		memcpy(first, next, (size_t)r.directions * sizeof *first);
		while (walk_next(&e, &w, &k)) {
			int64_t j = direction(s, &e, d->o->is_unsigned);

			if (j < 0) continue;
			int64_t at = next[j]++;
			struct iso_srm_voxel v = { (int16_t)y, (int16_t)(px - e.u[0] * s->d[0]),
				                   (int16_t)(pz - e.u[1] * s->d[1]) };

			if (r.w) insert(&r, first[j], at, v, w);
		}
	}
}

/* Running sums over the lists in their order: direction by direction, or plane by plane. */
static void place_lists(struct deal *d, int planes, bool by_plane)
{
	int64_t sum = 0, directions = d->r.directions, n = planes * directions;

	for (int64_t i = 0; i < n; i++) {
		int64_t list = by_plane ? i : i % planes * directions + i / planes;

		if (by_plane || i % planes == 0) d->r.ptr[by_plane ? i : i / planes] = sum;
		d->first[list] = sum;
		sum += d->next[list];
	}
	d->r.ptr[d->r.n] = sum;
	memcpy(d->next, d->first, (size_t)n * sizeof *d->next);
}

static int deal_out(struct deal *d, iso_ctx *ctx, bool by_plane)
{
	int planes = planes_of(d->of.m, d->o), st;
	int64_t n = planes * d->r.directions;

	d->r.n = by_plane ? n : d->r.directions;
	d->r.ptr = size_alloc(d->r.n + 1, sizeof *d->r.ptr);
	d->next = size_alloc(n, sizeof *d->next);
	d->first = size_alloc(n, sizeof *d->first);
	if (!d->r.ptr || !d->next || !d->first)
		return iso_fail_memory("srm: places of directions", n * (int64_t)sizeof *d->next);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int y = 0; y < planes; y++) deal_plane(d, y);
	place_lists(d, planes, by_plane);
	if ((st = room_for((void **)&d->r.voxel, sizeof *d->r.voxel, &d->r.w, d->r.ptr[d->r.n]))) return st;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int y = 0; y < planes; y++) deal_plane(d, y);
	return ISO_OK;
}

/* Positions of voxels are 16 bits. */
static int make_rows(struct iso_srm_rows *r, iso_ctx *ctx, const iso_srm *m, const struct iso_srm_order *o,
                     bool by_plane)
{
	const struct srm_shape *s = &m->shape;
	struct deal d = { .o = o };
	int st = check_order(m, o);

	if (st) return st;
	if ((int64_t)s->nc[0] * s->d[0] >= INT16_MAX || (int64_t)s->nc[1] * s->d[1] >= INT16_MAX)
		return iso_fail(ISO_EARG, "srm: images of more than %d voxels an axis have no rows",
		                INT16_MAX);
	d.r.directions = o->is_unsigned ? (int64_t)s->nc[0] * s->nc[1]
	                                : (int64_t)(2 * s->nc[0] - 1) * (2 * s->nc[1] - 1);
	if (!(st = list_crystals(&d.of, m))) st = deal_out(&d, ctx, by_plane);
	free(d.of.at);
	free(d.next);
	free(d.first);
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

void iso_srm_rows_free(struct iso_srm_rows *r)
{
	free(r->ptr);
	free(r->voxel);
	free(r->w);
	*r = (struct iso_srm_rows){ 0 };
}

/* ---- tables of all pairs of layers ---- */

static void hand(struct iso_room *room, void *array)
{
	if (!iso_room_take(room, array)) free(array);
}

struct iso_srm_rows *iso_srm_pair_rows(struct iso_room *room, const iso_srm *m, struct iso_srm_order o,
                                       bool taps)
{
	int layers = m->shape.layers;
	struct iso_srm_rows *r;

	ISO_HOST(room, r, layers * layers);
	for (int i = 0; i < layers * layers && !room->status; i++) {
		o.a = i / layers;
		o.b = i % layers;
		room->status = make_rows(&r[i], room->ctx, m, &o, taps);
		hand(room, r[i].ptr);
		hand(room, r[i].voxel);
		hand(room, r[i].w);
	}
	return room->status ? NULL : r;
}

struct iso_srm_columns *iso_srm_pair_columns(struct iso_room *room, const iso_srm *m)
{
	int layers = m->shape.layers;
	struct iso_srm_columns *c;

	ISO_HOST(room, c, layers * layers);
	for (int i = 0; i < layers * layers && !room->status; i++) {
		struct iso_srm_order o = { .a = i / layers, .b = i % layers, .half = true };

		room->status = iso_srm_columns(&c[i], room->ctx, m, &o);
		hand(room, c[i].ptr);
		hand(room, c[i].pair);
		hand(room, c[i].w);
	}
	return room->status ? NULL : c;
}
