/* SPDX-License-Identifier: BSD-3-Clause */
/* Ellipses and events simulated in them: which ellipse is on top, how many decays are seen, how
   far events are blurred, the same events in every split and for every number of threads; also
   built in double. */
#include "files.h"
#include "test.h"

#include "simulate/strip_simulate.h"

static const struct iso_strips paper = { .radius = 130, .length = 300, .sigma_z = 10, .sigma_dl = 40 };

static iso_phantom *phantom(const char *text)
{
	iso_phantom *p = NULL;

	if (!strchr(text, ' ')) OK(iso_phantom_create(&p, text, NULL));
	if (p) return p;
	put_text("p.txt", text);
	OK(iso_phantom_create(&p, "p.txt", NULL));
	return p;
}

/* n events, and the decays that gave them. */
static struct iso_strip_event *events(const struct iso_strips *s, const char *text, int64_t first, int64_t n,
                                      int threads, int64_t *decays)
{
	struct iso_strip_event *e = calloc((size_t)n, sizeof *e);
	iso_phantom *p = phantom(text);
	iso_ctx *ctx = cpu(threads);
	int64_t count;

	OK(iso_strip_simulate_counted(e, decays ? decays : &count, ctx, s, p, 7, first, n));
	iso_ctx_free(ctx);
	iso_phantom_free(p);
	return e;
}

/* Where an event came from (Bialas 2015, eq. 2, first forms). */
static void origin(double *z, double *y, double *tan, const struct iso_strip_event *e)
{
	*tan = ((double)e->z_up - e->z_down) / (2 * paper.radius);
	*y = -.5 * e->dl / sqrt(1 + *tan * *tan);
	*z = .5 * ((double)e->z_up + e->z_down) + *y * *tan;
}

/* ---- ellipses ---- */

static void image(iso_real **x, struct iso_grid *g, const char *text, int samples)
{
	iso_phantom *p = phantom(text);

	if (g->n[0] == 0) iso_phantom_grid(g, p);
	*x = calloc((size_t)iso_grid_voxels(g), sizeof **x);
	OK(iso_phantom_raster(*x, NULL, NULL, p, g, samples));
	iso_phantom_free(p);
}

static double at(const struct iso_grid *g, const iso_real *x, double px, double py)
{
	int64_t i = llround((px - g->centre[0]) / g->voxel[0] + .5 * (double)(g->n[0] - 1));
	int64_t j = llround((py - g->centre[1]) / g->voxel[1] + .5 * (double)(g->n[1] - 1));

	assert_true(i >= 0 && i < g->n[0] && j >= 0 && j < g->n[1]);
	return (double)x[j * g->n[0] + i];
}

/* The built-in phantom is the file of the reference vectors, on the paper's grid. */
static void the_paper_s_phantom(void **state)
{
	struct iso_grid g = { 0 };
	iso_real *x, *y;
	iso_phantom *p = NULL;
	double sum = 0, want;

	(void)state;
	image(&x, &g, "ellipses", 16);
	assert_int_equal(g.n[0], 75);
	assert_int_equal(g.n[1], 65);
	assert_int_equal(g.n[2], 1);
	for (int a = 0; a < 3; a++) {
		NEAR(g.voxel[a], 4, 0);
		NEAR(g.centre[a], 0, 1e-12);
	}
	image(&y, &g, TEST_DATA "/jpet/phantom.txt", 16);
	assert_memory_equal(x, y, (size_t)iso_grid_voxels(&g) * sizeof *x);
	for (int64_t i = 0; i < 75 * 65; i++) sum += 16 * (double)x[i];
	want = M_PI * (.2 * 30 * 60 + .2 * 10 * 33 + .4 * 20 * 33 + .4 * 13 * 14 + .6 * 12 * 12 +
	               .1 * 120 * 110); /* each less the .1 of the background under it */
	NEAR(sum, want, 2e-3 * want);
	NEAR(at(&g, x, 0, 0), .3, 1e-7);
	NEAR(at(&g, x, 64, 64), .5, 1e-7);
	NEAR(at(&g, x, 36, 56), .7, 1e-7);
	NEAR(at(&g, x, -100, 0), .1, 1e-7);
	NEAR(at(&g, x, 0, 116), 0, 0);
	/* turned by -40 and by 45 degrees: half axis b lies along (sin 40, cos 40), (-1, 1) */
	NEAR(at(&g, x, 68, -40), .3, 1e-7);
	NEAR(at(&g, x, 32, -40), .1, 1e-7);
	NEAR(at(&g, x, -68, -44), .5, 1e-7);
	NEAR(at(&g, x, -32, -44), .1, 1e-7);
	free(x);
	free(y);
	OK(iso_phantom_create(&p, "spheres", NULL));
	REFUSED(iso_phantom_ellipse(&(struct iso_ellipse){ 0 }, p, 0), ISO_EARG, "no ellipse");
	iso_phantom_free(p);
}

