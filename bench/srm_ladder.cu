/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of Chou 2012, Table 1, and the seed columns of Meng 2019 on CUDA. */
#include "ladder.h"

#include "core/progress.h"
#include "srm/strategies.cuh"

#define BLOCKS 4096 /* they go round, so that sums in global memory stay small */

/* What a block does in its turn: one LOR, `images` mirror images of it from number g on. */
struct turn {
	struct srm_seed seed;
	int64_t end; /* of its elements */
	int ux, uz, g, images;
};

static __device__ struct turn turn_of(const struct srm_seed_rows *r, struct srm_seed_range s, int64_t lor,
                                      int g, int images)
{
	int64_t number = s.lor + lor, at = srm_seed_of(r->seed, s.first, s.end, number);
	struct turn t;

	t.seed = r->seed[at];
	t.end = r->seed[at + 1].element;
	int shift = (int)(number - t.seed.lor), nz = r->shape.nc[1] - t.seed.dz;

	t.ux = shift / nz;
	t.uz = shift % nz;
	t.g = g;
	t.images = images;
	return t;
}

/* sum[image stride] += w x over this thread's elements; volatile: the sums stay in that memory. */
static __device__ void add_up(const struct srm_seed_rows *r, const struct turn *t, volatile float *sum,
                              int stride, const float *x)
{
	for (int64_t e = t->seed.element + threadIdx.x; e < t->end; e += blockDim.x) {
		short4 place = ((const short4 *)r->place)[e]; /* y, i, k */
		int vx = place.y + r->shape.d[0] * t->ux, vz = place.z + r->shape.d[1] * t->uz;

		if ((unsigned)vx >= (unsigned)r->size.nx || (unsigned)vz >= (unsigned)r->size.nz) continue;
		for (int i = 0; i < t->images; i++)
			sum[i * stride] += r->w[e] * x[srm_mirror_voxel(r->size, vx, place.x, vz, t->g + i)];
	}
}

static __device__ void write_row(const struct srm_seed_rows *r, const struct turn *t, int image, float *y,
                                 float sum)
{
	int64_t row = srm_mirror_row(&r->shape, &t->seed, t->ux, t->uz, t->g + image);

	if (row >= 0) y[row] = sum;
}

static __device__ float serial_sum(const volatile float *sum)
{
	float all = 0;

	for (int i = 0; i < (int)blockDim.x; i++) all += sum[i];
	return all;
}

/* Algorithm 1: LOR lor / 4, image lor % 4. */
static __global__ void alone(struct srm_seed_rows r, struct srm_seed_range s, volatile float *part, float *y,
                             const float *x)
{
	volatile float *mine = part + (int64_t)blockIdx.x * 4 * blockDim.x;

	for (int64_t lor = blockIdx.x; lor < 4 * s.lors; lor += gridDim.x) {
		struct turn t = turn_of(&r, s, lor / 4, (int)(lor % 4), 1);
		float sum = 0;

		if (t.seed.row[t.g] < 0) /* for all threads of the block */
			continue;
		add_up(&r, &t, &sum, 0, x);
		mine[threadIdx.x] = sum;
		__syncthreads();
		if (threadIdx.x == 0) write_row(&r, &t, 0, y, serial_sum(mine));
		__syncthreads();
	}
}

/* Algorithm 2. */
static __global__ void mirrored(struct srm_seed_rows r, struct srm_seed_range s, volatile float *part,
                                float *y, const float *x)
{
	volatile float *mine = part + (int64_t)blockIdx.x * 4 * blockDim.x;

	for (int64_t lor = blockIdx.x; lor < s.lors; lor += gridDim.x) {
		struct turn t = turn_of(&r, s, lor, 0, 4);

		for (int i = 0; i < 4; i++) mine[i * blockDim.x + threadIdx.x] = 0;
		add_up(&r, &t, mine + threadIdx.x, blockDim.x, x);
		__syncthreads();
		if (threadIdx.x == 0)
			for (int i = 0; i < 4; i++)
				write_row(&r, &t, i, y, serial_sum(mine + i * blockDim.x));
		__syncthreads();
	}
}

/* Algorithm 3. */
static __global__ void shared(struct srm_seed_rows r, struct srm_seed_range s, float *y, const float *x)
{
	__shared__ volatile float mine[4][SRM_THREADS];

	for (int64_t lor = blockIdx.x; lor < s.lors; lor += gridDim.x) {
		struct turn t = turn_of(&r, s, lor, 0, 4);

		for (int i = 0; i < 4; i++) mine[i][threadIdx.x] = 0;
		add_up(&r, &t, &mine[0][threadIdx.x], SRM_THREADS, x);
		for (int step = blockDim.x / 2; step > 0; step /= 2) {
			__syncthreads();
			for (int i = 0; i < 4 && (int)threadIdx.x < step; i++)
				mine[i][threadIdx.x] += mine[i][threadIdx.x + step];
		}
		__syncthreads();
		if (threadIdx.x == 0)
			for (int i = 0; i < 4; i++) write_row(&r, &t, i, y, mine[i][0]);
		__syncthreads();
	}
}

static int launch(const iso_op *op, const struct iso_srm_ladder *p, float *part, float *y, const float *x)
{
	const struct srm_seed_rows *r = &iso_srm_cuda_of(op)->rows;
	struct srm_seed_range s = iso_srm_seed_range(r, ISO_ALL);
	cudaStream_t stream = iso_stream(op->ctx);

	if (p->step == ISO_SRM_ALONE)
		alone<<<BLOCKS, p->threads, 0, stream>>>(*r, s, part, y, x);
	else if (p->step == ISO_SRM_MIRRORED)
		mirrored<<<BLOCKS, p->threads, 0, stream>>>(*r, s, part, y, x);
	else
		shared<<<BLOCKS, p->threads, 0, stream>>>(*r, s, y, x);
	return iso_cuda_launched("srm ladder");
}

extern "C" int iso_srm_ladder_forward_cuda(double *seconds, iso_op *op, const struct iso_srm_ladder *p,
                                           iso_real *y, const iso_real *x)
{
	struct iso_room room = iso_room_of(op->ctx, "srm ladder");
	float *part;
	int st = iso_cuda_use(op->ctx);

	ISO_DEVICE(&room, part, (int64_t)BLOCKS * 4 * p->threads);
	if (!st) st = room.status;
	if (!st) st = iso_cuda_check("srm ladder", cudaStreamSynchronize(iso_stream(op->ctx)));
	double start_s = iso_now_s();

	if (!st) st = launch(op, p, part, y, x);
	if (!st) st = iso_cuda_check("srm ladder", cudaStreamSynchronize(iso_stream(op->ctx)));
	*seconds = iso_now_s() - start_s;
	iso_room_free(&room);
	return st;
}

extern "C" int iso_srm_ladder_columns_cuda(iso_op *op, const iso_srm *m, bool folded)
{
	struct srm_cuda *mine = iso_srm_cuda_of(op);
	struct iso_room room = iso_room_of(op->ctx, "srm: columns");
	struct srm_op with = *(const struct srm_op *)op->data;
	struct srm_seed_columns made;
	int st = iso_cuda_use(op->ctx);

	with.srm = m;
	if (!st) st = iso_srm_columns_upload(&made, &room, &with, folded);
	iso_room_free(st ? &room : &mine->room); /* waits for what still reads them */
	if (st) return st;
	mine->room = room;
	mine->columns = made;
	return ISO_OK;
}
