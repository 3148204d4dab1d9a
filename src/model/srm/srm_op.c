/* SPDX-License-Identifier: BSD-3-Clause */
/* From a system matrix to an operator: subsets, the order of rows, and the way in which it meets image and data. The
   loops are in srm_correlate.c and its CUDA twin. */
#include "srm_op.h"
#include "model/srm/matrix/srm_matrix.h"
#include "srm_correlate.h"
#include "srm_share.h"
#include "core/loop/order.h"
#include "core/sized.h"

#include <stdlib.h>

#define GROUP 4 /* neighbours along either axis that ISO_GROUPS keeps together */

/* ---- subsets: sets of unsigned directions |dx| Ncz + |dz| ---- */

static int groups_along(const struct srm_shape *s, int axis)
{
	return (s->nc[axis] + GROUP - 1) / GROUP;
}

/* Blocks are dealt in turn. Where n_sub and the blocks along z have a common divisor, the turn
   moves on by one at each return, or a subset would be one class of |dz| and leave voxels unseen. */
static int subset_of_group(const struct srm_shape *s, int n_sub, int dx, int dz)
{
	int along = groups_along(s, 1), a = along, b = n_sub;
	int64_t t = (int64_t)(dx / GROUP) * along + dz / GROUP;

	for (int rest; b; b = rest) {
		rest = a % b;
		a = b;
	}
	return (int)((t + t / ((int64_t)along / a * n_sub)) % n_sub);
}

static int subset_of_random(const struct srm_shape *s, const struct iso_srm_model *p, int number)
{
	struct iso_order o = {
		.n = (int64_t)s->nc[0] * s->nc[1], .n_sub = p->n_sub, .rule = ISO_RANDOM, .seed = p->seed
	};
	int64_t row = order_shuffle(&o, number);
	int k = 0;

	while (row >= order_rows(&o, k).first + order_rows(&o, k).n) k++;
	return k;
}

static int subset_of(const struct srm_shape *s, const struct iso_srm_model *p, int dx, int dz)
{
	int number = dx * s->nc[1] + dz;

	if (p->n_sub == 1) return 0;
	if (p->deal) return p->deal[number];
	if (p->rule == ISO_MOD) return number % p->n_sub;
	return p->rule == ISO_GROUPS ? subset_of_group(s, p->n_sub, dx, dz) : subset_of_random(s, p, number);
}

static int check_deal(const struct srm_shape *s, const struct iso_srm_model *p)
{
	int n = s->nc[0] * s->nc[1];

	for (int i = 0; p->deal && i < n; i++)
		if (p->deal[i] < 0 || p->deal[i] >= p->n_sub)
			return iso_fail(ISO_EARG,
			                "srm: the deal puts direction %d into subset %d, must be 0 to %d", i,
			                p->deal[i], p->n_sub - 1);
	for (int k = 0, i; p->deal && k < p->n_sub; k++) {
		for (i = 0; i < n && p->deal[i] != k;) i++;
		if (i == n)
			return iso_fail(ISO_EARG, "srm: the deal leaves subset %d of %d without a direction",
			                k, p->n_sub);
	}
	return ISO_OK;
}

static int check(const struct iso_srm_model *p)
{
	if (!p->srm) return iso_fail_null("struct iso_srm_model");
	const struct srm_shape *s = &p->srm->shape;
	bool groups = p->rule == ISO_GROUPS && !p->deal;
	int most = groups ? groups_along(s, 0) * groups_along(s, 1) : s->nc[0] * s->nc[1];

	if (!p->srm->ptr) return iso_fail(ISO_EARG, "srm: no table yet: give it a bound first");
	if (p->n_sub < 1 || p->n_sub > most)
		return iso_fail(ISO_EARG, "srm: %d subsets, must be 1 to %d, the number of %s", p->n_sub,
		                most, groups ? "groups of directions" : "directions");
	if (p->n_sub > 1 && !p->deal && p->rule != ISO_MOD && p->rule != ISO_RANDOM && p->rule != ISO_GROUPS)
		return iso_fail(ISO_EARG, "srm: there is no subset rule %d for directions", (int)p->rule);
	return check_deal(s, p);
}

