/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables over the cosine of the deflection at a scatter point: the cross section times the efficiency of what is left of the
   energy, and how much stronger that is absorbed than 511 keV.

   Single scatter is Klein and Nishina's formula. Photons that scatter more often are deflected farther for the same loss of
   energy, twice 30 degrees cost half of what once 60 degrees does, so that they reach lines that single scatter does not.
   The guide is the shape of that: two scatters at one place, either both of one photon or one of each,

     G_2(cos) = Int dOmega_1 s(E0, c_1) { s(E_1, c_2) e(E_12) + s(E0, c_2) e(E_1) e(E_2) },

   c_2 the cosine from direction 1 to the last one, times Q_A + Q_B, the matter on the ways of both photons, to which the
   chance of one more scatter is in proportion. Multiple scatter over it is even to 10 %, from the middle of the object to the
   farthest lines. The scale does not matter. */
#include "physics/water.h"
#include "sss.h"

#define UNSEEN 1e-6 /* e, or of the guide its share of the forward value, below which a term is left out */
enum {
	NODES = 256, /* intervals of the cosine, -1 to 1, at which the guide is integrated */
	INNER = 64,  /* of c_1, */
	AROUND = 24, /* and of the angle around it, half a turn */
};

/* e between whole keV. */
static double seen_quickly(const struct scene *s, double kev)
{
	int k = kev < SCENE_ENERGIES - 2 ? (int)kev : SCENE_ENERGIES - 2;

	return (double)s->e[k] + (kev - k) * (double)(s->e[k + 1] - s->e[k]);
}

static double seen(const struct scene *s, double kev)
{
	return s->response ? seen_quickly(s, kev) : scene_efficiency(s, kev) / s->eps0;
}

static double once(const struct scene *s, double c)
{
	double e = seen(s, water_scattered(WATER_E0, c));

	if (s->response && e >= UNSEEN) e = 1; /* that of the leg's direction comes with the leg */
	return e < UNSEEN ? 0 : water_klein_nishina(WATER_E0, c) * e;
}

/* G_2, on any scale. c_1 from `least` on: a photon deflected farther is not seen. */
static double twice(const struct scene *s, double c, double least)
{
	double sum = 0, sine = sqrt(fmax(0, 1 - c * c));

	for (int i = 0; i < INNER; i++) {
		double c1 = 1 - (1 - least) * (i + .5) / INNER, across = sqrt(1 - c1 * c1) * sine;
		double kev1 = water_scattered(WATER_E0, c1), e1 = seen_quickly(s, kev1), inner = 0;

		for (int k = 0; k < AROUND; k++) {
			double c2 = fmin(1, fmax(-1, c1 * c + across * cos(M_PI * (k + .5) / AROUND)));

			inner += water_klein_nishina(kev1, c2) * seen_quickly(s, water_scattered(kev1, c2)) +
			         water_klein_nishina(WATER_E0, c2) * e1 *
			                 seen_quickly(s, water_scattered(WATER_E0, c2));
		}
		sum += water_klein_nishina(WATER_E0, c1) * inner;
	}
	return sum;
}

/* The guide at cosine c; node i is at 1 - 2 i / NODES. */
static double between_nodes(const double *node, double c)
{
	double at = fmin((1 - c) / 2 * NODES, NODES - 1e-9);
	int i = (int)at;

	return node[i] + (at - i) * (node[i + 1] - node[i]);
}

/* The smallest cosine that is seen. */
static double least_of(const struct scene *s, const double *node)
{
	double least = 1;

	for (int i = 0; i <= 2 * SSS_COSINES; i++) {
		double c = 1 - (double)i / SSS_COSINES;

		if (node ? between_nodes(node, c) >= UNSEEN * node[0]
		         : seen(s, water_scattered(WATER_E0, c)) >= UNSEEN)
			least = c;
	}
	return fmin(least, 1 - 1e-3);
}

void sss_make_cosines(struct sss *s, struct iso_room *room, const struct scene *scene, enum sss_kernel kernel)
{
	double unit = 4 * scene->rho * scene->rho * WATER_ELECTRONS, nodes[NODES + 1],
	       least = least_of(scene, NULL);
	const double *node = kernel == SSS_GUIDE ? nodes : NULL;
	struct sss_cosine *table;
	struct sss_energy *energy = NULL;

	ISO_HOST(room, table, SSS_COSINES + 1);
	if (scene->response) ISO_HOST(room, energy, SSS_COSINES + 1);
	if (room->status) return;
	for (int i = 0; i <= NODES && node; i++) nodes[i] = twice(scene, 1 - 2. * i / NODES, least);
	if (node) least = least_of(scene, node);
	s->least_cosine = (float)least;
	s->per_cosine = (float)(SSS_COSINES / (1 - (double)s->least_cosine));
	for (int i = 0; i <= SSS_COSINES; i++) {
		double c = (double)s->least_cosine + (1 - (double)s->least_cosine) * i / SSS_COSINES;
		double half = sqrt(fmax(0, (1 + c) / 2)), kev = water_scattered(WATER_E0, node ? half : c);

		if (node) kev = water_scattered(kev, half); /* two scatters by half of the angle */
		table[i].k = (float)(node ? between_nodes(node, c) / node[0] : unit * once(scene, c));
		table[i].d = (float)(water_mu(kev) - water_mu(WATER_E0));
		if (!energy) continue;
		/* the guide has e in K, over energy alone */
		if (node)
			energy[i].a[0] = 1;
		else
			scene_seen(energy[i].a, scene, kev);
	}
	s->cosine = table;
	s->energy = energy;
	s->once = node ? 0 : 1;
	s->again = node ? 1 : 0;
}
