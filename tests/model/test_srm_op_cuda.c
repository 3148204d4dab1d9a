/* SPDX-License-Identifier: BSD-3-Clause */
/* Strategies of model srm on CUDA: projections, adjoint and EM step against the operator of the
   CPU, the same bits on every run, the papers' variants, and what is refused. */
#include "files.h"
#include "test.h"

#include "bench/ladder.h"
#include "bench/srm/strategies.h"

#define CLOSE 2e-6          /* of the greatest value */
#define FAINT_CLOSE 0x1p-13 /* the same, where rows see faint voxels alone */
#define UNTOUCHED (-7.f)

static const enum srm_strategy strategies[] = { SRM_CORRELATION, SRM_ROW, SRM_COLUMN, SRM_COMBINED };

struct problem {
	const char *vector; /* of the reference vectors; NULL: the analytic matrix */
	int nc[2], d[2], planes, layers, n_sub;
	enum iso_subset_rule rule;
};

static const struct problem problems[] = {
	{ "a", { 4, 5 }, { 2, 2 }, 4, 1, 1, ISO_MOD },
	{ "a", { 4, 5 }, { 2, 2 }, 4, 1, 2, ISO_MOD },
	{ "b", { 6, 8 }, { 2, 2 }, 6, 1, 4, ISO_RANDOM },
	{ NULL, { 10, 12 }, { 4, 4 }, 9, 1, 3, ISO_GROUPS },
	{ NULL, { 3, 4 }, { 3, 2 }, 5, 1, 2, ISO_MOD },
	{ NULL, { 5, 3 }, { 1, 3 }, 5, 2, 4, ISO_RANDOM },
	{ NULL, { 4, 4 }, { 2, 2 }, 4, 2, 1, ISO_MOD },
	{ NULL, { 10, 12 }, { 3, 6 }, 7, 1, 36, ISO_RANDOM }, /* so many that directions go singly */
	{ NULL, { 6, 7 }, { 2, 3 }, 5, 2, 33, ISO_RANDOM },
};

/* ---- matrices ---- */

static struct iso_panels panels_of(const struct problem *p)
{
	return (struct iso_panels){
		.crystals = { p->nc[0], p->nc[1] },
		.pitch = { 2, 2 },
		.crystal = { 1.8, 1.8, 6 },
		.gap = 10,
		.layers = p->layers,
		.formula = "Lu1.8Y0.2SiO5",
		.density = 7.1,
		.resolution = .2,
		.window = { 250, 750 },
		.per_pitch = { p->d[0], p->d[1] },
		.planes = p->planes,
		.plane = 8. / p->planes,
	};
}

static void *load(const char *name, const char *file, size_t bytes)
{
	char path[512];
	void *v = malloc(bytes);

	snprintf(path, sizeof path, TEST_DATA "/dualhead/%s/%s", name, file);
	assert_int_equal(get(path, v, bytes), bytes);
	return v;
}

/* The seed columns of a vector as rows (plane, phases, ux, uz, lx, lz, weight). */
static struct iso_array vector_rows(const struct problem *p)
{
	int columns = (p->planes + 1) / 2 * p->d[0] * p->d[1];
	int32_t *ptr = load(p->vector, "col_ptr.i32", ((size_t)columns + 1) * 4);
	int32_t *lor = load(p->vector, "col_lor.i32", (size_t)ptr[columns] * 16);
	double *val = load(p->vector, "col_val.f64", (size_t)ptr[columns] * 8);
	struct iso_array a = { 0 };

	OK(iso_array_create(&a, 2, (int64_t[]){ ptr[columns], 8 }));
	for (int c = 0; c < columns; c++)
		for (int i = ptr[c]; i < ptr[c + 1]; i++) {
			const iso_real row[8] = {
				(iso_real)(c / (p->d[0] * p->d[1])),
				(iso_real)(c / p->d[1] % p->d[0]),
				(iso_real)(c % p->d[1]),
				(iso_real)lor[4 * i],
				(iso_real)lor[4 * i + 1],
				(iso_real)lor[4 * i + 2],
				(iso_real)lor[4 * i + 3],
				(iso_real)val[i],
			};

			memcpy(a.v + 8 * i, row, sizeof row);
		}
	free(ptr);
	free(lor);
	free(val);
	return a;
}

