/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a scanner that the caller describes is the one that a file of events brings. */
#include "core/size.h"
#include "scanner.h"

#define SAME_RING_MM .1 /* crystals nearer than this along z are in one ring */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Places along z at which crystals lie; 0 without memory. */
static int64_t count_rings(const iso_scanner *s)
{
	double *z = size_alloc(s->n, sizeof *z);
	int64_t rings = z && s->n > 0;

	for (int64_t i = 0; i < (z ? s->n : 0); i++) z[i] = s->pos[3 * i + 2];
	if (z) qsort(z, (size_t)s->n, sizeof *z, by_value);
	for (int64_t i = 1; i < (z ? s->n : 0); i++) rings += z[i] - z[i - 1] > SAME_RING_MM;
	free(z);
	return rings;
}

struct extent {
	double radius, low, high; /* mean distance of crystals from the axis; along z, mm */
};

static struct extent extent_of(const iso_scanner *s)
{
	struct extent e = { 0, INFINITY, -INFINITY };

	for (int64_t i = 0; i < s->n; i++) {
		const double *p = s->pos + 3 * i;

		e.radius += hypot(p[0], p[1]) / (double)s->n;
		e.low = fmin(e.low, p[2]);
		e.high = fmax(e.high, p[2]);
	}
	return e;
}

void iso_scanner_figures(char *to, size_t size, const iso_scanner *s)
{
	struct extent e = extent_of(s);

	iso_snprintf(to, size,
	             "%" PRId64 " crystals in %" PRId64 " rings, at %.4g mm from the axis, z %.4g to %.4g mm",
	             s->n, count_rings(s), e.radius, e.low, e.high);
}

/* A quarter of the distance of two crystals whose numbers follow each other, the least of all; at most 1 mm. */
static double across_mm(const iso_scanner *s)
{
	double least = 4;

	for (int64_t i = 1; i < s->n; i++) {
		const double *p = s->pos + 3 * i;
		double d = hypot(hypot(p[0] - p[-3], p[1] - p[-2]), p[2] - p[-1]);

		if (d > 0) least = fmin(least, d);
	}
	return least / 4;
}

/* How deep in a crystal an end of a line may lie; 0: not said. */
static double depth_mm(const iso_scanner *s)
{
	double depth = fmax(s->crystal_mm[2], s->depth);

	return s->face ? fmax(depth, (double)s->face[0].depth) : depth;
}

/* Crystal i of `given` seen from that of `own`: along the radius, and across it. */
static void apart(double *along, double *across, const iso_scanner *own, const iso_scanner *given, int64_t i)
{
	const double *p = own->pos + 3 * i, *q = given->pos + 3 * i;
	double d[3] = { q[0] - p[0], q[1] - p[1], q[2] - p[2] }, r = hypot(p[0], p[1]);

	*along = r > 0 ? (d[0] * p[0] + d[1] * p[1]) / r : 0;
	*across = hypot(r > 0 ? (d[1] * p[0] - d[0] * p[1]) / r : hypot(d[0], d[1]), d[2]);
}

bool iso_scanner_same(struct iso_scanner_apart *a, const iso_scanner *own, const iso_scanner *given,
                      bool numbers)
{
	struct extent e = extent_of(own), g = extent_of(given);
	double across = across_mm(own), along = fmax(depth_mm(own), depth_mm(given)) + across;
	double most = 0;

	*a = (struct iso_scanner_apart){ .crystal = -1, .across = across, .along = along };
	if (own->n != given->n) return false;
	if (!numbers)
		return fabs(e.radius - g.radius) <= along && fabs(e.low - g.low) <= across &&
		       fabs(e.high - g.high) <= across;
	for (int64_t i = 0; i < own->n; i++) {
		double r, t;

		apart(&r, &t, own, given, i);
		double over = fmax(fabs(r) / along, t / across);

		if (over <= fmax(most, 1) * (1 + 1e-6)) continue; /* of equal ones the first */
		most = over;
		a->crystal = i;
		a->mm = hypot(r, t);
	}
	return a->crystal < 0;
}
