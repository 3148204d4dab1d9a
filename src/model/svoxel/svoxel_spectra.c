/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of model svoxel: spectra of traces,

	u(f_l) = dt exp(-j 2 pi f_l t0) X_l

   with t0 the time of the first sample after the laser pulse, and X_l as in svoxel_spectra.h. */
#include "svoxel_spectra.h"

#include "core/comm.h"
#include "core/fft/fft.h"
#include "core/progress.h"
#include "core/room.h"
#include "core/sized.h"

#include <float.h>
#include <math.h>
#include <omp.h>

/* exp(-j 2 pi a b), exact to rounding however many turns a b is. */
static void turn(double w[2], double a, double b)
{
	double turns = a * b, rest = fma(a, b, -turns), angle = -2 * M_PI * (turns - rint(turns) + rest);

	w[0] = cos(angle);
	w[1] = sin(angle);
}

static void times(double a[2], const double b[2])
{
	double re = a[0] * b[0] - a[1] * b[1];

	a[1] = a[0] * b[1] + a[1] * b[0];
	a[0] = re;
}

/* ---- tables ---- */

/* The n of folded traces; 0: the lines are not those of any, or n is much above what a convolution takes. */
static int64_t folded(const struct iso_svoxel *p)
{
	double n = 1 / (p->df_mhz * p->t->dt_us);
	int64_t last = p->first_line + p->lines - 1;

	if (p->offset_mhz != 0 || fabs(n - rint(n)) > 8 * DBL_EPSILON * n || n < 2) return 0;
	return (double)last <= n / 2 && n <= 4. * (double)(p->t->samples + p->lines) ? (int64_t)rint(n) : 0;
}

/* Transforms of conj w(x), x from 1 - samples to lines - 1, around 0. `half`: df dt / 2. */
static int make_chirp(struct iso_room *room, struct spectra *s, double half)
{
	struct iso_fft *fft = NULL;
	double *row;

	ISO_HOST(room, row, s->n);
	ISO_HOST(room, s->chirp, 2 * (s->n + 2));
	int st = room->status ? room->status
	                      : iso_fft_create_by(&fft, &iso_fft_own_double, room->ctx, s->n, 1, true);

	for (int part = 0; part < 2 && !st; part++) {
		for (int64_t x = 1 - s->samples; x < s->lines; x++) {
			double w[2];

			turn(w, half, (double)(x * x));
			row[x < 0 ? s->n + x : x] = part ? -w[1] : w[0];
		}
		st = iso_fft_forward(fft, s->chirp + part * (s->n + 2), row);
	}
	iso_fft_free(fft);
	iso_room_drop(room, row);
	return st;
}

static int make_convolution(struct iso_room *room, struct spectra *s, const struct iso_svoxel *p)
{
	double half = p->df_mhz * p->t->dt_us / 2, first = iso_svoxel_line_mhz(p, 0) * p->t->dt_us;

	s->parts = 2;
	for (s->n = 2; s->n < s->samples + s->lines - 1;) s->n *= 2;
	ISO_HOST(room, s->before, 2 * s->samples);
	if (make_chirp(room, s, half)) return room->status;
	for (int64_t k = 0; k < s->samples; k++) {
		double w[2];

		turn(s->before + 2 * k, first, (double)k);
		turn(w, half, (double)(k * k));
		times(s->before + 2 * k, w);
	}
	for (int64_t l = 0; l < s->lines; l++) { /* the transform back is n times the inverse */
		double w[2];

		turn(w, half, (double)(l * l));
		times(s->after + 2 * l, w);
		for (int i = 0; i < 2; i++) s->after[2 * l + i] /= (double)s->n;
	}
	return ISO_OK;
}

static int make_tables(struct iso_room *room, struct spectra *s, const struct iso_svoxel *p)
{
	*s = (struct spectra){ .samples = p->t->samples, .lines = p->lines, .parts = 1 };
	if (!ISO_HOST(room, s->after, 2 * s->lines)) return room->status;
	for (int64_t l = 0; l < s->lines; l++) {
		turn(s->after + 2 * l, iso_svoxel_line_mhz(p, l), p->t->first_us);
		for (int i = 0; i < 2; i++) s->after[2 * l + i] *= p->t->dt_us;
	}
	if (!(s->n = folded(p))) return make_convolution(room, s, p);
	s->first = p->first_line;
	return ISO_OK;
}

