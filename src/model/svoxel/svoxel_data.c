/* SPDX-License-Identifier: BSD-3-Clause */
/* From traces to the data of model svoxel: which lines, and the spectra

	u(f_l) = dt exp(-j 2 pi f_l t0) sum over k of p_k exp(-j 2 pi f_l k dt)

   with t0 the time of the first sample after the laser pulse. */
#include "core/comm.h"
#include "core/progress.h"
#include "core/sized.h"

#include <math.h>

#define DEFAULT_FMAX_MHZ 5

/* 1e-9: a line at fmax itself counts. */
int iso_svoxel_lines(struct iso_svoxel *p, double fmax_mhz)
{
	struct iso_svoxel full;
	int st = iso_sized_take(&full, "iso_svoxel", sizeof full, p);
	const struct iso_transducers *t = full.t;

	if (st || (st = iso_transducers_check(t))) return st;
	if (!(fmax_mhz >= 0) || !isfinite(fmax_mhz))
		return iso_fail(ISO_EARG, "svoxel: the highest line is at %g MHz, must be positive",
		                fmax_mhz);
	double df = 1 / (2 * (double)t->samples * t->dt_us);
	double top = fmin(fmax_mhz > 0 ? fmax_mhz : DEFAULT_FMAX_MHZ, 1 / (2 * t->dt_us));
	int64_t lines = (int64_t)floor(top / df + 1e-9);

	if (lines < 1) return iso_fail(ISO_EARG, "svoxel: no line up to %g MHz: the first is at %g", top, df);
	p->first_line = 1;
	p->lines = lines;
	p->df_mhz = df;
	p->offset_mhz = 0;
	return ISO_OK;
}

double iso_svoxel_line_mhz(const struct iso_svoxel *p, int64_t l)
{
	return p ? (double)(p->first_line + l) * p->df_mhz + p->offset_mhz : 0;
}

/* 1e-9: an f0 that was rounded from a multiple of df is one. */
int iso_svoxel_lines_at(struct iso_svoxel *p, double f0_mhz, double df_mhz, int64_t lines)
{
	struct iso_svoxel full;
	double number = f0_mhz / df_mhz;
	int st = iso_sized_take(&full, "iso_svoxel", sizeof full, p);

	if (st) return st;
	if (!(f0_mhz >= 0) || !(df_mhz > 0) || !isfinite(df_mhz) || !(number < 1 << 22) || lines < 1)
		return iso_fail(ISO_EARG,
		                "svoxel: %" PRId64
		                " lines from %g MHz on, %g MHz apart, must be 1 or more from 0 to number %d",
		                lines, f0_mhz, df_mhz, 1 << 22);
	p->first_line = (int64_t)floor(number + 1e-9);
	p->lines = lines;
	p->df_mhz = df_mhz;
	p->offset_mhz = f0_mhz - (double)p->first_line * df_mhz;
	if (p->offset_mhz < 1e-9 * df_mhz) p->offset_mhz = 0;
	return ISO_OK;
}

/* One line of one trace. */
static void line(iso_real u[2], const struct iso_transducers *t, double f_mhz, const iso_real *trace)
{
	double first = f_mhz * t->first_us, each = f_mhz * t->dt_us;
	double a = -2 * M_PI * (first - rint(first)), b = -2 * M_PI * (each - rint(each));
	double re = t->dt_us * cos(a), im = t->dt_us * sin(a), c = cos(b), s = sin(b);
	double sum[2] = { 0, 0 };

	for (int64_t k = 0; k < t->samples; k++) {
		double next = re * c - im * s;

		sum[0] += trace[k] * re;
		sum[1] += trace[k] * im;
		im = re * s + im * c;
		re = next;
	}
	u[0] = (iso_real)sum[0];
	u[1] = (iso_real)sum[1];
}

int iso_svoxel_spectra(iso_real *u, iso_ctx *ctx, const struct iso_svoxel *p, const iso_real *traces)
{
	if (!u || !ctx || !p || !traces) return iso_fail_null(__func__);
	struct iso_svoxel full;
	int st = iso_sized_take(&full, "iso_svoxel", sizeof full, p);
	const struct iso_transducers *t = full.t;

	if (st || (st = iso_transducers_check(t))) return st;
	const struct iso_rows own = iso_share(ctx, t->n);
	struct iso_clock clock = iso_clock_brief(ctx, "spectra", "traces", own.n, NULL);

#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
	for (int64_t q = own.first; q < own.first + own.n; q++) {
		for (int64_t l = 0; l < p->lines && !iso_ctx_cancelled(ctx); l++)
			line(u + 2 * (q * p->lines + l), t, iso_svoxel_line_mhz(p, l),
			     traces + q * t->samples);
		iso_clock_add(&clock, 1);
	}
	iso_clock_end(&clock);
	return iso_comm_gather_shares(ctx, iso_ctx_poll(ctx), u, t->n, 2 * p->lines * (int64_t)sizeof *u);
}
