/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of single scatter on CUDA. A thread traces a leg; a block of WARPS warps sums up a pair.

   In a pair each lane of a warp looks at one point. Those that add something are then taken one after the other, a lane a
   piece of the profile: no two lanes of a warp add to the same cell, and each warp has cells of its own, so that sums
   have a fixed order. */
#include "core/cuda.cuh"
#include "core/room.h"
#include "sss_run.h"

#define WARPS 4

/* The job as the device has it. */
struct device_job {
	struct sss s;
	struct sss_legs legs;
	const float *place; /* of the detectors */
	int64_t detectors;
	float *profile;
	struct scatter_grid grid;
	double most_z;
	int half, phase, kernel_half; /* as struct sss_work and sss_job have them */
	const float *kernel;
	float *h;
	int *reach; /* bits of the largest |u|, mm */
};

/* Of a row: its two detectors, and the row of the pair with its ends exchanged; -1: that is another one's. */
struct device_row {
	int64_t a, b, back;
};

static __device__ bool find_row(struct device_row *r, const struct device_job *j, int64_t row)
{
	const struct scatter_grid *g = &j->grid;
	int64_t per = (int64_t)g->detectors * g->offsets, pair = row / per;
	int32_t i = (int32_t)(row % per / g->offsets), k = (int32_t)(row % g->offsets), a = 0;

	while (a < g->rings - 1 && table_ring_pair(g, a + 1, a + 1) <= pair) a++;
	int32_t b = a + (int32_t)(pair - table_ring_pair(g, a, a)), other = (i + g->apart + k) % g->detectors;

	if (!sss_pair_wanted(g, j->most_z, a, b, k)) return false;
	r->a = (int64_t)a * g->detectors + i;
	r->b = (int64_t)b * g->detectors + other;
	r->back = a < b || 2 * (g->apart + k) == g->detectors ? -1 : table_row(g, a, other, a, i);
	if (r->back == row) r->back = -1;
	return true;
}

static __global__ void trace(struct device_job j)
{
	ISO_GRID_LOOP (i, j.detectors * j.s.points) {
		const float *from = j.s.point[i % j.s.points].at;
		struct sss_ray r = sss_ray(&j.s, from, j.place + 3 * (i / j.s.points));
		float q = sss_density(&j.s, from, &r);

		j.legs.q[i] = q;
		j.legs.g[i] *= sss_exp(-j.s.mu * q);
		sss_profile(j.profile + j.legs.at[i], &j.s, from, &r, j.legs.first[i], j.legs.pieces[i]);
	}
}

static __device__ float cosine_at(const struct sss_legs *l, int64_t a, int64_t b)
{
	return -(l->dir[0][a] * l->dir[0][b] + l->dir[1][a] * l->dir[1][b] + l->dir[2][a] * l->dir[2][b]);
}

static __global__ void measure(struct device_job j)
{
	int64_t rows = table_rows(&j.grid),
		warp = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / ISO_WARP;
	int64_t warps = (int64_t)gridDim.x * blockDim.x / ISO_WARP;
	const struct sss_legs *l = &j.legs;
	float most = 0;

	for (int64_t row = warp; row < rows; row += warps) {
		struct device_row r;

		if (!find_row(&r, &j, row)) continue;
		for (int64_t p = threadIdx.x % ISO_WARP; p < j.s.points; p += ISO_WARP) {
			int64_t a = r.a * j.s.points + p, b = r.b * j.s.points + p;

			if (cosine_at(l, a, b) > j.s.least_cosine)
				most = fmaxf(most,
				             sss_reach(&j.s, (l->length[a] - l->length[b]) / 2, l->first[a],
				                       l->pieces[a], l->first[b], l->pieces[b]));
		}
	}
	atomicMax(j.reach,
	          __float_as_int(most)); /* not negative: the order of the bits is that of the numbers */
}

/* What a point adds to a pair. */
struct addend {
	float weight[2],
		place[2]; /* to A, to B: factor of the profile, and its first piece's place in cells */
	int pieces[2];
	int64_t at[2];
};

