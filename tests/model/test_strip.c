/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip against reference vectors of independent float64 programs (tests/data/jpet, whose
   README says what each file holds), against a matrix spelled out from the definitions, and
   against simulated events; also built in double, for its float64 tolerances. */
#include "test.h"

#include "core/op.h"
#include "model/strip/strip.h"

enum { NY = 65, NZ = 75, PIXELS = NY * NZ, EVENTS = 100000, FIRST = 1000, POINTS = 512 };

#define PAPER                                                               \
	{                                                                   \
		.radius = 130, .length = 300, .sigma_z = 10, .sigma_dl = 40 \
	}
static const struct iso_strips paper = PAPER;

/* Every way to weigh a pixel; the last ones far from the paper's set-up, with other row widths and
   expansions of N that leave the polynomial. */
#define STRIPS(sigma_z, sigma_dl, growth, gamma) \
	.strips = { 130, 300, sigma_z, sigma_dl, growth, gamma }, .n_sub = 1
#define GRID .ny = NY, .nz = NZ, .pixel = 4
static const struct iso_strip ways[] = {
	{ sizeof(struct iso_strip), STRIPS(10, 40, 0, 0), GRID, .kernel = ISO_STRIP_EQ7 },
	{ sizeof(struct iso_strip), STRIPS(10, 40, 0, 0), GRID, .kernel = ISO_STRIP_TAN },
	{ sizeof(struct iso_strip), STRIPS(10, 40, 0, 0), GRID, .kernel = ISO_STRIP_TAN, .edge = true },
	{ sizeof(struct iso_strip), STRIPS(10, 40, 0, 0), GRID, .kernel = ISO_STRIP_GAUSS },
	{ sizeof(struct iso_strip), STRIPS(10, 40, 0, 1e-3), GRID, .kernel = ISO_STRIP_EQ7 },
	{ sizeof(struct iso_strip), STRIPS(10, 40, 0, -1e-3), GRID, .kernel = ISO_STRIP_TAN, .edge = true },
	{ sizeof(struct iso_strip), STRIPS(10, 40, 0, 1e-3), GRID, .kernel = ISO_STRIP_GAUSS },
	{ sizeof(struct iso_strip), STRIPS(10, 40, .3, 0), GRID, .kernel = ISO_STRIP_EQ7 },
	{ sizeof(struct iso_strip), STRIPS(10, 40, .3, 5e-4), GRID, .kernel = ISO_STRIP_TAN },
	{ sizeof(struct iso_strip), STRIPS(10, 40, -.3, 0), GRID, .kernel = ISO_STRIP_GAUSS },
	{ sizeof(struct iso_strip), STRIPS(10, 40, 0, 0), .nz = 31, .ny = 18, .pixel = 9.5,
	  .kernel = ISO_STRIP_EQ7 },
	{ sizeof(struct iso_strip), STRIPS(10, 40, 0, 0), .nz = 100, .ny = 90, .pixel = 1.7,
	  .kernel = ISO_STRIP_EQ7 },
	{ sizeof(struct iso_strip), STRIPS(10, 40, 0, 0), .nz = 5, .ny = 3, .pixel = 40,
	  .kernel = ISO_STRIP_GAUSS },
	{ sizeof(struct iso_strip), STRIPS(30, 120, 0, 0), GRID, .kernel = ISO_STRIP_EQ7 },
	{ sizeof(struct iso_strip), STRIPS(3, 200, 0, 0), GRID, .kernel = ISO_STRIP_TAN },
};

/* ---- files ---- */

static void *load(const char *name, int64_t n, size_t item)
{
	return test_data(TEST_DATA "/jpet", name, n, item);
}

static struct iso_strip_events vector_events(int64_t n)
{
	struct iso_strip_events e = { n, load("events.f32", EVENTS, sizeof *e.v), 0 };

	return e;
}

static iso_op *make_op(iso_ctx *ctx, const struct iso_strip *p, const struct iso_strip_events *e)
{
	iso_op *op = NULL;

	OK(iso_strip_create(&op, ctx, p, e));
	return op;
}

/* Values in (0.05, 1.05), others for every seed. */
static iso_real *some_values(int64_t n, uint64_t seed)
{
	iso_real *x = calloc((size_t)n, sizeof *x);

	for (int64_t i = 0; i < n; i++)
		x[i] = (iso_real).05 + philox_unit(philox_draw(seed, (uint64_t)i, 0).w[0]);
	return x;
}

/* ---- the event and the kernels ---- */

static void origins(void **state)
{
	struct iso_strip_events e = vector_events(FIRST);
	double *ref = load("emission_first1000.f64", FIRST * 3, sizeof *ref);

	(void)state;
	for (int i = 0; i < FIRST; i++) {
		struct strip_origin o = strip_origin(130, e.v[i].z_up, e.v[i].z_down, e.v[i].dl);

		NEAR(o.y, ref[3 * i], 1e-10);
		NEAR(o.z, ref[3 * i + 1], 1e-10);
		NEAR(o.t, ref[3 * i + 2], 1e-10);
	}
	free(e.v);
	free(ref);
}

/* Pixels of an ellipse, and the lowest and highest row and column. */
static void box_of(int box[5], const struct iso_strip_event *e)
{
	struct strip_params p = { PAPER, NY, NZ, 4, ISO_STRIP_EQ7, false, strip_inverse(&paper, 0, 0) };
	struct strip_line l = strip_line(&p, e);

	box[0] = 0;
	box[1] = box[3] = INT32_MAX;
	box[2] = box[4] = -1;
	for (int iy = l.low; iy <= l.high; iy++) {
		struct strip_span s = strip_span(&l, NZ, 4, iy);

		if (s.n == 0) continue;
		box[0] += s.n;
		box[1] = iy < box[1] ? iy : box[1];
		box[2] = iy;
		box[3] = s.first < box[3] ? s.first : box[3];
		box[4] = s.first + s.n - 1 > box[4] ? s.first + s.n - 1 : box[4];
	}
}

/* Equal in double; in float the count may differ by 1 in two events. */
static void ellipses(void **state)
{
	struct iso_strip_events e = vector_events(FIRST);
	int32_t *ref = load("ellipse_first1000.i32", FIRST * 5, sizeof *ref);
	int differ = 0;

	(void)state;
	for (int i = 0; i < FIRST; i++) {
		int box[5];

		box_of(box, e.v + i);
		assert_true(abs(box[0] - ref[5 * i]) <= 1);
		differ += memcmp(box, ref + 5 * i, sizeof box) != 0;
	}
	BELOW(differ, TOLERANCE(2, 0));
	free(e.v);
	free(ref);
}

