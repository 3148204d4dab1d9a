/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the tables of the papers' strategies from a system matrix: seed rows and seed columns,
   each list in the order in which neighbouring threads read neighbouring places. */
#include "srm_seed_lists.h"
#include "strategies.h"

#include "model/srm/matrix/srm_matrix.h"
#include "model/srm/srm_share.h"
#include "core/progress.h"

#include <omp.h>
#include <stdlib.h>

enum { PLACE_BITS = 33 }; /* of a number below 4 voxels, of which CUDA takes less than 2^31 */

static double greatest(int64_t n, const iso_real *w)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++) most = (double)w[i] > most ? (double)w[i] : most;
	return most;
}

static void hand(struct iso_room *room, void *array)
{
	if (!iso_room_take(room, array)) free(array);
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

static int signed_number(const struct srm_shape *s, int dx, int dz)
{
	return (dx + s->nc[0] - 1) * (2 * s->nc[1] - 1) + dz + s->nc[1] - 1;
}

/* ---- seed rows ---- */

/* Elements of one list by (k, y, i). Along x and z, places lie between -N and N-1: the upper crystal is less
   than the head's length from the voxel. `key`: room for n, and `spare` for as many. */
static void fill_row(struct srm_seed_rows *out, int64_t first, const struct iso_srm_rows *r,
                     int64_t direction, uint64_t *key, uint64_t *spare)
{
	int64_t from = r->ptr[direction], n = r->ptr[direction + 1] - from;
	struct srm_image_size size = out->size;

	for (int64_t i = 0; i < n; i++) {
		struct iso_srm_voxel v = r->voxel[from + i];
		int64_t place = ((int64_t)(v.k + size.nz) * size.ny + v.y) * 2 * size.nx + v.i + size.nx;

		key[i] = (uint64_t)i << PLACE_BITS | (uint64_t)place;
	}
	iso_srm_sort(key, spare, n, PLACE_BITS);
	for (int64_t i = 0; i < n; i++) {
		int64_t k = from + (int64_t)(key[i] >> PLACE_BITS);

		out->place[first + i] = (struct srm_place){ r->voxel[k].y, r->voxel[k].i, r->voxel[k].k, 0 };
		out->w[first + i] = r->w[k];
	}
}

static struct srm_seed seed_of(const struct srm_op *m, int pair, int64_t direction)
{
	const struct srm_shape *s = &m->shape;
	struct srm_seed seed = { .dx = (int)(direction / s->nc[1]), .dz = (int)(direction % s->nc[1]) };

	for (int g = 0; g < 4; g++) {
		bool repeats = ((g & 1) && seed.dx == 0) || ((g & 2) && seed.dz == 0);
		int number = signed_number(s, g & 1 ? -seed.dx : seed.dx, g & 2 ? -seed.dz : seed.dz);

		seed.row[g] =
			repeats ? -1 : srm_direction_at(m, pair / s->layers, pair % s->layers, number)->first;
	}
	return seed;
}

static int subset_of(const struct srm_op *m, int dx, int dz)
{
	return srm_direction_at(m, 0, 0, signed_number(&m->shape, dx, dz))->subset;
}

/* Seeds in their order, and the running sums over them; number[i]: the seed of pair of layers and direction
   i = pair directions + direction. */
static void order_seeds(struct srm_seed_rows *out, int64_t *number, const struct iso_srm_rows *r,
                        const struct srm_op *m)
{
	const int *nc = m->shape.nc;
	int64_t at = 0, element = 0, lor = 0;

	for (int sub = 0; sub <= m->n_sub; sub++) {
		out->of_subset[sub] = at;
		out->lor[sub] = lor;
		for (int64_t i = 0; i < out->n; i++) {
			int64_t direction = i % r->directions;
			int pair = (int)(i / r->directions);
			struct srm_seed seed = seed_of(m, pair, direction);

			if (subset_of(m, seed.dx, seed.dz) != sub) continue;
			seed.element = element;
			seed.lor = lor;
			out->seed[at] = seed;
			number[i] = at++;
			element += r[pair].ptr[direction + 1] - r[pair].ptr[direction];
			lor += (int64_t)(nc[0] - seed.dx) * (nc[1] - seed.dz);
		}
	}
	out->seed[at] = (struct srm_seed){ .element = element, .lor = lor };
}

static void fill_rows(struct srm_seed_rows *out, struct iso_room *room, const int64_t *number,
                      const struct iso_srm_rows *r)
{
	int64_t n = out->seed[out->n].element, most = 0;
	uint64_t *key;

	for (int64_t i = 0; i < out->n; i++) {
		int64_t length = out->seed[i + 1].element - out->seed[i].element;

		most = length > most ? length : most;
	}
	ISO_HOST(room, out->place, n);
	ISO_HOST(room, out->w, n);
	if (!ISO_HOST(room, key, 2 * most * room->ctx->threads)) return;
#pragma omp parallel for num_threads(room->ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < out->n; i++) {
		uint64_t *mine = key + 2 * most * omp_get_thread_num();

		fill_row(out, out->seed[number[i]].element, &r[i / r->directions], i % r->directions, mine,
		         mine + most);
	}
	out->most = greatest(n, out->w);
	iso_room_drop(room, key);
}

