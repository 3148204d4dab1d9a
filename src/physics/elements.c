/* SPDX-License-Identifier: BSD-3-Clause */
/* The stored table of elements: curves of straight lines in log-log. */
#include "material.h"

/* WEIGHT: y in g/mol. The first three curves are cross sections, as in enum iso_element_curve: x in keV, y in
   cm^2/g, each line within 0.03 % of the sum of the three. FORM: x in 1/Angstrom, y in electrons,
   within 0.5 % or 1e-4 Z. */
enum what { WEIGHT, PHOTO, COMPTON, COHERENT, FORM };

struct row {
	unsigned char z, what;
	float x;
	double y;
};

/* elements.csv, by z, what, x: scripts/elements.py makes it from xraylib. */
static const struct row row[] = {
#include "embedded/elements.csv.h"
};
enum { ROWS = sizeof row / sizeof row[0] };

/* Whether a row stands after place x of a curve. */
static bool after(const struct row *r, int z, enum what what, double x)
{
	if (r->z != z) return r->z > z;
	if (r->what != what) return r->what > what;
	return !(r->x <= x);
}

/* The first row after place x of a curve; ROWS: there is none. */
static int find(int z, enum what what, double x)
{
	int low = -1, high = ROWS;

	while (high - low > 1) {
		int mid = (low + high) / 2;

		*(after(&row[mid], z, what, x) ? &high : &low) = mid;
	}
	return high;
}

/* Beyond its ends a curve goes on level. */
static double at(int z, enum iso_element_curve curve, double x)
{
	const enum what what = (enum what)(PHOTO + curve);
	int i = find(z, what, x);
	const struct row *a = &row[i - 1], *b = &row[i]; /* i > 0: a WEIGHT stands before all curves */
	double from = (float)a->y, to;

	if (i == ROWS || b->z != z || b->what != what) return from;
	to = (float)b->y;
	if (a->z != z || a->what != what) return to;
	return from * pow(to / from, log(x / a->x) / log((double)b->x / a->x));
}

static double weight(int z)
{
	int i = find(z, WEIGHT, -1);

	return i < ROWS && row[i].z == z ? row[i].y : 0;
}

const struct iso_elements iso_elements_stored = { "stored table", weight, at };

const struct iso_elements *iso_material_source(void)
{
#ifdef ISO_XRAYLIB
	return &iso_elements_xraylib;
#else
	return &iso_elements_stored;
#endif
}
