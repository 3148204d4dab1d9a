/* SPDX-License-Identifier: BSD-3-Clause */
/* Reference vectors of barrels (tests/data/README.md), and their scanner. */
#ifndef BARREL_VECTORS_H
#define BARREL_VECTORS_H

#include "test.h"

#include "model/barrel/barrel_kern.h"

#ifdef ISO_DOUBLE
#	define BARREL_TOLERANCE(of_double, of_float) (of_double)
#else
#	define BARREL_TOLERANCE(of_double, of_float) (of_float)
#endif

enum { BARREL_STRIPS = 48, BARREL_EVENTS = 400, BARREL_NX = 12, BARREL_NY = 14, BARREL_NZ = 10 };
enum { BARREL_VOXELS = BARREL_NX * BARREL_NY * BARREL_NZ };

/* The last n values of a .npy file: all of its values. */
static void *barrel_read(const char *name, int64_t n, size_t item)
{
	char path[512];
	void *v = malloc((size_t)n * item);

	snprintf(path, sizeof path, "%s/barrel/%s.npy", TEST_DATA, name);
	FILE *f = fopen(path, "rb");

	if (!f || !v) fail_msg("%s", path);
	assert_int_equal(fseek(f, -(long)((size_t)n * item), SEEK_END), 0);
	assert_int_equal(fread(v, item, (size_t)n, f), n);
	fclose(f);
	return v;
}

static double *barrel_values(const char *name, int64_t n)
{
	return barrel_read(name, n, sizeof(double));
}

static struct iso_barrel_strip *barrel_strips(void)
{
	struct iso_barrel_strip *s = malloc(BARREL_STRIPS * sizeof *s);
	double *v = barrel_values("strips", BARREL_STRIPS * 7);

	for (int i = 0; i < BARREL_STRIPS; i++) {
		const double *p = v + 7 * i;

		s[i] = (struct iso_barrel_strip){ p[0], p[1], p[5], p[2], p[3], p[4], p[6] };
	}
	free(v);
	return s;
}

#endif