/* ---- on the CPU ---- */

/* room: of s->parts rows, and of as many transforms. */
static void one(iso_real *u, const struct spectra *s, const struct iso_fft *fft, const iso_real *trace,
                double *room)
{
	const int64_t lines = s->n + 2; /* of a transform, in doubles */
	double *row = room, *line = room + s->parts * s->n;

	for (int part = 0; part < s->parts; part++) {
		for (int64_t i = 0; i < s->n; i++) row[part * s->n + i] = spectra_row(s, trace, part, i);
		iso_fft_forward(fft, line + part * lines, row + part * s->n);
	}
	for (int64_t i = 0; s->chirp && i <= s->n / 2; i++)
		spectra_convolve(s, line + 2 * i, line + lines + 2 * i, i);
	for (int part = 0; s->chirp && part < s->parts; part++)
		iso_fft_inverse(fft, row + part * s->n, line + part * lines);
	for (int64_t l = 0; l < s->lines; l++)
		if (s->chirp)
			spectra_line(s, u + 2 * l, row[l], row[s->n + l], l);
		else
			spectra_line(s, u + 2 * l, line[2 * (s->first + l)], line[2 * (s->first + l) + 1], l);
}

/* Each rank its share. */
static int spectra_cpu(iso_real *u, struct iso_room *room, const struct spectra *s, int64_t n,
                       const iso_real *traces)
{
	iso_ctx *ctx = room->ctx;
	const struct iso_rows own = iso_share(ctx, n);
	const int64_t each = s->parts * (2 * s->n + 2);
	struct iso_clock clock = iso_clock_brief(ctx, "spectra", "traces", own.n, NULL);
	struct iso_fft *fft = NULL;
	double *rows;
	int st = ISO_HOST(room, rows, ctx->threads * each)
	                 ? iso_fft_create_by(&fft, &iso_fft_own_double, ctx, s->n, 1, true)
	                 : room->status;

#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads) if (!st)
	for (int64_t q = own.first; q < own.first + own.n; q++) {
		if (st || iso_ctx_cancelled(ctx)) continue;
		one(u + 2 * q * s->lines, s, fft, traces + q * s->samples,
		    rows + omp_get_thread_num() * each);
		iso_clock_add(&clock, 1);
	}
	iso_clock_end(&clock);
	iso_fft_free(fft);
	return iso_comm_gather_shares(ctx, st ? st : iso_ctx_poll(ctx), u, n,
	                              2 * s->lines * (int64_t)sizeof *u);
}

int iso_svoxel_spectra(iso_real *u, iso_ctx *ctx, const struct iso_svoxel *p, const iso_real *traces)
{
	if (!u || !ctx || !p || !traces) return iso_fail_null(__func__);
	struct iso_room room = iso_room_of(ctx, "spectra");
	struct iso_svoxel full;
	struct spectra s;
	void *cuda = NULL;
	int st = iso_sized_take(&full, "iso_svoxel", sizeof full, p);

	if (st || (st = iso_transducers_check(full.t))) return st;
	if (full.lines < 1 || !(full.df_mhz > 0) || !isfinite(full.df_mhz))
		return iso_fail(ISO_EARG,
		                "svoxel: %" PRId64 " lines that are %g MHz apart, must be 1 or more, apart",
		                full.lines, full.df_mhz);
	if (!(st = make_tables(&room, &s, &full)) && iso_ctx_is_cuda(ctx))
		st = iso_cuda_symbol(&cuda, "iso_spectra_cuda");
	if (!st && cuda)
		st = ((iso_spectra_cuda_fn)cuda)(u, ctx, &s, full.t->n, traces);
	else if (!st)
		st = spectra_cpu(u, &room, &s, full.t->n, traces);
	iso_room_free(&room);
	return st;
}