static iso_srm *matrix(const struct problem *p)
{
	struct iso_panels panels = panels_of(p);
	iso_ctx *ctx = cpu(0);
	iso_srm *m = NULL;

	if (p->vector) {
		struct iso_array rows = vector_rows(p);

		OK(iso_srm_import(&m, &panels, &rows));
		iso_array_free(&rows);
	} else {
		OK(iso_srm_analytic(&m, ctx, &panels));
	}
	OK(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ .share = 1 }));
	iso_ctx_free(ctx);
	return m;
}

static iso_op *operator_of(iso_ctx *ctx, const iso_srm *m, const struct problem *p,
                           enum srm_strategy strategy)
{
	iso_op *op = NULL;

	OK(srm_strategy_create(&op, ctx,
	                       &(struct iso_srm_model){ .size = sizeof(struct iso_srm_model),
	                                                .srm = m,
	                                                .n_sub = p->n_sub,
	                                                .rule = p->rule,
	                                                .seed = 3 },
	                       strategy));
	return op;
}

/* ---- vectors ---- */

/* Of both signs, or positive with every third one 0, as counts are. */
static iso_real *values(int64_t n, int seed, bool counts)
{
	iso_real *v = calloc((size_t)n, sizeof *v);

	srand((unsigned)seed);
	for (int64_t i = 0; i < n; i++) {
		double u = (double)rand() / RAND_MAX;

		v[i] = (iso_real)(counts ? (i % 3 ? floor(10 * u) : 0) : 2 * u - 1);
	}
	return v;
}

static void close_within(int64_t n, const iso_real *got, const iso_real *want, double part)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		if (fabs((double)want[i]) > most) most = fabs((double)want[i]);
	for (int64_t i = 0; i < n; i++) NEAR((double)got[i], (double)want[i], part * most);
}

static void close_to(int64_t n, const iso_real *got, const iso_real *want)
{
	close_within(n, got, want, CLOSE);
}

/* op applied to a vector of the host; places that it leaves alone are UNTOUCHED. */
static iso_real *apply(iso_op *op, int sub, bool back, const iso_real *v)
{
	iso_ctx *ctx = iso_op_ctx(op);
	int64_t from = back ? iso_op_n_out(op) : iso_op_n_in(op);
	int64_t to = back ? iso_op_n_in(op) : iso_op_n_out(op);
	iso_real *in = to_device(ctx, from, v), *out = to_device(ctx, to, NULL), *result;

	OK(iso_ctx_vec(ctx)->fill(ctx, to, out, UNTOUCHED));
	OK((back ? iso_adjoint : iso_forward)(out, op, sub, in));
	result = to_host(ctx, to, out);
	device_free(ctx, in);
	device_free(ctx, out);
	return result;
}

/* ---- projections ---- */

static void same_projections(iso_op *op, iso_op *ref, int sub)
{
	iso_real *x = values(iso_op_n_in(op), 1, false), *y = values(iso_op_n_out(op), 2, false);
	iso_real *ax = apply(op, sub, false, x), *want = apply(ref, sub, false, x);
	iso_real *back = apply(op, sub, true, y), *want_back = apply(ref, sub, true, y);
	struct iso_rows rows = iso_op_rows(op, sub);

	close_to(rows.n, ax + rows.first, want + rows.first);
	for (int64_t i = 0; i < iso_op_n_out(op); i++)
		if (i < rows.first || i >= rows.first + rows.n) assert_true(ax[i] == UNTOUCHED);
	close_to(iso_op_n_in(op), back, want_back);
	free(x);
	free(y);
	free(ax);
	free(want);
	free(back);
	free(want_back);
}

/* Each problem and strategy on `ctx`, beside `row` on the CPU. */
static void each(iso_ctx *ctx, void (*check)(iso_op *op, iso_op *ref, const iso_srm *m))
{
	for (int i = 0; i < N_OF(problems); i++) {
		iso_ctx *host = cpu(0);
		iso_srm *m = matrix(&problems[i]);
		iso_op *ref = operator_of(host, m, &problems[i], SRM_ROW);

		for (int s = 0; s < N_OF(strategies); s++) {
			iso_op *op = operator_of(ctx, m, &problems[i], strategies[s]);

			check(op, ref, m);
			iso_op_free(op);
		}
		iso_op_free(ref);
		iso_srm_free(m);
		iso_ctx_free(host);
	}
}

static void all_projections(iso_op *op, iso_op *ref, const iso_srm *m)
{
	double err = 1;

	(void)m;
	same_projections(op, ref, ISO_ALL);
	for (int sub = 0; sub < iso_op_n_sub(op); sub++) same_projections(op, ref, sub);
	OK(iso_test_adjoint(&err, op, ISO_ALL, 4));
	BELOW(err, 1e-6);
	OK(iso_test_adjoint(&err, op, iso_op_n_sub(op) - 1, 5));
	BELOW(err, 1e-6);
}

