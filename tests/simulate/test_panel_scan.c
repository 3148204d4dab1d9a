/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of two panels from an image: the same in every split and for every number of threads,
   mirror symmetric for a symmetric image, randoms a product of the crystals' rates, trues that
   agree with a point source. */
#include "test.h"

#include "simulate/panel_scan.h"

/* Two layers and gaps, small enough for maps of all LORs. */
static const struct iso_panels small = {
	.crystals = { 6, 4 },
	.pitch = { 5, 6 },
	.crystal = { 4.5, 6, 20 },
	.gap = 30,
	.layers = 2,
	.block = 2,
	.formula = "Lu2SiO5",
	.density = 7.4,
	.resolution = .2,
	.window = { 250, 750 },
	.coincidence = 10,
};
enum { HEAD = 2 * 6 * 4 }; /* crystals of a head */

static struct iso_array ones(int64_t nx, int64_t ny, int64_t nz, double voxel)
{
	struct iso_grid g = { { nx, ny, nz }, { voxel, voxel, voxel }, { 0, 0, 0 } };
	struct iso_array a = { 0 };

	OK(iso_array_on_grid(&a, &g));
	for (int64_t i = 0; i < a.n; i++) a.v[i] = 1;
	return a;
}

static struct iso_panel_scan scan_of(iso_ctx *ctx, struct iso_array image, uint64_t seed)
{
	struct iso_panel_scan s;

	OK(iso_panel_scan_create(&s, ctx, &small, &(struct iso_transport_options){ .seed = seed }, &image,
	                         NULL, false));
	iso_array_free(&image);
	return s;
}

static struct panel_event *events(int64_t *found, const struct iso_panel_scan *s, enum panel_kind kind,
                                  int64_t first, int64_t n)
{
	struct panel_event *e = calloc((size_t)n, sizeof *e);

	OK(iso_panel_scan_events(e, found, s, kind, first, n));
	return e;
}

static void any_split_and_threads(void **state)
{
	static const enum panel_kind kind[] = { PANEL_TRUES, PANEL_RANDOMS };

	(void)state;
	for (int k = 0; k < 2; k++) {
		int64_t n = k ? 2000 : 50000, found[4];
		iso_ctx *one = cpu(1), *three = cpu(3);
		struct iso_panel_scan a = scan_of(one, ones(8, 6, 8, 2), 3);
		struct iso_panel_scan b = scan_of(three, ones(8, 6, 8, 2), 3);
		struct panel_event *e = events(found, &a, kind[k], 0, n);
		struct panel_event *f = events(found + 1, &b, kind[k], 0, n);
		struct panel_event *g = events(found + 2, &b, kind[k], 0, n / 3);
		struct panel_event *h = events(found + 3, &b, kind[k], n / 3, n - n / 3);

		assert_int_equal(found[0], found[1]);
		assert_memory_equal(e, f, (size_t)found[0] * sizeof *e);
		assert_int_equal(found[0], found[2] + found[3]);
		assert_memory_equal(e, g, (size_t)found[2] * sizeof *e);
		for (int64_t i = 0; i < found[3]; i++) {
			h[i].decay += (uint32_t)(n / 3);
			assert_memory_equal(e + found[2] + i, h + i, sizeof *e);
		}
		free(e);
		free(f);
		free(g);
		free(h);
		iso_panel_scan_free(&a);
		iso_panel_scan_free(&b);
		iso_ctx_free(one);
		iso_ctx_free(three);
	}
}

