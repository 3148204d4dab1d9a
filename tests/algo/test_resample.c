/* SPDX-License-Identifier: BSD-3-Clause */
/* Volumes of any orientation on straight grids, against functions of the place whose values are known everywhere.
   This test is also built in double. */
#include "test.h"

typedef double (*function)(const double at[3]);

/* Linear: interpolation and smoothing leave it as it is. */
static double slope(const double at[3])
{
	return 5 + .3 * at[0] - .2 * at[1] + .7 * at[2];
}

/* A wave: a Gaussian of sigma s multiplies it by exp(-s^2 k^2 / 2). */
static const double k[3] = { .15, -.1, .2 };

static double wave(const double at[3])
{
	return cos(k[0] * at[0] + k[1] * at[1] + k[2] * at[2]);
}

static double off_centre(const double at[3])
{
	return pow(at[0] - 7, 2) + pow(at[1] + 4, 2) + pow(at[2] - 11, 2) < 25;
}

/* Axes of the three voxel sizes, turned about z, then y, then x; voxel (0, 0, 0) so that the middle is `middle`. */
static struct iso_volume turned(const int64_t dim[3], const double size[3], const double angle[3],
                                const double middle[3])
{
	struct iso_volume v = { .dim = { dim[0], dim[1], dim[2] } };
	double m[3][3] = { { size[0], 0, 0 }, { 0, size[1], 0 }, { 0, 0, size[2] } };

	for (int axis = 2; axis >= 0; axis--) {
		int p = (axis + 1) % 3, q = (axis + 2) % 3;
		double c = cos(angle[axis]), s = sin(angle[axis]);

		for (int a = 0; a < 3; a++) {
			double x = m[p][a], y = m[q][a];

			m[p][a] = c * x - s * y;
			m[q][a] = s * x + c * y;
		}
	}
	for (int r = 0; r < 3; r++) {
		v.affine[r][3] = middle[r];
		for (int a = 0; a < 3; a++) {
			v.affine[r][a] = m[r][a];
			v.affine[r][3] -= .5 * (double)(dim[a] - 1) * m[r][a];
		}
	}
	return v;
}

static void fill(struct iso_volume *v, function f)
{
	v->v = calloc((size_t)(v->dim[0] * v->dim[1] * v->dim[2]), sizeof *v->v);
	assert_non_null(v->v);
	for (int64_t i = 0; i < v->dim[0] * v->dim[1] * v->dim[2]; i++) {
		const double index[3] = { (double)(i % v->dim[0]), (double)(i / v->dim[0] % v->dim[1]),
			                  (double)(i / v->dim[0] / v->dim[1]) };
		double at[3];

		for (int r = 0; r < 3; r++) {
			at[r] = v->affine[r][3];
			for (int a = 0; a < 3; a++) at[r] += v->affine[r][a] * index[a];
		}
		v->v[i] = (iso_real)f(at);
	}
}

/* The centre of voxel i of a grid. */
static void centre_of(double at[3], const struct iso_grid *g, int64_t i)
{
	const int64_t index[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };

	for (int r = 0; r < 3; r++)
		at[r] = g->centre[r] + ((double)index[r] - .5 * (double)(g->n[r] - 1)) * g->voxel[r];
}

/* Greatest difference from `scale` times the function, where the grid lies well inside. */
static double worst(const struct iso_grid *g, const struct iso_volume *v, double smooth, function f,
                    double scale)
{
	iso_real *x = calloc((size_t)iso_grid_voxels(g), sizeof *x);
	iso_ctx *ctx = cpu(2);
	int64_t outside = 9;
	double most = 0;

	assert_non_null(x);
	OK(iso_volume_resample(x, &outside, ctx, g, v, smooth));
	assert_int_equal(outside, 0);
	for (int64_t i = 0; i < iso_grid_voxels(g); i++) {
		double at[3];

		centre_of(at, g, i);
		most = fmax(most, fabs((double)x[i] - scale * f(at)));
	}
	iso_ctx_free(ctx);
	free(x);
	return most;
}

static const double angles[][3] = {
	{ 0, 0, 0 }, { 0, 0, .4 }, { .2, -.3, .5 }, { 3.1, 1.5, -2 }, { 0, 0, 1.5707963267948966 },
};

static void linear(void **state)
{
	const struct iso_grid g = { { 9, 8, 7 }, { 2, 2.5, 3 }, { 4, -6, 9 } };

	(void)state;
	for (int i = 0; i < N_OF(angles); i++) {
		struct iso_volume v = turned((int64_t[]){ 41, 52, 37 }, (double[]){ 1.5, 1.2, 2 }, angles[i],
		                             (double[]){ 5, -4, 8 });

		fill(&v, slope);
		NEAR(worst(&g, &v, 0, slope, 1), 0, TOLERANCE(2e-5, 1e-12));
		NEAR(worst(&g, &v, 4, slope, 1), 0, TOLERANCE(2e-5, 1e-12));
		iso_volume_free(&v);
	}
}

/* What is smoothed: the grid's voxels less the volume's, and what is asked for. The Gaussian ends at 3 sigma, and
   interpolation takes (k d)^2 / 8 of it. */
static void smoothed(void **state)
{
	const double own = 1, to = 4, per = 8 * log(2), square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
	const struct iso_grid g = { { 5, 5, 5 }, { to, to, to }, { 1.3, -.7, .4 } };

	(void)state;
	for (int i = 0; i < N_OF(angles); i++)
		for (double smooth = 0; smooth < 7; smooth += 6) {
			struct iso_volume v = turned((int64_t[]){ 51, 53, 55 }, (double[]){ own, own, own },
			                             angles[i], (double[]){ 0, 0, 0 });
			double scale = exp(-.5 * square * (to * to - own * own + smooth * smooth) / per);

			fill(&v, wave);
			NEAR(worst(&g, &v, smooth, wave, scale), 0, .012);
			assert_true(worst(&g, &v, smooth, wave, 1) > .03);
			iso_volume_free(&v);
		}
}

