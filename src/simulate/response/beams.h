/* SPDX-License-Identifier: BSD-3-Clause */
/* Parallel photons on one module, direction after direction, and the counts of what it records. */
#ifndef ISO_BEAMS_H
#define ISO_BEAMS_H

#include "physics/response/response.h"
#include "core/progress.h"
#include "simulate/crystals/crystal_scan.h"

/* Photons of a direction start on a rectangle across it, inside of the ring, that covers the module with a margin. */
struct beam {
	float low[3], side[2][3], dir[3]; /* mm, in the scanner's axes */
	float middle[2],
		size[2];  /* of the rectangle along u and v, from the middle of the module's box, mm */
	float u[3], v[3]; /* unit vectors of the two */
};

/* A pass over all directions at one energy. Pointers are of the device. */
struct beams {
	struct crystal_scan scan;
	const struct beam *beam; /* (RESPONSE_DIRECTIONS) */
	const float (*nominal)
		[2]; /* (direction, crystal of the module): u and v of its nominal point in a rectangle's axes */
	int64_t each;      /* photons of a direction */
	int64_t first;     /* of their histories */
	float kev, inner2; /* photons start nearer to the axis than the root of inner2, or are lost */
	int32_t module, crystals, places;
	struct iso_clock *clock; /* of the host */
	/* counts; of other energies than 511 keV `records` alone */
	uint32_t *count, *hist[2], *beyond; /* as struct iso_response has them */
	uint32_t *records;                  /* (direction) */
	int64_t *
		depth; /* of the first direction: sum of first deposits' depths, in 1/1024 mm, and their number */
};

/* On the CPU; on CUDA iso_beams_cuda. */
typedef int beams_fn(iso_ctx *ctx, const struct beams *b);
#define BEAMS_CUDA "iso_beams_cuda"

#endif
