/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter with the Monte Carlo in it, sss+mc and mc, of phantom (i): against an analog Monte Carlo written apart
   (tests/data/scatter), in absolute counts; threads, devices. */
#include "test.h"

#include "core/philox.h"

#include <stdlib.h>

enum { SIDE = 50, COARSE = 120 };

static iso_scanner *ring;
static struct iso_array image, mu;

#define DECAYS 7e8        /* of the vectors */
#define KAPPA 1.701947e-4 /* mm^2: image over decays a mm^3 */

static int make_phantom(void **state)
{
	const struct iso_grid g = { { SIDE, SIDE, SIDE }, { 4, 4, 4 }, { 0, 0, 0 } };

	(void)state;
	OK(iso_scanner_read(&ring, TEST_DATA "/scatter/ring.yaml"));
	OK(iso_array_on_grid(&image, &g));
	OK(iso_array_on_grid(&mu, &g));
	for (int64_t i = 0; i < image.n; i++) {
		double x = 4 * ((double)(i % SIDE) - 24.5), y = 4 * ((double)(i / SIDE % SIDE) - 24.5);

		if (hypot(x, y) > 100) continue;
		image.v[i] = (iso_real)(KAPPA * DECAYS / (98800 * 64.));
		mu.v[i] = (iso_real)0.00957992;
	}
	return 0;
}

static int free_phantom(void **state)
{
	(void)state;
	iso_scanner_free(ring);
	iso_array_free(&image);
	iso_array_free(&mu);
	return 0;
}

#define MC_ERROR .02 /* asked of mc, which takes ten times the histories of sss+mc */

/* Coarse samples, for speed, where the test is of the Monte Carlo alone. */
static iso_scatter_table *estimate(iso_ctx *ctx, enum iso_scatter_method method, double tof_ps,
                                   int64_t histories, uint64_t seed, bool coarse)
{
	const struct iso_scatter p = {
		.size = sizeof p,
		.method = method,
		.scanner = ring,
		.image = &image,
		.mu = &mu,
		.tof_fwhm_ps = tof_ps,
		.histories = histories,
		.error = method == ISO_SCATTER_MC ? MC_ERROR : 0,
		.seed = seed,
		.block_mm = coarse ? 40 : 0,
		.detectors = coarse ? 30 : 0,
		.ring_step_mm = coarse ? 40 : 0,
	};
	iso_scatter_table *t = NULL;

	OK(iso_scatter_create(&t, ctx, &p));
	return t;
}

static struct iso_scatter_info describe(const iso_scatter_table *t)
{
	struct iso_scatter_info info = { .size = sizeof info };

	OK(iso_scatter_describe(&info, t));
	return info;
}

enum { LINES = 32 }; /* of a coarse pair */

/* Lines between random crystals of coarse detectors a and b, 20 crystals by 8 rings each. */
static void lines_of(struct iso_event *e, int a, int b)
{
	for (int i = 0; i < LINES; i++) {
		struct philox w = philox_draw(5, (uint64_t)i, (uint64_t)(a * COARSE + b));
		const int of[2] = { a, b };

		for (int k = 0; k < 2; k++) {
			double azimuth = 2 * M_PI / 24 * (of[k] % 24 + (double)philox_unit(w.w[2 * k]));
			double z = 40 * (of[k] / 24 + (double)philox_unit(w.w[2 * k + 1])) - 100;
			float *p = k ? e[i].p2 : e[i].p1;

			p[0] = (float)(337 * cos(azimuth));
			p[1] = (float)(337 * sin(azimuth));
			p[2] = (float)z;
		}
		e[i].dt_ps = 0;
	}
}

/* Scattered coincidences of all coarse pairs of the vectors against the mean of h over lines of each. */
static void against_pairs(iso_ctx *ctx, const iso_scatter_table *t)
{
	struct iso_array pairs = { 0 }, counts = { 0 };
	double pull = 0, pulls = 0, worst = 0;

	OK(iso_read(&pairs, TEST_DATA "/scatter/i_pairs.npy", ISO_FINITE));
	OK(iso_read(&counts, TEST_DATA "/scatter/i_pair_counts.npy", ISO_FINITE));
	struct iso_events e = { .n = LINES * pairs.dim[0] };
	iso_real *h = calloc((size_t)e.n, sizeof *h);

	e.v = calloc((size_t)e.n, sizeof *e.v);
	assert_non_null(h);
	assert_non_null(e.v);
	for (int64_t i = 0; i < pairs.dim[0]; i++)
		lines_of(e.v + LINES * i, (int)pairs.v[2 * i], (int)pairs.v[2 * i + 1]);
	OK(iso_scatter_at(h, ctx, t, &e, 0));
	for (int64_t i = 0; i < pairs.dim[0]; i++) {
		int d = abs((int)pairs.v[2 * i] - (int)pairs.v[2 * i + 1]) % 24;
		const iso_real *c = counts.v + 4 * i;
		double counted = (double)(c[1] + c[2] + c[3]), sum = 0, square = 0;

		if (d < 5 || d > 19 || counted <= 100) continue;
		for (int k = 0; k < LINES; k++) {
			sum += (double)h[LINES * i + k];
			square += (double)h[LINES * i + k] * (double)h[LINES * i + k];
		}
		double each = 160. * 160, mean = sum / LINES, spread = (square / LINES - mean * mean) / LINES;
		double z = (each * mean - counted) /
		           sqrt(counted + each * each * (.01 * .01 * mean * mean + spread));

		pull += z * z;
		pulls++;
		worst = fmax(worst, fabs(z));
	}
	print_message("%g pairs: rms pull %.3f, worst %.2f\n", pulls, sqrt(pull / pulls), worst);
	assert_true(pulls > 2000);
	BELOW(sqrt(pull / pulls), 1.15);
	BELOW(worst, 5);
	free(h);
	free(e.v);
	iso_array_free(&pairs);
	iso_array_free(&counts);
}

