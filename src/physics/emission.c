/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing voxels in proportion to their activity: cumulative shares, searched from a guide table
   so that a draw takes a few steps whatever the image's size. */
#include "emission.h"
#include "core/size.h"
#include "core/status.h"

static int cumulate(struct iso_emission *e, const iso_real *v)
{
	double sum = 0;

	for (int64_t i = 0; i < e->n; i++) {
		if (!(v[i] >= 0) || !isfinite(v[i]))
			return iso_fail(ISO_EINPUT, "simulate: activity is %g at voxel %" PRId64
					", must be finite and not negative", (double)v[i], i);
		e->below[i] = sum;
		sum += v[i];
	}
	if (!(sum > 0))
		return iso_fail(ISO_EINPUT, "simulate: the image holds no activity");
	for (int64_t i = 0; i < e->n; i++)
		e->below[i] /= sum;
	e->below[e->n] = 1;
	return ISO_OK;
}

int iso_emission_create(struct iso_emission *e, const struct iso_array *activity)
{
	int64_t n = activity->n;
	int st;

	*e = (struct iso_emission){ .grid = activity->grid, .n = n };
	e->below = size_alloc(n + 1, sizeof *e->below);
	e->guide = size_alloc(n, sizeof *e->guide);
	if (!e->below || !e->guide) {
		iso_emission_free(e);
		return iso_fail_memory("simulate", (2 * n + 1) * (int64_t)sizeof *e->below);
	}
	if ((st = cumulate(e, activity->v))) {
		iso_emission_free(e);
		return st;
	}
	for (int64_t k = 0, i = 0; k < n; k++) {
		while (e->below[i + 1] <= (double)k / (double)n)
			i++;
		e->guide[k] = i;
	}
	return ISO_OK;
}

void iso_emission_free(struct iso_emission *e)
{
	free(e->below);
	free(e->guide);
	*e = (struct iso_emission){ 0 };
}

void iso_emission_point(double p[3], const struct iso_emission *e, double u, const double v[3])
{
	int64_t i = e->guide[(int64_t)(u * (double)e->n)];

	while (e->below[i + 1] <= u)
		i++;
	int64_t at[3] = { i % e->grid.n[0], i / e->grid.n[0] % e->grid.n[1],
			  i / e->grid.n[0] / e->grid.n[1] };

	for (int a = 0; a < 3; a++)
		p[a] = e->grid.centre[a] +
		       ((double)at[a] + v[a] - .5 * (double)e->grid.n[a]) * e->grid.voxel[a];
}
