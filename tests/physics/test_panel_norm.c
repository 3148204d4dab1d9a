/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation of two panels: known efficiencies and dead crystals found again, exactly without
   noise and within statistics with it; a table worked by hand; what is refused.
   This test is also built in double. */
#include "test.h"

#include "core/philox.h"

static const struct iso_panels two_layers = { .crystals = { 4, 6 }, .layers = 2 };
enum { FACE = 4 * 6, HEAD = 2 * FACE, LORS = HEAD * HEAD, DIRECTIONS = 2 * HEAD };

static double unit(uint64_t seed, int i)
{
	return (double)philox_unit(philox_draw(seed, (uint64_t)i, 0).w[0]);
}

/* Crystals of LOR i, numbered as their efficiencies, and its unsigned direction. */
static void lor(int *u, int *l, int *d, int i)
{
	int ab = i / FACE / FACE, a = ab / 2, b = ab % 2, up = i / FACE % FACE, low = i % FACE;

	*u = a * FACE + up;
	*l = HEAD + b * FACE + low;
	*d = (ab * 4 + abs(low / 6 - up / 6)) * 6 + abs(low % 6 - up % 6);
}

/* Efficiencies from 0.5 to 1.5, two upper and one lower crystal dead; factors of directions from
   0.8 to 1.2; some LORs expect nothing. */
struct truth {
	double c[2 * HEAD], f[DIRECTIONS];
	iso_real e[LORS], y[LORS], n[LORS];
};

static struct truth *make_truth(double counts, bool directions)
{
	struct truth *t = calloc(1, sizeof *t);

	for (int i = 0; i < 2 * HEAD; i++) t->c[i] = .5 + unit(1, i);
	t->c[3] = t->c[FACE + 7] = t->c[HEAD + 11] = 0;
	for (int i = 0; i < DIRECTIONS; i++) t->f[i] = directions ? .8 + .4 * unit(2, i) : 1;
	for (int i = 0; i < LORS; i++) {
		int u, l, d;

		lor(&u, &l, &d, i);
		t->e[i] = (iso_real)(unit(3, i) < .05 ? 0 : counts * (.1 + unit(4, i)));
		t->y[i] = (iso_real)(t->c[u] * t->c[l] * t->f[d] * (double)t->e[i]);
	}
	return t;
}

static void norm(struct truth *t, double *c, struct iso_norm_figures *f, int threads,
                 struct iso_norm_options o)
{
	iso_ctx *ctx = cpu(threads);

	o.size = sizeof o;
	OK(iso_panel_norm(t->n, c, f, ctx, &two_layers, t->y, t->e, &o));
	iso_ctx_free(ctx);
}

static void equal_counts_give_one(void **state)
{
	static const struct iso_norm_options every[] = {
		{ 0 },
		{ .per_lor = true },
		{ .directions = true },
		{ .relative = true },
	};
	struct truth *t = make_truth(10, false);

	(void)state;
	for (int i = 0; i < LORS; i++) t->y[i] = t->e[i];
	for (int k = 0; k < N_OF(every); k++) {
		struct iso_norm_figures f = { .size = sizeof f };

		norm(t, NULL, &f, 2, every[k]);
		for (int i = 0; i < LORS; i++)
			NEAR((double)t->n[i], every[k].per_lor && t->e[i] == 0 ? 0 : 1, 1e-6);
		NEAR(f.mean, 1, 1e-6);
		NEAR(f.spread, 0, 1e-6);
		assert_int_equal(f.dead[0] + f.dead[1], 0);
	}
	free(t);
}

/* Rows 10 0 and 20 30 that expect 1 each: m = row column / total (the likelihood's maximum of
   independent rows and columns). */
