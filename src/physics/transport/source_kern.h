/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays drawn from an image: a place, and the pair of photons of an annihilation at rest, back to back. Or a beam: parallel
   photons, one a history. */
#ifndef ISO_SOURCE_KERN_H
#define ISO_SOURCE_KERN_H

#include "crystal_kern.h"

#define SOURCE_KEV 510.99895f

/* Pointers are of the device that draws. */
struct crystal_source {
	const struct iso_emission_slot *slot; /* NULL: all decays at `low` */
	uint32_t voxels, nx, ny;
	float low[3], voxel[3]; /* mm */
	float prompt_kev;       /* of one photon more a decay, in any direction; 0: none */
	/* a beam of so many keV along dir from the parallelogram low + a side[0] + b side[1], 0 < a, b < 1; 0: none */
	float beam_kev, dir[3], side[2][3];
};

/* Words of the draws PHOTON_PLACE. */
ISO_HD void source_place(float at[3], const struct crystal_source *s, uint64_t seed, uint64_t history)
{
	for (int k = 0; k < 3; k++) at[k] = s->low[k];
	if (!s->slot) return;
	struct philox a = philox_draw(seed, history, PHOTON_PLACE);
	uint32_t i = emission_voxel(s->slot, s->voxels, (uint64_t)a.w[0] << 32 | a.w[1], NULL);
	uint32_t row = i / s->nx, plane = row / s->ny,
		 cell[3] = { i - row * s->nx, row - plane * s->ny, plane };
	uint64_t bits = (uint64_t)a.w[2] << 32 | a.w[3];

	for (int k = 0; k < 3; k++, bits >>= 21) /* 21 bits an axis */
		at[k] += s->voxel[k] * ((float)cell[k] + ((float)(bits & 0x1fffff) + .5f) * 0x1p-21f);
}

ISO_HD void source_direction(float dir[3], uint32_t u, uint32_t v)
{
	float up = 2 * philox_unit(u) - 1, flat = sqrtf(1 - up * up), c, s;

	transport_turn(&c, &s, v);
	dir[0] = flat * c;
	dir[1] = flat * s;
	dir[2] = up;
}

ISO_HD void source_beam(struct crystal_photon *p, const struct crystal_source *s, struct philox b)
{
	float u = philox_unit(b.w[0]), v = philox_unit(b.w[1]);

	for (int k = 0; k < 3; k++) {
		p->at[k] = s->low[k] + u * s->side[0][k] + v * s->side[1][k];
		p->dir[k] = s->dir[k];
	}
	p->kev = s->beam_kev;
	p->ticks = 0;
}

/* The photons of a decay, at most 3; returns their number. */
ISO_HD int source_photons(struct crystal_photon p[3], const struct crystal_source *s, uint64_t seed,
                          uint64_t history)
{
	struct philox b = philox_draw(seed, history, PHOTON_LINE);

	if (s->beam_kev > 0) {
		source_beam(p, s, b);
		return 1;
	}

	source_place(p[0].at, s, seed, history);
	source_direction(p[0].dir, b.w[0], b.w[1]);
	p[0].kev = SOURCE_KEV;
	p[0].ticks = 0;
	p[1] = p[0];
	for (int k = 0; k < 3; k++) p[1].dir[k] = -p[0].dir[k];
	if (!(s->prompt_kev > 0)) return 2;
	p[2] = p[0];
	p[2].kev = s->prompt_kev;
	source_direction(p[2].dir, b.w[2], b.w[3]);
	return 3;
}

#endif
