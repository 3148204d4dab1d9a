/* SPDX-License-Identifier: BSD-3-Clause */
/* Filtered back-projection, slice by slice, in double. */
#include "fbp.h"

#include "base/fail.h"
#include "core/fft/fft.h"
#include "core/progress.h"
#include "core/room.h"
#include "core/size.h"
#include "image/places.h"

#include <math.h>
#include <string.h>

/* ---- line integrals ---- */

/* Cells first + 1 ... last - 1 of a row have no weight. */
static void fill(double *p, int64_t first, int64_t last)
{
	for (int64_t k = first + 1; k < last; k++) {
		double part = (double)(k - first) / (double)(last - first);

		p[k] = p[first] * (1 - part) + p[last] * part;
	}
}

static void divide_row(double *p, const int32_t *counts, const double *weight, int64_t n)
{
	int64_t before = -1;

	for (int64_t k = 0; k < n; k++) {
		p[k] = 0;
		if (!(weight[k] > 0)) continue;
		p[k] = counts[k] / weight[k];
		if (before >= 0) fill(p, before, k);
		before = k;
	}
}

void iso_fbp_divide(double *p, const int32_t *counts, const double *weight, const struct ssrb *g)
{
	for (int64_t row = 0; row < g->slices * g->angles; row++)
		divide_row(p + row * g->bins, counts + row * g->bins, weight + row * g->bins, g->bins);
}

/* ---- the filter ---- */

static int64_t padded(int64_t bins)
{
	int64_t n = 2;

	while (n < 2 * bins) n *= 2;
	return n;
}

/* The filter's spectrum over the length n of the transform, n / 2 + 1 real lines: w h, windowed. */
static int filter_lines(double *line, const struct iso_fft *f, double *work, double *spectrum, double w,
                        double hann)
{
	const int64_t n = f->n;
	int st;

	memset(work, 0, (size_t)n * sizeof *work);
	work[0] = 1 / (4 * w);
	for (int64_t k = 1; k < n / 2; k += 2)
		work[k] = work[n - k] = -1 / (M_PI * M_PI * (double)(k * k) * w);
	if ((st = iso_fft_forward(f, spectrum, work))) return st;
	for (int64_t l = 0; l <= n / 2; l++) {
		double share = 2 * (double)l / (double)n; /* of the Nyquist frequency */
		double window = hann > 0 ? share < hann ? (1 + cos(M_PI * share / hann)) / 2 : 0 : 1;

		line[l] = spectrum[2 * l] * window / (double)n;
	}
	return ISO_OK;
}

static int filter_row(double *p, const struct iso_fft *f, double *work, double *spectrum, const double *line,
                      int64_t bins)
{
	int st;

	memset(work, 0, (size_t)f->n * sizeof *work);
	memcpy(work, p, (size_t)bins * sizeof *work);
	if ((st = iso_fft_forward(f, spectrum, work))) return st;
	for (int64_t l = 0; l <= f->n / 2; l++) {
		spectrum[2 * l] *= line[l];
		spectrum[2 * l + 1] *= line[l];
	}
	if ((st = iso_fft_inverse(f, work, spectrum))) return st;
	memcpy(p, work, (size_t)bins * sizeof *work);
	return ISO_OK;
}

/* Work of one thread. */
struct work {
	double *row, *spectrum;
};

int iso_fbp_filter(double *p, iso_ctx *ctx, const struct ssrb *g, double hann)
{
	struct iso_room room = iso_room_of(NULL, "filter");
	const int64_t n = padded(g->bins), rows = g->slices * g->angles;
	const int threads = iso_ctx_threads(ctx);
	struct iso_fft *f = NULL;
	struct work *work;
	double *line;
	int st = iso_fft_create_by(&f, &iso_fft_own_double, ctx, n, 1, true), failed = 0;

	if (st) return st;
	ISO_HOST(&room, line, n / 2 + 1);
	ISO_HOST(&room, work, threads);
	for (int t = 0; t < threads && !room.status; t++) {
		ISO_HOST(&room, work[t].row, n);
		ISO_HOST(&room, work[t].spectrum, n + 2);
	}
	if (!(st = room.status)) st = filter_lines(line, f, work[0].row, work[0].spectrum, g->bin_mm, hann);
	if (!st) {
#pragma omp parallel for num_threads(threads) reduction(| : failed)
		for (int t = 0; t < threads; t++)
			for (int64_t r = t; r < rows; r += threads)
				failed |= filter_row(p + r * g->bins, f, work[t].row, work[t].spectrum, line,
				                     g->bins) != 0;
		if (failed) st = iso_fail(ISO_ENOMEM, "filter: a transform failed");
	}
	iso_fft_free(f);
	iso_room_free(&room);
	return st;
}

