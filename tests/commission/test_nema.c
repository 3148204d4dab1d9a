/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures after NEMA: reference vectors of every rule, and cases worked by hand. */
#include "test.h"

#include "commission/nema/fbp.h"
#include "commission/nema/nema_line.h"
#include "commission/nema/nema_mouse.h"
#include "commission/nema/nema_point.h"
#include "commission/nema/nema_rates.h"
#include "commission/nema/nema_tof.h"
#include "file/npy.h"
#include "text/json_file.h"

#define DATA TEST_DATA "/nema/"

static json_t *expected;

static int setup(void **state)
{
	(void)state;
	OK(iso_json_read(&expected, DATA "expected.json"));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_decref(expected);
	return 0;
}

/* "a.b": a number, or a list. */
static const json_t *find(const char *path)
{
	const json_t *at = expected;
	char name[64];

	while (*path) {
		size_t n = strcspn(path, ".");

		memcpy(name, path, n);
		name[n] = '\0';
		at = json_object_get(at, name);
		assert_non_null(at);
		path += n + (path[n] == '.');
	}
	return at;
}

static double value(const char *path)
{
	return json_number_value(find(path));
}

static double item(const char *path, size_t i)
{
	return json_number_value(json_array_get(find(path), i));
}

static double item2(const char *path, size_t i, size_t k)
{
	return json_number_value(json_array_get(json_array_get(find(path), i), k));
}

#define RELATIVE(a, b, tolerance) NEAR((a), (b), (tolerance)*fmax(fabs(b), 1e-12))

/* The last n items of a file of any header. */
static void *tail_of(const char *name, int64_t n, size_t item)
{
	char path[512];
	void *v = malloc((size_t)n * item);

	snprintf(path, sizeof path, DATA "%s", name);
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_int_equal(fseek(f, -(long)((size_t)n * item), SEEK_END), 0);
	assert_int_equal(fread(v, item, (size_t)n, f), n);
	fclose(f);
	return v;
}

/* An image of floats about 0. */
static struct iso_array image(const char *name, int64_t nx, int64_t ny, int64_t nz, const double voxel[3])
{
	const struct iso_grid g = { { nx, ny, nz }, { voxel[0], voxel[1], voxel[2] }, { 0 } };
	struct iso_array x = { 0 };
	float *v = tail_of(name, nx * ny * nz, sizeof *v);

	OK(iso_array_on_grid(&x, &g));
	for (int64_t i = 0; i < x.n; i++) x.v[i] = v[i];
	free(v);
	return x;
}

enum { RUNS = 5, SLICES = 3, ANGLES = 24, BINS = 81 };

struct counts {
	struct nema_acquisition a[RUNS];
	struct nema_slice slice[RUNS][SLICES];
};

static void take_counts(struct counts *c)
{
	const struct ssrb g = { SLICES, ANGLES, BINS, -1, value("counting.bin_mm"), 4, .75 };
	const struct nema_rule rule = { value("counting.cut_mm"), value("counting.strip_half_mm") };
	int32_t *prompts = tail_of("counting_prompts.npy", RUNS * SLICES * ANGLES * BINS, 4);
	int32_t *delayed = tail_of("counting_delayed.npy", RUNS * SLICES * ANGLES * BINS, 4);
	double row[4 * BINS - 2];

	for (int j = 0; j < RUNS; j++) {
		for (int i = 0; i < SLICES; i++) {
			int64_t at = (j * SLICES + i) * ANGLES * BINS;

			iso_nema_slice(&c->slice[j][i], NULL, row, prompts + at, &g, &rule);
			c->slice[j][i].delayed = iso_nema_within(delayed + at, &g, rule.cut_mm);
		}
		c->a[j] = (struct nema_acquisition){ item("counting.T_s", (size_t)j),
			                             item("counting.A_MBq", (size_t)j), j == RUNS - 1, true,
			                             c->slice[j] };
	}
	free(prompts);
	free(delayed);
}

static void compare_rates(const struct nema_rates *r, const char *which)
{
	static const struct {
		const char *name;
		size_t at;
	} figures[] = {
		{ "total", offsetof(struct nema_rates, total) },
		{ "trues", offsetof(struct nema_rates, trues) },
		{ "randoms", offsetof(struct nema_rates, randoms) },
		{ "scatter", offsetof(struct nema_rates, scatter) },
		{ "sf", offsetof(struct nema_rates, sf) },
		{ "necr", offsetof(struct nema_rates, necr) },
		{ "necr2", offsetof(struct nema_rates, necr2) },
	};
	char path[64];

	for (int k = 0; k < N_OF(figures); k++)
		for (size_t j = 0; j < RUNS; j++) {
			double found = *(const double *)(const void *)((const char *)&r[j] + figures[k].at);

			snprintf(path, sizeof path, "counting.%s.%s", which, figures[k].name);
			NEAR(found, item(path, j), 1e-9 * fmax(fabs(item(path, j)), 1e-3));
		}
}