/* A[e][l] at any point, also outside of the ellipse. */
static double density(const struct iso_strip *p, const double e[3], double y, double z)
{
	struct strip_origin o = strip_origin(p->strips.radius, e[0], e[1], e[2]);
	struct strip_inverse c = strip_inverse(&p->strips, e[0], e[1]);
	struct strip_line l = { .t = (iso_real)o.t,
		                .s = (iso_real)o.s,
		                .up = (iso_real)c.up,
		                .down = (iso_real)c.down,
		                .dl = (iso_real)c.dl,
		                .gamma = (iso_real)c.gamma };
	struct strip_row r =
		strip_row(p->kernel, (iso_real)p->strips.radius, &l, (iso_real)y, (iso_real)(y - o.y));
	iso_real v = (iso_real)(z - (o.z + (y - o.y) * o.t));
	double edge = p->edge ? strip_edge(&p->strips, &r, v, y, z) : 1;

	return c.factor * strip_weight(p->kernel, &r, v) * edge;
}

static void kernels(void **state)
{
	static const char *const name[] = { "kernel_eq7.f64", "kernel_tan.f64", "kernel_gauss.f64" };
	double *point = load("kernel_points.f64", POINTS * 5, sizeof *point);

	(void)state;
	for (int k = ISO_STRIP_EQ7; k <= ISO_STRIP_GAUSS; k++) {
		struct iso_strip p = { sizeof p, STRIPS(10, 40, 0, 0), GRID,
			               .kernel = (enum iso_strip_kernel)k };
		double *ref = load(name[k], POINTS, sizeof *ref);

		for (int i = 0; i < POINTS; i++)
			NEAR(density(&p, point + 5 * i, point[5 * i + 3], point[5 * i + 4]), ref[i],
			     TOLERANCE(2e-5, 1e-12) * ref[i]);
		free(ref);
	}
	free(point);
}

/* bb of section "a row" in strip_kern.h: how far the pixel of a point lies from its event, sigma^2. */
static double reach2(const double *point)
{
	double t = (point[0] - point[1]) / (2 * 130), s2 = 1 + t * t, y = -point[2] / (2 * sqrt(s2));
	double z = (point[0] + point[1]) / 2 + y * t, dy = point[3] - y, v = point[4] - z - dy * t;

	return 2 * v * v / (10 * 10) + 4 * s2 * dy * dy / (40 * 40);
}

/* Against the integral over all angles, inside the ellipse: eq7 within 4 % rms, tan 0.5 % anywhere. */
static void kernels_near_the_integral(void **state)
{
	double *point = load("kernel_points.f64", POINTS * 5, sizeof *point);
	double *exact = load("kernel_exact.f64", POINTS, sizeof *exact), squares = 0;
	struct iso_strip p = { sizeof p, STRIPS(10, 40, 0, 0), GRID, .kernel = ISO_STRIP_EQ7 };
	int n = 0;

	(void)state;
	for (int i = 0; i < POINTS; i++) {
		const double *at = point + 5 * i;

		if (reach2(at) > 9) continue;
		p.kernel = ISO_STRIP_EQ7;
		squares += pow(density(&p, at, at[3], at[4]) / exact[i] - 1, 2);
		p.kernel = ISO_STRIP_TAN;
		NEAR(density(&p, at, at[3], at[4]), exact[i], .005 * exact[i]);
		n++;
	}
	assert_int_equal(n, 503); /* 9 of the 512 lie outside */
	BELOW(sqrt(squares / n), .04);
	assert_true(sqrt(squares / n) > .01); /* its expansion is not exact */
	free(point);
	free(exact);
}

/* Coupling and ends of the strips, from quadrature-checked float64 values of ten digits. */
static void kernels_with_coupling_and_ends(void **state)
{
	static const struct {
		double e[3], y, z, gamma, eq7, tan, edge;
	} row[] = {
		{ { 30, -20, -50 }, 20, 6, 0, 5.9030632898e-7, 5.9134255704e-7, 5.9134255704e-7 },
		{ { 30, -20, -50 }, 20, 6, .001, 4.9689106552e-7, 4.9971753694e-7, 4.9971753694e-7 },
		{ { 140, 20, -60 }, 24, 84, 0, 3.3707177762e-7, 3.4074842461e-7, 3.4050533211e-7 },
		{ { 155, -60, -150 }, 60, 96, 0, 3.6190301722e-7, 3.6398766737e-7, 5.3477842855e-8 },
		{ { 155, -60, -150 }, 60, 96, .001, 3.1346708853e-7, 3.1362266313e-7, 4.4856259631e-8 },
	};
	const double tolerance = TOLERANCE(2e-5, 1e-10);

	(void)state;
	for (int i = 0; i < N_OF(row); i++) {
		struct iso_strip eq7 = { sizeof eq7, STRIPS(10, 40, 0, row[i].gamma), GRID };

		struct iso_strip tan_ = eq7, edge;

		tan_.kernel = ISO_STRIP_TAN;
		edge = tan_;
		edge.edge = true;
		NEAR(density(&eq7, row[i].e, row[i].y, row[i].z), row[i].eq7, tolerance * row[i].eq7);
		NEAR(density(&tan_, row[i].e, row[i].y, row[i].z), row[i].tan, tolerance * row[i].tan);
		NEAR(density(&edge, row[i].e, row[i].y, row[i].z), row[i].edge, 2 * tolerance * row[i].edge);
	}
}

#ifndef ISO_DOUBLE
static void fast_exponential(void **state)
{
	double worst = 0;

	(void)state;
	for (int i = -126 * 1000; i <= 40 * 1000; i++) {
		float x = (float)i * .001f;

		worst = fmax(worst, fabs(strip_exp2(x) / exp2((double)x) - 1));
	}
	BELOW(worst, 2e-7);
}
#endif

/* ---- images that need no iteration ---- */

static void sensitivity(void **state)
{
	static const char *const name[] = { "sens_center.f64", "sens_5point.f64" };
	struct iso_strip p = ways[0];
	iso_real s[PIXELS], large[99 * 99];

	(void)state;
	for (int corners = 0; corners < 2; corners++) {
		double *ref = load(name[corners], PIXELS, sizeof *ref);

		OK(iso_strip_sens(s, &p, corners));
		for (int i = 0; i < PIXELS; i++) NEAR(s[i], ref[i], TOLERANCE(1e-6, 1e-14));
		free(ref);
	}
	p.ny = p.nz = 99; /* larger than the strips: |y| to 196, |z| to 196 */
	OK(iso_strip_sens(large, &p, false));
	assert_true(large[0] == 0 && large[16 * 99 + 49] == 0 && large[49 * 99] == 0);
	NEAR(large[49 * 99 + 49], 2 * atan(150 / 130.) / M_PI, 1e-6);
}

