/* SPDX-License-Identifier: BSD-3-Clause */
/* The hits of many pixels at once, on the CPU: pieces between corners become a list, which is gone through in lanes. For chords
   that are short enough for series (barrel_depth_series). */
#ifndef ISO_BARREL_LANES_H
#define ISO_BARREL_LANES_H

#include "barrel_kern.h"

enum { BARREL_PIECES = 2048, BARREL_PIXELS = 512, BARREL_SUMS = 6, BARREL_BLOCK = 16 };

/* Pixels of an event and the pieces of their points. */
struct barrel_batch {
	int pixels, pieces;
	int ix[BARREL_PIXELS], iy[BARREL_PIXELS];
	iso_real at[BARREL_PIXELS]; /* y of each pixel */
	struct barrel_sums sum[BARREL_PIXELS];
	int of[BARREL_PIECES]; /* the pixel of each piece */
	iso_real y[BARREL_PIECES], d[BARREL_PIECES], low[BARREL_PIECES], high[BARREL_PIECES];
	iso_real part[BARREL_SUMS][BARREL_PIECES];
	/* pixels whose pieces are not made yet: */
	int waiting, wait_x[BARREL_BLOCK], wait_y[BARREL_BLOCK];
	iso_real wait_at[BARREL_BLOCK];
	iso_real point_y[4 * BARREL_BLOCK], point_d[4 * BARREL_BLOCK];
	iso_real cut[BARREL_CUTS][4 * BARREL_BLOCK];
};

/* Whether chords of an event are short enough. */
static inline bool barrel_series_serve(const struct barrel_line *l)
{
	const struct barrel_pair *p = &l->pair;
	iso_real a = p->a.half[0] * p->a.half[0] + p->a.half[1] * p->a.half[1];
	iso_real b = p->b.half[0] * p->b.half[0] + p->b.half[1] * p->b.half[1];

	return 2 * iso_sqrt(a > b ? a : b) * l->s * p->mu < BARREL_SERIES;
}

/* Whether a block of pixels may not find room. */
static inline bool barrel_batch_full(const struct barrel_batch *b)
{
	return b->pixels > BARREL_PIXELS - BARREL_BLOCK ||
	       b->pieces > BARREL_PIECES - 4 * BARREL_BLOCK * (BARREL_CUTS - 1);
}

/* Slopes of the corners of either strip from the points of a block; bounds of those to both. */
static inline void barrel_block_slopes(struct barrel_batch *b, const struct barrel_pair *p, iso_real *low,
                                       iso_real *high)
{
	enum { N = 4 * BARREL_BLOCK };

	for (int side = 0; side < 2; side++) {
		const struct barrel_box *box = side ? &p->b : &p->a;
		const iso_real sign = side ? -1 : 1;
		iso_real least[N], most[N], nearest[N];

		for (int i = 0; i < N; i++) {
			least[i] = nearest[i] = (iso_real)1e30;
			most[i] = (iso_real)-1e30;
		}
		for (int k = 0; k < 4; k++) {
			iso_real *cut = b->cut[4 * side + k];
			const iso_real y = box->corner[k][0], d = box->corner[k][1];

#pragma omp simd
			for (int i = 0; i < N; i++) {
				iso_real ahead = y - sign * b->point_y[i],
					 slope = (d - sign * b->point_d[i]) / ahead;

				cut[i] = slope;
				nearest[i] = barrel_less(ahead, nearest[i]);
				least[i] = barrel_less(slope, least[i]);
				most[i] = barrel_more(slope, most[i]);
			}
		}
		for (int i = 0; i < N; i++) {
			low[i] = side ? barrel_more(least[i], low[i]) : least[i];
			high[i] = side ? barrel_less(most[i], high[i]) : most[i];
			/* a corner that is not in front: no directions at all */
			if (!(nearest[i] > BARREL_SMALL)) high[i] = (iso_real)-2e30;
		}
	}
}

/* The slopes of each point within its bounds, rising. */
static inline void barrel_block_order(struct barrel_batch *b, const iso_real *low, const iso_real *high)
{
	/* Batcher's network */
	static const unsigned char swap[19][2] = { { 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 }, { 0, 2 },
		                                   { 1, 3 }, { 1, 2 }, { 4, 6 }, { 5, 7 }, { 5, 6 },
		                                   { 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 }, { 2, 4 },
		                                   { 3, 5 }, { 1, 2 }, { 3, 4 }, { 5, 6 } };
	enum { N = 4 * BARREL_BLOCK };

	for (int k = 0; k < BARREL_CUTS; k++)
#pragma omp simd
		for (int i = 0; i < N; i++)
			b->cut[k][i] = barrel_less(barrel_more(b->cut[k][i], low[i]), high[i]);
	for (int s = 0; s < 19; s++) {
		iso_real *p = b->cut[swap[s][0]], *q = b->cut[swap[s][1]];

#pragma omp simd
		for (int i = 0; i < N; i++) {
			iso_real less = barrel_less(p[i], q[i]), more = barrel_more(p[i], q[i]);

			p[i] = less;
			q[i] = more;
		}
	}
}

