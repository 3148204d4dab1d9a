/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of the rounds of scatter: a coarse grid, the sensitivity on it, and what is made of an image before an estimate. */
#include "model_ray.h"

#include "core/room.h"
#include "core/size.h"

#include "isotome/filter.h"
#include "isotome/volume.h"

#define COARSE_MM 4  /* voxels, at least */
#define SMOOTH_MM 10 /* FWHM on the image that goes into an estimate */
#define MATTER .001  /* 1/mm: a tenth of water, above which a voxel of the map is matter */
#define REACH .02 /* of matter, as a Gaussian of SMOOTH_MM carries it: a voxel up to 9 mm from its surface */

struct iso_grid ray_coarse_grid(const struct iso_grid *g, int64_t block[3])
{
	struct iso_grid c = *g;

	for (int a = 0; a < 3; a++) {
		block[a] = (int64_t)ceil(COARSE_MM / g->voxel[a] - 1e-6);
		block[a] = block[a] < 1 ? 1 : block[a];
		c.n[a] = (g->n[a] + block[a] - 1) / block[a];
		c.voxel[a] = g->voxel[a] * (double)block[a];
		c.centre[a] += .5 * ((double)c.n[a] * c.voxel[a] - (double)g->n[a] * g->voxel[a]);
	}
	return c;
}

int ray_coarse_sens(struct iso_array *to, const struct iso_array *s, const int64_t block[3], double factor)
{
	const struct iso_grid *g = &s->grid, *c = &to->grid;
	double *sum = size_alloc(2 * to->n, sizeof *sum), *part = sum + to->n;

	if (!sum) return iso_fail_memory("sensitivity", 2 * to->n * (int64_t)sizeof *sum);
	memset(sum, 0, (size_t)(2 * to->n) * sizeof *sum);
	for (int64_t i = 0; i < s->n; i++) {
		int64_t x = i % g->n[0], y = i / g->n[0] % g->n[1], z = i / g->n[0] / g->n[1];
		int64_t at = (z / block[2] * c->n[1] + y / block[1]) * c->n[0] + x / block[0];

		sum[at] += s->v[i];
		part[at] += 1;
	}
	double whole = (double)(block[0] * block[1] * block[2]);

	for (int64_t i = 0; i < to->n; i++) to->v[i] = (iso_real)(sum[i] * factor * whole / part[i]);
	free(sum);
	return ISO_OK;
}

/* ---- smoothing ---- */

enum { TURNS = 6 }; /* d G d is 1 to 0.1 % */

enum place { AWAY, NEAR, INSIDE }; /* of a voxel: of matter, in its reach, or neither */

struct smoothing {
	iso_ctx *ctx;
	const struct iso_grid *grid;
	int64_t n;
	unsigned char *place;
	iso_real *filled;      /* the share of a voxel that is matter: below 1 at the surface */
	iso_real *wide, *part; /* work */
};

/* v <- G v. */
static int blur(iso_real *v, const struct smoothing *s)
{
	const struct iso_filter g = { .kind = ISO_GAUSSIAN, .fwhm = { SMOOTH_MM, SMOOTH_MM, SMOOTH_MM } };

	return iso_filter_host(v, s->ctx, &g, s->grid);
}

/* The greatest value beside voxel i along the three axes; *edge: one of them is no matter, or none at all. */
static iso_real beside(const struct smoothing *s, const iso_real *v, int64_t i, bool *edge)
{
	const int64_t *n = s->grid->n, stride[3] = { 1, n[0], n[0] * n[1] };
	iso_real most = 0;

	*edge = false;
	for (int k = 0; k < 6; k++) {
		int64_t at = i / stride[k / 2] % n[k / 2], to = at + (k % 2 ? 1 : -1);
		iso_real there = to < 0 || to >= n[k / 2] ? 0 : v[i + (to - at) * stride[k / 2]];

		if (!(there > MATTER)) *edge = true;
		most = there > most ? there : most;
	}
	return most;
}

/* The voxels at the surface hold matter in part, and activity in that part alone: as much as they attenuate less than those
   beside them. An image that is evened out over whole ones would reach beyond the object. */
static void find_filled(struct smoothing *s)
{
	for (int64_t i = 0; i < s->n; i++) {
		bool edge = false;
		iso_real most = s->wide[i] > MATTER ? beside(s, s->wide, i, &edge) : 0;

		s->filled[i] = most > s->wide[i] && edge ? s->wide[i] / most : 1;
	}
}

