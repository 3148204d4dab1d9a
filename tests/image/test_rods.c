/* SPDX-License-Identifier: BSD-3-Clause */
/* Rods of known width: sums of Gaussians around the cylinders of a phantom; the phantoms of the
   dual-head papers against closed formulas; also built in double. */
#include "test.h"

#include <unistd.h>

#define SIGMA .6
#define FWHM (2.3548200450309493 * SIGMA)
#define FWTM (4.2919320526034215 * SIGMA)

/* Rods along `axis`, 2 d apart, of two sizes far from each other. */
static iso_phantom *rods(char axis)
{
	static const char *const text =
		"shapes:\n"
		"- {type: cylinder, axis: %c, radius_mm: 30, length_mm: 20, activity: 0}\n"
		"- {type: cylinder, axis: %c, centre_mm: [%s], radius_mm: 0.8, length_mm: 20, activity: 1}\n"
		"- {type: cylinder, axis: %c, centre_mm: [%s], radius_mm: 0.8, length_mm: 20, activity: 1}\n"
		"- {type: cylinder, axis: %c, centre_mm: [%s], radius_mm: 1.5, length_mm: 20, activity: 1}\n";
	bool y = axis == 'y';
	char path[] = "rods-XXXXXX";
	iso_phantom *p = NULL;
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");

	assert_non_null(f);
	fprintf(f, text, axis, axis, y ? "0.3, 1, 4" : "0.3, 4, 1", axis, y ? "3.5, 1, 4" : "3.5, 4, 1", axis,
	        y ? "-9, 1, -7.1" : "-9, -7.1, 1");
	fclose(f);
	OK(iso_phantom_create(&p, path, NULL));
	unlink(path);
	return p;
}

static const double spot[3][2] = { { .3, 4 }, { 3.5, 4 }, { -9, -7.1 } };

/* Across `axis` (1: x, z; 2: x, y) Gaussians; nothing where the rods end. */
static struct iso_array gaussians(int axis)
{
	struct iso_grid g = { { 120, 120, 120 }, { .25, .25, .25 }, { -2, 0, 0 } };
	struct iso_array x = { 0 };

	g.n[axis] = 48;
	g.voxel[axis] = .5;
	g.centre[axis] = 1;
	OK(iso_array_on_grid(&x, &g));
	for (int64_t v = 0; v < x.n; v++) {
		int64_t i[3] = { v % g.n[0], v / g.n[0] % g.n[1], v / g.n[0] / g.n[1] };
		double p[3], sum = 0;

		for (int a = 0; a < 3; a++)
			p[a] = g.centre[a] + ((double)i[a] - (double)(g.n[a] - 1) / 2) * g.voxel[a];
		for (int k = 0; k < 3; k++) {
			double u = p[0] - spot[k][0], w = p[axis == 1 ? 2 : 1] - spot[k][1];

			sum += exp(-(u * u + w * w) / (2 * SIGMA * SIGMA));
		}
		x.v[v] = fabs(p[axis] - 1) <= 10 ? (iso_real)sum : 0;
	}
	return x;
}

static void check_widths(int axis)
{
	iso_phantom *p = rods(axis == 1 ? 'y' : 'z');
	struct iso_array x = gaussians(axis);
	const double far = exp(-3.2 * 3.2 / (2 * SIGMA * SIGMA));
	const double valley = 2 * exp(-1.6 * 1.6 / (2 * SIGMA * SIGMA)) / (1 + far);
	struct iso_rods r = { .size = sizeof r };

	OK(iso_measure_rods(&r, &x, p, 0));
	assert_int_equal(r.n, 2);
	assert_true(r.group[0].diameter == 1.6 && r.group[1].diameter == 3);
	assert_int_equal(r.group[0].rods, 2);
	assert_int_equal(r.group[0].pairs, 1);
	assert_int_equal(r.group[0].fwhm.n, 4);
	assert_int_equal(r.group[1].rods, 1);
	assert_int_equal(r.group[1].pairs, 0);
	assert_true(isnan(r.group[1].valley));
	/* straight lines lie above the foot of a Gaussian by at most h^2 f'' / (8 f'): 1.7 % of FWTM */
	BELOW(fabs(r.group[1].fwhm.median / FWHM - 1), .01);
	BELOW(fabs(r.group[1].fwtm.median / FWTM - 1), .02);
	BELOW(fabs(r.group[0].fwhm.median / FWHM - 1), .02);
	BELOW(fabs(r.group[0].valley / valley - 1), .15); /* h^2 f'' / (8 f) is 13 % */
	assert_true(r.group[0].resolved == 1);
	iso_array_free(&x);
	iso_phantom_free(p);
}

