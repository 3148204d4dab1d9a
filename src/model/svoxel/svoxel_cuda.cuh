/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel on CUDA: what its kernels share. */
#ifndef ISO_SVOXEL_CUDA_CUH
#define ISO_SVOXEL_CUDA_CUH

#include "core/cuda.cuh"
#include "svoxel.h"
#include "tissue/tissue_view.cuh"

enum { NODES = 3 }; /* of tables, that a row of voxels passes at most: more are looked up one by one */

struct svoxel_cuda {
	struct svoxel p;           /* its tables on the device */
	const struct svoxel *host; /* as made on the host */
	int edge;                  /* of a brick */
	struct svoxel_window window;
	int shared_most; /* bytes that a block may have */
	unsigned bricks[3];
	struct svoxel_taps taps; /* of the forward, 7 or 8: p.taps with `shift` zeros before */
	int shift;
	int parts;           /* of the bricks, each with traces of its own */
	struct iso_rows own; /* transducers that this rank hears with */
};

/* svoxel.cu: the tables of a model to the device. */
void svoxel_upload(struct iso_room *room, struct svoxel *p, const struct svoxel *host);

/* svoxel_narrow.cu: a narrow kernel whose windows fit into shared memory has an engine of its own. */
bool svoxel_narrow_fits(const iso_op *op);
int svoxel_narrow_to_cuda(iso_op *op);

/* svoxel_cuda.cu: what the model on the host keeps. */
void svoxel_free_cuda(iso_op *op);

/* svoxel_delay, and 1/d. */
static __device__ __forceinline__ float delay(const struct svoxel_view &v, float bins_per_mm, float excess,
                                              float *over_d)
{
	float square = v.dd + excess;

	*over_d = iso_over_root(square);
	return fmaf(excess * bins_per_mm, iso_over(fmaf(square, *over_d, v.d)), v.fraction);
}

/* svoxel_first: rounding up at 2^23 is quicker than a conversion. */
static __device__ __forceinline__ int first_bin(float u, float *s)
{
	const float high = 12582912.f;
	float shifted = __fadd_ru(u, high);

	*s = fmaf(2.f, (shifted - high) - u, -1.f);
	return __float_as_int(shifted) - __float_as_int(high);
}

/* Half the delays across a rectangle, bins, for a voxel at (x, y) along its sides; the amplitude
   goes over the product of the delays. */
static __device__ __forceinline__ void across(float *hx, float *hy, float *amplitude,
                                              const struct svoxel_view &v, float least, float x, float y,
                                              float over_d)
{
	float tx = fmaxf(fabsf(x) * v.side_x * over_d, least);
	float ty = fmaxf(fabsf(y) * v.side_y * over_d, least);

	*hx = tx / 2;
	*hy = ty / 2;
	*amplitude *= iso_over(tx * ty);
}

#endif
