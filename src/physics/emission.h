/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays drawn from an activity image: a place, and a direction in which a ring scanner may see them. */
#ifndef ISO_EMISSION_H
#define ISO_EMISSION_H

#include "core/philox.h"

/* ISO_EINPUT, "WHAT 7 is -1, ...", if a value is negative or not finite; v may be NULL. */
int iso_check_values(const iso_real *v, int64_t n, const char *what);

/* Which photons must reach the ring for a decay to count; ISO_ALL_DECAYS: there is no ring. */
enum iso_emission_rule { ISO_BOTH_PHOTONS, ISO_FIRST_PHOTON, ISO_ALL_DECAYS };

struct iso_emission_slot {
	float keep;     /* share of the slot that is its own voxel's */
	uint32_t other; /* the voxel that has the rest */
	float most[2];  /* |sin| of the tilt against the transverse plane, at most: own voxel, other voxel */
};

struct iso_emission {
	struct iso_grid grid;
	double low[3];                  /* mm: the grid's low corner */
	uint64_t n;                     /* voxels */
	struct iso_emission_slot *slot; /* one a voxel */
	double share;                   /* of all decays and directions, those that can be drawn */
};

/* For a ring about z of this radius and half length, mm. ISO_EINPUT if it may see no activity. */
int iso_emission_create(struct iso_emission *e, const struct iso_array *activity, double radius, double half,
                        enum iso_emission_rule rule);
void iso_emission_free(struct iso_emission *e);

/* The slot of 64 random bits: the high half of a product, whose low half says which voxel of the slot. */
ISO_HD uint64_t emission_product(uint64_t n, uint64_t bits)
{
	return (bits >> 32) * n + ((bits & UINT32_MAX) * n >> 32);
}

/* A voxel by 64 random bits; *most: the bound of its tilt, NULL where nobody asks. */
ISO_HD uint32_t emission_voxel(const struct iso_emission_slot *slot, uint64_t n, uint64_t bits, float *most)
{
	uint64_t product = emission_product(n, bits);
	const struct iso_emission_slot *at = slot + (product >> 32);
	int other = !(philox_unit((uint32_t)product) < at->keep);

	if (most) *most = at->most[other];
	return other ? at->other : (uint32_t)(product >> 32);
}

/* Asks for the slot of a draw that is a few draws ahead: a large table lies far from the processor. */
static inline void emission_ask(const struct iso_emission *e, struct philox a)
{
	__builtin_prefetch(e->slot + (emission_product(e->n, (uint64_t)a.w[0] << 32 | a.w[1]) >> 32));
}

#endif
