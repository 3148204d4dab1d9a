/* SPDX-License-Identifier: BSD-3-Clause */
/* Strategy `row` on CUDA: a block takes one LOR of a seed row with its mirror images (Chou 2012,
   Algorithm 3; Meng 2019, Algorithm I). Forward, each thread adds up its share of the list for all
   of them, and a tree in shared memory the shares. Back, each thread adds its share to the image,
   in fixed point, so that the order of the atomics does not matter. */
#include "strategies.cuh"

#include "model/srm/srm_share.h"

/* ---- the LOR of a block ---- */

struct block_lor {
	struct srm_seed seed;
	int64_t end; /* of its elements */
	int ux, uz;
};

static __device__ struct block_lor lor_of(const struct srm_seed_rows *r, struct srm_seed_range s)
{
	int64_t number = s.lor + blockIdx.x, at = srm_seed_of(r->seed, s.first, s.end, number);
	struct block_lor b;

	b.seed = r->seed[at];
	b.end = r->seed[at + 1].element;
	int shift = (int)(number - b.seed.lor), nz = r->shape.nc[1] - b.seed.dz;

	b.ux = shift / nz;
	b.uz = shift % nz;
	return b;
}

/* The voxel of element e; false: outside the image, and so are its mirror images. */
static __device__ bool voxel_of(const struct srm_seed_rows *r, const struct block_lor *b, int64_t e, int *x,
                                int *y, int *z)
{
	short4 place = ((const short4 *)r->place)[e]; /* y, i, k */

	*y = place.x;
	*x = place.y + r->shape.d[0] * b->ux;
	*z = place.z + r->shape.d[1] * b->uz;
	return (unsigned)*x < (unsigned)r->size.nx && (unsigned)*z < (unsigned)r->size.nz;
}

/* ---- kernels ---- */

static __global__ void __launch_bounds__(SRM_THREADS)
	forward(struct srm_seed_rows r, struct srm_seed_range s, float *y, const float *x)
{
	__shared__ double part[4][SRM_THREADS];
	struct block_lor b = lor_of(&r, s);
	float sum[4] = { 0, 0, 0, 0 };
	int vx, vy, vz;

	for (int64_t e = b.seed.element + threadIdx.x; e < b.end; e += SRM_THREADS) {
		if (!voxel_of(&r, &b, e, &vx, &vy, &vz)) continue;
		float w = r.w[e];

#pragma unroll
		for (int g = 0; g < 4; g++)
			sum[g] = fmaf(w, __ldg(x + srm_mirror_voxel(r.size, vx, vy, vz, g)), sum[g]);
	}
#pragma unroll
	for (int g = 0; g < 4; g++) part[g][threadIdx.x] = sum[g];
	srm_reduce(part);
	if (threadIdx.x < 4) {
		int64_t row = srm_mirror_row(&r.shape, &b.seed, b.ux, b.uz, threadIdx.x);

		if (row >= 0) y[row] = (float)part[threadIdx.x][0];
	}
}

/* A LOR whose images all have the value 0, as those without counts have in EM, adds nothing. */
static __global__ void __launch_bounds__(SRM_THREADS)
	back(struct srm_seed_rows r, struct srm_seed_range s, struct iso_fixed_cuda acc, const float *y)
{
	struct block_lor b = lor_of(&r, s);
	double value[4];
	bool any = false;
	int vx, vy, vz;

#pragma unroll
	for (int g = 0; g < 4; g++) {
		int64_t row = srm_mirror_row(&r.shape, &b.seed, b.ux, b.uz, g);

		value[g] = row < 0 ? 0 : y[row] * acc.scale;
		any = any || value[g] != 0;
	}
	if (!any) return;
	for (int64_t e = b.seed.element + threadIdx.x; e < b.end; e += SRM_THREADS) {
		if (!voxel_of(&r, &b, e, &vx, &vy, &vz)) continue;
		double w = r.w[e];

#pragma unroll
		for (int g = 0; g < 4; g++)
			if (value[g] != 0)
				iso_fixed_add(acc, srm_mirror_voxel(r.size, vx, vy, vz, g), w * value[g]);
	}
}

/* ---- the two projections ---- */

struct srm_seed_range iso_srm_seed_range(const struct srm_seed_rows *r, int sub)
{
	struct srm_subsets k = srm_subsets(r->n_sub, sub);
	struct srm_seed_range s = { r->of_subset[k.first], r->of_subset[k.end], r->lor[k.first],
		                    r->lor[k.end] - r->lor[k.first] };

	return s;
}

/* This rank's LORs of a subset. */
static struct srm_seed_range my_range(const struct srm_seed_rows *r, int sub)
{
	struct srm_seed_range s = iso_srm_seed_range(r, sub);

	s.lor = r->mine[sub].first;
	s.lors = r->mine[sub].n;
	return s;
}

int iso_srm_row_forward_cuda(const iso_op *op, int sub, float *y, const float *x)
{
	const struct srm_seed_rows *r = &iso_srm_cuda_of(op)->rows;
	float *packed = ((struct srm_cuda_work *)op->work)->step.packed;
	struct srm_subsets k = srm_subsets(r->n_sub, sub);

	for (int i = k.first; i < k.end; i++) {
		struct srm_seed_range s = my_range(r, i);

		if (s.lors > 0)
			forward<<<(unsigned)s.lors, SRM_THREADS, 0, iso_stream(op->ctx)>>>(*r, s, y, x);
	}
	return iso_srm_gather_rows_cuda(op, sub, packed, y, iso_cuda_launched("srm rows forward"));
}

static int add_rows(const iso_op *op, int sub, const float *y)
{
	const struct srm_seed_rows *r = &iso_srm_cuda_of(op)->rows;
	struct iso_fixed_cuda *acc = &((struct srm_cuda_work *)op->work)->image;
	struct srm_subsets k = srm_subsets(r->n_sub, sub);
	struct iso_rows rows = iso_op_rows(op, sub);
	double total = 0;
	int st = op->ctx->vec->asum(op->ctx, rows.n, &total, y + rows.first);

	if (st) return st;
	if (!isfinite(total)) return iso_fail(ISO_EARG, "srm: a value to back project is not finite");
	if ((st = iso_fixed_begin(acc, op->ctx, total * r->most))) return st;
	for (int i = k.first; i < k.end; i++) {
		struct srm_seed_range s = my_range(r, i);

		if (s.lors > 0)
			back<<<(unsigned)s.lors, SRM_THREADS, 0, iso_stream(op->ctx)>>>(*r, s, *acc, y);
	}
	return iso_cuda_launched("srm rows back");
}

int iso_srm_row_back_cuda(const iso_op *op, int sub, float *x, const float *y)
{
	struct iso_fixed_cuda *acc = &((struct srm_cuda_work *)op->work)->image;
	int st = iso_fixed_sum(acc, op->ctx, add_rows(op, sub, y));

	return st ? st : iso_fixed_end(x, acc, op->ctx);
}

int iso_srm_rows_upload(struct srm_seed_rows *r, struct iso_room *room, const struct srm_op *m)
{
	int st = iso_srm_seed_rows(r, room, m);

	if (st) return st;
	int64_t n = r->seed[r->n].element;

	ISO_MOVE(room, r->seed, r->n + 1);
	ISO_MOVE(room, r->place, n);
	ISO_MOVE(room, r->w, n);
	return room->status;
}
