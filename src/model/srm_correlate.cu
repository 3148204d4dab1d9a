/* SPDX-License-Identifier: BSD-3-Clause */
/* The shift-correlation projector on CUDA: streams of taps (srm_stream.h) in plain gathers.

   A thread owns some neighbouring places along x, for each of four lanes, in registers; its
   neighbours along z read neighbouring words. A run of n taps costs it n - 1 loads more than it has
   places, and 4 n multiply-adds a place. Weights come once, the same for all threads of a block,
   and from far away: the next part's are fetched into the cache while this one is at work.
   Nothing is added to by two threads, so every run gives the same bits. */
#include "srm_cuda.cuh"
#include "srm_stream.h"

#include <stdlib.h>

#define FORWARD 256	/* threads of a block */
#define ADJOINT 32	/* a warp: it waits for nobody */

struct device_stream {
	struct stream_block *block;
	struct stream_job *job;
	struct stream_part *part;
	int32_t *near;
	struct stream_far *far;
	float4 *weight;
	int pitch;
};

/* Where a direction's rows and its padded plane lie. */
struct direction_place {
	int64_t row, plane;
	int nx, nz;
};

struct correlate_cuda {
	struct stream_layout layout;
	struct srm_stream forward, adjoint;	/* on the host: blocks of subsets, slices, work */
	struct device_stream on_forward, on_adjoint;
	struct direction_place *place;
};

struct correlate_work {
	struct srm_step_work step;
	float *image, *data, *slices;	/* padded; partial sums */
};

/* ---- a run of taps ---- */

/* PITCH 0: of another size, known to the caller alone. */
template <int ROWS, int N, int PITCH>
static __device__ __forceinline__ void add_run(float (&acc)[STREAM_LANES][ROWS], const float4 *w,
					       const float *in, int pitch)
{
	float value[ROWS + N - 1];

#pragma unroll
	for (int k = 0; k < ROWS + N - 1; k++)
		value[k] = __ldg(in + k * (PITCH ? PITCH : pitch));
#pragma unroll
	for (int k = 0; k < N; k++) {
		float4 v = __ldg(w + k);

#pragma unroll
		for (int t = 0; t < ROWS; t++) {
			acc[0][t] = fmaf(v.x, value[t + k], acc[0][t]);
			acc[1][t] = fmaf(v.y, value[t + k], acc[1][t]);
			acc[2][t] = fmaf(v.z, value[t + k], acc[2][t]);
			acc[3][t] = fmaf(v.w, value[t + k], acc[3][t]);
		}
	}
}

/* Runs of N taps that stay inside; returns the weights after theirs. */
template <int ROWS, int N, int PITCH>
static __device__ __forceinline__ const float4 *near_runs(float (&acc)[STREAM_LANES][ROWS],
							  const struct device_stream &s,
							  const int32_t *ends, const float4 *w,
							  const float *in, int pitch)
{
	int end = ends[N];

#pragma unroll 1
	for (int i = ends[N - 1]; i < end; i++, w += N)
		add_run<ROWS, N, PITCH>(acc, w, in + __ldg(s.near + i), pitch);
	return w;
}

/* Runs of n taps that may leave, few of them, tap by tap: what lies wholly outside is read from the
   margin. */
template <int ROWS, int PITCH>
static __device__ __forceinline__ const float4 *far_runs(float (&acc)[STREAM_LANES][ROWS],
							 const struct device_stream &s, int n,
							 const int32_t *ends, const float4 *w,
							 const float *in, int x, int z, int pitch)
{
	for (int i = ends[n - 1]; i < ends[n]; i++) {
		struct stream_far r = s.far[i];
		int column = max(-1, min(z + r.z, (int)r.nz));

		for (int k = 0; k < n; k++, w++) {
			int row = max(-STREAM_MARGIN_X, min(x + r.x + k, (int)r.nx));

			add_run<ROWS, 1, PITCH>(acc, w, in + r.base + row * pitch + column, pitch);
		}
	}
	return w;
}

