/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines beside the object, which the fit of the scale is made from, and sums over all lines, of a ring of 20 x 240 crystals
   around an elliptic body of 200 x 150 x 110 mm. The truth is `simulate --physics` of 1e7 events with 2.19e6 scattered ones:
   1.45e4 of them 120 to 140 mm from the axis (0.8 %), 74 beyond 150 mm (12 %). */
#include "test.h"

#include "scanner/scanner.h"

enum { ACROSS = 60, PLANES = 32, LINES = 4000 };
#define VOXEL 4.

static iso_scanner *ring;
static struct iso_array f, mu;

static int make_scene(void **state)
{
	const struct iso_grid g = { { ACROSS, ACROSS, PLANES }, { VOXEL, VOXEL, VOXEL }, { 0 } };
	FILE *file = fopen("tails.yaml", "w");

	(void)state;
	assert_non_null(file);
	fputs("kind: cylinder\nname: ring\nradius_mm: 200\nrings: 20\nring_pitch_mm: 6\ncrystals_per_ring: "
	      "240\n"
	      "crystal_mm: [5.2, 5.9, 20]\nmin_crystal_distance: 40\npair_weight: solid-angle\n"
	      "energy: {window_kev: [435, 650], resolution: 0.11}\n",
	      file);
	fclose(file);
	OK(iso_scanner_read(&ring, "tails.yaml"));
	OK(iso_array_on_grid(&f, &g));
	OK(iso_array_on_grid(&mu, &g));
	for (int64_t i = 0; i < f.n; i++) {
		double at[3] = { (double)(i % ACROSS) - 29.5, (double)(i / ACROSS % ACROSS) - 29.5,
			         (double)(i / ACROSS / ACROSS) - 15.5 };
		double in = 0; /* share of the voxel, from 4 x 4 places across and along the axis */

		for (int k = 0; k < 16; k++)
			in += hypot((at[0] + (k % 4 - 1.5) / 4) * VOXEL / 100,
			            (at[1] + (k / 4 - 1.5) / 4) * VOXEL / 75) < 1;
		in *= fmin(1, fmax(0, 55 / VOXEL - fabs(at[2]) + .5)) / 16;
		f.v[i] = (iso_real)in;
		mu.v[i] = (iso_real)(.0096 * in);
	}
	return 0;
}

static int free_scene(void **state)
{
	(void)state;
	iso_scanner_free(ring);
	iso_array_free(&f);
	iso_array_free(&mu);
	return 0;
}

static struct iso_scatter estimate_of(enum iso_scatter_method method)
{
	return (struct iso_scatter){ .size = sizeof(struct iso_scatter),
		                     .method = method,
		                     .scanner = ring,
		                     .image = &f,
		                     .mu = &mu,
		                     .error = .01,
		                     .seed = 1 };
}

/* Sum of h over lines of so many mm from the axis, of crystals of all rings; of all lines where high is 0. */
static double sum_between(iso_ctx *ctx, const iso_scatter_table *t, double low, double high)
{
	static struct iso_event v[LINES];
	static iso_real h[LINES];
	const double *at = iso_scanner_positions(ring);
	struct iso_events e = { .v = v };
	int64_t pairs = iso_scanner_pairs(ring), looked = 0;
	double sum = 0;

	for (int64_t i = 0; i < pairs && e.n < LINES; i = (i + 8191) % pairs, looked++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, ring, i);
		const double *p = at + 3 * a, *q = at + 3 * b;
		double s = fabs(p[0] * q[1] - p[1] * q[0]) / hypot(q[0] - p[0], q[1] - p[1]);

		if (high > 0 && !(s >= low && s < high)) continue;
		for (int k = 0; k < 3; k++) {
			v[e.n].p1[k] = (float)p[k];
			v[e.n].p2[k] = (float)q[k];
		}
		e.n++;
	}
	OK(iso_scatter_at(h, ctx, t, &e, 1e4));
	for (int64_t i = 0; i < e.n; i++) sum += (double)h[i];
	return sum * (double)pairs / (double)looked;
}