static void rates(void **state)
{
	struct counts c;
	struct nema_rates r[RUNS];
	double x[RUNS], y[RUNS];

	(void)state;
	take_counts(&c);
	iso_nema_rates_plain(r, c.a, RUNS, SLICES);
	compare_rates(r, "without");
	iso_nema_rates_delayed(r, c.a, RUNS, SLICES);
	compare_rates(r, "with_delayed");
	for (int j = 0; j < RUNS; j++) {
		x[j] = c.a[j].activity_mbq * 1e3 / value("counting.volume_ml");
		y[j] = r[j].necr;
	}
	struct nema_peak p = iso_nema_peak(x, y, RUNS);

	assert_true(p.inside);
	RELATIVE(p.x, value("counting.peak_necr.kBq_per_ml"), 1e-9);
	RELATIVE(p.y, value("counting.peak_necr.cps"), 1e-9);
	assert_false(iso_nema_peak(x, y, 2).inside); /* the curve ends on its way up */
	RELATIVE(iso_nema_at(x, y, RUNS, (x[1] + x[2]) / 2), (y[1] + y[2]) / 2, 1e-12);
	assert_true(isnan(iso_nema_at(x, y, RUNS, x[0] + 1)));
}

static void sensitivity(void **state)
{
	struct nema_sleeve sleeve[5] = { 0 };
	struct nema_sensitivity s;

	(void)state;
	for (size_t j = 0; j < 5; j++) {
		sleeve[j].wall_mm = item("sensitivity.wall_mm", j);
		sleeve[j].duration_s = item("sensitivity.T_s", j);
		double from = item("sensitivity.t_start_s", j);

		sleeve[j].decay =
			iso_decay_mean(value("sensitivity.half_life_s"), from, from + sleeve[j].duration_s);
		for (size_t i = 0; i < 6; i++) sleeve[j].counts += item2("sensitivity.counts", j, i);
	}
	OK(iso_nema_sensitivity_fit(&s, sleeve, 5, value("sensitivity.A_cal_MBq")));
	RELATIVE(s.r0, value("sensitivity.R0_cps"), 1e-9);
	RELATIVE(s.mu, value("sensitivity.mu_per_mm"), 1e-9);
	RELATIVE(s.s, value("sensitivity.S_cps_per_MBq"), 1e-9);
	RELATIVE(s.s_err, value("sensitivity.err"), 1e-9);
	assert_int_equal(iso_nema_sensitivity_fit(&s, sleeve, 1, 4), ISO_EINPUT);
	sleeve[1].wall_mm = sleeve[0].wall_mm;
	assert_int_equal(iso_nema_sensitivity_fit(&s, sleeve, 2, 4), ISO_EINPUT);
}

static void widths(void **state)
{
	const double voxel[3] = { .8, .9, 1.1 };
	struct iso_array x = image("spot.npy", 35, 33, 31, voxel);
	struct iso_fwhm p = { .window = 1000 };
	struct iso_width w[3];

	(void)state;
	for (size_t a = 0; a < 3; a++) p.at[a] = item("spot.at_mm", a);
	OK(iso_measure_fwhm_window(w, &x, &p, 2));
	for (size_t a = 0; a < 3; a++) {
		RELATIVE(w[a].fwhm, item2("spot.nu2", a, 0), 1e-9);
		RELATIVE(w[a].fwtm, item2("spot.nu2", a, 1), 1e-9);
	}
	OK(iso_measure_fwhm(w, &x, &p));
	for (size_t a = 0; a < 3; a++) {
		RELATIVE(w[a].fwhm, item2("spot.one_voxel", a, 0), 1e-9);
		RELATIVE(w[a].fwtm, item2("spot.one_voxel", a, 1), 1e-9);
	}
	iso_array_free(&x);
}

static void time_resolution(void **state)
{
	uint16_t *from = tail_of("tof_hist.npy", 80 * 40, 2);
	uint32_t count[80 * 40];
	const struct nema_tof t = {
		80, 40, value("tof.bin_ps"), -800, value("tof.bin_mm"), -40, value("tof.strip_half_mm"), count
	};
	struct nema_tof_width w;

	(void)state;
	for (int i = 0; i < 80 * 40; i++) count[i] = from[i];
	OK(iso_nema_tof_width(&w, NULL, &t));
	RELATIVE(w.fwhm_ps, value("tof.fwhm_ps"), 1e-9);
	RELATIVE(w.net_counts, value("tof.net_counts"), 1e-9);
	NEAR(w.fwhm_ps, value("tof.fwhm_true_ps"), 3 * w.fwhm_err_ps);
	NEAR(w.gauss_fwhm_ps, value("tof.fwhm_true_ps"), 4);
	assert_true(w.fwhm_err_ps > 1 && w.fwhm_err_ps < 10);
	free(from);
}

