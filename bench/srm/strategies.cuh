/* SPDX-License-Identifier: BSD-3-Clause */
/* The papers' strategies on CUDA: their lists on the device, and the projections of each. */
#ifndef ISO_SRM_STRATEGIES_CUH
#define ISO_SRM_STRATEGIES_CUH

#include "core/loop/fixed.cuh"
#include "model/srm/srm_cuda.cuh"
#include "srm_seed_lists.h"
#include "strategies.h"

#define SRM_THREADS 128 /* of a block: both papers' number */

/* Data of an operator, its srm_op's `device`: lists on the device. */
struct srm_cuda {
	struct srm_seed_rows rows;       /* empty for `column` */
	struct srm_seed_columns columns; /* empty for `row` */
	struct iso_room room;            /* of the columns */
};

struct srm_cuda_work {
	struct srm_step_work step;
	struct iso_fixed_cuda image; /* rows back: a sum for each voxel */
	struct iso_fixed_cuda sums;  /* columns forward: two for each LOR, of either half of the planes */
	float2 *both; /* columns back: of each LOR in the natural order, and of the one with heads exchanged */
};

static inline struct srm_cuda *iso_srm_cuda_of(const iso_op *op)
{
	return (struct srm_cuda *)((const struct srm_op *)op->data)->device;
}

/* Seeds of a subset or of all. */
struct srm_seed_range {
	int64_t first, end; /* seeds */
	int64_t lor, lors;  /* first LOR, and how many */
};

/* srm_row.cu */
struct srm_seed_range iso_srm_seed_range(const struct srm_seed_rows *r, int sub);
int iso_srm_rows_upload(struct srm_seed_rows *r, struct iso_room *room, const struct srm_op *m);
int iso_srm_row_forward_cuda(const iso_op *op, int sub, float *y, const float *x);
int iso_srm_row_back_cuda(const iso_op *op, int sub, float *x, const float *y);

/* srm_column.cu */
int iso_srm_columns_upload(struct srm_seed_columns *c, struct iso_room *room, const struct srm_op *m,
                           bool folded);
int iso_srm_column_forward_cuda(const iso_op *op, int sub, float *y, const float *x);
int iso_srm_column_back_cuda(const iso_op *op, int sub, float *x, const float *y);

/* part[i][0] = sum of part[i][0 ... threads - 1], for i < n, by a tree of fixed order; `threads` is a power
   of two. */
template <int n, int threads> static __device__ void srm_reduce(double (&part)[n][threads])
{
	for (int step = threads / 2; step > 0; step /= 2) {
		__syncthreads();
		if ((int)threadIdx.x < step)
			for (int i = 0; i < n; i++) part[i][threadIdx.x] += part[i][threadIdx.x + step];
	}
	__syncthreads();
}

#endif