static void table_by_hand(void **state)
{
	const struct iso_panels p = { .crystals = { 1, 2 }, .layers = 1 };
	const iso_real y[4] = { 10, 0, 20, 30 }, e[4] = { 1, 1, 1, 1 };
	const double want[4] = { 5, 5, 25, 25 };
	struct iso_norm_figures f = { .size = sizeof f };
	iso_ctx *ctx = cpu(1);
	double c[4];
	iso_real n[4];

	(void)state;
	OK(iso_panel_norm(n, c, &f, ctx, &p, y, e,
	                  &(struct iso_norm_options){ .size = sizeof(struct iso_norm_options) }));
	for (int i = 0; i < 4; i++) {
		NEAR((double)n[i], want[i], 1e-4);
		NEAR(c[i / 2] * c[2 + i % 2], want[i], 1e-4);
	}
	NEAR(c[0] + c[1], c[2] + c[3], 1e-5);
	/* 4 LORs less 3 efficiencies: (5^2 + 5^2) / 5 + (5^2 + 5^2) / 25 */
	NEAR(f.misfit, 12, 1e-3);
	NEAR(f.counts, 60, 0);
	NEAR(f.fewest, 10, 0);
	assert_int_equal(f.few, 4);
	iso_ctx_free(ctx);
}

static void efficiencies_without_noise(void **state)
{
	(void)state;
	for (int directions = 0; directions < 2; directions++) {
		struct truth *t = make_truth(100, directions);
		struct iso_norm_figures f = { .size = sizeof f };
		double c[2 * HEAD];

		norm(t, c, &f, 2,
		     (struct iso_norm_options){ .size = sizeof(struct iso_norm_options),
		                                .directions = directions });
		for (int i = 0; i < LORS; i++) {
			int u, l, d;

			lor(&u, &l, &d, i);
			NEAR((double)t->n[i], t->c[u] * t->c[l] * t->f[d], 5e-6);
			assert_true((t->n[i] == 0) == (t->c[u] * t->c[l] == 0));
		}
		assert_int_equal(f.dead[0], 2);
		assert_int_equal(f.dead[1], 1);
		assert_int_equal(f.unseen[0] + f.unseen[1], 0);
		assert_int_equal(f.dead_lors, LORS - (HEAD - 2) * (HEAD - 1));
		NEAR(f.misfit, 0, 1e-6);
		free(t);
	}
}

/* With N counts a crystal an efficiency is off by 1/sqrt(N), so that the squares of the errors over
   that are a chi-square. The scale of both heads is known better. */
static void efficiencies_with_noise(void **state)
{
	struct truth *t = make_truth(20, false);
	struct iso_norm_figures f = { .size = sizeof f };
	double c[2 * HEAD], counts[2 * HEAD] = { 0 }, scale[2] = { 0 }, chi = 0;

	(void)state;
	for (int i = 0; i < LORS; i++) {
		int u, l, d;

		lor(&u, &l, &d, i);
		t->y[i] = (iso_real)iso_poisson((double)t->y[i], 7, (uint64_t)i);
		counts[u] += (double)t->y[i];
		counts[l] += (double)t->y[i];
	}
	norm(t, c, &f, 2, (struct iso_norm_options){ .size = sizeof(struct iso_norm_options) });
	for (int i = 0; i < 2 * HEAD; i++)
		scale[i / HEAD] += t->c[i] > 0 ? c[i] / t->c[i] / (i < HEAD ? HEAD - 2 : HEAD - 1) : 0;
	for (int i = 0; i < 2 * HEAD; i++) {
		double off = t->c[i] > 0 ? c[i] / t->c[i] / scale[i / HEAD] - 1 : 0;

		assert_true((c[i] == 0) == (t->c[i] == 0));
		chi += off * off * counts[i];
	}
	NEAR(scale[0] * scale[1], 1, .02);
	NEAR(chi, 2 * HEAD - 5, 5 * sqrt(4. * HEAD));
	NEAR(f.misfit, 1, 5 * sqrt(2. / LORS));
	assert_true(f.noise < .05 && f.noise > .03 && f.spread > .2 && f.spread < .35);
	assert_true(f.few > 50 && f.fewest > 100 && f.fewest < 600);
	free(t);
}

