/* SPDX-License-Identifier: BSD-3-Clause */
/* Time offsets and resolution: against the reference's maximum of the likelihood, densities against sums over
   points, simulated crystals with randoms, parts, bins, and one sigma a crystal. */
#include "test.h"

#include "commission/time_density.h"
#include "core/philox.h"
#include "isotome/timing.h"

static const char dir[] = TEST_DATA "/timing";

enum { EVENTS = 15000, CRYSTALS = 96 };

struct vectors {
	struct iso_timing_data d;
	void *of[4];
	double *offset, *sd;
};

static struct vectors load(void)
{
	struct vectors v = { .d = { .size = sizeof v.d, .n = EVENTS, .crystals = CRYSTALS } };

	v.d.crystal = v.of[0] = test_data(dir, "crystal.u32", 2 * EVENTS, 4);
	v.d.dt_ps = v.of[1] = test_data(dir, "dt.f32", EVENTS, 4);
	v.d.lo_ps = v.of[2] = test_data(dir, "lo.f32", EVENTS, 4);
	v.d.hi_ps = v.of[3] = test_data(dir, "hi.f32", EVENTS, 4);
	v.offset = calloc(CRYSTALS, sizeof *v.offset);
	v.sd = calloc(CRYSTALS, sizeof *v.sd);
	assert_true(v.offset && v.sd);
	return v;
}

static void unload(struct vectors *v)
{
	for (int i = 0; i < 4; i++) free(v->of[i]);
	free(v->offset);
	free(v->sd);
}

static double farthest(const double *v, const char *name)
{
	double *want = test_data(dir, name, CRYSTALS, sizeof *want), most = 0;

	for (int a = 0; a < CRYSTALS; a++) most = larger(fabs(v[a] - want[a]), most);
	free(want);
	return most;
}

static const struct iso_timing_options of_vectors = { .size = sizeof of_vectors,
	                                              .window_ps = 4500,
	                                              .share = .2 };

static void reference(void **state)
{
	struct iso_timing_options o = of_vectors;
	struct iso_timing_info info = { .size = sizeof info };
	struct vectors v = load();
	iso_ctx *ctx = cpu(2);

	(void)state;
	o.least_squares = true;
	OK(iso_timing_fit(v.offset, v.sd, NULL, NULL, ctx, &v.d, &o));
	BELOW(farthest(v.offset, "least_squares.f64"), 1e-3);
	o.least_squares = false;
	OK(iso_timing_fit(v.offset, v.sd, NULL, &info, ctx, &v.d, &o));
	BELOW(farthest(v.offset, "offsets.f64"), 1e-3);
	NEAR(info.sigma_ps, 105.32782110344363, 1e-3);
	NEAR(info.loglik, -108566.2478191093, 1e-9 * 108566);
	assert_int_equal(info.parts, 1);
	assert_int_equal(info.unseen, 0);
	BELOW(info.steps, 30);
	iso_ctx_free(ctx);
	unload(&v);
}

/* The errors by the Fisher matrix, against what was drawn; and with the share of randoms fitted as well. */
static void truth(void **state)
{
	struct iso_timing_options o = of_vectors;
	struct iso_timing_info info = { .size = sizeof info };
	struct vectors v = load();
	iso_ctx *ctx = cpu(1);
	float *true_ = test_data(dir, "true.f32", CRYSTALS, 4);

	(void)state;
	for (int fitted = 0; fitted < 2; fitted++) {
		double mean = 0, chi2 = 0;

		o.share = fitted ? 0 : .2;
		OK(iso_timing_fit(v.offset, v.sd, NULL, &info, ctx, &v.d, &o));
		for (int a = 0; a < CRYSTALS; a++) mean += ((double)true_[a] - v.offset[a]) / CRYSTALS;
		for (int a = 0; a < CRYSTALS; a++)
			chi2 += pow(((double)true_[a] - v.offset[a] - mean) / v.sd[a], 2) / CRYSTALS;
		NEAR(chi2, 1, 4 * sqrt(2. / CRYSTALS));
		NEAR(info.share, .2, .012);
	}
	free(true_);
	iso_ctx_free(ctx);
	unload(&v);
}