/* With ISO_TEST_FULL=1, and not under the sanitizers: to the error that is asked for, and against all coarse pairs, half a
   minute on two cores; else a million decays. */
static bool in_full(void)
{
	const char *on = getenv("ISO_TEST_FULL");

	return sized(1, 0) && on && strcmp(on, "1") == 0;
}

static void absolute(enum iso_scatter_method method)
{
	static const double want = 6363832 + 839982 + 69753;
	iso_ctx *ctx = cpu(2);
	iso_scatter_table *t = estimate(ctx, method, 0, in_full() ? 0 : 1000000, 1, false);
	struct iso_scatter_info info = describe(t);
	double sum = 0;

	OK(iso_scatter_sum(&sum, ctx, t, NULL, 1, 1));
	print_message("scattered: %.5f of the vectors', multiple / single %.4f; %g histories, error %.4f, "
	              "worst %.4f\n",
	              sum / want, info.multiple, (double)info.histories, info.error, info.worst_error);
	NEAR(sum, want, .01 * want);
	NEAR(info.multiple, (839982 + 69753) / 6363832., .003);
	if (in_full()) {
		assert_true(info.error <= (method == ISO_SCATTER_MC ? MC_ERROR : .01));
		against_pairs(ctx, t);
	}
	iso_scatter_free(t);
	iso_ctx_free(ctx);
}

static void joined(void **state)
{
	(void)state;
	absolute(ISO_SCATTER_SSS_MC);
}

static void all_orders(void **state)
{
	(void)state;
	absolute(ISO_SCATTER_MC);
}

static double greatest(const iso_real *v, int n)
{
	iso_real most = 0;

	for (int i = 0; i < n; i++)
		if (v[i] > most) most = v[i];
	return (double)most;
}

/* Values at lines of all directions and times. */
static void values(iso_real *h, iso_ctx *ctx, const iso_scatter_table *t, int n)
{
	struct iso_event *v = calloc((size_t)n * LINES, sizeof *v);
	struct iso_events e = { .n = (int64_t)n * LINES, .v = v };

	assert_non_null(v);
	for (int i = 0; i < n; i++) {
		lines_of(v + LINES * i, i * 7 % COARSE, (i * 7 + 12 + i * 24) % COARSE);
		for (int k = 0; k < LINES; k++) v[LINES * i + k].dt_ps = (float)((k - LINES / 2) * 50);
	}
	OK(iso_scatter_at(h, ctx, t, &e, 0));
	free(v);
}

enum { PLACES = 100 };

/* Any number of threads: the same bits. */
static void threads(void **state)
{
	static iso_real h[2][PLACES * LINES];

	(void)state;
	for (int k = 0; k < 2; k++) {
		iso_ctx *ctx = cpu(1 + 2 * k);
		iso_scatter_table *t = estimate(ctx, ISO_SCATTER_SSS_MC, 390, 200000, 1, true);

		values(h[k], ctx, t, PLACES);
		iso_scatter_free(t);
		iso_ctx_free(ctx);
	}
	assert_memory_equal(h[0], h[1], sizeof h[0]);
}

/* CUDA counts the same histories: what differs is the formula's rounding. */
static void same_on(iso_ctx *device)
{
	static iso_real h[2][PLACES * LINES];
	iso_ctx *host = cpu(2), *on[2] = { host, device };
	double multiple[2];

	for (int k = 0; k < 2; k++) {
		iso_scatter_table *t = estimate(on[k], ISO_SCATTER_MC, 390, 1000000, 1, true);

		values(h[k], on[k], t, PLACES);
		multiple[k] = describe(t).multiple;
		iso_scatter_free(t);
	}
	NEAR(multiple[1], multiple[0], 1e-12);
	double most = greatest(h[0], PLACES * LINES);

	for (int i = 0; i < PLACES * LINES; i++) NEAR((double)h[1][i], (double)h[0][i], 1e-3 * most);
	iso_ctx_free(host);
}

CUDA_TEST(cuda_same, same_on)

/* Numbers that make no sense. */
static void refusals(void **state)
{
	struct iso_scatter p = { .size = sizeof p,
		                 .scanner = ring,
		                 .image = &image,
		                 .mu = &mu,
		                 .block_mm = 40,
		                 .detectors = 30,
		                 .ring_step_mm = 40 };
	iso_scatter_table *t = NULL;
	iso_ctx *ctx = cpu(1);

	(void)state;
	p.histories = -1;
	REFUSED(iso_scatter_create(&t, ctx, &p), ISO_EARG, "histories");
	p.histories = 0;
	p.error = 2;
	REFUSED(iso_scatter_create(&t, ctx, &p), ISO_EARG, "error");
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joined),    cmocka_unit_test(all_orders), cmocka_unit_test(threads),
		cmocka_unit_test(cuda_same), cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, make_phantom, free_phantom);
}
