/* SPDX-License-Identifier: BSD-3-Clause */
/* Spheres and their sound: reference vectors, apertures, impulse response, noise;
   also built in double. */
#include "oat.h"

#define CASE "sphere_pressure"

enum { MOST = 16 };

static struct iso_spheres spheres(struct iso_sphere v[MOST], const char *which, double fwhm)
{
	struct iso_array a = vector(which, "spheres");
	struct iso_spheres s = { (int)a.dim[0], v, fwhm };

	assert_true(s.n <= MOST);
	for (int i = 0; i < s.n; i++) {
		const iso_real *r = a.v + 5 * i;

		v[i] = (struct iso_sphere){ { r[0], r[1], r[2] }, r[3], r[4] };
	}
	iso_array_free(&a);
	return s;
}

/* Points at the reference's places; normals do not matter. */
static struct iso_transducers points(double pos[15], double axis[15])
{
	struct iso_array a = vector(CASE, "transducers");
	struct iso_transducers t = {
		.n = 5,
		.pos = pos,
		.normal = axis,
		.ex = axis,
		.ey = axis,
		.speed = param(CASE, "c0"),
		.dt_us = 1 / param(CASE, "fs"),
		.first_us = param(CASE, "tmin"),
		.samples = (int64_t)param(CASE, "K"),
		.gamma = param(CASE, "gamma"),
	};

	for (int i = 0; i < 15; i++) {
		pos[i] = a.v[i];
		axis[i] = i % 3 == 0;
	}
	iso_array_free(&a);
	return t;
}

static void smooth_pressure(void **state)
{
	double pos[15], axis[15];
	struct iso_sphere v[MOST];
	struct iso_spheres s = spheres(v, CASE, param(CASE, "fwhm_mm"));
	struct iso_transducers t = points(pos, axis);
	struct iso_array ref = vector(CASE, "p_smooth");
	iso_real y[5 * 600];
	iso_ctx *ctx = cpu(2);

	(void)state;
	assert_int_equal(ref.n, 3000);
	OK(iso_spheres_pressure(y, ctx, &s, &t));
	BELOW(relative_difference(3000, y, ref.v), TOLERANCE(1e-5, 1e-10));
	iso_array_free(&ref);
	iso_ctx_free(ctx);
}

/* Whether sample k of transducer q lies within 1e-5 us of the edge of a sphere's sound. */
static bool at_edge(const struct iso_transducers *t, const struct iso_spheres *s, int q, int k)
{
	double time = t->first_us + k * t->dt_us;

	for (int i = 0; i < s->n; i++) {
		double d = 0;

		for (int a = 0; a < 3; a++) d += pow(t->pos[3 * q + a] - s->v[i].centre[a], 2);
		if (fabs(fabs(time * t->speed - sqrt(d)) - s->v[i].radius) < 1e-5 * t->speed) return true;
	}
	return false;
}

static void uniform_pressure(void **state)
{
	double pos[15], axis[15];
	struct iso_sphere v[MOST];
	struct iso_spheres s = spheres(v, CASE, 0);
	struct iso_transducers t = points(pos, axis);
	struct iso_array ref = vector(CASE, "p_uniform");
	iso_real y[5 * 600];
	iso_ctx *ctx = cpu(1);
	int skipped = 0;

	(void)state;
	OK(iso_spheres_pressure(y, ctx, &s, &t));
	for (int i = 0; i < 3000; i++)
		if (at_edge(&t, &s, i / 600, i % 600)) {
			y[i] = ref.v[i];
			skipped++;
		}
	assert_true(skipped < 10);
	BELOW(relative_difference(3000, y, ref.v), TOLERANCE(1e-5, 1e-10));
	iso_array_free(&ref);
	iso_ctx_free(ctx);
}

static void phantom_values(void **state)
{
	struct iso_sphere v[MOST];
	struct iso_spheres s = spheres(v, CASE, param(CASE, "fwhm_mm"));
	struct iso_array at = vector(CASE, "sample_points"), ref = vector(CASE, "phantom_smooth");
	iso_real x[46];

	(void)state;
	for (int i = 0; i < 46; i++) {
		struct iso_grid g = { { 1, 1, 1 },
			              { 1, 1, 1 },
			              { at.v[3 * i], at.v[3 * i + 1], at.v[3 * i + 2] } };

		OK(iso_spheres_raster(x + i, NULL, &s, &g));
	}
	BELOW(relative_difference(46, x, ref.v), TOLERANCE(1e-5, 1e-10));
	iso_array_free(&at);
	iso_array_free(&ref);
}

