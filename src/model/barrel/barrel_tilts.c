/* SPDX-License-Identifier: BSD-3-Clause */
/* The chance of a hit over all tilts, on the CPU. */
#include "barrel_sens.h"

/* The Chebyshev polynomials of 2 q - 1 as powers of q, and each node's share of them. */
void iso_barrel_fit(struct barrel_fit *f)
{
	double t[BARREL_FIT][BARREL_FIT] = { { 1 } };

	t[1][0] = -1;
	t[1][1] = 2;
	for (int n = 2; n < BARREL_FIT; n++)
		for (int i = 0; i <= n; i++)
			t[n][i] = (i > 0 ? 4 * t[n - 1][i - 1] : 0) - 2 * t[n - 1][i] - t[n - 2][i];
	for (int k = 0; k < BARREL_FIT; k++) {
		double angle = M_PI * (k + .5) / BARREL_FIT;

		f->node[k] = (1 + cos(angle)) / 2;
		for (int i = 0; i < BARREL_FIT; i++) {
			f->power[k][i] = 0;
			for (int n = 0; n < BARREL_FIT; n++)
				f->power[k][i] += (n ? 2 : 1) * cos(n * angle) * t[n][i] / BARREL_FIT;
		}
	}
}

enum { MOST_RAYS = 4 * (BARREL_CUTS - 1) * BARREL_POINTS };

/* All directions of the four points of a pixel. */
static int collect(struct barrel_ray *ray, const struct barrel_pair *p, double y, double d, double pixel)
{
	int n = 0;

	for (int point = 0; point < 4; point++) {
		iso_real cut[BARREL_CUTS], at_y = (iso_real)y, at_d = (iso_real)d;

		barrel_point(&at_y, &at_d, p, (iso_real)pixel, point);
		if (!barrel_cuts(cut, p, at_y, at_d)) continue;
		for (int k = 0; k < BARREL_CUTS - 1; k++)
			for (int g = 0; cut[k] < cut[k + 1] && g < BARREL_POINTS; g++)
				ray[n++] = barrel_ray(p, at_y, at_d, cut[k], cut[k + 1], g);
	}
	return n;
}

bool iso_barrel_tilt_sum(struct barrel_tilt_sum *s, const struct barrel_fit *f, const struct barrel_job *j,
                         double y, double d, double pixel)
{
	struct barrel_ray ray[MOST_RAYS];
	struct barrel_sums sum = { 0 };
	int n = collect(ray, &j->l.pair, y, d, pixel);

	for (int i = 0; i < n; i++) barrel_add(&sum, ray + i, j->l.pair.mu);
	const struct barrel_hits h = barrel_hits_of(&sum, 4);

	if (!(h.t > 0)) return false;
	barrel_tilt_begin(s, j, &h, y);
	for (int k = 0; k < BARREL_FIT; k++) {
		const double mu = (double)j->l.pair.mu / cos(barrel_tilt_node(s, f, k));
		double chance = 0;

		for (int i = 0; i < n; i++) chance += barrel_tilt_chance(ray + i, mu);
		barrel_tilt_add(s, j, f, k, chance);
	}
	return true;
}
