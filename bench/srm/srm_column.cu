/* SPDX-License-Identifier: BSD-3-Clause */
/* Strategy `column` on CUDA: a block takes one voxel of an eighth of the image with its images by
   the mirrors and the exchange of the heads (Meng 2019, Algorithms III and IV). Back, each thread
   adds up its share of the seed column for all eight, and a tree the shares: no atomics. Forward,
   each thread adds to the LORs, in fixed point, so that the order of the atomics does not matter.

   LORs stand in the natural order here, where neighbours in the list are neighbours in memory, and
   each beside the one with heads exchanged, which serves the voxel of the other half. */
#include "strategies.cuh"

#include "model/srm/srm_share.h"

static __device__ struct srm_parts greatest_parts(const struct srm_shape *s)
{
	return srm_lor_parts(s, s->nc[0] - 1, s->nc[1] - 1, s->nc[0] - 1, s->nc[1] - 1);
}

/* ---- LORs between the operator's order and the natural one ---- */

static __device__ bool holds(struct iso_rows rows, int64_t row)
{
	return row >= rows.first && row < rows.first + rows.n;
}

/* Both LORs are of one subset: their directions are d and -d. */
static __global__ void spread(struct srm_seed_columns c, struct iso_rows rows, int64_t n, float2 *both,
                              const float *y)
{
	ISO_GRID_LOOP (lor, n) {
		int64_t row = srm_row_of(&c.shape, c.first, lor);

		if (holds(rows, row))
			both[lor] = make_float2(
				y[row], y[srm_row_of(&c.shape, c.first, srm_exchanged(&c.shape, lor))]);
	}
}

static __global__ void collect(struct srm_seed_columns c, struct iso_rows rows, int64_t n, float *y,
                               struct iso_fixed_cuda sums)
{
	ISO_GRID_LOOP (lor, n) {
		int64_t row = srm_row_of(&c.shape, c.first, lor);
		unsigned long long sum = sums.v[2 * lor] + sums.v[2 * srm_exchanged(&c.shape, lor) + 1];

		if (holds(rows, row)) y[row] = (float)((double)(long long)sum / sums.scale);
	}
}

/* ---- kernels ---- */

static __global__ void __launch_bounds__(SRM_THREADS)
	back(struct srm_seed_columns c, struct srm_subsets s, int64_t octant, float *x, const float2 *both)
{
	__shared__ double part[8][SRM_THREADS];
	int pairs = c.shape.layers * c.shape.layers, face = c.shape.nc[0] * c.shape.nc[1];
	struct srm_parts top = greatest_parts(&c.shape), p;
	struct srm_octant o;
	float sum[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };

	if (!srm_octant(&o, &c.shape, c.phases, octant + blockIdx.x)) return;
	for (int ab = 0; ab < pairs; ab++) {
		const int64_t *list = c.ptr + (o.column * pairs + ab) * c.n_sub;
		const float2 *lors = both + (int64_t)ab * face * face;
		int64_t end = list[s.end];

		for (int64_t e = list[s.first] + threadIdx.x; e < end; e += SRM_THREADS) {
			short4 q = ((const short4 *)c.pair)[e]; /* ux, uz, lx, lz */

			if (!srm_octant_lor(&p, &c.shape, &o, q.x, q.y, q.z, q.w)) continue;
			float w = c.w[e];

#pragma unroll
			for (int g = 0; g < 4; g++) {
				float2 v = __ldg(lors + srm_mirror_lor(p, top, g));

				sum[g] = fmaf(w, v.x, sum[g]);
				sum[4 + g] = fmaf(w, v.y, sum[4 + g]);
			}
		}
	}
#pragma unroll
	for (int g = 0; g < 8; g++) part[g][threadIdx.x] = sum[g];
	srm_reduce(part);
	if (threadIdx.x < 8 && !srm_is_repeated(c.size, o.x, o.y, o.z, threadIdx.x))
		x[srm_mirror_voxel(c.size, o.x, o.y, o.z, threadIdx.x)] = (float)part[threadIdx.x][0];
}