template <int ROWS, int PITCH>
static __device__ __forceinline__ void add_part(float (&acc)[STREAM_LANES][ROWS],
						const struct device_stream &s, int number,
						const float *in, int x, int z)
{
	const struct stream_part *p = s.part + number;
	const float4 *w = s.weight + p->weight;
	const char *next = (const char *)(s.weight + p[1].weight) + (threadIdx.x % ISO_WARP) * 128;
	int pitch = PITCH ? PITCH : s.pitch;
	const float *here = in + x * pitch + z;

	asm volatile("prefetch.global.L2 [%0];" : : "l"(next));
	w = near_runs<ROWS, 1, PITCH>(acc, s, p->near, w, here, pitch);
	w = near_runs<ROWS, 2, PITCH>(acc, s, p->near, w, here, pitch);
	w = near_runs<ROWS, 3, PITCH>(acc, s, p->near, w, here, pitch);
	w = near_runs<ROWS, 4, PITCH>(acc, s, p->near, w, here, pitch);
#pragma unroll 1
	for (int n = 1; n <= STREAM_RUN; n++)
		w = far_runs<ROWS, PITCH>(acc, s, n, p->far, w, in, x, z, pitch);
}

template <int ROWS> static __device__ __forceinline__ void clear(float (&acc)[STREAM_LANES][ROWS])
{
#pragma unroll
	for (int j = 0; j < STREAM_LANES; j++)
#pragma unroll
		for (int t = 0; t < ROWS; t++)
			acc[j][t] = 0;
}

/* ---- forward: a job a block; where it is narrow, teams of threads take its parts in turn ---- */

/* The teams' sums, in order, by the first team. */
template <int ROWS>
static __device__ __forceinline__ void add_teams(float (&acc)[STREAM_LANES][ROWS], int t, int size)
{
	__shared__ float other[STREAM_LANES][FORWARD];

	__syncthreads();
#pragma unroll
	for (int j = 0; j < STREAM_LANES; j++)
		other[j][threadIdx.x] = acc[j][t];
	__syncthreads();
	if ((int)threadIdx.x < size)
		for (int i = threadIdx.x + size; i + size <= FORWARD + (int)threadIdx.x; i += size)
#pragma unroll
			for (int j = 0; j < STREAM_LANES; j++)
				acc[j][t] += other[j][i];
}

template <int ROWS, int PITCH>
static __device__ __forceinline__ void forward_job(const struct device_stream &s,
						   const struct stream_block *b, float *out,
						   const float *in)
{
	struct stream_job job = s.job[b->job];
	int threads = min((job.nx + ROWS - 1) / ROWS * job.nz - b->first, FORWARD);
	int size = (threads + ISO_WARP - 1) / ISO_WARP * ISO_WARP, teams = FORWARD / size;
	int team = threadIdx.x / size, me = threadIdx.x % size;
	int place = b->first + min(me, threads - 1);
	int x = job.x0 + place / job.nz * ROWS, z = job.z0 + place % job.nz;
	float acc[STREAM_LANES][ROWS];

	clear<ROWS>(acc);
	for (int p = team; p < job.n_part && team < teams; p += teams)
		add_part<ROWS, PITCH>(acc, s, job.part + p, in, x, z);
#pragma unroll
	for (int t = 0; t < ROWS; t++) {
		if (teams > 1)
			add_teams<ROWS>(acc, t, size);
		if (team > 0 || me >= threads)
			continue;
#pragma unroll
		for (int j = 0; j < STREAM_LANES; j++) {
			const struct stream_out *o = &b->out[j];
			unsigned ox = x + t - o->x0, oz = z - o->z0;

			if (ox < (unsigned)o->nx && oz < (unsigned)o->nz)
				out[o->base + (int64_t)ox * o->row + (int64_t)oz * o->step] = acc[j][t];
		}
	}
}

template <int PITCH>
static __global__ void __launch_bounds__(FORWARD, 3)
	forward_kernel(struct device_stream s, int64_t first, float *out, int64_t n, const float *in)
{
	const struct stream_block *b = s.block + first + blockIdx.x;

	out += b->slice * n;
	switch (s.job[b->job].rows) {
	case 5:
		return forward_job<5, PITCH>(s, b, out, in);
	case 6:
		return forward_job<6, PITCH>(s, b, out, in);
	case 7:
		return forward_job<7, PITCH>(s, b, out, in);
	default:
		return forward_job<8, PITCH>(s, b, out, in);
	}
}

/* ---- adjoint: a tile of the image in shared memory, to which jobs add one after the other ---- */

