/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel matrix of kernel EM, as the devices have it. */
#ifndef ISO_KERNEL_H
#define ISO_KERNEL_H

#include "core/op.h"

ISO_BEGIN_C

/* K by rows, and its transpose by rows: entries first[n] to first[n + 1] of row n, in the order of voxels. */
struct kernel_rows {
	int64_t *first; /* voxels + 1 */
	uint32_t *at;   /* voxel of each entry */
	iso_real *w;
};

struct kernel {
	int64_t n; /* voxels */
	struct kernel_rows of, back;
};

ISO_END_C
#endif
