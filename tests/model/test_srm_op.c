/* SPDX-License-Identifier: BSD-3-Clause */
/* The operator of a system matrix: every strategy against the reference vectors and against the
   matrix written out, subsets, EM with normalisation and randoms, bits for any number of threads,
   and what is refused; also built in double. */
#include "files.h"
#include "test.h"

#include "bench/srm/strategies.h"
#include "core/op.h"

static const enum srm_strategy all_strategies[] = { SRM_CORRELATION, SRM_ROW, SRM_COLUMN, SRM_COMBINED };

static struct iso_panels panels(int nx, int nz, int dx, int dz, int planes, int layers)
{
	return (struct iso_panels){
		.crystals = { nx, nz },
		.pitch = { 2, 2 * (dx == dz ? 1 : 1.2) },
		.crystal = { 1.8, 1.8, 6 },
		.gap = 10,
		.layers = layers,
		.formula = "Lu1.8Y0.2SiO5",
		.density = 7.1,
		.resolution = .2,
		.window = { 250, 750 },
		.per_pitch = { dx, dz },
		.planes = planes,
		.plane = 8. / planes,
	};
}

static iso_op *operator_of(iso_ctx *ctx, const iso_srm *m, enum srm_strategy strategy, int n_sub,
                           enum iso_subset_rule rule, const int *deal)
{
	struct iso_srm_model p = { sizeof p, m, n_sub, rule, 7, deal };
	iso_op *op = NULL;

	OK(srm_strategy_create(&op, ctx, &p, strategy));
	return op;
}

/* ---- reference vectors: voxels (y, x, z) with z fastest ---- */

struct vector {
	const char *name;
	struct iso_panels p;
	int subsets;
	int64_t lors, voxels;
	iso_srm *m;
	double loglik[11]; /* of MLEM, before the first and after each iteration */
};

static void *load(const struct vector *v, const char *file, int64_t bytes)
{
	char path[512];
	void *to = malloc((size_t)bytes);

	snprintf(path, sizeof path, TEST_DATA "/dualhead/%s/%s", v->name, file);
	assert_int_equal(get(path, to, (size_t)bytes), bytes);
	return to;
}

static struct iso_array seed_rows(const struct vector *v)
{
	int n_ptr = v->p.planes / 2 * 4 + 1;
	int32_t *ptr = load(v, "col_ptr.i32", n_ptr * 4), n = ptr[n_ptr - 1];
	int32_t *lor = load(v, "col_lor.i32", n * 16);
	double *val = load(v, "col_val.f64", n * 8);
	struct iso_array a = { 0 };

	OK(iso_array_create(&a, 2, (int64_t[]){ n, 8 }));
	for (int c = 0; c + 1 < n_ptr; c++)
		for (int i = ptr[c]; i < ptr[c + 1]; i++) {
			iso_real *r = a.v + 8 * i;

			r[0] = (iso_real)(c / 4);
			r[1] = (iso_real)(c / 2 % 2);
			r[2] = (iso_real)(c % 2);
			for (int k = 0; k < 4; k++) r[3 + k] = (iso_real)lor[4 * i + k];
			r[7] = (iso_real)val[i];
		}
	free(ptr);
	free(lor);
	free(val);
	return a;
}

static struct vector open_vector(const char *name)
{
	struct vector v = { .name = name };

	v.p = *name == 'a' ? panels(4, 5, 2, 2, 4, 1) : panels(6, 8, 2, 2, 6, 1);
	v.subsets = *name == 'a' ? 2 : 4;
	v.lors = iso_panels_lors(&v.p);
	v.voxels = v.lors * 4 * v.p.planes / (v.p.crystals[0] * v.p.crystals[1]);
	struct iso_array rows = seed_rows(&v);
	iso_ctx *ctx = cpu(2);

	OK(iso_srm_import(&v.m, &v.p, &rows));
	OK(iso_srm_threshold(v.m, ctx, &(struct iso_srm_bound){ .share = 1 }));
	iso_array_free(&rows);
	iso_ctx_free(ctx);
	return v;
}

