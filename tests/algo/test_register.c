/* SPDX-License-Identifier: BSD-3-Clause */
/* Rigid registration: the reference vectors, poses of an image painted twice, bits by threads, and what is refused; also
   built in double. */
#include "test.h"

static const struct iso_grid grid = { { 32, 34, 30 }, { 5, 5, 5 }, { 0, 0, 0 } };
enum { VOXELS = 32 * 34 * 30 };

#define RADIUS 70. /* mm, of the sphere on which poses are compared */

static double distance(const struct iso_pose *a, const struct iso_pose *b, const double x[3])
{
	double p[3], q[3];

	iso_pose_apply(p, a, x);
	iso_pose_apply(q, b, x);
	return sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) +
	            (p[2] - q[2]) * (p[2] - q[2]));
}

/* Greatest at the corners of the grid's box. */
static double at_corners(const struct iso_pose *a, const struct iso_pose *b)
{
	double most = 0;

	for (int k = 0; k < 8; k++) {
		double x[3];

		for (int i = 0; i < 3; i++)
			x[i] = grid.centre[i] + (k >> i & 1 ? .5 : -.5) * (double)grid.n[i] * grid.voxel[i];
		most = larger(most, distance(a, b, x));
	}
	return most;
}

static double on_sphere(const struct iso_pose *a, const struct iso_pose *b)
{
	double most = 0;

	for (int k = 0; k < 200; k++) {
		double z = 1 - (2 * k + 1) / 200., r = sqrt(1 - z * z), t = 2.399963229728653 * k;
		const double x[3] = { RADIUS * r * cos(t), RADIUS * r * sin(t), RADIUS * z };

		most = larger(most, distance(a, b, x));
	}
	return most;
}

static struct iso_array load(const char *name)
{
	struct iso_array a = { 0 };
	char path[512];

	snprintf(path, sizeof path, "%s/register/%s", TEST_DATA, name);
	OK(iso_read(&a, path, ISO_FINITE));
	return a;
}

static struct iso_registered find(iso_ctx *ctx, const iso_real *fixed, const iso_real *moved)
{
	struct iso_registered f = { .size = sizeof f };
	iso_register *r = NULL;

	OK(iso_register_create(&r, ctx, &grid, fixed));
	OK(iso_register_find(&f, r, moved, NULL, 0));
	iso_register_free(r);
	return f;
}

static void vectors(void **state)
{
	struct iso_array fixed = load("reg_fixed.npy"), moved = load("reg_moved.npy");
	double *want = test_data(TEST_DATA "/register", "reg_pose.f64", 12, sizeof *want);
	struct iso_pose pose;
	iso_ctx *ctx = cpu(2), *one = cpu(1), *three = cpu(3);
	struct iso_registered f = find(ctx, fixed.v, moved.v), g;

	(void)state;
	assert_int_equal(fixed.n, VOXELS);
	memcpy(pose.m, want, sizeof pose.m);
	BELOW(at_corners(&f.pose, &pose), .15);
	BELOW(on_sphere(&f.pose, &pose), .08);
	assert_true(f.ended && f.steps > 3 && f.steps <= 30);
	NEAR(f.correlation, 1, 1e-2);
	g = find(one, fixed.v, moved.v);
	assert_memory_equal(&g.pose, &f.pose, sizeof f.pose);
	g = find(three, fixed.v, moved.v);
	assert_memory_equal(&g, &f, sizeof f);
	iso_array_free(&fixed);
	iso_array_free(&moved);
	free(want);
	iso_ctx_free(ctx);
	iso_ctx_free(one);
	iso_ctx_free(three);
}

/* ---- an image painted in two poses ---- */

enum { BALLS = 12 };

/* Balls of Gaussians, none like another, at the places of a pose. */
static void paint(iso_real *v, const struct iso_pose *p, double brightness)
{
	double at[BALLS][3];

	for (int b = 0; b < BALLS; b++) {
		const double x[3] = { 55 * sin(1.7 * b), 60 * sin(2.9 * b + 1), 50 * sin(4.3 * b + 2) };

		iso_pose_apply(at[b], p, x);
	}
	for (int64_t i = 0; i < VOXELS; i++) {
		const int64_t k[3] = { i % 32, i / 32 % 34, i / 32 / 34 };
		double sum = 0;

		for (int b = 0; b < BALLS; b++) {
			double d = 0, width = 9 + b % 4;

			for (int a = 0; a < 3; a++) {
				double x = ((double)k[a] - .5 * (double)(grid.n[a] - 1)) * grid.voxel[a] -
				           at[b][a];

				d += x * x;
			}
			sum += (1 + b % 3) * exp(-.5 * d / (width * width));
		}
		v[i] = (iso_real)(brightness * sum);
	}
}