static __device__ bool find_addend(struct addend *d, const struct device_job *j, const struct device_row *r,
                                   int64_t p)
{
	int64_t a = r->a * j->s.points + p, b = r->b * j->s.points + p;
	const struct sss_legs *l = &j->legs;
	float cosine = p < j->s.points ? cosine_at(l, a, b) : -2;

	if (!(cosine > j->s.least_cosine)) return false;
	float per_cell = j->s.piece > 0 ? SSS_CELLS_A_STEP / j->s.piece : 0;
	float shift = (l->length[a] - l->length[b]) / 2 * per_cell;

	sss_weights(&d->weight[0], &d->weight[1], &j->s, cosine, j->s.point[p].weight, l, a, b);
	d->place[0] = (float)j->half - shift + (float)(SSS_CELLS_A_STEP * l->first[a] + 1);
	d->place[1] = (float)j->half + shift + (float)(SSS_CELLS_A_STEP * l->first[b] + 1);
	d->pieces[0] = l->pieces[a];
	d->pieces[1] = l->pieces[b];
	d->at[0] = l->at[a];
	d->at[1] = l->at[b];
	return true;
}

/* sum[side * 2 + phase][...] of this warp. */
static __device__ void add_point(float *sum, const struct device_job *j, const struct addend *d, int lane)
{
	for (int side = 0; side < 2; side++) {
		int low = (int)d->place[side];
		float share = d->place[side] - (float)low, w0 = d->weight[side] * (1 - share),
		      w1 = d->weight[side] * share;
		float *s0 = sum + (side * 2 + (low & 1)) * j->phase + (low >> 1);
		float *s1 = sum + (side * 2 + ((low + 1) & 1)) * j->phase + ((low + 1) >> 1);

		for (int k = lane; k < d->pieces[side]; k += ISO_WARP) {
			float v = j->profile[d->at[side] + k];

			s0[k] += w0 * v;
			s1[k] += w1 * v;
		}
	}
	__syncwarp();
}

/* Rows of the table, with time of flight: shared memory holds the addends, the sums and the cells. */
static __global__ void fill_tof(struct device_job j)
{
	extern __shared__ float room[];
	__shared__ struct addend addends[WARPS][ISO_WARP];
	int lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP, floats = 4 * j.phase,
	    cells = 2 * j.half + 1;
	float *sum = room + warp * floats, *cell = room + WARPS * floats;
	struct device_row r;

	if (!find_row(&r, &j, blockIdx.x)) return;
	for (int i = lane; i < floats; i += ISO_WARP) sum[i] = 0;
	__syncwarp();
	for (int64_t p = warp * ISO_WARP; p < j.s.points; p += WARPS * ISO_WARP) {
		unsigned active =
			__ballot_sync(ISO_FULL_WARP, find_addend(&addends[warp][lane], &j, &r, p + lane));

		__syncwarp();
		for (; active; active &= active - 1)
			add_point(sum, &j, &addends[warp][__ffs((int)active) - 1], lane);
	}
	__syncthreads();
	for (int c = threadIdx.x; c < cells; c += blockDim.x) {
		int turned = cells - 1 - c;
		float v = 0;

		for (int w = 0; w < WARPS; w++)
			v += room[w * floats + (2 + (c & 1)) * j.phase + (c >> 1)] +
			     room[w * floats + (turned & 1) * j.phase + (turned >> 1)];
		cell[c] = v;
	}
	__syncthreads();
	for (int k = threadIdx.x; k < j.grid.cells; k += blockDim.x) {
		int at = j.half + SSS_CELLS_A_STEP * (k - j.grid.cells / 2);
		int low = at - j.kernel_half < 0 ? 0 : at - j.kernel_half;
		int high = at + j.kernel_half > cells - 1 ? cells - 1 : at + j.kernel_half;
		float v = 0;

		for (int c = low; c <= high; c++) v += cell[c] * j.kernel[j.kernel_half + c - at];
		j.h[blockIdx.x * (int64_t)j.grid.cells + k] = v;
		if (r.back >= 0) j.h[r.back * j.grid.cells + j.grid.cells - 1 - k] = v;
	}
}

static __global__ void fill_plain(struct device_job j)
{
	struct device_row r;
	double sum = 0;

	if (!find_row(&r, &j, blockIdx.x)) return;
	for (int64_t p = threadIdx.x; p < j.s.points; p += blockDim.x) {
		struct addend d;

		if (!find_addend(&d, &j, &r, p)) continue;
		for (int side = 0; side < 2; side++)
			if (d.pieces[side]) sum += (double)(d.weight[side] * j.profile[d.at[side]]);
	}
	sum = iso_block_sum(sum);
	if (threadIdx.x > 0) return;
	j.h[blockIdx.x] = (float)sum;
	if (r.back >= 0) j.h[r.back] = (float)sum;
}