static void widths_along_z(void **state)
{
	(void)state;
	check_widths(2);
}

static void widths_along_y(void **state)
{
	(void)state;
	check_widths(1);
}

/* A slab that reaches beyond the rods lowers them; widths stay. */
static void slab(void **state)
{
	iso_phantom *p = rods('z');
	struct iso_array x = gaussians(2);
	struct iso_rods a = { .size = sizeof a }, b = { .size = sizeof b };

	(void)state;
	OK(iso_measure_rods(&a, &x, p, 2));
	OK(iso_measure_rods(&b, &x, p, 24));
	BELOW(fabs(a.group[1].fwhm.median - b.group[1].fwhm.median), 1e-5);
	iso_array_free(&x);
	iso_phantom_free(p);
}

/* A flat image has no peak, and valleys as high as the rods. */
static void flat(void **state)
{
	iso_phantom *p = rods('z');
	struct iso_array x = gaussians(2);
	struct iso_rods r = { .size = sizeof r };

	(void)state;
	for (int64_t i = 0; i < x.n; i++) x.v[i] = 3;
	OK(iso_measure_rods(&r, &x, p, 0));
	assert_int_equal(r.group[0].fwhm.n, 0);
	assert_true(isnan(r.group[0].fwhm.median));
	assert_true(fabs(r.group[0].valley - 1) < 1e-6 && r.group[0].resolved == 0);
	iso_array_free(&x);
	iso_phantom_free(p);
}

static void quartiles(void **state)
{
	double v[] = { 5, NAN, 1, 3, 2, INFINITY, 4 }, one[] = { 7 }, none[] = { NAN };
	struct iso_quartiles q = iso_measure_quartiles(v, 7);

	(void)state;
	assert_int_equal(q.n, 5);
	assert_true(q.least == 1 && q.low == 2 && q.median == 3 && q.high == 4 && q.most == 5);
	q = iso_measure_quartiles(one, 1);
	assert_true(q.n == 1 && q.least == 7 && q.low == 7 && q.most == 7);
	assert_true(isnan(iso_measure_quartiles(none, 1).median));
}

static void refused(void **state)
{
	iso_phantom *p = rods('z'), *ball = NULL;
	struct iso_array x = gaussians(2);
	struct iso_rods r = { .size = sizeof r };

	(void)state;
	OK(iso_phantom_create(&ball, "sphere", NULL));
	assert_int_equal(iso_measure_rods(&r, &x, ball, 0), ISO_EARG);
	assert_non_null(strstr(iso_message(), "no cylinder"));
	assert_int_equal(iso_measure_rods(&r, &x, p, -1), ISO_EARG);
	x.grid.centre[0] = 100;
	assert_int_equal(iso_measure_rods(&r, &x, p, 0), ISO_EINPUT);
	assert_non_null(strstr(iso_message(), "outside the image"));
	x.grid.centre[0] = -2;
	x.grid.centre[2] = 500;
	assert_int_equal(iso_measure_rods(&r, &x, p, 0), ISO_EINPUT);
	assert_non_null(strstr(iso_message(), "no slice"));
	iso_array_free(&x);
	iso_phantom_free(p);
	iso_phantom_free(ball);
}

static void boxes(void **state)
{
	const struct iso_quartiles q[] = { { 5, 1, 2, 3, 4, 5 }, { 0, NAN, NAN, NAN, NAN, NAN } };
	const char *const label[] = { "a", "b" };
	struct iso_pixels p = { 0 };
	int64_t red = 0;

	(void)state;
	OK(iso_boxplot_render(&p, &(struct iso_boxplot){ 2, q, label, "t" }));
	for (int64_t i = 0; i < p.width * p.height; i++) red += p.rgb[3 * i] == 178 && p.rgb[3 * i + 1] == 60;
	assert_int_equal(red, 36 * 3); /* one median: the second sample is empty */
	iso_pixels_free(&p);
	assert_int_equal(iso_boxplot_render(&p, &(struct iso_boxplot){ 0, q, label, "t" }), ISO_EARG);
}

/* ---- phantoms ---- */

/* Sum of activity times volume; a voxel of the surface has 5^3 samples. */
static double volume(const char *name)
{
	iso_phantom *p = NULL;
	struct iso_array x = { 0 };
	struct iso_grid g;
	double sum = 0;

	OK(iso_phantom_create(&p, name, NULL));
	iso_phantom_grid(&g, p);
	OK(iso_array_on_grid(&x, &g));
	OK(iso_phantom_raster(x.v, NULL, NULL, p, &g, 5));
	for (int64_t i = 0; i < x.n; i++) sum += x.v[i];
	iso_array_free(&x);
	iso_phantom_free(p);
	return sum * g.voxel[0] * g.voxel[1] * g.voxel[2];
}