/* The area of turned ellipses on a grid they do not fit; a hole on top is a hole. */
static void turned_ellipses(void **state)
{
	struct iso_grid g = { { 80, 60, 3 }, { 1, 1, 5 }, { 2, 1, 0 } };
	const char *yaml = "shapes:\n- {type: ellipse, centre_mm: [3, -2], radius_mm: [30, 12], "
			   "angle_deg: 25, activity: 2}\n"
			   "- {type: ellipse, radius_mm: 5, activity: 0}\n";
	iso_real *x, *y;
	iso_phantom *p = NULL;
	double sum = 0;

	(void)state;
	image(&x, &g, "ellipse 0 0 5 5 0 0\nellipse 3 -2 30 12 25 2 # below\n", 8);
	for (int64_t i = 0; i < 80 * 60; i++) sum += (double)x[i];
	NEAR(sum, 2 * M_PI * (30 * 12 - 5 * 5), 4);
	assert_memory_equal(x, x + 2 * 80 * 60, 80 * 60 * sizeof *x); /* alike at every z */
	put_text("p.yaml", yaml);
	OK(iso_phantom_create(&p, "p.yaml", NULL));
	y = calloc((size_t)iso_grid_voxels(&g), sizeof *y);
	OK(iso_phantom_raster(y, NULL, NULL, p, &g, 8));
	assert_memory_equal(x, y, (size_t)iso_grid_voxels(&g) * sizeof *x);
	iso_phantom_grid(&g, p);
	assert_int_equal(g.n[2], 1);
	iso_phantom_free(p);
	free(x);
	free(y);
}

/* A rectangle of half sides 20.5 and 10 over an ellipse, and a point: the topmost decides, or all add up. In metres they
   are the same, but for what a point has in all. */
static void flat_shapes(void **state)
{
	static const char mm[] = "point 30.5 0.5 7\nrectangle 3 -2 20.5 10 3\nellipse 0 0 30 30 0 2\n";
	static const char metres[] =
		"unit_mm 1000\npoint .0305 .0005 7e-6\nrectangle .003 -.002 .0205 .01 3\n"
		"ellipse 0 0 .03 .03 0 2\n";
	struct iso_grid g = { { 80, 80, 1 }, { 1, 1, 5 }, { 0, 0, 0 } };
	char more[200];
	iso_real *x, *y, *z;
	iso_phantom *p;
	double sum = 0;

	(void)state;
	image(&x, &g, mm, 8);
	image(&y, &g, metres, 8);
	snprintf(more, sizeof more, "additive\n%s", mm);
	image(&z, &g, more, 8);
	for (int64_t i = 0; i < 6400; i++) {
		NEAR((double)y[i], (double)x[i], 1e-3);
		sum += (double)z[i];
	}
	NEAR(at(&g, x, 22.5, 7.5), 3, 0);
	NEAR(at(&g, x, 23.5, 7.5), 2.5, 0);
	NEAR(at(&g, x, 24.5, 7.5), 2, 0);
	NEAR(at(&g, x, 22.5, 8.5), 2, 0);
	NEAR(at(&g, x, -16.5, -11.5), 3, 0);
	NEAR(at(&g, x, 30.5, .5), 7, 1e-6);
	NEAR(at(&g, z, 22.5, 7.5), 5, 0);
	NEAR(at(&g, z, 23.5, 7.5), 3.5, 0);
	NEAR(at(&g, z, 24.5, 7.5), 2, 0);
	NEAR(sum, 7 + 3 * 820 + 2 * M_PI * 900, 4);
	p = phantom(more);
	assert_true(iso_phantom_adds(p));
	assert_int_equal(iso_phantom_shapes(p), 3);
	iso_phantom_grid(&g, p);
	assert_int_equal(g.n[2], 1);
	iso_phantom_free(p);
	p = phantom(mm);
	assert_false(iso_phantom_adds(p));
	iso_phantom_free(p);
	put_text("p.yaml", "additive: true\nshapes:\n- {type: ellipse, radius_mm: 30, activity: 2}\n"
	                   "- {type: ellipse, radius_mm: 10, activity: 3}\n");
	OK(iso_phantom_create(&p, "p.yaml", NULL));
	assert_true(iso_phantom_adds(p));
	iso_phantom_free(p);
	free(x);
	free(y);
	free(z);
}