static void direct_image(void **state)
{
	struct iso_strip_events e = vector_events(EVENTS);
	double *ref = load("direct.f64", PIXELS, sizeof *ref), differ = 0;
	iso_real x[PIXELS];
	int64_t outside = -1;

	(void)state;
	OK(iso_strip_direct(x, &outside, &ways[0], &e));
	assert_int_equal(outside, EVENTS - 99699);
	for (int i = 0; i < PIXELS; i++) differ += fabs(x[i] - ref[i]);
	assert_true(differ == 0);
	e.v[0].dl = NAN;
	e.v[1].z_up = INFINITY;
	OK(iso_strip_direct(x, &outside, &ways[0], &e));
	assert_in_range(outside, EVENTS - 99699 + 1, EVENTS - 99699 + 2);
	free(e.v);
	free(ref);
}

/* ---- the operator against its definition ---- */

static double at(int64_t i, int64_t n, double pixel)
{
	return ((double)i - .5 * (double)(n - 1)) * pixel;
}

/* x C^-1 y for the symmetric matrix of Bialas 2015, eq. (12). */
static double form(const double c[3], double gamma, const double x[3], const double y[3])
{
	return c[0] * x[0] * y[0] + c[1] * x[1] * y[1] + c[2] * x[2] * y[2] +
	       gamma * (x[0] * y[2] + x[2] * y[0] - x[1] * y[2] - x[2] * y[1]);
}

/* eqs. (7) to (11), pixel by pixel, nothing saved; 0 outside of the ellipse bb <= rim. */
static double entry(const struct iso_strip *p, const struct iso_strip_event *e, double rim, double y,
                    double z)
{
	const struct iso_strips *g = &p->strips;
	double t = ((double)e->z_up - e->z_down) / (2 * g->radius), s = sqrt(1 + t * t), r = g->radius;
	double y0 = -e->dl / (2 * s), z0 = ((double)e->z_up + e->z_down) / 2 + y0 * t;
	double su = strips_sigma_z(g, e->z_up), sd = strips_sigma_z(g, e->z_down);
	double c[3] = { 1 / (su * su), 1 / (sd * sd), 1 / (g->sigma_dl * g->sigma_dl) };
	double det = c[0] * c[1] * c[2] - g->gamma * g->gamma * (c[0] + c[1]);
	double v = z - z0 - (y - y0) * t, b[3] = { v, v, -2 * (y - y0) * s };
	double a[3] = { -(y - r) * s * s, -(y + r) * s * s, -2 * y * s * t };
	double o[3] = { a[0] * t, a[1] * t, -y * s * (1 + 2 * t * t) };
	double bb = form(c, g->gamma, b, b), front = sqrt(det) / (2 * M_PI * M_PI);

	if (!(bb <= rim)) return 0;
	if (p->kernel == ISO_STRIP_GAUSS) return front / sqrt(form(c, g->gamma, a, a)) * exp(-bb / 2);
	if (p->kernel == ISO_STRIP_TAN) {
		for (int i = 0; i < 3; i++) a[i] /= s * s;
		o[0] = o[1] = 0;
		o[2] = -y / (s * s * s);
	}
	double n = form(c, g->gamma, a, a) + 2 * form(c, g->gamma, o, b);
	double ab = form(c, g->gamma, a, b), w = front / sqrt(n) * exp(-.5 * (bb - ab * ab / n));

	if (!(n > 0)) return 0;
	if (p->kernel == ISO_STRIP_EQ7) return w;
	double tau = t - ab / n, half = g->length / 2;
	double most = fmin((half - z) / (r - y), (half + z) / (r + y));
	double least = fmax(-(half + z) / (r - y), (z - half) / (r + y));

	w /= 1 + tau * tau;
	if (!p->edge) return w;
	return most > least ? w * .5 * (erf((most - tau) * sqrt(n / 2)) - erf((least - tau) * sqrt(n / 2)))
	                    : 0;
}

static double row_sum(const struct iso_strip *p, const struct iso_strip_event *e, double rim,
                      const iso_real *x)
{
	double sum = 0;

	for (int64_t i = 0; i < p->ny * p->nz; i++)
		sum += x[i] *
		       entry(p, e, rim, at(i / p->nz, p->ny, p->pixel), at(i % p->nz, p->nz, p->pixel));
	return sum;
}

/* In float a pixel on the border of an ellipse may fall on either side; its weight is e^-4.5 of
   the highest. */
static void check_forward(iso_ctx *ctx)
{
	enum { SOME = 60 };
	struct iso_strip_events e = vector_events(SOME);

	for (int k = 0; k < N_OF(ways); k++) {
		iso_op *op = make_op(ctx, &ways[k], &e);
		iso_real *x = some_values(op->n_in, 5), *dx = to_device(ctx, op->n_in, x);
		iso_real *dy = to_device(ctx, SOME, NULL);

		OK(iso_forward(dy, op, ISO_ALL, dx));
		iso_real *y = to_host(ctx, SOME, dy);
		int off = 0;

		for (int j = 0; j < SOME; j++) {
			double ref = row_sum(&ways[k], e.v + j, 9, x);

			NEAR(y[j], ref, TOLERANCE(1e-2, 1e-11) * ref);
			off += fabs(y[j] - ref) > TOLERANCE(1e-5, 1e-11) * ref;
		}
		BELOW(off, TOLERANCE(1, 0));
		free(x);
		free(y);
		device_free(ctx, dx);
		device_free(ctx, dy);
		iso_op_free(op);
	}
	free(e.v);
}

/* Lines from across the strips to nearly along them, |t| from .05 to 2000, of places all over the image and
   as far beyond it as a quarter of its half. */
static struct iso_strip_events slope_events(int64_t n, const struct iso_strip *p)
{
	struct iso_strip_events e = { n, calloc((size_t)n, sizeof *e.v), 0 };

	assert_non_null(e.v);
	for (int64_t j = 0; j < n; j++) {
		struct philox r = philox_draw(21, (uint64_t)j, 0);
		double t = .05 * pow(40000, philox_unit(r.w[0])) * (j % 2 ? -1 : 1);
		double y = 1.25 * (philox_unit(r.w[1]) - .5) * (double)p->ny * p->pixel;
		double z = 1.25 * (philox_unit(r.w[2]) - .5) * (double)p->nz * p->pixel;

		e.v[j].z_up = (float)(z + (p->strips.radius - y) * t);
		e.v[j].z_down = (float)(z - (p->strips.radius + y) * t);
		e.v[j].dl = (float)(-2 * y * sqrt(1 + t * t));
	}
	return e;
}

