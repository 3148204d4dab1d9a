/* SPDX-License-Identifier: BSD-3-Clause */
/* The table in the orders of the projectors. All come from the folded columns element by element, so
   a forward projector over one and a back projector over another stay matched:

	W_d(y, i, k) = K[y, i mod Dx, k mod Dz](-s, d - s),  s = (floor(i/Dx), floor(k/Dz)). */
#include "model/srm/matrix/srm_matrix.h"
#include "srm_op.h"
#include "core/size.h"

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

struct walk {
	const iso_srm *m;
	int64_t at, end; /* elements of its folded column */
	int fold;        /* symmetry from there: its own inverse */
	int a, b;
};

static struct walk walk_column(const iso_srm *m, int64_t number, const struct iso_srm_order *o)
{
	const struct srm_shape *s = &m->shape;
	struct srm_column c = { (int)(number / (s->d[0] * s->d[1])),
		                { (int)(number / s->d[1] % s->d[0]), (int)(number % s->d[1]) } };
	int g = srm_fold(s, c);
	int64_t n = iso_srm_column_number(s, srm_column_image(s, c, g));

	return (struct walk){ m, m->ptr[n], m->ptr[n + 1], g, o->a, o->b };
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

/* Elements from place `at` on, or, before there are any (c->w is NULL), none; returns how many. */
static int64_t fill_column(struct iso_srm_columns *c, const iso_srm *m, int64_t number,
                           const struct iso_srm_order *o)
{
	struct walk k = walk_column(m, number, o);
	int64_t at = c->w ? c->ptr[number] : 0;
	struct srm_lor e;
	iso_real w;

	if (!c->w && m->shape.layers == 1) return k.end - k.at;
	for (; walk_next(&e, &w, &k); at++) {
		if (!c->w) continue;
		c->w[at] = w;
		c->pair[at] = (struct iso_srm_pair){ (int16_t)e.u[0], (int16_t)e.u[1], (int16_t)e.l[0],
			                             (int16_t)e.l[1] };
	}
	return at;
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
	for (int64_t i = 0; i < c.n; i++) c.ptr[i + 1] = fill_column(&c, m, i, o);
	for (int64_t i = 0; i < c.n; i++) c.ptr[i + 1] += c.ptr[i];
	if ((st = room_for((void **)&c.pair, sizeof *c.pair, &c.w, c.ptr[c.n]))) {
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
	if (!c) return;
	free(c->ptr);
	free(c->pair);
	free(c->w);
	*c = (struct iso_srm_columns){ 0 };
}

/* ---- rows and taps ---- */

/* Weight, and upper crystal counted from the voxel's cell. */
struct element {
	iso_real w;
	int16_t ux, uz;
};

/* The elements of the table once more, by folded column, layers and direction, and then as they stand there, by
   (ux, uz). A list of a plane, a phase and a direction is one of these lists, seen by a symmetry. */
struct sorted {
	const iso_srm *m;
	int64_t directions; /* signed */
	int64_t lists;      /* of a column: (a L + b) directions + direction */
	uint32_t *start;    /* (column, list): its first element, from the column's on; and the last's end */
	struct element *element;
};

static int64_t signed_direction(const struct srm_shape *s, int dx, int dz)
{
	return (int64_t)(dx + s->nc[0] - 1) * (2 * s->nc[1] - 1) + dz + s->nc[1] - 1;
}

static int64_t list_of(const struct sorted *t, const struct srm_lor *e)
{
	const struct srm_shape *s = &t->m->shape;

	return (e->a * s->layers + e->b) * t->directions +
	       signed_direction(s, e->l[0] - e->u[0], e->l[1] - e->u[1]);
}

/* A counting sort: what is equal keeps its order. */
static void sort_column(const struct sorted *t, int64_t column)
{
	const iso_srm *m = t->m;
	uint32_t *start = t->start + column * (t->lists + 1);
	int64_t first = m->ptr[column], end = m->ptr[column + 1];

	for (int64_t i = first; i < end; i++) {
		struct srm_lor e = srm_at(&m->shape, m->at[i]);

		start[list_of(t, &e) + 1]++;
	}
	for (int64_t j = 0; j < t->lists; j++) start[j + 1] += start[j];
	for (int64_t i = first; i < end; i++) {
		struct srm_lor e = srm_at(&m->shape, m->at[i]);
		int64_t to = first + start[list_of(t, &e)]++;

		t->element[to] = (struct element){ m->w[i], (int16_t)e.u[0], (int16_t)e.u[1] };
	}
	memmove(start + 1, start, (size_t)t->lists * sizeof *start);
	start[0] = 0;
}

static int sort_table(struct sorted *t, iso_ctx *ctx, const iso_srm *m)
{
	const struct srm_shape *s = &m->shape;

	*t = (struct sorted){ .m = m, .directions = (int64_t)(2 * s->nc[0] - 1) * (2 * s->nc[1] - 1) };
	t->lists = s->layers * s->layers * t->directions;
	t->start = size_alloc(m->n_column * (t->lists + 1), sizeof *t->start);
	t->element = size_alloc(m->n, sizeof *t->element);
	if (!t->start || !t->element)
		return iso_fail_memory("srm: elements by direction", m->n * (int64_t)sizeof *t->element);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < m->n_column; c++) sort_column(t, c);
	return ISO_OK;
}

static void free_sorted(struct sorted *t)
{
	free(t->start);
	free(t->element);
}

/* One phase of a plane: the symmetry from its folded column, which is its own inverse. */
struct phase {
	int64_t column; /* folded */
	int sx, sz;     /* -1: mirrored */
	bool exchanged;
};

static struct phase phase_of(const struct srm_shape *s, int64_t number)
{
	struct srm_column c = { (int)(number / (s->d[0] * s->d[1])),
		                { (int)(number / s->d[1] % s->d[0]), (int)(number % s->d[1]) } };
	int g = srm_fold(s, c);

