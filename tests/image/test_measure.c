/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures of images whose figures are known: worked by hand, or of analytic shapes;
   also built in double. */
#include "test.h"

static struct iso_array image(int64_t nx, int64_t ny, int64_t nz, const double voxel[3],
                              const double centre[3])
{
	struct iso_grid g = { { nx, ny, nz },
		              { voxel[0], voxel[1], voxel[2] },
		              { centre[0], centre[1], centre[2] } };
	struct iso_array a = { 0 };

	OK(iso_array_on_grid(&a, &g));
	return a;
}

static void place(double p[3], const struct iso_grid *g, int64_t v)
{
	int64_t i[3] = { v % g->n[0], v / g->n[0] % g->n[1], v / g->n[0] / g->n[1] };

	for (int a = 0; a < 3; a++)
		p[a] = g->centre[a] + ((double)i[a] - (double)(g->n[a] - 1) / 2) * g->voxel[a];
}

static void fill(struct iso_array *x, double (*f)(const double p[3], const void *arg), const void *arg)
{
	double p[3];

	for (int64_t v = 0; v < x->n; v++) {
		place(p, &x->grid, v);
		x->v[v] = (iso_real)f(p, arg);
	}
}

static const double unit[3] = { 1, 1, 1 }, origin[3] = { 0, 0, 0 };

/* ---- regions ---- */

/* 5 x 5 x 5 voxels of 1 mm, numbered: 62 in the middle, +-1, +-5, +-25 around it. */
static struct iso_array numbered(void)
{
	struct iso_array x = image(5, 5, 5, unit, origin);

	for (int64_t i = 0; i < x.n; i++) x.v[i] = (iso_real)i;
	return x;
}

static void regions_by_hand(void **state)
{
	struct iso_array x = numbered(), mask = image(5, 5, 5, unit, origin);
	const struct iso_roi sphere = { ISO_ROI_SPHERE, .radius = 1 };
	const struct iso_roi row = { ISO_ROI_CYLINDER, .radius = .5, .length = 4, .axis = 0 };
	const struct iso_roi column = {
		ISO_ROI_CYLINDER, { 1, -1, 0 }, .radius = .5, .length = 2, .axis = 2
	};
	const struct iso_roi box = { ISO_ROI_BOX, .low = { -2, -9, 2 }, .high = { -1, 9, 2 } };
	const struct iso_roi masked = { ISO_ROI_MASK, .mask = &mask };
	struct iso_roi_stats s = { .size = sizeof s };

	(void)state;
	OK(iso_measure_roi(&s, &x, &sphere)); /* 62 and its six neighbours, on the surface */
	assert_int_equal(s.voxels, 7);
	NEAR(s.volume, 7, 1e-12);
	NEAR(s.mean, 62, 1e-12);
	NEAR(s.std, sqrt(2 * (1 + 25 + 625) / 7.), 1e-12);
	NEAR(s.pstd, 100 * s.std / 62, 1e-12);
	assert_true(s.min == 37 && s.max == 87);
	NEAR(s.sum, 434, 1e-12);
	OK(iso_measure_roi(&s, &x, &row)); /* 60 to 64 */
	assert_int_equal(s.voxels, 5);
	NEAR(s.std, sqrt(2), 1e-12);
	OK(iso_measure_roi(&s, &x, &column)); /* 58 - 25, 58, 58 + 25 */
	assert_int_equal(s.voxels, 3);
	assert_true(s.min == 33 && s.max == 83);
	OK(iso_measure_roi(&s, &x, &box)); /* two columns of the last slice */
	assert_int_equal(s.voxels, 10);
	assert_true(s.min == 100 && s.max == 121);
	mask.v[7] = -1;
	mask.v[124] = (iso_real).5;
	OK(iso_measure_roi(&s, &x, &masked));
	assert_int_equal(s.voxels, 2);
	NEAR(s.mean, 65.5, 1e-12);
	iso_array_free(&x);
	iso_array_free(&mask);
}