/* Pieces that make up the stretch are the stretch. */
static int in_pieces(void *arg, struct iso_timing_piece piece[ISO_TIMING_PIECES], int64_t j)
{
	const struct iso_timing_data *d = arg;
	const double lo = d->lo_ps[j], hi = d->hi_ps[j];

	for (int i = 0; i < 5; i++)
		piece[i] =
			(struct iso_timing_piece){ lo + (hi - lo) * i / 5, lo + (hi - lo) * (i + 1) / 5, 2 };
	return 5;
}

static void pieces(void **state)
{
	struct vectors v = load();
	struct iso_timing_data d = v.d;
	double offset[CRYSTALS], farthest_off = 0;
	iso_ctx *ctx = cpu(2);

	(void)state;
	d.lo_ps = d.hi_ps = NULL;
	d.pieces = in_pieces;
	d.arg = &v.d;
	d.n = v.d.n = 8000;
	OK(iso_timing_fit(v.offset, v.sd, NULL, NULL, ctx, &v.d, &of_vectors));
	OK(iso_timing_fit(offset, v.sd, NULL, NULL, ctx, &d, &of_vectors));
	for (int a = 0; a < CRYSTALS; a++) farthest_off = larger(fabs(offset[a] - v.offset[a]), farthest_off);
	BELOW(farthest_off, 1e-3);
	iso_ctx_free(ctx);
	unload(&v);
}

/* ---- densities ---- */

static double by_points(double x, double s, double lo, double hi, double bin)
{
	double sum = 0;

	for (int i = 0; i < 400; i++)
		for (int k = 0; k < (bin > 0 ? 100 : 1); k++) {
			double at = x + (bin > 0 ? bin * ((k + .5) / 100 - .5) : 0);

			sum += time_point((at - lo - (hi - lo) * (i + .5) / 400) / s, s).b / 400 /
			       (bin > 0 ? 100 : 1);
		}
	return sum;
}

static void densities(void **state)
{
	const double at[] = { -700, -120, 0, 30, 410 }, h = .01;

	(void)state;
	for (int i = 0; i < N_OF(at); i++)
		for (int w = 0; w < 2; w++)
			for (int b = 0; b < 2; b++) {
				const double hi = w ? 250 : -19.95, lo = -20, s = 110, bin = 90, x = at[i];
				struct time_density r =
					b ? time_binned(x, s, lo, hi, bin) : time_stretch(x, s, lo, hi);
				struct time_density up = b ? time_binned(x + h, s, lo, hi, bin)
				                           : time_stretch(x + h, s, lo, hi);
				struct time_density down = b ? time_binned(x - h, s, lo, hi, bin)
				                             : time_stretch(x - h, s, lo, hi);
				struct time_density wide = b ? time_binned(x, s * (1 + 1e-5), lo, hi, bin)
				                             : time_stretch(x, s * (1 + 1e-5), lo, hi);
				struct time_density slim = b ? time_binned(x, s * (1 - 1e-5), lo, hi, bin)
				                             : time_stretch(x, s * (1 - 1e-5), lo, hi);

				NEAR(r.b, by_points(x, s, lo, hi, b * bin), 2e-4 * r.b + 1e-15);
				NEAR(r.slope, (up.b - down.b) / (2 * h), 1e-5 * fabs(r.slope) + 1e-11);
				NEAR(r.wider, (wide.b - slim.b) / 2e-5, 1e-5 * fabs(r.wider) + 1e-10);
			}
}

/* ---- simulated crystals ---- */

struct drawn {
	struct iso_timing_data d;
	uint32_t *crystal;
	float *dt, *lo, *hi;
	double *offset, *sigma, *fit, *sd, *fit_sigma;
};

static double uniform(uint32_t j, uint32_t k)
{
	const struct philox r = philox_draw(7, j, k);

	return philox_unit_double(r.w[0], r.w[1]);
}

static double gauss(uint32_t j, uint32_t k)
{
	return sqrt(-2 * log(uniform(j, 2 * k))) * cos(2 * M_PI * uniform(j, 2 * k + 1));
}