/* ---- back-projection ---- */

/* The plane at a height: the two slices around it, and the share of the second; false: outside. */
static bool slices_at(int64_t slice[2], double *share, const struct ssrb *g, double z)
{
	double at = 2 * z / g->pitch_mm - (double)g->first, low = floor(at + MEASURE_TOLERANCE);

	if (at < -MEASURE_TOLERANCE || at > (double)g->slices - 1 + MEASURE_TOLERANCE) return false;
	*share = fmax(at - low, 0);
	slice[0] = (int64_t)low;
	slice[1] = slice[0] + 1 < g->slices ? slice[0] + 1 : slice[0];
	if (*share <= MEASURE_TOLERANCE) *share = 0;
	return true;
}

static double pixel(const double *q, const struct ssrb *g, const double *cosine, double x, double y)
{
	const double middle = (double)(g->bins - 1) / 2;
	double sum = 0;

	for (int64_t i = 0; i < g->angles; i++) {
		double at = (x * cosine[2 * i] + y * cosine[2 * i + 1]) / g->bin_mm + middle, low = floor(at);

		if (low < 0 || low >= (double)(g->bins - 1)) continue;
		const double *row = q + i * g->bins + (int64_t)low;

		sum += row[0] + (at - low) * (row[1] - row[0]);
	}
	return sum * M_PI / (double)g->angles;
}

static void plane_of(iso_real *x, const iso_ctx *ctx, const struct iso_grid *grid, const double *plane,
                     const struct ssrb *g, const double *cosine)
{
#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t iy = 0; iy < grid->n[1]; iy++)
		for (int64_t ix = 0; ix < grid->n[0]; ix++)
			x[iy * grid->n[0] + ix] =
				(iso_real)pixel(plane, g, cosine, iso_measure_place(grid, 0, ix),
			                        iso_measure_place(grid, 1, iy));
}

int iso_fbp_image(iso_real *x, iso_ctx *ctx, const struct iso_grid *grid, const double *q,
                  const struct ssrb *g)
{
	const int64_t cells = g->angles * g->bins, pixels = grid->n[0] * grid->n[1];
	struct iso_clock clock = iso_clock_brief(ctx, "back-project", "planes", grid->n[2], NULL);
	double *plane = size_alloc(cells + 2 * g->angles, sizeof *plane), *cosine = plane + cells, share;
	int64_t slice[2];
	int st = ISO_OK;

	if (!plane) return iso_fail_memory("back-projection", cells * (int64_t)sizeof *plane);
	for (int64_t i = 0; i < g->angles; i++) {
		cosine[2 * i] = cos(iso_ssrb_phi(g, i));
		cosine[2 * i + 1] = sin(iso_ssrb_phi(g, i));
	}
	for (int64_t iz = 0; iz < grid->n[2] && !st; iz++) {
		memset(x + iz * pixels, 0, (size_t)pixels * sizeof *x);
		if (slices_at(slice, &share, g, iso_measure_place(grid, 2, iz))) {
			const double *a = q + slice[0] * cells, *b = q + slice[1] * cells;

			for (int64_t k = 0; k < cells; k++) plane[k] = a[k] + share * (b[k] - a[k]);
			plane_of(x + iz * pixels, ctx, grid, plane, g, cosine);
		}
		iso_clock_add(&clock, 1);
		st = iso_ctx_poll(ctx);
	}
	if (!st) iso_clock_end(&clock);
	free(plane);
	return st;
}
