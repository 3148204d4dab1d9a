/* SPDX-License-Identifier: BSD-3-Clause */
/* The window of a trace in which one transducer hears a brick of voxels (svoxel_forward.cuh). */
#ifndef ISO_SVOXEL_WINDOW_H
#define ISO_SVOXEL_WINDOW_H

#include "svoxel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* It holds the first bin of every voxel's impulse, for a rectangle those of one corner: counted from the
   bin of the view from the brick's middle, and the whole bins by which the corner differs there. */
struct svoxel_window {
	int rows, before; /* all, and those before that bin */
};

/* For any brick of up to edge^3 voxels and any transducer. */
struct svoxel_window iso_svoxel_window(const struct svoxel *p, int edge);

#ifdef __cplusplus
}
#endif
#endif