static void plain_ratios(void **state)
{
	struct truth *t = make_truth(50, true);
	struct iso_norm_figures f = { .size = sizeof f };

	(void)state;
	norm(t, NULL, &f, 1,
	     (struct iso_norm_options){ .size = sizeof(struct iso_norm_options), .per_lor = true });
	for (int i = 0; i < LORS; i++)
		NEAR((double)t->n[i], t->e[i] > 0 ? (double)t->y[i] / (double)t->e[i] : 0, 1e-6);
	assert_int_equal(f.dead[0], 2);
	assert_true(f.dead_lors > LORS - (HEAD - 2) * (HEAD - 1));
	NEAR(f.misfit, 0, 0);
	free(t);
}

/* Ten times the counts: n is the same, and 1 on average over living LORs. */
static void relative(void **state)
{
	(void)state;
	for (int per_lor = 0; per_lor < 2; per_lor++) {
		struct truth *t = make_truth(100, false), *more = make_truth(100, false);
		struct iso_norm_options o = { .size = sizeof o, .per_lor = per_lor, .relative = true };
		double weighted = 0, all = 0, c[2 * HEAD];
		struct iso_norm_figures f = { .size = sizeof f }, g = { .size = sizeof g };

		for (int i = 0; i < LORS; i++) more->y[i] *= 10;
		norm(t, per_lor ? NULL : c, &f, 2, o);
		norm(more, NULL, &g, 2, o);
		for (int i = 0; i < LORS; i++) {
			int u, l, d;

			lor(&u, &l, &d, i);
			NEAR((double)more->n[i], (double)t->n[i], 1e-5);
			if (!per_lor) NEAR(c[u] * c[l], (double)t->n[i], 1e-6);
			weighted += (double)t->n[i] * (double)t->e[i];
			all += t->n[i] > 0 ? (double)t->e[i] : 0;
		}
		NEAR(weighted / all, 1, 1e-6);
		NEAR(f.mean, g.mean, 1e-5);
		NEAR(f.noise, sqrt(10) * g.noise, 1e-4);
		free(t);
		free(more);
	}
}

static void any_threads_and_in_place(void **state)
{
	struct iso_norm_options o = { .size = sizeof o, .directions = true };
	struct truth *t = make_truth(20, true), *s = make_truth(20, true);
	struct iso_norm_figures f = { .size = sizeof f }, g = { .size = sizeof g };
	iso_ctx *ctx = cpu(3);

	(void)state;
	norm(t, NULL, &f, 1, o);
	OK(iso_panel_norm(s->y, NULL, &g, ctx, &two_layers, s->y, s->e, &o));
	assert_memory_equal(t->n, s->y, sizeof t->n);
	assert_memory_equal(&f.misfit, &g.misfit, sizeof f.misfit);
	iso_ctx_free(ctx);
	free(t);
	free(s);
}

/* Fan sums of v, upper and lower. */
static void fans(double sum[2 * HEAD], const iso_real *v, const iso_real *n)
{
	for (int i = 0; i < 2 * HEAD; i++) sum[i] = 0;
	for (int i = 0; i < LORS; i++) {
		int u, l, d;

		lor(&u, &l, &d, i);
		sum[u] += (double)v[i] * (n ? (double)n[i] : 1);
		sum[l] += (double)v[i] * (n ? (double)n[i] : 1);
	}
}

/* Expected counts that miss every fifth LOR, as a short simulation does: fan by fan, n e still
   makes the counts. */
static void missed_lors_count(void **state)
{
	struct truth *t = make_truth(100, false);
	double want[2 * HEAD], got[2 * HEAD];
	struct iso_norm_figures f = { .size = sizeof f };

	(void)state;
	for (int i = 0; i < LORS; i++) t->e[i] = unit(5, i) < .2 ? 0 : t->e[i];
	norm(t, NULL, &f, 2, (struct iso_norm_options){ .size = sizeof(struct iso_norm_options) });
	fans(want, t->y, NULL);
	fans(got, t->e, t->n);
	for (int i = 0; i < 2 * HEAD; i++) NEAR(got[i], want[i], 1e-5 * want[i]);
	NEAR(f.stray, 0, 0);
	free(t);
}

