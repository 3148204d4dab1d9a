/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns by 90 degrees and mirrors that put a barrel and a grid onto themselves: pairs that they make of one another have the
   same sensitivity, turned. */
#include "barrel_sens.h"
#include "core/size.h"

#define SAME 1e-4 /* mm, rad: strips of files are rounded */

static bool same_angle(double a, double b)
{
	return fabs(sin(a - b)) < SAME;
}

/* The strip that lies where a turn puts strip i; -1: none. */
static int32_t find(const struct iso_barrel *b, int64_t i, const int m[2][2], bool mirror)
{
	const struct iso_barrel_strip *s = b->strip + i;
	double x = m[0][0] * s->x + m[0][1] * s->y, y = m[1][0] * s->x + m[1][1] * s->y;
	double c = cos(s->angle), e = sin(s->angle), z = mirror ? -s->z : s->z;
	double angle = atan2(m[1][0] * c + m[1][1] * e, m[0][0] * c + m[0][1] * e);

	for (int64_t j = 0; j < b->n; j++) {
		const struct iso_barrel_strip *t = b->strip + j;

		if (fabs(t->x - x) < 10 * SAME && fabs(t->y - y) < 10 * SAME && fabs(t->z - z) < SAME &&
		    fabs(t->width - s->width) < SAME && fabs(t->depth - s->depth) < SAME &&
		    fabs(t->length - s->length) < SAME && same_angle(t->angle, angle))
			return (int32_t)j;
	}
	return -1;
}

static bool grid_turns(const struct iso_grid *g, const int m[2][2])
{
	const double far = 1e-6 * g->voxel[0];

	if (fabs(g->centre[0]) > far || fabs(g->centre[1]) > far) return false;
	return m[0][0] != 0 || g->n[0] == g->n[1];
}

int iso_barrel_turns(struct barrel_turns *t, struct iso_room *room, const struct iso_barrel *b,
                     const struct iso_grid *g)
{
	static const int all[BARREL_TURNS][2][2] = {
		{ { 1, 0 }, { 0, 1 } },   { { -1, 0 }, { 0, 1 } },  { { 1, 0 }, { 0, -1 } },
		{ { -1, 0 }, { 0, -1 } }, { { 0, 1 }, { 1, 0 } },   { { 0, -1 }, { 1, 0 } },
		{ { 0, 1 }, { -1, 0 } },  { { 0, -1 }, { -1, 0 } },
	};

	t->n = 0;
	for (int k = 0; k < BARREL_TURNS; k++) {
		int32_t *to;
		bool fits = k == 0 || grid_turns(g, all[k]);

		if (!ISO_HOST(room, to, b->n)) return room->status;
		for (int64_t i = 0; i < b->n && fits; i++) fits = (to[i] = find(b, i, all[k], false)) >= 0;
		if (!fits) continue;
		memcpy(t->m[t->n], all[k], sizeof all[k]);
		t->strip[t->n++] = to;
	}
	t->mirror = fabs(g->centre[2]) < 1e-6 * g->voxel[2];
	for (int64_t i = 0; i < b->n && t->mirror; i++) t->mirror = fabs(b->strip[i].z) < SAME;
	return ISO_OK;
}

/* The number of a pair: that of its smaller strip first. */
static int64_t number(const struct iso_barrel *b, int64_t i, int64_t j)
{
	return i < j ? i * b->n + j : j * b->n + i;
}

int iso_barrel_choose(struct barrel_chosen **to, int64_t *n, struct iso_room *room,
                      const struct iso_barrel *b, const struct barrel_turns *t)
{
	if (!ISO_HOST(room, *to, iso_barrel_pairs(b))) return room->status;
	*n = 0;
	for (int64_t i = 0; i < b->n; i++)
		for (int64_t j = i + 1; j < b->n; j++) {
			int64_t own = number(b, i, j), least = own;
			int stays = 0;

			if (!iso_barrel_pair(b, i, j)) continue;
			for (int k = 0; k < t->n; k++) {
				int64_t other = number(b, t->strip[k][i], t->strip[k][j]);

				least = other < least ? other : least;
				stays += other == own;
			}
			if (least == own)
				(*to)[(*n)++] = (struct barrel_chosen){ (int32_t)i, (int32_t)j,
					                                (double)t->n / stays };
		}
	return ISO_OK;
}

/* Voxels lie symmetrically around the axis: a turn takes one to another. */
void iso_barrel_spread(iso_real *s, const iso_real *from, const struct barrel_turns *t,
                       const struct iso_grid *g, int threads)
{
	const int64_t nx = g->n[0], ny = g->n[1], nz = g->n[2];

#pragma omp parallel for num_threads(threads)
	for (int64_t z = 0; z < nz; z++)
		for (int64_t y = 0; y < ny; y++)
			for (int64_t x = 0; x < nx; x++) {
				int64_t u = 2 * x - (nx - 1), v = 2 * y - (ny - 1);
				int64_t plane = t->mirror && z >= nz / 2 ? nz - 1 - z : z;
				double sum = 0;

				for (int k = 0; k < t->n; k++) {
					int64_t i = (t->m[k][0][0] * u + t->m[k][0][1] * v + nx - 1) / 2;
					int64_t j = (t->m[k][1][0] * u + t->m[k][1][1] * v + ny - 1) / 2;

					sum += (double)from[(j * nx + i) * nz + plane];
				}
				s[(z * ny + y) * nx + x] = (iso_real)(sum / t->n);
			}
}