/* wide = 1 where the map, on the grid of the image, has matter, else 0. */
static int find_matter(struct smoothing *s, const struct iso_array *mu)
{
	struct iso_volume map = { .v = mu->v };
	int st;

	for (int a = 0; a < 3; a++) {
		map.dim[a] = mu->grid.n[a];
		map.affine[a][a] = mu->grid.voxel[a];
		map.affine[a][3] = mu->grid.centre[a] - .5 * (double)(map.dim[a] - 1) * mu->grid.voxel[a];
	}
	st = iso_volume_resample(s->wide, NULL, s->ctx, s->grid, &map, 0);
	if (!st) find_filled(s);
	for (int64_t i = 0; i < s->n && !st; i++) s->wide[i] = s->wide[i] > MATTER;
	return st;
}

static int find_places(struct smoothing *s, const struct iso_array *mu)
{
	int st = find_matter(s, mu);

	for (int64_t i = 0; i < s->n && !st; i++) s->place[i] = s->wide[i] > 0 ? INSIDE : AWAY;
	if (!st) st = blur(s->wide, s);
	for (int64_t i = 0; i < s->n && !st; i++)
		if (s->place[i] == AWAY && s->wide[i] > REACH) s->place[i] = NEAR;
	return st;
}

/* f of voxels near matter goes to it: f += m G(f / G m), m the matter inside. */
static int take_in(const struct smoothing *s, iso_real *f)
{
	int st;

	for (int64_t i = 0; i < s->n; i++) s->wide[i] = s->place[i] == INSIDE ? s->filled[i] : 0;
	if ((st = blur(s->wide, s))) return st;
	for (int64_t i = 0; i < s->n; i++)
		s->part[i] = s->place[i] == NEAR && s->wide[i] > 0 ? f[i] / s->wide[i] : 0;
	if ((st = blur(s->part, s))) return st;
	for (int64_t i = 0; i < s->n; i++) {
		if (s->place[i] == INSIDE)
			f[i] += s->filled[i] * s->part[i];
		else if (s->place[i] == NEAR && s->wide[i] > 0)
			f[i] = 0;
	}
	return ISO_OK;
}

/* f <- d G(d f / m) over the voxels of one place, m their matter (away from it 1), where d G d = m, found by turns (Sinkhorn
   and Knopp 1967): so it keeps what is even in matter, up to the surface, and, as d G d is symmetric, the sum. */
static int smooth_within(const struct smoothing *s, iso_real *f, iso_real *d, enum place of)
{
	int st = ISO_OK;

	for (int64_t i = 0; i < s->n; i++) d[i] = s->place[i] == of;
	for (int turn = 0; turn < TURNS && !st; turn++) {
		memcpy(s->wide, d, (size_t)s->n * sizeof *d);
		st = blur(s->wide, s);
		for (int64_t i = 0; i < s->n && !st; i++)
			if (d[i] > 0)
				d[i] = (iso_real)sqrt((double)d[i] * (double)s->filled[i] /
				                      (double)s->wide[i]);
	}
	if (st) return st;
	for (int64_t i = 0; i < s->n; i++) s->part[i] = d[i] * f[i] / s->filled[i];
	st = blur(s->part, s);
	for (int64_t i = 0; i < s->n && !st; i++)
		if (s->place[i] == of) f[i] = d[i] * s->part[i];
	return st;
}

int ray_coarse_smooth(iso_real *f, struct ray_problem *ray, const struct iso_grid *grid)
{
	struct iso_room room = iso_room_of(NULL, "image");
	struct smoothing s = { .ctx = ray->p->ctx, .grid = grid, .n = iso_grid_voxels(grid) };
	iso_real *d;

	ISO_HOST(&room, s.place, s.n);
	ISO_HOST(&room, s.filled, s.n);
	ISO_HOST(&room, s.wide, s.n);
	ISO_HOST(&room, s.part, s.n);
	ISO_HOST(&room, d, s.n);
	int st = room.status ? room.status : find_places(&s, &ray->mu_map);

	if (!st) st = take_in(&s, f);
	if (!st) st = smooth_within(&s, f, d, INSIDE);
	if (!st) st = smooth_within(&s, f, d, AWAY);
	iso_room_free(&room);
	return st;
}