static __global__ void __launch_bounds__(SRM_THREADS)
	forward(struct srm_seed_columns c, struct srm_subsets s, int64_t octant, struct iso_fixed_cuda sums,
                const float *x)
{
	int pairs = c.shape.layers * c.shape.layers, face = c.shape.nc[0] * c.shape.nc[1];
	struct srm_parts top = greatest_parts(&c.shape), p;
	struct srm_octant o;
	double value[8];
	bool any = false;

	if (!srm_octant(&o, &c.shape, c.phases, octant + blockIdx.x)) return;
#pragma unroll
	for (int g = 0; g < 8; g++) {
		value[g] = srm_is_repeated(c.size, o.x, o.y, o.z, g)
		                   ? 0
		                   : x[srm_mirror_voxel(c.size, o.x, o.y, o.z, g)] * sums.scale;
		any = any || value[g] != 0;
	}
	if (!any) return;
	for (int ab = 0; ab < pairs; ab++) {
		const int64_t *list = c.ptr + (o.column * pairs + ab) * c.n_sub;
		int64_t first = (int64_t)ab * face * face, end = list[s.end];

		for (int64_t e = list[s.first] + threadIdx.x; e < end; e += SRM_THREADS) {
			short4 q = ((const short4 *)c.pair)[e]; /* ux, uz, lx, lz */

			if (!srm_octant_lor(&p, &c.shape, &o, q.x, q.y, q.z, q.w)) continue;
			double w = c.w[e];

#pragma unroll
			for (int g = 0; g < 8; g++)
				if (value[g] != 0)
					iso_fixed_add(sums,
					              2 * (first + srm_mirror_lor(p, top, g & 3)) + g / 4,
					              w * value[g]);
		}
	}
}

/* ---- the two projections ---- */

/* This rank's of the octants, back: those that have voxels in its planes. Planes are dealt beside their mirror
   images; a pair that is cut is computed twice. */
static struct iso_rows my_octants(const struct srm_op *m)
{
	struct iso_rows mine = srm_my_planes(m);
	int64_t each = srm_octants(&m->shape) / ((m->shape.planes + 1) / 2);
	int64_t first = mine.first / 2, end = (mine.first + mine.n + 1) / 2;

	return { first * each, mine.n > 0 ? (end - first) * each : 0 };
}

int iso_srm_column_back_cuda(const iso_op *op, int sub, float *x, const float *y)
{
	struct srm_cuda_work *w = (struct srm_cuda_work *)op->work;
	const struct srm_seed_columns *c = &iso_srm_cuda_of(op)->columns;
	struct iso_rows mine = my_octants((const struct srm_op *)op->data);
	cudaStream_t stream = iso_stream(op->ctx);

	spread<<<iso_blocks(op->n_out), ISO_THREADS, 0, stream>>>(*c, iso_op_rows(op, sub), op->n_out,
	                                                          w->both, y);
	if (mine.n > 0)
		back<<<(unsigned)mine.n, SRM_THREADS, 0, stream>>>(*c, srm_subsets(c->n_sub, sub), mine.first,
		                                                   x, w->both);
	return iso_srm_gather_planes_cuda(op, w->step.packed, x, iso_cuda_launched("srm columns back"));
}

static int add_columns(const iso_op *op, int sub, const float *x)
{
	struct iso_fixed_cuda *sums = &((struct srm_cuda_work *)op->work)->sums;
	const struct srm_seed_columns *c = &iso_srm_cuda_of(op)->columns;
	struct iso_rows mine = iso_share(op->ctx, srm_octants(&c->shape));
	double total = 0;
	int st = op->ctx->vec->asum(op->ctx, op->n_in, &total, x);

	if (st) return st;
	if (!isfinite(total)) return iso_fail(ISO_EARG, "srm: a value to project is not finite");
	if ((st = iso_fixed_begin(sums, op->ctx, total * c->most)) || mine.n == 0) return st;
	forward<<<(unsigned)mine.n, SRM_THREADS, 0, iso_stream(op->ctx)>>>(*c, srm_subsets(c->n_sub, sub),
	                                                                   mine.first, *sums, x);
	return iso_cuda_launched("srm columns forward");
}

int iso_srm_column_forward_cuda(const iso_op *op, int sub, float *y, const float *x)
{
	struct iso_fixed_cuda *sums = &((struct srm_cuda_work *)op->work)->sums;
	const struct srm_seed_columns *c = &iso_srm_cuda_of(op)->columns;
	int st = iso_fixed_sum(sums, op->ctx, add_columns(op, sub, x));

	if (st) return st;
	collect<<<iso_blocks(op->n_out), ISO_THREADS, 0, iso_stream(op->ctx)>>>(*c, iso_op_rows(op, sub),
	                                                                        op->n_out, y, *sums);
	return iso_cuda_launched("srm LORs");
}

int iso_srm_columns_upload(struct srm_seed_columns *c, struct iso_room *room, const struct srm_op *m,
                           bool folded)
{
	int st = iso_srm_seed_columns(c, room, m, folded);

	if (st) return st;
	iso_srm_share_planes(m, NULL, true);
	int64_t lists = c->n * SRM_PAIRS(m) * m->n_sub, n = c->ptr[lists];

	ISO_MOVE(room, c->ptr, lists + 1);
	ISO_MOVE(room, c->pair, n);
	ISO_MOVE(room, c->w, n);
	ISO_MOVE(room, c->first, m->n_direction);
	return room->status;
}
