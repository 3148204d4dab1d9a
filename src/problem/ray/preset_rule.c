/* SPDX-License-Identifier: BSD-3-Clause */
/* The rule of presets: lengths in crystals by counts. */
#include "preset_rule.h"

#include "scanner/scanner.h"

#define WIDE_MM 300.        /* a field of view wider than this is that of a scanner for people: */
#define WIDE_VOXEL_MM 2.    /* its voxels are no smaller */
#define SUBSET_COUNTS 1000. /* a subset has at least so many */
#define FIELD_OF_RING .9    /* of a ring's diameter, see iso_scanner_grid */
#define POSITRON_MM .54     /* range of F-18, as FWHM */
#define NONCOLLINEAR .0022  /* of the diameter */

enum { PASSES = 40 }; /* of svrg, at most: it stops at its tolerance */

/* Lengths in crystals. */
static const struct row {
	double below; /* counts */
	double voxel;
	struct em {
		int iterations, subsets;
		double filter;
	} quick, clinical;
	double strength;
} rows[] = {
	{ 1e6, 1, { 2, 8, 2 }, { 2, 12, 1.25 }, 2 },
	{ 1e7, .75, { 2, 12, 1.5 }, { 3, 16, 1.25 }, .4 },
	{ 1e8, .5, { 3, 16, 1.25 }, { 4, 20, 1 }, .2 },
	{ INFINITY, .5, { 3, 24, 1 }, { 4, 24, 1 }, .1 },
};

static double round_mm(double mm)
{
	return mm > 0 ? iso_scanner_round_mm(mm, false) : 0;
}

static double voxel_of(const struct row *r, const struct preset_scan *scan)
{
	double least = scan->across > WIDE_MM ? fmax(WIDE_VOXEL_MM, scan->finest) : scan->finest;

	return scan->finest > 0 ? fmax(round_mm(r->voxel * scan->crystal), least) : 0;
}

/* An odd number of planes, so that no plane of lines lies between two voxels, one of which would get all of them. */
static double height_of(double voxel, double plane)
{
	if (!(plane > 0) || !(voxel > 0)) return voxel;
	double planes = floor(1.1 * voxel / plane);

	return plane * fmax(1, planes - (fmod(planes, 2) == 0));
}

/* Resolution in the middle of a ring, with crystals read out one by one: W. W. Moses, Nucl. Instrum. Meth. A 648 (2011)
   S236, with b = 0; to 0.1 mm. */
static double resolution_of(const struct preset_scan *scan)
{
	double far = NONCOLLINEAR * scan->across / FIELD_OF_RING;

	return round(12.5 * sqrt(pow(scan->crystal / 2, 2) + far * far + POSITRON_MM * POSITRON_MM)) / 10;
}

/* Fewer subsets where they would have few counts. */
static int64_t subsets_of(int subsets, double counts)
{
	return (int64_t)fmax(1, fmin(subsets, floor(counts / SUBSET_COUNTS)));
}

struct preset_values preset_rule(enum preset_kind kind, const struct preset_scan *scan)
{
	const struct row *r = rows;

	while (scan->counts >= r->below) r++;
	const struct em *em = kind == PRESET_QUICK ? &r->quick : &r->clinical;
	double voxel = voxel_of(r, scan), height = height_of(voxel, scan->plane);

	if (kind == PRESET_CONVERGED)
		return (struct preset_values){ .method = "svrg",
			                       .iterations = PASSES,
			                       .voxel = voxel,
			                       .height = height,
			                       .strength = r->strength };
	return (struct preset_values){
		.method = "osem",
		.iterations = em->iterations,
		.subsets = subsets_of(em->subsets, scan->counts),
		.voxel = voxel,
		.height = height,
		.filter = round_mm(em->filter * scan->crystal),
		.psf = kind == PRESET_CLINICAL && scan->finest > 0 ? resolution_of(scan) : 0,
	};
}
