/* SPDX-License-Identifier: BSD-3-Clause */
/* Coincidences between patches of the ring by Monte Carlo: against those of an analog Monte Carlo written apart
   (tests/data/scatter), trues against line integrals; seeds, threads, devices. */
#include "test.h"

#include "base/constants.h"
#include "scatter/patches.h"

enum { SIDE = 50, ORDERS = 3 };

static iso_scanner *ring;
static struct iso_array body, mu; /* phantom (i): activity and map */

static int make_phantom(void **state)
{
	const struct iso_grid g = { { SIDE, SIDE, SIDE }, { 4, 4, 4 }, { 0, 0, 0 } };

	(void)state;
	OK(iso_scanner_read(&ring, TEST_DATA "/scatter/ring.yaml"));
	OK(iso_array_on_grid(&body, &g));
	OK(iso_array_on_grid(&mu, &g));
	for (int64_t i = 0; i < body.n; i++) {
		double x = 4 * ((double)(i % SIDE) - 24.5), y = 4 * ((double)(i / SIDE % SIDE) - 24.5);

		if (hypot(x, y) > 100) continue;
		body.v[i] = 1;
		mu.v[i] = (iso_real)0.00957992;
	}
	return 0;
}

static int free_phantom(void **state)
{
	(void)state;
	iso_scanner_free(ring);
	iso_array_free(&body);
	iso_array_free(&mu);
	return 0;
}

/* A count of n histories, with time of flight or not. */
struct run {
	struct scene scene;
	struct iso_room room;
	struct patch_tally tally;
};

static void run(struct run *r, iso_ctx *ctx, const struct iso_array *image, double tof_ps, uint64_t seed,
                int64_t n)
{
	const struct iso_scatter p = {
		.size = sizeof p, .scanner = ring, .image = image, .mu = &mu, .tof_fwhm_ps = tof_ps
	};

	*r = (struct run){ .room = { .ctx = ctx, .what = "test" } };
	OK(scene_create(&r->scene, &p));
	OK(iso_patch_tally_make(&r->tally, &r->room, &r->scene, r->scene.min_angle, 250, seed));
	OK(iso_patch_tally_run(&r->tally, ctx, n));
	assert_int_equal(r->tally.histories, n);
}

static void run_free(struct run *r)
{
	iso_room_free(&r->room);
	scene_free(&r->scene);
}

static int64_t of_pair(const struct patch_tally *t, enum patch_sum s, int64_t pair)
{
	const struct patches *p = &t->patches;
	int64_t sum = 0;

	for (int64_t c = 0; c < p->cells; c++) sum += t->all[((int64_t)s * p->pairs + pair) * p->cells + c];
	return sum;
}

/* Weights of a pair in all cells, as coincidences. */
static double weight_of(const struct patch_tally *t, enum patch_sum s, int64_t pair)
{
	return (double)of_pair(t, s, pair) / (double)PATCH_ONE;
}

/* Coarse detectors of the vectors are the patches. Their counts of 7e8 decays, against the weights. */
static void vectors(void **state)
{
	static const double slack[ORDERS] = { .005, .005, .015 };
	struct iso_array pairs = { 0 }, counts = { 0 };
	iso_ctx *ctx = cpu(2);
	int64_t n = sized(10000000, 1000000);
	double got[ORDERS] = { 0 }, want[ORDERS] = { 0 }, pull = 0, pulls = 0;
	struct run r;

	(void)state;
	OK(iso_read(&pairs, TEST_DATA "/scatter/i_pairs.npy", ISO_FINITE));
	OK(iso_read(&counts, TEST_DATA "/scatter/i_pair_counts.npy", ISO_FINITE));
	run(&r, ctx, &body, 390, 1, n);
	assert_int_equal(r.tally.patches.slabs, 5);
	double scale = r.scene.eps0 * r.scene.eps0 * 7e8 / (double)n;

	for (int64_t i = 0; i < pairs.dim[0]; i++) {
		int a = (int)pairs.v[2 * i], b = (int)pairs.v[2 * i + 1];
		int pair = r.tally.pair[a * 120 + b];
		const iso_real *c = counts.v + 4 * i;

		if (pair < 0) continue;
		for (int k = 0; k < ORDERS; k++) {
			got[k] += scale * weight_of(&r.tally, (enum patch_sum)k, pair);
			want[k] += (double)(k < 2 ? c[k] : c[2] + c[3]);
		}
		double single = scale * weight_of(&r.tally, PATCH_SINGLE, pair);
		double variance =
			scale * scale * weight_of(&r.tally, PATCH_SINGLE_SQUARE, pair) + (double)c[1];

		if (single / scale < 20) continue;
		pull += (single - (double)c[1]) * (single - (double)c[1]) / variance;
		pulls++;
	}
	for (int k = 0; k < ORDERS; k++) {
		double error = sqrt(scale * got[k] + want[k]);

		print_message("order %d: %.5f, error %.5f\n", k, got[k] / want[k], error / want[k]);
		NEAR(got[k], want[k], slack[k] * want[k] + 3 * error);
	}
	print_message("singles of %g pairs: rms pull %.3f\n", pulls, sqrt(pull / pulls));
	assert_true(pulls > 50);
	BELOW(sqrt(pull / pulls), 1.15);
	iso_array_free(&pairs);
	iso_array_free(&counts);
	run_free(&r);
	iso_ctx_free(ctx);
}