/* The file's order of voxels to the program's. */
static int64_t voxel_of(const struct iso_panels *p, int64_t i)
{
	int64_t nx = p->crystals[0] * p->per_pitch[0], nz = p->crystals[1] * p->per_pitch[1];

	return (i % nz * p->planes + i / nz / nx) * nx + i / nz % nx;
}

static iso_real *load_image(const struct vector *v, const char *file)
{
	double *d = load(v, file, v->voxels * 8);
	iso_real *x = calloc((size_t)v->voxels, sizeof *x);

	for (int64_t i = 0; i < v->voxels; i++) x[voxel_of(&v->p, i)] = (iso_real)d[i];
	free(d);
	return x;
}

static iso_real *load_lors(const struct vector *v, const char *file)
{
	double *d = load(v, file, v->lors * 8);
	iso_real *y = calloc((size_t)v->lors, sizeof *y);

	for (int64_t i = 0; i < v->lors; i++) y[i] = (iso_real)d[i];
	free(d);
	return y;
}

/* Largest difference over the largest value wanted. */
static double off(int64_t n, const iso_real *got, const iso_real *want)
{
	double most = 0, worst = 0;

	for (int64_t i = 0; i < n; i++) {
		double size = fabs((double)want[i]), d = fabs((double)got[i] - (double)want[i]);

		most = size > most ? size : most;
		worst = d > worst || isnan(d) ? d : worst;
	}
	assert_true(most > 0);
	return worst / most;
}

/* y = A x and x = A* y in the file's order of LORs. */
static iso_real *project(iso_op *op, const iso_real *x)
{
	iso_real *y = calloc((size_t)iso_op_n_out(op), sizeof *y);
	iso_real *out = calloc((size_t)iso_op_n_out(op), sizeof *out);

	OK(iso_forward(y, op, ISO_ALL, x));
	iso_op_unsort(out, op, y);
	free(y);
	return out;
}

static iso_real *back_project(iso_op *op, int sub, const iso_real *y)
{
	iso_real *in = calloc((size_t)iso_op_n_out(op), sizeof *in);
	iso_real *x = calloc((size_t)iso_op_n_in(op), sizeof *x);

	iso_op_sort(in, op, y);
	OK(iso_adjoint(x, op, sub, in));
	free(in);
	return x;
}

static void vector_projections(const struct vector *v, iso_ctx *ctx, enum srm_strategy s)
{
	iso_op *op = operator_of(ctx, v->m, s, v->subsets, ISO_MOD, NULL);
	iso_real *x = load_image(v, "image.f64"), *y = load_lors(v, "lorvec.f64"), *one, *got, *want;
	double err;

	got = project(op, x);
	want = load_lors(v, "fwd.f64");
	NEAR(off(v->lors, got, want), 0, TOLERANCE(2e-6, 1e-13));
	free(got);
	free(want);
	got = back_project(op, ISO_ALL, y);
	want = load_image(v, "back.f64");
	NEAR(off(v->voxels, got, want), 0, TOLERANCE(2e-6, 1e-13));
	free(got);
	free(want);
	one = malloc((size_t)v->lors * sizeof *one);
	for (int64_t i = 0; i < v->lors; i++) one[i] = 1;
	got = back_project(op, ISO_ALL, one);
	want = load_image(v, "sens.f64");
	NEAR(off(v->voxels, got, want), 0, TOLERANCE(2e-6, 1e-13));
	OK(iso_test_adjoint(&err, op, ISO_ALL, 3));
	NEAR(err, 0, TOLERANCE(1e-6, 1e-13));
	OK(iso_test_adjoint(&err, op, 1, 4));
	NEAR(err, 0, TOLERANCE(1e-6, 1e-13));
	free(got);
	free(want);
	free(one);
	free(x);
	free(y);
	iso_op_free(op);
}

/* ---- EM ---- */

