/* SPDX-License-Identifier: BSD-3-Clause */
/* Attenuation that moves with a head: the sensitivity of a frame against that of all pairs through the map painted at its
   pose. */
#include "test.h"

#include "problem/motion/track.h"

static iso_ctx *ctx;
static const char ring[] = "kind: cylinder\nradius_mm: 130\nrings: 12\nring_pitch_mm: 10\n"
			   "crystals_per_ring: 80\nmin_crystal_distance: 20\n";

/* An ellipsoid of water that lies aslant, so that no rotation leaves it as it is, with denser matter on one side. */
static double water(const double x[3])
{
	double u = x[0] / 60, v = x[1] / 80, w = (x[2] - .3 * x[1]) / 45;

	return u * u + v * v + w * w > 1 ? 0 : x[1] > 30 ? .019 : .0096;
}

/* The mean of 3^3 points a voxel of the object at a pose. */
static void paint(struct iso_array *a, const struct iso_grid *g, const struct iso_pose *pose)
{
	struct iso_pose back = iso_pose_inverse(*pose);

	OK(iso_array_on_grid(a, g));
	for (int64_t i = 0; i < a->n; i++) {
		const int64_t k[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / (g->n[0] * g->n[1]) };
		double sum = 0;

		for (int p = 0; p < 27; p++) {
			const int part[3] = { p % 3, p / 3 % 3, p / 9 };
			double x[3], at[3];

			for (int j = 0; j < 3; j++)
				x[j] = g->centre[j] +
				       ((double)k[j] - .5 * (double)(g->n[j] - 1) + (part[j] - 1) / 3.) *
				               g->voxel[j];
			iso_pose_apply(at, &back, x);
			sum += water(at);
		}
		a->v[i] = (iso_real)(sum / 27);
	}
}

static iso_scanner *scanner_of(const char *text)
{
	iso_scanner *s = NULL;
	FILE *f = fopen("ring_of_test.yaml", "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	OK(iso_scanner_read(&s, "ring_of_test.yaml"));
	remove("ring_of_test.yaml");
	return s;
}

/* A rotation by 10 degrees about an axis in the plane of x and z, and a shift. */
static struct iso_pose turned(void)
{
	double a = 10 * M_PI / 180, c = cos(a), s = sin(a), u = .8, w = .6;

	return (struct iso_pose){ { c + u * u * (1 - c), -w * s, u * w * (1 - c), 5, /**/ w * s, c, -u * s,
		                    -4,
		                    /**/ u * w * (1 - c), u * s, c + w * w * (1 - c), 6 } };
}

static void at_the_pose_of_a_frame(void **state)
{
	const struct iso_grid frames = { { 40, 40, 28 }, { 5, 5, 5 }, { 0, 0, 0 } };
	const struct iso_grid maps = { { 40, 40, 32 }, { 6, 6, 6 }, { 0, 0, 0 } };
	int64_t n = iso_grid_voxels(&frames), inside = 0;
	iso_scanner *scanner = scanner_of(ring);
	const struct iso_pose still = iso_pose_identity(), pose = turned();
	struct iso_tracked_frame frame[3] = { { .known = true, .pose = still },
		                              { .known = true, .pose = pose },
		                              { .known = false, .pose = still } };
	struct iso_tracked found = { .size = sizeof found, .grid = frames, .n = 3, .frame = frame };
	struct iso_array map = { 0 }, moved = { 0 };
	struct track_images images = { .ctx = ctx, .ray.grid = frames };
	struct iso_track p = { .size = sizeof p, .scanner = scanner, .mu = &map };
	struct iso_ray_sens all = {
		.size = sizeof all, .grid = frames, .scanner = scanner, .rays = 1, .share = 1
	};
	struct track_mu mu = { 0 };
	double error, worst = 0, square = 0, other = 0;
	iso_real *want = calloc((size_t)n, sizeof *want);

	(void)state;
	images.sens = calloc((size_t)n, sizeof *images.sens);
	paint(&map, &maps, &still);
	paint(&moved, &maps, &pose);
	OK(iso_ray_sens(images.sens, &error, ctx, &all));
	all.mu = &moved;
	OK(iso_ray_sens(want, &error, ctx, &all));
	OK(track_mu_find(&mu, &images, &p, &found));
	assert_int_equal(mu.n, 2);
	assert_int_equal(mu.of[0], 0);
	assert_int_equal(mu.of[1], 1);
	assert_int_equal(mu.of[2], 1); /* not known: as the frame before it */
	assert_ptr_equal(track_mu_sens(&mu, &images, 2), track_mu_sens(&mu, &images, 1));
	for (int64_t i = 0; i < n; i++) {
		double x[3];

		for (int j = 0; j < 3; j++)
			x[j] = ((double)(j == 0   ? i % 40
			                 : j == 1 ? i / 40 % 40
			                          : i / 1600) -
			        .5 * (double)(frames.n[j] - 1)) *
			       5;
		if (x[0] * x[0] + x[1] * x[1] > 50 * 50 || fabs(x[2]) > 35) continue;
		double e = (double)track_mu_sens(&mu, &images, 1)[i] / (double)want[i] - 1;

		inside++;
		worst = larger(worst, fabs(e));
		square += e * e;
		e = (double)track_mu_sens(&mu, &images, 0)[i] / (double)want[i] - 1;
		other += e * e;
	}
	BELOW(sqrt(square / (double)inside), .06);
	BELOW(3 * sqrt(square), sqrt(other)); /* the map at the pose of another frame */
	BELOW(worst, .25);
	track_mu_free(&mu);
	iso_array_free(&map);
	iso_array_free(&moved);
	free(images.sens);
	free(want);
	iso_scanner_free(scanner);
}

/* Without matter nothing changes, to the bit. */
static void an_empty_map(void **state)
{
	const struct iso_grid frames = { { 12, 12, 8 }, { 10, 10, 10 }, { 0, 0, 0 } };
	int64_t n = iso_grid_voxels(&frames);
	iso_scanner *scanner = scanner_of(ring);
	struct iso_tracked_frame frame[1] = { { .known = true, .pose = turned() } };
	struct iso_tracked found = { .size = sizeof found, .grid = frames, .n = 1, .frame = frame };
	struct iso_array map = { 0 };
	struct track_images images = { .ctx = ctx, .ray.grid = frames };
	struct iso_track p = { .size = sizeof p, .scanner = scanner, .mu = &map };
	struct iso_ray_sens all = {
		.size = sizeof all, .grid = frames, .scanner = scanner, .rays = 1, .share = 1
	};
	struct track_mu mu = { 0 };
	double error;

	(void)state;
	images.sens = calloc((size_t)n, sizeof *images.sens);
	OK(iso_array_on_grid(&map, &frames));
	OK(iso_ray_sens(images.sens, &error, ctx, &all));
	OK(track_mu_find(&mu, &images, &p, &found));
	assert_memory_equal(track_mu_sens(&mu, &images, 0), images.sens, (size_t)n * sizeof *images.sens);
	track_mu_free(&mu);
	iso_array_free(&map);
	free(images.sens);
	iso_scanner_free(scanner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_the_pose_of_a_frame),
		cmocka_unit_test(an_empty_map),
	};

	if (iso_ctx_create(&ctx, "cpu", 2)) return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	iso_ctx_free(ctx);
	return failed;
}