/* A crystal that expects nothing is not known, whatever it counts. */
static void unseen_crystal(void **state)
{
	struct truth *t = make_truth(100, false);
	struct iso_norm_figures f = { .size = sizeof f };

	(void)state;
	for (int i = 0; i < LORS; i++) {
		int u, l, d;

		lor(&u, &l, &d, i);
		if (u == 5) t->e[i] = t->y[i] = 0;
		if (u == 5 && l == HEAD + 2) t->y[i] = 4;
	}
	norm(t, NULL, &f, 2, (struct iso_norm_options){ .size = sizeof(struct iso_norm_options) });
	for (int i = 0; i < LORS; i++) {
		int u, l, d;

		lor(&u, &l, &d, i);
		assert_true((t->n[i] == 0) == (u == 5 || t->c[u] * t->c[l] == 0));
	}
	NEAR(f.stray, 4, 0);
	assert_int_equal(f.dead[0], 3);
	assert_int_equal(f.unseen[0], 1);
	assert_int_equal(f.unseen[1], 0);
	free(t);
}

static void refused(void **state)
{
	struct truth *t = make_truth(10, false);
	struct iso_norm_options o = { .size = sizeof o };
	struct iso_norm_figures f = { .size = sizeof f };
	iso_ctx *ctx = cpu(1);
	iso_real was = t->y[1000];
	double c[2 * HEAD];

	(void)state;
#define TRY(c_) iso_panel_norm(t->n, c_, &f, ctx, &two_layers, t->y, t->e, &o)
	t->y[1000] = -1;
	REFUSED(TRY(NULL), ISO_EINPUT, "LOR 1000 has -1 counts");
	t->y[1000] = was;
	t->e[9] = NAN;
	REFUSED(TRY(NULL), ISO_EINPUT, "LOR 9 has");
	t->e[9] = INFINITY;
	REFUSED(TRY(NULL), ISO_EINPUT, "LOR 9 has");
	t->e[9] = 1;
	o = (struct iso_norm_options){ .size = sizeof(struct iso_norm_options),
		                       .per_lor = true,
		                       .directions = true };
	REFUSED(TRY(NULL), ISO_EARG, "directions");
	o = (struct iso_norm_options){ .size = sizeof(struct iso_norm_options), .per_lor = true };
	REFUSED(TRY(c), ISO_EARG, "no efficiencies of crystals");
	for (int i = 0; i < FACE * FACE; i++) t->e[i] = 0;
	REFUSED(TRY(NULL), ISO_EINPUT, "in LORs where none are expected");
	o = (struct iso_norm_options){ .size = sizeof(struct iso_norm_options) };
	for (int i = 0; i < 2 * FACE * FACE; i++) t->e[i] = 0;
	REFUSED(TRY(NULL), ISO_EINPUT, "in crystals where none are expected");
	for (int i = 0; i < LORS; i++) t->y[i] = 0;
	REFUSED(TRY(NULL), ISO_EINPUT, "no counts");
	t->y[LORS - 1] = t->e[LORS - 1] = 1;
	iso_ctx_cancel(ctx);
	REFUSED(TRY(NULL), ISO_ECANCEL, "");
	iso_ctx_free(ctx);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_counts_give_one),
		cmocka_unit_test(table_by_hand),
		cmocka_unit_test(efficiencies_without_noise),
		cmocka_unit_test(efficiencies_with_noise),
		cmocka_unit_test(plain_ratios),
		cmocka_unit_test(relative),
		cmocka_unit_test(any_threads_and_in_place),
		cmocka_unit_test(missed_lors_count),
		cmocka_unit_test(unseen_crystal),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
