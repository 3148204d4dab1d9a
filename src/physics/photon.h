/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting up the photons of an object inside a ring. */
#ifndef ISO_PHOTON_H
#define ISO_PHOTON_H

#include "core/room.h"
#include "photon_kern.h"

/* Values on a grid, x fastest; lengths mm. */
struct photon_volume {
	int32_t n[3];
	float voxel[3], low[3]; /* low: corner of voxel 0 */
	const float *v;
};

struct photon_setting {
	struct photon_volume density;  /* relative to water; 0 or above */
	struct photon_volume activity; /* in any unit; 0 or above */
	double rho, half;              /* of the ring: radius, half the axial length */
	double least_kev;              /* a photon below is given up */
	const float *water,
		*compton; /* (PHOTON_ENERGIES): 1/mm at k keV, photoelectric + Compton; Compton alone */
	bool rayleigh;    /* scatter of water besides, as the tables of H2O have it */
	uint64_t seed;
};

/* The world in memory of the room, on its context's device. ISO_EINPUT where there is no activity. Matter may be
   nowhere: then photons fly straight. */
ISO_C int iso_photon_make(struct photon_world *w, struct iso_room *room, const struct photon_setting *s);

/* The same of an image and a map of mu, 1/mm, on grids of their own, through water by formula; of *s the volumes and
   tables are not looked at. */
ISO_C int iso_photon_make_of(struct photon_world *w, struct iso_room *room, const struct photon_setting *s,
                             const struct iso_array *activity, const struct iso_array *mu);

/* ISO_EINPUT, "simulate: ...", if a value of the map is negative, not finite or above any matter's in 1/mm. */
ISO_C int iso_photon_check_mu(const struct iso_array *mu);

#endif
