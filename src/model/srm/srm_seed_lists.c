/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the tables of the papers' strategies from a system matrix: seed rows and seed columns,
   each list in the order in which neighbouring threads read neighbouring places. */
#include "srm_seed_lists.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static int pairs_of(const struct srm_shape *s)
{
	return s->layers * s->layers;
}

static double greatest(int64_t n, const iso_real *w)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++) most = (double)w[i] > most ? (double)w[i] : most;
	return most;
}

int iso_srm_row_order(struct srm_row_order *o, const struct srm_op *m)
{
	*o = (struct srm_row_order){ m->shape, m->n_sub, .room = { .what = "srm: directions" } };
	ISO_HOST(&o->room, o->subset, (int64_t)m->shape.nc[0] * m->shape.nc[1]);
	ISO_HOST(&o->room, o->first, m->n_direction);
	if (o->room.status) return iso_room_free(&o->room);
	for (int i = 0; i < m->n_direction; i++) {
		const struct srm_direction *d = &m->direction[m->place[i]];

		o->first[i] = d->first;
		o->subset[abs(d->dx) * m->shape.nc[1] + abs(d->dz)] = d->subset;
	}
	return ISO_OK;
}

void iso_srm_row_order_free(struct srm_row_order *o)
{
	iso_room_free(&o->room);
}

/* ---- seed rows: elements of one list by (k, y, i) ---- */

struct item {
	struct srm_place place;
	iso_real w;
};

/* One thread's room. */
struct bench {
	struct item *a, *b; /* of the longest list */
	int64_t *count;     /* of the widest range of a coordinate, and one more */
};

enum { ALONG_Y, ALONG_I, ALONG_K };

static int coordinate(const struct srm_place *p, int along)
{
	return along == ALONG_Y ? p->y : along == ALONG_I ? p->i : p->k;
}

/* Sorts t->a[0 ... n - 1] by one coordinate, all in low ... low + range - 1; stable. */
static void sort_along(struct bench *t, int64_t n, int along, int low, int range)
{
	memset(t->count, 0, (size_t)(range + 1) * sizeof *t->count);
	for (int64_t i = 0; i < n; i++) t->count[coordinate(&t->a[i].place, along) - low + 1]++;
	for (int c = 0; c < range; c++) t->count[c + 1] += t->count[c];
	for (int64_t i = 0; i < n; i++) t->b[t->count[coordinate(&t->a[i].place, along) - low]++] = t->a[i];
	struct item *swap = t->a;

	t->a = t->b;
	t->b = swap;
}

/* Along x and z, places lie between -N and N-1: the upper crystal is less than the head's length
   from the voxel. */
static void fill_row(struct srm_seed_rows *out, int64_t first, const struct iso_srm_rows *r,
                     int64_t direction, struct bench *t, const struct srm_shape *s)
{
	struct srm_image_size size = srm_image_size(s);
	int64_t from = r->ptr[direction], n = r->ptr[direction + 1] - from;

	for (int64_t i = 0; i < n; i++) {
		struct iso_srm_voxel v = r->voxel[from + i];

		t->a[i] = (struct item){ { v.y, v.i, v.k, 0 }, r->w[from + i] };
	}
	sort_along(t, n, ALONG_I, -size.nx, 2 * size.nx);
	sort_along(t, n, ALONG_Y, 0, size.ny);
	sort_along(t, n, ALONG_K, -size.nz, 2 * size.nz);
	for (int64_t i = 0; i < n; i++) {
		out->place[first + i] = t->a[i].place;
		out->w[first + i] = t->a[i].w;
	}
}

static int64_t longest(const struct iso_srm_rows *r, int pairs)
{
	int64_t most = 0;

	for (int p = 0; p < pairs; p++)
		for (int64_t j = 0; j < r[p].directions; j++)
			most = r[p].ptr[j + 1] - r[p].ptr[j] > most ? r[p].ptr[j + 1] - r[p].ptr[j] : most;
	return most;
}

static int widest(const struct srm_shape *s)
{
	struct srm_image_size n = srm_image_size(s);
	int most = n.nx > n.nz ? 2 * n.nx : 2 * n.nz;

	return (most > n.ny ? most : n.ny) + 1;
}