/* Anisotropic voxels far from the origin, against a count over all of them. */
static void regions_by_count(void **state)
{
	const double voxel[3] = { 1.5, 2, 3.1 }, centre[3] = { 400, -300, 1000 };
	struct iso_array x = image(31, 22, 17, voxel, centre);
	const struct iso_roi sphere = { ISO_ROI_SPHERE, { 403, -301, 1004 }, .radius = 11.3 };
	const struct iso_roi disc = {
		ISO_ROI_CYLINDER, { 396, -304, 998 }, .radius = 9.1, .length = 14.2, .axis = 1
	};
	struct iso_roi_stats s = { .size = sizeof s };
	double volume = 1.5 * 2 * 3.1;
	int64_t in_sphere = 0, in_disc = 0;

	(void)state;
	for (int64_t v = 0; v < x.n; v++) {
		double p[3];

		place(p, &x.grid, v);
		in_sphere += hypot(hypot(p[0] - 403, p[1] + 301), p[2] - 1004) <= 11.3;
		in_disc += hypot(p[0] - 396, p[2] - 998) <= 9.1 && fabs(p[1] + 304) <= 7.1;
		x.v[v] = 2;
	}
	OK(iso_measure_roi(&s, &x, &sphere));
	assert_int_equal(s.voxels, in_sphere);
	NEAR(s.volume, (double)in_sphere * volume, 1e-9);
	NEAR(s.volume, 4 / 3. * M_PI * pow(11.3, 3), .05 * s.volume);
	assert_true(s.std == 0 && s.mean == 2);
	OK(iso_measure_roi(&s, &x, &disc));
	assert_int_equal(s.voxels, in_disc);
	iso_array_free(&x);
}

static void region_of_mean_zero(void **state)
{
	struct iso_array x = image(2, 1, 1, unit, origin);
	const struct iso_roi all = { ISO_ROI_BOX, .low = { -9, -9, -9 }, .high = { 9, 9, 9 } };
	struct iso_roi_stats s = { .size = sizeof s };

	(void)state;
	x.v[0] = -3;
	x.v[1] = 3;
	OK(iso_measure_roi(&s, &x, &all));
	assert_true(s.mean == 0 && s.std == 3 && isnan(s.pstd));
	iso_array_free(&x);
}

static void bad_regions(void **state)
{
	const double far[3] = { 1, 0, 0 };
	struct iso_array x = numbered(), mask = image(5, 5, 5, unit, origin);
	struct iso_array other = image(5, 5, 5, unit, far), flat = { 0 };
	const struct {
		struct iso_roi roi;
		int status;
		const char *text;
	} bad[] = {
		{ { ISO_ROI_SPHERE, { 50, 0, 0 }, .radius = 9 }, ISO_EINPUT, "centre of no voxel" },
		{ { ISO_ROI_SPHERE, { .5, .5, .5 }, .radius = .1 }, ISO_EINPUT, "x -2.5 to 2.5" },
		{ { ISO_ROI_SPHERE, { 0 }, .radius = 0 }, ISO_EARG, "radius is 0 mm" },
		{ { ISO_ROI_SPHERE, { 0 }, .radius = -1 }, ISO_EARG, "radius is -1 mm" },
		{ { ISO_ROI_SPHERE, { 0 }, .radius = NAN }, ISO_EARG, "radius is nan mm" },
		{ { ISO_ROI_SPHERE, { 0, NAN, 0 }, .radius = 1 }, ISO_EARG, "centre y is nan" },
		{ { ISO_ROI_CYLINDER, .radius = 1, .length = 0 }, ISO_EARG, "length is 0 mm" },
		{ { ISO_ROI_CYLINDER, .radius = 1, .length = 1, .axis = 3 }, ISO_EARG, "is 3" },
		{ { ISO_ROI_BOX, .low = { 1 }, .high = { -1 } }, ISO_EARG, "1 to -1 mm along x" },
		{ { ISO_ROI_BOX, .low = { 0, 0, -INFINITY } }, ISO_EARG, "along z" },
		{ { ISO_ROI_MASK, .mask = &mask }, ISO_EINPUT, "all voxels are 0" },
		{ { ISO_ROI_MASK, .mask = &other }, ISO_EARG, "another grid" },
		{ { ISO_ROI_MASK, .mask = &flat }, ISO_EARG, "without grid" },
	};
	struct iso_roi_stats s = { .size = sizeof s, .voxels = 77 };

	(void)state;
	OK(iso_array_create(&flat, 1, (int64_t[]){ 125 }));
	for (int i = 0; i < N_OF(bad); i++)
		REFUSED(iso_measure_roi(&s, &x, &bad[i].roi), bad[i].status, bad[i].text);
	REFUSED(iso_measure_roi(&s, &flat, &bad[0].roi), ISO_EARG, "1 axes without grid");
	assert_int_equal(s.voxels, 77);
	iso_array_free(&x);
	iso_array_free(&mask);
	iso_array_free(&other);
	iso_array_free(&flat);
}

/* ---- profiles ---- */

static double plane(const double p[3], const void *arg)
{
	const double *c = arg;

	return c[0] + c[1] * p[0] + c[2] * p[1] + c[3] * p[2];
}

