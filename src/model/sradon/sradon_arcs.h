/* SPDX-License-Identifier: BSD-3-Clause */
/* Which points of a ring lie in a box. */
#ifndef ISO_SRADON_ARCS_H
#define ISO_SRADON_ARCS_H

/* Coordinate i of a point at azimuth phi is c[i] + reach[i] cos(phi - phase[i]); the box goes from
   low to high. */
struct sradon_hoop {
	double c[3], reach[3], phase[3]; /* phase in [-pi, pi] */
	double low[3], high[3];
};

/* Points first ... first + n - 1 of a ring. */
struct sradon_arc {
	int first, n;
};

enum { SRADON_ARCS = 8 }; /* more than a ring can have */

/* The arcs in the box of the points 0 ... n - 1 at azimuths (j + shift) step in [0, 2 pi), in their
   order; returns how many. A point that lies up to 1e-3 steps outside may be among them. */
int iso_sradon_arcs(struct sradon_arc arc[SRADON_ARCS], const struct sradon_hoop *h, double step,
                    double shift, int n);

#endif