static int64_t signed_direction(const struct srm_shape *s, int pair, int dx, int dz)
{
	int64_t across = 2 * s->nc[1] - 1;

	return pair * (2 * s->nc[0] - 1) * across + (dx + s->nc[0] - 1) * across + dz + s->nc[1] - 1;
}

static struct srm_seed seed_of(const struct srm_row_order *o, int pair, int64_t direction)
{
	const struct srm_shape *s = &o->shape;
	struct srm_seed seed = { .dx = (int)(direction / s->nc[1]), .dz = (int)(direction % s->nc[1]) };

	for (int g = 0; g < 4; g++) {
		bool repeats = ((g & 1) && seed.dx == 0) || ((g & 2) && seed.dz == 0);

		seed.row[g] = repeats ? -1
		                      : o->first[signed_direction(s, pair, g & 1 ? -seed.dx : seed.dx,
		                                                  g & 2 ? -seed.dz : seed.dz)];
	}
	return seed;
}

/* Where a seed's list comes from. */
struct source {
	int pair;
	int64_t direction;
};

/* Seeds in their order, and the running sums over them. */
static void order_seeds(struct srm_seed_rows *out, struct source *from, const struct iso_srm_rows *r,
                        const struct srm_row_order *o)
{
	int64_t at = 0, element = 0, lor = 0;

	for (int sub = 0; sub < o->n_sub; sub++) {
		out->of_subset[sub] = at;
		for (int64_t i = 0; i < out->n; i++) {
			int64_t direction = i % r[0].directions;
			int pair = (int)(i / r[0].directions);

			if (o->subset[direction] != sub) continue;
			struct srm_seed seed = seed_of(o, pair, direction);

			seed.element = element;
			seed.lor = lor;
			out->seed[at] = seed;
			from[at++] = (struct source){ pair, direction };
			element += r[pair].ptr[direction + 1] - r[pair].ptr[direction];
			lor += (int64_t)(o->shape.nc[0] - seed.dx) * (o->shape.nc[1] - seed.dz);
		}
	}
	out->of_subset[o->n_sub] = at;
	out->seed[at] = (struct srm_seed){ .element = element, .lor = lor };
}

static int fill_rows(struct srm_seed_rows *out, const struct source *from, iso_ctx *ctx,
                     const struct iso_srm_rows *r, const struct srm_row_order *o)
{
	int64_t most = longest(r, pairs_of(&o->shape)), n = ctx->threads * most, *count;
	struct iso_room room = { .what = "srm: sorting rows" };
	int range = widest(&o->shape);
	struct item *a, *b;

	ISO_HOST(&room, a, n);
	ISO_HOST(&room, b, n);
	if (!ISO_HOST(&room, count, (int64_t)ctx->threads * range)) return iso_room_free(&room);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < out->n; i++) {
		int t = omp_get_thread_num();
		struct bench space = { a + t * most, b + t * most, count + t * range };

		fill_row(out, out->seed[i].element, &r[from[i].pair], from[i].direction, &space, &o->shape);
	}
	return iso_room_free(&room);
}

static int make_rows(struct srm_seed_rows *out, iso_ctx *ctx, const struct iso_srm_rows *r,
                     const struct srm_row_order *o)
{
	struct source *from;
	int st;

	out->n = pairs_of(&o->shape) * r[0].directions;
	ISO_HOST(&out->room, out->seed, out->n + 1);
	ISO_HOST(&out->room, out->of_subset, o->n_sub + 1);
	if (!ISO_HOST(&out->room, from, out->n)) return out->room.status;
	order_seeds(out, from, r, o);
	int64_t n = out->seed[out->n].element;

	ISO_HOST(&out->room, out->place, n);
	if (!ISO_HOST(&out->room, out->w, n)) return out->room.status;
	if (!(st = fill_rows(out, from, ctx, r, o))) out->most = greatest(n, out->w);
	iso_room_drop(&out->room, from);
	return st;
}

int iso_srm_seed_rows(struct srm_seed_rows *out, iso_ctx *ctx, const iso_srm *m,
                      const struct srm_row_order *o)
{
	struct srm_seed_rows made = { .room = { .what = "srm: seed rows" } };
	struct iso_srm_rows *r = NULL;
	int st = iso_srm_pair_rows(&r, ctx, m, (struct iso_srm_order){ .is_unsigned = true }, false);

	if (!st) st = make_rows(&made, ctx, r, o);
	iso_srm_pair_rows_free(r, pairs_of(&o->shape));
	if (st)
		iso_room_free(&made.room);
	else
		*out = made;
	return st;
}