/* Trilinear values and means over discs of a plane are the plane's own. */
static void profile_of_a_plane(void **state)
{
	const double voxel[3] = { 2, 3, 1.5 }, centre[3] = { 5, -20, 100 };
	const double c[4] = { 3, .25, -.5, .125 };
	const struct iso_profile line[] = {
		{ { -10, -30, 95 }, { 20, -12, 104 }, 37, 0 },
		{ { -10, -30, 95 }, { 20, -12, 104 }, 37, 4 },
		{ { 5, -20, 92 }, { 5, -20, 108 }, 2, 5 },
		{ { 15, -20, 100 }, { -15, -20, 100 }, 11, .5 },
	};
	struct iso_array x = image(30, 20, 20, voxel, centre);

	(void)state;
	fill(&x, plane, c);
	for (int k = 0; k < N_OF(line); k++) {
		const struct iso_profile *p = &line[k];
		double got[64], q[3];

		OK(iso_measure_profile(got, &x, p));
		for (int64_t i = 0; i < p->samples; i++) {
			for (int a = 0; a < 3; a++)
				q[a] = p->from[a] +
				       (double)i / (double)(p->samples - 1) * (p->to[a] - p->from[a]);
			NEAR(got[i], plane(q, c), TOLERANCE(2e-5, 1e-12));
		}
	}
	iso_array_free(&x);
}

static double squared_radius(const double p[3], const void *arg)
{
	(void)arg;
	return p[0] * p[0] + p[1] * p[1];
}

/* Mean of r^2 over a disc of radius R is R^2 / 2, whatever the direction of the line. Trilinear
   values of a parabola lie h^2 / 6 too high in the mean, for each axis. */
static void profile_over_a_disc(void **state)
{
	const double voxel[3] = { .5, .5, .5 };
	const struct iso_profile p = { { 0, 0, -8 }, { 0, 0, 8 }, 5, 12 };
	struct iso_array x = image(61, 61, 61, voxel, origin);
	double got[5];

	(void)state;
	fill(&x, squared_radius, NULL);
	OK(iso_measure_profile(got, &x, &p));
	for (int i = 0; i < 5; i++) NEAR(got[i], 36 / 2. + 2 * .25 / 6, .15);
	iso_array_free(&x);
}

/* Between the outermost centres and the border, the outermost value; discs that leave the image
   count only what is inside. */
static void profile_at_the_border(void **state)
{
	const struct iso_profile p = { { -2.5, -2.5, -2.5 }, { 2.5, -2.5, -2.5 }, 6, 0 };
	const struct iso_profile corner = { { -2.5, -2.5, -2.5 }, { 2.5, 2.5, 2.5 }, 2, 1 };
	struct iso_array x = numbered();
	double got[6];

	(void)state;
	OK(iso_measure_profile(got, &x, &p));
	assert_true(got[0] == 0 && got[5] == 4);
	NEAR(got[1], .5, 1e-12);
	OK(iso_measure_profile(got, &x, &corner));
	assert_true(got[0] == 0 && got[1] == 124);
	iso_array_free(&x);
}

static void bad_profiles(void **state)
{
	const struct {
		struct iso_profile p;
		int status;
		const char *text;
	} bad[] = {
		{ { { 0 }, { 1, 0, 0 }, 0, 0 }, ISO_EARG, "samples is 0" },
		{ { { 0 }, { 1, 0, 0 }, 1, 0 }, ISO_EARG, "samples is 1" },
		{ { { 0 }, { 1, 0, 0 }, -5, 0 }, ISO_EARG, "samples is -5" },
		{ { { 1, 1, 1 }, { 1, 1, 1 }, 9, 0 }, ISO_EARG, "same place" },
		{ { { -3, 0, 0 }, { 1, 0, 0 }, 9, 0 }, ISO_EINPUT, "(-3, 0, 0) is outside" },
		{ { { 0 }, { 0, 0, 2.6 }, 9, 0 }, ISO_EINPUT, "end (0, 0, 2.6) is outside" },
		{ { { 0 }, { 0, NAN, 0 }, 9, 0 }, ISO_EINPUT, "outside" },
		{ { { 0 }, { 1, 0, 0 }, 9, -1 }, ISO_EARG, "width is -1 mm" },
		{ { { 0 }, { 1, 0, 0 }, 9, NAN }, ISO_EARG, "width is nan mm" },
		{ { { 0 }, { 1, 0, 0 }, 9, 1e9 }, ISO_EARG, "width is 1e+09 mm" },
	};
	struct iso_array x = numbered();
	double got[9];

	(void)state;
	for (int i = 0; i < N_OF(bad); i++)
		REFUSED(iso_measure_profile(got, &x, &bad[i].p), bad[i].status, bad[i].text);
	iso_array_free(&x);
}

/* ---- widths ---- */

struct bump {
	double at[3], fwhm[3], height, background;
};

static double gaussian(const double p[3], const void *arg)
{
	const struct bump *b = arg;
	double e = 0;

	for (int a = 0; a < 3; a++) e += pow((p[a] - b->at[a]) / b->fwhm[a], 2);
	return b->background + b->height * exp(-4 * log(2) * e);
}