/* Of ellipses beyond the image, and of those as thin as a pixel, a few pixels next to the rim may be all there
   is. So a sum lies between that of a slightly smaller and that of a slightly larger ellipse; the tolerance
   is that of the weights at the rim, where eq7's series is least exact. With the ends of the strips a weight
   is a difference of two error functions, whose roundings are relative to the weight without the ends. */
static void check_forward_of_slopes(iso_ctx *ctx)
{
	const double rim = TOLERANCE(9e-3, 1e-8), relative = TOLERANCE(2e-4, 1e-9);
	const int64_t some = sized(601, 101);

	for (int k = 0; k < N_OF(ways); k++) {
		struct iso_strip_events e = slope_events(some, &ways[k]);
		struct iso_strip endless = ways[k];
		iso_op *op = make_op(ctx, &ways[k], &e);
		iso_real *x = some_values(op->n_in, 5), *dx = to_device(ctx, op->n_in, x);
		iso_real *dy = to_device(ctx, some, NULL);

		endless.edge = false;
		OK(iso_forward(dy, op, ISO_ALL, dx));
		iso_real *y = to_host(ctx, some, dy);
		int seen = 0;

		for (int64_t j = 0; j < some; j++) {
			double least = row_sum(&ways[k], e.v + j, 9 - rim, x);
			double most = row_sum(&ways[k], e.v + j, 9 + rim, x), slack = relative * most;

			if (ways[k].edge)
				slack += TOLERANCE(1e-6, 1e-14) * row_sum(&endless, e.v + j, 9 + rim, x);
			if (!(y[j] >= least - slack && y[j] <= most + slack))
				fail_msg("way %d, event %d: %g is not within %g to %g", k, (int)j,
				         (double)y[j], least - slack, most + slack);
			seen += y[j] > 0;
		}
		assert_in_range(seen, some / 10, some - some / 10);
		free(x);
		free(y);
		free(e.v);
		device_free(ctx, dx);
		device_free(ctx, dy);
		iso_op_free(op);
	}
}

/* Events are worked out several at a time: what comes of each does not depend on how many there are. The
   lists end with their memory, so that the address sanitizer sees who reads on. */
static void check_short_lists(iso_ctx *ctx)
{
	enum { MOST = 9 };
	struct iso_strip_events all = vector_events(MOST);

	for (int k = 0; k < N_OF(ways); k++) {
		iso_op *whole = make_op(ctx, &ways[k], &all);
		iso_real *x = some_values(whole->n_in, 5), *dx = to_device(ctx, whole->n_in, x);
		iso_real *dy = to_device(ctx, MOST, NULL);

		OK(iso_forward(dy, whole, ISO_ALL, dx));
		iso_real *want = to_host(ctx, MOST, dy);

		for (int64_t n = 1; n < MOST; n++) {
			struct iso_strip_events e = { n, malloc((size_t)n * sizeof *e.v), 0 };

			assert_non_null(e.v);
			memcpy(e.v, all.v, (size_t)n * sizeof *e.v);
			iso_op *op = make_op(ctx, &ways[k], &e);

			OK(iso_forward(dy, op, ISO_ALL, dx));
			iso_real *got = to_host(ctx, n, dy);

			assert_memory_equal(got, want, (size_t)n * sizeof *got);
			free(got);
			free(e.v);
			iso_op_free(op);
		}
		free(x);
		free(want);
		device_free(ctx, dx);
		device_free(ctx, dy);
		iso_op_free(whole);
	}
	free(all.v);
}

static void check_adjoint(iso_ctx *ctx)
{
	struct iso_strip_events e = vector_events(3000);

	for (int k = 0; k < N_OF(ways); k++)
		for (int n_sub = 1; n_sub <= 4; n_sub += 3) {
			struct iso_strip p = ways[k];
			double err = 1;

			p.n_sub = n_sub;
			p.rule = ISO_RANDOM;
			iso_op *op = make_op(ctx, &p, &e);

			OK(iso_test_adjoint(&err, op, n_sub == 1 ? ISO_ALL : 2, 7));
			BELOW(err, TOLERANCE(1e-6, 1e-13));
			iso_op_free(op);
		}
	free(e.v);
}

/* Data with all that em_step looks at: counts, an additive term, factors of which some are 0. */
static void check_em_step_of(iso_ctx *ctx, const struct iso_strip *p, int sub, bool plain_list)
{
	struct iso_strip_events e = vector_events(sized(2500, 400));

	e.v[17].dl = NAN;
	e.v[18].z_up = 1e30f;
	iso_op *op = make_op(ctx, p, &e);
	iso_real *x = some_values(op->n_in, 1), *y = some_values(e.n, 2), *a = some_values(e.n, 3);
	iso_real *m = some_values(e.n, 4);

	for (int64_t j = 0; j < e.n; j++) {
		a[j] *= (iso_real)1e-6;
		m[j] = j % 7 ? m[j] : 0;
	}
	iso_real *dx = to_device(ctx, op->n_in, x), *dy = to_device(ctx, e.n, y);
	iso_real *da = to_device(ctx, e.n, a), *dm = to_device(ctx, e.n, m);
	iso_real *acc = to_device(ctx, op->n_in, NULL), *ref = to_device(ctx, op->n_in, NULL);
	struct iso_em_data d = plain_list ? (struct iso_em_data){ 0 } : (struct iso_em_data){ dy, da, dm };
	struct iso_em_stat s, t;

	OK(iso_op_em_step(acc, &s, op, sub, dx, &d));
	OK(iso_em_step_plain(op, sub, ref, dx, &d, &t));
	iso_real *got = to_host(ctx, op->n_in, acc), *want = to_host(ctx, op->n_in, ref);

	BELOW(relative_difference(op->n_in, got, want), TOLERANCE(2e-6, 1e-13));
	assert_int_equal(s.used, t.used);
	assert_int_equal(s.skipped, t.skipped);
	NEAR(s.lost, plain_list ? (double)t.skipped : t.lost, 1e-9 * t.lost);
	assert_true(plain_list || (s.lost > 0 && s.lost != (double)s.skipped));
	NEAR(s.loglik, t.loglik, TOLERANCE(1e-6, 1e-12) * fabs(t.loglik));
	NEAR(s.counts, t.counts, 1e-9 * t.counts);
	device_free(ctx, dx);
	device_free(ctx, dy);
	device_free(ctx, da);
	device_free(ctx, dm);
	device_free(ctx, acc);
	device_free(ctx, ref);
	free(x);
	free(y);
	free(a);
	free(m);
	free(got);
	free(want);
	free(e.v);
	iso_op_free(op);
}