/* A turn by `angle` about (1, 2, 2)/3, and a shift. */
static struct iso_pose turned(double angle, double shift)
{
	const double u[3] = { 1. / 3, 2. / 3, 2. / 3 }, s = sin(angle), w = 1 - cos(angle);
	struct iso_pose p = { { 0 } };

	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++) p.m[4 * i + j] = w * u[i] * u[j] + (i == j ? 1 - w : 0);
		p.m[4 * i + (i + 1) % 3] -= s * u[(i + 2) % 3];
		p.m[4 * i + (i + 2) % 3] += s * u[(i + 1) % 3];
		p.m[4 * i + 3] = shift * (1 - i);
	}
	return p;
}

static void painted(void **state)
{
	iso_real *fixed = calloc(VOXELS, sizeof *fixed), *moved = calloc(VOXELS, sizeof *moved);
	struct iso_pose none = iso_pose_identity(), small = turned(.1, 5), large = turned(.7, -12);
	struct iso_pose starts[2] = { none, turned(.6, -9) };
	struct iso_registered f = { .size = sizeof f };
	iso_register *r = NULL;
	iso_ctx *ctx = cpu(2);

	(void)state;
	paint(fixed, &none, 1);
	paint(moved, &small, .2);
	OK(iso_register_create(&r, ctx, &grid, fixed));
	OK(iso_register_find(&f, r, moved, NULL, 0));
	BELOW(on_sphere(&f.pose, &small), .05);
	assert_true(f.ended);
	OK(iso_register_find(&f, r, moved, &small, 1));
	BELOW(on_sphere(&f.pose, &small), .05);
	assert_true(f.steps < 20);
	paint(moved, &large, 3); /* 40 degrees: the better of two starts leads there */
	OK(iso_register_find(&f, r, moved, starts, 2));
	BELOW(on_sphere(&f.pose, &large), .1);
	OK(iso_register_find(&f, r, fixed, NULL, 0));
	BELOW(on_sphere(&f.pose, &none), 1e-9);
	NEAR(f.correlation, 1, 1e-9);
	iso_register_free(r);
	iso_ctx_free(ctx);
	free(fixed);
	free(moved);
}

/* Nothing to register, and images that leave a pose open. */
static void refused(void **state)
{
	iso_real *v = calloc(VOXELS, sizeof *v);
	struct iso_grid flat = { { 32, 34, 1 }, { 5, 5, 5 }, { 0 } };
	struct iso_pose none = iso_pose_identity(), away = turned(0, 1e4);
	struct iso_registered f = { .size = sizeof f };
	iso_register *r = NULL;
	iso_ctx *ctx = cpu(1);

	(void)state;
	REFUSED(iso_register_create(&r, ctx, &grid, v), ISO_EINPUT, "is empty");
	for (int i = 0; i < VOXELS; i++) v[i] = 1;
	REFUSED(iso_register_create(&r, ctx, &grid, v), ISO_EINPUT, "round or flat");
	paint(v, &none, 1);
	REFUSED(iso_register_create(&r, ctx, &flat, v), ISO_EINPUT, "round or flat");
	REFUSED(iso_register_create(&r, ctx, &grid, NULL), ISO_EARG, "NULL");
	assert_null(r);
	OK(iso_register_create(&r, ctx, &grid, v));
	REFUSED(iso_register_find(&f, r, v, NULL, 1), ISO_EARG, "NULL");
	OK(iso_register_find(&f, r, v, &away, 1)); /* outside of the image */
	assert_true(!f.ended && isnan(f.correlation));
	memset(v, 0, VOXELS * sizeof *v);
	OK(iso_register_find(&f, r, v, NULL, 0));
	assert_true(!f.ended && isnan(f.correlation));
	f.size = 0;
	REFUSED(iso_register_find(&f, r, v, NULL, 0), ISO_EARG, "size is 0");
	iso_register_free(r);
	iso_register_free(NULL);
	iso_ctx_free(ctx);
	free(v);
}

/* A shift by a voxel and a half is the mean of two neighbours; outside there is nothing. */
static void resampled(void **state)
{
	iso_real *x = calloc(VOXELS, sizeof *x), *y = calloc(VOXELS, sizeof *y);
	struct iso_pose p = iso_pose_identity();
	iso_ctx *ctx = cpu(2);
	double most = 0;

	(void)state;
	for (int i = 0; i < VOXELS; i++) x[i] = (iso_real)(i % 97);
	OK(iso_register_resample(y, ctx, &grid, x, &p));
	assert_memory_equal(x, y, VOXELS * sizeof *x);
	p.m[3] = 7.5;
	OK(iso_register_resample(y, ctx, &grid, x, &p));
	for (int i = 0; i < VOXELS; i++) {
		double want = i % 32 < 30 ? .5 * ((double)x[i + 1] + (double)x[i + 2]) : 0;

		most = larger(most, fabs((double)y[i] - want));
	}
	BELOW(most, 1e-4);
	REFUSED(iso_register_resample(x, ctx, &grid, x, &p), ISO_EARG, "must be two");
	iso_ctx_free(ctx);
	free(x);
	free(y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(painted),
		cmocka_unit_test(refused),
		cmocka_unit_test(resampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
