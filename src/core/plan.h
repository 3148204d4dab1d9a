/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library's own code adds to plans of memory. */
#ifndef ISO_PLAN_H
#define ISO_PLAN_H

#include "isotome/memory.h"

/* The image of the plan has so many voxels: if the plan does not fit, the message says how many would. Lines of so many
   items grow with the image, others do not. */
void iso_plan_voxels(struct iso_plan *plan, int64_t voxels);

/* By how much a plan exceeds the memory that may be used. */
struct iso_plan_lack {
	int64_t need, have; /* bytes; have 0: nothing is lacking */
	bool device;        /* of the device; else of the host */
	int64_t voxels;     /* of an image with which the plan would fit; 0: none would */
};

/* The host comes first. All zero where the plan fits, or the device can't tell. */
struct iso_plan_lack iso_plan_lack(const iso_ctx *ctx, const struct iso_plan *plan);

#endif
