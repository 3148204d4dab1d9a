/* SPDX-License-Identifier: BSD-3-Clause */
/* Crystal pairs in coincidence, numbered so that pair i is found without a table.

   Cylinder: crystal id = ring * per_ring + c. Pairs of one ring come first, then those of ring
   difference 1, 2, ...; so a range of numbers is a stratum of ring difference. Free detectors:
   all pairs a < b. Two heads: every crystal of the first with every one of the second. */
#ifndef ISO_PAIRS_KERN_H
#define ISO_PAIRS_KERN_H

#include "core/hd.h"

struct iso_pairs {
	int64_t n;               /* all of them */
	int64_t rings, per_ring; /* cylinder; rings = 0: free detectors */
	int64_t min_distance;    /* circular, in crystals, at least 1 */
	int64_t max_ring_difference;
	int64_t same;                    /* pairs of a ring with itself */
	int64_t detectors;               /* free detectors, and those of two heads */
	int64_t face, layers;            /* two heads: crystals of a layer; face = 0: none */
	double min_angle, cos_min_angle; /* of free detectors; 0: every two */
	double max_axial;                /* of free detectors, mm; 0: every two */
	int64_t modules;                 /* of a ring, of free detectors that stand in modules; 0: none */
	double first_rad;                /* azimuth of the middle of module 0 */
};

/* cos of the angle between the middles of the modules that two azimuths lie in. */
ISO_HD double pairs_module_cosine(const struct iso_pairs *p, double a, double b)
{
	const double step = 2 * M_PI / (double)p->modules;

	return cos(step * (rint((a - p->first_rad) / step) - rint((b - p->first_rad) / step)));
}

/* Pairs of free detectors nearer, seen from the z axis, than min_angle (rad), or farther apart along it than
   max_axial are in no coincidence. */
ISO_HD bool pairs_counted(const struct iso_pairs *p, const double p1[3], const double p2[3])
{
	double r = sqrt((p1[0] * p1[0] + p1[1] * p1[1]) * (p2[0] * p2[0] + p2[1] * p2[1]));

	if (p->max_axial > 0 && fabs(p1[2] - p2[2]) > p->max_axial) return false;
	if (p->modules > 0)
		return pairs_module_cosine(p, atan2(p1[1], p1[0]), atan2(p2[1], p2[0])) <= p->cos_min_angle;
	return p->min_angle <= 0 || p1[0] * p2[0] + p1[1] * p2[1] <= r * p->cos_min_angle;
}

/* Whether two different crystals of a cylinder are a pair. */
ISO_HD bool pairs_coincide(const struct iso_pairs *p, int64_t a, int64_t b)
{
	int64_t rings = a / p->per_ring - b / p->per_ring, apart = a % p->per_ring - b % p->per_ring;

	apart = apart < 0 ? -apart : apart;
	apart = apart > p->per_ring - apart ? p->per_ring - apart : apart;
	return apart >= p->min_distance && (rings < 0 ? -rings : rings) <= p->max_ring_difference;
}

/* First pair number of ring difference d: all ring pairs (r, r + d') with d' < d come before.
   A ring with itself has `same` pairs, two different rings have twice as many. */
ISO_HD int64_t pairs_first(const struct iso_pairs *p, int64_t d)
{
	if (d <= 0) return 0;
	int64_t ring_pairs = (d - 1) * p->rings - d * (d - 1) / 2; /* 1 <= d' < d */

	return p->same * p->rings + 2 * p->same * ring_pairs;
}

/* The largest d with pairs_first(d) <= i: a guess from the quadratic, then put right. */
ISO_HD int64_t pairs_difference(const struct iso_pairs *p, int64_t i)
{
	if (i < pairs_first(p, 1)) return 0;
	double q = (double)(i - pairs_first(p, 1)) / (2. * (double)p->same);
	double b = (double)p->rings - .5;
	double s = b * b - 2 * q;
	int64_t d = 1 + (int64_t)(b - sqrt(s > 0 ? s : 0));

	while (d > 1 && pairs_first(p, d) > i) d--;
	while (d < p->max_ring_difference && pairs_first(p, d + 1) <= i) d++;
	return d;
}

/* Pair k of two rings: offsets grow slowly, the first crystal turns fast. In one ring the walk
   stops half way round, so that each unordered pair comes once. */
ISO_HD void pairs_rings(const struct iso_pairs *p, int64_t i, int64_t *a, int64_t *b)
{
	int64_t d = pairs_difference(p, i), size = d == 0 ? p->same : 2 * p->same;
	int64_t ring = (i - pairs_first(p, d)) / size, k = (i - pairs_first(p, d)) % size;
	int64_t c1 = k % p->per_ring, c2 = (c1 + p->min_distance + k / p->per_ring) % p->per_ring;

	*a = ring * p->per_ring + c1;
	*b = (ring + d) * p->per_ring + c2;
}

ISO_HD void pairs_free(const struct iso_pairs *p, int64_t i, int64_t *a, int64_t *b)
{
	/* row a holds the pairs (a, a+1..n-1): before it lie a n - a (a+1) / 2 */
	double h = (double)p->detectors - .5;
	double s = h * h - 2. * (double)i;
	int64_t row = (int64_t)(h - sqrt(s > 0 ? s : 0)), n = p->detectors;

	while (row > 0 && row * n - row * (row + 1) / 2 > i) row--;
	while ((row + 1) * n - (row + 1) * (row + 2) / 2 <= i) row++;
	*a = row;
	*b = row + 1 + i - (row * n - row * (row + 1) / 2);
}

/* Pair ((i L + j) face + u) face + l is crystal u of layer i of the first head, and crystal l of
   layer j of the second; heads and layers come one after the other. */
ISO_HD void pairs_heads(const struct iso_pairs *p, int64_t i, int64_t *a, int64_t *b)
{
	int64_t tables = i / (p->face * p->face), cell = i % (p->face * p->face);

	*a = tables / p->layers * p->face + cell / p->face;
	*b = (p->layers + tables % p->layers) * p->face + cell % p->face;
}

ISO_HD void pairs_get(const struct iso_pairs *p, int64_t i, int64_t *a, int64_t *b)
{
	if (p->face > 0)
		pairs_heads(p, i, a, b);
	else if (p->rings == 0)
		pairs_free(p, i, a, b);
	else
		pairs_rings(p, i, a, b);
}

/* Solid angle that two faces on a cylinder around z see of each other, over that of two opposite
   faces: cos(t1) cos(t2) / L^2 times (2 rho)^2; for equal radii this is cos^4 of the LOR's polar
   angle against the transverse plane. Isotropic decays arrive with this weight. */
ISO_HD double pairs_solid_angle(const double p1[3], const double p2[3])
{
	double d[3] = { p2[0] - p1[0], p2[1] - p1[1], p2[2] - p1[2] };
	double l2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
	double c1 = -(p1[0] * d[0] + p1[1] * d[1]), c2 = p2[0] * d[0] + p2[1] * d[1];

	return l2 > 0 ? fmax(0., c1) * fmax(0., c2) * 4 / (l2 * l2) : 0;
}

#endif