struct em_case {
	const char *want;
	int iterations, n_sub;
	const int *deal;
	const iso_real *y, *add, *mult;
};

static void run_em(const struct vector *v, iso_ctx *ctx, enum srm_strategy s, const struct em_case *c,
                   double tolerance)
{
	iso_op *op = operator_of(ctx, v->m, s, c->n_sub, ISO_MOD, c->deal);
	iso_real *sens = calloc((size_t)(v->voxels * c->n_sub), sizeof *sens);
	iso_real *x = calloc((size_t)v->voxels, sizeof *x), *n = calloc((size_t)v->lors, sizeof *n);
	iso_real *want = load_image(v, c->want);
	struct iso_em em = { .size = sizeof em,
		             .op = op,
		             .iterations = c->iterations,
		             .data = { c->y, c->add, c->mult },
		             .sens = { c->n_sub, c->n_sub, sens } };
	struct iso_em_result r = { .size = sizeof r };

	for (int64_t i = 0; i < v->lors; i++) n[i] = c->mult ? c->mult[i] : 1;
	for (int64_t i = 0; i < v->voxels; i++) x[i] = 1;
	for (int k = 0; k < c->n_sub; k++) {
		iso_real *part = back_project(op, k, n);

		memcpy(sens + k * v->voxels, part, (size_t)v->voxels * sizeof *part);
		free(part);
	}
	OK(iso_em_run(x, &r, &em, NULL));
	NEAR(off(v->voxels, x, want), 0, tolerance);
	if (c->n_sub == 1 && !c->mult)
		for (int i = 0; i < c->iterations; i++)
			NEAR(r.loglik[i] / v->loglik[i], 1, TOLERANCE(1e-5, 1e-12));
	iso_em_result_free(&r);
	iso_op_free(op);
	free(sens);
	free(x);
	free(n);
	free(want);
}

/* Data of Chou 2012: max(g - delayed, 0) / n, and 1 or 0 for n. */
static void subtract(iso_real *y, iso_real *alive, int64_t n, const iso_real *delayed, const iso_real *norm)
{
	for (int64_t i = 0; i < n; i++) {
		alive[i] = norm[i] > 0;
		y[i] = alive[i] > 0 && y[i] > delayed[i] ? (y[i] - delayed[i]) / norm[i] : 0;
	}
}

static void vector_em(const struct vector *v, iso_ctx *ctx, enum srm_strategy s)
{
	iso_real *y = load_lors(v, "counts.f64"), *nr = load_lors(v, "counts_nr.f64");
	iso_real *n = load_lors(v, "lorvec.f64"), *r = load_lors(v, "randoms_mean.f64");
	iso_real *delayed = load_lors(v, "delayed.f64");
	iso_real *alive = calloc((size_t)v->lors, sizeof *alive);
	int32_t *deal = load(v, "deal.i32", v->p.crystals[0] * v->p.crystals[1] * 4);
	double loose = TOLERANCE(5e-5, 1e-11);

	run_em(v, ctx, s, &(struct em_case){ "mlem_1.f64", 1, 1, .y = y }, TOLERANCE(2e-5, 1e-11));
	run_em(v, ctx, s, &(struct em_case){ "mlem_10.f64", 10, 1, .y = y }, TOLERANCE(2e-5, 1e-11));
	run_em(v, ctx, s, &(struct em_case){ "osem_1.f64", 1, v->subsets, .y = y }, loose);
	run_em(v, ctx, s, &(struct em_case){ "osem_3.f64", 3, v->subsets, .y = y }, loose);
	run_em(v, ctx, s, &(struct em_case){ "osem_random_2.f64", 2, v->subsets, deal, .y = y }, loose);
	run_em(v, ctx, s, &(struct em_case){ "mlem_nr_5.f64", 5, 1, NULL, nr, r, n }, loose);
	subtract(nr, alive, v->lors, delayed, n);
	run_em(v, ctx, s, &(struct em_case){ "mlem_pre_5.f64", 5, 1, NULL, nr, NULL, alive }, loose);
	free(y);
	free(nr);
	free(n);
	free(r);
	free(delayed);
	free(alive);
	free(deal);
}

