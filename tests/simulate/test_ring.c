/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of the ideal ring: on the ring, from the right places, the same in every split and for
   every number of threads, distributed as a plain simulation without short cuts. */
#include "test.h"

#define C_MM_PER_PS .299792458

static const struct iso_ring ring = { .radius = 330, .length = 260, .seed = 5 };

static struct iso_event *events(const struct iso_ring *p, int64_t first, int64_t n, int threads)
{
	iso_ctx *ctx = cpu(threads);
	struct iso_event *e = calloc((size_t)n, sizeof *e);

	assert_non_null(e);
	OK(iso_ring_events(e, ctx, p, first, n));
	iso_ctx_free(ctx);
	return e;
}

static void any_split_gives_the_same_events(void **state)
{
	struct iso_event *a = events(&ring, 0, 20000, 1), *b = events(&ring, 777, 10000, 3);
	struct iso_ring other = ring;

	(void)state;
	assert_memory_equal(a + 777, b, 10000 * sizeof *b);
	free(b);
	other.seed = 6;
	b = events(&other, 0, 20000, 2);
	assert_memory_not_equal(a, b, 20000 * sizeof *b);
	free(a);
	free(b);
}

/* Where a decay lay that has exact times: c (t1 - t2) / 2 from the middle towards end 2. */
static void origin(double p[3], const struct iso_event *e)
{
	double d[3], length = 0;

	for (int a = 0; a < 3; a++) {
		d[a] = (double)e->p2[a] - e->p1[a];
		length += d[a] * d[a];
	}
	for (int a = 0; a < 3; a++)
		p[a] = .5 * ((double)e->p1[a] + e->p2[a]) + .5 * C_MM_PER_PS * e->dt_ps / sqrt(length) * d[a];
}

/* What the events show: the share of lines, the spread of heights, of tilts and of |x|. */
struct moments {
	double lines, z2, tilt2, x2;
};

static void add(struct moments *m, const double at[3], bool line, double dz)
{
	m->lines += line;
	m->z2 += at[2] * at[2];
	m->tilt2 += dz * dz;
	m->x2 += at[0] * at[0];
}

/* Isotropic decays, one by one, with another generator; how many kept events. */
static int plain(struct moments *m, int histories)
{
	unsigned short state[3] = { 1, 2, 3 };
	int kept = 0;

	for (int h = 0; h < histories; h++) {
		bool line = erand48(state) > .7;
		double phi = line ? 2 * M_PI / 3 * (double)(nrand48(state) % 3) : 2 * M_PI * erand48(state);
		double r = line ? 60 : 150 * sqrt(erand48(state)), w = 2 * erand48(state) - 1;
		double psi = 2 * M_PI * erand48(state), across = sqrt(1 - w * w);
		double at[3] = { r * cos(phi), r * sin(phi), 260 * (erand48(state) - .5) };
		double b = at[0] * cos(psi) + at[1] * sin(psi);
		double root = sqrt(b * b + 330. * 330 - r * r);
		double z1 = at[2] + (root - b) * w / across, z2 = at[2] - (root + b) * w / across;

		if (fabs(z1) > 130 || fabs(z2) > 130) continue;
		add(m, at, line, z2 - z1);
		kept++;
	}
	return kept;
}