static void check_em_step(iso_ctx *ctx)
{
	for (int k = 0; k < N_OF(ways); k++)
		for (int rule = ISO_INTERLEAVED; rule <= ISO_RANDOM; rule++) {
			struct iso_strip p = ways[k];

			p.n_sub = 3;
			p.rule = (enum iso_subset_rule)rule;
			p.seed = 11;
			check_em_step_of(ctx, &p, rule, false);
			check_em_step_of(ctx, &p, ISO_ALL, true);
		}
}

/* ---- iterations ---- */

static double sum_of(int64_t n, const iso_real *x, const iso_real *s)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (s ? s[i] : 1);
	return sum;
}

static void check_image(const iso_real *x, const char *name)
{
	double *ref = load(name, PIXELS, sizeof *ref), d2 = 0, r2 = 0, most = 0, top = 0;

	for (int i = 0; i < PIXELS; i++) {
		double d = x[i] - ref[i];

		d2 += d * d;
		r2 += ref[i] * ref[i];
		most = fmax(most, fabs(d));
		top = fmax(top, ref[i]);
	}
	if (!(sqrt(d2 / r2) <= TOLERANCE(1e-5, 1e-10)) || !(most <= TOLERANCE(1e-4, 1e-9) * top))
		print_error("%s: L2 %g, largest %g\n", name, sqrt(d2 / r2), most / top);
	BELOW(sqrt(d2 / r2), TOLERANCE(1e-5, 1e-10)); /* the README asks for 1e-4 in float */
	BELOW(most, TOLERANCE(1e-4, 1e-9) * top);
	free(ref);
}

static const struct {
	const char *name;
	enum iso_strip_kernel kernel;
	bool raw;
	double loglik[5]; /* without the sum of s rho, before each update */
} runs[] = {
	{ "eq7_ml",
	  ISO_STRIP_EQ7,
	  false,
	  { -1046071.412, -593253.6206, -590684.771, -589947.3432, -589637.3266 } },
	{ "eq7_raw",
	  ISO_STRIP_EQ7,
	  true,
	  { -1046071.412, -682740.866, -679740.9978, -678949.6289, -678626.2015 } },
	{ "gauss_raw",
	  ISO_STRIP_GAUSS,
	  true,
	  { -1053631.585, -689261.6682, -686238.3114, -685449.5956, -685128.5792 } },
	{ "tan_ml",
	  ISO_STRIP_TAN,
	  false,
	  { -1046012.912, -593203.088, -590642.4806, -589907.183, -589598.0354 } },
};

static void fill(iso_real *x, double value)
{
	for (int i = 0; i < PIXELS; i++) x[i] = (iso_real)value;
}

/* Form raw is EM with a sensitivity of ones. */
static void check_run(iso_ctx *ctx, const struct iso_strip_events *e, int k)
{
	struct iso_strip p = ways[0];
	iso_real sens[PIXELS], x[PIXELS];
	struct iso_em_result result = { .size = sizeof result };
	char file[64];

	p.kernel = runs[k].kernel;
	iso_op *op = make_op(ctx, &p, e);

	OK(iso_strip_sens(sens, &p, false));
	if (runs[k].raw) fill(sens, 1);
	fill(x, 1);
	double expected = sum_of(PIXELS, x, sens);
	struct iso_em em = { .size = sizeof em, .op = op, .sens = { 1, 1, sens }, .iterations = 1 };

	for (int it = 1; it <= sized(5, 1); it++) {
		OK(iso_em_run(x, &result, &em, NULL));
		assert_int_equal(result.used, EVENTS);
		assert_int_equal(result.skipped, 0);
		NEAR(result.loglik[0] + expected, runs[k].loglik[it - 1],
		     TOLERANCE(1e-6, 1e-9) * -runs[k].loglik[it - 1]);
		expected = sum_of(PIXELS, x, sens);
		NEAR(expected, EVENTS, TOLERANCE(1e-6, 1e-12) * EVENTS);
		iso_em_result_free(&result);
		snprintf(file, sizeof file, "image_%s_it%d.f64", runs[k].name, it);
		if (it == 1 || it == 5) check_image(x, file);
	}
	iso_op_free(op);
}

static void check_em_vectors(iso_ctx *ctx)
{
	struct iso_strip_events e = vector_events(EVENTS);

	for (int k = 0; k < N_OF(runs); k++) check_run(ctx, &e, k);
	free(e.v);
}

/* Form eq3, rho <- rho A*(1 / A(s rho)), spelled out; s rho then runs through raw from s. */
static void check_eq3(iso_ctx *ctx)
{
	struct iso_strip_events e = vector_events(sized(20000, 4000));
	iso_real s[PIXELS], ones[PIXELS], raw[PIXELS], rho[PIXELS], srho[PIXELS];
	iso_op *op = make_op(ctx, &ways[0], &e);

	OK(iso_strip_sens(s, &ways[0], false));
	fill(ones, 1);
	fill(rho, 1);
	memcpy(raw, s, sizeof raw);
	struct iso_em em = { .size = sizeof em, .op = op, .sens = { 1, 1, ones }, .iterations = 4 };

	OK(iso_em_run(raw, NULL, &em, NULL));
	for (int it = 0; it < 4; it++) {
		for (int i = 0; i < PIXELS; i++) srho[i] = s[i] * rho[i];
		iso_real *dx = to_device(ctx, PIXELS, srho), *dy = to_device(ctx, e.n, NULL);

		OK(iso_forward(dy, op, ISO_ALL, dx));
		iso_real *y = to_host(ctx, e.n, dy);

		for (int64_t j = 0; j < e.n; j++) y[j] = y[j] > 0 ? 1 / y[j] : 0;
		OK(iso_ctx_vec(ctx)->upload(ctx, dy, y, e.n * (int64_t)sizeof *y));
		OK(iso_adjoint(dx, op, ISO_ALL, dy));
		iso_real *back = to_host(ctx, PIXELS, dx);

		for (int i = 0; i < PIXELS; i++) rho[i] *= back[i];
		NEAR(sum_of(PIXELS, rho, s), (double)e.n, TOLERANCE(1e-5, 1e-11) * (double)e.n);
		free(y);
		free(back);
		device_free(ctx, dx);
		device_free(ctx, dy);
	}
	for (int i = 0; i < PIXELS; i++) srho[i] = s[i] * rho[i];
	BELOW(relative_difference(PIXELS, raw, srho), TOLERANCE(1e-5, 1e-12));
	iso_op_free(op);
	free(e.v);
}

