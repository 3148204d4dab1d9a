/* SPDX-License-Identifier: BSD-3-Clause */
/* Planes of an image through a voxel, of at most LIVE_SIDE pixels along an axis. */
#include "live.h"

#include "image/window.h"

int iso_live_object(int64_t at[3], const struct iso_array *image)
{
	struct iso_shown vol;
	int st = iso_shown_of(&vol, image, 0);

	if (st) return st;
	const struct iso_range r = iso_shown_range(&vol);

	return iso_window_choose(NULL, at, &vol, iso_window_kind(&r, image->unit, NULL));
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
