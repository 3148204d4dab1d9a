/* SPDX-License-Identifier: BSD-3-Clause */
/* The taps of the correlation projector, by plane and direction. */
#include "srm_correlate.h"

#include <stdlib.h>

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

static int by_place(const void *x, const void *y)
{
	const struct srm_tap *a = x, *b = y;

	return (a->at > b->at) - (a->at < b->at);
}

static int64_t fill_direction(struct srm_correlation *c, const struct srm_op *m,
                              const struct iso_srm_rows *taps, int y, int i, int64_t first)
{
	struct srm_taps t = srm_taps_of(m, taps, &m->direction[i], y);
	struct srm_tap *to = c->tap + first;

	c->ptr[(int64_t)y * m->n_direction + i] = first;
	for (int64_t k = 0; k < t.n; k++)
		to[k] = (struct srm_tap){ t.w[k], key_of(c, m->shape.d, t.voxel[k]) };
	qsort(to, (size_t)t.n, sizeof *to, by_place);
	for (int64_t k = 0; k < t.n; k++) to[k].at = at_of(c, to[k].at);
	return t.n;
}

/* ---- the whole ---- */

/* Planes one behind the other; the place after the last list ends it. */
static void fill(struct srm_op *m, const struct iso_srm_rows *taps)
{
	struct srm_correlation *c = m->correlation;
	int64_t *first;

	if (!ISO_HOST(m->room, first, c->half + 1)) return;
	for (int y = 0; y < c->half; y++)
		for (int i = 0; i < SRM_PAIRS(m); i++)
			first[y + 1] += taps[i].ptr[(y + 1) * taps[i].directions];
	if (!ISO_HOST(m->room, c->tap, first[c->half])) return;
	c->ptr[(int64_t)c->half * m->n_direction] = first[c->half];
#pragma omp parallel for num_threads(m->room->ctx->threads) schedule(dynamic)
	for (int y = 0; y < c->half; y++)
		for (int64_t i = 0, to = first[y]; i < m->n_direction; i++)
			to += fill_direction(c, m, taps, y, (int)i, to);
	iso_room_drop(m->room, first);
}

static bool make(struct srm_op *m, int64_t width)
{
	struct srm_correlation c = { .phases = m->shape.d[0] * m->shape.d[1],
		                     .half = (m->shape.planes + 1) / 2 };

	c.width = (int)width;
	ISO_HOST(m->room, c.block, m->n_direction);
	ISO_HOST(m->room, c.sub, m->n_sub + 1);
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

	if (taps) fill(m, taps);
	if (iso_room_free(&taken)) m->room->status = taken.status;
}
