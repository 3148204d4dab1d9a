/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference vectors of penalised likelihood, tests/data/priors: arrays and the numbers of meta.json; and what tests of
   penalties share. */
#ifndef PRIORS_H
#define PRIORS_H

#include "test.h"
#include "text/json_file.h"

/* The n float64 values of a .npy file, which must hold so many. */
static inline double *priors_array(const char *name, int64_t n)
{
	char path[512], head[10];
	double *v = calloc((size_t)n, sizeof *v);

	snprintf(path, sizeof path, "%s/priors/%s.npy", TEST_DATA, name);
	FILE *f = fopen(path, "rb");

	if (!f) fail_msg("%s is not there", path);
	assert_non_null(v);
	assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
	assert_int_equal(fseek(f, 10 + (unsigned char)head[8] + 256 * (unsigned char)head[9], SEEK_SET), 0);
	assert_int_equal(fread(v, sizeof *v, (size_t)n, f), n);
	assert_int_equal(fgetc(f), EOF);
	fclose(f);
	return v;
}

/* The same in the storage type. */
static inline iso_real *priors_image(const char *name, int64_t n)
{
	double *v = priors_array(name, n);
	iso_real *x = calloc((size_t)n, sizeof *x);

	assert_non_null(x);
	for (int64_t i = 0; i < n; i++) x[i] = (iso_real)v[i];
	free(v);
	return x;
}

static inline json_t *priors_meta(void)
{
	char path[512];
	json_t *root = NULL;

	snprintf(path, sizeof path, "%s/priors/meta.json", TEST_DATA);
	OK(iso_json_read(&root, path));
	return root;
}

/* A number, by the keys on the way to it. */
static inline double priors_number(const json_t *at, const char *key)
{
	const json_t *v = json_object_get(at, key);

	if (!json_is_number(v)) fail_msg("meta.json: '%s' is no number", key);
	return json_number_value(v);
}

/* The grid of "img1", "p2", ... */
static inline struct iso_grid priors_grid(const json_t *meta, const char *name)
{
	const json_t *of = json_object_get(meta, name), *n = json_object_get(of, "shape_zyx");
	const json_t *v = json_object_get(of, "voxel_mm_xyz");
	struct iso_grid g = { .n = { 1, 1, 1 } };

	assert_int_equal(json_array_size(n), 3);
	assert_int_equal(json_array_size(v), 3);
	for (size_t a = 0; a < 3; a++) {
		g.n[a] = (int64_t)json_integer_value(json_array_get(n, 2 - a));
		g.voxel[a] = json_number_value(json_array_get(v, a));
	}
	return g;
}

/* Largest |a - b| over the largest |b|. */
static inline double priors_worst(int64_t n, const iso_real *a, const double *b)
{
	double worst = 0, top = 0;

	for (int64_t i = 0; i < n; i++) {
		double d = fabs((double)a[i] - b[i]);

		worst = d > worst || !isfinite(d) ? d : worst;
		top = fabs(b[i]) > top ? fabs(b[i]) : top;
	}
	return worst / top;
}

/* ---- what is evaluated ---- */

struct prior_results {
	double value;
	iso_real *gradient, *curvature, *hessian;
};

static inline struct prior_results prior_evaluated(iso_ctx *ctx, const struct iso_prior_spec *s,
                                                   const iso_real *x)
{
	int64_t n = iso_grid_voxels(&s->grid);
	iso_real *dx = to_device(ctx, n, x), *d[3];
	struct prior_results e = { 0 };
	iso_prior *r = NULL;

	for (int k = 0; k < 3; k++) d[k] = to_device(ctx, n, x); /* not 0: to be overwritten */
	OK(iso_prior_create(&r, ctx, s));
	OK(iso_prior_eval(&e.value, d[0], d[1], d[2], r, dx));
	e.gradient = to_host(ctx, n, d[0]);
	e.curvature = to_host(ctx, n, d[1]);
	e.hessian = to_host(ctx, n, d[2]);
	for (int k = 0; k < 3; k++) device_free(ctx, d[k]);
	device_free(ctx, dx);
	iso_prior_free(r);
	return e;
}

static inline void prior_results_free(struct prior_results *e)
{
	free(e->gradient);
	free(e->curvature);
	free(e->hessian);
}

/* How many kinds there are. */
static inline int prior_kinds(void)
{
	int n = 0;

	while (iso_prior_about((enum iso_prior_kind)n)) n++;
	return n;
}

static inline bool prior_has_pairs(enum iso_prior_kind kind)
{
	return iso_prior_about(kind)->pairs;
}

/* Numbers in 0 ... 1, some of them 0. */
static inline iso_real *prior_noise(int64_t n, uint32_t seed, int zeros)
{
	iso_real *x = calloc((size_t)n, sizeof *x);

	assert_non_null(x);
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		x[i] = (int)(seed >> 24) % zeros == 0 ? 0 : (iso_real)((seed >> 8 & 0xffff) / 65536.);
	}
	return x;
}

static inline struct iso_prior_spec prior_usual(enum iso_prior_kind kind, const struct iso_grid *g)
{
	struct iso_prior_spec s = { .size = sizeof s, .kind = kind, .grid = *g, .bowsher = 5 };

	for (int i = 0; iso_prior_parameter(kind, i); i++)
		s.parameter[i] =
			iso_prior_default(kind, i, 10, .8); /* epsilon .01, s 4.2, delta .24, eta .04 */
	return s;
}

#endif
