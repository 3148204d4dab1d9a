/* SPDX-License-Identifier: BSD-3-Clause */
/* The operator of kernel EM: its matrix against plain loops, its adjoint, and 10 iterations against reference vectors
   (tests/data/priors); also built in double. */
#include "map_problem.h"

/* ---- the matrix ---- */

/* Row n of K from the definition: the voxels of the window by distance, ties in order, n first. */
static void plain_row(double *row, const struct iso_kernel *p, int64_t n)
{
	const int64_t *size = p->grid.n, voxels = iso_grid_voxels(&p->grid);
	double var[4], sum = 0, d2[1000];
	int64_t at[1000], m = 0;

	for (int f = 0; f < p->n_features; f++) {
		double mean = 0;

		var[f] = 0;
		for (int64_t i = 0; i < voxels; i++)
			mean += (double)p->feature[f * voxels + i] / (double)voxels;
		for (int64_t i = 0; i < voxels; i++)
			var[f] += pow((double)p->feature[f * voxels + i] - mean, 2) / (double)voxels;
	}
	for (int64_t i = 0; i < voxels; i++) {
		bool inside = true;

		row[i] = 0;
		for (int64_t a = 0, step = 1; a < 3; step *= size[a++])
			inside &= llabs(i / step % size[a] - n / step % size[a]) <= p->radius;
		if (!inside) continue;
		at[m] = i;
		d2[m] = i == n ? -1 : 0;
		for (int f = 0; f < p->n_features && i != n; f++)
			if (var[f] > 0)
				d2[m] += pow((double)p->feature[f * voxels + n] - p->feature[f * voxels + i],
				             2) /
				         var[f];
		m++;
	}
	for (int64_t i = 0; i < m; i++) {
		int64_t before = 0;

		for (int64_t j = 0; j < m; j++) before += d2[j] < d2[i] || (d2[j] <= d2[i] && j < i);
		if (before >= p->neighbours) continue;
		row[at[i]] = exp(-fmax(d2[i], 0) / (2 * p->sigma * p->sigma));
		sum += row[at[i]];
	}
	for (int64_t i = 0; i < voxels; i++) row[i] /= sum;
}

/* Small whole numbers, so that there are ties; the second feature is one value, and is left out. */
static iso_real *features(int64_t n)
{
	iso_real *f = calloc((size_t)(3 * n), sizeof *f);
	uint32_t s = 7;

	assert_non_null(f);
	for (int64_t i = 0; i < 3 * n; i++) {
		s = s * 1664525u + 1013904223u;
		f[i] = i / n == 1 ? 3 : (iso_real)(s >> 29);
	}
	return f;
}

static void check_matrix_of(iso_ctx *ctx, const struct iso_kernel *p)
{
	const int64_t n = iso_grid_voxels(&p->grid);
	iso_real *unit = calloc((size_t)n, sizeof *unit);
	double *row = calloc((size_t)n, sizeof *row), err = 1;
	iso_op *op = NULL;

	OK(iso_kernel_create(&op, ctx, p));
	assert_int_equal(iso_op_n_in(op), n);
	assert_int_equal(iso_op_n_out(op), n);
	for (int64_t i = 0; i < n; i += 5) { /* K* of a unit image is a row of K */
		unit[i] = 1;
		iso_real *y = to_device(ctx, n, unit), *x = to_device(ctx, n, NULL);

		OK(iso_adjoint(x, op, ISO_ALL, y));
		iso_real *got = to_host(ctx, n, x);

		plain_row(row, p, i);
		for (int64_t j = 0; j < n; j++) NEAR(got[j], row[j], TOLERANCE(1e-7, 1e-14));
		free(got);
		device_free(ctx, y);
		device_free(ctx, x);
		unit[i] = 0;
	}
	OK(iso_test_adjoint(&err, op, ISO_ALL, 3));
	BELOW(err, TOLERANCE(1e-6, 1e-14));
	iso_op_free(op);
	free(unit);
	free(row);
}

/* A feature of two values: many voxels are as alike as a voxel itself, which is in its row all the same; of the others the
   first in the order z, y, x are. */
static void check_alike(iso_ctx *ctx)
{
	static const struct iso_grid g = { { 7, 5, 4 }, { 1, 1, 1 }, { 0 } };
	const int64_t n = iso_grid_voxels(&g);
	iso_real *f = calloc((size_t)n, sizeof *f);
	struct iso_kernel p = { .size = sizeof p,
		                .grid = g,
		                .n_features = 1,
		                .feature = f,
		                .neighbours = 4,
		                .radius = 2,
		                .sigma = 1 };

	assert_non_null(f);
	for (int64_t i = 0; i < n; i++) f[i] = i % 7 > 2;
	check_matrix_of(ctx, &p);
	free(f);
}