/* The truth of the images of filtered back-projection. */
static void phantom_image(void **state)
{
	struct iso_sphere v[MOST];
	struct iso_spheres s = spheres(v, "fbp", param("fbp", "fwhm_mm"));
	struct iso_grid g = node_grid("fbp");
	struct iso_array x = { 0 }, ref = vector("fbp", "phantom");
	iso_ctx *ctx = cpu(2);

	(void)state;
	OK(iso_array_on_grid(&x, &g));
	OK(iso_spheres_raster(x.v, ctx, &s, &g));
	assert_int_equal(x.n, ref.n);
	BELOW(relative_difference(x.n, x.v, ref.v), TOLERANCE(1e-5, 1e-10));
	iso_array_free(&x);
	iso_array_free(&ref);
	iso_ctx_free(ctx);
}

/* nine-spheres as shapes, as spheres, and as an image that its own FWHM smooths. */
static void nine_spheres(void **state)
{
	struct iso_grid g = { { 1, 1, 1 }, { 1, 1, 1 }, { -6.58, 0, -21 } };
	struct iso_sphere v[9];
	iso_phantom *p = NULL;
	iso_real x = 0;
	double fwhm = 0;

	(void)state;
	OK(iso_phantom_create(&p, "nine-spheres", NULL));
	assert_int_equal(iso_phantom_shapes(p), 9);
	OK(iso_phantom_spheres(v, &fwhm, p));
	assert_true(fwhm == .77 && v[3].radius == 4 && v[8].value == .7);
	OK(iso_phantom_raster(&x, NULL, NULL, p, &g, 5));
	NEAR(x, 1, 1e-6);
	g.centre[0] += 3; /* on the surface: nearly half */
	OK(iso_phantom_raster(&x, NULL, NULL, p, &g, 5));
	NEAR(x, .5, .05);
	iso_phantom_free(p);
	OK(iso_phantom_create(&p, "cylinder", NULL));
	REFUSED(iso_phantom_spheres(v, &fwhm, p), ISO_EARG, "shape 1 of 1 is no sphere");
	iso_phantom_free(p);
	OK(iso_phantom_create(&p, "two-spheres-apart", NULL));
	iso_phantom_free(p);
}

/* A face hears the mean over many points of it. */
static void aperture(void **state)
{
	enum { K = 60, N = 64 };
	double pos[3] = { 0, 0, 20 }, normal[3] = { 0, 0, -1 }, ex[3] = { 1, 0, 0 }, ey[3] = { 0, -1, 0 };
	double face[2] = { 3, 2 };
	struct iso_transducers t = { .n = 1,
		                     .pos = pos,
		                     .normal = normal,
		                     .ex = ex,
		                     .ey = ey,
		                     .aperture = face,
		                     .speed = 1.5,
		                     .dt_us = .05,
		                     .first_us = 12,
		                     .samples = K,
		                     .gamma = 1 };
	struct iso_sphere ball = { { 4, 1, 0 }, 1, 1 };
	struct iso_spheres s = { 1, &ball, .77 };
	iso_real y[K], one[K], mean[K];
	double sum[K] = { 0 };

	(void)state;
	OK(iso_spheres_pressure(y, NULL, &s, &t));
	t.aperture = NULL;
	for (int i = 0; i < N * N; i++) {
		pos[0] = 3 * ((i % N + .5) / N - .5);
		pos[1] = 2 * ((i / N + .5) / N - .5);
		OK(iso_spheres_pressure(one, NULL, &s, &t));
		for (int k = 0; k < K; k++) sum[k] += one[k];
	}
	for (int k = 0; k < K; k++) mean[k] = (iso_real)(sum[k] / (N * N));
	BELOW(relative_difference(K, y, mean), 2e-3);
	pos[0] = pos[1] = 0;
	OK(iso_spheres_pressure(one, NULL, &s, &t));
	assert_true(relative_difference(K, one, mean) > 2e-2); /* a point hears otherwise */
}

