/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays through tissue, and the models that hear by them, against reference vectors of an independent float64 program
   (tests/data/sound); also built in double, for its float64 tolerances. */
#include "model/sradon/sradon_tissue.h"
#include "test.h"

static double *vector(const char *name, int64_t n)
{
	char file[128];

	snprintf(file, sizeof file, "sound/%s.f64", name);
	return test_data(TEST_DATA, file, n, sizeof(double));
}

static iso_real *reals(const char *name, int64_t n)
{
	double *v = vector(name, n);
	iso_real *x = calloc((size_t)n, sizeof *x);

	assert_non_null(x);
	for (int64_t i = 0; i < n; i++) x[i] = (iso_real)v[i];
	free(v);
	return x;
}

/* Points that look at a place. */
static struct iso_transducers transducers(const char *name, int64_t n, double speed, const double at[3])
{
	struct iso_transducers t = {
		.n = n, .pos = vector(name, 3 * n), .speed = speed, .dt_us = .1, .samples = 200, .gamma = 1.3
	};

	t.normal = calloc((size_t)(3 * n), sizeof(double));
	t.ex = calloc((size_t)(3 * n), sizeof(double));
	t.ey = calloc((size_t)(3 * n), sizeof(double));
	for (int64_t q = 0; q < n; q++) {
		double *v = t.normal + 3 * q, l = 0;

		for (int a = 0; a < 3; a++) v[a] = at[a] - t.pos[3 * q + a];
		l = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
		for (int a = 0; a < 3; a++) v[a] /= l;
		iso_transducer_frame(t.ex + 3 * q, t.ey + 3 * q, v);
	}
	return t;
}

static const double c0 = 1.482, c1 = 1.561, middle[3] = { .8, -1.1, .6 };
static const double turned[9] = { -0.2268822559159418, -0.4134345696334323, -0.8818142086531106,
	                          -0.377386816800404,  -0.7973673494348641, 0.47094001800704677,
	                          -0.8978327419156373, 0.4396329908994977,  0.024883746844291066 };

static struct iso_tissue ellipsoid(double a, double b, double c)
{
	struct iso_tissue p = { .size = sizeof p, .axes = { a, b, c }, .speed = c1 };

	memcpy(p.centre, middle, sizeof middle);
	return p;
}

static struct iso_tissue half_space(double sign)
{
	struct iso_tissue p = { .size = sizeof p, .shape = ISO_TISSUE_PLANE, .offset = 1.7, .speed = c1 };

	for (int a = 0; a < 3; a++) p.normal[a] = sign * turned[a];
	return p;
}

static const struct iso_grid box = { { 8, 8, 8 }, { 2, 2, 2 }, { 0, 0, 0 } };

/* ---- straight ---- */

static void compare_delays(iso_ctx *ctx, const struct iso_tissue *p, const char *name, const char *inside)
{
	double *voxels = vector("delays/voxels", 180), *want = vector(name, 360), *in = vector(inside, 60);
	struct iso_transducers t = transducers("delays/transducers", 6, c0, middle);
	double got[60], speed[60], worst = 0, worst_single = 0;
	struct iso_delays_info info = { .size = sizeof info };
	iso_delays *d = NULL;

	OK(iso_delays_create(&d, ctx, &t, p, &box));
	OK(iso_delays_look(&info, d));
	for (int q = 0; q < 6; q++) {
		OK(iso_delays_points(got, NULL, d, q, 60, voxels, false));
		for (int i = 0; i < 60; i++) worst = larger(worst, fabs(got[i] - want[60 * q + i]));
		OK(iso_delays_points(got, NULL, d, q, 60, voxels, true));
		for (int i = 0; i < 60; i++)
			worst_single = larger(worst_single, fabs(got[i] - want[60 * q + i]));
	}
	OK(iso_delays_speeds(speed, d, 60, voxels));
	for (int i = 0; i < 60; i++) assert_true(fabs(speed[i] - (in[i] > 0 ? c1 : c0)) < 1e-12);
	BELOW(worst, 1e-12);
	BELOW(worst_single, TOLERANCE(5e-5, 1e-12));
	iso_delays_free(d);
	iso_transducers_free(&t);
	free(voxels);
	free(want);
	free(in);
}

static void straight(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct iso_tissue sphere = ellipsoid(9, 9, 9), oval = ellipsoid(9, 7, 11),
			  tube = ellipsoid(9, 7, INFINITY);
	struct iso_tissue below = half_space(1), above = half_space(-1);

	(void)state;
	memcpy(oval.rotation, turned, sizeof turned);
	above.offset = 1.7;
	compare_delays(ctx, &sphere, "delays/T_sphere", "delays/inside_sphere");
	compare_delays(ctx, &oval, "delays/T_ellipsoid", "delays/inside_ellipsoid");
	compare_delays(ctx, &tube, "delays/T_cylinder", "delays/inside_cylinder");
	compare_delays(ctx, &below, "delays/T_halfspace", "delays/inside_halfspace");
	compare_delays(ctx, &above, "delays/T_halfspace2", "delays/inside_halfspace2");
	iso_ctx_free(ctx);
}

