/* SPDX-License-Identifier: BSD-3-Clause */
/* Spectra of traces on CUDA, as many traces at once as fit in a moderate memory. Every rank has all of them: little
   beside the rest, and a transform of another number of rows might be rounded otherwise. */
#include "core/comm.h"
#include "core/cuda.cuh"
#include "core/fft/fft.h"
#include "core/progress.h"
#include "core/room.h"
#include "svoxel_spectra.h"

#define ROWS_VALUES (1ll << 21) /* of the rows that are transformed at once */
#define MOST_TRACES (1ll << 15) /* at once: blocks of a launch */

struct work {
	iso_ctx *ctx;
	struct spectra s; /* tables of the device */
	int64_t many;     /* traces at once */
	struct iso_fft *fft;
	float *trace, *u; /* of so many */
	double *row;      /* parts x many x n, the first parts of all traces first */
	double *line;     /* and its transforms */
};

/* ---- kernels: a row of blocks a trace ---- */

static __global__ void rows(struct spectra s, double *row, const float *trace, int64_t many)
{
	int64_t q = blockIdx.y;

	for (int part = 0; part < s.parts; part++)
		ISO_GRID_LOOP (i, s.n)
			row[(part * many + q) * s.n + i] = spectra_row(&s, trace + q * s.samples, part, i);
}

static __global__ void convolve(struct spectra s, double *line, int64_t many)
{
	double *a = line + blockIdx.y * (s.n + 2), *b = a + many * (s.n + 2);

	ISO_GRID_LOOP (i, s.n / 2 + 1) spectra_convolve(&s, a + 2 * i, b + 2 * i, i);
}

static __global__ void lines(struct spectra s, float *u, const double *row, const double *line, int64_t many)
{
	int64_t q = blockIdx.y;
	const double *re = row + q * s.n, *im = re + many * s.n;
	const double *pair = line + q * (s.n + 2) + 2 * s.first;

	ISO_GRID_LOOP (l, s.lines) {
		float *to = u + 2 * (q * s.lines + l);

		if (s.chirp)
			spectra_line(&s, to, re[l], im[l], l);
		else
			spectra_line(&s, to, pair[2 * l], pair[2 * l + 1], l);
	}
}

/* ---- launches ---- */

static dim3 shape(int64_t values, int64_t many)
{
	return dim3((unsigned)iso_blocks(values), (unsigned)many);
}

static int transform(const struct work *w)
{
	const struct spectra &s = w->s;
	cudaStream_t stream = iso_stream(w->ctx);
	int st;

	rows<<<shape(s.n, w->many), ISO_THREADS, 0, stream>>>(s, w->row, w->trace, w->many);
	if ((st = iso_cuda_launched("rows of spectra")) || (st = iso_fft_forward(w->fft, w->line, w->row)))
		return st;
	if (s.chirp) {
		convolve<<<shape(s.n / 2 + 1, w->many), ISO_THREADS, 0, stream>>>(s, w->line, w->many);
		if ((st = iso_cuda_launched("chirp of spectra")) ||
		    (st = iso_fft_inverse(w->fft, w->row, w->line)))
			return st;
	}
	lines<<<shape(s.lines, w->many), ISO_THREADS, 0, stream>>>(s, w->u, w->row, w->line, w->many);
	return iso_cuda_launched("lines of spectra");
}

static int open(struct work *w, struct iso_room *room, const struct spectra *host, int64_t n)
{
	struct spectra *s = &w->s;
	int64_t fit = ROWS_VALUES / (host->parts * host->n), most = fit < MOST_TRACES ? fit : MOST_TRACES;

	*s = *host;
	w->many = most < 1 ? 1 : most < n ? most : n;
	ISO_UPLOAD(room, s->before, host->before, 2 * s->samples);
	ISO_UPLOAD(room, s->chirp, host->chirp, 2 * (s->n + 2));
	ISO_UPLOAD(room, s->after, host->after, 2 * s->lines);
	ISO_DEVICE(room, w->trace, w->many * s->samples);
	ISO_DEVICE(room, w->u, 2 * w->many * s->lines);
	ISO_DEVICE(room, w->row, s->parts * w->many * s->n);
	ISO_DEVICE(room, w->line, s->parts * w->many * (s->n + 2));
	return room->status ? room->status : iso_fft_create_double(&w->fft, w->ctx, s->n, s->parts * w->many);
}

/* The last traces may be fewer: behind them stand some of before. */
static int all(iso_real *u, const struct work *w, int64_t n, const iso_real *traces)
{
	const struct iso_vec *vec = w->ctx->vec;
	const struct spectra *s = &w->s;
	struct iso_clock clock = iso_clock_brief(w->ctx, "spectra", "traces", n, NULL);
	int st = ISO_OK;

	for (int64_t q = 0, some; q < n && !st; q += some) {
		some = n - q < w->many ? n - q : w->many;
		if ((st = iso_ctx_poll(w->ctx)) ||
		    (st = vec->upload(w->ctx, w->trace, traces + q * s->samples,
		                      some * s->samples * (int64_t)sizeof *traces)) ||
		    (st = transform(w)))
			break;
		st = vec->download(w->ctx, u + 2 * q * s->lines, w->u,
		                   2 * some * s->lines * (int64_t)sizeof *u);
		iso_clock_add(&clock, some);
	}
	iso_clock_end(&clock);
	return st;
}

extern "C" int iso_spectra_cuda(iso_real *u, iso_ctx *ctx, const struct spectra *s, int64_t n,
                                const iso_real *traces)
{
	struct iso_room room = iso_room_of(ctx, "spectra");
	struct work w = ISO_ZERO;

	w.ctx = ctx;
	int st = open(&w, &room, s, n);

	if (!st) st = all(u, &w, n, traces);
	iso_fft_free(w.fft);
	iso_room_free(&room);
	return iso_comm_agree(ctx, st);
}