/* n events of N crystals; parts: crystals of one half see only those of their half. */
static struct drawn draw(int n, int crystals, double randoms, int parts, double spread)
{
	struct drawn r = { .d = { .size = sizeof r.d, .n = n, .crystals = crystals } };

	r.crystal = calloc(2 * (size_t)n, 4);
	r.dt = calloc((size_t)n, 4);
	r.lo = calloc((size_t)n, 4);
	r.hi = calloc((size_t)n, 4);
	r.offset = calloc(5 * (size_t)crystals, sizeof *r.offset);
	r.sigma = r.offset + crystals;
	r.fit = r.sigma + crystals;
	r.sd = r.fit + crystals;
	r.fit_sigma = r.sd + crystals;
	for (int a = 0; a < crystals; a++) {
		r.offset[a] = 120 * gauss((uint32_t)a, 1000);
		r.sigma[a] = 80 * (1 + spread * gauss((uint32_t)a, 2000));
	}
	for (int j = 0; j < n; j++) {
		const uint32_t i = (uint32_t)j;
		const int half = crystals / parts, side = parts > 1 && uniform(i, 0) < .5 ? half : 0;
		const int a = side + (int)(uniform(i, 1) * half);
		const int b = side + (a - side + 1 + (int)(uniform(i, 2) * (half - 1))) % half;
		const double lo = 200 * gauss(i, 5), w = 300 * uniform(i, 3);

		r.crystal[2 * j] = (uint32_t)a;
		r.crystal[2 * j + 1] = (uint32_t)b;
		r.lo[j] = (float)lo;
		r.hi[j] = (float)(lo + w);
		r.dt[j] = (float)(uniform(i, 4) < randoms
		                          ? 4000 * (2 * uniform(i, 8) - 1)
		                          : lo + w * uniform(i, 9) + r.offset[a] - r.offset[b] +
		                                    hypot(r.sigma[a], r.sigma[b]) * gauss(i, 6));
	}
	r.d.crystal = r.crystal;
	r.d.dt_ps = r.dt;
	r.d.lo_ps = r.lo;
	r.d.hi_ps = r.hi;
	return r;
}

static void forget(struct drawn *r)
{
	free(r->crystal);
	free(r->dt);
	free(r->lo);
	free(r->hi);
	free(r->offset);
}

/* Enough events that threads share them. */
static void threads(void **state)
{
	const struct iso_timing_options o = { .size = sizeof o, .window_ps = 4000, .share = .1 };
	struct drawn r = draw(70000, 24, .1, 1, 0);

	(void)state;
	for (int t = 1; t <= 5; t += 2) {
		iso_ctx *ctx = cpu(t);

		OK(iso_timing_fit(t == 1 ? r.fit : r.fit_sigma, r.sd, NULL, NULL, ctx, &r.d, &o));
		if (t > 1) assert_memory_equal(r.fit, r.fit_sigma, 24 * sizeof *r.fit);
		iso_ctx_free(ctx);
	}
	forget(&r);
}

/* Mean square of (fit - truth)/sd over crystals first ... first + n - 1, both less their means. */
static double pull(const struct drawn *r, int first, int n)
{
	double mean = 0, sum = 0;

	for (int a = first; a < first + n; a++) mean += (r->fit[a] - r->offset[a]) / n;
	for (int a = first; a < first + n; a++)
		sum += pow((r->fit[a] - r->offset[a] - mean) / r->sd[a], 2) / n;
	return sum;
}

/* A third of the events random; two halves that do not see each other: each has a mean of 0. */
static void parts(void **state)
{
	const int crystals = 60;
	const struct iso_timing_options o = { .size = sizeof o, .window_ps = 4000 };
	struct iso_timing_info info = { .size = sizeof info };
	struct drawn r = draw(sized(24000, 8000), crystals, .3, 2, 0);
	double mean[2] = { 0, 0 };
	iso_ctx *ctx = cpu(2);

	(void)state;
	OK(iso_timing_fit(r.fit, r.sd, NULL, &info, ctx, &r.d, &o));
	assert_int_equal(info.parts, 2);
	for (int a = 0; a < crystals; a++) mean[a >= crystals / 2] += r.fit[a];
	NEAR(mean[0], 0, 1e-9);
	NEAR(mean[1], 0, 1e-9);
	for (int side = 0; side < 2; side++) NEAR(pull(&r, side * 30, 30), 1, 4 * sqrt(2. / 30));
	NEAR(info.sigma_ps, 80 * sqrt(2), 5 * info.sigma_sd_ps);
	NEAR(info.share, .3, .02);
	iso_ctx_free(ctx);
	forget(&r);
}