/* ---- bent ---- */

/* One ray each: a transducer at s, a point at r. */
static void ray(iso_ctx *ctx, double *t_us, double *spread, struct iso_tissue p, double water,
                const double s[3], const double r[3])
{
	double normal[3] = { 0, 0, 1 }, ex[3] = { 1, 0, 0 }, ey[3] = { 0, 1, 0 };
	struct iso_transducers t = { .n = 1,
		                     .pos = (double *)s,
		                     .normal = normal,
		                     .ex = ex,
		                     .ey = ey,
		                     .speed = water,
		                     .dt_us = .1,
		                     .samples = 200,
		                     .gamma = 1 };
	iso_delays *d = NULL;

	p.path = ISO_SOUND_SNELL;
	p.amplitude = ISO_SOUND_SPREAD;
	OK(iso_delays_create(&d, ctx, &t, &p, &box));
	OK(iso_delays_points(t_us, spread, d, 0, 1, r, false));
	iso_delays_free(d);
}

static void bent_sphere(void **state)
{
	double *R = vector("snell/R", 40), *rho = vector("snell/rho", 40), *psi = vector("snell/psi", 40);
	double *want = vector("snell/T_sphere", 40), *loud = vector("snell/spread_sphere", 40), t, b;
	struct iso_tissue p = { .size = sizeof p, .axes = { 9, 9, 9 }, .speed = c1 };
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int i = 0; i < 40; i++) {
		ray(ctx, &t, &b, p, c0, (const double[]){ R[i], 0, 0 },
		    (const double[]){ rho[i] * cos(psi[i]), rho[i] * sin(psi[i]), 0 });
		NEAR(t, want[i], 1e-10);
		NEAR(b / loud[i], 1, 1e-7);
	}
	free(R);
	free(rho);
	free(psi);
	free(want);
	free(loud);
	iso_ctx_free(ctx);
}

static void grazing(void **state)
{
	double *g = vector("snell/graze", 24), *want = vector("snell/T_graze", 8),
	       *loud = vector("snell/spread_graze", 8);
	struct iso_tissue p = { .size = sizeof p, .axes = { 9, 9, 9 }, .speed = c0 };
	iso_ctx *ctx = cpu(1);
	double t, b;

	(void)state;
	for (int i = 0; i < 8; i++, g += 3) {
		ray(ctx, &t, &b, p, c1, (const double[]){ g[0], 0, 0 },
		    (const double[]){ g[1] * cos(g[2]), g[1] * sin(g[2]), 0 });
		NEAR(t, want[i], 1e-10);
		NEAR(b, loud[i], 1e-7);
	}
	free(g - 24);
	free(want);
	free(loud);
	iso_ctx_free(ctx);
}

static void bent_plane(void **state)
{
	double *z0 = vector("snell/z0", 30), *z1 = vector("snell/z1", 30), *x = vector("snell/x", 30);
	double *want = vector("snell/T_plane", 30), *loud = vector("snell/spread_plane", 30), t, b;
	struct iso_tissue p = {
		.size = sizeof p, .shape = ISO_TISSUE_PLANE, .normal = { 0, 0, 2 }, .speed = c1
	};
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int i = 0; i < 30; i++) {
		ray(ctx, &t, &b, p, c0, (const double[]){ 0, 0, z0[i] }, (const double[]){ x[i], 0, -z1[i] });
		NEAR(t, want[i], 1e-10);
		NEAR(b / loud[i], 1, 1e-9);
	}
	free(z0);
	free(z1);
	free(x);
	free(want);
	free(loud);
	iso_ctx_free(ctx);
}