/* Whole seeds, with the directions of their mirror images. */
static void deal_seeds(struct srm_seed_rows *out, struct iso_room *room, const struct srm_op *m)
{
	struct srm_share *s = m->share;
	int n = 0, *start;

	ISO_HOST(room, out->mine, m->n_sub);
	if (!ISO_HOST(room, start, out->n + 1)) return;
	for (int64_t i = 0; i < out->n; i++) {
		start[i] = n;
		for (int g = 0; g < 4; g++)
			if (out->seed[i].row[g] >= 0)
				s->order[n++] = iso_srm_direction_of(m, out->seed[i].row[g]);
	}
	start[out->n] = n;
	iso_srm_share_directions(m, NULL, start, out->of_subset);
	for (int sub = 0; sub < m->n_sub; sub++) {
		struct iso_rows *mine = &out->mine[sub];

		for (int64_t i = out->of_subset[sub]; i < out->of_subset[sub + 1]; i++) {
			if (!s->mine[s->order[start[i]]]) continue;
			if (mine->n == 0) mine->first = out->seed[i].lor;
			mine->n += out->seed[i + 1].lor - out->seed[i].lor;
		}
	}
	iso_room_drop(room, start);
}

int iso_srm_seed_rows(struct srm_seed_rows *out, struct iso_room *room, const struct srm_op *m)
{
	struct iso_room taken = { .ctx = room->ctx, .what = "srm: rows" };
	struct iso_srm_rows *r =
		iso_srm_pair_rows(&taken, m->srm, (struct iso_srm_order){ .is_unsigned = true }, false);
	int64_t *number;

	*out = (struct srm_seed_rows){ m->shape, srm_image_size(&m->shape), .n_sub = m->n_sub };
	if (r) {
		out->n = SRM_PAIRS(m) * r->directions;
		ISO_HOST(room, out->seed, out->n + 1);
		ISO_HOST(room, out->of_subset, m->n_sub + 1);
		ISO_HOST(room, out->lor, m->n_sub + 1);
		if (ISO_HOST(room, number, out->n)) {
			order_seeds(out, number, r, m);
			fill_rows(out, room, number, r);
			deal_seeds(out, room, m);
			iso_room_drop(room, number);
		}
	}
	iso_room_free(&taken);
	return taken.status ? taken.status : room->status;
}

/* ---- seed columns: the list of a column and layers by subset ---- */

/* Elements of column number i / pairs and layers i % pairs, by subset: next[] is where each list goes on;
   before there are lists (c->w is NULL), it counts them. */
static void deal_column(struct srm_seed_columns *c, int64_t *next, const struct iso_srm_columns *all,
                        const struct srm_op *m, int64_t i)
{
	int64_t column = i / SRM_PAIRS(m), pz = column % c->phases[1],
		px = column / c->phases[1] % c->phases[0];
	int64_t y = column / c->phases[1] / c->phases[0];
	int64_t whole = (y * c->shape.d[0] + px) * c->shape.d[1] + pz; /* among those of all phases */

	all += i % SRM_PAIRS(m);
	next += i * m->n_sub;
	for (int64_t k = all->ptr[whole]; k < all->ptr[whole + 1]; k++) {
		struct iso_srm_pair p = all->pair[k];
		int64_t to = next[subset_of(m, p.lx - p.ux, p.lz - p.uz)]++;

		if (!c->w) continue;
		c->pair[to] = p;
		c->w[to] = all->w[k];
	}
}

static void make_columns(struct srm_seed_columns *c, struct iso_room *room, const struct iso_srm_columns *all,
                         const struct srm_op *m)
{
	int64_t columns = c->n * SRM_PAIRS(m), lists = columns * m->n_sub, *next;

	ISO_HOST(room, c->ptr, lists + 1);
	ISO_HOST(room, c->first, m->n_direction);
	if (!ISO_HOST(room, next, lists)) return;
	for (int i = 0; i < m->n_direction; i++) c->first[i] = m->direction[m->place[i]].first;
	struct iso_clock clock = iso_clock_brief(room->ctx, "tables", "columns", 2 * columns, NULL);

	iso_clock_count(&clock, "columns", .5);
#pragma omp parallel for num_threads(room->ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < columns; i++) {
		deal_column(c, next, all, m, i);
		iso_clock_add(&clock, 1);
	}
	for (int64_t i = 0; i < lists; i++) {
		c->ptr[i + 1] = c->ptr[i] + next[i];
		next[i] = c->ptr[i];
	}
	ISO_HOST(room, c->pair, c->ptr[lists]);
	if (!ISO_HOST(room, c->w, c->ptr[lists])) return;
#pragma omp parallel for num_threads(room->ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < columns; i++) {
		deal_column(c, next, all, m, i);
		iso_clock_add(&clock, 1);
	}
	iso_clock_end(&clock);
	c->most = greatest(c->ptr[lists], c->w);
	iso_room_drop(room, next);
}

int iso_srm_seed_columns(struct srm_seed_columns *c, struct iso_room *room, const struct srm_op *m,
                         bool folded)
{
	struct iso_room taken = { .ctx = room->ctx, .what = "srm: columns" };
	struct iso_srm_columns *all = iso_srm_pair_columns(&taken, m->srm);
	const struct srm_shape *s = &m->shape;

	*c = (struct srm_seed_columns){ *s, srm_image_size(s), .n_sub = m->n_sub };
	for (int i = 0; i < 2; i++) c->phases[i] = folded ? (s->d[i] + 1) / 2 : s->d[i];
	c->n = (int64_t)((s->planes + 1) / 2) * c->phases[0] * c->phases[1];
	if (all) make_columns(c, room, all, m);
	iso_room_free(&taken);
	return taken.status ? taken.status : room->status;
}
