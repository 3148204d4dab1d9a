/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames in real time on CUDA. A push puts everything into the context's stream and returns; frames and images lie in
   pinned memory of the host, a slot a push. The iterations are recorded once as a graph. */
#include "core/cuda.cuh"
#include "stream.h"

#include <limits.h>
#include <string.h>

struct stream_work {
	void *raw[STREAM_SLOTS];        /* frames on the host, pinned */
	void *frames;                   /* on the device, of a batch */
	float *table;                   /* (samples of a trace, lines, 2): what a sample adds to the lines */
	cudaEvent_t done[STREAM_SLOTS]; /* the images of the slot are on the host */
	cudaGraphExec_t graph;          /* NULL: none */
	bool tried;
};

static struct stream_work *work_of(const struct iso_sound_stream *s)
{
	return (struct stream_work *)s->work;
}

/* ---- traces to spectra: a product of matrices, (traces, samples) and (samples, 2 lines) ---- */

enum { TILE = 64, DEEP = 16, EACH = 4, SIDE = TILE / EACH };

/* A block has TILE traces and TILE columns, a thread EACH x EACH of them. Within DEEP samples sums are float, over
   these double. */
template <class T>
static __global__ void spectra(float *u, const T *frames, const float *table, int traces, int samples,
                               int columns)
{
	__shared__ float a[DEEP][TILE + 1], b[DEEP][TILE];
	int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
	int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
	double sum[EACH][EACH] = {};

	for (int first = 0; first < samples; first += DEEP) {
		float part[EACH][EACH] = {};

		for (int i = threadIdx.x; i < TILE * DEEP; i += SIDE * SIDE) {
			int k = i % DEEP, r = i / DEEP, c = i % TILE, l = i / TILE;
			bool heard = first + k < samples && row + r < traces;
			bool wanted = first + l < samples && column + c < columns;

			a[k][r] = heard ? (float)frames[(int64_t)(row + r) * samples + first + k] : 0;
			b[l][c] = wanted ? table[(int64_t)(first + l) * columns + column + c] : 0;
		}
		__syncthreads();
		for (int k = 0; k < DEEP; k++)
			for (int i = 0; i < EACH; i++)
				for (int j = 0; j < EACH; j++)
					part[i][j] = fmaf(a[k][y + SIDE * i], b[k][x + SIDE * j], part[i][j]);
		__syncthreads();
		for (int i = 0; i < EACH; i++)
			for (int j = 0; j < EACH; j++) sum[i][j] += (double)part[i][j];
	}
	for (int i = 0; i < EACH; i++)
		for (int j = 0; j < EACH; j++)
			if (row + y + SIDE * i < traces && column + x + SIDE * j < columns)
				u[(int64_t)(row + y + SIDE * i) * columns + column + x + SIDE * j] =
					(float)sum[i][j];
}

/* dt exp(-j 2 pi f (t0 + k dt)) */
static int make_table(struct iso_sound_stream *s, struct stream_work *w)
{
	const struct iso_transducers *t = &s->t;
	int64_t lines = s->model.lines, n = t->samples * lines;
	float *host;

	if (!ISO_HOST(&s->room, host, 2 * n)) return s->room.status;
	for (int64_t i = 0; i < n; i++) {
		double f = iso_svoxel_line_mhz(&s->model, i % lines);
		double turns = f * (t->first_us + (double)(i / lines) * t->dt_us);
		double angle = -2 * M_PI * (turns - rint(turns));

		host[2 * i] = (float)(t->dt_us * cos(angle));
		host[2 * i + 1] = (float)(t->dt_us * sin(angle));
	}
	ISO_UPLOAD(&s->room, w->table, host, 2 * n);
	iso_room_drop(&s->room, host);
	return s->room.status;
}

static int take(struct iso_sound_stream *s, int slot, const void *frames)
{
	struct stream_work *w = work_of(s);
	cudaStream_t stream = iso_stream(s->ctx);
	size_t bytes = (size_t)(s->n[slot] * s->bytes);
	int traces = (int)(s->n[slot] * s->t.n), samples = (int)s->t.samples,
	    columns = (int)(2 * s->model.lines);
	dim3 grid((unsigned)(columns + TILE - 1) / TILE, (unsigned)(traces + TILE - 1) / TILE);
	int64_t spare = s->batch - s->n[slot];
	int st = iso_cuda_use(s->ctx);

	if (st) return st;
	memcpy(w->raw[slot], frames, bytes);
	if ((st = iso_cuda_check("frames", cudaMemcpyAsync(w->frames, w->raw[slot], bytes,
	                                                   cudaMemcpyHostToDevice, stream))))
		return st;
	if (s->sample == ISO_SAMPLE_F32)
		spectra<<<grid, SIDE * SIDE, 0, stream>>>(s->u, (const float *)w->frames, w->table, traces,
		                                          samples, columns);
	else if (s->sample == ISO_SAMPLE_I16)
		spectra<<<grid, SIDE * SIDE, 0, stream>>>(s->u, (const int16_t *)w->frames, w->table, traces,
		                                          samples, columns);
	else
		spectra<<<grid, SIDE * SIDE, 0, stream>>>(s->u, (const uint16_t *)w->frames, w->table, traces,
		                                          samples, columns);
	if ((st = iso_cuda_launched("spectra of frames")) || spare == 0) return st;
	return iso_cuda_check("spare frames",
	                      cudaMemsetAsync(s->u + s->n[slot] * s->rows, 0,
	                                      (size_t)(spare * s->rows) * sizeof *s->u, stream));
}

