/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library's own code adds to plans of memory. */
#ifndef ISO_PLAN_H
#define ISO_PLAN_H

#include "isotome/memory.h"

/* The image of the plan has so many voxels: if the plan does not fit, the message says how many would. Lines of so many
   items grow with the image, others do not. */
void iso_plan_voxels(struct iso_plan *plan, int64_t voxels);

#endif
