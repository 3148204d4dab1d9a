/* SPDX-License-Identifier: BSD-3-Clause */
/* Reference vectors of optoacoustics: tests/data/oat/CASE has params.txt and .npy files. */
#ifndef OAT_H
#define OAT_H

#include "test.h"

/* A number of params.txt. */
static inline double param(const char *which, const char *name)
{
	char path[512], key[64];
	double value;
	FILE *f;

	snprintf(path, sizeof path, "%s/oat/%s/params.txt", TEST_DATA, which);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fscanf(f, "%63s = %lf", key, &value) == 2)
		if (strcmp(key, name) == 0) {
			fclose(f);
			return value;
		}
	fclose(f);
	fail_msg("%s: no %s", path, name);
	return 0;
}

static inline struct iso_array vector(const char *which, const char *name)
{
	struct iso_array a = { 0 };
	char path[512];

	snprintf(path, sizeof path, "%s/oat/%s/%s.npy", TEST_DATA, which, name);
	OK(iso_read(&a, path, ISO_FINITE));
	return a;
}

/* Its grid: the first node is a centre. */
static inline struct iso_grid node_grid(const char *which)
{
	const char *const n[] = { "nx", "ny", "nz" }, *const x0[] = { "x0", "y0", "z0" };
	struct iso_grid g;

	for (int a = 0; a < 3; a++) {
		g.n[a] = (int64_t)param(which, n[a]);
		g.voxel[a] = param(which, "ds");
		g.centre[a] = param(which, x0[a]) + .5 * (double)(g.n[a] - 1) * g.voxel[a];
	}
	return g;
}

/* Its rings and its record, without an impulse response. */
static inline struct iso_transducers rings_of(const char *which)
{
	struct iso_rings r = {
		param(which, "Rs"),        (int64_t)param(which, "Nr"), (int64_t)param(which, "Nv"),
		param(which, "theta_min"), param(which, "dtheta"),      param(which, "phi_min"),
		param(which, "dphi"),
	};
	struct iso_transducers t = {
		.speed = param(which, "c0"),
		.dt_us = param(which, "dt"),
		.first_us = param(which, "tmin"),
		.samples = (int64_t)param(which, "K"),
		.gamma = param(which, "gamma"),
	};

	OK(iso_transducers_rings(&t, &r));
	return t;
}

#endif