/* Shares of all scatter; tof_ps 0: without. */
static void far_lines(double tof_ps)
{
	iso_ctx *ctx = cpu(2);
	struct iso_scatter p = estimate_of(ISO_SCATTER_SSS_MC);
	iso_scatter_table *t = NULL;
	double all;

	p.tof_fwhm_ps = tof_ps;
	OK(iso_scatter_create(&t, ctx, &p));
	OK(iso_scatter_sum(&all, ctx, t, NULL, 1, 1));
	double beside = sum_between(ctx, t, 120, 140) / all, far = sum_between(ctx, t, 150, 174) / all;

	print_message("TOF %g ps: 120 to 140 mm %.3e, over the truth %.3f; beyond 150 mm %.2e, %.2f\n",
	              tof_ps, beside, beside / 6.79e-3, far, far / 3.38e-5);
	NEAR(beside / 6.79e-3, 1, .05); /* 0.8 % of the truth, 2 % of 4000 lines, 1 % of the Monte Carlo */
	assert_true(far > .4 * 3.38e-5 && far < 2 * 3.38e-5);
	iso_scatter_free(t);
	iso_ctx_free(ctx);
}

static void far_lines_without_times(void **state)
{
	(void)state;
	far_lines(0);
}

static void far_lines_with_times(void **state)
{
	(void)state;
	far_lines(1000); /* a wide resolution: few places along u, a quick table */
}

/* Rings every 19 mm, as by default, and every crystal's: the same sum. */
static void rings_between_samples(void **state)
{
	iso_ctx *ctx = cpu(2);
	double sum[2];

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct iso_scatter p = estimate_of(ISO_SCATTER_SSS);
		iso_scatter_table *t = NULL;

		p.detectors = 24;
		p.block_mm = 24;
		p.ring_step_mm = k ? 6 : 20;
		OK(iso_scatter_create(&t, ctx, &p));
		OK(iso_scatter_sum(&sum[k], ctx, t, NULL, 1, 1));
		iso_scatter_free(t);
	}
	print_message("sum over rings 19 mm apart / 6 mm apart %.5f\n", sum[0] / sum[1]);
	NEAR(sum[0] / sum[1], 1, .002);
	iso_ctx_free(ctx);
}

/* Blocks of points by default against blocks of a voxel, on lines beside the object. */
static void surface_of_the_object(void **state)
{
	enum { N = 12 };
	iso_ctx *ctx = cpu(2);
	struct iso_event v[N] = { 0 };
	struct iso_events e = { .n = N, .v = v };
	double h[2][N], sum[2] = { 0 };

	(void)state;
	for (int i = 0; i < N; i++) { /* 112 to 125 mm from the axis, all round */
		double turn = 2 * M_PI * i / N, half = acos((112 + 13. * (i % 4) / 3) / 200);
		const double z[2] = { 3 + 12 * (i % 5) - 27, 3 - 12 * (i % 3) };

		for (int k = 0; k < 2; k++) {
			float *end = k ? v[i].p2 : v[i].p1;

			end[0] = (float)(200 * cos(turn + (k ? half : -half)));
			end[1] = (float)(200 * sin(turn + (k ? half : -half)));
			end[2] = (float)z[k];
		}
	}
	for (int k = 0; k < 2; k++) {
		struct iso_scatter p = estimate_of(ISO_SCATTER_SSS);

		p.block_mm = k ? VOXEL : 0;
		OK(iso_scatter_single(h[k], ctx, &p, &e, NULL, 0));
		for (int i = 0; i < N; i++) sum[k] += h[k][i];
	}
	print_message("lines beside the object, default blocks over those of a voxel: %.4f\n",
	              sum[0] / sum[1]);
	NEAR(sum[0] / sum[1], 1, .006);
	iso_ctx_free(ctx);
}

/* Blocks by the object and by the time of flight: what is chosen is told. */
static void chosen_blocks(void **state)
{
	static const double tof_ps[3] = { 0, 400, 100 }, block[3] = { 11.2, 11.2, 10.19 };
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct iso_scatter p = estimate_of(ISO_SCATTER_SSS);
		struct iso_scatter_info info = { .size = sizeof info };
		iso_scatter_table *t = NULL;

		p.detectors = 8;
		p.ring_step_mm = 57;
		p.tof_fwhm_ps = tof_ps[k];
		OK(iso_scatter_create(&t, ctx, &p));
		OK(iso_scatter_describe(&info, t));
		print_message("TOF %g ps: blocks of %.3f mm\n", tof_ps[k], info.block_mm);
		NEAR(info.block_mm, block[k], .02);
		iso_scatter_free(t);
	}
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(far_lines_without_times), cmocka_unit_test(far_lines_with_times),
		cmocka_unit_test(rings_between_samples),   cmocka_unit_test(surface_of_the_object),
		cmocka_unit_test(chosen_blocks),
	};

	return cmocka_run_group_tests(tests, make_scene, free_scene);
}
