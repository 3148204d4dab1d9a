/* SPDX-License-Identifier: BSD-3-Clause */
/* Dead time: means of frames and both fits against the reference, with and without randoms, a background, live shares,
   and what is refused. */
#include "test.h"

#include "text/json_file.h"

enum { FRAMES = 20 };

static json_t *vectors(void)
{
	json_t *root = NULL;

	OK(iso_json_read(&root, TEST_DATA "/timing/dead.json"));
	return root;
}

static void list(double v[FRAMES], const json_t *o, const char *key)
{
	const json_t *a = json_object_get(o, key);

	assert_int_equal(json_array_size(a), FRAMES);
	for (size_t i = 0; i < FRAMES; i++) v[i] = json_number_value(json_array_get(a, i));
}

static double number(const json_t *o, const char *key)
{
	assert_true(json_is_number(json_object_get(o, key)));
	return json_number_value(json_object_get(o, key));
}

static const char *const models[] = { "nonparalysable", "paralysable" };
static const char *const fits[] = { "fit_nonparalysable", "fit_paralysable" };

struct frames {
	double from[FRAMES], to[FRAMES], length[FRAMES], counts[FRAMES], randoms[FRAMES];
	struct iso_rates_series s;
};

static void times(struct frames *f, const json_t *root)
{
	list(f->from, root, "t1");
	list(f->to, root, "t2");
	for (int j = 0; j < FRAMES; j++) f->length[j] = f->to[j] - f->from[j];
	f->s = (struct iso_rates_series){ .size = sizeof f->s,
		                          .n = FRAMES,
		                          .start_s = f->from,
		                          .length_s = f->length,
		                          .counts = f->counts,
		                          .half_life_s = number(root, "half_life_s") };
}

static void means(void **state)
{
	json_t *root = vectors();
	struct frames f;
	double want[FRAMES], worst = 0, apart = 0;

	(void)state;
	times(&f, root);
	for (int m = 0; m < ISO_DEAD_TIMES; m++) {
		const json_t *o = json_object_get(root, models[m]);

		list(want, o, "mean");
		for (int j = 0; j < FRAMES; j++) {
			const enum iso_dead_time model = (enum iso_dead_time)m;
			double mean = iso_rates_mean(model, number(o, "n0"), number(o, "tau"), 0,
			                             f.s.half_life_s, f.from[j], f.to[j]);
			double points = iso_rates_mean(model, number(o, "n0"), number(o, "tau"), 1e-300,
			                               f.s.half_life_s, f.from[j], f.to[j]);

			worst = larger(fabs(mean * f.length[j] / want[j] - 1), worst);
			apart = larger(fabs(mean / points - 1), apart);
		}
	}
	BELOW(worst, 1e-12);
	BELOW(apart, 1e-12); /* closed forms and the rule of 16 points */
	assert_true(isnan(iso_rates_mean(ISO_PARALYSABLE, -1, 0, 0, 0, 0, 1)));
	NEAR(iso_rates_mean(ISO_PARALYSABLE, 2, .5, 0, 0, 0, 1), 2 * exp(-1), 1e-15);
	NEAR(iso_rates_mean(ISO_NONPARALYSABLE, 2, .5, 0, 0, 3, 3), 1, 1e-15);
	json_decref(root);
}

static void fitted(void **state)
{
	json_t *root = vectors();
	struct frames f;

	(void)state;
	times(&f, root);
	for (int m = 0; m < ISO_DEAD_TIMES; m++) {
		const json_t *o = json_object_get(root, models[m]);
		struct iso_rates r = { .size = sizeof r };

		list(f.counts, o, "counts");
		OK(iso_rates_fit(&r, &f.s));
		assert_int_equal(r.model, m);
		for (int k = 0; k < ISO_DEAD_TIMES; k++) {
			const json_t *want = json_object_get(o, fits[k]);

			NEAR(r.fit[k].n0 / number(want, "n0"), 1, 1e-6);
			NEAR(r.fit[k].tau_s / number(want, "tau"), 1, 1e-6);
			NEAR(r.fit[k].deviance / number(want, "deviance"), 1, 1e-6);
		}
	}
	json_decref(root);
}