/* FWHM from 5 voxels on. FWTM / FWHM is sqrt(ln 10 / ln 2); straight lines between voxels make it
   larger, by 2 % at a FWHM of 5 voxels. */
static void widths_of_gaussians(void **state)
{
	const double voxel[3] = { 1.5, 2.25, 3 }, centre[3] = { 10, -20, 30 };
	struct iso_array x = image(61, 47, 35, voxel, centre);
	double worst = 0, error, tenth = sqrt(log(10) / log(2));

	(void)state;
	for (int k = 0; k < 9; k++) {
		struct bump b = { { 10 + .17 * k, -20 - .28 * k, 30 + .37 * k },
			          { 7.5 + k, 11.25 + k, 15 + k },
			          1 + k,
			          .5 * k };
		const struct iso_fwhm p = { { 11, -19, 28 }, .window = 90, .background = .5 * k };
		struct iso_width w[3];

		fill(&x, gaussian, &b);
		OK(iso_measure_fwhm(w, &x, &p));
		for (int a = 0; a < 3; a++) {
			NEAR(w[a].fwhm, b.fwhm[a], .01 * b.fwhm[a]);
			NEAR(w[a].fwtm, tenth * b.fwhm[a],
			     (b.fwhm[a] < 8 * voxel[a] ? .025 : .01) * tenth * b.fwhm[a]);
			NEAR(w[a].centre, b.at[a], .03 * voxel[a]);
			error = fabs(w[a].fwhm / b.fwhm[a] - 1);
			worst = error > worst ? error : worst;
		}
	}
	print_message("largest error of a FWHM: %.2f %%\n", 100 * worst);
	iso_array_free(&x);
}

/* 0 2 6 8 6 2 0: the parabola's top is 8, 4 lies 1.5 voxels and .8 lies 2.6 voxels from it.
   1 5 8 7 1 0 0: the parabola 8 + t - 2 t^2 has its top at t = 1/4, 8.125 high. */
static void widths_by_hand(void **state)
{
	static const double profile[2][7] = { { 0, 2, 6, 8, 6, 2, 0 }, { 1, 5, 8, 7, 1, 0, 0 } };
	const double voxel[3] = { 2, 1, 1 };
	const struct iso_fwhm p = { { 0 }, .window = 100 };
	struct iso_array x = image(7, 1, 1, voxel, origin);
	struct iso_width w[3];

	(void)state;
	for (int i = 0; i < 7; i++) x.v[i] = (iso_real)profile[0][i];
	OK(iso_measure_fwhm(w, &x, &p));
	NEAR(w[0].centre, 0, 1e-12);
	NEAR(w[0].height, 8, 1e-12);
	NEAR(w[0].fwhm, 2 * 2 * 1.5, 1e-12);
	NEAR(w[0].fwtm, 2 * 2 * 2.6, 1e-12);
	assert_true(isnan(w[1].fwhm) && isnan(w[2].fwhm)); /* one voxel */
	for (int i = 0; i < 7; i++) x.v[i] = (iso_real)profile[1][i];
	OK(iso_measure_fwhm(w, &x, &p));
	NEAR(w[0].centre, -2 + 2 * .25, 1e-12);
	NEAR(w[0].height, 8.125, 1e-12);
	/* left: between 5 and 1; right: between 7 and 1 */
	NEAR(w[0].fwhm, 2 * (1 + .9375 / 4 + 1 + 2.9375 / 6), 1e-12);
	assert_true(isnan(w[0].fwtm)); /* it ends at 1 on the left */
	iso_array_free(&x);
}

/* Two peaks: the window keeps to the one asked for. */
static void window(void **state)
{
	const struct bump small = { { -12, 0, 0 }, { 5, 5, 5 }, 1, 0 };
	const struct bump large = { { 12, 0, 0 }, { 7, 7, 7 }, 3, 0 };
	struct iso_array x = image(61, 21, 21, unit, origin);
	struct iso_fwhm p = { { -10, 1, 0 }, .window = 20 };
	struct iso_width w[3];
	double q[3];

	(void)state;
	for (int64_t v = 0; v < x.n; v++) {
		place(q, &x.grid, v);
		x.v[v] = (iso_real)(gaussian(q, &small) + gaussian(q, &large));
	}
	OK(iso_measure_fwhm(w, &x, &p));
	NEAR(w[0].centre, -12, .05);
	NEAR(w[0].fwhm, 5, .05);
	p.window = 0;
	OK(iso_measure_fwhm(w, &x, &p));
	NEAR(w[0].fwhm, 5, .05);
	p.window = 100;
	OK(iso_measure_fwhm(w, &x, &p));
	NEAR(w[0].centre, 12, .05);
	NEAR(w[0].fwhm, 7, .07);
	p.at[0] = -12;
	p.window = 4;
	OK(iso_measure_fwhm(w, &x, &p));
	assert_true(isnan(w[0].fwhm)); /* does not fall to half in 2 mm */
	NEAR(w[0].centre, -12, .05);
	p.at[0] = 4; /* the slope of a peak, not a peak */
	p.window = 16;
	OK(iso_measure_fwhm(w, &x, &p));
	assert_true(isnan(w[0].centre) && isnan(w[0].fwhm));
	iso_array_free(&x);
}

