/* SPDX-License-Identifier: BSD-3-Clause */
/* Energy that a photon leaves in one crystal. */
#ifndef ISO_DEPOSIT_H
#define ISO_DEPOSIT_H

#include <stdint.h>

#define DEPOSIT_TICKS 64. /* of a ps: times of flight and of a scan count so many */

enum { DEPOSIT_MOST = 16 }; /* of a photon */

/* Of one photon in one crystal: merged as they come. Those of a decay lie one behind the other, photon after photon. */
struct deposit {
	uint64_t decay;   /* history number */
	uint32_t crystal; /* number */
	float kev;
	int32_t ticks;  /* of the first of them, after the decay */
	uint8_t photon; /* of the decay: 0 and 1 the pair, others prompt */
	uint8_t object_compton, object_rayleigh,
		crystal_compton; /* scatters of the photon before the first */
};

#endif