/* After each subset the sum of s rho is the number of events, if each takes its share of s. */
static void check_subsets(iso_ctx *ctx)
{
	struct iso_strip_events e = vector_events(9001);
	struct iso_strip p = ways[0];
	iso_real x[PIXELS], s[4 * PIXELS];

	p.n_sub = 4;
	p.rule = ISO_RANDOM;
	iso_op *op = make_op(ctx, &p, &e);

	for (int b = 0; b < 4; b++) {
		OK(iso_strip_sens(s + b * PIXELS, &p, false));
		for (int i = 0; i < PIXELS; i++)
			s[b * PIXELS + i] *= (iso_real)((double)iso_op_rows(op, b).n / (double)e.n);
	}
	fill(x, 1);
	struct iso_em em = { .size = sizeof em, .op = op, .sens = { 4, 4, s }, .iterations = 2 };

	OK(iso_em_run(x, NULL, &em, NULL));
	double share = (double)iso_op_rows(op, 3).n;

	NEAR(sum_of(PIXELS, x, s + 3 * PIXELS), share, TOLERANCE(1e-6, 1e-12) * share);
	iso_op_free(op);
	free(e.v);
}

static void check_likelihood(iso_ctx *ctx)
{
	struct iso_strip_events e = vector_events(sized(4000, 800));

	for (int k = 0; k < 10; k++) {
		iso_op *op = make_op(ctx, &ways[k], &e);
		iso_real x[PIXELS], s[PIXELS];
		struct iso_em_result r = { .size = sizeof r };

		OK(iso_strip_sens(s, &ways[k], true));
		fill(x, 3);
		struct iso_em em = { .size = sizeof em, .op = op, .sens = { 1, 1, s }, .iterations = 12 };

		OK(iso_em_run(x, &r, &em, NULL));
		for (int i = 1; i < r.n; i++)
			assert_true(r.loglik[i] > r.loglik[i - 1] - 1e-6 * fabs(r.loglik[i]));
		assert_true(r.loglik[11] > r.loglik[1] + .025 * (double)e.n);
		iso_em_result_free(&r);
		iso_op_free(op);
	}
	free(e.v);
}

static void same_bits_for_every_number_of_threads(void **state)
{
	struct iso_strip_events e = vector_events(sized(12000, 3000));
	iso_real acc[3][PIXELS], back[3][PIXELS], x[PIXELS], *y = some_values(e.n, 9);
	struct iso_em_data d = { 0 };
	struct iso_em_stat s[3];

	(void)state;
	fill(x, 1);
	for (int k = 0; k < 4; k++)
		for (int t = 0; t < 3; t++) {
			iso_ctx *ctx = cpu((const int[]){ 1, 2, 7 }[t]);
			iso_op *op = make_op(ctx, &ways[k], &e);

			OK(iso_op_em_step(acc[t], &s[t], op, ISO_ALL, x, &d));
			OK(iso_adjoint(back[t], op, ISO_ALL, y));
			assert_memory_equal(acc[t], acc[0], sizeof acc[0]);
			assert_memory_equal(back[t], back[0], sizeof back[0]);
			assert_true(s[t].loglik == s[0].loglik);
			iso_op_free(op);
			iso_ctx_free(ctx);
		}
	free(y);
	free(e.v);
}

/* Many events in few pixels: a float image would lose 5e-5 of these counts. */
static void check_long_list(iso_ctx *ctx)
{
	const int times = sized(30, 2), many = times * EVENTS;
	struct iso_strip_events once = vector_events(EVENTS);
	struct iso_strip_events e = { many, calloc((size_t)many, sizeof *e.v), 0 };
	struct iso_strip p = ways[12];
	iso_real x[15], *dx, *acc;
	struct iso_em_data d = { 0 };
	struct iso_em_stat s;

	for (int i = 0; i < times; i++) memcpy(e.v + i * EVENTS, once.v, EVENTS * sizeof *e.v);
	for (int i = 0; i < 15; i++) x[i] = 1;
	iso_op *op = make_op(ctx, &p, &e);

	dx = to_device(ctx, 15, x);
	acc = to_device(ctx, 15, NULL);
	OK(iso_op_em_step(acc, &s, op, ISO_ALL, dx, &d));
	iso_real *got = to_host(ctx, 15, acc);

	assert_int_equal(s.used + s.skipped, many);
	NEAR(sum_of(15, got, NULL), (double)s.used, 2e-7 * many);
	free(got);
	free(once.v);
	device_free(ctx, dx);
	device_free(ctx, acc);
	iso_op_free(op);
	free(e.v);
}

/* ---- against simulated events ---- */

/* Bins of (z_up, z_down, dl): 15 x 15 x 40 mm; |z| < 180, |dl| < 440. */
enum { BINS_Z = 24, BINS_L = 22, BINS = BINS_Z * BINS_Z * BINS_L, SIMULATED = 1000000 };
#define BIN_Z 15.
#define BIN_L 40.

static int bin_of(const double e[3])
{
	double u = e[0] / BIN_Z + BINS_Z / 2, d = e[1] / BIN_Z + BINS_Z / 2, l = e[2] / BIN_L + BINS_L / 2;

	if (!(u >= 0 && u < BINS_Z && d >= 0 && d < BINS_Z && l >= 0 && l < BINS_L)) return -1;
	return ((int)u * BINS_Z + (int)d) * BINS_L + (int)l;
}

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static double uniform(uint64_t *s)
{
	return ((double)(next_random(s) >> 12) + .5) * 0x1p-52;
}

static double normal(uint64_t *s)
{
	double radius = sqrt(-2 * log(uniform(s)));

	return radius * cos(2 * M_PI * uniform(s));
}

/* Decays at (y, z) that both strips see, blurred: events in each bin. */
static void simulate(int *count, double y, double z)
{
	uint64_t s = 88172645463325252u;

	for (int n = 0; n < SIMULATED;) {
		double t = tan((uniform(&s) - .5) * M_PI);
		double e[3] = { z + (130 - y) * t, z - (130 + y) * t, -2 * y * sqrt(1 + t * t) };

		if (!(fabs(e[0]) <= 150 && fabs(e[1]) <= 150)) continue;
		e[0] += 10 * normal(&s);
		e[1] += 10 * normal(&s);
		e[2] += 40 * normal(&s);
		n++;
		if (bin_of(e) >= 0) count[bin_of(e)]++;
	}
}

/* Integral of the kernel over a bin by 3 x 3 x 3 Gauss points, 0 where the point lies far outside
   of the event's ellipse: eq7 means nothing there. */