/* ---- an iteration ---- */

static __global__ void residual_values(int64_t n, float *e, const float *u)
{
	ISO_GRID_LOOP (i, n) e[i] = u[i] - e[i];
}

static int residual(struct iso_sound_stream *s)
{
	int64_t n = s->batch * s->rows;

	residual_values<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(s->ctx)>>>(n, s->e, s->u);
	return iso_cuda_launched("residual of frames");
}

enum { WIDE = 32, HIGH = 8, MOST_PLANES = 65535 };

/* for each voxel of this thread: q its place, v its number in its frame, f its frame */
#define VOXELS(n, frames, q, v, f)                                                                           \
	for (int64_t plane = blockIdx.z; plane < (n)[2] * (frames); plane += gridDim.z)                      \
		if (struct prox_place q = { { blockIdx.x * (int64_t)WIDE + threadIdx.x,                      \
		                              blockIdx.y * (int64_t)HIGH + threadIdx.y, plane % (n)[2] },    \
		                            { 1, (n)[0], (n)[0] * (n)[1] } };                                \
		    q.at[0] < (n)[0] && q.at[1] < (n)[1])                                                    \
			if (int64_t f = plane / (n)[2], v = (q.at[2] * (n)[1] + q.at[1]) * (n)[0] + q.at[0]; \
			    true)

/* Gradient step, penalty, sign and momentum. */
static __global__ void step_voxels(struct stream_step p, float *x, float *next, const float *z,
                                   const float *g, float beta)
{
	int64_t voxels = prox_voxels(&p.prox);

	VOXELS(p.prox.n, p.frames, q, v, f)
	{
		int64_t at = f * voxels;
		float u = stream_point(&p, z + at, g + at, v, q.at[0], q.at[1], q.at[2]);

		if (p.prox.nonneg && u < 0) u = 0;
		next[at + v] = stream_momentum(x + at + v, u, beta);
	}
}

/* With total variation: b instead of g; a step of the dual; and the image with its momentum. */
static __global__ void point_voxels(struct stream_step p, float *g, const float *z)
{
	ISO_GRID_LOOP (i, p.frames * prox_voxels(&p.prox)) g[i] = z[i] + p.step * g[i];
}

static __global__ void dual_voxels(struct stream_step p, float *next, const float *b, const float *dual)
{
	int64_t voxels = prox_voxels(&p.prox);

	VOXELS(p.prox.n, p.frames, q, v, f)
	prox_dual_at(&p.prox, &q, next + 3 * f * voxels, b + f * voxels, dual + 3 * f * voxels, v);
}

static __global__ void image_voxels(struct stream_step p, float *x, float *next, const float *b,
                                    const float *dual, float beta)
{
	int64_t voxels = prox_voxels(&p.prox);

	VOXELS(p.prox.n, p.frames, q, v, f)
	{
		int64_t at = f * voxels;
		float u = prox_image_at(&p.prox, &q, b + at, dual + 3 * at, v);

		next[at + v] = stream_momentum(x + at + v, u, beta);
	}
}

static dim3 planes_of(const struct iso_sound_stream *s)
{
	const int64_t *n = s->step.prox.n;
	int64_t planes = n[2] * s->batch;

	return dim3((unsigned)((n[0] + WIDE - 1) / WIDE), (unsigned)((n[1] + HIGH - 1) / HIGH),
	            (unsigned)min(planes, (int64_t)MOST_PLANES));
}

static int step(struct iso_sound_stream *s, int k)
{
	cudaStream_t stream = iso_stream(s->ctx);
	dim3 grid = planes_of(s), block(WIDE, HIGH);
	float *z = s->z[k % 2], *next = s->z[(k + 1) % 2], beta = (float)s->beta[k];
	int64_t n = s->batch * s->voxels;

	if (!s->dual[0]) {
		step_voxels<<<grid, block, 0, stream>>>(s->step, s->x, next, z, s->g, beta);
		return iso_cuda_launched("step of frames");
	}
	point_voxels<<<iso_blocks(n), ISO_THREADS, 0, stream>>>(s->step, s->g, z);
	for (int i = 0; i < s->tv_steps; i++) {
		dual_voxels<<<grid, block, 0, stream>>>(s->step, s->dual[1], s->g, s->dual[0]);
		float *old = s->dual[0];

		s->dual[0] = s->dual[1];
		s->dual[1] = old;
	}
	image_voxels<<<grid, block, 0, stream>>>(s->step, s->x, next, s->g, s->dual[0], beta);
	return iso_cuda_launched("total variation of frames");
}