/* Single precision against double, all over a box: the last digits of Newton's method once led some rays astray. */
static void compare_bent(iso_ctx *ctx, const struct iso_tissue *p, double limit, double limit_loud)
{
	enum { N = 4000 };
	struct iso_transducers t = transducers("delays/transducers", 6, c0, middle);
	double *points = calloc(3 * N, sizeof *points), *want = calloc(4 * N, sizeof *want), *got = want + N;
	double *loud = want + 2 * N, *own = want + 3 * N, worst = 0, worst_loud = 0, late = 0;
	struct iso_tissue straight_on = *p;
	iso_delays *d = NULL, *straight = NULL;

	straight_on.path = ISO_SOUND_STRAIGHT;
	straight_on.amplitude = ISO_SOUND_DISTANCE;
	assert_non_null(points);
	assert_non_null(want);
	for (int i = 0; i < N; i++) /* in the box, no two in a row */
		for (int a = 0; a < 3; a++)
			points[3 * i + a] = 8 * fmod((i + 1) * (.7548 - .1851 * a), 1) - 4;
	OK(iso_delays_create(&d, ctx, &t, p, &box));
	OK(iso_delays_create(&straight, ctx, &t, &straight_on, &box));
	for (int q = 0; q < 6; q++) {
		OK(iso_delays_points(want, loud, d, q, N, points, false));
		OK(iso_delays_points(got, own, d, q, N, points, true));
		for (int i = 0; i < N; i++) {
			worst = larger(worst, fabs(got[i] - want[i]));
			worst_loud = larger(worst_loud, fabs(own[i] - loud[i]) / (loud[i] + 1e-3));
		}
		OK(iso_delays_points(got, NULL, straight, q, N, points, false));
		for (int i = 0; i < N; i++) late = larger(late, want[i] - got[i]);
	}
	BELOW(worst, limit);
	BELOW(worst_loud, limit_loud);
	if (p->speed > c0)
		BELOW(late, 1e-9); /* a bent ray is the quickest; grazing ones of slow tissue are not */
	iso_delays_free(d);
	iso_delays_free(straight);
	iso_transducers_free(&t);
	free(points);
	free(want);
}

static void bent_single(void **state)
{
	struct iso_tissue ball = ellipsoid(9, 9, 9), slow = ball, plane = half_space(-1);
	iso_ctx *ctx = cpu(1);

	(void)state;
	slow.speed = 1.41;
	ball.path = slow.path = plane.path = ISO_SOUND_SNELL;
	ball.amplitude = slow.amplitude = plane.amplitude = ISO_SOUND_SPREAD;
	compare_bent(ctx, &ball, TOLERANCE(1e-5, 1e-9), TOLERANCE(1e-3, 1e-4));
	compare_bent(ctx, &slow, TOLERANCE(1e-5, 1e-9), TOLERANCE(1e-2, 1e-4));
	compare_bent(ctx, &plane, TOLERANCE(1e-5, 1e-9), TOLERANCE(1e-3, 1e-4));
	iso_ctx_free(ctx);
}

/* Without amplitudes a series stands for Newton's method where rays are steep enough: within 0.4 ns up to 0.95 of the
   radius and 1 ns to the border. */
static void compare_series(iso_ctx *ctx, double speed, double distance)
{
	enum { N = 4000 };
	const double s[3] = { distance * .6 + middle[0], distance * .64 + middle[1],
		              distance * .48 + middle[2] };
	struct iso_transducers t = transducers("delays/transducers", 6, c0, middle);
	struct iso_tissue p = ellipsoid(9, 9, 9);
	double *points = calloc(3 * N, sizeof *points), *want = calloc(2 * N, sizeof *want), *got = want + N;
	double deep = 0, all = 0;
	iso_delays *d = NULL;

	assert_non_null(points);
	assert_non_null(want);
	p.speed = speed;
	p.path = ISO_SOUND_SNELL;
	memcpy(t.pos, s, sizeof s);
	for (int i = 0; i < 3 * N; i++) /* in the box, no two in a row */
		points[i] = 18 * fmod((i / 3 + 1) * (.7548 - .1851 * (i % 3)), 1) - 9 + middle[i % 3];
	OK(iso_delays_create(&d, ctx, &t, &p, &box));
	OK(iso_delays_points(want, NULL, d, 0, N, points, false));
	OK(iso_delays_points(got, NULL, d, 0, N, points, true));
	for (int i = 0; i < N; i++) {
		double off = 0, differs = fabs(got[i] - want[i]);

		for (int a = 0; a < 3; a++) off += pow(points[3 * i + a] - middle[a], 2);
		all = larger(all, differs);
		if (sqrt(off) < .95 * 9) deep = larger(deep, differs);
	}
	BELOW(deep, TOLERANCE(4e-4, 1e-9));
	BELOW(all, TOLERANCE(1e-3, 1e-9));
	iso_delays_free(d);
	iso_transducers_free(&t);
	free(points);
	free(want);
}

static void bent_series(void **state)
{
	static const double distances[] = { 9.5, 12, 30, 50 };
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int i = 0; i < 4; i++) {
		compare_series(ctx, 1.02 * c0, distances[i]);
		compare_series(ctx, 1.054 * c0, distances[i]);
		compare_series(ctx, 1.081 * c0, distances[i]);
		compare_series(ctx, 1.14 * c0, distances[i]);
		compare_series(ctx, .958 * c0, distances[i]);
		compare_series(ctx, .92 * c0, distances[i]);
	}
	iso_ctx_free(ctx);
}

/* ---- maps ---- */

enum { SIDE = 73 };

static const double lens_at[3] = { 1, -.5, 0 };

static double lens(const double x[3])
{
	double r = 0;

	for (int a = 0; a < 3; a++) r += (x[a] - lens_at[a]) * (x[a] - lens_at[a]);
	return 1.5 + .06 * exp(-r / 32);
}