	return (struct phase){ iso_srm_column_number(s, srm_column_image(s, c, g)), g & SRM_MIRROR_X ? -1 : 1,
		               g & SRM_MIRROR_Z ? -1 : 1, (g & SRM_EXCHANGE) != 0 };
}

/* Lists of one plane and direction, number y directions + direction. */
struct deal {
	struct sorted t;
	const struct iso_srm_order *o;
	int phases;
	struct phase *phase; /* number y phases + px Dz + pz */
	struct iso_srm_rows r;
	int64_t *first; /* elements of a list, then its first place */
};

/* What a list has of one phase: elements as they are stored, and the voxels that they stand for,
   (i + ui ux, k + uk uz). */
struct run {
	int64_t n;
	const struct element *element;
	int i, k, ui, uk;
};

/* Of the direction (dx, dz) and phase number p of plane y. */
static struct run run_of(const struct deal *d, int dx, int dz, int y, int p)
{
	const struct srm_shape *s = &d->t.m->shape;
	const struct phase *f = &d->phase[(int64_t)y * d->phases + p];
	int layers = f->exchanged ? d->o->b * s->layers + d->o->a : d->o->a * s->layers + d->o->b;
	int x = (f->exchanged ? -1 : 1) * f->sx * dx, z = (f->exchanged ? -1 : 1) * f->sz * dz;
	const uint32_t *start = d->t.start + f->column * (d->t.lists + 1) + layers * d->t.directions +
	                        signed_direction(s, x, z);
	int64_t first = d->t.m->ptr[f->column] + start[0];
	struct run r = { .n = start[1] - start[0], .element = d->t.element + first };

