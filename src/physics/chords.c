/* SPDX-License-Identifier: BSD-3-Clause */
/* The integral of an image along a line: from face to face of the voxels (Siddon 1985; Jacobs et al. 1998). */
#include "chords.h"

#include <math.h>

/* The line p + t (q - p) in voxels from the lower corner of the image. */
struct line {
	double at[3], to[3];
	double low, high; /* t within the image */
};

static struct line line_of(const struct iso_grid *g, const double p[3], const double q[3])
{
	struct line l = { .low = 0, .high = 1 };

	for (int a = 0; a < 3; a++) {
		const double n = (double)g->n[a];

		l.at[a] = (p[a] - g->centre[a]) / g->voxel[a] + n / 2;
		l.to[a] = (q[a] - p[a]) / g->voxel[a];
		if (l.to[a] == 0) {
			if (!(l.at[a] >= 0 && l.at[a] < n)) l.high = -1;
			continue;
		}
		double t0 = -l.at[a] / l.to[a], t1 = (n - l.at[a]) / l.to[a];

		l.low = fmax(l.low, fmin(t0, t1));
		l.high = fmin(l.high, fmax(t0, t1));
	}
	return l;
}

double iso_chords_sum(const struct iso_array *image, const double p[3], const double q[3])
{
	const struct iso_grid *g = &image->grid;
	const struct line l = line_of(g, p, q);
	const double length = hypot(hypot(q[0] - p[0], q[1] - p[1]), q[2] - p[2]);
	double next[3], sum = 0, t = l.low;
	int64_t i[3], step[3];

	if (!(l.high > l.low)) return 0;
	for (int a = 0; a < 3; a++) {
		double at = l.at[a] + (l.low + 1e-12) * l.to[a];

		step[a] = l.to[a] > 0 ? 1 : -1;
		i[a] = (int64_t)fmin(fmax(floor(at), 0), (double)(g->n[a] - 1));
		next[a] = l.to[a] == 0 ? INFINITY : ((double)(i[a] + (step[a] > 0)) - l.at[a]) / l.to[a];
	}
	while (t < l.high) {
		int a = next[0] < next[1] ? 0 : 1;

		a = next[a] < next[2] ? a : 2;
		double to = fmin(next[a], l.high);

		if (to > t) sum += (to - t) * (double)image->v[(i[2] * g->n[1] + i[1]) * g->n[0] + i[0]];
		t = fmax(t, to);
		i[a] += step[a];
		if (i[a] < 0 || i[a] >= g->n[a]) break;
		next[a] = ((double)(i[a] + (step[a] > 0)) - l.at[a]) / l.to[a];
	}
	return sum * length;
}