/* ---- all iterations as one graph ---- */

/* Leaves w->graph NULL where something that the operator does can't be recorded; then nothing has run. */
static int record(struct iso_sound_stream *s)
{
	struct stream_work *w = work_of(s);
	cudaStream_t stream = iso_stream(s->ctx);
	cudaGraph_t graph = NULL;
	int st;

	w->tried = true;
	if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
		cudaGetLastError();
		return ISO_OK;
	}
	st = iso_stream_iterate(s);
	cudaError_t ended = cudaStreamEndCapture(stream, &graph);

	if (!st && ended == cudaSuccess) cudaGraphInstantiateWithFlags(&w->graph, graph, 0);
	if (graph) cudaGraphDestroy(graph);
	cudaGetLastError();
	s->graph = w->graph != NULL;
	return st == ISO_ECANCEL ? st : ISO_OK;
}

static int run(struct iso_sound_stream *s)
{
	struct stream_work *w = work_of(s);
	int st = w->tried ? ISO_OK : record(s);

	if (st) return st;
	return w->graph ? iso_cuda_check("graph", cudaGraphLaunch(w->graph, iso_stream(s->ctx)))
	                : iso_stream_iterate(s);
}

/* ---- slots ---- */

static int open_slot(struct iso_sound_stream *s, int slot)
{
	struct stream_work *w = work_of(s);
	size_t raw = (size_t)(s->batch * s->bytes), image = (size_t)(s->batch * s->voxels) * sizeof(float);
	int st = iso_cuda_check("pinned frames", cudaHostAlloc(&w->raw[slot], raw, cudaHostAllocDefault));

	if (!st)
		st = iso_cuda_check("pinned images",
		                    cudaHostAlloc((void **)&s->image[slot], image, cudaHostAllocDefault));
	return st ? st
	          : iso_cuda_check("event", cudaEventCreateWithFlags(&w->done[slot], cudaEventDisableTiming));
}

static int open(struct iso_sound_stream *s)
{
	struct stream_work *w;
	int st;

	if (s->batch * s->t.n > INT_MAX || s->t.samples > INT_MAX || 2 * s->model.lines > INT_MAX ||
	    s->batch * s->t.n / TILE >= MOST_PLANES || s->model.grid.n[1] / HIGH >= MOST_PLANES)
		return iso_fail(ISO_EARG, "sound stream: %d frames of %lld transducers are too many for CUDA",
		                s->batch, (long long)s->t.n);
	if (!ISO_HOST(&s->room, w, 1)) return s->room.status;
	s->work = w;
	if ((st = iso_cuda_use(s->ctx))) return st;
	w->frames = iso_room_device(&s->room, s->batch, s->bytes);
	if ((st = s->room.status) || (st = make_table(s, w))) return st;
	for (int i = 0; i < STREAM_SLOTS && !st; i++) st = open_slot(s, i);
	return st;
}

static void close(struct iso_sound_stream *s)
{
	struct stream_work *w = work_of(s);

	if (!w || iso_cuda_use(s->ctx)) return;
	cudaStreamSynchronize(iso_stream(s->ctx));
	if (w->graph) cudaGraphExecDestroy(w->graph);
	for (int i = 0; i < STREAM_SLOTS; i++) {
		if (w->raw[i]) cudaFreeHost(w->raw[i]);
		if (s->image[i]) cudaFreeHost(s->image[i]);
		if (w->done[i]) cudaEventDestroy(w->done[i]);
	}
	cudaGetLastError();
}

static int give(struct iso_sound_stream *s, int slot)
{
	size_t bytes = (size_t)(s->n[slot] * s->voxels) * sizeof(float);
	int st = iso_cuda_check("images", cudaMemcpyAsync(s->image[slot], s->x, bytes, cudaMemcpyDeviceToHost,
	                                                  iso_stream(s->ctx)));

	return st ? st : iso_cuda_check("event", cudaEventRecord(work_of(s)->done[slot], iso_stream(s->ctx)));
}

static int wait(struct iso_sound_stream *s, int slot)
{
	int st = iso_cuda_use(s->ctx);

	return st ? st : iso_cuda_check("images of frames", cudaEventSynchronize(work_of(s)->done[slot]));
}

extern "C" const struct stream_fn iso_stream_cuda = { open, close, take, run, residual, step, give, wait };