static double bin_integral(const struct iso_strip *p, int bin, double y, double z)
{
	static const double x[3] = { -.7745966692414834, 0, .7745966692414834 };
	static const double w[3] = { 5 / 18., 8 / 18., 5 / 18. };
	double low[3] = { (bin / BINS_L / BINS_Z - BINS_Z / 2) * BIN_Z,
		          (bin / BINS_L % BINS_Z - BINS_Z / 2) * BIN_Z, (bin % BINS_L - BINS_L / 2) * BIN_L };
	double sum = 0;

	for (int k = 0; k < 27; k++) {
		double e[3] = { low[0] + (x[k % 3] + 1) / 2 * BIN_Z, low[1] + (x[k / 3 % 3] + 1) / 2 * BIN_Z,
			        low[2] + (x[k / 9] + 1) / 2 * BIN_L };
		struct strip_origin o = strip_origin(130, e[0], e[1], e[2]);
		double v = z - o.z - (y - o.y) * o.t, b3 = 2 * (y - o.y) * o.s;

		if (2 * v * v / 100 + b3 * b3 / 1600 <= 30)
			sum += w[k % 3] * w[k / 3 % 3] * w[k / 9] * density(p, e, y, z);
	}
	return sum * BIN_Z * BIN_Z * BIN_L;
}

static bool interior(int bin)
{
	int u = bin / BINS_L / BINS_Z, d = bin / BINS_L % BINS_Z;

	return u >= 5 && u < BINS_Z - 5 && d >= 5 && d < BINS_Z - 5; /* |z| < 105 */
}

/* Total variation: half the sum of |simulated - model| over bins, all or interior ones. */
static double variation(const int *count, const struct iso_strip *p, double y, double z, bool all)
{
	double sum = 0, s = strips_sens(&paper, y, z);

	for (int i = 0; i < BINS; i++)
		if (all || interior(i))
			sum += fabs((double)count[i] / SIMULATED - bin_integral(p, i, y, z) / s);
	return sum / 2;
}

/* Of these, noise alone is up to .007 inside and .01 in all bins. On top of it eq7 is off by less
   than .01, the Gaussian by up to .08 far from the middle; tan adds nothing that can be seen, with
   the ends of the strips in all bins. */
static void kernels_agree_with_simulation(void **state)
{
	static const struct {
		double y, z, eq7, gauss[2];
	} point[] = {
		{ 0, 0, .01, { 0, .01 } },          { 60, 40, .011, { .025, .045 } },
		{ 100, 0, .013, { .06, .09 } },     { -100, 100, .008, { .02, .04 } },
		{ -40, -70, .007, { .007, .015 } },
	};
	int *count = calloc(BINS, sizeof *count);

	(void)state;
	for (int i = 0; i < N_OF(point); i++) {
		double y = point[i].y, z = point[i].z;

		memset(count, 0, BINS * sizeof *count);
		simulate(count, y, z);
		double eq7 = variation(count, &ways[0], y, z, false);
		double tan_ = variation(count, &ways[1], y, z, false);
		double edge = variation(count, &ways[2], y, z, true);
		double gauss = variation(count, &ways[3], y, z, false);

		print_message("(%g, %g): eq7 %.4f tan %.4f gauss %.4f; tan with ends, all bins %.4f\n", y, z,
		              eq7, tan_, gauss, edge);
		assert_true(eq7 < point[i].eq7);
		BELOW(tan_, .009);
		BELOW(edge, .013);
		assert_true(gauss > point[i].gauss[0] && gauss < point[i].gauss[1]);
	}
	free(count);
}

/* ---- what is refused, and events that are left out ---- */

static void bad_arguments_are_refused(void **state)
{
	struct iso_strip_events e = vector_events(10), none = { 0 };
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;

	(void)state;
#define REFUSE(field, value, text)                                           \
	do {                                                                 \
		struct iso_strip p = ways[0];                                \
		p.field = value;                                             \
		REFUSED(iso_strip_create(&op, ctx, &p, &e), ISO_EARG, text); \
	} while (0)
	REFUSE(strips.radius, 0, "must be above 0");
	REFUSE(strips.length, NAN, "must be above 0");
	REFUSE(strips.sigma_z, -1, "must be above 0");
	REFUSE(strips.sigma_dl, INFINITY, "must be above 0");
	REFUSE(strips.sigma_z_growth, -1, "must be above -1");
	REFUSE(strips.gamma, .0018, "its magnitude must be below 0.00176777");
	REFUSE(strips.gamma, NAN, "its magnitude");
	REFUSE(ny, 0, "size y is 0");
	REFUSE(nz, -5, "size x is -5");
	REFUSE(pixel, 0, "voxel size");
	REFUSE(pixel, 1e-3, "pixels are 0.001 mm, must be at least 0.01");
	REFUSE(nz, INT64_C(1) << 40, "at most");
	REFUSE(kernel, (enum iso_strip_kernel)3, "there is no kernel 3");
	REFUSE(edge, true, "only the kernel tan");
	REFUSE(strategy, (enum iso_strip_strategy)7, "there is no strategy 7");
	REFUSE(n_sub, 11, "11 subsets of 10 events");
	REFUSE(rule, (enum iso_subset_rule)9, "there is no subset rule 9");
	REFUSED(iso_strip_create(&op, ctx, &ways[0], &none), ISO_EARG, "there are no events");
	assert_null(op);
	iso_ctx_free(ctx);
	free(e.v);
}

/* Not finite, far away, along the strips, next to the image: all counted, nothing else disturbed. */
static void check_bad_events(iso_ctx *ctx)
{
	struct iso_strip_event v[] = {
		{ 0, 0, 0 },         { NAN, 0, 0 },        { 0, INFINITY, 0 },
		{ 0, 0, -INFINITY }, { 1e30f, -1e30f, 0 }, { 3e38f, 3e38f, 3e38f },
		{ 0, 0, 1e20f },     { 1e5f, 1e5f, 0 },    { -3e38f, 3e38f, -5 },
		{ 5, 9, 7 },         { 3e8f, -3e8f, 1 },   { 0, 0, 379 },
		{ 0, 0, 375 },
	};
	struct iso_strip_events e = { N_OF(v), v, 0 };

	for (int k = 0; k < N_OF(ways) - 2; k++) {
		iso_op *op = make_op(ctx, &ways[k], &e);
		iso_real *x = some_values(op->n_in, 3), *dx = to_device(ctx, op->n_in, x);
		iso_real *acc = to_device(ctx, op->n_in, NULL), *dy = to_device(ctx, e.n, NULL);
		struct iso_em_data d = { 0 };
		struct iso_em_stat s;

		OK(iso_op_em_step(acc, &s, op, ISO_ALL, dx, &d));
		OK(iso_forward(dy, op, ISO_ALL, dx));
		iso_real *y = to_host(ctx, e.n, dy), *got = to_host(ctx, op->n_in, acc);
		int seen = 0;

		for (int j = 0; j < N_OF(v); j++) {
			assert_true(y[j] >= 0 && isfinite(y[j]));
			seen += y[j] > 0;
		}
		assert_true(y[0] > 0 && y[9] > 0);
		for (int j = 1; j < 9; j++) assert_true(y[j] == 0);
		if (ways[k].ny == NY) /* 59.5 mm beyond the last row's centre, and 61.5 */
			assert_true(y[10] == 0 && y[11] == 0 && (y[12] > 0 || ways[k].edge));
		assert_int_equal(s.used, seen);
		assert_int_equal(s.skipped, N_OF(v) - seen);
		NEAR(sum_of(op->n_in, got, NULL), seen, 1e-5);
		free(x);
		free(y);
		free(got);
		device_free(ctx, dx);
		device_free(ctx, dy);
		device_free(ctx, acc);
		iso_op_free(op);
	}
}