static void upload_job(struct device_job *d, struct iso_room *room, const struct sss_job *job)
{
	const struct sss *s = &job->s;
	const struct sss_legs *l = &job->set.legs;
	int64_t n = job->set.detectors * s->points;

	d->s = *s;
	d->grid = job->grid;
	d->most_z = job->most_z;
	d->detectors = job->set.detectors;
	ISO_UPLOAD(room, d->s.q.v, s->q.v, (int64_t)s->q.n[0] * s->q.n[1] * s->q.n[2]);
	ISO_UPLOAD(room, d->s.f.v, s->f.v, (int64_t)s->f.n[0] * s->f.n[1] * s->f.n[2]);
	ISO_UPLOAD(room, d->s.cosine, s->cosine, SSS_COSINES + 1);
	ISO_UPLOAD(room, d->s.energy, s->energy, SSS_COSINES + 1);
	ISO_UPLOAD(room, d->s.point, s->point, s->points);
	ISO_UPLOAD(room, d->place, job->set.place, 3 * job->set.detectors);
	for (int a = 0; a < 3; a++) ISO_UPLOAD(room, d->legs.dir[a], l->dir[a], n);
	ISO_UPLOAD(room, d->legs.length, l->length, n);
	ISO_UPLOAD(room, d->legs.g, l->g, n);
	for (int t = 0; t < SCENE_TILTS; t++) ISO_UPLOAD(room, d->legs.c[t], l->c[t], n);
	ISO_DEVICE(room, d->legs.q, n);
	ISO_UPLOAD(room, d->legs.first, l->first, n);
	ISO_UPLOAD(room, d->legs.pieces, l->pieces, n);
	ISO_UPLOAD(room, d->legs.at, l->at, n);
	ISO_DEVICE(room, d->profile, job->set.pieces);
	ISO_DEVICE(room, d->reach, 1);
}

/* Largest |u| of all pairs. */
static int find_reach(double *reach, const struct device_job *d, iso_ctx *ctx)
{
	float most = 0;
	int st;

	*reach = 0;
	if (!(d->grid.sigma > 0)) return ISO_OK;
	measure<<<iso_blocks(table_rows(&d->grid) * ISO_WARP), ISO_THREADS, 0, iso_stream(ctx)>>>(*d);
	if ((st = iso_cuda_launched("reach of scatter"))) return st;
	if ((st = ctx->vec->download(ctx, &most, d->reach, sizeof most))) return st;
	*reach = most;
	return ISO_OK;
}

static int fill(struct device_job *d, struct iso_room *room, struct sss_job *job, iso_ctx *ctx)
{
	int64_t rows = table_rows(&job->grid), cells = job->grid.cells;
	int st;

	d->grid = job->grid;
	d->kernel_half = job->kernel_half;
	ISO_UPLOAD(room, d->kernel, job->kernel, 2 * SSS_KERNEL + 1);
	ISO_DEVICE(room, d->h, rows * cells);
	if (room->status) return room->status;
	if (cells > 1) {
		d->half = (int)sss_half(&job->s, job->reach);
		d->phase = d->half + 2;
		size_t shared = (size_t)(4 * WARPS * d->phase + 2 * d->half + 1) * sizeof(float);

		if (shared > 40000 &&
		    (st = iso_cuda_check("shared memory",
		                         cudaFuncSetAttribute(fill_tof,
		                                              cudaFuncAttributeMaxDynamicSharedMemorySize,
		                                              (int)shared))))
			return st;
		fill_tof<<<(unsigned)rows, WARPS * ISO_WARP, shared, iso_stream(ctx)>>>(*d);
	} else {
		fill_plain<<<(unsigned)rows, WARPS * ISO_WARP, 0, iso_stream(ctx)>>>(*d);
	}
	if ((st = iso_cuda_launched("scatter of pairs"))) return st;
	return ctx->vec->download(ctx, job->h, d->h, rows * cells * (int64_t)sizeof *d->h);
}

extern "C" int iso_sss_fill_cuda(struct sss_job *job, iso_ctx *ctx, struct iso_scatter_table *t)
{
	struct iso_room room = iso_room_of(ctx, "single scatter");
	struct device_job d = ISO_ZERO;
	double reach = 0;
	int st = iso_cuda_use(ctx);

	if (st) return st;
	upload_job(&d, &room, job);
	if (!(st = room.status)) {
		trace<<<iso_blocks(d.detectors * d.s.points), ISO_THREADS, 0, iso_stream(ctx)>>>(d);
		st = iso_cuda_launched("legs of scatter");
	}
	if (!st && !(st = find_reach(&reach, &d, ctx)) && !(st = sss_job_cells(job, t, reach)))
		st = fill(&d, &room, job, ctx);
	iso_room_free(&room);
	return st ? st : iso_ctx_poll(ctx);
}
