/* SPDX-License-Identifier: BSD-3-Clause */
/* Hits of the pixels of a pair of strips, made once for all events of the pair. They hang on an event by its tilt alone, and
   smoothly: kept are values at three tilts of an interval, between which a parabola is drawn through T / s^2 and through
   each moment (3e-5 of T, 2e-5 mm). */
#ifndef ISO_BARREL_TABLE_H
#define ISO_BARREL_TABLE_H

#include "barrel_op.h"

enum { BARREL_INTERVALS = 4, BARREL_NODES = 3, BARREL_VALUES = 6 };

/* Events of a pair whose tilts are of one interval. */
struct barrel_group {
	int32_t a, b, interval, pixels;
	int64_t at; /* of its values in the tables: for each node and value, one of each pixel */
	struct barrel_tube tube;
};

/* s = sqrt(1 + t^2) of node k of an interval. */
ISO_HD iso_real barrel_node(int interval, int k)
{
	const double ratio = 1.2;
	double s = 1;

	for (int i = 0; i < (BARREL_NODES - 1) * interval + k; i++) s *= ratio;
	return (iso_real)s;
}

/* That of a tilt; -1: it is steeper than any. */
ISO_HD int barrel_interval(iso_real s)
{
	for (int i = 0; i < BARREL_INTERVALS; i++)
		if (s <= barrel_node(i, BARREL_NODES - 1)) return i;
	return -1;
}

/* Lagrange's, of the three nodes. */
ISO_HD void barrel_weights(iso_real weight[BARREL_NODES], int interval, iso_real s)
{
	const iso_real n[BARREL_NODES] = { barrel_node(interval, 0), barrel_node(interval, 1),
		                           barrel_node(interval, 2) };

	weight[0] = (s - n[1]) * (s - n[2]) / ((n[0] - n[1]) * (n[0] - n[2]));
	weight[1] = (s - n[0]) * (s - n[2]) / ((n[1] - n[0]) * (n[1] - n[2]));
	weight[2] = (s - n[0]) * (s - n[1]) / ((n[2] - n[0]) * (n[2] - n[1]));
}

/* All pixels that any event of a pair may visit. */
ISO_HD struct barrel_tube barrel_whole_tube(const struct barrel_params *p, const struct barrel_pair *pair)
{
	struct barrel_line l = ISO_ZERO;

	l.pair = *pair;
	l.reach = pair->half;
	l.across = pair->widest;
	return barrel_tube(p, &l);
}

/* Leaves the values of a pixel at a node. */
ISO_HD void barrel_keep(iso_real *v, int64_t pixels, const struct barrel_hits *h, iso_real s)
{
	v[0] = h->t / (s * s);
	v[pixels] = h->m_a;
	v[2 * pixels] = h->m_b;
	v[3 * pixels] = h->v_a;
	v[4 * pixels] = h->v_b;
	v[5 * pixels] = h->v_ab;
}

ISO_HD iso_real barrel_between(const iso_real *v, int64_t pixels, int value,
                               const iso_real weight[BARREL_NODES])
{
	iso_real sum = 0;

	for (int k = 0; k < BARREL_NODES; k++) sum += weight[k] * v[(k * BARREL_VALUES + value) * pixels];
	return sum;
}

/* Of the pixel at v; false: no ray through it meets both strips. */
ISO_HD bool barrel_kept_hits(struct barrel_hits *h, const iso_real *v, int64_t pixels,
                             const iso_real weight[BARREL_NODES], iso_real s)
{
	h->t = barrel_between(v, pixels, 0, weight) * s * s;
	if (!(h->t > 0)) return false;
	h->m_a = barrel_between(v, pixels, 1, weight);
	h->m_b = barrel_between(v, pixels, 2, weight);
	h->v_a = iso_fmax(barrel_between(v, pixels, 3, weight), 0);
	h->v_b = iso_fmax(barrel_between(v, pixels, 4, weight), 0);
	h->v_ab = barrel_between(v, pixels, 5, weight);
	return true;
}

#endif