static void no_peak(void **state)
{
	struct iso_array x = image(9, 9, 9, unit, origin);
	struct iso_fwhm p = { .window = 0 };
	struct iso_width w[3];

	(void)state;
	for (int k = -1; k <= 2; k++) { /* flat: negative, zero, positive, nothing at all */
		for (int64_t i = 0; i < x.n; i++) x.v[i] = k < 2 ? (iso_real)k : (iso_real)NAN;
		OK(iso_measure_fwhm(w, &x, &p));
		for (int a = 0; a < 3; a++) assert_true(isnan(w[a].fwhm) && isnan(w[a].fwtm));
	}
	p.at[1] = 50;
	REFUSED(iso_measure_fwhm(w, &x, &p), ISO_EINPUT, "y = 50; the image reaches x -4.5 to");
	p.at[1] = NAN;
	REFUSED(iso_measure_fwhm(w, &x, &p), ISO_EARG, "place y is nan");
	p = (struct iso_fwhm){ .window = -1 };
	REFUSED(iso_measure_fwhm(w, &x, &p), ISO_EARG, "window is -1 mm");
	p = (struct iso_fwhm){ .background = INFINITY };
	REFUSED(iso_measure_fwhm(w, &x, &p), ISO_EARG, "background is inf");
	iso_array_free(&x);
}

/* ---- two arrays ---- */

static void differences(void **state)
{
	static const iso_real a[] = { 1, 2, 3, -4 }, b[] = { 1, 4, 0, -3 }, zero[4] = { 0 };
	struct iso_diff d = { .size = sizeof d };

	(void)state;
	OK(iso_measure_diff(&d, 4, a, b)); /* 0, -2, 3, -1 */
	assert_true(d.max_abs == 3 && d.mean == 0);
	NEAR(d.l2, sqrt(14 / 26.), 1e-14);
	NEAR(d.percent, 100 * 6 / 8., 1e-12);
	OK(iso_measure_diff(&d, 4, zero, zero));
	assert_true(d.max_abs == 0 && d.l2 == 0 && d.percent == 0);
	OK(iso_measure_diff(&d, 4, a, zero));
	assert_true(isinf(d.l2) && isinf(d.percent) && d.mean == .5);
}

static void errors(void **state)
{
	static const iso_real a[] = { 1, 2, 3, 100 }, ref[] = { 2, 4, 9, -7 }, zero[4] = { 0 };
	static const iso_real mask[] = { 1, (iso_real).1, -1, 0 };
	struct iso_rmse r = { .size = sizeof r, .n = 77 };

	(void)state;
	OK(iso_measure_rmse(&r, 3, a, ref, NULL, ISO_SCALE_NONE)); /* -1, -2, -6 */
	NEAR(r.rmse, sqrt(41 / 3.), 1e-14);
	NEAR(r.nrmse, r.rmse / 5, 1e-14);
	OK(iso_measure_rmse(&r, 4, a, ref, mask, ISO_SCALE_SUM)); /* k = 15/6: .5, 1, -1.5 */
	assert_int_equal(r.n, 3);
	NEAR(r.scale, 2.5, 1e-14);
	NEAR(r.rmse, sqrt(3.5 / 3), 1e-14);
	OK(iso_measure_rmse(&r, 4, a, ref, mask, ISO_SCALE_FIT)); /* k = 37/14 */
	NEAR(r.scale, 37 / 14., 1e-14);
	NEAR(r.rmse, sqrt((101 - 37. * 37 / 14) / 3), 1e-12);
	OK(iso_measure_rmse(&r, 4, a, zero, NULL, ISO_SCALE_NONE));
	assert_true(isinf(r.nrmse));
	OK(iso_measure_rmse(&r, 4, zero, zero, NULL, ISO_SCALE_NONE));
	assert_true(r.rmse == 0 && r.nrmse == 0);
	r.n = 77;
	REFUSED(iso_measure_rmse(&r, 4, zero, ref, NULL, ISO_SCALE_SUM), ISO_EINPUT, "its sum is 0");
	REFUSED(iso_measure_rmse(&r, 4, zero, ref, NULL, ISO_SCALE_FIT), ISO_EINPUT,
	        "its sum of squares is 0");
	REFUSED(iso_measure_rmse(&r, 4, a, ref, zero, ISO_SCALE_NONE), ISO_EINPUT, "mask");
	assert_int_equal(r.n, 77);
}