static void events_are_those_of_a_plain_simulation(void **state)
{
	enum { N = 200000 };
	struct iso_event *e = events(&ring, 0, N, 2);
	struct moments got = { 0 }, want = { 0 };
	double n = plain(&want, 1000000), error = sqrt(1 / n + 1. / N);
	int of_line[3] = { 0 };

	(void)state;
	for (int i = 0; i < N; i++) {
		double p[3], r, turn;

		NEAR(hypot(e[i].p1[0], e[i].p1[1]), 330, 1e-4);
		NEAR(hypot(e[i].p2[0], e[i].p2[1]), 330, 1e-4);
		assert_true(fabsf(e[i].p1[2]) <= 130 && fabsf(e[i].p2[2]) <= 130);
		origin(p, &e[i]);
		r = hypot(p[0], p[1]);
		turn = 3 * atan2(p[1], p[0]) / (2 * M_PI);
		assert_true(r < 150.001);
		bool line = fabs(r - 60) < .001 && fabs(turn - round(turn)) < 1e-4;

		if (line) of_line[((int)round(turn) + 3) % 3]++;
		add(&got, p, line, (double)e[i].p2[2] - e[i].p1[2]);
	}
	NEAR(got.lines / N, want.lines / n, 5 * .46 * error); /* sd sqrt(.3 x .7) */
	for (int k = 0; k < 3; k++) NEAR(of_line[k], got.lines / 3, 5 * sqrt(got.lines / 3));
	/* the sd of a square is below 1.5 times its mean in all three */
	NEAR(got.z2 / N / (want.z2 / n), 1, 5 * 1.5 * error);
	NEAR(got.tilt2 / N / (want.tilt2 / n), 1, 5 * 1.5 * error);
	NEAR(got.x2 / N / (want.x2 / n), 1, 5 * 1.5 * error);
	free(e);
}

/* The blur alone differs between the two runs: its mean is 0, its width that asked for. */
static void times_are_blurred(void **state)
{
	enum { N = 100000 };
	struct iso_ring p = ring;
	struct iso_event *exact = events(&p, 0, N, 2), *blurred;
	double sum = 0, sum2 = 0, sigma = 400 / 2.3548200450309493;

	(void)state;
	p.tof_fwhm_ps = 400;
	blurred = events(&p, 0, N, 2);
	for (int i = 0; i < N; i++) {
		double d = (double)blurred[i].dt_ps - exact[i].dt_ps;

		assert_memory_equal(exact[i].p1, blurred[i].p1, sizeof exact[i].p1);
		sum += d;
		sum2 += d * d;
	}
	NEAR(sum / N, 0, 5 * sigma / sqrt(N));
	NEAR(sqrt(sum2 / N), sigma, 5 * sigma / sqrt(2 * N));
	free(exact);
	free(blurred);
}

static void bad_arguments_are_refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_ring p = ring;
	struct iso_event e;

	(void)state;
	REFUSED(iso_ring_events(&e, ctx, &p, -1, 1), ISO_EARG, "1 events from number -1");
	REFUSED(iso_ring_events(&e, ctx, &p, INT64_MAX, 1), ISO_EARG, "0 or above");
	p.radius = 150;
	REFUSED(iso_ring_events(&e, ctx, &p, 0, 1), ISO_EARG, "radius is 150 mm");
	p.radius = 330;
	p.length = NAN;
	REFUSED(iso_ring_events(&e, ctx, &p, 0, 1), ISO_EARG, "length is nan");
	p.length = 260;
	p.tof_fwhm_ps = -1;
	REFUSED(iso_ring_events(&e, ctx, &p, 0, 1), ISO_EARG, "resolution is -1");
	p.tof_fwhm_ps = 0;
	iso_ctx_cancel(ctx);
	REFUSED(iso_ring_events(&e, ctx, &p, 0, 1), ISO_ECANCEL, "stopped");
	iso_ctx_free(ctx);
}

static void check_cuda(iso_ctx *ctx)
{
	enum { N = 5000000 }; /* more than one block */
	struct iso_ring p = { .radius = 400, .length = 2000, .tof_fwhm_ps = 390, .seed = 8 };
	struct iso_event *want = events(&p, 3, N, 0), *got = calloc(N, sizeof *got);

	OK(iso_ring_events(got, ctx, &p, 3, N));
	for (int i = 0; i < N; i++) {
		for (int a = 0; a < 3; a++) {
			NEAR(got[i].p1[a], want[i].p1[a], 2e-4);
			NEAR(got[i].p2[a], want[i].p2[a], 2e-4);
		}
		NEAR(got[i].dt_ps, want[i].dt_ps, 2e-3);
	}
	free(want);
	free(got);
}
CUDA_TEST(cuda_makes_the_same_events, check_cuda)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_split_gives_the_same_events),
		cmocka_unit_test(events_are_those_of_a_plain_simulation),
		cmocka_unit_test(times_are_blurred),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(cuda_makes_the_same_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