/* A place on a patch, by shares of its sides. */
static void on_patch(float at[3], const struct patches *p, int patch, double u, double v)
{
	double azimuth = 2 * M_PI * (patch % PATCH_SECTORS + u) / PATCH_SECTORS;

	at[0] = (float)(337 * cos(azimuth));
	at[1] = (float)(337 * sin(azimuth));
	at[2] = (float)((patch / PATCH_SECTORS + v) / (double)p->slabs_per_mm - 100);
}

enum { POINTS = 5, LINES = POINTS * POINTS * POINTS * POINTS };

/* The mean of alpha W A f over lines between points of the two patches, one in each of POINTS x POINTS parts. */
static double mean_of_lines(iso_ctx *ctx, const struct patches *p, int a, int b)
{
	static struct iso_event v[LINES];
	static iso_real alpha[LINES], line[LINES];
	struct iso_events e = { .n = LINES, .v = v };
	const struct iso_ray ray = { .size = sizeof ray, .grid = body.grid, .n_sub = 1 };
	iso_op *op = NULL;
	double sum = 0;

	for (int i = 0; i < LINES; i++) {
		struct philox w = philox_draw(77, (uint64_t)i, (uint64_t)(a * 120 + b));
		int at[4] = { i % POINTS, i / POINTS % POINTS, i / POINTS / POINTS % POINTS,
			      i / POINTS / POINTS / POINTS };
		double u[4];

		for (int k = 0; k < 4; k++) u[k] = (at[k] + (double)philox_unit(w.w[k])) / POINTS;
		on_patch(v[i].p1, p, a, u[0], u[1]);
		on_patch(v[i].p2, p, b, u[2], u[3]);
	}
	OK(iso_ray_attenuation(alpha, ctx, &mu, &e));
	OK(iso_ray_create(&op, ctx, &ray, &e));
	OK(iso_forward(line, op, ISO_ALL, body.v));
	for (int i = 0; i < LINES; i++) {
		double d[3], l2 = 0, normal[2] = { 0 };

		for (int k = 0; k < 3; k++) {
			d[k] = (double)(v[i].p1[k] - v[i].p2[k]);
			l2 += d[k] * d[k];
		}
		for (int k = 0; k < 2; k++) {
			normal[0] += (double)v[i].p1[k] * d[k];
			normal[1] -= (double)v[i].p2[k] * d[k];
		}
		sum += (double)alpha[i] * (double)line[i] * normal[0] * normal[1] * 4 / (l2 * l2);
	}
	iso_op_free(op);
	return sum / LINES;
}

/* Trues are alpha W (A f). */
static void trues(void **state)
{
	iso_ctx *ctx = cpu(2);
	int64_t n = sized(6000000, 1000000);
	double got = 0, want = 0, pull = 0, worst = 0, pulls = 0;
	int beyond = 0;
	struct run r;

	(void)state;
	run(&r, ctx, &body, 0, 2, n);
	assert_int_equal(r.tally.patches.cells, 1);
	double unit = r.tally.per_weight / (double)n; /* h of one coincidence */

	for (int a = 0; a < 120; a++)
		for (int b = a + 1; b < 120; b++) {
			int pair = r.tally.pair[a * 120 + b];

			if (pair < 0 || (a * 7 + b) % sized(3, 13) != 0) continue; /* a share of the pairs */
			double h = patch_value(&r.tally, PATCH_TRUE, pair, 0);

			if (h < 60 * unit) continue;
			double mean = mean_of_lines(ctx, &r.tally.patches, a, b);
			double z = (h - mean) / sqrt(mean * unit);

			if (mean < 100 * unit)
				continue; /* chosen by what is expected: h would choose its own errors */
			got += h;
			want += mean;
			pull += z * z;
			pulls++;
			worst = fmax(worst, fabs(z));
			beyond += fabs(z) > 4;
		}
	print_message("trues of %g pairs: %.5f of alpha W A f, rms pull %.3f, worst %.2f\n", pulls,
	              got / want, sqrt(pull / pulls), worst);
	assert_true(pulls > 100);
	NEAR(got, want, .005 * want + 3 * sqrt(want * unit));
	assert_true(beyond <= 1);
	BELOW(worst, 5);
	BELOW(sqrt(pull / pulls), 1.15);
	run_free(&r);
	iso_ctx_free(ctx);
}

