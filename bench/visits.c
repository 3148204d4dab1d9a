/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting voxels without tracing: a segment meets one voxel, and one more at every face that it
   crosses. Independent of the tracers, whose work it measures. */
#include "limits.h"

#include "base/constants.h"
#include "core/box.h"

#include <math.h>

/* The part [t0, t1] of the segment inside the box, in voxels from the low corner. */
static bool clip(const struct iso_grid *g, const double p[3], const double d[3], double t[2])
{
	for (int a = 0; a < 3; a++)
		if (!box_narrow(&t[0], &t[1], -p[a], (double)g->n[a] - p[a], d[a])) return false;
	return t[1] > t[0];
}

/* Faces crossed on the way; one that the way begins or ends on is not crossed. */
static double faces_between(double from, double to)
{
	double low = fmin(from, to), high = fmax(from, to);

	return fmax(0, ceil(high - 1e-9) - floor(low + 1e-9) - 1);
}

static double visits(const struct iso_ray *p, const struct iso_event *e)
{
	double at[3], d[3], faces[3], t[2] = { 0, 1 }, square = 0;

	for (int a = 0; a < 3; a++) {
		double low = p->grid.centre[a] - .5 * (double)p->grid.n[a] * p->grid.voxel[a];
		double along = (double)e->p2[a] - e->p1[a];

		at[a] = (e->p1[a] - low) / p->grid.voxel[a];
		d[a] = along / p->grid.voxel[a];
		square += along * along;
	}
	if (!(square > 0) || !isfinite(square)) return 0;
	if (p->tof_fwhm_ps > 0 && p->tof_truncate > 0) {
		double sigma = p->tof_fwhm_ps * ISO_C_MM_PER_PS / 2 / ISO_FWHM_PER_SIGMA;
		double half = p->tof_truncate * sigma + .25 * ISO_C_MM_PER_PS * p->tof_bin_ps;
		double centre = .5 * (sqrt(square) + ISO_C_MM_PER_PS * e->dt_ps);

		t[0] = fmax(0, (centre - half) / sqrt(square));
		t[1] = fmin(1, (centre + half) / sqrt(square));
	}
	if (!(t[1] > t[0]) || !clip(&p->grid, at, d, t)) return 0;
	for (int a = 0; a < 3; a++) faces[a] = faces_between(at[a] + t[0] * d[a], at[a] + t[1] * d[a]);
	if (p->projector == ISO_JOSEPH)
		return 4 * (1 + faces[fabs(d[0]) >= fmax(fabs(d[1]), fabs(d[2])) ? 0
		                      : fabs(d[1]) >= fabs(d[2])                 ? 1
		                                                                 : 2]);
	return 1 + faces[0] + faces[1] + faces[2];
}

double iso_bench_visits(const struct iso_ray *p, const struct iso_event *e, int64_t n)
{
	int rays = p->rays > 1 ? p->rays : 1;
	double sum = 0;

	for (int64_t j = 0; j < n; j++) sum += visits(p, &e[j]);
	return n > 0 ? sum * rays / (double)n : 0;
}
