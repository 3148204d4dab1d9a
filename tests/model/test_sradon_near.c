/* SPDX-License-Identifier: BSD-3-Clause */
/* Model sradon with transducers close above a wide image, nearer than its corners: against plain loops
   over all points of whole spheres in double. */
#include "oat_vectors.h"

enum { NX = 34, NY = 26, SAMPLES = 90, SIDE = 3, TRANS = SIDE * SIDE + 3 };

#define DS .3
#define SPEED 1.5
#define DT .08

/* 3 x 3 transducers 3 mm above the image, one a voxel above it, one beside it, one off its corner. */
static struct iso_transducers planar(int64_t nz)
{
	struct iso_transducers t = {
		.speed = SPEED, .dt_us = DT, .first_us = -.1, .samples = SAMPLES, .gamma = 1
	};
	double top = DS * (double)nz / 2;
	const double near[3][3] = { { 1.1, -.7, top + DS },
		                    { -DS * NX / 2 - .5, 1, 0 },
		                    { DS * NX / 2 + .2, DS * NY / 2 + .2, top + .2 } };

	points(&t, TRANS);
	for (int i = 0; i < SIDE * SIDE; i++) {
		t.pos[3 * i] = 4.1 * (i % SIDE - 1);
		t.pos[3 * i + 1] = 3.3 * (i / SIDE - 1) + .1;
		t.pos[3 * i + 2] = top + 3;
	}
	memcpy(t.pos + 3 * SIDE * SIDE, near, sizeof near);
	return t;
}

/* ---- the reference ---- */

struct reference {
	int64_t nz;
	const iso_real *x, *y;
	double *g, *back; /* of x, and of y */
	double h;         /* from point to point */
	bool alg4;
};

/* The point at r takes from the image, and gives to it. */
static void at_point(const struct reference *f, const double r[3], double weight, int64_t j)
{
	const int64_t n[3] = { NX, NY, f->nz };
	double low[3], part[3];

	for (int a = 0; a < 3; a++) {
		double u = r[a] / DS + (double)(n[a] - 1) / 2;

		low[a] = floor(u);
		part[a] = u - low[a];
		if (u <= -1 || u >= (double)n[a]) return;
	}
	for (int c = 0; c < 8; c++) {
		double w = weight;
		int64_t i[3];
		bool inside = true;

		for (int a = 0; a < 3; a++) {
			i[a] = (int64_t)low[a] + (c >> a & 1);
			w *= c >> a & 1 ? part[a] : 1 - part[a];
			inside = inside && i[a] >= 0 && i[a] < n[a];
		}
		if (!inside) continue;
		int64_t v = (i[2] * NY + i[1]) * NX + i[0];

		f->g[j] += w * f->x[v];
		f->back[v] += w * f->y[j];
	}
}

/* A ring of n points, at azimuths (i + shift) step round the axis n of a transducer at s. */
static void ring(const struct reference *f, const double s[3], double rho, double theta, double weight,
                 int points, double shift, double step, int64_t j)
{
	double d = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]), ex[3], ey[3];
	const double n[3] = { -s[0] / d, -s[1] / d, -s[2] / d };

	iso_transducer_frame(ex, ey, n);
	for (int i = 0; i < points; i++) {
		double phi = (i + shift) * step, r[3];

		for (int a = 0; a < 3; a++)
			r[a] = s[a] +
			       rho * (cos(theta) * n[a] + sin(theta) * (cos(phi) * ex[a] + sin(phi) * ey[a]));
		at_point(f, r, weight, j);
	}
}

/* All rings of a sphere; the image's centre is the origin. */
static void sphere(const struct reference *f, const double s[3], double rho, int64_t j)
{
	double h = f->h, step = h / rho, far2 = 0, d2 = 0;
	const int64_t n[3] = { NX, NY, f->nz };

	for (int a = 0; a < 3; a++) {
		far2 += pow((double)(n[a] + 1) / 2 * DS, 2);
		d2 += s[a] * s[a];
	}
	double c = (d2 + rho * rho - far2) / (2 * rho * sqrt(d2));

	if (f->alg4) {
		if (c >= 1) return;
		double top = c > -1 ? acos(c) : M_PI;

		for (int i = 0; top - i * step > 0; i++) {
			double around = 2 * M_PI * rho * sin(top - i * step) / h;

			ring(f, s, rho, top - i * step, h * h, (int)ceil(around), 0, 2 * M_PI / around, j);
		}
		return;
	}
	int rings = (int)floor(M_PI / step + .5);

	for (int i = 0; i < rings; i++) {
		double theta = (i + .5) * step, end = i == rings - 1 ? M_PI : theta + step / 2;
		int points = (int)floor(2 * M_PI * rho * sin(theta) / h + .5);
		double area = 2 * M_PI * rho * rho * (cos(theta - step / 2) - cos(end));

		points = points < 1 ? 1 : points;
		ring(f, s, rho, theta, area / points, points, .5, 2 * M_PI / points, j);
	}
}

/* ---- the operator against it ---- */

static iso_real *noise(int64_t n, uint32_t seed)
{
	iso_real *v = calloc((size_t)n, sizeof *v);

	assert_non_null(v);
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		v[i] = (iso_real)(seed >> 8) / (iso_real)0x1p23 - 1;
	}
	return v;
}

