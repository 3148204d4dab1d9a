/* SPDX-License-Identifier: BSD-3-Clause */
/* Spectra of traces against sums term by term; also built in double, for its float64 tolerances. */
#include "test.h"

enum { TRANS = 4 };

/* Which lines of which records. */
struct lines_of {
	int64_t samples;
	double dt_us, first_us;
	double f0_mhz, df_mhz; /* 0: lines of the record padded to twice its length, up to fmax */
	int64_t lines;
	double fmax_mhz;
};

static const struct lines_of cases[] = {
	{ 256, .025, 0, 0, 0, 0, 10 },           /* powers of two */
	{ 330, .025, 12.5, 0, 0, 0, 20 },        /* up to half the sampling rate */
	{ 511, .025, 17.3, 0, 0, 0, 10 },        /* odd */
	{ 2, .1, 3, 0, 0, 0, 5 },                /* the shortest */
	{ 300, .1, 1.7, .25, .05, 90, 0 },       /* folded to 200 samples */
	{ 300, .1, 1.7, 0, .05, 101, 0 },        /* from 0 MHz to half the sampling rate */
	{ 300, .1, 17.5, .613, .0471, 90, 0 },   /* lines of no folded trace */
	{ 777, .05, 17.5, .01, .02, 300, 0 },    /* beside multiples */
	{ 64, .1, 0, 1, 1e-6, 50, 0 },           /* of a very long period */
	{ 64, .1, 2, 4, 2.47, 40, 0 },           /* far above half the sampling rate */
	{ 401, .0333, 5, 2.2, 1, 1, 0 },         /* one line */
	{ 4096, .025, 500 * .025, 0, 0, 0, .5 }, /* as measured */
};

static struct iso_transducers transducers(const struct lines_of *c)
{
	struct iso_transducers t = { .n = TRANS,
		                     .speed = 1.5,
		                     .dt_us = c->dt_us,
		                     .first_us = c->first_us,
		                     .samples = c->samples,
		                     .gamma = 1,
		                     .pos = calloc(3 * TRANS, sizeof(double)),
		                     .normal = calloc(3 * TRANS, sizeof(double)),
		                     .ex = calloc(3 * TRANS, sizeof(double)),
		                     .ey = calloc(3 * TRANS, sizeof(double)) };

	for (int q = 0; q < TRANS; q++) {
		t.pos[3 * q] = q;
		t.normal[3 * q + 2] = 1;
		iso_transducer_frame(t.ex + 3 * q, t.ey + 3 * q, t.normal + 3 * q);
	}
	return t;
}

static struct iso_svoxel lines_of(const struct lines_of *c, const struct iso_transducers *t)
{
	struct iso_svoxel p = { .size = sizeof p, .t = t };

	if (c->df_mhz > 0)
		OK(iso_svoxel_lines_at(&p, c->f0_mhz, c->df_mhz, c->lines));
	else
		OK(iso_svoxel_lines(&p, c->fmax_mhz));
	return p;
}

static iso_real *noise(int64_t n)
{
	iso_ctx *ctx = cpu(1);
	iso_real *v = calloc((size_t)n, sizeof *v);

	OK(iso_ctx_vec(ctx)->uniform(ctx, n, v, 39));
	iso_ctx_free(ctx);
	for (int64_t i = 0; i < n; i++) v[i] -= (iso_real).5;
	return v;
}

static iso_real *sums(const struct iso_svoxel *p, const iso_real *traces)
{
	const struct iso_transducers *t = p->t;
	iso_real *u = calloc((size_t)(2 * t->n * p->lines), sizeof *u);

	for (int64_t l = 0; l < p->lines; l++) {
		double f = iso_svoxel_line_mhz(p, l), sum[TRANS][2] = { { 0 } };

		for (int64_t k = 0; k < t->samples; k++) {
			long double turns = f * ((long double)t->first_us + (long double)k * t->dt_us);
			double angle = -2 * M_PI * (double)(turns - rintl(turns)), re = t->dt_us * cos(angle),
			       im = t->dt_us * sin(angle);

			for (int q = 0; q < TRANS; q++) {
				sum[q][0] += traces[q * t->samples + k] * re;
				sum[q][1] += traces[q * t->samples + k] * im;
			}
		}
		for (int i = 0; i < 2 * TRANS; i++)
			u[2 * (i / 2 * p->lines + l) + i % 2] = (iso_real)sum[i / 2][i % 2];
	}
	return u;
}

static void check_spectra(iso_ctx *ctx)
{
	for (int i = 0; i < N_OF(cases); i++) {
		struct iso_transducers t = transducers(&cases[i]);
		struct iso_svoxel p = lines_of(&cases[i], &t);
		iso_real *y = noise(t.n * t.samples), *want = sums(&p, y);
		iso_real *u = calloc((size_t)(2 * t.n * p.lines), sizeof *u);

		OK(iso_svoxel_spectra(u, ctx, &p, y));
		BELOW(relative_difference(2 * t.n * p.lines, u, want), TOLERANCE(1e-6, 1e-12));
		free(y);
		free(u);
		free(want);
		iso_transducers_free(&t);
	}
}

static void spectra(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_spectra(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_spectra, check_spectra)

/* A trace has the same bits beside any others, by any number of threads; a silent one is 0. */
static void alone(void **state)
{
	iso_ctx *two = cpu(2), *three = cpu(3);

	(void)state;
	for (int i = 4; i < 8; i++) {
		struct iso_transducers t = transducers(&cases[i]);
		struct iso_svoxel p = lines_of(&cases[i], &t);
		int64_t n = 2 * p.lines;
		iso_real *y = noise(t.n * t.samples), *u = calloc((size_t)(TRANS * n), sizeof *u),
			 *v = calloc((size_t)n, sizeof *v);

		memset(y + t.samples, 0, (size_t)t.samples * sizeof *y);
		OK(iso_svoxel_spectra(u, two, &p, y));
		for (int64_t k = n; k < 2 * n; k++) NEAR(u[k], 0, 0);
		t.n = 1;
		OK(iso_svoxel_spectra(v, three, &p, y + 3 * t.samples));
		assert_memory_equal(v, u + 3 * n, (size_t)n * sizeof *v);
		free(y);
		free(u);
		free(v);
		iso_transducers_free(&t);
	}
	iso_ctx_free(two);
	iso_ctx_free(three);
}

static void refusals(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_transducers t = transducers(&cases[0]);
	struct iso_svoxel p = lines_of(&cases[0], &t);
	iso_real y[1] = { 0 }, u[1] = { 0 };

	(void)state;
	p.df_mhz = 0;
	REFUSED(iso_svoxel_spectra(u, ctx, &p, y), ISO_EARG, "0 MHz apart");
	p.df_mhz = 1;
	p.lines = 0;
	REFUSED(iso_svoxel_spectra(u, ctx, &p, y), ISO_EARG, "0 lines");
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spectra),
		cmocka_unit_test(cuda_spectra),
		cmocka_unit_test(alone),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
