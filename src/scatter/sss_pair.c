/* SPDX-License-Identifier: BSD-3-Clause */
/* The single-scatter sum of one pair of detectors over all points, on the host. */
#include "sss.h"

double sss_blur_sigma(double sigma)
{
	double piece = sigma / TABLE_PER_SIGMA, cell = piece / SSS_CELLS_A_STEP;

	return sqrt(sigma * sigma + piece * piece / 12 - cell * cell / 6);
}

int sss_kernel(float *weight, int most, double sigma)
{
	double blur = sss_blur_sigma(sigma), cell = sigma / (TABLE_PER_SIGMA * SSS_CELLS_A_STEP);
	int n = SSS_KERNEL < most ? SSS_KERNEL : most;

	for (int i = -n; i <= n; i++) {
		double x = i * cell / blur;

		weight[n + i] = (float)(exp(-x * x / 2) / (blur * sqrt(2 * M_PI)));
	}
	return n;
}

int sss_work_make(struct sss_work *w, struct iso_room *room, const struct sss *s, double reach)
{
	*w = (struct sss_work){ 0 };
	ISO_HOST(room, w->cosine, s->points);
	ISO_HOST(room, w->index, s->points);
	if (s->piece > 0) {
		w->half = sss_half(s, reach);
		w->phase = w->half + 2;
		for (int i = 0; i < 4; i++) ISO_HOST(room, w->sum[i / 2][i % 2], w->phase);
		ISO_HOST(room, w->cell, 2 * w->half + 1);
	}
	return room->status;
}

/* Points that a photon is seen from after it scattered: their numbers in w->index. */
static int64_t find_points(struct sss_work *w, const struct sss *s, const struct sss_legs *l, int64_t a,
                           int64_t b)
{
	const float *ax = l->dir[0] + a, *ay = l->dir[1] + a, *az = l->dir[2] + a;
	const float *bx = l->dir[0] + b, *by = l->dir[1] + b, *bz = l->dir[2] + b;
	int64_t n = 0;

	for (int64_t p = 0; p < s->points; p++)
		w->cosine[p] = -(ax[p] * bx[p] + ay[p] * by[p] + az[p] * bz[p]);
	for (int64_t p = 0; p < s->points; p++) {
		w->index[n] = (int32_t)p;
		n += w->cosine[p] > s->least_cosine;
	}
	return n;
}

/* Adds a profile whose first piece lies `place` cells from cell -half; one piece is two cells long, so that each phase
   takes all pieces with one weight. */
static void add_profile(float *const sum[2], const float *profile, int32_t n, float place, float weight)
{
	int64_t low = (int64_t)place;
	float share = place - (float)low, w0 = weight * (1 - share), w1 = weight * share;
	float *restrict s0 = sum[low & 1] + (low >> 1), *restrict s1 = sum[(low + 1) & 1] + ((low + 1) >> 1);

	for (int32_t k = 0; k < n; k++) {
		s0[k] += w0 * profile[k];
		s1[k] += w1 * profile[k];
	}
}

void sss_pair(struct sss_work *w, const struct sss *s, const struct sss_set *set, int64_t a, int64_t b)
{
	const struct sss_legs *l = &set->legs;
	int64_t at_a = a * s->points, at_b = b * s->points, n = find_points(w, s, l, at_a, at_b);
	float per_cell = s->piece > 0 ? SSS_CELLS_A_STEP / s->piece : 0;

	w->all = 0;
	for (int i = 0; i < 4 && w->half > 0; i++)
		memset(w->sum[i / 2][i % 2], 0, (size_t)w->phase * sizeof(float));
	for (int64_t i = 0; i < n; i++) {
		int64_t p = w->index[i], i_a = at_a + p, i_b = at_b + p;
		float to_a, to_b, shift = (l->length[i_a] - l->length[i_b]) / 2 * per_cell;

		sss_weights(&to_a, &to_b, s, w->cosine[p], s->point[p].weight, l, i_a, i_b);
		const float *prof_a = set->profile + l->at[i_a], *prof_b = set->profile + l->at[i_b];

		if (w->half > 0) {
			float from_a = (float)w->half - shift + (float)(SSS_CELLS_A_STEP * l->first[i_a] + 1);
			float from_b = (float)w->half + shift + (float)(SSS_CELLS_A_STEP * l->first[i_b] + 1);

			add_profile(w->sum[0], prof_a, l->pieces[i_a], from_a, to_a);
			add_profile(w->sum[1], prof_b, l->pieces[i_b], from_b, to_b);
		} else {
			w->all += (double)((l->pieces[i_a] ? to_a * prof_a[0] : 0) +
			                   (l->pieces[i_b] ? to_b * prof_b[0] : 0));
		}
	}
	for (int64_t c = 0; c <= 2 * w->half && w->half > 0; c++) {
		int64_t turned = 2 * w->half - c;

		w->cell[c] = w->sum[1][c & 1][c >> 1] + w->sum[0][turned & 1][turned >> 1];
	}
}

float sss_pair_reach(struct sss_work *w, const struct sss *s, const struct sss_set *set, int64_t a, int64_t b)
{
	const struct sss_legs *l = &set->legs;
	int64_t at_a = a * s->points, at_b = b * s->points, n = find_points(w, s, l, at_a, at_b);
	float most = 0;

	for (int64_t i = 0; i < n; i++) {
		int64_t i_a = at_a + w->index[i], i_b = at_b + w->index[i];

		most = fmaxf(most, sss_reach(s, (l->length[i_a] - l->length[i_b]) / 2, l->first[i_a],
		                             l->pieces[i_a], l->first[i_b], l->pieces[i_b]));
	}
	return most;
}