static void vectors(void **state)
{
	static const double loglik[2][11] = {
		{ -11574.483835940526, 2202.243510086752, 2246.8686497081962, 2262.661375060323,
		  2270.6847182273996, 2275.708042996879, 2279.2920233264285, 2282.0668736346906,
		  2284.330997532963, 2286.2451723850845, 2287.90500705871 },
		{ -80378.33432725217, 20266.984764352314, 20490.933063502765, 20582.18690308936,
		  20635.569014471985, 20671.182579938417, 20696.78810978148, 20716.216538581237,
		  20731.576929645606, 20744.113285320345, 20754.601882762083 },
	};
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct vector v = open_vector(k ? "b" : "a");

		memcpy(v.loglik, loglik[k], sizeof v.loglik);
		for (int s = 0; s < N_OF(all_strategies); s++) {
			vector_projections(&v, ctx, all_strategies[s]);
			vector_em(&v, ctx, all_strategies[s]);
		}
		iso_srm_free(v.m);
	}
	iso_ctx_free(ctx);
}

/* ---- against the matrix written out: odd planes, Dx != Dz, two layers ---- */

struct shape {
	int nx, nz, dx, dz, planes, layers;
};

static const struct shape shapes[] = {
	{ 3, 4, 3, 2, 5, 1 }, { 4, 3, 2, 2, 3, 2 }, { 3, 5, 1, 3, 4, 2 },
	{ 2, 2, 2, 1, 1, 1 }, { 1, 9, 1, 1, 2, 1 }, { 5, 1, 2, 4, 3, 1 },
};

static bool inside(int c, int n)
{
	return c >= 0 && c < n;
}

/* y += or x += of one element at every cell. */
static void apply_element(const struct iso_panels *p, int a, int b, int column, struct iso_srm_pair e,
                          double w, double *y, double *back, const iso_real *x, const iso_real *g)
{
	int ncx = p->crystals[0], ncz = p->crystals[1], dx = p->per_pitch[0], dz = p->per_pitch[1];

	for (int j = 0; j < ncx * ncz; j++) {
		int cx = j / ncz, cz = j % ncz;
		int ux = cx + e.ux, uz = cz + e.uz, lx = cx + e.lx, lz = cz + e.lz;

		if (!inside(ux, ncx) || !inside(lx, ncx) || !inside(uz, ncz) || !inside(lz, ncz)) continue;
		int64_t lor = (((((int64_t)a * p->layers + b) * ncx + ux) * ncz + uz) * ncx + lx) * ncz + lz;
		int64_t vox = ((int64_t)(cz * dz + column % dz) * p->planes + column / dz / dx) * ncx * dx +
		              cx * dx + column / dz % dx;

		y[lor] += w * (double)x[vox];
		back[vox] += w * (double)g[lor];
	}
}

static void brute(const struct iso_panels *p, iso_ctx *ctx, const iso_srm *m, double *y, double *back,
                  const iso_real *x, const iso_real *g)
{
	for (int pair = 0; pair < p->layers * p->layers; pair++) {
		struct iso_srm_order o = { .a = pair / p->layers, .b = pair % p->layers };
		struct iso_srm_columns c;

		OK(iso_srm_columns(&c, ctx, m, &o));
		for (int64_t k = 0; k < c.n; k++)
			for (int64_t i = c.ptr[k]; i < c.ptr[k + 1]; i++)
				apply_element(p, o.a, o.b, (int)k, c.pair[i], (double)c.w[i], y, back, x, g);
		iso_srm_columns_free(&c);
	}
}

static iso_real *uniform(iso_ctx *ctx, int64_t n, uint64_t seed)
{
	iso_real *v = malloc((size_t)n * sizeof *v);

	OK(iso_ctx_vec(ctx)->uniform(ctx, n, v, seed));
	return v;
}

