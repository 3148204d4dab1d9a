/* SPDX-License-Identifier: BSD-3-Clause */
/* Photons through a map of mu without tracing voxels (Woodcock et al. 1965): free paths are drawn
   as if all were as dense as the densest voxel, and each collision is real with probability
   mu / densest. The photon passes with probability exp(-integral of mu), exactly, after a few
   looks into the map. */
#include "photon_history.h"
#include "core/box.h"

/* The box around what attenuates; returns the largest mu. */
static double survey(struct iso_woodcock *w)
{
	int64_t at[3], i = 0;
	double densest = 0;

	for (at[2] = 0; at[2] < w->n[2]; at[2]++)
		for (at[1] = 0; at[1] < w->n[1]; at[1]++)
			for (at[0] = 0; at[0] < w->n[0]; at[0]++, i++) {
				for (int a = 0; a < 3 && w->mu[i] > 0; a++) {
					double low = w->low[a] + (double)at[a] * w->voxel[a];
					double high = w->low[a] + (double)(at[a] + 1) * w->voxel[a];

					w->box[a][0] = fmin(w->box[a][0], low);
					w->box[a][1] = fmax(w->box[a][1], high);
				}
				densest = fmax(densest, (double)w->mu[i]);
			}
	return densest;
}

int iso_woodcock_create(struct iso_woodcock *w, const struct iso_array *mu)
{
	struct iso_woodcock made = { .mu = mu ? mu->v : NULL };
	int st = mu ? iso_check_values(mu->v, mu->n, "simulate: mu of voxel") : ISO_OK;

	if (st) return st;
	for (int a = 0; mu && a < 3; a++) {
		made.n[a] = mu->grid.n[a];
		made.voxel[a] = mu->grid.voxel[a];
		made.low[a] = mu->grid.centre[a] - .5 * (double)made.n[a] * made.voxel[a];
		made.box[a][0] = INFINITY;
		made.box[a][1] = -INFINITY;
	}
	made.path = mu ? 1 / survey(&made) : INFINITY;
	if (isinf(made.path)) made.mu = NULL;
	*w = made;
	return ISO_OK;
}

static double mu_at(const struct iso_woodcock *w, const double from[3], const double dir[3], double t)
{
	int64_t at[3];

	for (int a = 0; a < 3; a++) {
		at[a] = (int64_t)((from[a] + t * dir[a] - w->low[a]) / w->voxel[a]);
		at[a] = at[a] < 0 ? 0 : at[a] < w->n[a] ? at[a] : w->n[a] - 1; /* rounding */
	}
	return (double)w->mu[(at[2] * w->n[1] + at[1]) * w->n[0] + at[0]];
}

bool iso_woodcock_passes(const struct iso_woodcock *w, const double from[3], const double dir[3],
                         uint64_t seed, uint64_t history, uint64_t draw)
{
	double t = 0, end = INFINITY; /* where the ray is inside the box */

	if (!w->mu) return true;
	for (int a = 0; a < 3; a++)
		if (!box_narrow(&t, &end, w->box[a][0] - from[a], w->box[a][1] - from[a], dir[a]))
			return true;
	if (!(end > t)) return true;
	for (;; draw++) {
		struct philox p = philox_draw(seed, history, draw);

		for (int k = 0; k < 4; k += 2) {
			t -= w->path * (double)logf(philox_unit(p.w[k]));
			if (t >= end) return true;
			if (philox_unit(p.w[k + 1]) < mu_at(w, from, dir, t) * w->path) return false;
		}
	}
}
