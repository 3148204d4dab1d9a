/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the sensitivity of a barrel: pairs that stand for others, and the chance over all tilts. */
#ifndef ISO_BARREL_SENS_H
#define ISO_BARREL_SENS_H

#include "barrel_op.h"

/* ---- barrel_turns.c: turns and mirrors that put barrel and grid onto themselves ---- */

enum { BARREL_TURNS = 8 };

/* (x, y) becomes (m00 x + m01 y, m10 x + m11 y). */
struct barrel_turns {
	int n;
	int m[BARREL_TURNS][2][2];    /* the first changes nothing */
	int32_t *strip[BARREL_TURNS]; /* what each strip becomes, of the room */
	bool mirror;                  /* z to -z as well */
};

int iso_barrel_turns(struct barrel_turns *t, struct iso_room *room, const struct iso_barrel *b,
                     const struct iso_grid *g);

/* A pair that stands for `weight` of them. */
struct barrel_chosen {
	int32_t a, b;
	double weight;
};

/* One pair of each set that the turns make of one; *n of them, of the room. */
int iso_barrel_choose(struct barrel_chosen **to, int64_t *n, struct iso_room *room,
                      const struct iso_barrel *b, const struct barrel_turns *t);

/* s, x fastest, becomes the mean over the turns. */
void iso_barrel_spread(iso_real *s, const iso_real *from, const struct barrel_turns *t,
                       const struct iso_grid *g, int threads);

/* ---- barrel_tilts.c: the chance of a hit over s^-3 dtau, between two tilts ---- */

#ifdef ISO_DOUBLE
enum { BARREL_NODES = 16 };
#else
enum { BARREL_NODES = 8 };
#endif

/* Interpolation at Chebyshev nodes of [0, 1] as powers. */
struct barrel_fit {
	double node[BARREL_NODES], power[BARREL_NODES][BARREL_NODES]; /* of node k: coefficients of q^i */
};

void iso_barrel_fit(struct barrel_fit *f);

/* h(theta) = cos(theta) T(1 / cos(theta)), theta = atan(tau), as powers of (theta / widest)^2. */
struct barrel_tilt_sum {
	double widest, c[BARREL_NODES], at[4]; /* at: heights of the hits, r_a +- and r_b +- */
};

/* At (y, d); false: nothing hits there. `way`: through strips in between. */
bool iso_barrel_tilt_sum(struct barrel_tilt_sum *s, const struct barrel_fit *f, const struct barrel_pair *p,
                         const double end[2][2], double y, double d, double pixel, double way);

/* Integral of h from 0 to theta. */
static inline double barrel_tilt_integral(const struct barrel_tilt_sum *s, double theta)
{
	double q = theta / s->widest, sum = 0;

	q *= q;
	for (int k = BARREL_NODES - 1; k >= 0; k--) sum = sum * q + s->c[k] / (2 * k + 1);
	return sum * theta;
}

static inline double barrel_tilt_value(const struct barrel_tilt_sum *s, double theta)
{
	double q = theta / s->widest, sum = 0;

	q *= q;
	for (int k = BARREL_NODES - 1; k >= 0; k--) sum = sum * q + s->c[k];
	return sum;
}

/* ---- barrel_factors.c: what an object and strips of unlike lengths leave of the lines of a pair ---- */

enum { BARREL_TILTS = 17 };

/* By tilt and by the height in the middle between the strips. */
struct barrel_factors {
	int planes;
	double widest, low,
		plane; /* tilts -widest .. widest (theta); height of the first plane, and of one, mm */
	iso_real *v;   /* (BARREL_TILTS, planes) */
};

/* The line of a pair through (y = 0, z) with a tilt. */
double iso_barrel_factor(const struct barrel_factors *f, double theta, double z);

#endif