static double gradient(const double x[3])
{
	return 1.5 + .003 * x[0] - .002 * x[1] + .001 * x[2];
}

static void map(iso_ctx *ctx, double (*speed)(const double *), enum iso_sound_path path, const char *name,
                int n_trans, double limit)
{
	int n = path == ISO_SOUND_EIKONAL ? SIDE : 57;
	double *want = vector(name, 100), *voxels = vector("map/voxels", 75), got[25], worst = 0;
	struct iso_transducers t = transducers("map/transducers", 4, 1.5, (const double[]){ 0, 0, 0 });
	struct iso_tissue p = { .size = sizeof p,
		                .shape = ISO_TISSUE_MAP,
		                .path = path,
		                .table_mm = .5,
		                .image_grid = { { n, n, n }, { .5, .5, .5 }, { 0, 0, 0 } } };
	const struct iso_grid g = { { 20, 20, 20 }, { 1, 1, 1 }, { 0, 0, 0 } };
	iso_real *c = calloc((size_t)(n * n * n), sizeof *c);
	iso_delays *d = NULL;

	t.n = n_trans; /* each takes a second */

	for (int i = 0; i < n * n * n; i++) {
		double x[3] = { .5 * (i % n - n / 2), .5 * (i / n % n - n / 2), .5 * (i / n / n - n / 2) };

		c[i] = (iso_real)speed(x);
	}
	p.image = c;
	OK(iso_delays_create(&d, ctx, &t, &p, &g));
	for (int q = 0; q < n_trans; q++) {
		OK(iso_delays_points(got, NULL, d, q, 25, voxels, false));
		for (int i = 0; i < 25; i++) worst = larger(worst, fabs(got[i] - want[25 * q + i]));
	}
	BELOW(worst, limit);
	iso_delays_free(d);
	iso_transducers_free(&t);
	free(c);
	free(want);
	free(voxels);
}

static void maps(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	map(ctx, lens, ISO_SOUND_STRAIGHT, "map/T_lens_straight", 2, 1e-3);
	if (sized(1, 0)) map(ctx, lens, ISO_SOUND_EIKONAL, "map/T_lens", 2, 2e-3);
	map(ctx, gradient, ISO_SOUND_EIKONAL, "map/T_gradient", 1, 2e-3);
	iso_ctx_free(ctx);
}

/* ---- models ---- */

enum { NX = 9, NY = 8, NZ = 7, VOXELS = NX * NY * NZ, TRANS = 5 };

static const struct iso_grid small = { { NX, NY, NZ },
	                               { .5, .5, .5 },
	                               { -1.045 + .25 * (NX - 1), -2.935 + .25 * (NY - 1),
	                                 -.785 + .25 * (NZ - 1) } };

struct models {
	struct iso_transducers t;
	iso_delays *d;
	int64_t samples;
};

/* Values of a file, n at a time. */
static int64_t values(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/sound/%s.f64", TEST_DATA, name);
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	int64_t n = ftell(f) / 8;

	fclose(f);
	return n;
}

static struct models models(iso_ctx *ctx)
{
	struct iso_tissue p = ellipsoid(1.6, 1.3, 1.45);
	struct models m = { .t = transducers("models/transducers", TRANS, c0, small.centre) };

	memcpy(p.rotation, turned, sizeof turned);
	m.t.samples = m.samples = values("models/v_in") / TRANS;
	m.t.first_us = 16.9;
	m.t.radius = 30;
	m.t.area = vector("models/areas", TRANS);
	OK(iso_delays_create(&m.d, ctx, &m.t, &p, &small));
	return m;
}

static void free_models(struct models *m)
{
	iso_delays_free(m->d);
	iso_transducers_free(&m->t);
}

/* Forward of x, or adjoint of y, against a reference. */
static double apart(iso_op *op, bool adjoint, const char *from, const char *to)
{
	iso_ctx *ctx = iso_op_ctx(op);
	int64_t n_in = adjoint ? iso_op_n_out(op) : iso_op_n_in(op);
	int64_t n_out = adjoint ? iso_op_n_in(op) : iso_op_n_out(op);
	iso_real *in = reals(from, n_in), *want = reals(to, n_out), *x = to_device(ctx, n_in, in);
	iso_real *y = to_device(ctx, n_out, NULL);

	OK((adjoint ? iso_adjoint : iso_forward)(y, op, ISO_ALL, x));
	iso_real *got = to_host(ctx, n_out, y);
	double difference = relative_difference(n_out, got, want);

	free(in);
	free(want);
	free(got);
	device_free(ctx, x);
	device_free(ctx, y);
	return difference;
}