static struct iso_sradon model(const struct iso_transducers *t, int64_t nz, enum iso_sradon_sampling sampling,
                               enum iso_sradon_adjoint way, double step)
{
	return (struct iso_sradon){ .size = sizeof(struct iso_sradon),
		                    .t = t,
		                    .grid = { { NX, NY, nz }, { DS, DS, DS }, { 0 } },
		                    .sampling = sampling,
		                    .adjoint = way,
		                    .step = step };
}

static void against_reference(iso_ctx *ctx, int64_t nz, enum iso_sradon_sampling sampling, double step)
{
	const int64_t voxels = NX * NY * nz, data = TRANS * SAMPLES;
	struct iso_transducers t = planar(nz);
	struct reference f = { .nz = nz,
		               .h = DS * step,
		               .x = noise(voxels, 1),
		               .y = noise(data, 2),
		               .g = calloc((size_t)data, sizeof(double)),
		               .back = calloc((size_t)voxels, sizeof(double)),
		               .alg4 = sampling == ISO_SRADON_ALG4 };
	iso_real *g = calloc((size_t)data, sizeof *g), *back = calloc((size_t)voxels, sizeof *back);

	for (int64_t j = 0; j < data; j++) {
		double rho = SPEED * (t.first_us + (double)(j % SAMPLES) * DT);

		if (rho > 0) sphere(&f, t.pos + j / SAMPLES * 3, rho, j);
	}
	for (int64_t j = 0; j < data; j++) g[j] = (iso_real)f.g[j];
	for (int64_t v = 0; v < voxels; v++) back[v] = (iso_real)f.back[v];
	for (int way = ISO_SRADON_GATHER; way <= ISO_SRADON_SCATTER; way++) {
		struct iso_sradon p = model(&t, nz, sampling, (enum iso_sradon_adjoint)way, step);
		iso_op *op = NULL;
		double err;

		OK(iso_sradon_integrals(&op, ctx, &p));
		BELOW(compare(op, false, f.x, g), TOLERANCE(2e-5, 1e-10));
		BELOW(compare(op, true, f.y, back), TOLERANCE(2e-5, 1e-10));
		OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
		BELOW(err, TOLERANCE(1e-6, 1e-12));
		iso_op_free(op);
	}
	free((void *)f.x);
	free((void *)f.y);
	free(f.g);
	free(f.back);
	free(g);
	free(back);
	iso_transducers_free(&t);
}

static void check_near(iso_ctx *ctx)
{
	for (int sampling = ISO_SRADON_MIDPOINT; sampling <= ISO_SRADON_ALG4; sampling++) {
		against_reference(ctx, 7, (enum iso_sradon_sampling)sampling, 1);
		against_reference(ctx, 7, (enum iso_sradon_sampling)sampling, 1.5);
		against_reference(ctx, 1, (enum iso_sradon_sampling)sampling, .6);
	}
}

static void near_image(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_near(ctx);
	iso_ctx_free(ctx);
}

/* An image of ones, a transducer a voxel above it: the integral is the area of the cap of the sphere that
   lies in the image. */
static void caps(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct iso_transducers t = { .speed = SPEED, .dt_us = .1, .first_us = 1, .samples = 20, .gamma = 1 };
	struct iso_sradon p = { .size = sizeof p,
		                .t = &t,
		                .grid = { { 60, 60, 20 }, { DS, DS, DS }, { 0 } } };
	iso_real x[60 * 60 * 20], g[20];
	iso_op *op = NULL;

	(void)state;
	points(&t, 1);
	t.pos[2] = DS * 10 + DS;
	for (int i = 0; i < 60 * 60 * 20; i++) x[i] = 1;
	OK(iso_sradon_integrals(&op, ctx, &p));
	OK(iso_forward(g, op, ISO_ALL, x));
	for (int k = 0; k < 20; k++) {
		double rho = SPEED * (1 + k * .1), cap = 2 * M_PI * rho * (rho - DS);

		BELOW(fabs(g[k] / cap - 1), .02);
	}
	iso_op_free(op);
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

static void refusals(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_transducers t = planar(7);
	struct iso_sradon p = model(&t, 7, ISO_SRADON_MIDPOINT, ISO_SRADON_AUTO, 0);
	iso_op *op = NULL;

	(void)state;
	t.pos[3 * 4 + 2] = DS * 3.5 + .99 * DS;
	REFUSED(iso_sradon_create(&op, ctx, &p), ISO_EINPUT,
	        "transducer 4 is 0.297 mm from the image, must be at least a voxel (0.3 mm) outside");
	t.pos[3 * 4 + 2] = DS * 3.4;
	REFUSED(iso_sradon_create(&op, ctx, &p), ISO_EINPUT,
	        "transducer 4 lies inside of the image, must be at least a voxel (0.3 mm) outside");
	t.pos[3 * 4 + 2] = DS * 3.5 + DS;
	p.step = 5;
	REFUSED(iso_sradon_create(&op, ctx, &p), ISO_EARG, "a step of 5 voxels, must be 0.125 to 4");
	p.step = 0;
	OK(iso_sradon_create(&op, ctx, &p));
	iso_op_free(op);
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_near, check_near)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(near_image),
		cmocka_unit_test(caps),
		cmocka_unit_test(refusals),
		cmocka_unit_test(cuda_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
