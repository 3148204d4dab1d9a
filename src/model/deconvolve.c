/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces without the transducers' impulse response, Wang 2013, eq. (32)-(33):
	P(f) = U(f) W(f) / H(f),  H(f) = sum over k of h_k exp(-2 pi j f k dt),  h_k = dt h(k dt),
	W(f) = [1 - cos(pi (fc - |f|)/fc)] / 2 up to fc, and 0 beyond it (as printed, W comes back). */
#include "core/fft.h"
#include "core/size.h"
#include "core/vec.h"

#include <math.h>
#include <string.h>

#define TINY 1e-6	/* of the greatest |H|: passes nothing */

enum { ROWS = 512 };	/* traces that are transformed together */

static double hann(double f, double cutoff)
{
	return f <= cutoff ? .5 * (1 - cos(M_PI * (cutoff - f) / cutoff)) : 0;
}

/* H at line l; 1 without a response. The angle is reduced in cycles. */
static void response(double h[2], const struct iso_transducers *t, int64_t l, int64_t nfft)
{
	h[0] = t->eir ? 0 : 1;
	h[1] = 0;
	for (int64_t k = 0; t->eir && k < t->n_eir; k++) {
		double angle = 2 * M_PI * (double)(k * l % nfft) / (double)nfft;

		h[0] += t->eir[k] * cos(angle);
		h[1] -= t->eir[k] * sin(angle);
	}
}

/* W / H / nfft, the last because transforms there and back multiply by it. H(0) = 0 is usual: the
   mean of a trace is then 0. */
static int make_lines(iso_real *line, const struct iso_transducers *t, double cutoff, int64_t nfft)
{
	double most = 0, h[2];

	for (int64_t l = 0; l <= nfft / 2; l++) {
		response(h, t, l, nfft);
		most = fmax(most, hypot(h[0], h[1]));
	}
	if (!(most > 0))
		return iso_fail(ISO_EINPUT, "traces: the impulse response is 0 everywhere");
	for (int64_t l = 0; l <= nfft / 2; l++) {
		double f = (double)l / ((double)nfft * t->dt_us), w = hann(f, cutoff), size;

		response(h, t, l, nfft);
		size = hypot(h[0], h[1]);
		if (w > 0 && l > 0 && size < TINY * most)
			return iso_fail(ISO_EINPUT, "traces: the impulse response passes nothing at %g MHz; the "
					"cut-off, %g MHz, must be below", f, cutoff);
		if (w == 0 || size < TINY * most)
			continue;	/* the lines are 0 from the start */
		line[2 * l] = (iso_real)(w * h[0] / (size * size) / (double)nfft);
		line[2 * l + 1] = (iso_real)(-w * h[1] / (size * size) / (double)nfft);
	}
	return ISO_OK;
}

static int64_t default_length(const struct iso_transducers *t)
{
	int64_t n = 2, m = t->eir ? t->n_eir : 0;

	while (n < 2 * t->samples || n < t->samples + m)
		n *= 2;
	return n;
}

/* Padded rows on the host, and what the device holds of them. */
struct rows {
	iso_ctx *ctx;
	const struct iso_transducers *t;
	int64_t nfft, n;	/* n: rows */
	struct iso_fft *fft;
	iso_real *host, *x, *spectrum, *line;
};

static void rows_free(struct rows *r)
{
	iso_fft_free(r->fft);
	free(r->host);
	r->ctx->vec->free(r->ctx, r->x);
	r->ctx->vec->free(r->ctx, r->spectrum);
	r->ctx->vec->free(r->ctx, r->line);
}

static int rows_make(struct rows *r, double cutoff)
{
	int64_t lines = r->nfft / 2 + 1;
	iso_real *line = size_alloc(2 * lines, sizeof *line);
	int st;

	r->host = size_alloc(r->n, r->nfft * (int64_t)sizeof *r->host);
	if (!line || !r->host)
		st = iso_fail_memory("traces", r->n * r->nfft * (int64_t)sizeof *r->host);
	else if (!(st = make_lines(line, r->t, cutoff, r->nfft)) &&
		 !(st = iso_fft_create(&r->fft, r->ctx, r->nfft, r->n)) &&
		 !(st = iso_vec_alloc(r->ctx, &r->x, r->n * r->nfft)) &&
		 !(st = iso_vec_alloc(r->ctx, &r->spectrum, r->n * 2 * lines)) &&
		 !(st = iso_vec_alloc(r->ctx, &r->line, 2 * lines)))
		st = r->ctx->vec->upload(r->ctx, r->line, line, 2 * lines * (int64_t)sizeof *line);
	free(line);
	return st;
}

static int transform(struct rows *r)
{
	const struct iso_vec *v = r->ctx->vec;
	int64_t bytes = r->n * r->nfft * (int64_t)sizeof *r->x;
	int st;

	if ((st = v->upload(r->ctx, r->x, r->host, bytes)) ||
	    (st = iso_fft_forward(r->fft, r->spectrum, r->x)) ||
	    (st = iso_fft_multiply(r->fft, r->spectrum, r->line)) ||
	    (st = iso_fft_inverse(r->fft, r->x, r->spectrum)))
		return st;
	return v->download(r->ctx, r->host, r->x, bytes);
}

/* Traces first ... in place, as many as there are rows. */
static int some(struct rows *r, iso_real *y, int64_t first)
{
	int64_t k = r->t->samples, n = r->t->n - first < r->n ? r->t->n - first : r->n;
	int st;

	memset(r->host, 0, (size_t)(r->n * r->nfft) * sizeof *r->host);
	for (int64_t i = 0; i < n; i++)
		memcpy(r->host + i * r->nfft, y + (first + i) * k, (size_t)k * sizeof *y);
	if ((st = transform(r)))
		return st;
	for (int64_t i = 0; i < n; i++)
		memcpy(y + (first + i) * k, r->host + i * r->nfft, (size_t)k * sizeof *y);
	return iso_ctx_poll(r->ctx);
}

int iso_traces_deconvolve(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t,
			  double cutoff_mhz, int64_t nfft)
{
	struct rows r = { .ctx = ctx, .t = t, .nfft = nfft ? nfft : default_length(t),
			  .n = t->n < ROWS ? t->n : ROWS };
	int st;

	if (!(cutoff_mhz > 0) || !isfinite(cutoff_mhz))
		return iso_fail(ISO_EARG, "traces: the cut-off is %g MHz, must be above 0", cutoff_mhz);
	if (r.nfft < t->samples || r.nfft < t->n_eir || r.nfft > INT32_MAX / 2)
		return iso_fail(ISO_EARG, "traces: %" PRId64 " points of a transform, must be at least %" PRId64
				", the samples, and hold the impulse response", r.nfft, t->samples);
	st = rows_make(&r, cutoff_mhz);
	for (int64_t q = 0; q < t->n && !st; q += r.n)
		st = some(&r, y, q);
	rows_free(&r);
	return st;
}