/* A ball off all axes stays where it is, and keeps its integral. */
static void no_mirror(void **state)
{
	const struct iso_grid g = { { 30, 30, 30 }, { 2, 2, 2 }, { 0, 0, 0 } };
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int i = 0; i < N_OF(angles); i++) {
		struct iso_volume v = turned((int64_t[]){ 90, 90, 90 }, (double[]){ 1, 1, -1 }, angles[i],
		                             (double[]){ 0, 0, 0 });
		iso_real *x = calloc(27000, sizeof *x);
		double sum = 0, whole = 0, mean[3] = { 0 };

		fill(&v, off_centre);
		OK(iso_volume_resample(x, NULL, ctx, &g, &v, 0));
		for (int64_t j = 0; j < 27000; j++) {
			double at[3];

			centre_of(at, &g, j);
			sum += (double)x[j];
			for (int r = 0; r < 3; r++) mean[r] += (double)x[j] * at[r];
		}
		for (int64_t j = 0; j < 90 * 90 * 90; j++) whole += (double)v.v[j];
		NEAR(8 * sum, whole, .01 * whole);
		for (int r = 0; r < 3; r++) NEAR(mean[r] / sum, ((double[]){ 7, -4, 11 })[r], .1);
		iso_volume_free(&v);
		free(x);
	}
	iso_ctx_free(ctx);
}

/* The grid's voxels whose centres lie beyond the volume's outer faces are counted, and 0. */
static void beyond(void **state)
{
	const struct iso_grid g = { { 10, 3, 1 }, { 1, 1, 1 }, { 0, 0, 0 } };
	struct iso_volume v = { .dim = { 4, 2, 1 },
		                .affine = { { 1, 0, 0, 1 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 } } };
	iso_real x[30], one[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	iso_ctx *ctx = cpu(1);
	int64_t outside = 0;

	(void)state;
	v.v = one; /* x from .5 to 4.5, y from -.5 to 1.5 */
	OK(iso_volume_resample(x, &outside, ctx, &g, &v, 0));
	for (int i = 0; i < 30; i++) {
		double at = i % 10 - 4.5;

		NEAR((double)x[i], at >= .5 && at <= 4.5 && i >= 10, 0);
	}
	assert_int_equal(outside, 30 - 10);
	iso_ctx_free(ctx);
}

static void grids(void **state)
{
	struct iso_volume v = { .dim = { 10, 20, 5 },
		                .affine = { { 0, -2, 0, 50 }, { 3, 0, 0, -7 }, { 0, 0, 4, 1 } } };
	struct iso_grid g;

	(void)state;
	OK(iso_volume_grid(&g, &v));
	assert_memory_equal(g.n, ((int64_t[]){ 20, 10, 5 }), sizeof g.n);
	for (int r = 0; r < 3; r++) {
		NEAR(g.voxel[r], ((double[]){ 2, 3, 4 })[r], 1e-12);
		NEAR(g.centre[r], ((double[]){ 50 - 19, -7 + 13.5, 9 })[r], 1e-12);
	}
	/* an eighth of a turn: the corners reach sqrt(2) as far */
	v = turned((int64_t[]){ 10, 10, 5 }, (double[]){ 2, 2, 3 }, (double[]){ 0, 0, .78539816339744831 },
	           (double[]){ 1, 2, 3 });
	OK(iso_volume_grid(&g, &v));
	assert_memory_equal(g.n, ((int64_t[]){ 15, 15, 5 }), sizeof g.n);
	NEAR(g.voxel[0], 2, 1e-12);
	NEAR(g.centre[1], 2, 1e-12);
}

static void refused(void **state)
{
	struct iso_volume v = { .dim = { 2, 2, 2 },
		                .affine = { { 1, 0, 0, 0 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 } } };
	const struct iso_grid g = { { 2, 2, 2 }, { 1, 1, 1 }, { 0 } };
	iso_real x[8], values[8] = { 0 };
	iso_ctx *ctx = cpu(1);
	struct iso_grid h;

	(void)state;
	REFUSED(iso_volume_resample(x, NULL, ctx, &g, &v, 0), ISO_EARG, "has no values");
	v.v = values;
	REFUSED(iso_volume_resample(x, NULL, ctx, &g, &v, -1), ISO_EARG, "smoothing by -1 mm");
	REFUSED(iso_volume_resample(x, NULL, ctx, &g, &v, NAN), ISO_EARG, "smoothing by nan mm");
	v.affine[2][2] = 0;
	v.affine[0][2] = 1;
	REFUSED(iso_volume_resample(x, NULL, ctx, &g, &v, 0), ISO_EARG, "lie in a plane");
	REFUSED(iso_volume_grid(&h, &v), ISO_EARG, "lie in a plane");
	v.affine[0][3] = INFINITY;
	REFUSED(iso_volume_grid(&h, &v), ISO_EARG, "not finite");
	v.dim[1] = 0;
	REFUSED(iso_volume_grid(&h, &v), ISO_EARG, "axis 1 has size 0");
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear), cmocka_unit_test(smoothed), cmocka_unit_test(no_mirror),
		cmocka_unit_test(beyond), cmocka_unit_test(grids),    cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