static void check_svoxel(iso_ctx *ctx, enum iso_svoxel_transform transform, double accuracy, double limit)
{
	struct models m = models(ctx);
	double *f = vector("models/frequencies", 32), err = 1;
	struct iso_svoxel p = { .size = sizeof p,
		                .t = &m.t,
		                .grid = small,
		                .transform = transform,
		                .delays = m.d,
		                .accuracy = accuracy };
	iso_op *op = NULL;

	OK(iso_svoxel_lines_at(&p, f[0], f[1] - f[0], 32));
	OK(iso_svoxel_create(&op, ctx, &p));
	BELOW(apart(op, false, "models/image", "models/u_svoxel"), limit);
	BELOW(apart(op, true, "models/z_in", "models/adj_svoxel"), limit);
	OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
	BELOW(err, TOLERANCE(1e-5, 1e-12));
	iso_op_free(op);
	free_models(&m);
	free(f);
}

static void svoxel(iso_ctx *ctx)
{
	/* CUDA has late as a polynomial of the place in a brick, in float */
	check_svoxel(ctx, ISO_SVOXEL_NUFFT, 0, iso_ctx_is_cuda(ctx) ? 6e-5 : TOLERANCE(3e-5, 1e-6));
	check_svoxel(ctx, ISO_SVOXEL_NUFFT, 1e-3, 5e-3);
}