/* Many points hear tabulated waves, those of a single face the formula. */
static void tables(void **state)
{
	enum { K = 90, N = 40 };
	static double pos[N][3], normal[N][3], ex[N][3], ey[N][3], face[N][2];
	static iso_real all[N][K], one[K];
	struct iso_transducers t = { .n = N,
		                     .pos = pos[0],
		                     .normal = normal[0],
		                     .ex = ex[0],
		                     .ey = ey[0],
		                     .aperture = face[0],
		                     .speed = 1.5,
		                     .dt_us = .05,
		                     .first_us = 9.9,
		                     .samples = K,
		                     .gamma = 1 };
	struct iso_sphere balls[] = { { { 1, 0, 2 }, 1.3, 1 }, { { -2, 1, 0 }, .4, -2 } };
	struct iso_spheres s = { 2, balls, .2 }; /* sigma 0.085 mm, a sample 0.075 mm */
	double most = 0, worst = 0;

	(void)state;
	for (int i = 0; i < N; i++) { /* some waves begin before the record, some end after it */
		pos[i][2] = 14 + .2 * i;
		normal[i][2] = -1;
		ex[i][0] = 1;
		ey[i][1] = -1;
		face[i][0] = 2;
		face[i][1] = 1;
	}
	OK(iso_spheres_pressure(all[0], NULL, &s, &t));
	t.n = 1;
	for (int i = 0; i < N; i++) {
		t.pos = pos[i];
		OK(iso_spheres_pressure(one, NULL, &s, &t));
		for (int k = 0; k < K; k++) {
			double error = fabs((double)all[i][k] - (double)one[k]);

			most = fabs((double)one[k]) > most ? fabs((double)one[k]) : most;
			worst = error > worst ? error : worst;
		}
	}
	assert_true(most > 0 && worst > 0 && worst < TOLERANCE(1e-7, 2e-9) * most);
}

static void impulse_response(void **state)
{
	double h[3] = { 2, 1, -1 };
	struct iso_transducers t = { .n = 2, .samples = 4, .eir = h, .n_eir = 3 };
	iso_real y[8] = { 1, 0, 0, 0, 0, 1, 10, 0 };
	const iso_real want[8] = { 2, 1, -1, 0, 0, 2, 21, 9 };

	(void)state;
	OK(iso_traces_eir(y, NULL, &t));
	assert_memory_equal(y, want, sizeof want);
	t.eir = NULL;
	OK(iso_traces_eir(y, NULL, &t));
	assert_memory_equal(y, want, sizeof want);
}

static void noise(void **state)
{
	enum { N = 20000 };
	static iso_real a[N], b[N];
	double sum = 0, square = 0;

	(void)state;
	iso_traces_noise(a, N, 2, 5);
	iso_traces_noise(b, N / 2, 2, 5);
	assert_memory_equal(a, b, N / 2 * sizeof *a);
	for (int i = 0; i < N; i++) {
		sum += a[i];
		square += a[i] * a[i];
	}
	NEAR(sum / N, 0, 4 * 2 / sqrt(N));
	NEAR(square / N, 4, .2);
	iso_traces_noise(b, N / 2, 2, 6);
	assert_true(b[0] != 2 * a[0]);
}

/* Pressure and noise in one call; values that overflow are told. */
static void traces(void **state)
{
	double pos[15], axis[15], greatest;
	struct iso_sphere v[MOST];
	struct iso_spheres s = spheres(v, CASE, 0);
	struct iso_transducers t = points(pos, axis);
	int64_t n = t.n * t.samples;
	iso_real *a = calloc((size_t)n, sizeof *a), *b = calloc((size_t)n, sizeof *b), most = 0;

	(void)state;
	OK(iso_spheres_pressure(a, NULL, &s, &t));
	for (int64_t i = 0; i < n; i++)
		most = fabs((double)a[i]) > (double)most ? (iso_real)fabs((double)a[i]) : most;
	iso_traces_noise(a, n, .1 * (double)most, 3);
	OK(iso_spheres_traces(b, &greatest, NULL, &s, &t, .1, 3));
	assert_true(greatest == (double)most && most > 0);
	assert_memory_equal(a, b, (size_t)n * sizeof *a);
	v[0].value = sizeof(iso_real) == 4 ? 1e300 : 1.7e308;
	t.gamma = 1e8;
	REFUSED(iso_spheres_traces(b, &greatest, NULL, &s, &t, 0, 0), ISO_EINPUT, "not finite");
	assert_true(isinf(greatest));
	free(a);
	free(b);
}

static void refused(void **state)
{
	double pos[15], axis[15];
	struct iso_sphere v[MOST];
	struct iso_spheres s = spheres(v, CASE, 0);
	struct iso_transducers t = points(pos, axis);
	iso_real y[5 * 600];

	(void)state;
	memcpy(pos + 3, v[1].centre, sizeof v[1].centre);
	REFUSED(iso_spheres_pressure(y, NULL, &s, &t), ISO_EINPUT, "transducer 1 reaches into sphere 1");
	v[2].radius = 0;
	REFUSED(iso_spheres_pressure(y, NULL, &s, &t), ISO_EARG, "number 2 has radius 0");
	s.fwhm = NAN;
	REFUSED(iso_spheres_pressure(y, NULL, &s, &t), ISO_EARG, "smoothed by nan");
}