/* ---- NEMA ---- */

static bool in_disc(const double p[3], double x, double y, double r)
{
	return hypot(p[0] - x, p[1] - y) <= r;
}

/* Spheres as columns, so that a disc sees nothing else; background 2 with +-0.2 from disc to
   disc, of which there are two in each of two slices. */
static double columns(const double p[3], const void *arg)
{
	(void)arg;
	if (in_disc(p, -20, 0, 9)) return 6; /* 2 x ratio 3: all recovered */
	if (in_disc(p, 20, 0, 9)) return 1;  /* cold, half recovered */
	if (in_disc(p, 0, 0, 7)) return p[2] < 0 ? .1 : .3;
	return p[1] > 0 ? 2.2 : 1.8;
}

static const struct iso_nema two_spheres = {
	.size = sizeof two_spheres,
	.n_spheres = 2,
	.n_background = 2,
	.n_slices = 2,
	.sphere = { { { -20, 0, -5 }, 16, 3 }, { { 20, 0, 5 }, 12, 0 } },
	.background = { { 0, 25 }, { 0, -25 } },
	.slice = { -5, 5 },
	.has_lung = true,
	.lung_diameter = 10,
};

static void nema_by_hand(void **state)
{
	const double voxel[3] = { .5, .5, 2 };
	struct iso_array x = image(160, 160, 10, voxel, origin);
	struct iso_nema_result r = { .size = sizeof r };
	struct iso_nema q = two_spheres;

	(void)state;
	fill(&x, columns, NULL);
	OK(iso_measure_nema(&r, &x, &q));
	for (int i = 0; i < 2; i++) {
		NEAR(r.sphere[i].background, 2, 1e-6);
		NEAR(r.sphere[i].variability, 100 * sqrt(4 * .04 / 3) / 2, 1e-5);
	}
	NEAR(r.sphere[0].mean, 6, 1e-6);
	NEAR(r.sphere[0].contrast, 100, 1e-4);
	NEAR(r.sphere[1].contrast, 50, 1e-4);
	NEAR(r.lung, (5 + 15) / 2., 1e-5);
	q.has_lung = false;
	OK(iso_measure_nema(&r, &x, &q));
	assert_true(isnan(r.lung));
	iso_array_free(&x);
}

/* Pixels count by their share: of a disc of radius r in an image x < 0 ? 0 : 1, centred d from the
   step, the mean is 1/2 + (asin(d/r) + d/r sqrt(1 - d^2/r^2)) / pi. */
static double step(const double p[3], const void *arg)
{
	(void)arg;
	return p[0] < 0 ? 0 : 1;
}

static void nema_shares_of_pixels(void **state)
{
	const double voxel[3] = { 4, 4, 4 };
	struct iso_array x = image(40, 40, 1, voxel, origin);
	struct iso_nema q = { .size = sizeof q,
		              .n_spheres = 1,
		              .n_background = 2,
		              .n_slices = 1,
		              .sphere = { { { 0, 0, 0 }, 10, 3 } },
		              .background = { { 40, 20 }, { 40, -20 } } };
	struct iso_nema_result r = { .size = sizeof r };

	(void)state;
	fill(&x, step, NULL);
	for (double d = -5; d <= 5; d += 1.25) {
		double t = d / 5;

		q.sphere[0].centre[0] = d;
		OK(iso_measure_nema(&r, &x, &q));
		NEAR(r.sphere[0].mean, .5 + (asin(t) + t * sqrt(1 - t * t)) / M_PI, .01);
	}
	iso_array_free(&x);
}

/* The phantom itself: discs of background see nothing but background, so nothing varies, and
   large spheres come back better than small ones. */
static void nema_of_the_phantom(void **state)
{
	iso_phantom *p = NULL;
	struct iso_grid g = { { 160, 120, 30 }, { 2, 2, 2 }, { 0 } };
	struct iso_array x = { 0 };
	struct iso_nema_result r = { .size = sizeof r };
	struct iso_nema q = { .size = sizeof q };
	iso_ctx *ctx = cpu(2);

	(void)state;
	OK(iso_nema_read(&q, NULL));
	assert_true(q.n_spheres == 6 && q.n_background == 12 && q.n_slices == 5);
	OK(iso_phantom_create(&p, "spheres", origin));
	OK(iso_array_on_grid(&x, &g));
	OK(iso_phantom_raster(x.v, NULL, ctx, p, &g, 3));
	OK(iso_measure_nema(&r, &x, &q));
	for (int i = 0; i < 6; i++) {
		NEAR(r.sphere[i].background, 1, 1e-6);
		NEAR(r.sphere[i].variability, 0, 1e-4);
		assert_true(r.sphere[i].contrast > 80 && r.sphere[i].contrast < 100);
	}
	assert_true(r.sphere[5].contrast > 96);
	NEAR(r.lung, 0, 1e-9);
	iso_array_free(&x);
	iso_phantom_free(p);
	iso_ctx_free(ctx);
}

