/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights as halves, of 11 bits, in units in which the greatest is below 2^15. Up to 2^11 counts are exact;
   those of long runs would need a second half, which costs a third of the time. But counts are random
   numbers: where a weight is a mean of less than 2^14 over at most 16 mirror images, what a half leaves out
   is less than a fifth of its own error. So it is rounded, and what is left goes to the next weights of its
   row: the row's sum stays, and no weight changes by more than two fifths of its error. Weights that were
   computed or imported keep all their bits. */
#include "srm_stream_piece.h"
#include "model/srm/matrix/srm_matrix.h"

#include <math.h>
#include <string.h>

#define MOST_ROUNDED 0x1p14 /* counts */

/* ---- a half ---- */

/* 11 of a float's 24 bits, rounded to even; below 2^-14 units, multiples of 2^-24. */
float iso_half_of(float w, double unit)
{
	float v = (float)(w / unit);
	uint32_t word;

	if (fabsf(v) < 0x1p-14f) return (float)(rint(v * 0x1p24) * 0x1p-24 * unit);
	memcpy(&word, &v, sizeof word);
	word = (word + 0xfff + (word >> 13 & 1)) & ~0x1fffu;
	memcpy(&v, &word, sizeof v);
	return (float)(v * unit);
}

bool iso_half_holds(float w, double unit)
{
	return fabsf(w - iso_half_of(w, unit)) <= 0x1p-22f * fabsf(w);
}

/* ---- the unit ---- */

/* Weights that were counted are whole counts over pairs, times powers of 2 (srm_fold.c). */
static double count_of(const iso_srm *m)
{
	int outcomes = m->options.outcomes > 1 ? m->options.outcomes : 1;

	return m->source == SRM_TRANSPORT ? 1. / ((double)m->pairs * outcomes * outcomes) : 1;
}

/* A power of 2 of a count: a half's numbers are whole multiples of 2^-24, up to 65504. */
double iso_half_unit(const struct srm_op *m, const struct iso_srm_rows *taps)
{
	double unit = count_of(m->srm), most = 0;
	int power;

	for (int i = 0; i < SRM_PAIRS(m); i++)
		for (int64_t k = 0; k < taps[i].ptr[taps[i].n]; k++)
			most = (double)taps[i].w[k] > most ? (double)taps[i].w[k] : most;
	frexp(most / unit, &power);
	return ldexp(unit, power - 15);
}

/* ---- rounding ---- */

/* Taps of one direction and plane. */
static void round_taps(iso_real *w, int64_t n, double unit, double most)
{
	double left = 0;

	for (int64_t i = 0; i < n; i++) {
		double exact = (double)w[i], most_taken = exact * 0x1p-11;
		double take = fmax(-most_taken, fmin(left, most_taken));

		if (exact > most || iso_half_holds((float)w[i], unit)) continue;
		w[i] = (iso_real)iso_half_of((float)(exact + take), unit);
		left += exact - (double)w[i];
	}
}

void iso_stream_round(struct iso_srm_rows *taps, iso_ctx *ctx, const struct srm_op *m)
{
	double unit = iso_half_unit(m, taps), most = MOST_ROUNDED * count_of(m->srm);

	if (m->srm->source != SRM_TRANSPORT) return;
	for (int i = 0; i < SRM_PAIRS(m); i++) {
		const struct iso_srm_rows *r = &taps[i];

#pragma omp parallel for num_threads(ctx->threads) schedule(static)
		for (int64_t k = 0; k < r->n; k++)
			round_taps(r->w + r->ptr[k], r->ptr[k + 1] - r->ptr[k], unit, most);
	}
}