static void with_randoms(void **state)
{
	json_t *root = vectors();
	const json_t *all = json_object_get(root, "with_randoms");
	struct frames f;

	(void)state;
	times(&f, root);
	f.s.randoms = f.randoms;
	for (int m = 0; m < ISO_DEAD_TIMES; m++) {
		const json_t *o = json_object_get(all, models[m]);
		struct iso_rates r = { .size = sizeof r };

		list(f.counts, o, "prompts");
		list(f.randoms, o, "delayed");
		OK(iso_rates_fit(&r, &f.s));
		assert_int_equal(r.model, m);
		assert_true(r.with_randoms);
		for (int k = 0; k < ISO_DEAD_TIMES; k++) {
			const json_t *want = json_object_get(o, fits[k]);

			NEAR(r.fit[k].n0 / number(want, "n0"), 1, 1e-6);
			NEAR(r.fit[k].tau_s / number(want, "tau"), 1, 1e-6);
			NEAR(r.fit[k].tau_sd_s / number(want, "tau_err"), 1, 1e-4);
			NEAR(r.fit[k].deviance / number(want, "chi2"), 1, 1e-5);
		}
	}
	json_decref(root);
}

/* Exact data with a background come back. */
static void background(void **state)
{
	struct iso_rates r = { .size = sizeof r };
	json_t *root = vectors();
	struct frames f;

	(void)state;
	times(&f, root);
	f.s.background = true;
	for (int m = 0; m < ISO_DEAD_TIMES; m++) {
		for (int j = 0; j < FRAMES; j++)
			f.counts[j] = f.length[j] * iso_rates_mean((enum iso_dead_time)m, 3e5, 8e-7, 900,
			                                           f.s.half_life_s, f.from[j], f.to[j]);
		OK(iso_rates_fit(&r, &f.s));
		assert_int_equal(r.model, m);
		NEAR(r.fit[m].n0 / 3e5, 1, 1e-7);
		NEAR(r.fit[m].tau_s / 8e-7, 1, 1e-7);
		NEAR(r.fit[m].b / 900, 1, 1e-6);
	}
	json_decref(root);
}

static void live(void **state)
{
	const double tau = 1.5e-6, n = 2e5, half_life = 6586;
	double l;

	(void)state;
	for (int m = 0; m < ISO_DEAD_TIMES; m++) {
		const enum iso_dead_time model = (enum iso_dead_time)m;
		const double fall = M_LN2 * 600 / half_life;
		const double rate = iso_rates_mean(model, n, tau, 0, half_life, 0, 600);

		OK(iso_rates_live(&l, model, tau, half_life, 100, 700, rate));
		NEAR(l * n * -expm1(-fall) / fall / rate, 1, 1e-9);
		OK(iso_rates_live(&l, model, tau, 0, 0, 1, 0));
		NEAR(l, 1, 0);
	}
	OK(iso_rates_live(&l, ISO_NONPARALYSABLE, tau, 0, 0, 1, n / (1 + n * tau)));
	NEAR(l, 1 / (1 + n * tau), 1e-12);
	REFUSED(iso_rates_live(&l, ISO_NONPARALYSABLE, tau, 0, 0, 1, 1 / tau), ISO_EINPUT,
	        "more than a scanner");
	REFUSED(iso_rates_live(&l, ISO_PARALYSABLE, tau, 0, 0, 1, .37 / tau), ISO_EINPUT,
	        "more than a scanner");
	OK(iso_rates_live(&l, ISO_PARALYSABLE, tau, 0, 0, 1, .36 / tau));
	REFUSED(iso_rates_live(&l, ISO_PARALYSABLE, tau, 0, 1, 1, 5), ISO_EARG, "frame of 0 s");
}

static void refused(void **state)
{
	struct iso_rates r = { .size = sizeof r };
	json_t *root = vectors();
	struct frames f;

	(void)state;
	times(&f, root);
	list(f.counts, json_object_get(root, "paralysable"), "counts");
	f.s.half_life_s = 0;
	REFUSED(iso_rates_fit(&r, &f.s), ISO_EARG, "half-life");
	f.s.half_life_s = 6586.2;
	f.s.n = 2;
	REFUSED(iso_rates_fit(&r, &f.s), ISO_EINPUT, "2 frames");
	f.s.n = 3; /* n tau from .6 to .3 */
	REFUSED(iso_rates_fit(&r, &f.s), ISO_EINPUT, "n tau is");
	f.s.n = FRAMES;
	f.s.randoms = f.randoms;
	for (int j = 0; j < FRAMES; j++) f.randoms[j] = j == 4 ? f.counts[j] : 1;
	REFUSED(iso_rates_fit(&r, &f.s), ISO_EINPUT, "frame 5 has");
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(means),      cmocka_unit_test(fitted), cmocka_unit_test(with_randoms),
		cmocka_unit_test(background), cmocka_unit_test(live),   cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
