/* SPDX-License-Identifier: BSD-3-Clause */
/* The taps of the correlation projector, by plane and direction. */
#include "srm_correlate.h"

#include <stdlib.h>

/* ---- blocks of directions ---- */

static bool alike(const struct srm_direction *x, const struct srm_direction *y)
{
	return x->subset == y->subset && x->a == y->a && x->b == y->b && x->dx == y->dx;
}

static void make_blocks(struct srm_correlation *c, const struct srm_op *m)
{
	for (int i = 0; i < m->n_direction; i++) {
		struct srm_block *b = &c->block[c->n_block - 1];

		if (i > 0 && b->n < SRM_BLOCK && alike(&m->direction[i], &m->direction[i - 1])) {
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

/* By (qx, qz, phase): cells along x in order, and a row (qx, phase) again only after the other phases,
   or adding to it would wait for what was just added. */
static int32_t key_of(const struct srm_correlation *c, struct place p)
{
	return (p.qx * c->width + p.qz) * c->phases + p.phase;
}

static int32_t at_of(const struct srm_correlation *c, int32_t key)
{
	int rest = floor_div(key, c->phases), phase = key - rest * c->phases;
	int qx = floor_div(rest + c->width / 3, c->width), qz = rest - qx * c->width;

	return (qx * c->phases + phase) * c->width + qz;
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

		c->tap[to + k] = (struct srm_tap){ r->w[r->ptr[list] + k], key_of(c, p) };
	}
	qsort(c->tap + to, (size_t)n, sizeof *c->tap, by_place);
	for (int64_t k = 0; k < n; k++) c->tap[to + k].at = at_of(c, c->tap[to + k].at);
	return n;
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
static int fill(struct srm_correlation *c, struct srm_op *m, const iso_ctx *ctx,
                const struct iso_srm_rows *taps)
{
	int64_t *first;

	if (!ISO_HOST(m->room, first, c->half + 1)) return m->room->status;
	for (int y = 0; y < c->half; y++) first[y + 1] = first[y] + elements_of_plane(m, taps, y);
	if (!ISO_HOST(m->room, c->tap, first[c->half])) return m->room->status;
	c->ptr[(int64_t)c->half * m->n_direction] = first[c->half];
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int y = 0; y < c->half; y++)
		for (int64_t i = 0, to = first[y]; i < m->n_direction; i++)
			to += fill_direction(c, m, taps, y, (int)i, to);
	iso_room_drop(m->room, first);
	return ISO_OK;
}

static int check_size(const struct srm_op *m, int64_t width)
{
	int64_t n = (int64_t)m->shape.d[0] * m->shape.d[1] * (m->shape.nc[0] + 2 * SRM_ROWS) * width;

	return n < INT32_MAX / 2 ? ISO_OK
	                         : iso_fail(ISO_EARG,
	                                    "srm: a plane of %d x %d cells of %d x %d voxels is too large "
	                                    "for the correlation; take another strategy",
	                                    m->shape.nc[0], m->shape.nc[1], m->shape.d[0], m->shape.d[1]);
}

static int make(struct srm_op *m, int64_t width)
{
	struct srm_correlation c = {
		.phases = m->shape.d[0] * m->shape.d[1],
		.half = (m->shape.planes + 1) / 2,
		.width = (int)width,
	};

	ISO_HOST(m->room, c.block, m->n_direction);
	ISO_HOST(m->room, c.sub, m->n_sub + 1);
	ISO_HOST(m->room, c.ptr, (int64_t)c.half * m->n_direction + 1);
	if (!ISO_HOST(m->room, m->correlation, 1)) return m->room->status;
	make_blocks(&c, m);
	*m->correlation = c;
	return ISO_OK;
}

/* A window of a row begins up to Ncz before the row and ends up to Ncz and two vectors behind. */
int iso_srm_correlate_table(struct srm_op *m, iso_ctx *ctx)
{
	int64_t width = 3 * (int64_t)m->shape.nc[1] + SRM_LANES * (2 + m->shape.nc[1] / 32);
	struct iso_srm_rows *taps = NULL;
	int st = check_size(m, width);

	if (st || (st = make(m, width))) return st;
	st = iso_srm_pair_rows(&taps, ctx, m->srm, (struct iso_srm_order){ .half = true }, true);
	if (!st) st = fill(m->correlation, m, ctx, taps);
	iso_srm_pair_rows_free(taps, SRM_PAIRS(m));
	return st;
}