void iso_srm_seed_rows_free(struct srm_seed_rows *r)
{
	iso_room_free(&r->room);
}

/* ---- seed columns: the list of a column and layers by subset ---- */

static int subset_of(const struct srm_row_order *o, const struct iso_srm_pair *p)
{
	return o->subset[abs(p->lx - p->ux) * o->shape.nc[1] + abs(p->lz - p->uz)];
}

/* Number of a stored column among those of iso_srm_columns, which have all phases. */
static int64_t whole_column(const struct srm_seed_columns *c, const struct srm_shape *s, int64_t column)
{
	int64_t pz = column % c->phases[1], px = column / c->phases[1] % c->phases[0];
	int64_t y = column / c->phases[1] / c->phases[0];

	return (y * s->d[0] + px) * s->d[1] + pz;
}

/* list[sub] += elements of that subset. */
static void count_lists(int64_t *list, const struct iso_srm_columns *all, int64_t whole,
                        const struct srm_row_order *o)
{
	for (int64_t i = all->ptr[whole]; i < all->ptr[whole + 1]; i++) list[subset_of(o, &all->pair[i])]++;
}

/* `next`, n_sub numbers, is where each list goes on. */
static void fill_lists(struct srm_seed_columns *c, int64_t *next, const struct iso_srm_columns *all,
                       int64_t whole, const struct srm_row_order *o)
{
	for (int64_t i = all->ptr[whole]; i < all->ptr[whole + 1]; i++) {
		int64_t to = next[subset_of(o, &all->pair[i])]++;

		c->pair[to] = all->pair[i];
		c->w[to] = all->w[i];
	}
}

static int make_columns(struct srm_seed_columns *c, iso_ctx *ctx, const struct iso_srm_columns *all,
                        const struct srm_row_order *o)
{
	int pairs = pairs_of(&o->shape);
	int64_t lists = c->n * pairs * o->n_sub, *next;

	ISO_HOST(&c->room, c->ptr, lists + 1);
	if (!ISO_HOST(&c->room, next, lists)) return c->room.status;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < c->n * pairs; i++)
		count_lists(next + i * o->n_sub, &all[i % pairs], whole_column(c, &o->shape, i / pairs), o);
	for (int64_t i = 0; i < lists; i++) {
		c->ptr[i + 1] = c->ptr[i] + next[i];
		next[i] = c->ptr[i];
	}
	ISO_HOST(&c->room, c->pair, c->ptr[lists]);
	if (!ISO_HOST(&c->room, c->w, c->ptr[lists])) return c->room.status;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < c->n * pairs; i++)
		fill_lists(c, next + i * o->n_sub, &all[i % pairs], whole_column(c, &o->shape, i / pairs), o);
	c->most = greatest(c->ptr[lists], c->w);
	iso_room_drop(&c->room, next);
	return ISO_OK;
}

int iso_srm_seed_columns(struct srm_seed_columns *out, iso_ctx *ctx, const iso_srm *m,
                         const struct srm_row_order *o, bool folded)
{
	const struct srm_shape *s = &o->shape;
	struct srm_seed_columns made = { .n_sub = o->n_sub,
		                         .phases = { folded ? (s->d[0] + 1) / 2 : s->d[0],
		                                     folded ? (s->d[1] + 1) / 2 : s->d[1] },
		                         .room = { .what = "srm: seed columns" } };
	struct iso_srm_columns *all = NULL;
	int st = iso_srm_pair_columns(&all, ctx, m);

	made.n = (int64_t)((s->planes + 1) / 2) * made.phases[0] * made.phases[1];
	if (!st) st = make_columns(&made, ctx, all, o);
	iso_srm_pair_columns_free(all, pairs_of(s));
	if (st)
		iso_room_free(&made.room);
	else
		*out = made;
	return st;
}

void iso_srm_seed_columns_free(struct srm_seed_columns *c)
{
	iso_room_free(&c->room);
}