/* One voxel of negligible size is the point source. */
static void a_voxel_is_a_point(void **state)
{
	iso_ctx *ctx = cpu(0);
	struct iso_panel_scan s = scan_of(ctx, ones(1, 1, 1, 1e-4), 5);
	int64_t n = 400000, found, count;
	double rate[3];

	(void)state;
	free(events(&found, &s, PANEL_TRUES, 0, n));
	OK(iso_transport_count(&count, ctx, &(struct transport_source){ &s.host.t, 1, { 0 }, 0 }, 0, n));
	NEAR((double)found, (double)count, 5 * sqrt(2. * (double)count));
	OK(iso_panel_scan_rates(rate, &s, n));
	NEAR(rate[2] * (double)n, (double)count, 5 * sqrt(2. * (double)count));
	assert_true(rate[0] > rate[2] && rate[1] > rate[2]);
	NEAR(rate[0], rate[1], 5 * sqrt(2 * rate[0] / (double)n));
	iso_panel_scan_free(&s);
	iso_ctx_free(ctx);
}

static void count_crystals(double upper[HEAD], double lower[HEAD], const struct panel_event *e, int64_t n)
{
	for (int i = 0; i < HEAD; i++) upper[i] = lower[i] = 0;
	for (int64_t i = 0; i < n; i++) {
		assert_true(e[i].upper < HEAD && e[i].lower < HEAD);
		upper[e[i].upper]++;
		lower[e[i].lower]++;
	}
}

/* sum (a - b)^2 / (a + b) over crystals, which for equal means is a chi-square. */
static double chi_square(const double *a, const double *b, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += a[i] + b[i] > 0 ? (a[i] - b[i]) * (a[i] - b[i]) / (a[i] + b[i]) : 0;
	return sum;
}

/* Crystals turned by 180 degrees about the axis through both heads, and the other head. */
static void symmetric_maps(void **state)
{
	iso_ctx *ctx = cpu(0);
	struct iso_panel_scan s = scan_of(ctx, ones(8, 6, 8, 2), 9);
	double upper[HEAD], lower[HEAD], turned[HEAD];
	int64_t found;
	struct panel_event *e = events(&found, &s, PANEL_TRUES, 0, 600000);

	(void)state;
	count_crystals(upper, lower, e, found);
	for (int i = 0; i < HEAD; i++) turned[i] = upper[i / 24 * 24 + 23 - i % 24];
	NEAR(chi_square(upper, lower, HEAD), HEAD, 5 * sqrt(2. * HEAD));
	NEAR(chi_square(upper, turned, HEAD), HEAD, 5 * 2 * sqrt(HEAD)); /* each term twice */
	assert_true(upper[2 * 4 + 1] > 2 * upper[24 + 2 * 4 + 1]);       /* front layer, back layer */
	free(e);
	iso_panel_scan_free(&s);
	iso_ctx_free(ctx);
}

/* Randoms of LOR (u, l) are proportional to the singles of u and of l; delayed ones are others. */
static void randoms_are_a_product(void **state)
{
	iso_ctx *ctx = cpu(0);
	struct iso_panel_scan s = scan_of(ctx, ones(8, 6, 8, 2), 11);
	double upper[HEAD], lower[HEAD], joint[HEAD][HEAD] = { { 0 } }, chi = 0;
	enum { N = 200000 };
	int64_t found, same = 0;
	struct panel_event *e = events(&found, &s, PANEL_RANDOMS, 0, N);
	struct panel_event *d = events(&found, &s, PANEL_DELAYED, 0, N);

	(void)state;
	count_crystals(upper, lower, e, N);
	for (int i = 0; i < N; i++) {
		joint[e[i].upper][e[i].lower]++;
		same += e[i].upper == d[i].upper && e[i].lower == d[i].lower;
	}
	for (int u = 0; u < HEAD; u++)
		for (int l = 0; l < HEAD; l++) {
			double want = upper[u] * lower[l] / N;

			chi += want > 0 ? (joint[u][l] - want) * (joint[u][l] - want) / want : 0;
		}
	NEAR(chi, (HEAD - 1) * (HEAD - 1), 5 * sqrt(2) * (HEAD - 1));
	assert_true(same < N / 50);
	free(e);
	free(d);
	iso_panel_scan_free(&s);
	iso_ctx_free(ctx);
}

