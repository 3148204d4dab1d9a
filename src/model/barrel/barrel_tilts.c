/* SPDX-License-Identifier: BSD-3-Clause */
/* The chance of a hit over all tilts: T(u; s) is smooth in s, so a few values of it serve all heights. With theta = atan(tau)
   the measure s^-3 dtau is cos(theta) dtheta, and h(theta) = cos(theta) T is even: a polynomial in theta^2. */
#include "barrel_sens.h"

/* The Chebyshev polynomials of 2 q - 1 as powers of q, and each node's share of them. */
void iso_barrel_fit(struct barrel_fit *f)
{
	double t[BARREL_NODES][BARREL_NODES] = { { 1 } };

	t[1][0] = -1;
	t[1][1] = 2;
	for (int n = 2; n < BARREL_NODES; n++)
		for (int i = 0; i <= n; i++)
			t[n][i] = (i > 0 ? 4 * t[n - 1][i - 1] : 0) - 2 * t[n - 1][i] - t[n - 2][i];
	for (int k = 0; k < BARREL_NODES; k++) {
		double angle = M_PI * (k + .5) / BARREL_NODES;

		f->node[k] = (1 + cos(angle)) / 2;
		for (int i = 0; i < BARREL_NODES; i++) {
			f->power[k][i] = 0;
			for (int n = 0; n < BARREL_NODES; n++)
				f->power[k][i] += (n ? 2 : 1) * cos(n * angle) * t[n][i] / BARREL_NODES;
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

/* T at s. */
static double chance(const struct barrel_ray *ray, int n, double mu)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += (double)ray[i].weight * expm1(-mu * (double)ray[i].chord[0]) *
		       expm1(-mu * (double)ray[i].chord[1]);
	return sum / (4 * 2 * M_PI);
}

bool iso_barrel_tilt_sum(struct barrel_tilt_sum *s, const struct barrel_fit *f, const struct barrel_pair *p,
                         const double end[2][2], double y, double d, double pixel, double way)
{
	struct barrel_ray ray[MOST_RAYS];
	struct barrel_sums sum = { 0 };
	int n = collect(ray, p, y, d, pixel);

	for (int i = 0; i < n; i++) barrel_add(&sum, ray + i, p->mu);
	const struct barrel_hits h = barrel_hits_of(&sum, 4);
	const double a = (double)p->half - y + (double)h.m_a, b = (double)p->half + y + (double)h.m_b;
	const double spread[2] = { sqrt((double)h.v_a), sqrt((double)h.v_b) };

	if (!(h.t > 0)) return false;
	s->at[0] = a - spread[0];
	s->at[1] = a + spread[0];
	s->at[2] = b - spread[1];
	s->at[3] = b + spread[1];
	/* no line that meets both strips is more oblique */
	double most = fmax(fabs(end[0][1] - end[1][0]), fabs(end[1][1] - end[0][0])) / (s->at[0] + s->at[2]);

	s->widest = atan(most);
	memset(s->c, 0, sizeof s->c);
	for (int k = 0; k < BARREL_NODES; k++) {
		double theta = s->widest * sqrt(f->node[k]), c = cos(theta);
		double v = c * chance(ray, n, (double)p->mu / c) * exp(-(double)p->mu * way / c);

		for (int i = 0; i < BARREL_NODES; i++) s->c[i] += v * f->power[k][i];
	}
	return true;
}
