/* SPDX-License-Identifier: BSD-3-Clause */
/* What a map is in regions of an image. */
#include "isotome/unmix.h"
#include "core/size.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int by_label(const void *a, const void *b)
{
	const int x = ((const struct iso_region *)a)->label, y = ((const struct iso_region *)b)->label;

	return (x > y) - (x < y);
}

/* All labels, in rising order. */
static int find_labels(struct iso_region *to, int *regions, int64_t n, const iso_real *labels)
{
	*regions = 0;
	for (int64_t i = 0; i < n; i++) {
		const double v = (double)labels[i];
		int k = 0;

		if (v == 0) continue;
		if (!(fabs(v) <= 1e6) || v != floor(v))
			return iso_fail(
				ISO_EINPUT,
				"regions: voxel %" PRId64 " is %g, must be a whole number, 0 for none", i, v);
		while (k < *regions && to[k].label != (int)v) k++;
		if (k < *regions) continue;
		if (k == ISO_REGIONS)
			return iso_fail(ISO_EINPUT, "regions: more than %d of them", ISO_REGIONS);
		to[(*regions)++] = (struct iso_region){ .size = sizeof *to, .label = (int)v };
	}
	qsort(to, (size_t)*regions, sizeof *to, by_label);
	return ISO_OK;
}

/* `v`: room for all values. */
static void measure(struct iso_region *r, int64_t n, const iso_real *map, const iso_real *labels, double *v)
{
	double sum = 0, square = 0;

	for (int64_t i = 0; i < n; i++) {
		if ((double)labels[i] != (double)r->label) continue;
		if (isfinite((double)map[i]))
			v[r->n++] = (double)map[i];
		else
			r->without++;
	}
	for (int64_t i = 0; i < r->n; i++) sum += v[i];
	r->mean = r->n > 0 ? sum / (double)r->n : NAN;
	for (int64_t i = 0; i < r->n; i++) square += (v[i] - r->mean) * (v[i] - r->mean);
	r->sd = r->n > 1 ? sqrt(square / (double)(r->n - 1)) : NAN;
	qsort(v, (size_t)r->n, sizeof *v, by_value);
	r->median = r->n > 0 ? (v[(r->n - 1) / 2] + v[r->n / 2]) / 2 : NAN;
}

int iso_regions(struct iso_region *to, int *regions, int64_t n, const iso_real *map, const iso_real *labels)
{
	int st;

	if (!to || !regions || !map || !labels) return iso_fail_null(__func__);
	if ((st = find_labels(to, regions, n, labels))) return st;
	double *v = size_alloc(n > 0 ? n : 1, sizeof *v);

	if (!v) return iso_fail_memory("regions", n * (int64_t)sizeof *v);
	for (int k = 0; k < *regions; k++) measure(to + k, n, map, labels, v);
	free(v);
	return ISO_OK;
}