static void damaged_ellipses(void **state)
{
	static const struct {
		const char *text, *message;
	} table[] = {
		{ "", "no line: ellipse" },
		{ "\n# nothing\n", "no line: ellipse" },
		{ "ellipse 0 0 5 5 0\n", "d.txt:1: expected: ellipse x y a b phi rho" },
		{ "\nellipse 0 0 5 5 0 1 1\n", "d.txt:2: expected: ellipse x y a b phi rho" },
		{ "circle 0 0 5 5 0 1\n", "expected: ellipse" },
		{ "rectangle 0 0 5 5 0 1\n", "expected: rectangle x y a b rho" },
		{ "point 0 0\n", "expected: point x y rho" },
		{ "additive 1\n", "expected: ellipse" },
		{ "unit_mm\n", "unit_mm must have one number" },
		{ "unit_mm 0\n", "unit_mm must have one number" },
		{ "unit_mm 10\nunit_mm 10\n", "d.txt:2: unit_mm must have one number in [1e-6, 1e6], once" },
		{ "point 0 0 1\nunit_mm 10\n", "d.txt:2: unit_mm must have" },
		{ "unit_mm 1e6\npoint 1 0 1\n", "d.txt:2: x is 1e+06, must be in [-100000, 100000]" },
		{ "ellipse 0 0 five 5 0 1\n", "'five' is not a number" },
		{ "ellipse 0 0 5 nan 0 1\n", "'nan' is not a number" },
		{ "ellipse 0 0 0 5 0 1\n", "a is 0, must be in [1e-06, 100000]" },
		{ "ellipse 0 0 5 5 0 -1\n", "rho is -1, must be in [0, 1e+12]" },
	};
	iso_phantom *p = NULL;

	(void)state;
	for (int i = 0; i < N_OF(table); i++) {
		put_text("d.txt", table[i].text);
		REFUSED(iso_phantom_create(&p, "d.txt", NULL), ISO_EINPUT, table[i].message);
	}
	put("d.txt", "ellipse\0", 8);
	REFUSED(iso_phantom_create(&p, "d.txt", NULL), ISO_EINPUT, "byte 0");
	assert_null(p);
}

/* ---- simulation ---- */

static void any_split_gives_the_same_events(void **state)
{
	int64_t d1, d3;
	struct iso_strip_event *a = events(&paper, "ellipses", 0, 30000, 1, &d1);
	struct iso_strip_event *b = events(&paper, "ellipses", 0, 30000, 3, &d3);
	struct iso_strip_event *c = events(&paper, "ellipses", 777, 10000, 2, NULL);

	(void)state;
	assert_memory_equal(a, b, 30000 * sizeof *a);
	assert_memory_equal(a + 777, c, 10000 * sizeof *a);
	assert_int_equal(d1, d3);
	free(a);
	free(b);
	free(c);
}

struct pieces {
	struct iso_strip_event *want;
	int64_t n;
	bool stop;
};

static int compare(void *arg, const struct iso_strip_events *piece)
{
	struct pieces *p = arg;

	assert_memory_equal(p->want + p->n, piece->v, (size_t)piece->n * sizeof *piece->v);
	p->n += piece->n;
	return p->stop ? ISO_EIO : ISO_OK;
}