static void check_matrix(iso_ctx *ctx)
{
	static const struct iso_grid grids[] = { { { 9, 7, 5 }, { 1, 1, 1 }, { 0 } },
		                                 { { 14, 11, 1 }, { 1, 1, 1 }, { 0 } },
		                                 { { 2, 3, 37 }, { 1, 1, 1 }, { 0 } } };

	check_alike(ctx);
	for (int i = 0; i < 2 * N_OF(grids); i++) {
		const struct iso_grid *g = &grids[i / 2];
		iso_real *f = features(iso_grid_voxels(g));
		struct iso_kernel p = { .size = sizeof p,
			                .grid = *g,
			                .n_features = 3,
			                .feature = f,
			                .neighbours = i % 2 ? 40 : 6,
			                .radius = i % 2 ? 3 : 1,
			                .sigma = i % 2 ? 2 : 1 };

		check_matrix_of(ctx, &p);
		free(f);
	}
}

static void matrix(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_matrix(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_matrix, check_matrix)

/* k = 1: each voxel itself. Defaults: 48 of a window of radius 3, sigma 1. */
static void ends(void **state)
{
	static const struct iso_grid g = { { 9, 8, 7 }, { 1, 1, 1 }, { 0 } };
	iso_ctx *ctx = cpu(2);
	int64_t n = iso_grid_voxels(&g);
	iso_real *f = features(n), *y[2], *x = features(n);
	struct iso_kernel one = {
		.size = sizeof one, .grid = g, .n_features = 1, .feature = f, .neighbours = 1
	};
	struct iso_kernel said = { .size = sizeof said,
		                   .grid = g,
		                   .n_features = 1,
		                   .feature = f,
		                   .neighbours = 48,
		                   .radius = 3,
		                   .sigma = 1 };
	struct iso_kernel usual = { .size = sizeof usual, .grid = g, .n_features = 1, .feature = f };
	iso_op *op = NULL;

	(void)state;
	for (int k = 0; k < 2; k++) y[k] = calloc((size_t)n, sizeof *y[k]);
	OK(iso_kernel_create(&op, ctx, &one));
	OK(iso_forward(y[0], op, ISO_ALL, x));
	assert_memory_equal(y[0], x, (size_t)n * sizeof *x);
	iso_op_free(op);
	for (int k = 0; k < 2; k++) {
		OK(iso_kernel_create(&op, ctx, k ? &said : &usual));
		OK(iso_forward(y[k], op, ISO_ALL, x));
		iso_op_free(op);
	}
	assert_memory_equal(y[0], y[1], (size_t)n * sizeof *x);
	for (int k = 0; k < 2; k++) free(y[k]);
	free(f);
	free(x);
	iso_ctx_free(ctx);
}

/* ---- EM ---- */

/* K* S, on the host. */
static iso_real *sensitivity(iso_ctx *ctx, iso_op *kernel, const struct map_problem *p)
{
	iso_real *s = to_device(ctx, p->n, p->sens), *ks = to_device(ctx, p->n, NULL), *host;

	OK(iso_adjoint(ks, kernel, ISO_ALL, s));
	host = to_host(ctx, p->n, ks);
	device_free(ctx, s);
	device_free(ctx, ks);
	return host;
}

/* Features of a problem: that of the vectors; of list mode the map of attenuation, too. */
static iso_real *features_of(const struct map_problem *p, int *n)
{
	iso_real *f = priors_image(strcmp(p->name, "p1") ? "p2_feature" : "p1_feature", p->n);

	*n = strcmp(p->name, "p1") ? 2 : 1;
	if (*n == 1) return f;
	float *mu = read_all(TEST_DATA "/listmode/mu.f32", 0, p->n, sizeof *mu);
	iso_real *both = calloc((size_t)(2 * p->n), sizeof *both);

	assert_non_null(both);
	for (int64_t i = 0; i < p->n; i++) {
		both[i] = f[i];
		both[p->n + i] = mu[i];
	}
	free(mu);
	free(f);
	return both;
}

static void check_em_of(iso_ctx *ctx, const char *name)
{
	struct map_problem p = problem_begin(ctx, name, 1);
	const json_t *kem = json_object_get(p.of, "kem");
	struct iso_kernel k = { .size = sizeof k,
		                .grid = p.grid,
		                .neighbours = (int)priors_number(kem, "neighbours"),
		                .radius = (int)priors_number(kem, "radius"),
		                .sigma = priors_number(kem, "sigma") };
	iso_real *f = features_of(&p, &k.n_features), *alpha = calloc((size_t)p.n, sizeof *alpha);
	iso_op *kernel = NULL, *chain = NULL;
	char file[64];

	k.feature = f;
	OK(iso_kernel_create(&kernel, ctx, &k));
	OK(iso_chain_create(&chain, p.op, kernel));
	iso_real *sens = sensitivity(ctx, kernel, &p);
	struct iso_em em = { .size = sizeof em,
		             .op = chain,
		             .data = { p.y, p.add, p.mult },
		             .sens = { 1, 1, sens },
		             .iterations = (int)priors_number(kem, "iterations"),
		             .grid = p.grid };

	for (int64_t i = 0; i < p.n; i++) alpha[i] = 1;
	OK(iso_em_run(alpha, NULL, &em, NULL));
	snprintf(file, sizeof file, "%s_kem10_alpha", name);
	double *want = priors_array(file, p.n);

	NEAR(priors_worst(p.n, alpha, want), 0, TOLERANCE(2e-4, 1e-9));
	free(want);
	iso_real *da = to_device(ctx, p.n, alpha), *dx = to_device(ctx, p.n, NULL);

	OK(iso_forward(dx, kernel, ISO_ALL, da));
	iso_real *x = to_host(ctx, p.n, dx);

	snprintf(file, sizeof file, "%s_kem10", name);
	want = priors_array(file, p.n);
	NEAR(priors_worst(p.n, x, want), 0, TOLERANCE(2e-4, 1e-9));
	device_free(ctx, da);
	device_free(ctx, dx);
	iso_op_free(kernel);
	iso_op_free(chain);
	free(want);
	free(x);
	free(sens);
	free(alpha);
	free(f);
	problem_end(&p);
}

/* The matrix of p1 is on the host. */
static void check_em(iso_ctx *ctx)
{
	if (!iso_ctx_is_cuda(ctx)) check_em_of(ctx, "p1");
	check_em_of(ctx, "p2");
	check_em_of(ctx, "p3");
}

static void em(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_em(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_em, check_em)

/* Without an additive term the sum of (K* S) alpha is the counts used, after every update. */
static void counts(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct map_problem p = problem_begin(ctx, "p2", 1);
	struct iso_kernel k = { .size = sizeof k, .grid = p.grid, .neighbours = 9, .radius = 2 };
	iso_real *f = features_of(&p, &k.n_features), *alpha = calloc((size_t)p.n, sizeof *alpha);
	struct iso_em_result r = { .size = sizeof r };
	iso_op *kernel = NULL, *chain = NULL;
	double sum = 0;

	(void)state;
	k.feature = f;
	OK(iso_kernel_create(&kernel, ctx, &k));
	OK(iso_chain_create(&chain, p.op, kernel));
	iso_real *sens = sensitivity(ctx, kernel, &p);
	struct iso_em em_run = { .size = sizeof em_run,
		                 .op = chain,
		                 .data = { .mult = p.mult },
		                 .sens = { 1, 1, sens },
		                 .iterations = 3,
		                 .grid = p.grid };

	for (int64_t i = 0; i < p.n; i++) alpha[i] = 1;
	OK(iso_em_run(alpha, &r, &em_run, NULL));
	for (int64_t i = 0; i < p.n; i++) sum += (double)sens[i] * alpha[i];
	NEAR(sum, (double)r.used, TOLERANCE(1e-5, 1e-10) * (double)r.used);
	iso_em_result_free(&r);
	iso_op_free(kernel);
	iso_op_free(chain);
	free(sens);
	free(alpha);
	free(f);
	problem_end(&p);
	iso_ctx_free(ctx);
}

static void refusals(void **state)
{
	static const struct iso_grid g = { { 4, 3, 1 }, { 1, 1, 1 }, { 0 } };
	iso_ctx *ctx = cpu(1);
	iso_real f[12] = { 1, 2, 3 }, flat[12] = { 0 };
	iso_op *op = NULL;
	struct iso_kernel k;

	(void)state;
#define WITH(change, code, text)                                                                         \
	k = (struct iso_kernel){                                                                         \
		.size = sizeof k, .grid = g, .n_features = 1, .feature = f, .neighbours = 3, .radius = 1 \
	};                                                                                               \
	change;                                                                                          \
	REFUSED(iso_kernel_create(&op, ctx, &k), code, text);                                            \
	assert_null(op)
	WITH(k.neighbours = 10, ISO_EARG, "kernel: k is 10 voxels, must be 1 to 9, those of the window");
	WITH(k.neighbours = -1, ISO_EARG, "k is -1");
	WITH(k.radius = 21, ISO_EARG, "radius is 21 voxels, must be 1 to 20");
	WITH(k.radius = -1, ISO_EARG, "radius is -1");
	WITH(k.sigma = -1, ISO_EARG, "sigma is -1, must be above 0");
	WITH(k.sigma = NAN, ISO_EARG, "sigma is nan");
	WITH(k.n_features = 0, ISO_EARG, "0 features, must be at least 1");
	WITH(k.feature = NULL, ISO_EARG, "0 features");
	WITH(k.feature = flat, ISO_EINPUT, "none varies");
	WITH(k.size = 1, ISO_EARG, "size is 1");
	WITH(k.grid.voxel[0] = 0, ISO_EARG, "voxel size x is 0");
	f[4] = INFINITY;
	WITH((void)0, ISO_EINPUT, "voxel 4 of feature 0 is inf, must be finite");
#undef WITH
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matrix),   cmocka_unit_test(cuda_matrix), cmocka_unit_test(ends),
		cmocka_unit_test(em),       cmocka_unit_test(cuda_em),     cmocka_unit_test(counts),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