template <int ROWS, int PITCH>
static __device__ __forceinline__ void adjoint_job(const struct device_stream &s,
						   const struct stream_block *b,
						   const struct stream_job &job, float *tile,
						   const float *in)
{
	int threads = (job.nx + ROWS - 1) / ROWS * job.nz;

	for (int me = threadIdx.x; me - (int)(threadIdx.x % ISO_WARP) < threads; me += ADJOINT) {
		int place = min(me, threads - 1);
		int x = job.x0 + place / job.nz * ROWS, z = job.z0 + place % job.nz;
		float acc[STREAM_LANES][ROWS];

		clear<ROWS>(acc);
		add_part<ROWS, PITCH>(acc, s, job.part, in, x, z);
#pragma unroll
		for (int t = 0; t < ROWS; t++)
			if (me < threads && x + t < b->x0 + b->nx)
#pragma unroll
				for (int j = 0; j < STREAM_LANES; j++)
					tile[((x + t - b->x0) * STREAM_LANES + j) * b->nz + z] += acc[j][t];
	}
}

template <int PITCH>
static __global__ void __launch_bounds__(ADJOINT)
	adjoint_kernel(struct device_stream s, int64_t first, float *out, int64_t n, const float *in)
{
	extern __shared__ float tile[];
	const struct stream_block *b = s.block + first + blockIdx.x;
	int cells = b->nx * b->nz * STREAM_LANES;

	for (int i = threadIdx.x; i < cells; i += ADJOINT)
		tile[i] = 0;
	for (int k = 0; k < b->n_job; k++) {
		struct stream_job job = s.job[b->job + k];

		__syncthreads();	/* of one warp: cheap */
		switch (job.rows) {
		case 5:
			adjoint_job<5, PITCH>(s, b, job, tile, in);
			break;
		case 6:
			adjoint_job<6, PITCH>(s, b, job, tile, in);
			break;
		case 7:
			adjoint_job<7, PITCH>(s, b, job, tile, in);
			break;
		default:
			adjoint_job<8, PITCH>(s, b, job, tile, in);
		}
	}
	__syncthreads();
	out += b->slice * n;
	for (int i = threadIdx.x; i < cells; i += ADJOINT) {
		int z = i % b->nz, j = i / b->nz % STREAM_LANES, x = b->x0 + i / b->nz / STREAM_LANES;
		const struct stream_out *o = &b->out[j];

		if (x < o->nx)
			out[o->base + (int64_t)x * o->row + (int64_t)z * o->step] = tile[i];
	}
}

/* ---- to padded memory, and back from slices ---- */

static __global__ void pad_image(float *to, const float *x, struct srm_shape s, int rows, int pitch)
{
	int nx = s.nc[0] * s.d[0], nz = s.nc[1] * s.d[1];

	ISO_GRID_LOOP(i, (int64_t)nx * s.planes * nz) {
		int ix = (int)(i % nx), iz = (int)(i / nx / s.planes), y = (int)(i / nx % s.planes);
		int64_t plane = ((int64_t)y * s.d[0] + ix % s.d[0]) * s.d[1] + iz % s.d[1];

		to[(plane * rows + ix / s.d[0] + STREAM_MARGIN_X) * pitch + iz / s.d[1] +
		   STREAM_MARGIN_Z] = x[i];
	}
}

static __global__ void pad_data(float *to, const float *y, const struct direction_place *place,
				int pitch)
{
	struct direction_place d = place[blockIdx.x];

	for (int i = threadIdx.x; i < d.nx * d.nz; i += blockDim.x)
		to[d.plane + (int64_t)(i / d.nz) * pitch + i % d.nz] = y[d.row + i];
}

static __global__ void add_slices(float *out, const float *in, int slices, int64_t n, int64_t first,
				  int64_t count, bool more)
{
	ISO_GRID_LOOP(i, count) {
		float sum = more ? out[first + i] : 0;

		for (int k = 0; k < slices; k++)
			sum += in[k * n + first + i];
		out[first + i] = sum;
	}
}

/* ---- the operator ---- */

typedef void (*correlate_kernel)(struct device_stream, int64_t, float *, int64_t, const float *);

struct kernels {
	int pitch;
	correlate_kernel forward, adjoint;
};

/* Those of the papers' scanners know the pitch. */
static const struct kernels kernels_of[] = {
	{ 96, forward_kernel<96>, adjoint_kernel<96> },		/* 26 x 52 crystals */
	{ 128, forward_kernel<128>, adjoint_kernel<128> },	/* 104 x 72 */
	{ 0, forward_kernel<0>, adjoint_kernel<0> },
};

