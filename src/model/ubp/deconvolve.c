/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces without the transducers' impulse response, Wang 2013, eq. (32)-(33):
	P(f) = U(f) W(f) / H(f),  H(f) = sum over k of h_k exp(-2 pi j f k dt),  h_k = dt h(k dt),
	W(f) = [1 - cos(pi (fc - |f|)/fc)] / 2 up to fc, and 0 beyond it (as printed, W comes back).

   And traces within a band, half of which passes at its ends, a and b: P(f) = U(f) B(f),
	B(f) = r(f/a - 1) [1 - r(2 f/b - 2)],  r(s) = [1 + sin(pi s)] / 2 for |s| <= 1/2, 0 below, 1 above:
   B rises from a/2 to 3a/2 and falls from 3b/4 to 5b/4. */
#include "core/comm.h"
#include "core/fft/fft.h"
#include "core/progress.h"
#include "core/room.h"
#include "core/size.h"

#include <math.h>
#include <string.h>

#define TINY 1e-6 /* of the greatest |H|: passes nothing */

/* Traces that are transformed together: their points take 16 MiB, and the time between two looks at
   the cancel flag. */
enum { ROWS = 512, POINTS = 1 << 22 };

static double rise(double s)
{
	return s <= -.5 ? 0 : s >= .5 ? 1 : .5 * (1 + sin(M_PI * s));
}

/* H at all lines, on the host, from the response padded to nfft points; 1 without a response. In double,
   since W/H is rounded once more. */
static int response(double *h, iso_ctx *ctx, const struct iso_transducers *t, int64_t nfft)
{
	int64_t lines = nfft / 2 + 1;
	struct iso_room room = { .ctx = ctx, .what = "impulse response" };
	struct iso_fft *fft = NULL;
	double *x, *spectrum;
	int st;

	for (int64_t l = 0; !t->eir && l < lines; l++) h[2 * l] = 1;
	if (!t->eir) return ISO_OK;
	if (ISO_HOST(&room, x, nfft)) memcpy(x, t->eir, (size_t)t->n_eir * sizeof *x);
	ISO_MOVE(&room, x, nfft);
	ISO_DEVICE(&room, spectrum, 2 * lines);
	if (!(st = room.status) && !(st = iso_fft_create_double(&fft, ctx, nfft, 1)) &&
	    !(st = iso_fft_forward(fft, spectrum, x)))
		st = ctx->vec->download(ctx, h, spectrum, 2 * lines * (int64_t)sizeof *h);
	iso_room_free(&room);
	iso_fft_free(fft);
	return st;
}

/* W / H / nfft, the last because transforms there and back multiply by it. H(0) = 0 is usual: the
   mean of a trace is then 0. */
static int divide(iso_real *line, const double *h, const struct iso_transducers *t, double cutoff,
                  int64_t nfft)
{
	double most = 0;

	for (int64_t l = 0; l <= nfft / 2; l++) most = fmax(most, hypot(h[2 * l], h[2 * l + 1]));
	if (!(most > 0) || !isfinite(most))
		return iso_fail(ISO_EINPUT, "traces: the impulse response is %s",
		                most == 0 ? "0 everywhere" : "too large");
	for (int64_t l = 0; l <= nfft / 2; l++) {
		double f = (double)l / ((double)nfft * t->dt_us);
		double w = f <= cutoff ? .5 * (1 - cos(M_PI * (cutoff - f) / cutoff)) : 0;
		double size = hypot(h[2 * l], h[2 * l + 1]);

		if (w > 0 && l > 0 && size < TINY * most)
			return iso_fail(ISO_EINPUT,
			                "traces: the impulse response passes nothing at %g MHz; the cut-off, "
			                "%g MHz, must be below",
			                f, cutoff);
		if (w == 0 || size < TINY * most) continue; /* the lines are 0 from the start */
		line[2 * l] = (iso_real)(w * h[2 * l] / (size * size) / (double)nfft);
		line[2 * l + 1] = (iso_real)(-w * h[2 * l + 1] / (size * size) / (double)nfft);
	}
	return ISO_OK;
}

static int64_t default_length(const struct iso_transducers *t)
{
	int64_t n = 2, m = t->eir ? t->n_eir : 0;

	while (n < 2 * t->samples || n < t->samples + m) n *= 2;
	return n;
}

/* Padded rows on the host, and what the device holds of them. */
struct rows {
	iso_ctx *ctx;
	const struct iso_transducers *t;
	double cutoff; /* of the response; 0: a band */
	double edge[2];
	int64_t nfft, n; /* n: rows */
	struct iso_fft *fft;
	iso_real *host, *x, *spectrum, *line;
	struct iso_room room;
};

/* What the lines of traces are multiplied by, on the host. */
static int make_line(struct rows *r)
{
	double *h;
	int st;

	for (int64_t l = 0; r->cutoff == 0 && l <= r->nfft / 2; l++) {
		double f = (double)l / ((double)r->nfft * r->t->dt_us);
		double low = r->edge[0] > 0 ? rise(f / r->edge[0] - 1) : 1,
		       high = 1 - rise(2 * f / r->edge[1] - 2);

		r->line[2 * l] = (iso_real)(low * high / (double)r->nfft);
	}
	if (r->cutoff == 0) return ISO_OK;
	if (!ISO_HOST(&r->room, h, r->nfft + 2)) return r->room.status;
	if (!(st = response(h, r->ctx, r->t, r->nfft))) st = divide(r->line, h, r->t, r->cutoff, r->nfft);
	iso_room_drop(&r->room, h);
	return st;
}

