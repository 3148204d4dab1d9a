/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalties: values, gradients, Hessians and curvatures against reference vectors (tests/data/priors), plain loops and
   central differences; also built in double, for the float64 tolerance. */
#include "priors.h"
#include "algo/prior.h"

/* ---- reference vectors ---- */

/* A penalty of the vectors: its kind and parameters by its name, "rdp_kappa". */
static struct iso_prior_spec spec_of(const char *name, const json_t *of, const struct iso_grid *g,
                                     const iso_real *kappa, const iso_real *anatomy)
{
	struct iso_prior_spec s = {
		.size = sizeof s,
		.grid = *g,
		.bowsher = (int)priors_number(of, "bowsher_neighbours"),
	};
	char word[32];

	snprintf(word, sizeof word, "%s", name);
	word[strcspn(word, "_")] = 0;
	OK(iso_prior_kind_of(&s.kind, word));
	assert_string_equal(iso_prior_about(s.kind)->name, word);
	for (int i = 0; iso_prior_parameter(s.kind, i); i++) {
		const char *parameter = iso_prior_parameter(s.kind, i)->name;
		char key[64];

		snprintf(key, sizeof key, "%s_%s", word, parameter);
		s.parameter[i] = strcmp(parameter, "gamma") ? priors_number(of, key)
		                 : strstr(name, "gamma0")   ? 0
		                                            : 2;
	}
	if (strstr(name, "kappa") || !strcmp(name, "rdp_bowsher")) s.kappa = kappa;
	if (strstr(name, "bowsher")) s.anatomy = anatomy;
	return s;
}

/* Measured in float on the CPU: values 6e-8, the others 3e-7 of the maximum. */
static void check_image(iso_ctx *ctx, const json_t *meta, const char *image)
{
	const json_t *of = json_object_get(meta, image), *order = json_object_get(of, "order");
	struct iso_grid g = priors_grid(meta, image);
	int64_t n = iso_grid_voxels(&g), kinds = (int64_t)json_array_size(order);
	char name[64];

	snprintf(name, sizeof name, "%s_kappa", image);
	iso_real *x = priors_image(image, n), *kappa = priors_image(name, n);

	snprintf(name, sizeof name, "%s_anat", image);
	iso_real *anatomy = priors_image(name, n);

	snprintf(name, sizeof name, "%s_derivatives", image);
	double *ref = priors_array(name, kinds * 3 * n), tolerance = TOLERANCE(5e-6, 1e-12);

	assert_int_equal(kinds, 11);
	for (int64_t k = 0; k < kinds; k++) {
		const char *penalty = json_string_value(json_array_get(order, (size_t)k));
		struct iso_prior_spec s = spec_of(penalty, of, &g, kappa, anatomy);
		struct prior_results e = prior_evaluated(ctx, &s, x);
		double value = priors_number(json_object_get(of, "value"), penalty), *at = ref + 3 * k * n;

		NEAR(e.value, value, TOLERANCE(1e-6, 1e-12) * value);
		NEAR(priors_worst(n, e.gradient, at), 0, tolerance);
		NEAR(priors_worst(n, e.hessian, at + n), 0, tolerance);
		NEAR(priors_worst(n, e.curvature, at + 2 * n), 0, tolerance);
		prior_results_free(&e);
	}
	free(x);
	free(kappa);
	free(anatomy);
	free(ref);
}

static void check_vectors(iso_ctx *ctx)
{
	json_t *meta = priors_meta();

	check_image(ctx, meta, "img1");
	check_image(ctx, meta, "img2");
	check_image(ctx, meta, "img3");
	json_decref(meta);
}