static void activity_out_of_view(void **state)
{
	struct iso_array far = ones(2, 2, 2, 1);
	struct iso_panel_scan s;
	struct panel_event e[4];
	iso_ctx *ctx = cpu(1);
	int64_t found;
	double rate[3];

	(void)state;
	far.grid.centre[1] = 40; /* inside the upper head */
	OK(iso_panel_scan_create(&s, ctx, &small, NULL, &far, NULL, false));
	OK(iso_panel_scan_events(e, &found, &s, PANEL_TRUES, 0, 4));
	assert_int_equal(found, 0);
	REFUSED(iso_panel_scan_events(e, &found, &s, PANEL_RANDOMS, 0, 1), ISO_EINPUT, "outside");
	REFUSED(iso_panel_scan_rates(rate, &s, 1000), ISO_EINPUT, "outside");
	REFUSED(iso_panel_scan_events(e, &found, &s, PANEL_TRUES, -1, 4), ISO_EARG, "negative");
	iso_panel_scan_free(&s);
	for (int i = 0; i < 8; i++) far.v[i] = 0;
	REFUSED(iso_panel_scan_create(&s, ctx, &small, NULL, &far, NULL, false), ISO_EINPUT, "no activity");
	iso_array_free(&far);
	iso_ctx_free(ctx);
}

/* The same random numbers: rounding moves few events; other numbers: the same means. */
static void check_cuda(iso_ctx *ctx)
{
	iso_ctx *host = cpu(0);
	struct iso_panel_scan a = scan_of(host, ones(8, 6, 8, 2), 13);
	struct iso_panel_scan b = scan_of(ctx, ones(8, 6, 8, 2), 13);
	double map[2][2][HEAD], lor[2][HEAD * HEAD] = { { 0 } };
	int64_t n = 400000, found[2], alike = 0;
	struct panel_event *e[2] = { events(found, &a, PANEL_TRUES, 0, n),
		                     events(found + 1, &b, PANEL_TRUES, 0, n) };

	for (int64_t i = 0, j = 0; i < found[0] && j < found[1];) {
		alike += memcmp(e[0] + i, e[1] + j, sizeof **e) == 0;
		uint32_t p = e[0][i].decay, q = e[1][j].decay;

		i += p <= q;
		j += q <= p;
	}
	assert_true((double)alike > .999 * (double)found[0]);
	assert_true((double)alike > .999 * (double)found[1]);
	free(e[1]);
	e[1] = events(found + 1, &b, PANEL_TRUES, n, n);
	for (int k = 0; k < 2; k++) {
		count_crystals(map[k][0], map[k][1], e[k], found[k]);
		for (int64_t i = 0; i < found[k]; i++) lor[k][e[k][i].upper * HEAD + e[k][i].lower]++;
		free(e[k]);
	}
	for (int h = 0; h < 2; h++) NEAR(chi_square(map[0][h], map[1][h], HEAD), HEAD, 5 * sqrt(2. * HEAD));
	NEAR(chi_square(lor[0], lor[1], HEAD * HEAD), HEAD * HEAD, 5 * sqrt(2.) * HEAD);
	e[0] = events(found, &a, PANEL_RANDOMS, 0, 20000);
	e[1] = events(found + 1, &b, PANEL_RANDOMS, 0, 20000);
	for (int64_t i = 0, same = 0; i < 20000; i++) {
		same += memcmp(e[0] + i, e[1] + i, sizeof **e) == 0;
		assert_true(same > .99 * (double)i - 10);
	}
	free(e[0]);
	free(e[1]);
	iso_panel_scan_free(&a);
	iso_panel_scan_free(&b);
	iso_ctx_free(host);
}

CUDA_TEST(cuda_sees_the_same_events, check_cuda)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_split_and_threads), cmocka_unit_test(a_voxel_is_a_point),
		cmocka_unit_test(symmetric_maps),        cmocka_unit_test(randoms_are_a_product),
		cmocka_unit_test(activity_out_of_view),  cmocka_unit_test(cuda_sees_the_same_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
