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
	float most;     /* |sin| of the tilt against the transverse plane, at most */
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

/* A voxel by 64 random bits: the slot from the product's high half, its share from the low one. */
ISO_HD uint32_t emission_voxel(const struct iso_emission_slot *slot, uint64_t n, uint64_t bits)
{
	uint64_t product = (bits >> 32) * n + ((bits & UINT32_MAX) * n >> 32);
	uint32_t i = (uint32_t)(product >> 32);

	return philox_unit((uint32_t)product) < slot[i].keep ? i : slot[i].other;
}

/* Voxel by a.w[0..1], place in it by a.w[2..3], direction by b.w[0..1]. */
void iso_emission_draw(double place[3], double dir[3], const struct iso_emission *e, struct philox a,
                       struct philox b);

#endif