static void blocks(void **state)
{
	enum { N = 30000 };
	int64_t decays, whole;
	struct pieces p = { .want = events(&paper, "ellipses", 0, N, 1, &whole) };
	iso_phantom *ellipses = phantom("ellipses");
	iso_ctx *ctx = cpu(2);

	(void)state;
	OK(iso_strip_simulate_blocks(&decays, ctx, &paper, ellipses, 7, N, compare, &p));
	assert_true(p.n == N && decays == whole);
	p.n = 0;
	p.stop = true;
	assert_int_equal(iso_strip_simulate_blocks(&decays, ctx, &paper, ellipses, 7, N, compare, &p),
	                 ISO_EIO);
	free(p.want);
	iso_phantom_free(ellipses);
	iso_ctx_free(ctx);
}

/* Decays of the phantom have the mean sensitivity 0.40343 (its integral). */
static void share_seen(void **state)
{
	enum { N = 1000000 };
	int64_t decays;

	(void)state;
	free(events(&paper, "ellipses", 0, N, 0, &decays));
	NEAR((double)N / (double)decays, .40343, 5 * sqrt(.40343 * .6 * .40343 / N));
}

/* Two ellipses that overlap on a wider one, without errors and between strips so long that all
   are seen alike: shares of the decays by the visible area times rho, here counted on a grid. */
static void topmost_wins(void **state)
{
	enum { N = 400000 };
	static const char text[] = "ellipse -10 0 30 20 0 1\nellipse 15 5 40 25 30 2\n"
				   "ellipse 0 0 80 70 0 0.5\n";
	const struct iso_strips wide = { .radius = 130, .length = 99999, .sigma_z = 1e-6, .sigma_dl = 1e-6 };
	struct iso_strip_event *e = events(&wide, text, 0, N, 0, NULL);
	iso_phantom *p = phantom(text);
	struct iso_ellipse row[3];
	double want[3] = { 0 }, got[3] = { 0 }, sum;

	(void)state;
	for (int i = 0; i < 3; i++) OK(iso_phantom_ellipse(&row[i], p, i));
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < (k ? N : 1600 * 1600); i++) {
			double z = -80 + .1 * (i % 1600 + .5), y = -80 + .1 * (i / 1600 + .5), tan;
			int j = 0;

			if (k) origin(&z, &y, &tan, &e[i]);
			for (; j < 3; j++) {
				const struct iso_ellipse *r = &row[j];
				double u = (z - r->x) * r->cos_phi + (y - r->y) * r->sin_phi;
				double v = (y - r->y) * r->cos_phi - (z - r->x) * r->sin_phi;

				if (hypot(u / r->a, v / r->b) <= (k && j == 2 ? 1.01 : 1)) break;
			}
			if (j < 3) (k ? got : want)[j] += k ? 1. / N : row[j].rho;
		}
	sum = want[0] + want[1] + want[2];
	for (int j = 0; j < 3; j++) NEAR(got[j], want[j] / sum, 5 * sqrt(.25 / N));
	iso_phantom_free(p);
	free(e);
}

/* Shapes that add up: shares by area times rho, also where they overlap; a point by its rho. */
static void shapes_that_add_up(void **state)
{
	enum { N = 400000 };
	const struct iso_strips wide = { .radius = 130, .length = 99999, .sigma_z = 1e-6, .sigma_dl = 1e-6 };
	const double area = 80 * 60 * 1. + 40 * 20 * 3. + 500,
		     share[] = { 500 / area, (500 + 4 * 800.) / area };
	struct iso_strip_event *e =
		events(&wide, "additive\nrectangle 0 0 40 30 1\nrectangle 10 -5 20 10 3\npoint -70 20 500\n",
	               0, N, 0, NULL);
	double got[2] = { 0 }, low = 0, high = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		double z, y, tan;

		origin(&z, &y, &tan, &e[i]);
		if (fabs(z + 70) < .1 && fabs(y - 20) < .1) got[0] += 1. / N;
		if (z < -69) continue;
		assert_true(fabs(z) < 40.5 && fabs(y) < 30.5);
		if (fabs(z - 10) <= 20 && fabs(y + 5) <= 10) got[1] += 1. / N;
		low = fmin(low, z);
		high = fmax(high, y);
	}
	NEAR(got[0], share[0], 5 * sqrt(.25 / N));
	NEAR(got[0] + got[1], share[1], 5 * sqrt(.25 / N));
	NEAR(low, -40, .5);
	NEAR(high, 30, .5);
	free(e);
}

