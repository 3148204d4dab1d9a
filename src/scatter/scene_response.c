/* SPDX-License-Identifier: BSD-3-Clause */
/* Real crystals in an estimate of scatter: what they make of a photon that meets the ring, by energy and direction, from a table
   of response, in place of an ideal surface's efficiency over energy alone.

   W(E, direction) = D(E, phi, theta) / (D_0 cos phi cos theta) is the weight of a photon that meets the cylinder, since photons
   meet a surface by the cosine already. Beyond the table's directions W stays what it is at the last one. Below its
   energies D falls as the energy window has it.

   The formula needs W(E') / W(511) of the scattered leg for every point and pair. It is taken as a_0(E') + a_1(E') c_1 + a_2(E') c_2
   with two numbers c of a leg's direction: the mean over directions, and the first two principal components of the rest. */
#include "core/status.h"
#include "physics/water.h"
#include "scene.h"

#include <stdlib.h>

enum { CELLS = (SCENE_SLANTS + 1) * (SCENE_SLANTS + 1), ROUNDS = 60 };
#define LEAST_TABLE_KEV 300. /* of D */
#define LAST_ACROSS (65 * M_PI / 180)
#define LAST_ALONG (45 * M_PI / 180)

/* Efficiency of an ideal surface at an energy, over that at the table's least. */
static double below(const struct scene *s, double kev)
{
	double least = scene_efficiency(s, LEAST_TABLE_KEV);

	return least > 0 ? scene_efficiency(s, kev) / least : 0;
}

static double area(const struct scene *s, double kev, double phi, double theta)
{
	const double turn = 180 / M_PI;

	if (kev >= LEAST_TABLE_KEV) return iso_response_area(s->response, kev, phi * turn, theta * turn);
	return below(s, kev) * iso_response_area(s->response, LEAST_TABLE_KEV, phi * turn, theta * turn);
}

/* W at an energy and node i, j of the slants; D_0 is that of the mean crystal at 511 keV. */
static double weight(const struct scene *s, double kev, int i, int j)
{
	/* across = t / (t + n), along = sin theta */
	double across = (double)i / SCENE_SLANTS, along = (double)j / SCENE_SLANTS;
	double phi = fmin(atan2(across, 1 - across), LAST_ACROSS), theta = fmin(asin(along), LAST_ALONG);

	return area(s, kev, phi, theta) / (area(s, WATER_E0, 0, 0) * cos(phi) * cos(theta));
}

/* w at whole tens of keV; the last one so that 511 keV lies on the line between it and 510. */
static void fill_weights(struct scene *s)
{
	for (int k = 0; k < SCENE_TENS; k++)
		for (int c = 0; c < CELLS; c++) {
			int i = c / (SCENE_SLANTS + 1), j = c % (SCENE_SLANTS + 1);
			double w = weight(s, 10. * k, i, j);

			if (k == SCENE_TENS - 1) {
				double last = weight(s, 510, i, j);

				w = last + 10 * (weight(s, WATER_E0, i, j) - last) / (WATER_E0 - 510);
			}
			s->w[k * CELLS + c] = (float)w;
		}
}

/* W(E) / W(511) at a node. */
static double ratio(const struct scene *s, double kev, int cell)
{
	double across = (double)(cell / (SCENE_SLANTS + 1)) / SCENE_SLANTS;
	double along = (double)(cell % (SCENE_SLANTS + 1)) / SCENE_SLANTS;
	double most = (double)scene_weight(s->w, (float)WATER_E0, (float)across, (float)along);

	return most > 0 ? (double)scene_weight(s->w, (float)kev, (float)across, (float)along) / most : 0;
}

/* The greatest principal component of rest (energies, cells): rest = a c + what is left. */
static void take_component(double *rest, double a[SCENE_TENS], double c[CELLS])
{
	for (int i = 0; i < CELLS; i++) c[i] = 1 + .3 * (i % 7) - .2 * (i % 5);
	for (int round = 0; round < ROUNDS; round++) {
		double norm = 0;

		for (int k = 0; k < SCENE_TENS; k++) {
			a[k] = 0;
			for (int i = 0; i < CELLS; i++) a[k] += rest[k * CELLS + i] * c[i];
		}
		for (int i = 0; i < CELLS; i++) {
			c[i] = 0;
			for (int k = 0; k < SCENE_TENS; k++) c[i] += rest[k * CELLS + i] * a[k];
			norm += c[i] * c[i];
		}
		norm = norm > 0 ? sqrt(norm) : 1;
		for (int i = 0; i < CELLS; i++) c[i] /= norm;
	}
	for (int k = 0; k < SCENE_TENS; k++) {
		a[k] = 0;
		for (int i = 0; i < CELLS; i++) a[k] += rest[k * CELLS + i] * c[i];
		for (int i = 0; i < CELLS; i++) rest[k * CELLS + i] -= a[k] * c[i];
	}
}

/* s->tilt and s->seen. */
static int fill_components(struct scene *s)
{
	double *rest = malloc(SCENE_TENS * CELLS * sizeof *rest), c[CELLS], a[SCENE_TENS];

	if (!rest) return iso_fail_memory("scatter", SCENE_TENS * CELLS * (int64_t)sizeof *rest);
	for (int k = 0; k < SCENE_TENS; k++) {
		double kev = fmin(10. * k, WATER_E0), sum = 0;

		for (int i = 0; i < CELLS; i++) sum += rest[k * CELLS + i] = ratio(s, kev, i);
		s->seen[k][0] = (float)(sum / CELLS);
		for (int i = 0; i < CELLS; i++) rest[k * CELLS + i] -= sum / CELLS;
	}
	for (int t = 0; t < SCENE_TILTS; t++) {
		take_component(rest, a, c);
		for (int k = 0; k < SCENE_TENS; k++) s->seen[k][1 + t] = (float)a[k];
		for (int i = 0; i < CELLS; i++) s->tilt[t][i] = (float)c[i];
	}
	free(rest);
	return ISO_OK;
}

/* s->seen at an energy. */
void scene_seen(float a[1 + SCENE_TILTS], const struct scene *s, double kev)
{
	/* the last interval ends at 511 keV */
	double end = kev < 510 ? 10 : WATER_E0 - 510;
	int k = kev < 510 ? (int)(kev / 10) : SCENE_TENS - 2;
	double up = fmin((kev - 10. * k) / end, 1);

	for (int t = 0; t <= SCENE_TILTS; t++)
		a[t] = (float)((1 - up) * (double)s->seen[k][t] + up * (double)s->seen[k + 1][t]);
}

int scene_respond(struct scene *s)
{
	int st;

	if ((st = iso_response_fits(s->response, s->scanner))) return st;
	if (!(iso_response_area(s->response, 510, 0, 0) > 0))
		return iso_fail(
			ISO_EINPUT,
			"scatter: the table of response has no energies below 511 keV: make it without "
			"'no-energies'");
	s->w = malloc(SCENE_TENS * CELLS * sizeof *s->w);
	for (int t = 0; t < SCENE_TILTS; t++) s->tilt[t] = malloc(CELLS * sizeof *s->tilt[t]);
	if (!s->w || !s->tilt[0] || !s->tilt[1])
		return iso_fail_memory("scatter", (SCENE_TENS + SCENE_TILTS) * CELLS * (int64_t)sizeof *s->w);
	fill_weights(s);
	if ((st = fill_components(s))) return st;
	for (int k = 0; k < SCENE_ENERGIES; k++) { /* over energy alone, for the guide */
		float a[1 + SCENE_TILTS];

		scene_seen(a, s, k);
		s->e[k] = a[0];
	}
	return ISO_OK;
}