	r.ui = -f->sx * s->d[0];
	r.uk = -f->sz * s->d[1];
	/* exchanged, the upper crystal is the stored l = u + d */
	r.i = p / s->d[1] + (f->exchanged ? r.ui * x : 0);
	r.k = p % s->d[1] + (f->exchanged ? r.uk * z : 0);
	return r;
}

/* Makes room for v before those of places first ... at - 1 that have its i and a greater k; returns its place. */
static int64_t make_place(const struct iso_srm_rows *to, int64_t first, int64_t at, struct iso_srm_voxel v)
{
	for (; at > first && to->voxel[at - 1].i == v.i && to->voxel[at - 1].k > v.k; at--) {
		to->voxel[at] = to->voxel[at - 1];
		to->w[at] = to->w[at - 1];
	}
	return at;
}

/* A run at places from `first` on, by (i, k): from its end or its beginning, whichever makes i rise. Where one
   axis is mirrored and the other is not, k falls among those of one i. */
static void put_run(const struct iso_srm_rows *to, int64_t first, const struct run *r, int y)
{
	int64_t from = r->ui > 0 ? 0 : r->n - 1, step = r->ui > 0 ? 1 : -1;
	struct iso_srm_voxel last = { 0, INT16_MIN, 0 };

	for (int64_t at = first; at < first + r->n; at++, from += step) {
		struct element e = r->element[from];
		struct iso_srm_voxel v = { (int16_t)y, (int16_t)(r->i + r->ui * e.ux),
			                   (int16_t)(r->k + r->uk * e.uz) };
		bool falls = v.i == last.i && v.k < last.k;
		int64_t place = falls ? make_place(to, first, at, v) : at;

		if (!falls) last = v;
		to->voxel[place] = v;
		to->w[place] = e.w;
	}
}

/* The elements of a list or, before there is room for them (r.w is NULL), their number. */
static void fill_list(const struct deal *d, int64_t list)
{
	const struct srm_shape *s = &d->t.m->shape;
	bool is_unsigned = d->o->is_unsigned;
	int across = is_unsigned ? s->nc[1] : 2 * s->nc[1] - 1, direction = (int)(list % d->r.directions);
	int dx = direction / across - (is_unsigned ? 0 : s->nc[0] - 1);
	int dz = direction % across - (is_unsigned ? 0 : s->nc[1] - 1), y = (int)(list / d->r.directions);
	int64_t n = 0;

	for (int p = 0; p < d->phases; p++) {
		struct run r = run_of(d, dx, dz, y, p);

		if (d->r.w) put_run(&d->r, d->first[list] + n, &r, y);
		n += r.n;
	}
	if (!d->r.w) d->first[list] = n;
}

/* Running sums over the lists in their order: direction by direction, or plane by plane. */
static void place_lists(struct deal *d, int planes, bool by_plane)
{
	int64_t sum = 0, directions = d->r.directions, n = planes * directions;

	for (int64_t i = 0; i < n; i++) {
		int64_t list = by_plane ? i : i % planes * directions + i / planes, length = d->first[list];

		if (by_plane || i % planes == 0) d->r.ptr[by_plane ? i : i / planes] = sum;
		d->first[list] = sum;
		sum += length;
	}
	d->r.ptr[d->r.n] = sum;
}

static int deal_out(struct deal *d, iso_ctx *ctx, bool by_plane)
{
	const struct srm_shape *s = &d->t.m->shape;
	int planes = planes_of(d->t.m, d->o), st;
	int64_t n = planes * d->r.directions, phases = (int64_t)planes * d->phases;

	d->r.n = by_plane ? n : d->r.directions;
	d->r.ptr = size_alloc(d->r.n + 1, sizeof *d->r.ptr);
	d->first = size_alloc(n, sizeof *d->first);
	d->phase = size_alloc(phases, sizeof *d->phase);
	if (!d->r.ptr || !d->first || !d->phase)
		return iso_fail_memory("srm: places of directions", n * (int64_t)sizeof *d->first);
	for (int64_t i = 0; i < phases; i++) d->phase[i] = phase_of(s, i);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
	for (int64_t i = 0; i < n; i++) fill_list(d, i);
	place_lists(d, planes, by_plane);
	if ((st = room_for((void **)&d->r.voxel, sizeof *d->r.voxel, &d->r.w, d->r.ptr[d->r.n]))) return st;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
	for (int64_t i = 0; i < n; i++) fill_list(d, i);
	return ISO_OK;
}

/* Positions of voxels are 16 bits. */
static int make_rows(struct iso_srm_rows *r, iso_ctx *ctx, const iso_srm *m, const struct iso_srm_order *o,
                     bool by_plane)
{
	const struct srm_shape *s = &m->shape;
	struct deal d = { .o = o, .phases = s->d[0] * s->d[1] };
	int st = check_order(m, o);

	if (st) return st;
	if ((int64_t)s->nc[0] * s->d[0] >= INT16_MAX || (int64_t)s->nc[1] * s->d[1] >= INT16_MAX)
		return iso_fail(ISO_EARG, "srm: images of more than %d voxels an axis have no rows",
		                INT16_MAX);
	if (!(st = sort_table(&d.t, ctx, m))) {
		d.r.directions = o->is_unsigned ? (int64_t)s->nc[0] * s->nc[1] : d.t.directions;
		st = deal_out(&d, ctx, by_plane);
	}
	free_sorted(&d.t);
	free(d.phase);
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
	if (!r) return;
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