/* Angles are uniform, kept ones are those whose exact hits lie on the strips. */
static void directions(void **state)
{
	enum { N = 400000 };
	struct iso_strips exact = paper;
	double most = atan(150. / 130), mean = 0, square = 0;

	exact.sigma_z = exact.sigma_dl = 1e-6;

	int64_t decays;
	struct iso_strip_event *e = events(&exact, "ellipse 0 0 1e-6 1e-6 0 1\n", 0, N, 0, &decays);

	(void)state;
	for (int i = 0; i < N; i++) {
		double z, y, tan, theta;

		origin(&z, &y, &tan, &e[i]);
		NEAR(z, 0, 1e-4);
		NEAR(y, 0, 1e-4);
		theta = atan(tan);
		assert_true(fabs(theta) <= most * (1 + 1e-6));
		mean += theta / N;
		square += theta * theta / N;
	}
	NEAR(mean, 0, 5 * most / sqrt(3. * N));
	NEAR(square, most * most / 3, 5 * .3 * most * most / sqrt(N));
	NEAR((double)N / (double)decays, 2 * most / M_PI, 5 * .5 / sqrt(N));
	free(e);
}

/* A point seen by the direct reconstruction: sigma_z sqrt((R^2 + y^2) / (2 R^2)) across, at the
   point's own height, and sigma_dl / 2 along upright lines. */
static void resolution(void **state)
{
	enum { N = 500000 };
	const char *const points[] = { "ellipse 0 0 1e-3 1e-3 0 1\n", "ellipse 0 100 1e-3 1e-3 0 1\n" };

	(void)state;
	for (int h = 0; h < 2; h++) {
		double sz = 0, sy = 0, n = 0, y0 = 100. * h;
		double across = 10 * sqrt((130 * 130 + y0 * y0) / (2 * 130. * 130));
		struct iso_strip_event *e = events(&paper, points[h], 0, N, 0, NULL);

		for (int i = 0; i < N; i++) {
			double z, y, tan;

			origin(&z, &y, &tan, &e[i]);
			z += (y0 - y) * tan;
			sz += z * z;
			if (fabs(tan) < .03) {
				sy += (y - y0) * (y - y0);
				n++;
			}
		}
		NEAR(sqrt(sz / N), across, 5 * across / sqrt(2 * N));
		NEAR(sqrt(sy / n), 20, 5 * 20 / sqrt(2 * n));
		free(e);
	}
}

/* Errors of events against the same events without: widths that grow to the ends, and the
   covariance that belongs to gamma. */