/* The pieces of the pixels that wait. */
static inline void barrel_batch_block(struct barrel_batch *b, const struct barrel_pair *p)
{
	iso_real low[4 * BARREL_BLOCK], high[4 * BARREL_BLOCK];

	barrel_block_slopes(b, p, low, high);
	barrel_block_order(b, low, high);
	for (int w = 0; w < b->waiting; w++) {
		const int before = b->pieces;

		for (int i = 4 * w; i < 4 * w + 4; i++)
			for (int k = 0; low[i] < high[i] && k < BARREL_CUTS - 1; k++) {
				if (!(b->cut[k][i] < b->cut[k + 1][i])) continue;
				b->of[b->pieces] = b->pixels;
				b->y[b->pieces] = b->point_y[i];
				b->d[b->pieces] = b->point_d[i];
				b->low[b->pieces] = b->cut[k][i];
				b->high[b->pieces++] = b->cut[k + 1][i];
			}
		if (b->pieces == before) continue;
		b->ix[b->pixels] = b->wait_x[w];
		b->iy[b->pixels] = b->wait_y[w];
		b->at[b->pixels] = b->wait_at[w];
		memset(b->sum + b->pixels, 0, sizeof b->sum[b->pixels]);
		b->pixels++;
	}
	b->waiting = 0;
}

/* The pixel of edge h around (y, d); whether a block is whole. */
static inline bool barrel_batch_add(struct barrel_batch *b, const struct barrel_pair *p, int ix, int iy,
                                    iso_real y, iso_real d, iso_real h)
{
	const int w = b->waiting++;

	b->wait_x[w] = ix;
	b->wait_y[w] = iy;
	b->wait_at[w] = y;
	for (int k = 0; k < 4; k++) {
		iso_real move_y = 0, move_d = 0;

		barrel_point(&move_y, &move_d, p, h, k);
		b->point_y[4 * w + k] = y + move_y;
		b->point_d[4 * w + k] = d + move_d;
	}
	return b->waiting == BARREL_BLOCK;
}

/* The sums of all pixels so far. */
static inline void barrel_batch_sum(struct barrel_batch *b, const struct barrel_pair *pair, iso_real mu)
{
	const struct barrel_pair p = *pair;
	const int n = b->pieces;

	for (int k = 0; k < BARREL_SUMS; k++) memset(b->part[k], 0, (size_t)n * sizeof *b->part[k]);
	for (int g = 0; g < BARREL_POINTS; g++) {
#pragma omp simd
		for (int i = 0; i < n; i++) {
			struct barrel_ray r = barrel_ray(&p, b->y[i], b->d[i], b->low[i], b->high[i], g);
			iso_real chance_a, chance_b, mean_a, mean_b, v_a, v_b;

			barrel_depth_series(&chance_a, &mean_a, &v_a, mu * r.chord[0]);
			barrel_depth_series(&chance_b, &mean_b, &v_b, mu * r.chord[1]);
			iso_real x_a = r.enter[0] + r.chord[0] * mean_a,
				 x_b = r.enter[1] + r.chord[1] * mean_b;
			iso_real w = r.weight * chance_a * chance_b, w_a = w * x_a, w_b = w * x_b;

			b->part[0][i] += w;
			b->part[1][i] += w_a;
			b->part[2][i] += w_b;
			b->part[3][i] += w_a * x_a + w * r.chord[0] * r.chord[0] * v_a;
			b->part[4][i] += w_b * x_b + w * r.chord[1] * r.chord[1] * v_b;
			b->part[5][i] += w_a * x_b;
		}
	}
	for (int i = 0; i < n; i++) {
		struct barrel_sums *s = b->sum + b->of[i];

		s->w += b->part[0][i];
		s->a += b->part[1][i];
		s->b += b->part[2][i];
		s->aa += b->part[3][i];
		s->bb += b->part[4][i];
		s->ab += b->part[5][i];
	}
}

#endif