static void vectors(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_vectors(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_vectors, check_vectors)

/* ---- plain loops: voxel by voxel, from the formulas, in double ---- */

/* f, df/dx, its second derivative and the curvature at x beside y. */
static void plain_pair(double t[4], const struct iso_prior_spec *s, double x, double y)
{
	const double *q = s->parameter;
	double d = x - y, a = fabs(d);

	switch (s->kind) {
	case ISO_PRIOR_RDP: {
		double D = x + y + q[0] * a + q[1], below = D > 0 ? D : INFINITY;

		t[0] = d * d / below;
		t[1] = d * (x + 3 * y + q[0] * a + 2 * q[1]) / (below * below);
		t[2] = t[3] = 2 * pow(2 * y + q[1], 2) / pow(below, 3);
		return;
	}
	case ISO_PRIOR_LOGCOSH:
		t[0] = log(cosh(q[0] * d)) / (q[0] * q[0]);
		t[1] = tanh(q[0] * d) / q[0];
		t[2] = 1 / pow(cosh(q[0] * d), 2);
		t[3] = a > 0 ? t[1] / d : 1;
		return;
	case ISO_PRIOR_GGD: {
		double u = d * d / (q[1] * q[1]);

		t[0] = q[1] * q[1] * expm1(q[0] / 2 * log1p(u)) / q[0];
		t[3] = pow(1 + u, q[0] / 2 - 1);
		t[1] = t[3] * d;
		t[2] = t[3] * (1 + (q[0] - 1) * u) / (1 + u);
		return;
	}
	case ISO_PRIOR_HUBER:
		t[0] = a <= q[0] ? d * d / 2 : q[0] * a - q[0] * q[0] / 2;
		t[1] = a <= q[0] ? d : copysign(q[0], d);
		t[2] = a <= q[0];
		t[3] = a <= q[0] ? 1 : q[0] / a;
		return;
	default:
		t[0] = d * d / 2;
		t[1] = d;
		t[2] = t[3] = 1;
	}
}

/* Index of the voxel at `at` + d, -1 outside. */
static int64_t plain_index(const struct iso_grid *g, const int64_t at[3], const int d[3])
{
	int64_t i[3];

	for (int a = 0; a < 3; a++) {
		i[a] = at[a] + d[a];
		if (i[a] < 0 || i[a] >= g->n[a]) return -1;
	}
	return (i[2] * g->n[1] + i[1]) * g->n[0] + i[0];
}

/* Whether the voxel at `at` counts its neighbour at d, by the anatomical image: fewer than `bowsher` others come first. */
static bool plain_choice(const struct iso_prior_spec *s, const int64_t at[3], const int d[3])
{
	static const int none[3];
	const iso_real *z = s->anatomy;
	int64_t n = plain_index(&s->grid, at, none), m = plain_index(&s->grid, at, d);
	int before = 0;
	bool passed = false;

	for (int k = 0; k < 27; k++) {
		int e[3] = { k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1 };
		int64_t o = plain_index(&s->grid, at, e);

		if (o == m) passed = true;
		if (o < 0 || o == n || o == m) continue;
		double here = fabs((double)z[n] - (double)z[m]), there = fabs((double)z[n] - (double)z[o]);

		before += there < here || (there <= here && !passed);
	}
	return before < s->bowsher;
}

/* How df/dx of a pair changes along (vx, vy): central differences. */
static double plain_change(const struct iso_prior_spec *s, double x, double y, double vx, double vy)
{
	const double h = 1e-9;
	double up[4], down[4];

	plain_pair(up, s, x + h * vx, y + h * vy);
	plain_pair(down, s, x - h * vx, y - h * vy);
	return (up[1] - down[1]) / (2 * h);
}

/* out: gradient, second derivatives, curvature; and how the gradient changes along v, if that is not NULL. */
static void plain_pairs(double *value, double *out[4], const struct iso_prior_spec *s, const iso_real *x,
                        const iso_real *v)
{
	const struct iso_grid *g = &s->grid;

	for (int64_t n = 0; n < iso_grid_voxels(g); n++) {
		const int64_t at[3] = { n % g->n[0], n / g->n[0] % g->n[1], n / g->n[0] / g->n[1] };

		for (int k = 0; k < 27; k++) {
			const int d[3] = { k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1 },
				  back[3] = { -d[0], -d[1], -d[2] };
			const int64_t m = plain_index(g, at, d),
				      to[3] = { at[0] + d[0], at[1] + d[1], at[2] + d[2] };
			double far = 0, t[4];

			if (m < 0 || m == n) continue;
			for (int a = 0; a < 3; a++) far += pow(d[a] * g->voxel[a], 2);
			double w = g->voxel[0] / sqrt(far);

			if (s->kappa) w *= (double)s->kappa[n] * s->kappa[m];
			if (s->anatomy) w *= .5 * (plain_choice(s, at, d) + plain_choice(s, to, back));
			plain_pair(t, s, x[n], x[m]);
			*value += .5 * w * t[0];
			out[0][n] += w * t[1];
			out[1][n] += w * t[2];
			out[2][n] += w * t[3];
			if (v) out[3][n] += w * plain_change(s, x[n], x[m], v[n], v[m]);
		}
	}
}

static void plain_tv(double *value, double *out[3], const struct iso_prior_spec *s, const iso_real *x)
{
	const struct iso_grid *g = &s->grid;

	for (int64_t n = 0; n < iso_grid_voxels(g); n++) {
		const int64_t at[3] = { n % g->n[0], n / g->n[0] % g->n[1], n / g->n[0] / g->n[1] };
		double D[3], w[3], q = s->parameter[0] * s->parameter[0], t1 = 0, t2 = 0,
				   k2 = s->kappa ? (double)s->kappa[n] * s->kappa[n] : 1;
		int64_t m[3];

		for (int a = 0; a < 3; a++) {
			const int d[3] = { a == 0, a == 1, a == 2 };

			m[a] = plain_index(g, at, d);
			if (m[a] >= 0 && s->kappa && !(s->kappa[m[a]] > 0)) m[a] = -1;
			w[a] = m[a] < 0 ? 0 : g->voxel[0] / g->voxel[a];
			D[a] = m[a] < 0 ? 0 : w[a] * ((double)x[m[a]] - x[n]);
			q += D[a] * D[a];
			t1 += w[a] * D[a];
			t2 += w[a] * w[a];
		}
		q = sqrt(q);
		*value += k2 * (q - s->parameter[0]);
		out[0][n] -= k2 * t1 / q;
		out[1][n] += k2 * (t2 / q - t1 * t1 / (q * q * q));
		out[2][n] += k2 * t2 / q;
		for (int a = 0; a < 3; a++) {
			if (m[a] < 0) continue;
			out[0][m[a]] += k2 * w[a] * D[a] / q;
			out[1][m[a]] += k2 * (w[a] * w[a] / q - pow(w[a] * D[a], 2) / (q * q * q));
			out[2][m[a]] += k2 * w[a] * w[a] / q;
		}
	}
}

/* The Hessian times v. */
static void check_product(iso_ctx *ctx, const struct iso_prior_spec *s, const iso_real *x, const iso_real *v,
                          const double *want)
{
	const int64_t n = iso_grid_voxels(&s->grid);
	iso_real *dx = to_device(ctx, n, x), *dv = to_device(ctx, n, v), *to = to_device(ctx, n, x), *got;
	iso_prior *r = NULL;

	OK(iso_prior_create(&r, ctx, s));
	if (prior_has_pairs(s->kind)) {
		OK(iso_prior_product(to, r, dx, dv));
		got = to_host(ctx, n, to);
		if (n > 1)
			BELOW(priors_worst(n, got, want), TOLERANCE(5e-6, 1e-6));
		else
			assert_true(got[0] == 0);
		free(got);
	} else {
		REFUSED(iso_prior_product(to, r, dx, dv), ISO_EARG, "'tv' has no Hessian");
	}
	iso_prior_free(r);
	device_free(ctx, dx);
	device_free(ctx, dv);
	device_free(ctx, to);
}

/* Grids of several tiles and blocks, of one row, one column, one voxel; with kappa, with weights. */
static void check_plain(iso_ctx *ctx)
{
	static const struct iso_grid grids[] = {
		{ { 37, 35, 18 }, { 2, 2.5, 3 }, { 0 } }, { { 70, 3, 34 }, { 1, 1, 1 }, { 0 } },
		{ { 1, 40, 3 }, { 1, 2, 1 }, { 0 } },     { { 67, 1, 1 }, { 1, 1, 1 }, { 0 } },
		{ { 2, 2, 33 }, { 3, 1, 2 }, { 0 } },     { { 1, 1, 1 }, { 1, 1, 1 }, { 0 } }
	};

	for (int i = 0; i < N_OF(grids); i++) {
		const struct iso_grid *g = &grids[i];
		int64_t n = iso_grid_voxels(g);
		iso_real *x = prior_noise(n, 1, 9), *kappa = prior_noise(n, 2, 7),
			 *anatomy = prior_noise(n, 3, 3), *along = n < 8000 ? prior_noise(n, 9, 8) : NULL;
		double *out[4];

		for (int64_t v = 0; v < n; v++) {
			anatomy[v] = (iso_real)floor(5 * (double)anatomy[v]);
			if (along) along[v] -= (iso_real).4;
		}
		for (int k = 0; k < 4; k++) out[k] = calloc((size_t)n, sizeof *out[k]);
		for (int k = 0; k < 4 * prior_kinds(); k++) {
			struct iso_prior_spec s = prior_usual((enum iso_prior_kind)(k / 4), g);
			double value = 0;

			if (k % 2) s.kappa = kappa;
			if (k % 4 > 1 && (s.kind == ISO_PRIOR_RDP || (n < 2000 && prior_has_pairs(s.kind))))
				s.anatomy = anatomy;
			else if (k % 4 > 1)
				continue;
			for (int o = 0; o < 4; o++) memset(out[o], 0, (size_t)n * sizeof *out[o]);
			if (prior_has_pairs(s.kind))
				plain_pairs(&value, out, &s, x, along);
			else
				plain_tv(&value, out, &s, x);
			struct prior_results e = prior_evaluated(ctx, &s, x);

			NEAR(e.value, value, TOLERANCE(1e-6, 1e-12) * value);
			if (n > 1) {
				NEAR(priors_worst(n, e.gradient, out[0]), 0, TOLERANCE(5e-6, 1e-12));
				NEAR(priors_worst(n, e.hessian, out[1]), 0, TOLERANCE(5e-6, 1e-12));
				NEAR(priors_worst(n, e.curvature, out[2]), 0, TOLERANCE(5e-6, 1e-12));
			} else {
				assert_true(e.gradient[0] == 0 && e.hessian[0] == 0 && e.curvature[0] == 0);
			}
			prior_results_free(&e);
			if (along) check_product(ctx, &s, x, along, out[3]);
		}
		for (int k = 0; k < 4; k++) free(out[k]);
		free(along);
		free(x);
		free(kappa);
		free(anatomy);
	}
}

static void plain(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_plain(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_plain, check_plain)

/* ---- what holds of all ---- */

/* The gradient is the value's: central differences. In float the value has too few digits. */
static void differences(void **state)
{
	static const struct iso_grid g = { { 5, 4, 3 }, { 2, 2.5, 3 }, { 0 } };
	iso_ctx *ctx = cpu(1);
	int64_t n = iso_grid_voxels(&g);
	iso_real *x = prior_noise(n, 4, 1000), *kappa = prior_noise(n, 5, 6), *anatomy = prior_noise(n, 6, 3);
	const double step = TOLERANCE(1e-2, 1e-6), tolerance = TOLERANCE(5e-3, 1e-6);

	(void)state;
	for (int64_t v = 0; v < n; v++) x[v] += (iso_real).1;
	for (int k = 0; k < prior_kinds(); k++) {
		struct iso_prior_spec s = prior_usual((enum iso_prior_kind)k, &g);

		s.kappa = kappa;
		s.anatomy = prior_has_pairs(s.kind) ? anatomy : NULL;
		struct prior_results e = prior_evaluated(ctx, &s, x);
		double top = 0;

		for (int64_t v = 0; v < n; v++) top = larger(top, fabs((double)e.gradient[v]));
		for (int64_t v = 0; v < n; v++) {
			const iso_real was = x[v];
			double value[2];

			for (int side = 0; side < 2; side++) {
				x[v] = was + (iso_real)(side ? step : -step);
				struct prior_results at = prior_evaluated(ctx, &s, x);

				value[side] = at.value;
				prior_results_free(&at);
			}
			x[v] = was;
			NEAR((value[1] - value[0]) / (2 * step), e.gradient[v], tolerance * top);
		}
		prior_results_free(&e);
	}
	free(x);
	free(kappa);
	free(anatomy);
	iso_ctx_free(ctx);
}

/* A uniform image costs nothing; where the image is 0 and epsilon too, all is 0 and none is NaN. */
static void check_uniform(iso_ctx *ctx)
{
	static const struct iso_grid g = { { 40, 34, 17 }, { 2, 2.5, 3 }, { 0 } };
	int64_t n = iso_grid_voxels(&g);
	iso_real *x = calloc((size_t)n, sizeof *x);

	for (int k = 0; k < 2 * prior_kinds(); k++) {
		struct iso_prior_spec s = prior_usual((enum iso_prior_kind)(k % prior_kinds()), &g);

		for (int64_t v = 0; v < n; v++) x[v] = k < prior_kinds() ? (iso_real).7 : 0;
		if (k >= prior_kinds() && s.kind == ISO_PRIOR_RDP) s.parameter[1] = 0;
		struct prior_results e = prior_evaluated(ctx, &s, x);

		assert_true(e.value == 0);
		for (int64_t v = 0; v < n; v++) {
			assert_true(e.gradient[v] == 0);
			assert_true(isfinite(e.hessian[v]) && e.curvature[v] >= 0);
			if (k >= prior_kinds() && s.kind == ISO_PRIOR_RDP)
				assert_true(e.hessian[v] == 0 && e.curvature[v] == 0);
		}
		prior_results_free(&e);
	}
	free(x);
}

static void uniform(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_uniform(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_uniform, check_uniform)

/* y and z of an image exchanged. */
static iso_real *turned(const struct iso_grid *g, const iso_real *x)
{
	iso_real *t = calloc((size_t)iso_grid_voxels(g), sizeof *t);

	for (int64_t iz = 0; iz < g->n[2]; iz++)
		for (int64_t iy = 0; iy < g->n[1]; iy++)
			memcpy(t + (iy * g->n[2] + iz) * g->n[0], x + (iz * g->n[1] + iy) * g->n[0],
			       (size_t)g->n[0] * sizeof *x);
	return t;
}

static void permuted(void **state)
{
	static const struct iso_grid g = { { 9, 6, 21 }, { 2, 2.5, 3 }, { 0 } };
	const struct iso_grid other = { { 9, 21, 6 }, { 2, 3, 2.5 }, { 0 } };
	iso_ctx *ctx = cpu(2);
	int64_t n = iso_grid_voxels(&g);
	iso_real *x = prior_noise(n, 7, 9), *t = turned(&g, x);

	(void)state;
	for (int k = 0; k < prior_kinds(); k++) {
		struct iso_prior_spec s = prior_usual((enum iso_prior_kind)k, &g),
				      s2 = prior_usual((enum iso_prior_kind)k, &other);
		struct prior_results a = prior_evaluated(ctx, &s, x), b = prior_evaluated(ctx, &s2, t);
		iso_real *g2 = turned(&g, a.gradient), *c2 = turned(&g, a.curvature),
			 *h2 = turned(&g, a.hessian);

		NEAR(a.value, b.value, TOLERANCE(1e-6, 1e-13) * a.value);
		NEAR(relative_difference(n, b.gradient, g2), 0, TOLERANCE(1e-6, 1e-14));
		NEAR(relative_difference(n, b.curvature, c2), 0, TOLERANCE(1e-6, 1e-14));
		NEAR(relative_difference(n, b.hessian, h2), 0, TOLERANCE(1e-6, 1e-14));
		free(g2);
		free(c2);
		free(h2);
		prior_results_free(&a);
		prior_results_free(&b);
	}
	free(x);
	free(t);
	iso_ctx_free(ctx);
}

/* logcosh as s -> 0, huber as delta -> infinity, and ggd with p = 2 are the quadratic. */
static void limits(void **state)
{
	static const struct iso_grid g = { { 11, 6, 5 }, { 2, 2.5, 3 }, { 0 } };
	iso_ctx *ctx = cpu(1);
	int64_t n = iso_grid_voxels(&g);
	iso_real *x = prior_noise(n, 8, 9);
	struct iso_prior_spec s[4] = { prior_usual(ISO_PRIOR_QUADRATIC, &g),
		                       prior_usual(ISO_PRIOR_LOGCOSH, &g), prior_usual(ISO_PRIOR_HUBER, &g),
		                       prior_usual(ISO_PRIOR_GGD, &g) };
	struct prior_results e[4];

	(void)state;
	s[1].parameter[0] = 1e-4;
	s[2].parameter[0] = 1e6;
	s[3].parameter[0] = 2;
	for (int k = 0; k < 4; k++) e[k] = prior_evaluated(ctx, &s[k], x);
	for (int k = 1; k < 4; k++) {
		NEAR(e[k].value, e[0].value, 1e-6 * e[0].value);
		NEAR(relative_difference(n, e[k].gradient, e[0].gradient), 0, 1e-6);
		NEAR(relative_difference(n, e[k].hessian, e[0].hessian), 0, 1e-6);
		NEAR(relative_difference(n, e[k].curvature, e[0].curvature), 0, 1e-6);
	}
	for (int k = 0; k < 4; k++) prior_results_free(&e[k]);
	free(x);
	iso_ctx_free(ctx);
}

/* ---- refusals ---- */

static void refusals(void **state)
{
	static const struct iso_grid g = { { 3, 2, 1 }, { 1, 1, 1 }, { 0 } };
	iso_ctx *ctx = cpu(1);
	iso_real bad[6] = { 1, 1, -1, 1, 1, 1 }, good[6] = { 0 };
	iso_prior *r = NULL;
	struct iso_prior_spec s;

	(void)state;
#define WITH(change, code, text)                                                             \
	s = (struct iso_prior_spec){ .size = sizeof s, .kind = ISO_PRIOR_HUBER, .grid = g }; \
	s.parameter[0] = 1;                                                                  \
	change;                                                                              \
	REFUSED(iso_prior_create(&r, ctx, &s), code, text);                                  \
	assert_null(r)
	WITH(s.parameter[0] = 0, ISO_EARG, "delta is 0, must be above 0 and finite");
	WITH(s.parameter[0] = NAN, ISO_EARG, "delta is nan");
	WITH(s.kappa = bad, ISO_EINPUT, "kappa: voxel 2 is -1, must be finite and not negative");
	WITH((s.anatomy = good, s.bowsher = 0), ISO_EARG,
	     "0 neighbours by the anatomical image, must be 1 to 26");
	WITH((s.anatomy = good, s.bowsher = 27), ISO_EARG, "27 neighbours");
#undef WITH
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),      cmocka_unit_test(cuda_vectors), cmocka_unit_test(plain),
		cmocka_unit_test(cuda_plain),   cmocka_unit_test(differences),  cmocka_unit_test(uniform),
		cmocka_unit_test(cuda_uniform), cmocka_unit_test(permuted),     cmocka_unit_test(limits),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