static double off_double(int64_t n, const iso_real *got, const double *want)
{
	iso_real *w = malloc((size_t)n * sizeof *w);

	for (int64_t i = 0; i < n; i++) w[i] = (iso_real)want[i];
	double r = off(n, got, w);

	free(w);
	return r;
}

static iso_srm *analytic(const struct iso_panels *p, iso_ctx *ctx)
{
	iso_srm *m = NULL;

	OK(iso_srm_analytic(&m, ctx, p));
	OK(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ .share = 1 }));
	return m;
}

static void shape_against_brute(const struct shape *s, iso_ctx *ctx)
{
	struct iso_panels p = panels(s->nx, s->nz, s->dx, s->dz, s->planes, s->layers);
	iso_srm *m = analytic(&p, ctx);
	struct iso_grid grid;

	iso_panels_grid(&grid, &p);
	int64_t lors = iso_panels_lors(&p), voxels = iso_grid_voxels(&grid);
	iso_real *x = uniform(ctx, voxels, 1), *g = uniform(ctx, lors, 2);
	double *y = calloc((size_t)lors, sizeof *y), *b = calloc((size_t)voxels, sizeof *b);

	brute(&p, ctx, m, y, b, x, g);
	for (int i = 0; i < N_OF(all_strategies); i++) {
		iso_op *op = operator_of(ctx, m, all_strategies[i], 2, ISO_MOD, NULL);
		iso_real *forward = project(op, x), *back = back_project(op, ISO_ALL, g);

		assert_int_equal(iso_op_n_in(op), voxels);
		assert_int_equal(iso_op_n_out(op), lors);
		NEAR(off_double(lors, forward, y), 0, TOLERANCE(2e-6, 1e-13));
		NEAR(off_double(voxels, back, b), 0, TOLERANCE(2e-6, 1e-13));
		free(forward);
		free(back);
		iso_op_free(op);
	}
	free(x);
	free(g);
	free(y);
	free(b);
	iso_srm_free(m);
}

static void written_out(void **state)
{
	iso_ctx *ctx = cpu(3);

	(void)state;
	for (int i = 0; i < N_OF(shapes); i++) shape_against_brute(&shapes[i], ctx);
	iso_ctx_free(ctx);
}

/* Rows longer than the registers hold: 72 and 120 crystals. */
static void long_rows(void **state)
{
	const struct shape long_shapes[] = { { 2, 72, 1, 1, 3, 1 }, { 1, 120, 1, 2, 2, 1 } };
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int i = 0; i < N_OF(long_shapes); i++) shape_against_brute(&long_shapes[i], ctx);
	iso_ctx_free(ctx);
}

/* ---- subsets ---- */

/* Subsets are whole directions with their mirrors, they cover every LOR once, and the rows of a
   subset project as those of all. */
static void check_subsets(iso_ctx *ctx, const iso_srm *m, const struct iso_panels *p, int n_sub,
                          enum iso_subset_rule rule)
{
	iso_op *op = operator_of(ctx, m, SRM_CORRELATION, n_sub, rule, NULL);
	int64_t lors = iso_op_n_out(op), sum = 0;
	iso_real *x = uniform(ctx, iso_op_n_in(op), 5), *part = calloc((size_t)lors, sizeof *part);
	iso_real *whole = calloc((size_t)lors, sizeof *whole), *which = calloc((size_t)lors, sizeof *which);
	iso_real *of = calloc((size_t)lors, sizeof *of);
	int face = p->crystals[0] * p->crystals[1], subset[64];