/* ---- directions in the order of their rows ---- */

static struct srm_direction direction_of(const struct srm_shape *s, const struct iso_srm_model *p, int place)
{
	int across = 2 * s->nc[1] - 1, each = (2 * s->nc[0] - 1) * across, pair = place / each;
	struct srm_direction d = { .a = pair / s->layers, .b = pair % s->layers, .number = place % each };

	d.dx = d.number / across - s->nc[0] + 1;
	d.dz = d.number % across - s->nc[1] + 1;
	d.subset = subset_of(s, p, abs(d.dx), abs(d.dz));
	d.x0 = d.dx < 0 ? -d.dx : 0;
	d.z0 = d.dz < 0 ? -d.dz : 0;
	d.nx = s->nc[0] - abs(d.dx);
	d.nz = s->nc[1] - abs(d.dz);
	return d;
}

/* A counting sort by subset: what is equal keeps its order (a, b, number). */
static void place_directions(struct srm_op *m, const struct iso_srm_model *p)
{
	for (int i = 0; i < m->n_direction; i++) m->sub[direction_of(&m->shape, p, i).subset + 1]++;
	for (int k = 0; k < m->n_sub; k++) m->sub[k + 1] += m->sub[k];
	for (int i = 0; i < m->n_direction; i++) {
		struct srm_direction d = direction_of(&m->shape, p, i);

		m->place[i] = m->sub[d.subset]++;
		m->direction[m->place[i]] = d;
	}
	for (int k = m->n_sub; k > 0; k--) m->sub[k] = m->sub[k - 1];
	m->sub[0] = 0;
	for (int i = 0; i < m->n_direction; i++) {
		struct srm_direction *d = &m->direction[i];

		d->first = m->lors;
		m->lors += (int64_t)d->nx * d->nz;
	}
}

static int64_t n_directions(const struct srm_shape *s)
{
	return (int64_t)s->layers * s->layers * (2 * s->nc[0] - 1) * (2 * s->nc[1] - 1);
}

static struct srm_op *make(struct iso_room *room, const struct iso_srm_model *p, const struct srm_way *way)
{
	const struct srm_shape *s = &p->srm->shape;
	int64_t n = n_directions(s);
	struct srm_op made = { .shape = *s, .way = way, .n_sub = p->n_sub, .srm = p->srm }, *m;

	made.n_direction = (int)n;
	made.voxels = (int64_t)s->nc[0] * s->d[0] * s->nc[1] * s->d[1] * s->planes;
	ISO_HOST(room, made.direction, n);
	ISO_HOST(room, made.sub, p->n_sub + 1);
	ISO_HOST(room, made.place, n);
	if (!ISO_HOST(room, m, 1)) return NULL;
	*m = made;
	place_directions(m, p);
	iso_srm_share_make(m, room);
	return m;
}

struct iso_rows iso_srm_op_rows(const iso_op *op, int sub)
{
	const struct srm_op *m = op->data;
	int end = m->sub[sub + 1];
	int64_t first = m->direction[m->sub[sub]].first;

	return (struct iso_rows){ first, (end < m->n_direction ? m->direction[end].first : m->lors) - first };
}