/* Places that lie beside the phantom, and are turned against it. */
static void nema_is_found(void **state)
{
	static const double there[3] = { 3.5, -2, 1.5 };
	const double turn = 4 * M_PI / 180;
	struct iso_grid g = { { 160, 120, 30 }, { 2, 2, 2 }, { 0 } };
	struct iso_nema_result right = { .size = sizeof right }, r = right;
	struct iso_nema q = { .size = sizeof q };
	struct iso_array x = { 0 };
	iso_phantom *p = NULL;
	iso_ctx *ctx = cpu(2);
	double moved[4];

	(void)state;
	OK(iso_phantom_create(&p, "spheres", origin));
	OK(iso_array_on_grid(&x, &g));
	OK(iso_phantom_raster(x.v, NULL, ctx, p, &g, 3));
	OK(iso_nema_read(&q, NULL));
	for (int i = 0; i < q.n_spheres; i++) {
		double *c = q.sphere[i].centre;
		const double from[2] = { c[0], c[1] };

		c[0] = cos(turn) * from[0] + sin(turn) * from[1] - there[0];
		c[1] = cos(turn) * from[1] - sin(turn) * from[0] - there[1];
		c[2] -= there[2];
	}
	OK(iso_nema_find(&q, moved, &x));
	assert_true(moved[0] == 0 && moved[3] == 0); /* it was not asked to look */
	q.find = true;
	OK(iso_measure_nema(&r, &x, &q));
	OK(iso_nema_find(&q, moved, &x));
	for (int a = 0; a < 3; a++) NEAR(moved[a], there[a], .51);
	NEAR(moved[3], 4, .51);
	assert_true(!q.find);
	NEAR(q.sphere[0].centre[0], 57.2, .6);
	OK(iso_measure_nema(&right, &x, &q));
	for (int i = 0; i < 6; i++) {
		assert_true(r.sphere[i].contrast == right.sphere[i].contrast);
		assert_true(r.sphere[i].contrast > 78);
	}
	for (int i = 0; i < q.n_spheres; i++) q.sphere[i].centre[0] += 14;
	q.find = true;
	REFUSED(iso_nema_find(&q, moved, &x), ISO_EINPUT, "are not found within 10 mm");
	iso_array_free(&x);
	iso_phantom_free(p);
	iso_ctx_free(ctx);
}

static void bad_nema(void **state)
{
	const double voxel[3] = { 1, 1, 2 };
	struct iso_array x = image(80, 80, 10, voxel, origin);
	struct iso_nema q = two_spheres;
	struct iso_nema_result r = { .size = sizeof r };

	(void)state;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EINPUT, "mean of the background is 0");
	fill(&x, columns, NULL);
	q.sphere[1].centre[0] = 35;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EINPUT, "6 mm at (35, 0) leaves the image");
	q = two_spheres;
	q.sphere[0].centre[2] = 11;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EINPUT, "z = 11 mm is outside");
	q.sphere[0].centre[2] = NAN;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EINPUT, "z = nan mm is outside");
	q = two_spheres;
	q.slice[1] = -12;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EINPUT, "z = -12 mm is outside");
	q = two_spheres;
	q.sphere[0].ratio = 1;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EARG, "sphere 1 has");
	q = two_spheres;
	q.sphere[1].diameter = 0;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EARG, "sphere 2 has");
	q.sphere[1].diameter = .01;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EINPUT, "too small");
	q = two_spheres;
	q.n_spheres = 17;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EARG, "17 spheres");
	q = two_spheres;
	q.n_slices = 0;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EARG, "0 slices");
	q = two_spheres;
	q.n_background = q.n_slices = 1;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EARG, "1 discs of background in 1 slices");
	q = two_spheres;
	q.lung_diameter = -1;
	REFUSED(iso_measure_nema(&r, &x, &q), ISO_EARG, "diameter of the lung is -1");
	iso_array_free(&x);
}

#define FILE_NAME "test_measure_nema.yaml"

static int read_text(struct iso_nema *q, const char *text)
{
	FILE *f = fopen(FILE_NAME, "w");
	int st;

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	st = iso_nema_read(q, FILE_NAME);
	remove(FILE_NAME);
	return st;
}

#define SPHERE "{centre_mm: [-20, 0, -5], diameter_mm: 16, ratio: 3}"
#define BACKGROUND "background: [{centre_mm: [0, 25]}, {centre_mm: [0, -25]}]\n"
#define SLICES "slices_mm: [-5, 5]\n"

