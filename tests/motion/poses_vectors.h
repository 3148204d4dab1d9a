/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference vectors of poses, for the tests of motion. */
#ifndef POSES_VECTORS_H
#define POSES_VECTORS_H

#include "test.h"

#define POSES TEST_DATA "/poses/"

/* The n elements of a .npy file of vectors, to be freed. */
static inline void *npy(const char *name, int64_t n, size_t item)
{
	char path[512];
	unsigned char lead[10];
	void *v = calloc((size_t)n, item);

	snprintf(path, sizeof path, POSES "%s", name);
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_non_null(v);
	assert_int_equal(fread(lead, 1, sizeof lead, f), sizeof lead);
	assert_int_equal(fseek(f, 10 + lead[8] + 256 * lead[9], SEEK_SET), 0);
	assert_int_equal(fread(v, item, (size_t)n, f), n);
	assert_int_equal(fgetc(f), EOF);
	fclose(f);
	return v;
}

static inline iso_poses *poses_table(const char *name, enum iso_pose_kind kind, enum iso_pose_rule rule)
{
	struct iso_poses_options o = { .size = sizeof o, .kind = kind, .rule = rule };
	iso_poses *p = NULL;
	char path[512];

	snprintf(path, sizeof path, POSES "%s", name);
	OK(iso_poses_read(&p, path, &o));
	return p;
}

static inline iso_motion *poses_motion(const iso_poses *p, const iso_poses *bed, const iso_poses *gantry,
                                       const struct iso_pose *reference)
{
	struct iso_motion_parts parts = {
		.size = sizeof parts, .poses = p, .bed = bed, .gantry = gantry, .reference = reference
	};
	iso_motion *m = NULL;

	OK(iso_motion_create(&m, &parts));
	return m;
}

/* Largest difference of n numbers. */
static inline double farthest(const double *a, const double *b, int n)
{
	double most = 0;

	for (int i = 0; i < n; i++) most = larger(most, fabs(a[i] - b[i]));
	return most;
}

/* Of the piece vectors: the image's grid and the whole scan. */
static const struct iso_grid poses_grid = { { 14, 14, 10 }, { 8, 8, 6 }, { 0, 0, 0 } };
static const struct iso_motion_span poses_span = { sizeof poses_span, 0, 60, 0, 1 };

#endif
