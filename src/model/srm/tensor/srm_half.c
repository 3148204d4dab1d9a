/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights are halves, of 11 bits, in units in which the greatest is below 2^15. Up to 2^11 counts are exact;
   those of long runs would need a second half, which costs a third of the time. But counts are random
   numbers: where a weight is a mean of less than 2^14 over at most 16 mirror images, what a half leaves out
   is less than a fifth of its own error. So it is rounded, and what is left goes to the next weights of its
   row: the row's sum stays, and no weight changes by more than two fifths of its error. Weights that were
   computed or imported keep all their bits. */
#include "srm_half.h"
#include "srm_stream.h"
#include "core/ctx.h"
#include "model/srm/matrix/srm_matrix.h"

#define MOST_ROUNDED 0x1p14 /* counts */

/* Weights that were counted are whole counts over pairs, times powers of 2 (srm_fold.c). */
static double count_of(const iso_srm *m)
{
	int outcomes = m->options.outcomes > 1 ? m->options.outcomes : 1;

	return m->source == SRM_TRANSPORT ? 1. / ((double)m->pairs * outcomes * outcomes) : 1;
}

double iso_half_unit(const struct srm_op *m, const struct iso_srm_rows *taps, iso_ctx *ctx)
{
	double unit = count_of(m->srm);
	iso_real most = 0;
	int power;

	for (int i = 0; i < SRM_PAIRS(m); i++) {
		const iso_real *w = taps[i].w;
		int64_t n = taps[i].ptr[taps[i].n];

#pragma omp parallel for num_threads(ctx->threads) reduction(max : most)
		for (int64_t k = 0; k < n; k++) most = w[k] > most ? w[k] : most;
	}
	frexp((double)most / unit, &power);
	return ldexp(unit, power - 15);
}

/* Taps of one direction and plane. */
static void round_taps(iso_real *w, int64_t n, double unit, double most)
{
	double left = 0;

	for (int64_t i = 0; i < n; i++) {
		double exact = (double)w[i], most_taken = exact * 0x1p-11;

		if (exact > most || half_holds(half_split((float)w[i], unit), (float)w[i])) continue;
		double take = fmax(-most_taken, fmin(left, most_taken));

		w[i] = (iso_real)half_split((float)(exact + take), unit).w;
		left += exact - (double)w[i];
	}
}

void iso_stream_round(struct iso_srm_rows *taps, iso_ctx *ctx, const struct srm_op *m)
{
	double unit = iso_half_unit(m, taps, ctx), most = MOST_ROUNDED * count_of(m->srm);

	if (m->srm->source != SRM_TRANSPORT) return;
	for (int i = 0; i < SRM_PAIRS(m); i++) {
		const struct iso_srm_rows *r = &taps[i];

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 256)
		for (int64_t k = 0; k < r->n; k++)
			round_taps(r->w + r->ptr[k], r->ptr[k + 1] - r->ptr[k], unit, most);
	}
}

/* Planes are added up in order, so that the sum has the same bits for any number of threads. */
static double direction_sum(const struct iso_srm_rows *r, int64_t direction)
{
	double sum = 0;

	for (int64_t i = direction; i < r->n; i += r->directions)
		for (int64_t k = r->ptr[i]; k < r->ptr[i + 1]; k++) sum += (double)r->w[k];
	return sum;
}

float iso_stream_row_most(const struct iso_srm_rows *taps, iso_ctx *ctx, const struct srm_op *m)
{
	double most = 0;

	for (int i = 0; i < SRM_PAIRS(m); i++)
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 16) reduction(max : most)
		for (int64_t d = 0; d < taps[i].directions; d++) {
			double sum = direction_sum(&taps[i], d);

			most = sum > most ? sum : most;
		}
	return (float)most;
}