static void nema_files(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "spheres: [" SPHERE "]\n" BACKGROUND, "'slices_mm' is missing" },
		{ "spheres: [" SPHERE "]\n" SLICES, "'background' is missing" },
		{ BACKGROUND SLICES, "'spheres' is missing" },
		{ "spheres: []\n" BACKGROUND SLICES, "spheres must be a list of 1 to 16" },
		{ "spheres: 3\n" BACKGROUND SLICES, "spheres must be a list" },
		{ "spheres: [" SPHERE "]\n" BACKGROUND "slices_mm: 3\n", "slices_mm must be" },
		{ "spheres: [" SPHERE "]\n" BACKGROUND "slices_mm: [x]\n", "must be a number" },
		{ "spheres: [" SPHERE "]\n" BACKGROUND SLICES "lungs: 3\n", "lung" },
		{ "spheres: [" SPHERE "]\n" BACKGROUND SLICES "lung: {centre_mm: [0, 0]}\n",
		  "'diameter_mm' of 'lung' is missing" },
		{ "spheres: [{centre_mm: [0, 0, 0], diameter_mm: 16, ratio: 1}]\n" BACKGROUND SLICES,
		  "ratio is 1" },
		{ "spheres: [{centre_mm: [0, 0], diameter_mm: 16, ratio: 3}]\n" BACKGROUND SLICES,
		  "centre_mm has 2 values, must have 3" },
		{ "spheres: [{centre_mm: [0, 0, 0], diameter_mm: .nan, ratio: 3}]\n" BACKGROUND SLICES,
		  "diameter_mm is" },
		{ "spheres: [3]\n" BACKGROUND SLICES, "" },
	};
	struct iso_nema q = { .size = sizeof q, .n_spheres = 77 };
	char many[4096] = "spheres: [";

	(void)state;
	for (int i = 0; i < N_OF(bad); i++) REFUSED(read_text(&q, bad[i].text), ISO_EINPUT, bad[i].message);
	for (int i = 0; i < 17; i++) strcat(many, SPHERE ", ");
	strcat(many, "]\n" BACKGROUND SLICES);
	REFUSED(read_text(&q, many), ISO_EINPUT, "1 to 16");
	REFUSED(iso_nema_read(&q, "no_such_file.yaml"), ISO_EINPUT, "no_such_file.yaml");
	assert_int_equal(q.n_spheres, 77);
	OK(read_text(&q, "spheres:\n  - " SPHERE "\n  - {centre_mm: [20, 0, 5], diameter_mm: 12, "
	                 "ratio: 0}\n" BACKGROUND SLICES "lung: {centre_mm: [0, 0], diameter_mm: 10}\n"));
	assert_memory_equal(&q, &two_spheres, sizeof q);
}

/* From 1, all alike, to the number of voxels, one alone; whatever the scale and the sign. */
static void sharpness(void **state)
{
	iso_real v[4] = { 3, -3, 3, 3 };
	struct iso_array x = { .n_dim = 1, .dim = { 4 }, .n = 4, .v = v };
	double s = 0;

	(void)state;
	assert_int_equal(iso_measure_sharpness(&s, &x), ISO_OK);
	assert_true(fabs(s - 1) < 1e-12);
	v[0] = v[1] = v[2] = 0;
	assert_int_equal(iso_measure_sharpness(&s, &x), ISO_OK);
	assert_true(fabs(s - 4) < 1e-12);
	v[1] = 9;
	assert_int_equal(iso_measure_sharpness(&s, &x), ISO_OK);
	assert_true(fabs(s - 4 * 90. / 144) < 1e-12);
	v[1] = v[3] = 0;
	assert_int_equal(iso_measure_sharpness(&s, &x), ISO_EINPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_by_hand),
		cmocka_unit_test(regions_by_count),
		cmocka_unit_test(region_of_mean_zero),
		cmocka_unit_test(bad_regions),
		cmocka_unit_test(profile_of_a_plane),
		cmocka_unit_test(profile_over_a_disc),
		cmocka_unit_test(profile_at_the_border),
		cmocka_unit_test(bad_profiles),
		cmocka_unit_test(widths_of_gaussians),
		cmocka_unit_test(widths_by_hand),
		cmocka_unit_test(window),
		cmocka_unit_test(no_peak),
		cmocka_unit_test(differences),
		cmocka_unit_test(errors),
		cmocka_unit_test(nema_by_hand),
		cmocka_unit_test(nema_shares_of_pixels),
		cmocka_unit_test(nema_of_the_phantom),
		cmocka_unit_test(nema_is_found),
		cmocka_unit_test(bad_nema),
		cmocka_unit_test(nema_files),
		cmocka_unit_test(sharpness),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
