/* SPDX-License-Identifier: BSD-3-Clause */
/* The window of a trace in which one transducer hears a brick of voxels (svoxel_forward.cuh). */
#ifndef ISO_SVOXEL_WINDOW_H
#define ISO_SVOXEL_WINDOW_H

#include "svoxel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The window holds the first bin of the impulse of every voxel of the brick; for a rectangle, of one corner.
   Its bins are counted from the bin at which the brick's middle is heard, moved for a corner by whole bins. */
struct svoxel_window {
	int rows, before; /* bins of the window; of these, before the middle's */
};

/* For any brick of up to edge^3 voxels and any transducer. */
struct svoxel_window iso_svoxel_window(const struct svoxel *p, int edge);

#ifdef __cplusplus
}
#endif
#endif