static const struct kernels *find_kernels(int pitch)
{
	const struct kernels *k = kernels_of;

	while (k->pitch && k->pitch != pitch)
		k++;
	return k;
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	const struct correlate_cuda *c = (const struct correlate_cuda *)m->device;
	const struct correlate_work *w = (const struct correlate_work *)op->work;
	int first = sub == ISO_ALL ? 0 : sub, end = sub == ISO_ALL ? m->n_sub : sub + 1;
	int64_t from = c->forward.block_of[first], blocks = c->forward.block_of[end] - from;
	struct iso_rows rows = iso_op_rows(op, sub);
	cudaStream_t stream = iso_stream(op->ctx);

	pad_image<<<iso_blocks(m->voxels), ISO_THREADS, 0, stream>>>(w->image, x, m->shape, c->layout.rows,
								    c->layout.pitch);
	find_kernels(c->layout.pitch)->forward<<<(unsigned)blocks, FORWARD, 0, stream>>>(
		c->on_forward, from, w->slices, m->lors, w->image);
	add_slices<<<iso_blocks(rows.n), ISO_THREADS, 0, stream>>>(y, w->slices, c->forward.slices,
								  m->lors, rows.first, rows.n, false);
	return iso_cuda_launched("srm forward");
}

static int adjoint_of(const iso_op *op, int sub, iso_real *x, const iso_real *y, bool more)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	const struct correlate_cuda *c = (const struct correlate_cuda *)m->device;
	const struct correlate_work *w = (const struct correlate_work *)op->work;
	int64_t from = c->adjoint.block_of[sub], blocks = c->adjoint.block_of[sub + 1] - from;
	cudaStream_t stream = iso_stream(op->ctx);

	pad_data<<<(unsigned)(m->sub[sub + 1] - m->sub[sub]), 128, 0, stream>>>(
		w->data, y, c->place + m->sub[sub], c->layout.pitch);
	find_kernels(c->layout.pitch)->adjoint<<<(unsigned)blocks, ADJOINT, c->adjoint.tile, stream>>>(
		c->on_adjoint, from, w->slices, m->voxels, w->data);
	add_slices<<<iso_blocks(m->voxels), ISO_THREADS, 0, stream>>>(x, w->slices, c->adjoint.slices,
								    m->voxels, 0, m->voxels, more);
	return iso_cuda_launched("srm adjoint");
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	int st = ISO_OK;

	if (sub != ISO_ALL)
		return adjoint_of(op, sub, x, y, false);
	for (int k = 0; k < m->n_sub && !st; k++)
		st = adjoint_of(op, k, x, y, k > 0);
	return st;
}

static int em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
		   const struct iso_em_data *d, struct iso_em_stat *stat)
{
	return iso_srm_step(op, sub, acc, x, d, stat, &((struct correlate_work *)op->work)->step);
}

/* ---- memory ---- */

static void close_work(iso_op *op)
{
	struct correlate_work *w = (struct correlate_work *)op->work;

	iso_srm_step_close(&w->step);
	cudaFree(w->image);
	cudaFree(w->data);
	cudaFree(w->slices);
	free(w);
}

static int open_work(iso_op *op)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	const struct correlate_cuda *c = (const struct correlate_cuda *)m->device;
	struct correlate_work *w = (struct correlate_work *)calloc(1, sizeof *w);
	int64_t forward_size = c->forward.slices * m->lors, adjoint_size = c->adjoint.slices * m->voxels;
	const struct iso_vec *v = op->ctx->vec;
	int st;

	if (!w)
		return iso_fail_memory("srm", sizeof *w);
	op->work = w;	/* from here close_work cleans up; memory comes zeroed */
	if ((st = iso_srm_step_open(&w->step, op)) ||
	    (st = v->alloc(op->ctx, (void **)&w->image, c->layout.image * (int64_t)sizeof(float))) ||
	    (st = v->alloc(op->ctx, (void **)&w->data, c->layout.data * (int64_t)sizeof(float))))
		return st;
	return v->alloc(op->ctx, (void **)&w->slices, (forward_size > adjoint_size ? forward_size :
			adjoint_size) * (int64_t)sizeof(float));
}

static void free_stream(struct device_stream *d)
{
	cudaFree(d->block);
	cudaFree(d->job);
	cudaFree(d->part);
	cudaFree(d->near);
	cudaFree(d->far);
	cudaFree(d->weight);
}

static void free_tables(struct correlate_cuda *c)
{
	free_stream(&c->on_forward);
	free_stream(&c->on_adjoint);
	iso_stream_free(&c->forward);
	iso_stream_free(&c->adjoint);
	iso_stream_layout_free(&c->layout);
	cudaFree(c->place);
	free(c);
}

