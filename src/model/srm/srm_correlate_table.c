/* SPDX-License-Identifier: BSD-3-Clause */
/* The taps of the correlation projector, by plane and direction. */
#include "srm_correlate.h"
#include "srm_share.h"
#include "matrix/srm_matrix.h"

#include <omp.h>

enum { KEY_BITS = 32 };

/* ---- blocks of directions ---- */

static void make_blocks(struct srm_correlation *c, const struct srm_op *m)
{
	for (int i = 0; i < m->n_direction; i++) {
		const struct srm_direction *d = &m->direction[i], *e = d - 1;
		struct srm_block *b = &c->block[c->n_block - 1];

		if (i > 0 && b->n < SRM_BLOCK && d->subset == e->subset && d->a == e->a && d->b == e->b &&
		    d->dx == e->dx) {
			b->n++;
			continue;
		}
		c->block[c->n_block++] = (struct srm_block){ i, 1 };
		c->sub[d->subset + 1] = c->n_block;
	}
}

/* ---- taps of a plane ---- */

/* By (qx, qz, phase): cells along x in order, and a row (qx, phase) again only after the other phases,
   or adding to it would wait for what was just added. */
static int32_t key_of(const struct srm_correlation *c, const int d[2], struct iso_srm_voxel v)
{
	int qx = srm_down(v.i, d[0]), qz = srm_down(v.k, d[1]);

	return (qx * c->width + qz) * c->phases + (v.i - qx * d[0]) * d[1] + v.k - qz * d[1];
}

static int32_t at_of(const struct srm_correlation *c, int32_t key)
{
	int rest = srm_down(key, c->phases), phase = key - rest * c->phases;
	int qx = srm_down(rest + c->width / 3, c->width), qz = rest - qx * c->width;

	return (qx * c->phases + phase) * c->width + qz;
}

/* List number y n_direction + i: the taps of direction i in plane y, from place c->ptr[list] on. `order` and
   `spare` have room for them. */
static void fill_list(struct srm_correlation *c, const struct srm_op *m, const struct iso_srm_rows *taps,
                      int64_t list, uint64_t *order, uint64_t *spare)
{
	struct srm_taps t =
		srm_taps_of(m, taps, &m->direction[list % m->n_direction], (int)(list / m->n_direction));
	struct srm_tap *to = c->tap + c->ptr[list];
	int32_t least = INT32_MAX, most = INT32_MIN;
	int bits = 0;

	for (int64_t k = 0; k < t.n; k++) {
		to[k].at = key_of(c, m->shape.d, t.voxel[k]);
		least = to[k].at < least ? to[k].at : least;
		most = to[k].at > most ? to[k].at : most;
	}
	for (int64_t k = 0; k < t.n; k++)
		order[k] = (uint64_t)k << KEY_BITS | (uint64_t)((int64_t)to[k].at - least);
	while (t.n > 0 && ((int64_t)most - least) >> bits) bits++;
	iso_srm_sort(order, spare, t.n, bits);
	for (int64_t k = 0; k < t.n; k++) {
		int32_t key = (int32_t)(least + (int64_t)(order[k] & (((uint64_t)1 << KEY_BITS) - 1)));

		to[k] = (struct srm_tap){ t.w[order[k] >> KEY_BITS], at_of(c, key) };
	}
}

/* ---- what this rank needs ---- */

static void mark_mine(struct srm_correlation *c, const struct srm_op *m)
{
	for (int i = 0; i < m->n_direction; i++) {
		const struct srm_direction *d = &m->direction[i];
		int64_t exchanged = srm_direction_at(m, d->b, d->a, d->number) - m->direction;

		c->mine[i] = (uint8_t)(m->share->mine[i] | m->share->mine[exchanged] << 1);
	}
}

/* Forward, the taps of its directions in all planes, back, those of all directions in its planes. */
static bool needed(const struct srm_op *m, int64_t list)
{
	int y = (int)(list / m->n_direction), mirror = m->shape.planes - 1 - y;
	struct iso_rows planes = srm_my_planes(m);

	if (m->correlation->mine[list % m->n_direction]) return true;
	for (int64_t k = planes.first; k < planes.first + planes.n; k++)
		if (m->share->plane[k] == y || m->share->plane[k] == mirror) return true;
	return false;
}

/* ---- the whole ---- */

/* Planes one behind the other; the place after the last list ends it. */
static void fill(struct srm_op *m, const struct iso_srm_rows *taps)
{
	struct srm_correlation *c = m->correlation;
	int64_t lists = (int64_t)c->half * m->n_direction, longest = 0;
	uint64_t *order;

	for (int64_t i = 0; i < lists; i++) {
		struct srm_taps t =
			srm_taps_of(m, taps, &m->direction[i % m->n_direction], (int)(i / m->n_direction));

		c->ptr[i + 1] = c->ptr[i] + (needed(m, i) ? t.n : 0);
		longest = t.n > longest ? t.n : longest;
	}
	ISO_HOST(m->room, c->tap, c->ptr[lists]);
	if (!ISO_HOST(m->room, order, 2 * longest * m->room->ctx->threads)) return;
	struct iso_clock clock = iso_clock_brief(m->room->ctx, "tables", "rows", lists, NULL);

#pragma omp parallel for num_threads(m->room->ctx->threads) schedule(dynamic, 64)
	for (int64_t i = 0; i < lists; i++) {
		uint64_t *mine = order + 2 * longest * omp_get_thread_num();

		if (c->ptr[i + 1] > c->ptr[i]) fill_list(c, m, taps, i, mine, mine + longest);
		iso_clock_add(&clock, 1);
	}
	iso_clock_end(&clock);
	iso_room_drop(m->room, order);
}

static bool make(struct srm_op *m, int64_t width)
{
	struct srm_correlation c = { .phases = m->shape.d[0] * m->shape.d[1],
		                     .half = (m->shape.planes + 1) / 2 };

	c.width = (int)width;
	ISO_HOST(m->room, c.block, m->n_direction);
	ISO_HOST(m->room, c.sub, m->n_sub + 1);
	ISO_HOST(m->room, c.mine, m->n_direction);
	ISO_HOST(m->room, c.ptr, (int64_t)c.half * m->n_direction + 1);
	if (!ISO_HOST(m->room, m->correlation, 1)) return false;
	make_blocks(&c, m);
	*m->correlation = c;
	return true;
}

/* A window of a row begins up to Ncz before the row and ends up to Ncz and two vectors behind. */
void iso_srm_correlate_table(struct srm_op *m)
{
	struct iso_room taken = { .ctx = m->room->ctx, .what = "srm: rows" };
	const int *nc = m->shape.nc, *d = m->shape.d;
	int64_t width = 3 * (int64_t)nc[1] + SRM_LANES * (2 + nc[1] / 32);

	if ((int64_t)d[0] * d[1] * (nc[0] + 2 * SRM_ROWS) * width >= INT32_MAX / 2)
		m->room->status =
			iso_fail(ISO_EARG,
		                 "srm: %d x %d cells of %d x %d voxels are too many for strategy correlation",
		                 nc[0], nc[1], d[0], d[1]);
	if (!make(m, width)) return;
	struct iso_srm_rows *taps =
		iso_srm_pair_rows(&taken, m->srm, (struct iso_srm_order){ .half = true }, true);

	if (taps) {
		iso_srm_share_directions(m, taps, NULL, NULL);
		iso_srm_share_planes(m, taps, true);
		mark_mine(m->correlation, m);
		fill(m, taps);
	}
	if (iso_room_free(&taken)) m->room->status = taken.status;
}