/* The last that begins at or before the row. */
int iso_srm_direction_of(const struct srm_op *m, int64_t row)
{
	int low = 0, high = m->n_direction;

	while (high - low > 1) {
		int middle = (low + high) / 2;

		if (m->direction[middle].first <= row)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The LOR's natural number. */
int64_t iso_srm_op_file_row(const iso_op *op, int64_t row)
{
	const struct srm_op *m = op->data;
	const struct srm_direction *d = &m->direction[iso_srm_direction_of(m, row)];
	const int *nc = m->shape.nc;
	int64_t ux = d->x0 + (row - d->first) / d->nz, uz = d->z0 + (row - d->first) % d->nz;
	int64_t u = ux * nc[1] + uz, l = (ux + d->dx) * nc[1] + uz + d->dz;

	return (((int64_t)d->a * m->shape.layers + d->b) * nc[0] * nc[1] + u) * nc[0] * nc[1] + l;
}

/* ---- the operator ---- */

static int make_op(iso_op **op, iso_ctx *ctx, const struct iso_srm_model *p, const struct srm_way *way)
{
	struct iso_room room = { .ctx = ctx, .what = "srm: tables" };
	struct iso_srm_model full;
	struct srm_op *m;
	int st = iso_sized_take(&full, "iso_srm_model", sizeof full, p);

	if (st || (st = check(p = &full))) return st;
	if (!(m = make(&room, p, way)) || room.status) return iso_room_free(&room);
	m->room = &room;
	if (!iso_ctx_is_cuda(ctx)) way->table(m);
	if (!(st = iso_op_create_in(op, ctx, &way->fn, m->voxels, m->lors, m->n_sub, &room, m))) {
		m->srm = NULL;
		m->room = NULL;
	}
	return st;
}

int iso_srm_op_create_by(iso_op **op, iso_ctx *ctx, const struct iso_srm_model *p, const struct srm_way *way)
{
	iso_op *made = NULL;
	int st = make_op(&made, ctx, p, way);

	return iso_op_agree(op, made, ctx, st);
}

int iso_srm_op_create(iso_op **op, iso_ctx *ctx, const struct iso_srm_model *p)
{
	static const struct srm_way correlation = {
		.table = iso_srm_correlate_table,
		.fn = { iso_srm_correlate_forward, iso_srm_correlate_back, SRM_OP_SHARED },
	};

	if (!op || !ctx || !p) return iso_fail_null(__func__);
	return iso_srm_op_create_by(op, ctx, p, &correlation);
}

/* Elements of all phases and half the planes. Of streams, bytes an element as measured on two scanners, of subsets that keep neighbours together: both; the weights of
   one of them, and the taps of all planes. Then padded image and data, and slices. Of several ranks each has
   its share of the streams; on the CPU, the taps of its directions in all planes and of all directions in its planes. */
void iso_srm_op_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_srm_model *p)
{
	struct iso_srm_model full;

	if (iso_sized_take(&full, "iso_srm_model", sizeof full, p) || !full.srm)
		return; /* iso_srm_op_create will say so */
	p = &full;
	const struct srm_shape *s = &p->srm->shape;
	int64_t face = (int64_t)s->nc[0] * s->nc[1], lors = face * face * s->layers * s->layers;
	int64_t voxels = face * s->d[0] * s->d[1] * s->planes;
	bool cuda = iso_ctx_is_cuda(ctx);
	struct iso_srm_info info = { .size = sizeof info };

	if (iso_srm_info(&info, p->srm)) return;
	int64_t n = (int64_t)(info.bytes_column / 8), real = sizeof(iso_real), ranks = iso_ranks(ctx);

	iso_plan_add(plan, "directions", n_directions(s), sizeof(struct srm_direction) + 4, false);
	iso_plan_add(plan, "elements by direction", info.elements, 2 * sizeof(int16_t) + real, false);
	if (cuda) {
		int64_t rows = lors / (p->n_sub > 0 ? p->n_sub : 1);

		iso_plan_add(plan, "streams of taps", n / ranks, 40, true);
		iso_plan_add(plan, "streams in the making", n / ranks, 75, false);
		iso_plan_add(plan, "padded image and data", 2 * voxels + 5 * lors, sizeof(float), true);
		iso_plan_add(plan, "slices", voxels > rows ? voxels : rows, 8 * sizeof(float), true);
	} else {
		iso_plan_add(plan, "taps", n * (2 * ranks - 1) / (ranks * ranks), sizeof(struct srm_tap),
		             false);
		iso_plan_add(plan, "table while its order is made", n, sizeof(struct iso_srm_voxel) + real,
		             false);
	}
	if (ranks > 1) iso_plan_add(plan, "results of all ranks", voxels > lors ? voxels : lors, real, cuda);
}