/* A source 50 mm towards the first sector: u of the pair with the opposite one is -50 mm. */
static void sign(void **state)
{
	struct iso_array image;
	iso_ctx *ctx = cpu(2);
	double u = 0, sum = 0;
	struct run r;

	(void)state;
	OK(iso_array_on_grid(&image, &body.grid));
	image.v[(25 * SIDE + 25) * SIDE + 37] = 1;
	run(&r, ctx, &image, 390, 3, 1000000);
	const struct patches *p = &r.tally.patches;
	int pair = r.tally.pair[(2 * 24) * 120 + 2 * 24 + 12];

	for (int c = 0; c < p->cells; c++) {
		double h = patch_value(&r.tally, PATCH_TRUE, pair, c);

		sum += h;
		u += h * (c - p->cells / 2) * (double)p->sigma;
	}
	assert_true(sum > 0);
	NEAR(u / sum, -50, 3);
	iso_array_free(&image);
	run_free(&r);
	iso_ctx_free(ctx);
}

/* The same histories: the same integers for any number of threads, and in two goes. */
static void threads(void **state)
{
	iso_ctx *one = cpu(1), *three = cpu(3);
	struct run a, b;

	(void)state;
	run(&a, one, &body, 390, 4, 300001);
	run(&b, three, &body, 390, 4, 100000);
	OK(iso_patch_tally_run(&b.tally, three, 200001));
	assert_int_equal(a.tally.histories, b.tally.histories);
	assert_memory_equal(a.tally.all, b.tally.all,
	                    PATCH_SUMS * (size_t)a.tally.patches.pairs * (size_t)a.tally.patches.cells *
	                            sizeof *a.tally.all);
	run_free(&a);
	run_free(&b);
	iso_ctx_free(one);
	iso_ctx_free(three);
}

/* Two seeds differ as the sums of squares say. */
static void seeds(void **state)
{
	iso_ctx *ctx = cpu(2);
	double square = 0, cells = 0;
	struct run a, b;

	(void)state;
	run(&a, ctx, &body, 0, 5, 1000000);
	run(&b, ctx, &body, 0, 6, 1000000);
	for (int64_t i = 0; i < a.tally.patches.pairs; i++) {
		double v = weight_of(&a.tally, PATCH_SINGLE_SQUARE, i) +
		           weight_of(&b.tally, PATCH_SINGLE_SQUARE, i);
		double d = weight_of(&a.tally, PATCH_SINGLE, i) - weight_of(&b.tally, PATCH_SINGLE, i);

		if (v < 2) continue;
		square += d * d / v;
		cells++;
	}
	print_message("two seeds, %g cells: %.3f of the stated error\n", cells, sqrt(square / cells));
	assert_true(cells > 300);
	NEAR(sqrt(square / cells), 1, .1);
	run_free(&a);
	run_free(&b);
	iso_ctx_free(ctx);
}

/* CUDA has the histories of the CPU, to the last bit. */
static void same_on(iso_ctx *device)
{
	iso_ctx *host = cpu(2);
	double sum[2][ORDERS] = { { 0 } };
	int64_t differ = 0;
	struct run a, b;

	run(&a, host, &body, 390, 7, 2000000);
	run(&b, device, &body, 390, 7, 2000000);
	for (int64_t i = 0; i < a.tally.patches.pairs; i++)
		for (int k = 0; k < ORDERS; k++) {
			int64_t on_host = of_pair(&a.tally, (enum patch_sum)k, i);
			int64_t on_device = of_pair(&b.tally, (enum patch_sum)k, i);

			sum[0][k] += (double)on_host;
			sum[1][k] += (double)on_device;
			differ += on_host != on_device;
		}
	for (int k = 0; k < ORDERS; k++) NEAR(sum[1][k], sum[0][k], 1e-3 * sum[0][k]);
	print_message("%" PRId64 " of %" PRId64 " sums differ\n", differ,
	              (int64_t)a.tally.patches.pairs * ORDERS);
	assert_int_equal(differ, 0);
	run_free(&a);
	run_free(&b);
	iso_ctx_free(host);
}

CUDA_TEST(cuda_same, same_on)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors), cmocka_unit_test(trues), cmocka_unit_test(sign),
		cmocka_unit_test(threads), cmocka_unit_test(seeds), cmocka_unit_test(cuda_same),
	};

	return cmocka_run_group_tests(tests, make_phantom, free_phantom);
}