/* vessel-tree: always the same, inside the cuboid, about 1 in the middle of its artery. */
static void vessel_tree(void **state)
{
	const double half[3] = { 14.7, 14.7, 30.8 };
	struct iso_grid g = { { 1, 1, 1 }, { 1, 1, 1 }, { 2, 0, -25 } };
	struct iso_sphere v[2][1000];
	double fwhm = 0;

	(void)state;
	for (int k = 0; k < 2; k++) {
		iso_phantom *p = NULL;
		iso_real x = 0;

		OK(iso_phantom_create(&p, "vessel-tree", NULL));
		assert_in_range(iso_phantom_shapes(p), 700, 1000);
		OK(iso_phantom_spheres(v[k], &fwhm, p));
		OK(iso_phantom_raster(&x, NULL, NULL, p, &g, 5));
		NEAR(x, 1, .05);
		for (int i = 0; i < iso_phantom_shapes(p); i++)
			for (int a = 0; a < 3; a++) {
				assert_true(fabs(v[k][i].centre[a]) + v[k][i].radius + fwhm < half[a]);
				assert_true(v[k][i].centre[a] == v[0][i].centre[a]);
			}
		iso_phantom_free(p);
	}
}

/* ---- CUDA ---- */

/* Smooth and uniform spheres as a voxel and a transducer of either device have them. Of nine spheres the CPU hears by
   tables, which are good to 2e-9 of the greatest value. */
static void check_devices(iso_ctx *ctx)
{
	struct iso_grid g = { { 61, 40, 33 }, { .9, 1.3, 1.7 }, { .3, -.2, .1 } };
	struct iso_transducers t = { .speed = 1.5, .dt_us = .05, .first_us = 10, .samples = 777, .gamma = 1 };
	const struct iso_rings rings = {
		.radius = 65, .rings = 5, .views = 31, .polar_first = .4, .polar_step = .5, .azimuth_step = .2
	};
	iso_ctx *host = cpu(2);
	iso_phantom *p = NULL;

	OK(iso_transducers_rings(&t, &rings));
	t.aperture = calloc((size_t)t.n, 2 * sizeof *t.aperture);
	assert_non_null(t.aperture);
	for (int64_t i = 0; i < 2 * t.n; i++) t.aperture[i] = 1 + (double)(i % 3);
	OK(iso_phantom_create(&p, "nine-spheres", NULL));
	for (int smooth = 0; smooth < 2; smooth++) {
		struct iso_sphere v[9];
		struct iso_spheres s = { 9, v, 0 };
		struct iso_array x[2] = { 0 };
		iso_real *y[2];
		int64_t n = t.n * t.samples;
		double most = 0;

		OK(iso_phantom_spheres(v, &s.fwhm, p));
		if (!smooth) s.fwhm = 0;
		for (int k = 0; k < 2; k++) {
			OK(iso_array_on_grid(&x[k], &g));
			OK(iso_spheres_raster(x[k].v, k ? ctx : host, &s, &g));
			y[k] = calloc((size_t)n, sizeof *y[k]);
			assert_non_null(y[k]);
			OK(iso_spheres_pressure(y[k], k ? ctx : host, &s, &t));
		}
		for (int64_t i = 0; i < x[0].n; i++)
			NEAR(x[1].v[i], x[0].v[i], 2.5e-7 * fabs((double)x[0].v[i]) + 1e-12);
		for (int64_t i = 0; i < n; i++) most = larger(most, fabs((double)y[0][i]));
		assert_true(most > 0);
		for (int64_t i = 0; i < n; i++) NEAR(y[1][i], y[0][i], 2.5e-7 * most);
		for (int k = 0; k < 2; k++) {
			iso_array_free(&x[k]);
			free(y[k]);
		}
	}
	iso_phantom_free(p);
	iso_transducers_free(&t);
	iso_ctx_free(host);
}

/* Two contexts of the CPU pass that check, so that it asks for nothing that is not so. */
static void cpus_agree(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	check_devices(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_has_the_same_sound, check_devices)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smooth_pressure),  cmocka_unit_test(uniform_pressure),
		cmocka_unit_test(phantom_values),   cmocka_unit_test(phantom_image),
		cmocka_unit_test(nine_spheres),     cmocka_unit_test(vessel_tree),
		cmocka_unit_test(aperture),         cmocka_unit_test(tables),
		cmocka_unit_test(impulse_response), cmocka_unit_test(noise),
		cmocka_unit_test(traces),           cmocka_unit_test(refused),
		cmocka_unit_test(cpus_agree),       cmocka_unit_test(cuda_has_the_same_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