/* Traces first ... first + r->n - 1, or to before `end`, in place. */
static int some(struct rows *r, iso_real *y, int64_t first, int64_t end)
{
	const struct iso_vec *v = iso_ctx_vec(r->ctx);
	int64_t k = r->t->samples, n = end - first < r->n ? end - first : r->n;
	int64_t bytes = r->n * r->nfft * (int64_t)sizeof *r->x;
	int st;

	memset(r->host, 0, (size_t)bytes);
	for (int64_t i = 0; i < n; i++)
		memcpy(r->host + i * r->nfft, y + (first + i) * k, (size_t)k * sizeof *y);
	if ((st = v->upload(r->ctx, r->x, r->host, bytes)) ||
	    (st = iso_fft_forward(r->fft, r->spectrum, r->x)) ||
	    (st = iso_fft_multiply(r->fft, r->spectrum, r->line)) ||
	    (st = iso_fft_inverse(r->fft, r->x, r->spectrum)) ||
	    (st = v->download(r->ctx, r->host, r->x, bytes)))
		return st;
	for (int64_t i = 0; i < n; i++)
		memcpy(y + (first + i) * k, r->host + i * r->nfft, (size_t)k * sizeof *y);
	return iso_ctx_poll(r->ctx);
}

/* This rank's traces times what r->cutoff or r->edge say. On CUDA the rows of a transform are as many as one rank
   alone would take: its library may round otherwise for other numbers. */
static int multiply_own(iso_real *y, struct rows *r, struct iso_rows own)
{
	int64_t most = POINTS / r->nfft < 1 ? 1 : POINTS / r->nfft < ROWS ? POINTS / r->nfft : ROWS;
	int64_t lines = r->nfft / 2 + 1, rows = iso_ctx_is_cuda(r->ctx) ? r->t->n : own.n;
	int st;

	r->n = rows < 1 ? 1 : rows < most ? rows : most;
	r->room = iso_room_of(r->ctx, "traces");
	ISO_HOST(&r->room, r->line, 2 * lines);
	r->host = iso_room_host(&r->room, r->n, r->nfft * (int64_t)sizeof *r->host);
	if ((st = r->room.status) || (st = make_line(r))) goto done;
	ISO_MOVE(&r->room, r->line, 2 * lines);
	ISO_DEVICE(&r->room, r->x, r->n * r->nfft);
	ISO_DEVICE(&r->room, r->spectrum, r->n * 2 * lines);
	if ((st = r->room.status) || (st = iso_fft_create(&r->fft, r->ctx, r->nfft, r->n))) goto done;
	struct iso_clock clock = iso_clock_brief(r->ctx, "filter", "traces", own.n, NULL);

	for (int64_t q = own.first; q < own.first + own.n && !st; q += r->n) {
		st = some(r, y, q, own.first + own.n);
		iso_clock_add(&clock, r->n);
	}
	if (!st) iso_clock_end(&clock);
done:
	iso_fft_free(r->fft);
	iso_room_free(&r->room);
	return st;
}

/* All traces, which lie on the host. */
static int multiply(iso_real *y, struct rows *r)
{
	int st = multiply_own(y, r, iso_share(r->ctx, r->t->n));

	return iso_comm_gather_shares(r->ctx, st, y, r->t->n, r->t->samples * (int64_t)sizeof *y);
}

int iso_traces_deconvolve(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t, double cutoff_mhz,
                          int64_t nfft)
{
	if (!y || !ctx || !t) return iso_fail_null(__func__);
	int64_t n = nfft ? nfft : default_length(t);

	if (!(cutoff_mhz > 0) || !isfinite(cutoff_mhz))
		return iso_fail(ISO_EARG, "traces: the cut-off is %g MHz, must be above 0", cutoff_mhz);
	if (n < t->samples || n < t->n_eir || n > INT32_MAX / 2)
		return iso_fail(ISO_EARG,
		                "traces: %" PRId64 " points of a transform, must hold %" PRId64
		                " samples and the response",
		                n, t->samples);
	return multiply(y, &(struct rows){ .ctx = ctx, .t = t, .cutoff = cutoff_mhz, .nfft = n });
}

int iso_traces_band(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t, double low_mhz,
                    double high_mhz)
{
	if (!y || !ctx || !t) return iso_fail_null(__func__);
	if (!(low_mhz >= 0 && low_mhz < high_mhz) || !isfinite(high_mhz))
		return iso_fail(ISO_EARG, "traces: a band from %g to %g MHz, must rise from at least 0",
		                low_mhz, high_mhz);
	return multiply(
		y, &(struct rows){
			   .ctx = ctx, .t = t, .edge = { low_mhz, high_mhz }, .nfft = default_length(t) });
}
