/* SPDX-License-Identifier: BSD-3-Clause */
/* Planes of an image through a voxel, of at most LIVE_SIDE pixels along an axis. */
#include "live.h"

#include "image/places.h"

#include <math.h>

/* Of the neighbours of voxel i along the axes, the greatest. */
static iso_real neighbour(const struct iso_shown *vol, int64_t i)
{
	const int64_t *n = vol->grid.n;
	const int64_t at[3] = { i % n[0], i / n[0] % n[1], i / n[0] / n[1] },
		      stride[3] = { 1, n[0], n[0] * n[1] };
	iso_real most = -INFINITY;

	for (int a = 0; a < 3; a++) {
		if (at[a] > 0 && vol->v[i - stride[a]] > most) most = vol->v[i - stride[a]];
		if (at[a] + 1 < n[a] && vol->v[i + stride[a]] > most) most = vol->v[i + stride[a]];
	}
	return most;
}

/* A voxel counts as much as its greatest neighbour does, at most: one that stands out alone is noise. */
int iso_live_greatest(int64_t at[3], const struct iso_array *image)
{
	struct iso_shown vol;
	int st = iso_shown_of(&vol, image, 0);
	int64_t n = 1, place = 0;
	iso_real most = -INFINITY;

	if (st) return st;
	for (int a = 0; a < 3; a++) n *= vol.grid.n[a];
	for (int64_t i = 0; i < n; i++) {
		if (!(vol.v[i] > most)) continue;
		iso_real beside = neighbour(&vol, i), counts = beside < vol.v[i] ? beside : vol.v[i];

		if (!(counts > most)) continue;
		most = counts;
		place = i;
	}
	at[0] = place % vol.grid.n[0];
	at[1] = place / vol.grid.n[0] % vol.grid.n[1];
	at[2] = place / vol.grid.n[0] / vol.grid.n[1];
	return ISO_OK;
}

static void take_plane(struct live_plane *p, const struct iso_shown *vol, int axis, const int64_t at[3])
{
	const int64_t *n = vol->grid.n, stride[3] = { 1, n[0], n[0] * n[1] };
	int h = iso_plane_axis(axis, false), v = iso_plane_axis(axis, true);
	int64_t longest = n[h] > n[v] ? n[h] : n[v], step = (longest + LIVE_SIDE - 1) / LIVE_SIDE;
	const iso_real *from = vol->v + at[axis] * stride[axis];

	p->axis = axis;
	p->step = step;
	p->n[0] = (n[h] + step - 1) / step;
	p->n[1] = (n[v] + step - 1) / step;
	p->pixel_mm[0] = (double)step * vol->grid.voxel[h];
	p->pixel_mm[1] = (double)step * vol->grid.voxel[v];
	p->cross[0] = at[h] / step;
	p->cross[1] = at[v] / step;
	for (int64_t j = 0; j < p->n[1]; j++)
		for (int64_t i = 0; i < p->n[0]; i++)
			p->v[j * p->n[0] + i] = (float)from[j * step * stride[v] + i * step * stride[h]];
}

int iso_live_planes(struct live_image *to, const struct iso_array *image, const int64_t at[3])
{
	struct iso_shown vol;
	int st = iso_shown_of(&vol, image, 0);

	if (st) return st;
	const int64_t *n = vol.grid.n;

	for (int a = 0; a < 3; a++) {
		to->at[a] = at[a] < 0 ? 0 : at[a] < n[a] ? at[a] : n[a] - 1;
		to->size[a] = n[a];
		to->place[a] = iso_measure_place(&vol.grid, a, to->at[a]);
	}
	to->value = vol.v[to->at[0] + n[0] * (to->at[1] + n[1] * to->at[2])];
	to->n = 0;
	for (int axis = 2; axis >= 0 && to->n < (n[2] > 1 ? 3 : 1); axis--)
		take_plane(&to->plane[to->n++], &vol, axis, to->at);
	return ISO_OK;
}