static void strategies_agree(iso_ctx *ctx)
{
	each(ctx, all_projections);
}

static void strategies_agree_on_the_cpu(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	strategies_agree(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_strategies_agree_with_the_cpu, strategies_agree)

/* ---- EM ---- */

static iso_real *em(iso_op *op, int sub, struct iso_em_stat *stat)
{
	iso_ctx *ctx = iso_op_ctx(op);
	int64_t n = iso_op_n_in(op), rows = iso_op_n_out(op);
	iso_real *ones = values(n, 1, false), *counts = values(rows, 6, true);
	iso_real *add = values(rows, 7, true), *mult = values(rows, 8, true), *result;

	for (int64_t i = 0; i < n; i++) ones[i] = i % 5 ? 1 : 0;
	for (int64_t i = 0; i < rows; i++) add[i] *= (iso_real).01;
	iso_real *x = to_device(ctx, n, ones), *acc = to_device(ctx, n, NULL);
	struct iso_em_data d = { to_device(ctx, rows, counts), to_device(ctx, rows, add),
		                 to_device(ctx, rows, mult) };

	OK(iso_op_em_step(acc, stat, op, sub, x, &d));
	result = to_host(ctx, n, acc);
	device_free(ctx, x);
	device_free(ctx, acc);
	device_free(ctx, (void *)d.y);
	device_free(ctx, (void *)d.add);
	device_free(ctx, (void *)d.mult);
	free(ones);
	free(counts);
	free(add);
	free(mult);
	return result;
}

static void same_step(iso_op *op, iso_op *ref, const iso_srm *m)
{
	(void)m;
	for (int sub = 0; sub < iso_op_n_sub(op); sub++) {
		struct iso_em_stat a, b;
		iso_real *got = em(op, sub, &a), *want = em(ref, sub, &b);

		close_to(iso_op_n_in(op), got, want);
		assert_int_equal(a.used, b.used);
		assert_int_equal(a.skipped, b.skipped);
		assert_true(a.used > 0 && a.skipped > 0);
		NEAR(a.counts, b.counts, 1e-9 * b.counts);
		NEAR(a.lost, b.lost, 1e-9 * b.lost);
		NEAR(a.loglik, b.loglik, 1e-6 * fabs(b.loglik));
		free(got);
		free(want);
	}
}

static void steps_agree(iso_ctx *ctx)
{
	each(ctx, same_step);
}

CUDA_TEST(cuda_em_step_is_that_of_the_cpu, steps_agree)

/* ---- images that are faint nearly everywhere ---- */

static iso_real *faint_step(iso_op *op, const iso_real *image, const iso_real *counts)
{
	iso_ctx *ctx = iso_op_ctx(op);
	int64_t n = iso_op_n_in(op);
	iso_real *x = to_device(ctx, n, image), *acc = to_device(ctx, n, NULL), *result;
	struct iso_em_data d = { .y = to_device(ctx, iso_op_n_out(op), counts) };
	struct iso_em_stat stat;

	OK(iso_op_em_step(acc, &stat, op, 0, x, &d));
	result = to_host(ctx, n, acc);
	device_free(ctx, x);
	device_free(ctx, acc);
	device_free(ctx, (void *)d.y);
	return result;
}

/* A row that sees faint voxels alone gives its counts to them, however faint: no voxel's size is lost. Where
   such rows have no counts, faint voxels get next to none. Row and column add in fixed point on CUDA, of
   which the greatest number has 62 bits: they are not asked. */
static void faint(iso_op *op, iso_op *ref, double size)
{
	int64_t n = iso_op_n_in(op), rows = iso_op_n_out(op);
	iso_real *x = values(n, 1, false), *y = values(rows, 6, true), *ax;

	for (int64_t i = 0; i < n; i++)
		x[i] = (iso_real)((i < n / 20 ? 1 : size) * (1 + (double)(i % 7) / 10));
	ax = apply(ref, ISO_ALL, false, x);
	for (int bright = 0; bright < 2; bright++) {
		for (int64_t i = 0; i < rows && bright; i++) y[i] = (double)ax[i] > size ? y[i] : 0;

		iso_real *got = faint_step(op, x, y), *want = faint_step(ref, x, y);

		close_within(n, got, want, FAINT_CLOSE);
		free(got);
		free(want);
	}
	free(x);
	free(y);
	free(ax);
}

static void faint_counts(iso_ctx *ctx)
{
	static const double sizes[] = { 1e-6, 1e-8, 1e-10, 1e-12, 1e-20 };

	for (int i = 0; i < N_OF(problems); i++) {
		iso_ctx *host = cpu(0);
		iso_srm *m = matrix(&problems[i]);
		iso_op *ref = operator_of(host, m, &problems[i], SRM_ROW);
		iso_op *correlation = operator_of(ctx, m, &problems[i], SRM_CORRELATION);
		iso_op *combined = operator_of(ctx, m, &problems[i], SRM_COMBINED);

		for (int k = 0; k < N_OF(sizes); k++) {
			faint(combined, ref, sizes[k]);
			faint(correlation, ref, sizes[k]);
		}
		iso_op_free(combined);
		iso_op_free(correlation);
		iso_op_free(ref);
		iso_srm_free(m);
		iso_ctx_free(host);
	}
}

CUDA_TEST(cuda_faint_voxels_keep_their_counts, faint_counts)

/* ---- the same bits ---- */

static void repeats(iso_op *op, iso_op *ref, const iso_srm *m)
{
	iso_real *x = values(iso_op_n_in(op), 1, false), *y = values(iso_op_n_out(op), 2, false);
	iso_real *ax = apply(op, ISO_ALL, false, x), *back = apply(op, ISO_ALL, true, y);

	(void)ref;
	(void)m;
	for (int i = 0; i < 3; i++) {
		iso_real *again = apply(op, ISO_ALL, false, x), *back_again = apply(op, ISO_ALL, true, y);

		assert_memory_equal(ax, again, (size_t)iso_op_n_out(op) * sizeof *ax);
		assert_memory_equal(back, back_again, (size_t)iso_op_n_in(op) * sizeof *back);
		free(again);
		free(back_again);
	}
	free(x);
	free(y);
	free(ax);
	free(back);
}

static void runs_repeat(iso_ctx *ctx)
{
	each(ctx, repeats);
}

CUDA_TEST(cuda_runs_have_the_same_bits, runs_repeat)

/* Two handles on the same tables, each with its own work space. */
static void clone_projects(iso_ctx *ctx)
{
	const struct problem *p = &problems[3];
	iso_srm *m = matrix(p);

	for (int s = 0; s < N_OF(strategies); s++) {
		iso_op *op = operator_of(ctx, m, p, strategies[s]), *clone = NULL;
		iso_real *x = values(iso_op_n_in(op), 1, false), *want = apply(op, ISO_ALL, false, x), *got;

		OK(iso_op_clone(&clone, op));
		iso_op_free(op);
		got = apply(clone, ISO_ALL, false, x);
		assert_memory_equal(got, want, (size_t)iso_op_n_out(clone) * sizeof *got);
		iso_op_free(clone);
		free(x);
		free(got);
		free(want);
	}
	iso_srm_free(m);
}

CUDA_TEST(cuda_clone_projects_alike, clone_projects)

/* ---- the papers' variants ---- */

static void ladder_of(iso_op *op, const iso_real *host)
{
	iso_ctx *ctx = iso_op_ctx(op);
	int64_t n = iso_op_n_out(op);
	iso_real *want = apply(op, ISO_ALL, false, host), *x = to_device(ctx, iso_op_n_in(op), host);

	for (int step = 0; step < ISO_SRM_STEPS; step++)
		for (int threads = 1; threads <= 128; threads *= 2) {
			struct iso_srm_ladder p = { (enum iso_srm_step)step, threads };
			iso_real *y = to_device(ctx, n, NULL), *got;
			double seconds = 0;

			OK(iso_ctx_vec(ctx)->fill(ctx, n, y, UNTOUCHED));
			OK(iso_srm_ladder_forward(&seconds, op, &p, y, x));
			got = to_host(ctx, n, y);
			close_to(n, got, want);
			assert_true(seconds > 0);
			device_free(ctx, y);
			free(got);
		}
	device_free(ctx, x);
	free(want);
}

static void chou_steps(iso_ctx *ctx)
{
	struct iso_srm_ladder odd = { ISO_SRM_SHARED, 3 };
	double seconds;

	for (int i = 0; i < N_OF(problems); i++) {
		iso_srm *m = matrix(&problems[i]);
		iso_op *op = operator_of(ctx, m, &problems[i], SRM_ROW);
		iso_real *x = values(iso_op_n_in(op), 1, true);

		ladder_of(op, x);
		REFUSED(iso_srm_ladder_columns(op, m, true), ISO_EARG, "has no such table");
		REFUSED(iso_srm_ladder_forward(&seconds, op, &odd, NULL, NULL), ISO_EARG, "power of two");
		iso_op_free(op);
		iso_srm_free(m);
		free(x);
	}
}

CUDA_TEST(cuda_steps_of_chou_agree, chou_steps)

static void meng_columns(iso_ctx *ctx)
{
	struct iso_srm_ladder p = { ISO_SRM_SHARED, 128 };
	double seconds;

	for (int i = 0; i < N_OF(problems); i++) {
		iso_ctx *host = cpu(0);
		iso_srm *m = matrix(&problems[i]);
		iso_op *op = operator_of(ctx, m, &problems[i], SRM_COLUMN);
		iso_op *ref = operator_of(host, m, &problems[i], SRM_ROW);

		OK(iso_srm_ladder_columns(op, m, false));
		all_projections(op, ref, m);
		REFUSED(iso_srm_ladder_forward(&seconds, op, &p, NULL, NULL), ISO_EARG, "has no such table");
		iso_op_free(op);
		iso_op_free(ref);
		iso_srm_free(m);
		iso_ctx_free(host);
	}
}

CUDA_TEST(cuda_columns_of_meng_agree, meng_columns)

/* ---- refused ---- */

static void ladder_is_of_cuda(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_srm *m = matrix(&problems[0]);
	iso_op *op = operator_of(ctx, m, &problems[0], SRM_COMBINED);
	double seconds;

	(void)state;
	REFUSED(iso_srm_ladder_forward(&seconds, op, &(struct iso_srm_ladder){ 0, 128 }, NULL, NULL),
	        ISO_EDEVICE, "needs a CUDA device");
	REFUSED(iso_srm_ladder_columns(op, m, true), ISO_EDEVICE, "needs a CUDA device");
	iso_op_free(op);
	iso_srm_free(m);
	iso_ctx_free(ctx);
}

static void refuse_not_finite(iso_ctx *ctx, const struct problem *p)
{
	iso_srm *m = matrix(p);
	iso_op *row = operator_of(ctx, m, p, SRM_ROW);
	iso_op *column = operator_of(ctx, m, p, SRM_COLUMN);
	iso_op *correlation = operator_of(ctx, m, p, SRM_CORRELATION);
	iso_real *v = to_device(ctx, iso_op_n_out(row), NULL), *x = to_device(ctx, iso_op_n_in(row), NULL);

	OK(iso_ctx_vec(ctx)->fill(ctx, iso_op_n_out(row), v, NAN));
	REFUSED(iso_adjoint(x, row, ISO_ALL, v), ISO_EARG, "not finite");
	REFUSED(iso_adjoint(x, correlation, ISO_ALL, v), ISO_EARG, "not finite");
	OK(iso_ctx_vec(ctx)->fill(ctx, iso_op_n_in(row), x, INFINITY));
	REFUSED(iso_forward(v, column, ISO_ALL, x), ISO_EARG, "not finite");
	REFUSED(iso_forward(v, correlation, ISO_ALL, x), ISO_EARG, "not finite");
	device_free(ctx, v);
	device_free(ctx, x);
	iso_op_free(row);
	iso_op_free(column);
	iso_op_free(correlation);
	iso_srm_free(m);
}

/* Fixed point and halves have no place for them, and zero weights do not keep them out. */
static void not_finite(iso_ctx *ctx)
{
	refuse_not_finite(ctx, &problems[0]);
	refuse_not_finite(ctx, &problems[7]); /* single directions */
}

CUDA_TEST(cuda_values_must_be_finite, not_finite)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strategies_agree_on_the_cpu),
		cmocka_unit_test(ladder_is_of_cuda),
		cmocka_unit_test(cuda_strategies_agree_with_the_cpu),
		cmocka_unit_test(cuda_em_step_is_that_of_the_cpu),
		cmocka_unit_test(cuda_faint_voxels_keep_their_counts),
		cmocka_unit_test(cuda_runs_have_the_same_bits),
		cmocka_unit_test(cuda_clone_projects_alike),
		cmocka_unit_test(cuda_steps_of_chou_agree),
		cmocka_unit_test(cuda_columns_of_meng_agree),
		cmocka_unit_test(cuda_values_must_be_finite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