/* With room for what is fetched ahead. */
static int put(iso_ctx *ctx, void **to, const void *from, int64_t bytes)
{
	int st = ctx->vec->alloc(ctx, to, bytes + 128 * ISO_WARP);

	return st ? st : ctx->vec->upload(ctx, *to, from, bytes);
}

/* Uploads; of the host's copy stays what says which blocks a subset has. */
static int put_stream(iso_ctx *ctx, struct device_stream *d, struct srm_stream *s, int pitch)
{
	int64_t blocks = s->block_of[s->n_sub];
	int st;

	d->pitch = pitch;
	if ((st = put(ctx, (void **)&d->block, s->block, blocks * (int64_t)sizeof *s->block)) ||
	    (st = put(ctx, (void **)&d->job, s->job, s->n_job * (int64_t)sizeof *s->job)) ||
	    (st = put(ctx, (void **)&d->part, s->part, (s->n_part + 1) * (int64_t)sizeof *s->part)) ||
	    (st = put(ctx, (void **)&d->near, s->near, s->n_near * (int64_t)sizeof *s->near)) ||
	    (st = put(ctx, (void **)&d->far, s->far, s->n_far * (int64_t)sizeof *s->far)) ||
	    (st = put(ctx, (void **)&d->weight, s->weight, s->n_weight * (int64_t)sizeof *s->weight)))
		return st;
	free(s->weight);
	free(s->near);
	free(s->far);
	s->weight = NULL;
	s->near = NULL;
	s->far = NULL;
	return ISO_OK;
}

static int put_places(iso_ctx *ctx, struct correlate_cuda *c, const struct srm_op *m)
{
	struct direction_place *p = (struct direction_place *)calloc((size_t)m->n_direction, sizeof *p);
	int st;

	if (!p)
		return iso_fail_memory("srm", m->n_direction * (int64_t)sizeof *p);
	for (int j = 0; j < m->n_direction; j++) {
		const struct srm_direction *d = &m->direction[j];

		p[j] = (struct direction_place){ d->first, c->layout.direction[j], d->nx, d->nz };
	}
	st = put(ctx, (void **)&c->place, p, m->n_direction * (int64_t)sizeof *p);
	free(p);
	return st;
}

static int make_streams(iso_ctx *ctx, struct correlate_cuda *c, const struct srm_op *m)
{
	int layers = m->shape.layers, n = layers * layers, st = ISO_OK;
	struct iso_srm_rows *taps = (struct iso_srm_rows *)calloc((size_t)n, sizeof *taps);

	if (!taps)
		return iso_fail_memory("srm", n * (int64_t)sizeof *taps);
	for (int i = 0; i < n && !st; i++) {
		struct iso_srm_order o = { i / layers, i % layers, false, false };

		st = iso_srm_taps(&taps[i], ctx, m->srm, &o);
	}
	if (!st && !(st = iso_stream_forward(&c->forward, ctx, m, taps, &c->layout)))
		st = put_stream(ctx, &c->on_forward, &c->forward, c->layout.pitch);
	if (!st && !(st = iso_stream_adjoint(&c->adjoint, ctx, m, taps, &c->layout)))
		st = put_stream(ctx, &c->on_adjoint, &c->adjoint, c->layout.pitch);
	for (int i = 0; i < n; i++)
		iso_srm_rows_free(&taps[i]);
	free(taps);
	return st;
}

static void correlate_free(iso_op *op)
{
	free_tables((struct correlate_cuda *)((struct srm_op *)op->data)->device);
	iso_srm_op_free(op);
}

static const struct iso_op_fn correlate_fn = {
	forward, adjoint, em_step, iso_srm_op_rows, iso_srm_op_file_row, open_work, close_work,
	correlate_free, NULL,
};

int iso_srm_correlate_cuda(iso_op *op)
{
	struct srm_op *m = (struct srm_op *)op->data;
	struct correlate_cuda *c = (struct correlate_cuda *)calloc(1, sizeof *c);
	int st;

	if (!c)
		return iso_fail_memory("srm", sizeof *c);
	if ((st = iso_stream_layout(&c->layout, m)) || (st = make_streams(op->ctx, c, m)) ||
	    (st = put_places(op->ctx, c, m))) {
		free_tables(c);
		return st;
	}
	m->device = c;
	op->fn = &correlate_fn;
	return ISO_OK;
}