static void errors(void **state)
{
	enum { N = 500000 };
	struct iso_strips exact = paper, odd = paper;
	double c[3][3] = { { 0 } }, n = 0, inverse[3][3];

	exact.sigma_z = exact.sigma_dl = 1e-6;
	odd.sigma_z_growth = .5;
	odd.gamma = .001;

	struct iso_strip_event *a = events(&exact, "ellipses", 0, N, 0, NULL);
	struct iso_strip_event *b = events(&odd, "ellipses", 0, N, 0, NULL);

	(void)state;
	for (int i = 0; i < N; i++) {
		double d[3] = { (double)b[i].z_up - a[i].z_up, (double)b[i].z_down - a[i].z_down,
			        (double)b[i].dl - a[i].dl };

		/* here sigma_z is 10 (1 + .5 (z / 150)^2): 11.8 above, 10.2 below */
		if (fabs(fabs((double)a[i].z_up) - 90) > 15 || fabs(fabs((double)a[i].z_down) - 30) > 15)
			continue;
		for (int j = 0; j < 9; j++) c[j / 3][j % 3] += d[j / 3] * d[j % 3];
		n++;
	}
	assert_true(n > 10000);
	for (int j = 0; j < 9; j++) c[j / 3][j % 3] /= n;
	for (int j = 0; j < 3; j++)
		for (int k = 0; k < 3; k++) {
			int j1 = (j + 1) % 3, j2 = (j + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;

			inverse[k][j] = c[j1][k1] * c[j2][k2] - c[j1][k2] * c[j2][k1];
		}

	double det = c[0][0] * inverse[0][0] + c[0][1] * inverse[1][0] + c[0][2] * inverse[2][0];
	const double want[3][3] = { { 1 / 139.24, 0, .001 },
		                    { 0, 1 / 104.04, -.001 },
		                    { .001, -.001, 1 / 1600. } };

	for (int j = 0; j < 3; j++)
		for (int k = 0; k < 3; k++)
			NEAR(inverse[j][k] / det, want[j][k], .08 * sqrt(want[j][j] * want[k][k]));
	free(a);
	free(b);
}

static void bad_arguments_are_refused(void **state)
{
	iso_phantom *p = phantom("ellipses"), *q = NULL;
	struct iso_strips s = paper;
	struct iso_strip_event e;
	iso_ctx *ctx = cpu(1);

	(void)state;
	REFUSED(iso_strip_simulate(&e, ctx, &s, p, 1, -1, 1), ISO_EARG, "1 events from number -1");
	REFUSED(iso_strip_simulate(&e, ctx, &s, p, 1, INT64_MAX, 1), ISO_EARG, "0 or above");
	s.radius = NAN;
	REFUSED(iso_strip_simulate(&e, ctx, &s, p, 1, 0, 1), ISO_EARG, "radius nan");
	s = paper;
	s.gamma = .002;
	REFUSED(iso_strip_simulate(&e, ctx, &s, p, 1, 0, 1), ISO_EARG, "gamma is 0.002");
	s = paper;
	q = phantom("ellipse 0 200 5 5 0 1\n");
	REFUSED(iso_strip_simulate(&e, ctx, &s, q, 1, 0, 1), ISO_EARG, "0 of 1000000 decays reach");
	iso_phantom_free(q);
	q = phantom("ellipse 0 0 5 5 0 0\n");
	REFUSED(iso_strip_simulate(&e, ctx, &s, q, 1, 0, 1), ISO_EARG, "no shape has activity");
	iso_phantom_free(q);
	OK(iso_phantom_create(&q, "spheres", NULL));
	REFUSED(iso_strip_simulate(&e, ctx, &s, q, 1, 0, 1), ISO_EARG, "is no ellipse");
	iso_phantom_free(q);
	iso_ctx_cancel(ctx);
	REFUSED(iso_strip_simulate(&e, ctx, &s, p, 1, 0, 1), ISO_ECANCEL, "stopped");
	iso_phantom_free(p);
	iso_ctx_free(ctx);
}

static void check_cuda_phantom(iso_ctx *ctx, const char *text)
{
	enum { N = 5000000 }; /* more than one block */
	struct iso_strips s = paper;
	iso_phantom *p = phantom(text);
	struct iso_strip_event *want, *got = calloc(N, sizeof *got);
	int64_t decays, wanted;

	s.sigma_z_growth = .1;
	s.gamma = 5e-4;
	want = events(&s, text, 3, N, 0, &wanted);
	OK(iso_strip_simulate_counted(got, &decays, ctx, &s, p, 7, 3, N));
	assert_int_equal(decays, wanted);
	for (int i = 0; i < N; i++) {
		NEAR(got[i].z_up, want[i].z_up, 1e-4);
		NEAR(got[i].z_down, want[i].z_down, 1e-4);
		NEAR(got[i].dl, want[i].dl, 2e-4);
	}
	free(want);
	free(got);
	iso_phantom_free(p);
}

static void check_cuda(iso_ctx *ctx)
{
	check_cuda_phantom(ctx, "ellipses");
	check_cuda_phantom(ctx, "additive\npoint 9 5 99\nrectangle 0 9 40 30 1\nellipse 5 0 60 30 20 1\n");
}
CUDA_TEST(cuda_makes_the_same_events, check_cuda)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_paper_s_phantom),
		cmocka_unit_test(turned_ellipses),
		cmocka_unit_test(flat_shapes),
		cmocka_unit_test(damaged_ellipses),
		cmocka_unit_test(any_split_gives_the_same_events),
		cmocka_unit_test(blocks),
		cmocka_unit_test(share_seen),
		cmocka_unit_test(topmost_wins),
		cmocka_unit_test(shapes_that_add_up),
		cmocka_unit_test(directions),
		cmocka_unit_test(resolution),
		cmocka_unit_test(errors),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(cuda_makes_the_same_events),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