/* Images of any scale, up to where one event's sum is the smallest that float can hold. */
static void check_scales(iso_ctx *ctx)
{
	struct iso_strip_events e = vector_events(500);
	iso_op *op = make_op(ctx, &ways[0], &e);
	iso_real x[PIXELS];

	for (int k = -36; k <= 36; k += 12) {
		struct iso_em_data d = { 0 };
		struct iso_em_stat s;

		fill(x, pow(10, k));
		iso_real *dx = to_device(ctx, PIXELS, x), *acc = to_device(ctx, PIXELS, NULL);

		OK(iso_op_em_step(acc, &s, op, ISO_ALL, dx, &d));
		iso_real *got = to_host(ctx, PIXELS, acc);

		assert_int_equal(s.used, 500);
		NEAR(sum_of(PIXELS, got, NULL), 500, 1e-3);
		free(got);
		device_free(ctx, dx);
		device_free(ctx, acc);
	}
	iso_op_free(op);
	free(e.v);
}

static void scanner(void **state)
{
	iso_scanner *s = NULL;
	double p[3] = { 0, 130, 0 }, distance = 0;

	(void)state;
	OK(iso_scanner_read(&s, TEST_EXAMPLES "/scanners/bialas2015.yaml"));
	assert_int_equal(iso_scanner_kind(s), ISO_STRIPS);
	assert_memory_equal(iso_scanner_strips(s), &paper, sizeof paper);
	assert_int_equal(iso_scanner_crystals(s), 0);
	assert_int_equal(iso_scanner_pairs(s), 0);
	iso_scanner_nearest(&distance, s, p);
	assert_true(isinf(distance));
	iso_scanner_free(s);
	OK(iso_scanner_read(&s, TEST_EXAMPLES "/scanners/small-animal.yaml"));
	assert_null(iso_scanner_strips(s));
	iso_scanner_free(s);
}

static void refused_scanner(const char *text, const char *message)
{
	iso_scanner *s = NULL;
	FILE *f = fopen("test_strip_scanner.yaml", "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	REFUSED(iso_scanner_read(&s, "test_strip_scanner.yaml"), ISO_EINPUT, message);
	remove("test_strip_scanner.yaml");
}

static void refused_scanners(void **state)
{
#define KEYS "kind: strips\nradius_mm: 130\nlength_mm: 300\nsigma_z_mm: 10\n"

	(void)state;
	refused_scanner(KEYS, "key 'sigma_dl_mm' is missing");
	refused_scanner(KEYS "sigma_dl_mm: 0\n", "sigma_dl_mm is");
	refused_scanner(KEYS "sigma_dl_mm: 40\ngamma_per_mm2: 0.1\n", "magnitude must be below");
	refused_scanner(KEYS "sigma_dl_mm: 40\nrings: 3\n", "unknown key 'rings'");
	refused_scanner(KEYS "sigma_dl_mm: 40\nsigma_z_growth: -1\n", "sigma_z_growth is");
}

/* ---- all of it ---- */

#define CPU_TEST(name, check)          \
	static void name(void **state) \
	{                              \
		iso_ctx *ctx = cpu(2); \
		(void)state;           \
		check(ctx);            \
		iso_ctx_free(ctx);     \
	}

CPU_TEST(forward, check_forward)
CPU_TEST(forward_of_slopes, check_forward_of_slopes)
CPU_TEST(short_lists, check_short_lists)
CPU_TEST(adjoint, check_adjoint)
CPU_TEST(em_step_is_the_plain_pair, check_em_step)
CPU_TEST(em_vectors, check_em_vectors)
CPU_TEST(form_eq3, check_eq3)
CPU_TEST(subsets, check_subsets)
CPU_TEST(likelihood_rises, check_likelihood)
CPU_TEST(long_list, check_long_list)
CPU_TEST(bad_events, check_bad_events)
CPU_TEST(scales, check_scales)
#ifndef ISO_DOUBLE
CUDA_TEST(cuda_forward, check_forward)
CUDA_TEST(cuda_adjoint, check_adjoint)
CUDA_TEST(cuda_em_step_is_the_plain_pair, check_em_step)
CUDA_TEST(cuda_em_vectors, check_em_vectors)
CUDA_TEST(cuda_form_eq3, check_eq3)
CUDA_TEST(cuda_subsets, check_subsets)
CUDA_TEST(cuda_likelihood_rises, check_likelihood)
CUDA_TEST(cuda_long_list, check_long_list)
CUDA_TEST(cuda_bad_events, check_bad_events)
CUDA_TEST(cuda_scales, check_scales)
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(origins),
		cmocka_unit_test(ellipses),
		cmocka_unit_test(kernels),
		cmocka_unit_test(kernels_near_the_integral),
		cmocka_unit_test(kernels_with_coupling_and_ends),
		cmocka_unit_test(sensitivity),
		cmocka_unit_test(direct_image),
		cmocka_unit_test(forward),
		cmocka_unit_test(forward_of_slopes),
		cmocka_unit_test(short_lists),
		cmocka_unit_test(adjoint),
		cmocka_unit_test(em_step_is_the_plain_pair),
		cmocka_unit_test(em_vectors),
		cmocka_unit_test(form_eq3),
		cmocka_unit_test(subsets),
		cmocka_unit_test(likelihood_rises),
		cmocka_unit_test(same_bits_for_every_number_of_threads),
		cmocka_unit_test(long_list),
		cmocka_unit_test(kernels_agree_with_simulation),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(bad_events),
		cmocka_unit_test(scales),
		cmocka_unit_test(scanner),
		cmocka_unit_test(refused_scanners),
#ifndef ISO_DOUBLE
		cmocka_unit_test(fast_exponential),
		cmocka_unit_test(cuda_forward),
		cmocka_unit_test(cuda_adjoint),
		cmocka_unit_test(cuda_em_step_is_the_plain_pair),
		cmocka_unit_test(cuda_em_vectors),
		cmocka_unit_test(cuda_form_eq3),
		cmocka_unit_test(cuda_subsets),
		cmocka_unit_test(cuda_likelihood_rises),
		cmocka_unit_test(cuda_long_list),
		cmocka_unit_test(cuda_bad_events),
		cmocka_unit_test(cuda_scales),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
