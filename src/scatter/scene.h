/* SPDX-License-Identifier: BSD-3-Clause */
/* What scatters, what radiates and what is seen: the object and the ring, as formula and Monte Carlo share them.
   Plain data that goes to any device. Lengths mm, energies keV. z is counted from the middle of the ring. */
#ifndef ISO_SCATTER_SCENE_H
#define ISO_SCATTER_SCENE_H

#include "isotome/scatter.h"
#include "isotome/response.h"
#include "core/hd.h"

enum {
	SCENE_ENERGIES = 512, /* tables over energy: entry k is k keV */
	SCENE_TENS = 53,      /* of a response: entry k is 10 k keV */
	SCENE_SLANTS = 24,    /* and of directions: intervals of t / (t + n), and of sin theta */
	SCENE_TILTS = 2,      /* numbers of a direction that its efficiency over energy depends on */
};

/* What a point does to a photon: SSS_ONCE, single scatter; SSS_GUIDE, about what several scatters do together
   (sss_cosines.c). */
enum sss_kernel { SSS_ONCE, SSS_GUIDE };

/* Values on a grid, x fastest. */
struct scene_volume {
	int32_t n[3];
	float voxel[3], low[3]; /* mm; low corner of voxel 0 */
	float *v;
};

struct scene {
	double rho, half; /* of the cylinder: radius, half the axial length */
	double reach; /* |z| of the centres of the first ring and of the last, and as far beyond as is asked for */
	double middle;    /* z of the middle of the ring, as the scanner and the events have it */
	double min_angle; /* rad, between the ends of a pair seen from the axis; 0: any */
	double line_angle; /* the same of the lines that the table holds: those of moved events may be shorter */
	double most_z;     /* mm between the ends of such a line along z; 0: any */
	double sigma;      /* of u, mm; 0: no time of flight */
	double window[2], resolution;
	double eps0;                   /* eps(511 keV) */
	double least_kev;              /* up to which e is below 1e-6: a photon below is never seen */
	float e[SCENE_ENERGIES];       /* eps(E) / eps(511); of a response the mean over directions */
	float water[SCENE_ENERGIES];   /* mu of water, 1/mm: Compton and photoelectric */
	float compton[SCENE_ENERGIES]; /* of it, Compton */
	struct scene_volume q;    /* density relative to water; averaged down to SCENE_VOXEL_MM, mass stays */
	struct scene_volume f;    /* activity, counts per mm of chord; averaged likewise */
	struct scene_volume fine; /* density as the map has it, before it was averaged */
	const iso_scanner *scanner;   /* the caller's */
	bool table;                   /* its table of efficiencies counts, not window and resolution */
	const iso_response *response; /* the caller's; NULL: none, and none of these (scene_response.c) */
	float *w; /* (SCENE_TENS, SCENE_SLANTS + 1, the same): weight of a photon that meets the ring */
	float *tilt[SCENE_TILTS];                /* (SCENE_SLANTS + 1, the same): numbers c of a direction */
	float seen[SCENE_TENS][1 + SCENE_TILTS]; /* W(E) / W(511) = a_0 + a_1 c_1 + a_2 c_2 */
	struct iso_scatter_info found;           /* what the checks saw */
};

/* Voxels are averaged to at most this, mm, where they are smaller. */
#define SCENE_VOXEL_MM 5.

/* Checks all that p says, and makes the tables; refuses by one line. What it made must be freed, also if it fails. */
int scene_create(struct scene *s, const struct iso_scatter *p);
/* The ring alone, of a scene of zeros: sizes, energies, time of flight. */
int scene_ring(struct scene *s, const struct iso_scatter *p);
void scene_free(struct scene *s);

/* The tables of s->response; and a of an energy up to 511 keV. */
int scene_respond(struct scene *s);
void scene_seen(float a[1 + SCENE_TILTS], const struct scene *s, double kev);

/* eps(E), of the scanner's table where it has one and p names no window of its own. */
double scene_efficiency(const struct scene *s, double kev);

/* to = the mean of k voxels an axis of `from`; the last ones reach beyond it where n is no multiple of k. */
int scene_average(struct scene_volume *to, const struct scene_volume *from, const int k[3]);

/* Value at a place; 0: outside. */
ISO_HD float scene_at(const struct scene_volume *v, float x, float y, float z)
{
	float i = (x - v->low[0]) / v->voxel[0], j = (y - v->low[1]) / v->voxel[1],
	      k = (z - v->low[2]) / v->voxel[2];

	if (!(i >= 0 && j >= 0 && k >= 0 && i < (float)v->n[0] && j < (float)v->n[1] && k < (float)v->n[2]))
		return 0;
	return v->v[((int64_t)(int)k * v->n[1] + (int)j) * v->n[0] + (int)i];
}

/* Place on a grid of SCENE_SLANTS intervals from 0 to 1. */
ISO_HD int scene_slant(float *up, float at)
{
	float v = at * SCENE_SLANTS;
	int i = v < SCENE_SLANTS - 1 ? (int)v : SCENE_SLANTS - 1;

	*up = v - (float)i;
	return i;
}

/* Of a table over directions: across = t / (t + n), the sine along the axis. */
ISO_HD float scene_direction(const float *v, float across, float along)
{
	float up, right;
	int i = scene_slant(&up, across), j = scene_slant(&right, along);
	const float *low = v + i * (SCENE_SLANTS + 1) + j, *high = low + SCENE_SLANTS + 1;
	float a = low[0] + right * (low[1] - low[0]), b = high[0] + right * (high[1] - high[0]);

	return a + up * (b - a);
}

/* W of an energy below 520 keV. */
ISO_HD float scene_weight(const float *w, float kev, float across, float along)
{
	const int cells = (SCENE_SLANTS + 1) * (SCENE_SLANTS + 1);
	float at = kev * .1f;
	int k = at < SCENE_TENS - 2 ? (int)at : SCENE_TENS - 2;
	float low = scene_direction(w + k * cells, across, along),
	      high = scene_direction(w + (k + 1) * cells, across, along);

	return low + (at - (float)k) * (high - low);
}

#endif