static double ball(double r)
{
	return 4 * M_PI / 3 * r * r * r;
}

/* Two balls less the lens that they share, radii a, b, centres d apart. */
static void spheres(void **state)
{
	const double a = 10, b = 15, d = 20;
	const double lens = M_PI * (a + b - d) * (a + b - d) *
	                    (d * d + 2 * d * a - 3 * a * a + 2 * d * b + 6 * a * b - 3 * b * b) / (12 * d);

	(void)state;
	BELOW(fabs(volume("sphere") / ball(10) - 1), 2e-3);
	BELOW(fabs(volume("two-spheres-apart") / (ball(10) + ball(15)) - 1), 2e-3);
	BELOW(fabs(volume("two-spheres") / (ball(10) + ball(15) - lens) - 1), 2e-3);
}

/* Rods that all fit: row m of a sector reaches to its corner rod. */
static int rods_of(double d, double reach)
{
	int n = 0;

	for (int m = 0; m < 100; m++)
		for (int j = 0; j <= m; j++)
			n += hypot(2 * d + m * sqrt(3) * d, (2 * j - m) * d) + d / 2 <= reach;
	return n;
}

static void derenzo(void **state)
{
	static const double meng[] = { .7, 1.0, 1.2, 1.6, 2.0, 2.4 };
	double want = 0;
	struct iso_rods r = { .size = sizeof r };
	struct iso_array x = { 0 };
	struct iso_grid g = { { 64, 24, 64 }, { .5, .5, .5 }, { 0, 0, 0 } };
	iso_phantom *p = NULL;

	(void)state;
	for (int i = 0; i < 6; i++) want += rods_of(meng[i], 14.975) * M_PI * meng[i] * meng[i] / 4 * 10;
	BELOW(fabs(volume("derenzo-meng") / want - 1), 3e-3);
	OK(iso_phantom_create(&p, "derenzo-meng", NULL));
	OK(iso_array_on_grid(&x, &g));
	OK(iso_phantom_raster(x.v, NULL, NULL, p, &g, 5));
	OK(iso_measure_rods(&r, &x, p, 0));
	assert_int_equal(r.n, 6);
	for (int i = 0; i < 6; i++) {
		assert_true(r.group[i].diameter == meng[i]);
		assert_int_equal(r.group[i].rods, rods_of(meng[i], 14.975));
		assert_true(r.group[i].pairs >= r.group[i].rods);
	}
	/* the phantom itself, voxels of 0.5 mm: rods of 1.6 mm and above are plainly apart */
	for (int i = 3; i < 6; i++) {
		BELOW(r.group[i].valley, .1);
		BELOW(fabs(r.group[i].fwhm.median - r.group[i].diameter), .25);
	}
	iso_array_free(&x);
	iso_phantom_free(p);
}

/* The tumour has five times the activity of the muscle around it. */
static void mouse(void **state)
{
	const struct iso_roi tumour = { ISO_ROI_SPHERE, { 10, 0, 12 }, .radius = 2.5 };
	const struct iso_roi muscle = { ISO_ROI_SPHERE, { 0, -6, -2 }, .radius = 2 };
	struct iso_grid g = { { 60, 50, 140 }, { .5, .5, .5 }, { 0, 0, 0 } };
	struct iso_array x = { 0 };
	iso_phantom *p = NULL;
	double tbr = 0;

	(void)state;
	OK(iso_phantom_create(&p, "mouse", NULL));
	OK(iso_array_on_grid(&x, &g));
	OK(iso_phantom_raster(x.v, NULL, NULL, p, &g, 5));
	OK(iso_measure_tbr(&tbr, &x, &tumour, &muscle));
	BELOW(fabs(tbr - 5), 1e-5);
	for (int64_t i = 0; i < x.n; i++) x.v[i] = 0;
	assert_int_equal(iso_measure_tbr(&tbr, &x, &tumour, &muscle), ISO_EINPUT);
	iso_array_free(&x);
	iso_phantom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widths_along_z), cmocka_unit_test(widths_along_y), cmocka_unit_test(slab),
		cmocka_unit_test(flat),           cmocka_unit_test(quartiles),      cmocka_unit_test(refused),
		cmocka_unit_test(boxes),          cmocka_unit_test(spheres),        cmocka_unit_test(derenzo),
		cmocka_unit_test(mouse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
