/* SPDX-License-Identifier: BSD-3-Clause */
/* The work that the operators of optoacoustic tomography mean, and the least time it can take. */
#ifndef ISO_SOUND_WORK_H
#define ISO_SOUND_WORK_H

#include "limits.h"

/* What is counted: pairs of voxel and transducer, points on spheres, samples of traces. */
enum sound_unit { SOUND_PAIRS, SOUND_POINTS, SOUND_SAMPLES };

enum sound_part {
	SOUND_UBP,
	SOUND_G,
	SOUND_SCATTER,
	SOUND_GATHER,
	SOUND_TRACES, /* D and He, there and back */
	SOUND_POINT,
	SOUND_POINT_BACK,
	SOUND_RECT,
	SOUND_RECT_BACK,
	SOUND_PARTS
};

enum { SOUND_EIR = 64 }; /* samples of the impulse response that SOUND_TRACES counts */

/* The least that a unit takes. `cache` are bytes in and out of the first level, `memory` those
   beyond all caches. */
struct sound_cost {
	enum sound_unit unit;
	double operations, cache, memory;
};

extern const struct sound_cost iso_sound_cost[SOUND_PARTS];

/* Rates of a machine, measured. */
struct sound_rates {
	double operations, cache; /* operations, bytes a second */
	struct iso_limits limits;
};

int iso_sound_rates(struct sound_rates *r, iso_ctx *ctx);

/* Shortest time that the rates allow for n units, and the name of what sets it. */
double iso_sound_least_s(const char **limit, const struct sound_rates *r, enum sound_part part, double n);

#endif
