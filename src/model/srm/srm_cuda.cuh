/* SPDX-License-Identifier: BSD-3-Clause */
/* Model srm on CUDA: the tables on the device, and what its strategies offer to srm_op.cu. */
#ifndef ISO_SRM_CUDA_CUH
#define ISO_SRM_CUDA_CUH

#include "core/loop/em.cuh"
#include "core/loop/fixed.cuh"
#include "srm_op.h"
#include "srm_seed_lists.h"

#define SRM_THREADS 128 /* of a block: both papers' number */

/* Blocks of a warp on a multiprocessor: so many hide the cache's delay, and some cards have room for fewer. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 750 || (__CUDA_ARCH__ >= 860 && __CUDA_ARCH__ < 890))
#	define SRM_RESIDENT(most) 16
#else
#	define SRM_RESIDENT(most) (most)
#endif

/* ---- the EM step and the step of ratios of any strategy, all on the device (srm_op.cu) ---- */

/* The work space of a strategy begins with it. */
struct srm_step_work {
	float *q;      /* quotients, a row each */
	float *packed; /* of several ranks: results on their way */
	struct em_sums sums;
};

int iso_srm_step_open(iso_op *op);
int iso_srm_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x, const struct iso_em_data *d,
                 struct iso_em_stat *stat);
int iso_srm_ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                       const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *stat);

/* ---- the papers' strategies ---- */

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

/* ---- `correlation` (srm_correlate.cu): uploads its tables and sets op->fn ---- */

int iso_srm_correlate_cuda(iso_op *op);

/* ---- what they share ---- */

#define SRM_SQUARE 32 /* voxels: edge of the square of an image plane that a block turns at a time */

static inline dim3 srm_squares(const struct srm_shape *s)
{
	return dim3((unsigned)((s->nc[0] * s->d[0] + SRM_SQUARE - 1) / SRM_SQUARE),
	            (unsigned)((s->nc[1] * s->d[1] + SRM_SQUARE - 1) / SRM_SQUARE), (unsigned)s->planes);
}

/* put(y, x, z, value) for the voxels of a block's square, through shared memory: the image is read along x,
   and neighbouring threads put neighbours along z. look(value) comes first, for every voxel. */
template <class LOOK, class PUT>
static __device__ void srm_turn(const float *image, const struct srm_shape &s, LOOK look, PUT put)
{
	__shared__ float tile[SRM_SQUARE][SRM_SQUARE + 1];
	int nx = s.nc[0] * s.d[0], nz = s.nc[1] * s.d[1], y = blockIdx.z;
	int first_x = blockIdx.x * SRM_SQUARE, first_z = blockIdx.y * SRM_SQUARE;

	for (int i = threadIdx.x; i < SRM_SQUARE * SRM_SQUARE; i += blockDim.x) {
		int x = first_x + i % SRM_SQUARE, z = first_z + i / SRM_SQUARE;

		if (x < nx && z < nz)
			look(tile[i / SRM_SQUARE][i % SRM_SQUARE] = image[srm_voxel_index(&s, y, x, z)]);
	}
	__syncthreads();
	for (int i = threadIdx.x; i < SRM_SQUARE * SRM_SQUARE; i += blockDim.x) {
		int x = first_x + i / SRM_SQUARE, z = first_z + i % SRM_SQUARE;

		if (x < nx && z < nz) put(y, x, z, tile[i % SRM_SQUARE][i / SRM_SQUARE]);
	}
}

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
