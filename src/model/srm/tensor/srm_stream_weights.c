/* SPDX-License-Identifier: BSD-3-Clause */
/* Taps with their weights as halves, of 11 bits, in units in which the greatest is below 2^15. Up to 2^11 counts
   are exact; those of long runs would need a second half, which costs a third of the time. But counts are random
   numbers: where a weight is a mean of less than 2^14 over at most 16 mirror images, what a half leaves out
   is less than a fifth of its own error. So it is rounded, and what is left goes to the next weights of its
   row: the row's sum stays, and no weight changes by more than two fifths of its error. Weights that were
   computed or imported keep all their bits. */
#include "srm_half.h"
#include "srm_stream.h"
#include "srm_stream_piece.h"
#include "model/srm/matrix/srm_matrix.h"

#define MOST_ROUNDED 0x1p14 /* counts */

/* Weights that were counted are whole counts over pairs, times powers of 2 (srm_fold.c). */
static double count_of(const iso_srm *m)
{
	int outcomes = m->options.outcomes > 1 ? m->options.outcomes : 1;

	return m->source == SRM_TRANSPORT ? 1. / ((double)m->pairs * outcomes * outcomes) : 1;
}

/* A power of 2 of a count: a half's numbers are whole multiples of 2^-24, up to 65504. */
static double unit_of(const iso_srm *m, iso_real most)
{
	double unit = count_of(m);
	int power;

	frexp((double)most / unit, &power);
	return ldexp(unit, power - 15);
}

/* Every element of the table is a tap somewhere. */
static iso_real greatest(const iso_srm *m, iso_ctx *ctx)
{
	iso_real most = 0;

#pragma omp parallel for num_threads(ctx->threads) reduction(max : most)
	for (int64_t i = 0; i < m->n; i++) most = m->w[i] > most ? m->w[i] : most;
	return most;
}

/* What there is among weights, once they are rounded. */
struct found {
	iso_real most;
	bool rest; /* a half does not hold one of them */
};

/* Weights of one direction and plane, rounded where they are not above `limit`; and as halves. */
static struct found round_taps(iso_real *w, uint16_t *half, int64_t n, double unit, double limit)
{
	struct found all = { 0, false };
	double left = 0;

	for (int64_t i = 0; i < n; i++) {
		double exact = (double)w[i], most_taken = exact * 0x1p-11;
		struct half h = half_split((float)w[i], unit);
		bool holds = half_holds(h, (float)w[i]);

		if (!holds && exact <= limit) {
			h = half_split((float)(exact + fmax(-most_taken, fmin(left, most_taken))), unit);
			holds = true;
			w[i] = (iso_real)h.w;
			left += exact - (double)w[i];
		}
		half[i] = (uint16_t)(h.bits | (holds ? 0 : STREAM_REST_BIT));
		all.rest |= !holds;
		all.most = w[i] > all.most ? w[i] : all.most;
	}
	return all;
}

/* All weights; returns the greatest. */
static iso_real round_all(struct stream_taps *t, iso_ctx *ctx, const struct srm_op *m, double limit)
{
	iso_real most = 0;
	bool rest = false;

	for (int i = 0; i < SRM_PAIRS(m); i++) {
		const struct iso_srm_rows *r = &t->rows[i];

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 256) reduction(max     \
                                                                                    : most) \
	reduction(||                                                                        \
                  : rest)
		for (int64_t k = 0; k < r->n; k++) {
			struct found f = round_taps(r->w + r->ptr[k], t->half[i] + r->ptr[k],
			                            r->ptr[k + 1] - r->ptr[k], t->unit, limit);

			most = f.most > most ? f.most : most;
			rest = rest || f.rest;
		}
	}
	t->rest = rest;
	return most;
}

/* Where rounding took the greatest weight to the next power of 2, the unit is another. */
static void make_halves(struct stream_taps *t, iso_ctx *ctx, const struct srm_op *m)
{
	bool counted = m->srm->source == SRM_TRANSPORT;
	double unit;

	t->unit = unit_of(m->srm, greatest(m->srm, ctx));
	unit = unit_of(m->srm, round_all(t, ctx, m, counted ? MOST_ROUNDED * count_of(m->srm) : 0));
	if (unit == t->unit) return;
	t->unit = unit;
	round_all(t, ctx, m, 0);
}

/* Planes are added up in order, so that the sum has the same bits for any number of threads. */
static double direction_sum(const struct iso_srm_rows *r, int64_t direction)
{
	double sum = 0;

	for (int64_t i = direction; i < r->n; i += r->directions)
		for (int64_t k = r->ptr[i]; k < r->ptr[i + 1]; k++) sum += (double)r->w[k];
	return sum;
}

static float row_most(const struct stream_taps *t, iso_ctx *ctx, const struct srm_op *m)
{
	double most = 0;

	for (int i = 0; i < SRM_PAIRS(m); i++)
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 16) reduction(max : most)
		for (int64_t d = 0; d < t->rows[i].directions; d++) {
			double sum = direction_sum(&t->rows[i], d);

			most = sum > most ? sum : most;
		}
	return (float)most;
}

int iso_stream_taps(struct stream_taps *t, struct iso_room *room, const struct srm_op *m)
{
	*t = (struct stream_taps){ .rows = iso_srm_pair_rows(room, m->srm, (struct iso_srm_order){ 0 },
		                                             true) };
	ISO_HOST(room, t->half, SRM_PAIRS(m));
	ISO_HOST(room, t->store, room->ctx->threads);
	for (int i = 0; i < SRM_PAIRS(m) && !room->status; i++)
		ISO_HOST(room, t->half[i], t->rows[i].ptr[t->rows[i].n]);
	if (room->status) return room->status;
	t->n_store = room->ctx->threads;
	t->row_most = row_most(t, room->ctx, m);
	make_halves(t, room->ctx, m);
	return ISO_OK;
}

void iso_stream_taps_free(struct stream_taps *t)
{
	for (int i = 0; i < t->n_store; i++) iso_store_free(&t->store[i]);
	t->n_store = 0;
}