static void mouse(void **state)
{
	const double voxel[3] = { 1, 1, 1 };
	struct iso_array x = image("nu4_image.npy", 36, 36, 64, voxel);
	struct nema_mouse q = { .uniform = { 0, 0, value("nu4.z_uniform") },
		                .uniform_mm = { 22.5, 10 },
		                .rods_mm = 10,
		                .cold_mm = { 4, 7.5 },
		                .n_rods = 5,
		                .n_cold = 2,
		                .rods_z = value("nu4.z_rods"),
		                .cold_z = value("nu4.z_cold") };
	struct nema_mouse_result r;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 3; k++) q.rod[i][k] = item2("nu4.rods", i, k);
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 2; k++) q.cold[i][k] = item2("nu4.cold", i, k);
	OK(iso_nema_mouse(&r, &x, &q));
	RELATIVE(r.mean, item("nu4.result.uniform", 0), 1e-9);
	RELATIVE(r.most, item("nu4.result.uniform", 1), 1e-9);
	RELATIVE(r.least, item("nu4.result.uniform", 2), 1e-9);
	RELATIVE(r.std_percent, item("nu4.result.uniform", 3), 1e-9);
	for (size_t i = 0; i < 5; i++) {
		RELATIVE(r.rc[i], item2("nu4.result.rods", i, 0), 1e-9);
		RELATIVE(r.rod_std_percent[i], item2("nu4.result.rods", i, 1), 1e-9);
		assert_true(r.rc_middle[i] <= r.rc[i]);
	}
	for (size_t i = 0; i < 2; i++) {
		RELATIVE(r.sor[i], item2("nu4.result.cold", i, 0), 1e-9);
		RELATIVE(r.cold_std_percent[i], item2("nu4.result.cold", i, 1), 1e-9);
	}
	q.rod[0][0] = 30;
	assert_int_equal(iso_nema_mouse(&r, &x, &q), ISO_EINPUT);
	assert_non_null(strstr(iso_message(), "a rod at (30"));
	iso_array_free(&x);
}

static void back_projection(void **state)
{
	enum { M = 60, N = 101, SIDE = 49 };
	const struct ssrb g = { 1, M, N, 0, value("fbp.bin_mm"), 1, .5 };
	const double voxel = value("fbp.voxel_mm");
	const struct iso_grid grid = { { SIDE, SIDE, 1 },
		                       { voxel, voxel, 1 },
		                       { item("fbp.centre_mm", 0), item("fbp.centre_mm", 1), 0 } };
	float *from = tail_of("fbp_sino.npy", M * N, 4);
	double *want = tail_of("fbp_image.npy", SIDE * SIDE, 8), most = 0, p[M * N], error = 0;
	iso_real x[SIDE * SIDE];
	iso_ctx *ctx = NULL;

	(void)state;
	OK(iso_ctx_create(&ctx, "cpu", 2));
	for (int i = 0; i < M * N; i++) p[i] = from[i];
	OK(iso_fbp_filter(p, ctx, &g, 0));
	OK(iso_fbp_image(x, ctx, &grid, p, &g));
	for (int i = 0; i < SIDE * SIDE; i++) {
		most = fmax(most, fabs(want[i]));
		error = fmax(error, fabs((double)x[i] - want[i]));
	}
	NEAR(error / most, 0, 1e-6);
	iso_ctx_free(ctx);
	free(from);
	free(want);
}

/* Two slices of three rows: the rows keep two bins on both sides of their largest. */
static void kept_bins(void **state)
{
	enum { ROW = 9, CELLS = 2 * 3 * ROW };
	const struct ssrb g = { .slices = 2, .angles = 3, .bins = ROW, .bin_mm = 2.5 };
	int32_t prompts[CELLS] = { 0 }, ones[CELLS], none[CELLS] = { 0 };
	int32_t *const cells[POINT_KINDS] = { prompts, none, ones, none };
	double sum[POINT_KINDS];

	(void)state;
	for (int i = 0; i < CELLS; i++) ones[i] = 1;
	prompts[4] = 5;           /* row 0 keeps bins 2 to 6 */
	prompts[7] = 3;           /* outside */
	prompts[ROW] = 2;         /* row 1 keeps bins 0 to 2 */
	prompts[ROW + 1] = 1;     /* inside */
	prompts[5 * ROW + 8] = 9; /* row 2 of the other slice keeps bins 6 to 8; its rows 0 and 1 keep none */
	assert_int_equal(iso_nema_keep(sum, cells, &g, 5), 1);
	NEAR(sum[POINT_PROMPTS], 5 + 2 + 1 + 9, 0);
	NEAR(sum[POINT_DELAYED], 0, 0);
	NEAR(sum[POINT_EMPTY], 5 + 3 + 3, 0);
	assert_int_equal(iso_nema_keep(sum, cells, &g, 4.9), 1);
	NEAR(sum[POINT_EMPTY], 3 + 2 + 2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates),     cmocka_unit_test(sensitivity),
		cmocka_unit_test(widths),    cmocka_unit_test(time_resolution),
		cmocka_unit_test(mouse),     cmocka_unit_test(back_projection),
		cmocka_unit_test(kept_bins),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