static void cpu_svoxel(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_svoxel(ctx, ISO_SVOXEL_DIRECT, 0, TOLERANCE(3e-5, 1e-10));
	svoxel(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_svoxel, svoxel)

/* ---- what tissues there are, CUDA against the CPU ---- */

enum { EARS = 24, WIDE = 14 };

static const struct iso_grid wide = { { WIDE, WIDE, WIDE }, { .7, .7, .7 }, { .3, -.2, .1 } };

/* Round a sphere, so that rays come from everywhere. */
static struct iso_transducers around(void)
{
	struct iso_transducers t = { .n = EARS,
		                     .pos = calloc(3 * EARS, sizeof(double)),
		                     .normal = calloc(3 * EARS, sizeof(double)),
		                     .ex = calloc(3 * EARS, sizeof(double)),
		                     .ey = calloc(3 * EARS, sizeof(double)),
		                     .area = calloc(EARS, sizeof(double)),
		                     .speed = c0,
		                     .dt_us = .1,
		                     .samples = 200,
		                     .first_us = 14,
		                     .radius = 30,
		                     .gamma = 1.3 };

	for (int q = 0; q < EARS; q++) {
		double z = 2 * (q + .5) / EARS - 1, turn = 2.399963 * q, r = sqrt(1 - z * z);
		const double n[3] = { -r * cos(turn), -r * sin(turn), -z };

		for (int a = 0; a < 3; a++) {
			t.normal[3 * q + a] = n[a];
			t.pos[3 * q + a] = -30 * n[a];
		}
		iso_transducer_frame(t.ex + 3 * q, t.ey + 3 * q, n);
		t.area[q] = 1;
	}
	return t;
}

static iso_real mask[WIDE * WIDE * WIDE];

/* Tissue number k; false: there are no more. */
static bool tissue(struct iso_tissue *p, int k)
{
	const enum iso_sound_path straight = ISO_SOUND_STRAIGHT, snell = ISO_SOUND_SNELL;
	const struct {
		enum iso_tissue_shape shape;
		enum iso_sound_path path;
		enum iso_sound_amplitude amplitude;
		double a, b, c, speed;
	} all[] = {
		{ ISO_TISSUE_ELLIPSOID, straight, ISO_SOUND_DISTANCE, 5, 4, 6, 1.561 },
		{ ISO_TISSUE_ELLIPSOID, straight, ISO_SOUND_DISTANCE, 5, 5, INFINITY, 1.561 },
		{ ISO_TISSUE_PLANE, straight, ISO_SOUND_DISTANCE, 0, 0, 0, 1.561 },
		{ ISO_TISSUE_ELLIPSOID, snell, ISO_SOUND_DISTANCE, 5, 5, 5, 1.561 },
		{ ISO_TISSUE_ELLIPSOID, snell, ISO_SOUND_SPREAD, 5, 5, 5, 1.43 },
		{ ISO_TISSUE_PLANE, snell, ISO_SOUND_SPREAD, 0, 0, 0, 1.561 },
		{ ISO_TISSUE_MASK, straight, ISO_SOUND_DISTANCE, 0, 0, 0, 1.561 },
	};

	if (k >= (int)(sizeof all / sizeof *all)) return false;
	*p = ellipsoid(all[k].a, all[k].b, all[k].c);
	if (all[k].shape == ISO_TISSUE_PLANE) *p = half_space(-1);
	p->shape = all[k].shape;
	p->path = all[k].path;
	p->amplitude = all[k].amplitude;
	p->speed = all[k].speed;
	if (k == 0) memcpy(p->rotation, turned, sizeof turned);
	for (int i = 0; i < WIDE * WIDE * WIDE; i++) mask[i] = i % WIDE < WIDE / 2;
	p->image = mask;
	p->image_grid = wide;
	p->table_mm = 1;
	return true;
}

typedef int (*maker)(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t, const iso_delays *d);

static int make_svoxel(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t, const iso_delays *d)
{
	struct iso_svoxel p = { .size = sizeof p, .t = t, .grid = wide, .delays = d };

	OK(iso_svoxel_lines_at(&p, .1, .05, 40));
	return iso_svoxel_create(op, ctx, &p);
}

static int make_ubp(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t, const iso_delays *d)
{
	struct iso_ubp p = { .size = sizeof p, .transducers = t, .grid = wide, .delays = d };

	return iso_ubp_create(op, ctx, &p);
}

static int make_sradon(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t, const iso_delays *d)
{
	struct iso_sradon p = { .size = sizeof p, .t = t, .grid = wide, .delays = d };

	return iso_sradon_create(op, ctx, &p);
}

/* The forward of an image, or without one the adjoint of data, on a context. */
static iso_real *result(iso_ctx *ctx, maker make, const struct iso_transducers *t, const iso_delays *d,
                        const iso_real *image, const iso_real *data, int64_t *n)
{
	iso_op *op = NULL;

	OK(make(&op, ctx, t, d));
	int64_t n_in = image ? iso_op_n_in(op) : iso_op_n_out(op);
	iso_real *x = to_device(ctx, n_in, image ? image : data), *y, *got;

	*n = image ? iso_op_n_out(op) : iso_op_n_in(op);
	y = to_device(ctx, *n, NULL);
	OK((image ? iso_forward : iso_adjoint)(y, op, ISO_ALL, x));
	got = to_host(ctx, *n, y);
	device_free(ctx, x);
	device_free(ctx, y);
	iso_op_free(op);
	return got;
}

/* What two contexts make of noise. */
static double contexts_apart(iso_ctx *one, iso_ctx *other, maker make, const struct iso_transducers *t,
                             const iso_delays *d, bool forward)
{
	enum { MOST = EARS * 200 };
	static iso_real noise[MOST > WIDE * WIDE * WIDE ? MOST : WIDE * WIDE * WIDE];
	int64_t n;

	for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
		noise[i] = (iso_real)(fmod((double)(i + 1) * .6180339887, 1) - .5);
	const iso_real *image = forward ? noise : NULL;
	iso_real *a = result(one, make, t, d, image, noise, &n),
		 *b = result(other, make, t, d, image, noise, &n);
	double apart = relative_difference(n, a, b);

	free(a);
	free(b);
	return apart;
}

/* Adjoints on the context; and if it is a device, its results against those of the CPU. */
static void check_tissues(iso_ctx *ctx)
{
	struct iso_transducers t = around();
	iso_ctx *host = cpu(2);
	struct iso_tissue p;

	for (int k = 0; tissue(&p, k); k++) {
		iso_delays *d = NULL;
		iso_op *op = NULL;
		double err = 1;

		OK(iso_delays_create(&d, host, &t, &p, &wide));
		OK(make_svoxel(&op, ctx, &t, d));
		OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
		BELOW(err, TOLERANCE(1e-5, 1e-12));
		iso_op_free(op);
		if (iso_ctx_is_cuda(ctx)) {
			BELOW(contexts_apart(host, ctx, make_svoxel, &t, d, true), 2e-4);
			BELOW(contexts_apart(host, ctx, make_svoxel, &t, d, false), 2e-4);
			/* a slope belongs to a whole sample: it jumps where rounding moves a place into the next one,
			   which four of 65856 pairs do */
			BELOW(contexts_apart(host, ctx, make_ubp, &t, d, false), 2e-2);
			BELOW(contexts_apart(host, ctx, make_sradon, &t, d, true), 5e-4);
			BELOW(contexts_apart(host, ctx, make_sradon, &t, d, false), 5e-4);
		}
		iso_delays_free(d);
	}
	iso_ctx_free(host);
	iso_transducers_free(&t);
}

static void cpu_tissues(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_tissues(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_tissues, check_tissues)

/* ---- sradon ---- */

/* Where all of the way is tissue, no rounding puts its end into water. */
static void tissue_all_the_way(void **state)
{
	const struct sound m = {
		.shape = ISO_TISSUE_PLANE, .normal = { 0, 0, 1 }, .offset = 100, .c0 = 1.5, .c1 = 1.6
	};
	const double at[3] = { 1, 2, -30 };

	(void)state;
	for (int i = 1; i <= 2000; i++) {
		const double z = cos(.7 * i), r = sqrt(1 - z * z), w[3] = { r * cos(i), r * sin(i), z },
			     t = .017 * i;
		double c, rho = sradon_straight(&c, &m, at, w, t, m.c1 * t);

		NEAR(c, m.c1, 0);
		NEAR(rho, m.c1 * t, 1e-12 * t);
	}
}

static void sradon(iso_ctx *ctx)
{
	struct models m = models(ctx);
	struct iso_sradon p = { .size = sizeof p, .t = &m.t, .grid = small, .delays = m.d };
	iso_op *op = NULL;
	double err = 1;

	OK(iso_sradon_integrals(&op, ctx, &p));
	BELOW(apart(op, false, "models/image", "models/S"), TOLERANCE(1e-3, 1e-10));
	iso_op_free(op);
	op = NULL;
	OK(iso_sradon_create(&op, ctx, &p));
	BELOW(apart(op, false, "models/image", "models/p_sradon"), TOLERANCE(1e-3, 1e-10));
	BELOW(apart(op, true, "models/v_in", "models/adj_sradon"), TOLERANCE(1e-3, 1e-10));
	OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
	BELOW(err, TOLERANCE(1e-5, 1e-12));
	iso_op_free(op);
	free_models(&m);
}

static void cpu_sradon(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	sradon(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_sradon, sradon)

/* Curved faces with tissue as fast as water are those without tissue; and adjoints with bent rays. */
static void faces(iso_ctx *ctx)
{
	struct iso_transducers t = around();
	struct iso_tissue p = ellipsoid(5, 5, 5);
	double side[2 * EARS], err = 1;
	struct iso_sradon one = { .size = sizeof one,
		                  .t = &t,
		                  .grid = small,
		                  .focus = true,
		                  .sir_error = .1 },
			  two = one;
	iso_real *a, *b;
	iso_op *op = NULL;
	iso_delays *d = NULL;
	int64_t n;

	for (int i = 0; i < 2 * EARS; i++) side[i] = i % 2 ? .5 : 4;
	t.aperture = side;
	t.n = 3;
	p.speed = c0;
	OK(iso_delays_create(&d, ctx, &t, &p, &small));
	two.delays = d;
	for (int k = 0; k < 2; k++) {
		OK(iso_sradon_create(&op, ctx, k ? &two : &one));
		n = iso_op_n_out(op);
		iso_real *x = to_device(ctx, VOXELS, NULL), *y = to_device(ctx, n, NULL),
			 *image = reals("models/image", VOXELS);

		OK(iso_ctx_vec(ctx)->upload(ctx, x, image, VOXELS * (int64_t)sizeof *x));
		OK(iso_forward(y, op, ISO_ALL, x));
		*(k ? &b : &a) = to_host(ctx, n, y);
		free(image);
		device_free(ctx, x);
		device_free(ctx, y);
		iso_op_free(op);
		op = NULL;
	}
	BELOW(relative_difference(n, b, a), TOLERANCE(1e-4, 1e-9));
	free(a);
	free(b);
	iso_delays_free(d);
	d = NULL;
	p.speed = c1;
	p.path = ISO_SOUND_SNELL;
	OK(iso_delays_create(&d, ctx, &t, &p, &small));
	two.delays = d;
	OK(iso_sradon_create(&op, ctx, &two));
	OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
	BELOW(err, TOLERANCE(1e-5, 1e-12));
	iso_op_free(op);
	iso_delays_free(d);
	t.aperture = NULL;
	iso_transducers_free(&t);
}

static void cpu_faces(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	faces(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_faces, faces)

static void ubp(iso_ctx *ctx)
{
	struct models m = models(ctx);
	struct iso_ubp p = { .size = sizeof p, .transducers = &m.t, .grid = small, .delays = m.d };
	iso_op *op = NULL;

	OK(iso_ubp_create(&op, ctx, &p));
	BELOW(apart(op, true, "models/v_in", "models/ubp"), TOLERANCE(5e-4, 1e-10));
	iso_op_free(op);
	free_models(&m);
}

static void cpu_ubp(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	ubp(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_ubp, ubp)

/* ---- spheres ---- */

#define PER_SIGMA 2.3548200450309493

/* What transducers hear of spheres in a ball of tissue. */
static double heard(iso_ctx *ctx, const struct iso_spheres *spheres, struct iso_transducers *t,
                    struct iso_tissue p, bool bends, const char *name)
{
	iso_real *want = reals(name, t->n * t->samples), *y = calloc((size_t)(t->n * t->samples), sizeof *y);
	iso_delays *d = NULL;
	struct iso_grid g;
	double most;

	p.path = bends ? ISO_SOUND_SNELL : ISO_SOUND_STRAIGHT;
	p.amplitude = bends ? ISO_SOUND_SPREAD : ISO_SOUND_DISTANCE;
	iso_spheres_box(&g, spheres);
	OK(iso_delays_create(&d, ctx, t, &p, &g));
	OK(iso_spheres_traces_through(y, &most, ctx, spheres, t, NULL, d, 0, 1));
	double difference = relative_difference(t->n * t->samples, y, want);

	iso_delays_free(d);
	free(want);
	free(y);
	return difference;
}

static void traces(iso_ctx *ctx)
{
	struct iso_transducers t = transducers("traces/transducers", 8, c0, middle);
	double *v = vector("traces/spheres", 20);
	struct iso_sphere sphere[4];
	const struct iso_spheres all = { 4, sphere, .3 * PER_SIGMA };
	struct iso_tissue ball = ellipsoid(9, 9, 9);

	for (int i = 0; i < 4; i++)
		sphere[i] = (struct iso_sphere){ { v[5 * i], v[5 * i + 1], v[5 * i + 2] },
			                         v[5 * i + 3],
			                         v[5 * i + 4] };
	t.first_us = 10;
	t.dt_us = .05;
	t.samples = 400;
	BELOW(heard(ctx, &all, &t, ball, false, "traces/p_straight"), TOLERANCE(1e-5, 1e-8));
	BELOW(heard(ctx, &all, &t, ball, true, "traces/p_snell"), TOLERANCE(1e-5, 1e-8));
	iso_transducers_free(&t);
	free(v);
}

static void cpu_traces(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	traces(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_traces, traces)

/* A full-wave simulation of a Gaussian source, which nobody fitted. */
static void full_wave(void **state)
{
	struct iso_transducers t = transducers("fullwave/receivers", 10, 1.48, (const double[]){ 0, 0, 0 });
	const double radius = .05, sigma = .45;
	struct iso_sphere source = { { 1.5, .5, 0 },
		                     radius,
		                     pow(2 * M_PI, 1.5) * pow(sigma / radius, 3) / (4 * M_PI / 3) };
	const struct iso_spheres all = { 1, &source, sigma * PER_SIGMA };
	struct iso_tissue ball = { .size = sizeof ball, .axes = { 4, 4, 4 }, .speed = 1.6 };
	iso_ctx *ctx = cpu(2);

	(void)state;
	t.gamma = 1;
	t.dt_us = .0390625;
	t.samples = 168;
	BELOW(heard(ctx, &all, &t, ball, true, "fullwave/p"), .01);
	BELOW(heard(ctx, &all, &t, ball, false, "fullwave/p"), .05);
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

/* ---- refusals ---- */

static void refusals(void **state)
{
	struct iso_transducers t = transducers("delays/transducers", 6, c0, middle);
	struct iso_tissue p = ellipsoid(9, 7, 11), slow = ellipsoid(9, 9, 9), plane = half_space(1);
	iso_ctx *ctx = cpu(1);
	iso_delays *d = NULL;

	(void)state;
	slow.speed = .2;
	REFUSED(iso_delays_create(&d, ctx, &t, &slow, &box), ISO_EARG,
	        "its speed is 0.2 mm/us, must be 0.3 to 10");
	p.path = ISO_SOUND_SNELL;
	REFUSED(iso_delays_create(&d, ctx, &t, &p, &box), ISO_EARG,
	        "path snell is for spheres, circles and planes");
	p.path = ISO_SOUND_STRAIGHT;
	p.amplitude = ISO_SOUND_SPREAD;
	REFUSED(iso_delays_create(&d, ctx, &t, &p, &box), ISO_EARG, "amplitude spread is for path snell");
	p.amplitude = ISO_SOUND_DISTANCE;
	p.axes[1] = 0;
	REFUSED(iso_delays_create(&d, ctx, &t, &p, &box), ISO_EARG, "half axes of 9, 0 and 11 mm");
	p.axes[1] = p.axes[0] = INFINITY;
	REFUSED(iso_delays_create(&d, ctx, &t, &p, &box), ISO_EARG, "at most one axis can be endless");
	plane.path = ISO_SOUND_SNELL;
	REFUSED(iso_delays_create(&d, ctx, &t, &plane, &box), ISO_EARG, "all are in the tissue");
	assert_null(d);
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(straight),     cmocka_unit_test(bent_sphere),
		cmocka_unit_test(grazing),      cmocka_unit_test(tissue_all_the_way),
		cmocka_unit_test(bent_plane),   cmocka_unit_test(bent_single),
		cmocka_unit_test(bent_series),  cmocka_unit_test(maps),
		cmocka_unit_test(cpu_svoxel),   cmocka_unit_test(cuda_svoxel),
		cmocka_unit_test(cpu_sradon),   cmocka_unit_test(cuda_sradon),
		cmocka_unit_test(cpu_ubp),      cmocka_unit_test(cuda_ubp),
		cmocka_unit_test(cpu_traces),   cmocka_unit_test(cuda_traces),
		cmocka_unit_test(full_wave),    cmocka_unit_test(cpu_tissues),
		cmocka_unit_test(cpu_faces),    cmocka_unit_test(cuda_faces),
		cmocka_unit_test(cuda_tissues), cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
