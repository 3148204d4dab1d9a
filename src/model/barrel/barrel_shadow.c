/* SPDX-License-Identifier: BSD-3-Clause */
/* Strips between those of a pair, which take photons: what the line between the middles goes through. */
#include "barrel_op.h"

/* Way of the line y between -half and half at d = 0 through a box, and its middle. */
static bool meet(double *chord, double *middle, const struct barrel_pair *p, const struct iso_barrel_strip *s)
{
	double ex = (double)p->e[0], ey = (double)p->e[1];
	double x = s->x - (double)p->middle[0], v = s->y - (double)p->middle[1];
	double y = x * ex + v * ey, d = v * ex - x * ey, reach = hypot(s->width, s->depth) / 2;

	if (fabs(d) > reach || fabs(y) > (double)p->half + reach) return false;
	double c = cos(s->angle) * ex + sin(s->angle) * ey, e = sin(s->angle) * ex - cos(s->angle) * ey;
	double low = -(double)p->half, high = (double)p->half;
	/* along depth and width: (t - y) axis - d other lies within half of the size */
	const double axis[2] = { c, -e }, other[2] = { e, c }, half[2] = { s->depth / 2, s->width / 2 };

	for (int k = 0; k < 2; k++) {
		double at = y + d * other[k] / axis[k], wide = half[k] / fabs(axis[k]);

		if (fabs(axis[k]) < 1e-9) {
			if (fabs(d * other[k]) > half[k]) return false;
			continue;
		}
		low = fmax(low, at - wide);
		high = fmin(high, at + wide);
	}
	*chord = high - low;
	*middle = (high + low) / 2;
	return high > low;
}

int iso_barrel_shades(struct barrel_shade *to, int most, const struct iso_barrel *b, int64_t i, int64_t j)
{
	const struct barrel_place place[2] = { barrel_place(b->strip + i), barrel_place(b->strip + j) };
	const struct barrel_pair p = barrel_pair(place, place + 1, b->mu);
	double chord, middle;
	int n = 0;

	for (int64_t k = 0; k < b->n; k++) {
		if (k == i || k == j || !meet(&chord, &middle, &p, b->strip + k)) continue;
		if (n < most) to[n] = (struct barrel_shade){ (int32_t)k, (float)chord, (float)middle };
		n++;
	}
	return n < most ? n : most;
}

double iso_barrel_shadow(const struct iso_barrel *b, const struct barrel_shade *shade, int n, double mean_z,
                         double tilt)
{
	double way = 0;

	for (int k = 0; k < n; k++) {
		const struct iso_barrel_strip *s = b->strip + shade[k].strip;

		if (fabs(mean_z + (double)shade[k].y * tilt - s->z) <= s->length / 2)
			way += (double)shade[k].chord;
	}
	return exp(-b->mu * sqrt(1 + tilt * tilt) * way);
}