	memset(subset, -1, sizeof subset);
	OK(iso_forward(whole, op, ISO_ALL, x));
	for (int k = 0; k < n_sub; k++) {
		struct iso_rows r = iso_op_rows(op, k);

		assert_int_equal(r.first, sum);
		assert_true(r.n > 0);
		sum += r.n;
		OK(iso_forward(part, op, k, x));
		for (int64_t i = r.first; i < r.first + r.n; i++) which[i] = (iso_real)k;
	}
	assert_int_equal(sum, lors);
	assert_memory_equal(part, whole, (size_t)lors * sizeof *part);
	iso_op_unsort(of, op, which);
	for (int64_t i = 0; i < lors; i++) {
		int u = (int)(i / face % face), l = (int)(i % face), nz = p->crystals[1];
		int *s = &subset[abs(u / nz - l / nz) * nz + abs(u % nz - l % nz)];

		assert_true(*s == -1 || *s == (int)of[i]);
		*s = (int)of[i];
		assert_true(rule != ISO_MOD ||
		            *s == (abs(u / nz - l / nz) * nz + abs(u % nz - l % nz)) % n_sub);
	}
	for (int j = 0, nz = p->crystals[1]; rule == ISO_GROUPS && j < face; j++)
		assert_int_equal(subset[j], subset[(j / nz / 4 * nz + j % nz / 4) * 4]);
	iso_op_free(op);
	free(x);
	free(part);
	free(whole);
	free(which);
	free(of);
}

static void subset_rules(void **state)
{
	struct iso_panels p = panels(6, 10, 1, 1, 2, 1);
	iso_ctx *ctx = cpu(2);
	iso_srm *m = analytic(&p, ctx);

	(void)state;
	for (int k = 1; k <= 60; k += k < 4 ? 1 : 7) {
		check_subsets(ctx, m, &p, k, ISO_MOD);
		check_subsets(ctx, m, &p, k, ISO_RANDOM);
	}
	for (int k = 1; k <= 6; k++) check_subsets(ctx, m, &p, k, ISO_GROUPS);
	iso_srm_free(m);
	iso_ctx_free(ctx);
}

/* ---- the same bits, and the step in one pass ---- */

static void same_bits(void **state)
{
	struct iso_panels p = panels(5, 9, 2, 3, 5, 2);
	iso_ctx *ctx[] = { cpu(1), cpu(2), cpu(7) };
	iso_srm *m = analytic(&p, ctx[0]);

	(void)state;
	for (int s = 0; s < N_OF(all_strategies); s++) {
		iso_real *x = NULL, *g = NULL, *y[3], *b[3];

		for (int t = 0; t < 3; t++) {
			iso_op *op = operator_of(ctx[t], m, all_strategies[s], 3, ISO_GROUPS, NULL);

			x = x ? x : uniform(ctx[0], iso_op_n_in(op), 1);
			g = g ? g : uniform(ctx[0], iso_op_n_out(op), 2);
			y[t] = project(op, x);
			b[t] = back_project(op, 1, g);
			assert_memory_equal(y[t], y[0], (size_t)iso_op_n_out(op) * sizeof **y);
			assert_memory_equal(b[t], b[0], (size_t)iso_op_n_in(op) * sizeof **b);
			iso_op_free(op);
		}
		for (int t = 0; t < 3; t++) {
			free(y[t]);
			free(b[t]);
		}
		free(x);
		free(g);
	}
	iso_srm_free(m);
	for (int t = 0; t < 3; t++) iso_ctx_free(ctx[t]);
}

