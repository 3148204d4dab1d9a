/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames in real time on the CPU: a push ends when its images are there. */
#include "stream.h"

static int open_cpu(iso_sound_stream *s)
{
	iso_real *traces;

	for (int i = 0; i < STREAM_SLOTS; i++) ISO_HOST(&s->room, s->image[i], s->batch * s->voxels);
	s->work = ISO_HOST(&s->room, traces, s->samples);
	return s->room.status;
}

static void close_cpu(iso_sound_stream *s)
{
	(void)s;
}

static void to_traces(const iso_sound_stream *s, iso_real *traces, const void *frames, int i)
{
	int64_t first = i * s->samples;

	switch (s->sample) {
	case ISO_SAMPLE_F32:
		for (int64_t k = 0; k < s->samples; k++) traces[k] = ((const float *)frames)[first + k];
		break;
	case ISO_SAMPLE_I16:
		for (int64_t k = 0; k < s->samples; k++) traces[k] = ((const int16_t *)frames)[first + k];
		break;
	case ISO_SAMPLE_U16:
		for (int64_t k = 0; k < s->samples; k++) traces[k] = ((const uint16_t *)frames)[first + k];
	}
}

static int take_cpu(iso_sound_stream *s, int slot, const void *frames)
{
	int st = s->ctx->vec->fill(s->ctx, s->batch * s->rows, s->u, 0);

	for (int i = 0; i < s->n[slot] && !st; i++) {
		to_traces(s, s->work, frames, i);
		st = iso_svoxel_spectra(s->u + i * s->rows, s->ctx, &s->model, s->work);
	}
	return st;
}

static int residual_cpu(iso_sound_stream *s)
{
#pragma omp parallel for num_threads(s->ctx->threads)
	for (int64_t i = 0; i < s->batch * s->rows; i++) s->e[i] = s->u[i] - s->e[i];
	return ISO_OK;
}

/* Row (y, z) of a frame. */
static void point_row(const iso_sound_stream *s, iso_real *b, const iso_real *z, const iso_real *g,
                      int64_t row)
{
	const int64_t *n = s->model.grid.n;

	for (int64_t x = 0; x < n[0]; x++)
		b[row * n[0] + x] = stream_point(&s->step, z, g, row * n[0] + x, x, row % n[1], row / n[1]);
}

static void dual_row(const iso_sound_stream *s, iso_real *next, const iso_real *b, const iso_real *dual,
                     int64_t row)
{
	int64_t n = s->model.grid.n[0];

	for (int64_t v = row * n; v < (row + 1) * n; v++) {
		struct prox_place q = prox_place(&s->step.prox, v);

		prox_dual_at(&s->step.prox, &q, next, b, dual, v);
	}
}

/* Rows of all frames: f the frame's first voxel, row its row. g becomes b. */
static int step_cpu(iso_sound_stream *s, int k)
{
	const int64_t *n = s->model.grid.n, rows = n[1] * n[2];
	iso_real *z = s->z[k % 2], *next = s->z[(k + 1) % 2], beta = (iso_real)s->beta[k];
	int steps = s->dual[0] ? s->tv_steps : 0;

#pragma omp parallel for num_threads(s->ctx->threads)
	for (int64_t r = 0; r < s->batch * rows; r++) {
		int64_t f = r / rows * s->voxels;

		point_row(s, s->g + f, z + f, s->g + f, r % rows);
	}
	for (int i = 0; i < steps; i++) {
#pragma omp parallel for num_threads(s->ctx->threads)
		for (int64_t r = 0; r < s->batch * rows; r++) {
			int64_t f = r / rows * s->voxels;

			dual_row(s, s->dual[1] + 3 * f, s->g + f, s->dual[0] + 3 * f, r % rows);
		}
		iso_real *old = s->dual[0];

		s->dual[0] = s->dual[1];
		s->dual[1] = old;
	}
#pragma omp parallel for num_threads(s->ctx->threads)
	for (int64_t i = 0; i < s->batch * s->voxels; i++) {
		int64_t f = i / s->voxels * s->voxels;
		iso_real u =
			prox_image(&s->step.prox, s->g + f, s->dual[0] ? s->dual[0] + 3 * f : NULL, i - f);

		next[i] = stream_momentum(s->x + i, u, beta);
	}
	return ISO_OK;
}

static int give_cpu(iso_sound_stream *s, int slot)
{
	memcpy(s->image[slot], s->x, (size_t)(s->batch * s->voxels) * sizeof *s->x);
	return ISO_OK;
}

static int wait_cpu(iso_sound_stream *s, int slot)
{
	(void)s;
	(void)slot;
	return ISO_OK;
}

const struct stream_fn iso_stream_cpu = {
	open_cpu, close_cpu, take_cpu, iso_stream_iterate, residual_cpu, step_cpu, give_cpu, wait_cpu,
};
