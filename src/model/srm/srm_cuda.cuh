/* SPDX-License-Identifier: BSD-3-Clause */
/* Model srm on CUDA: what its ways share. */
#ifndef ISO_SRM_CUDA_CUH
#define ISO_SRM_CUDA_CUH

#include "core/loop/em.cuh"
#include "srm_op.h"

/* Blocks of a warp on a multiprocessor: so many hide the cache's delay, and some cards have room for fewer. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 750 || (__CUDA_ARCH__ >= 860 && __CUDA_ARCH__ < 890))
#	define SRM_RESIDENT(most) 16
#else
#	define SRM_RESIDENT(most) (most)
#endif

/* ---- the EM step and the step of ratios of any way, all on the device (srm_op.cu) ---- */

/* The work space of a way begins with it. */
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

#endif
