/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of rows of an operator: voxels and weights, one list for some rows. */
#ifndef ISO_ENTRIES_H
#define ISO_ENTRIES_H

#include "isotome/context.h"

ISO_BEGIN_C

struct iso_entries {
	int64_t n, room;
	int32_t *voxel; /* may repeat */
	iso_real *w;    /* above 0 */
	bool failed;    /* there was no memory: nothing more is added */
};

/* Entries that weigh nothing are left out. */
void iso_entries_add(struct iso_entries *l, int64_t voxel, iso_real w);
void iso_entries_free(struct iso_entries *l);

ISO_END_C
#endif