/* Crystals of their own widths: errors of a few per cent, no bias. */
static void crystals_apart(void **state)
{
	const int crystals = 24;
	struct iso_timing_options o = {
		.size = sizeof o, .window_ps = 4000, .share = .2, .per_crystal = true
	};
	struct drawn r = draw(sized(20000, 8000), crystals, .2, 1, .2);
	const double error = sqrt(1. / (2 * (double)r.d.n / crystals)) * 2.5;
	double mean = 0, square = 0;
	iso_ctx *ctx = cpu(2);

	(void)state;
	OK(iso_timing_fit(r.fit, r.sd, r.fit_sigma, NULL, ctx, &r.d, &o));
	for (int a = 0; a < crystals; a++) {
		const double e = r.fit_sigma[a] / r.sigma[a] - 1;

		mean += e / crystals;
		square += e * e / crystals;
	}
	BELOW(fabs(mean), error);
	BELOW(sqrt(square), 2 * error);
	NEAR(pull(&r, 0, crystals), 1, 4 * sqrt(2. / crystals));
	REFUSED(iso_timing_fit(r.fit, r.sd, NULL, NULL, ctx, &r.d, &o), ISO_EARG, "NULL");
	iso_ctx_free(ctx);
	forget(&r);
}

/* Times that are centres of wide bins: sigma as of times that are not binned. */
static void bins(void **state)
{
	struct iso_timing_options o = { .size = sizeof o, .window_ps = 4000, .share = .1, .bin_ps = 200 };
	struct iso_timing_info info = { .size = sizeof info };
	struct drawn r = draw(sized(20000, 8000), 24, .1, 1, 0);
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int64_t j = 0; j < r.d.n; j++) r.dt[j] = 200 * roundf(r.dt[j] / 200);
	OK(iso_timing_fit(r.fit, r.sd, NULL, &info, ctx, &r.d, &o));
	NEAR(info.sigma_ps, 80 * sqrt(2), 4 * info.sigma_sd_ps);
	NEAR(pull(&r, 0, 24), 1, 4 * sqrt(2. / 24));
	iso_ctx_free(ctx);
	forget(&r);
}

static void refused(void **state)
{
	struct iso_timing_options o = { .size = sizeof o, .window_ps = 4000 };
	struct drawn r = draw(100, 10, 0, 1, 0);
	iso_ctx *ctx = cpu(1);

	(void)state;
	r.crystal[5] = 10;
	REFUSED(iso_timing_fit(r.fit, r.sd, NULL, NULL, ctx, &r.d, &o), ISO_EARG, "event 2 is of crystals");
	r.crystal[5] = 9;
	r.dt[3] = NAN;
	REFUSED(iso_timing_fit(r.fit, r.sd, NULL, NULL, ctx, &r.d, &o), ISO_EARG, "event 3 has a time");
	r.dt[3] = 0;
	o.window_ps = 0;
	REFUSED(iso_timing_fit(r.fit, r.sd, NULL, NULL, ctx, &r.d, &o), ISO_EARG, "window");
	r.d.n = 0;
	REFUSED(iso_timing_fit(r.fit, r.sd, NULL, NULL, ctx, &r.d, &o), ISO_EINPUT, "no events");
	iso_ctx_free(ctx);
	forget(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference),      cmocka_unit_test(truth),     cmocka_unit_test(threads),
		cmocka_unit_test(pieces),         cmocka_unit_test(densities), cmocka_unit_test(parts),
		cmocka_unit_test(crystals_apart), cmocka_unit_test(bins),      cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
