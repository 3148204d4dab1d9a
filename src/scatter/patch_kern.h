/* SPDX-License-Identifier: BSD-3-Clause */
/* Patches of a ring's cylinder, 15 degrees by about 40 mm, and the sums that coincidences between two of them are
   counted in: by scatters and by u.

   Sums are integers, PATCH_ONE for a coincidence of weight 1, so that they come out alike in every order. */
#ifndef ISO_PATCH_KERN_H
#define ISO_PATCH_KERN_H

#include "physics/photon_kern.h"
#include "scene.h"

enum {
	PATCH_SECTORS = 24,
	PATCH_ENERGIES = PHOTON_ENERGIES,
};

/* Weight 1 as an integer: 3e10 of them fit one sum. */
#define PATCH_ONE 0x1p28f

/* Draw of the time's error. */
#define PATCH_TIME PHOTON_OWN

/* Of each pair and cell: weights by scatters of both photons together, squares of weights. */
enum patch_sum {
	PATCH_TRUE,
	PATCH_SINGLE,
	PATCH_MULTIPLE,
	PATCH_SINGLE_SQUARE,
	PATCH_MULTIPLE_SQUARE,
	PATCH_SUMS
};

/* Patch = slab x PATCH_SECTORS + sector; slabs from the lower end of the ring. */
struct patches {
	int32_t slabs, cells; /* cells of u, an odd number, the middle one about 0; 1: no time of flight */
	int32_t pairs;
	float half, slabs_per_mm;
	float sigma, cells_per_mm; /* of u; a cell is sigma wide */
	const int32_t *pair; /* (patches, patches): number of the pair, the same both ways; -1: not counted */
	const float *e;      /* (PATCH_ENERGIES): weight of a photon of k keV */
	const float *w;      /* of a response, by direction as well (scene.h); NULL: e */
};

ISO_HD int32_t patch_count(const struct patches *p)
{
	return p->slabs * PATCH_SECTORS;
}

/* Sector of the azimuth of (x, y), the first from 0 to 15 degrees. */
ISO_HD int32_t patch_sector(float x, float y)
{
	int32_t quarter = y >= 0 ? (x > 0 ? 0 : 1) : (x < 0 ? 2 : 3);
	float u = quarter % 2 ? fabsf(y) : fabsf(x), v = quarter % 2 ? fabsf(x) : fabsf(y);

	return 6 * quarter + (v >= .267949192f * u) + (v >= .577350269f * u) + (v >= u) +
	       (v >= 1.73205081f * u) + (v >= 3.73205081f * u); /* tangents of 15, 30, 45, 60, 75 degrees */
}

ISO_HD int32_t patch_of(const struct patches *p, const float at[3])
{
	int32_t slab = (int32_t)((at[2] + p->half) * p->slabs_per_mm);

	slab = slab < 0 ? 0 : slab < p->slabs ? slab : p->slabs - 1;
	return slab * PATCH_SECTORS + patch_sector(at[0], at[1]);
}

/* Weight of a photon, linear between the entries of the table. */
ISO_HD float patch_weight(const struct patches *p, const struct photon_end *end)
{
	float kev = end->kev;

	if (p->w) return scene_weight(p->w, kev, end->across, end->along);
	int k = (int)kev < PATCH_ENERGIES - 2 ? (int)kev : PATCH_ENERGIES - 2;

	return p->e[k] + (kev - (float)k) * (p->e[k + 1] - p->e[k]);
}

/* Where a coincidence is counted. */
struct patch_count {
	int64_t at; /* pair x cells + cell */
	enum patch_sum sum, square;
	int64_t weight, weight_square; /* times PATCH_ONE; a true one's square is not kept: 0 */
};

/* false: between patches that are not counted, or beyond the cells. */
ISO_HD bool patch_place(struct patch_count *c, const struct patches *p, const struct photon_end e[2],
                        uint64_t seed, uint64_t history)
{
	int32_t a = patch_of(p, e[0].at), b = patch_of(p, e[1].at);
	int32_t pair = p->pair[(int64_t)a * patch_count(p) + b], cell = 0;
	int scatters = e[0].compton + e[1].compton;

	if (pair < 0) return false;
	if (p->cells > 1) {
		struct philox w = philox_draw(seed, history, PATCH_TIME);
		float g[2];

		photon_gauss(g, w.w[0], w.w[1]);
		float u = .5f * (e[0].way - e[1].way) + p->sigma * g[0];
		float place = (a < b ? u : -u) * p->cells_per_mm + .5f * (float)p->cells;

		if (!(place >= 0) || !(place < (float)p->cells)) return false;
		cell = (int32_t)place;
	}
	float weight = patch_weight(p, e) * patch_weight(p, e + 1);

	c->at = (int64_t)pair * p->cells + cell;
	c->sum = scatters == 0 ? PATCH_TRUE : scatters == 1 ? PATCH_SINGLE : PATCH_MULTIPLE;
	c->square = scatters == 1 ? PATCH_SINGLE_SQUARE : PATCH_MULTIPLE_SQUARE;
	c->weight = (int64_t)(weight * PATCH_ONE);
	c->weight_square = scatters == 0 ? 0 : (int64_t)(weight * weight * PATCH_ONE);
	return true;
}

#endif