/* iso_op_em_step: LORs without counts or with n = 0 add nothing. */
static void one_step(void **state)
{
	struct iso_panels p = panels(4, 6, 2, 2, 4, 1);
	iso_ctx *ctx = cpu(2);
	iso_srm *m = analytic(&p, ctx);
	iso_op *op = operator_of(ctx, m, SRM_CORRELATION, 2, ISO_GROUPS, NULL);
	int64_t n = iso_op_n_out(op), nx = iso_op_n_in(op);
	iso_real *x = uniform(ctx, nx, 1), *y = uniform(ctx, n, 2), *a = uniform(ctx, n, 3);
	iso_real *mult = uniform(ctx, n, 4), *q = calloc((size_t)n, sizeof *q);
	iso_real *acc = calloc((size_t)nx, sizeof *acc), *want = calloc((size_t)nx, sizeof *want);
	struct iso_em_data data = { y, a, mult };
	struct iso_em_stat stat, plain;
	double lost = 0;

	(void)state;
	for (int64_t i = 0; i < n; i++) {
		y[i] = i % 3 ? (iso_real)(i % 5) : 0;
		mult[i] = i % 11 ? mult[i] : 0;
		a[i] *= (iso_real).01;
	}
	struct iso_rows r = iso_op_rows(op, 1);

	OK(iso_forward(q, op, 1, x));
	for (int64_t i = r.first; i < r.first + r.n; i++) {
		lost += mult[i] > 0 && q[i] + a[i] > 0 ? 0 : y[i];
		q[i] = mult[i] > 0 ? y[i] / (q[i] + a[i]) : 0;
	}
	assert_true(lost > 0);
	OK(iso_adjoint(want, op, 1, q));
	for (int64_t i = 0; i < nx; i++) want[i] *= x[i];
	OK(iso_op_em_step(acc, &stat, op, 1, x, &data));
	NEAR(off(nx, acc, want), 0, TOLERANCE(1e-6, 1e-14));
	OK(iso_em_step_plain(op, 1, acc, x, &data, &plain));
	NEAR(off(nx, acc, want), 0, TOLERANCE(1e-6, 1e-14));
	assert_int_equal(stat.used, plain.used);
	NEAR(stat.lost, lost, 1e-9 * lost);
	NEAR(plain.lost, lost, 1e-9 * lost);
	NEAR(stat.loglik / plain.loglik, 1, 1e-6);
	iso_op_free(op);
	iso_srm_free(m);
	iso_ctx_free(ctx);
	free(x);
	free(y);
	free(a);
	free(mult);
	free(q);
	free(acc);
	free(want);
}

/* ---- refused ---- */

static void refused(void **state)
{
	struct iso_panels p = panels(3, 5, 1, 1, 2, 1);
	iso_ctx *ctx = cpu(1);
	iso_srm *m = analytic(&p, ctx), *bare = NULL;
	struct iso_srm_model q = { sizeof q, m, 16, ISO_MOD, 0, NULL };
	int deal[15] = { 0 };
	iso_op *op = NULL;

	(void)state;
	REFUSED(iso_srm_op_create(&op, ctx, &q), ISO_EARG, "16 subsets, must be 1 to 15");
	q.n_sub = 0;
	REFUSED(iso_srm_op_create(&op, ctx, &q), ISO_EARG, "0 subsets, must be 1 to 15");
	q.n_sub = 7;
	q.rule = ISO_GROUPS;
	REFUSED(iso_srm_op_create(&op, ctx, &q), ISO_EARG, "must be 1 to 2, the number of groups");
	q.n_sub = 2;
	q.rule = ISO_BLOCKS;
	REFUSED(iso_srm_op_create(&op, ctx, &q), ISO_EARG, "no subset rule 1");
	q.deal = deal;
	REFUSED(iso_srm_op_create(&op, ctx, &q), ISO_EARG, "leaves subset 1 of 2 without");
	deal[14] = 2;
	REFUSED(iso_srm_op_create(&op, ctx, &q), ISO_EARG, "direction 14 into subset 2");
	q = (struct iso_srm_model){ sizeof q, m, 1, ISO_MOD, 0, NULL };
	REFUSED(srm_strategy_create(&op, ctx, &q, (enum srm_strategy)9), ISO_EARG, "no strategy 9");
	OK(iso_srm_analytic(&bare, ctx, &p));
	q = (struct iso_srm_model){ sizeof q, bare, 1, ISO_MOD, 0, NULL };
	REFUSED(iso_srm_op_create(&op, ctx, &q), ISO_EARG, "no table yet");
	iso_srm_free(bare);
	iso_srm_free(m);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),      cmocka_unit_test(written_out), cmocka_unit_test(long_rows),
		cmocka_unit_test(subset_rules), cmocka_unit_test(same_bits),   cmocka_unit_test(one_step),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
