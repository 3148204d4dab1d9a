/* SPDX-License-Identifier: BSD-3-Clause */
/* The core by itself: random numbers, sizes, grids, plans, vectors, operators, checkpoints. */
#include "test.h"

#include "algo/checkpoint.h"
#include "core/comm.h"
#include "core/loop/fixed.h"
#include "text/nearest.h"
#include "core/op.h"
#include "core/philox.h"
#include "core/size.h"

#include <omp.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who computes on whose GPU: by UUID, whatever a rank calls it; without one, by machine and place. */
static void sharers_of_gpus(void **state)
{
	const struct iso_gpu own[] = {
		/* two machines with two GPUs each, a rank a GPU, in the same places */
		{ "a", "0000:01:00.0", { 1 } },
		{ "a", "0000:02:00.0", { 2 } },
		{ "b", "0000:01:00.0", { 3 } },
		{ "b", "0000:02:00.0", { 4 } },
		/* a fifth rank on the last GPU, in a container with a name of its own */
		{ "c", "0000:02:00.0", { 4 } },
		/* no UUID: of these the second is in another machine, the third is with the first */
		{ "d", "0000:01:00.0", { 0 } },
		{ "e", "0000:01:00.0", { 0 } },
		{ "d", "0000:01:00.0", { 0 } },
	};
	const int want[] = { 1, 1, 1, 2, 2, 2, 1, 2 };

	(void)state;
	for (int i = 0; i < N_OF(own); i++) assert_int_equal(iso_gpu_sharers(own, N_OF(own), i), want[i]);
	assert_int_equal(iso_gpu_sharers(own, 4, 3), 1);
	assert_int_equal(iso_gpu_sharers(own, 1, 0), 1);
}

/* Known answers of Random123 1.09, file kat_vectors, philox4x32 10. */
static void philox_known_answers(void **state)
{
	static const struct {
		uint32_t counter[4], key[2], want[4];
	} kat[] = {
		{ { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
		  { 0xffffffff, 0xffffffff },
		  { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
		  { 0xa4093822, 0x299f31d0 },
		  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};

	(void)state;
	for (int i = 0; i < N_OF(kat); i++) {
		struct philox c;

		memcpy(c.w, kat[i].counter, sizeof c.w);
		c = philox4x32(c, (uint64_t)kat[i].key[1] << 32 | kat[i].key[0]);
		assert_memory_equal(c.w, kat[i].want, sizeof c.w);
	}
	assert_true(philox_unit(0) > 0 && philox_unit(UINT32_MAX) < 1);
	assert_true(philox_unit_double(0, 0) > 0 && philox_unit_double(UINT32_MAX, UINT32_MAX) < 1);
}

static void poisson_has_mean_and_variance(void **state)
{
	static const double mean[] = { .3, 4, 25, 1e6 };
	int n = 20000;

	(void)state;
	for (int i = 0; i < N_OF(mean); i++) {
		double s = 0, s2 = 0;

		for (int k = 0; k < n; k++) {
			double d = (double)iso_poisson(mean[i], 7, (uint64_t)k) - mean[i];

			s += d;
			s2 += d * d;
		}
		NEAR(s / n, 0, 5 * sqrt(mean[i] / n));
		NEAR(s2 / n / mean[i], 1, 5 * sqrt((2 + 1 / mean[i]) / n));
	}
}

/* Chi-square against exp(-m) m^k / k!, over the k that are expected ten times at least. */
static void poisson_has_its_distribution(void **state)
{
	static const double mean[] = { 4, 12, 25 };
	enum { MOST = 100 };
	int n = 200000;

	(void)state;
	for (int i = 0; i < N_OF(mean); i++) {
		int64_t seen[MOST] = { 0 };
		double chi2 = 0, bins = 0;

		for (int k = 0; k < n; k++) {
			int64_t v = iso_poisson(mean[i], 3, (uint64_t)k);

			assert_true(v >= 0 && v < MOST);
			seen[v]++;
		}
		for (int k = 0; k < MOST; k++) {
			double want = n * exp(k * log(mean[i]) - mean[i] - lgamma(k + 1));

			if (want < 10) continue;
			chi2 += ((double)seen[k] - want) * ((double)seen[k] - want) / want;
			bins++;
		}
		NEAR(chi2, bins, 5 * sqrt(2 * bins));
	}
}

static void sizes_notice_overflow(void **state)
{
	int64_t r;

	(void)state;
	assert_true(size_mul(&r, 1ll << 31, 1ll << 31) && r == 1ll << 62);
	assert_false(size_mul(&r, 1ll << 32, 1ll << 31));
	assert_false(size_mul(&r, -1, 2));
	assert_false(size_add(&r, INT64_MAX, 1));
	assert_false(size_product(&r, 3, (int64_t[]){ 1ll << 30, 1ll << 30, 1ll << 30 }));
	assert_true(size_product(&r, 0, NULL) && r == 1);
	assert_null(size_alloc(INT64_MAX, 2));
}

static void grids_are_checked(void **state)
{
	struct iso_grid g = { { 4, 5, 6 }, { 1, 2, 3 }, { 0, 0, 0 } }, h = g;

	(void)state;
	OK(iso_grid_check(&g));
	assert_int_equal(iso_grid_voxels(&g), 120);
	h.centre[1] += 1e-5;
	assert_true(iso_grid_same(&g, &h));
	h.centre[1] += .1;
	assert_false(iso_grid_same(&g, &h));
	h = g;
	h.voxel[0] += 1e-5; /* of 4 voxels: within 1e-4 at the border; of 40 not */
	assert_true(iso_grid_same(&g, &h));
	g.n[0] = h.n[0] = 40;
	assert_false(iso_grid_same(&g, &h));
	g.n[0] = 4;
	h = g;
	h.n[2] = 0;
	REFUSED(iso_grid_check(&h), ISO_EARG, "size z is 0");
	h = g;
	h.voxel[0] = NAN;
	REFUSED(iso_grid_check(&h), ISO_EARG, "voxel size x");
	h = g;
	h.n[0] = h.n[1] = h.n[2] = 1ll << 22;
	REFUSED(iso_grid_check(&h), ISO_EARG, "64-bit");
}

static void plans_name_what_is_too_large(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_plan p = { 0 };

	(void)state;
	iso_plan_add(&p, "small", 10, 4, false);
	OK(iso_plan_check(ctx, &p));
	iso_plan_add(&p, "huge image", 1000000000000, 4, false);
	REFUSED(iso_plan_check(ctx, &p), ISO_ENOMEM, "huge image");
	iso_plan_add(&p, "beyond 64 bits", INT64_MAX, 16, false);
	REFUSED(iso_plan_check(ctx, &p), ISO_ENOMEM, "beyond 64 bits");
	iso_plan_free(&p);
	OK(iso_plan_check(ctx, &p));
	iso_plan_add(&p, "small", 10, 4, false);
	iso_ctx_set_memory_limit(ctx, 39);
	REFUSED(iso_plan_check(ctx, &p), ISO_ENOMEM, "needs 40 B of host memory, 39 B");
	iso_plan_free(&p);
	iso_ctx_free(ctx);
}

static int64_t free_bytes;

static int tell_free(const iso_ctx *ctx, int64_t *bytes)
{
	(void)ctx;
	*bytes = free_bytes;
	return ISO_OK;
}

static int64_t left_of(const iso_ctx *ctx, int64_t now)
{
	int64_t bytes = -1;

	free_bytes = now;
	OK(iso_ctx_device_left(ctx, &bytes));
	return bytes;
}

/* What was taken of the device since the first look counts. */
static void device_limit(void **state)
{
	const struct iso_cuda_fn device = { .free_memory = tell_free };
	iso_ctx ctx = { .cuda = &device };

	(void)state;
	assert_int_equal(left_of(&ctx, 2000), 2000);
	iso_ctx_set_device_memory_limit(&ctx, 100);
	assert_int_equal(left_of(&ctx, 1000), 100);
	assert_int_equal(left_of(&ctx, 940), 40);
	assert_int_equal(left_of(&ctx, 880), 0);
	iso_ctx_set_device_memory_limit(&ctx, 5000);
	assert_int_equal(left_of(&ctx, 880), 880);
}

static void nearest_words(void **state)
{
	static const char *const known[] = { "iterations", "subsets", "method" };

	(void)state;
	assert_string_equal(iso_nearest("iteration", 3, known), "iterations");
	assert_string_equal(iso_nearest("mehtod", 3, known), "method");
	assert_null(iso_nearest("zzzzzz", 3, known));
}

static void devices_are_named(void **state)
{
	iso_ctx *ctx = NULL;

	(void)state;
	REFUSED(iso_ctx_create(&ctx, "gpu", 0), ISO_EARG, "'gpu' is not one of");
	REFUSED(iso_ctx_create(&ctx, "cuda:x", 0), ISO_EARG, "'cuda:x'");
	REFUSED(iso_ctx_create(&ctx, "cpu", -1), ISO_EARG, "threads is -1");
	assert_true(iso_ctx_create(&ctx, "cuda:999", 0) == ISO_EDEVICE);
	assert_non_null(strstr(iso_message(), "CUDA") ? iso_message() : strstr(iso_message(), "cuda"));
	assert_null(ctx);
	OK(iso_ctx_create(&ctx, "auto", 3));
	assert_int_equal(iso_ctx_threads(ctx), 3);
	iso_ctx_free(ctx);
	ctx = cpu(1);
	REFUSED(iso_ctx_set_stream(ctx, NULL), ISO_EARG, "device is the CPU");
	REFUSED(iso_ctx_follow_stream(ctx, NULL), ISO_EARG, "device is the CPU");
	REFUSED(iso_ctx_lead_stream(ctx, NULL), ISO_EARG, "device is the CPU");
	OK(iso_ctx_wait(ctx));
	iso_ctx_free(ctx);
}

/* A device that can't be opened is told by all that would need it, and nothing is computed elsewhere. */
static void lost_device(void)
{
	iso_ctx *ctx = NULL;
	iso_real *x = NULL, ones[4] = { 1, 1, 1, 1 };
	iso_op *op = NULL;
	char why[512];

	OK(iso_ctx_create_ahead(&ctx, "cuda:999", 2));
	assert_int_equal(iso_ctx_threads(ctx), 2);
	assert_int_equal(iso_ctx_ready(ctx), ISO_EDEVICE);
	snprintf(why, sizeof why, "%s", iso_message());
	assert_int_equal(iso_ctx_ready(ctx), ISO_EDEVICE);
	assert_string_equal(iso_message(), why);
	assert_int_equal(iso_ctx_poll(ctx), ISO_EDEVICE);
	assert_string_equal(iso_message(), why);
	iso_ctx_clear_cancel(ctx);
	assert_int_equal(iso_ctx_poll(ctx), ISO_EDEVICE);
	assert_int_equal(iso_vec_alloc(ctx, &x, 4), ISO_EDEVICE);
	assert_int_equal(iso_diag_create(&op, ctx, 4, ones), ISO_EDEVICE);
	assert_int_equal(iso_ctx_wait(ctx), ISO_EDEVICE);
	assert_int_equal(iso_ctx_set_stream(ctx, NULL), ISO_EDEVICE);
	assert_int_equal(iso_ctx_follow_stream(ctx, NULL), ISO_EDEVICE);
	assert_int_equal(iso_ctx_lead_stream(ctx, NULL), ISO_EDEVICE);
	assert_string_equal(iso_message(), why);
	assert_false(iso_ctx_is_cuda(ctx));
	assert_null(x);
	assert_null(op);
	iso_ctx_free(ctx);
}

static void devices_are_opened_ahead(void **state)
{
	iso_ctx *ctx = NULL, *same = NULL;

	(void)state;
	REFUSED(iso_ctx_create_ahead(&ctx, "gpu", 0), ISO_EARG, "'gpu' is not one of");
	REFUSED(iso_ctx_create_ahead(&ctx, "auto", -1), ISO_EARG, "threads is -1");
	assert_null(ctx);
	OK(iso_ctx_create_ahead(&ctx, "cpu", 2));
	OK(iso_ctx_ready(ctx));
	assert_string_equal(iso_ctx_device(ctx), "cpu");
	iso_ctx_free(ctx);
	OK(iso_ctx_create_ahead(&ctx, "auto", 2));
	OK(iso_ctx_create(&same, "auto", 2));
	iso_real *x = to_device(ctx, 3, NULL); /* waits by itself */

	device_free(ctx, x);
	assert_string_equal(iso_ctx_device(ctx), iso_ctx_device(same));
	assert_string_equal(iso_ctx_device_name(ctx), iso_ctx_device_name(same));
	assert_true(iso_ctx_vec(ctx) == iso_ctx_vec(same));
	OK(iso_ctx_ready(ctx));
	OK(iso_ctx_poll(ctx));
	iso_ctx_free(ctx);
	iso_ctx_free(same);
	lost_device();
	for (int i = 0; i < 20; i++) { /* freed at once */
		OK(iso_ctx_create_ahead(&ctx, i % 2 ? "cuda:999" : "auto", 1));
		iso_ctx_free(ctx);
	}
}

/* While nothing computes any more; the next context finds the device again. */
static void devices_are_closed_ahead(void **state)
{
	iso_real one = 1;
	iso_ctx *ctx = NULL;
	iso_op *op = NULL;

	(void)state;
	for (int i = 0; i < 2; i++) {
		OK(iso_ctx_create(&ctx, "auto", 1));
		OK(iso_diag_create(&op, ctx, 1, &one));
		iso_ctx_close_ahead(ctx);
		assert_null(ctx->closing); /* the operator has it */
		iso_real *x = to_device(ctx, 1, &one), *y = to_device(ctx, 1, NULL);

		OK(iso_forward(y, op, ISO_ALL, x));
		iso_real *got = to_host(ctx, 1, y);

		assert_true(got[0] == 1);
		free(got);
		device_free(ctx, x);
		device_free(ctx, y);
		iso_op_free(op);
		iso_ctx_close_ahead(ctx);
		assert_true(iso_ctx_is_cuda(ctx) == (ctx->closing != NULL));
		iso_ctx_free(ctx);
	}
}

/* Every function of a vector table against its definition. */
static void check_vectors(iso_ctx *ctx)
{
	enum { N = 10007 };
	const struct iso_vec *v = iso_ctx_vec(ctx);
	iso_real *hx = calloc(N, sizeof *hx), *hy = calloc(N, sizeof *hy), *got;
	double r, want = 0, asum = 0;

	for (int i = 0; i < N; i++) {
		hx[i] = (iso_real)(sin(i) * 3);
		hy[i] = (iso_real)(i % 7 == 0 ? 0 : cos(i));
		want += (double)hx[i] * hy[i];
		asum += fabs((double)hx[i]);
	}
	iso_real *x = to_device(ctx, N, hx), *y = to_device(ctx, N, hy), *z = to_device(ctx, N, NULL);

	OK(v->dot(ctx, N, &r, x, y));
	NEAR(r, want, 1e-9 * asum);
	OK(v->asum(ctx, N, &r, x));
	NEAR(r, asum, 1e-12 * asum);
	OK(v->mul(ctx, N, z, x, y));
	got = to_host(ctx, N, z);
	for (int i = 0; i < N; i++) NEAR(got[i], hx[i] * hy[i], 1e-6);
	free(got);
	OK(v->div(ctx, N, z, x, y));
	got = to_host(ctx, N, z);
	for (int i = 0; i < N; i++) NEAR(got[i], hy[i] > 0 ? hx[i] / hy[i] : 0, 1e-6 * fabs((double)got[i]));
	free(got);
	OK(v->fill(ctx, N, z, 2));
	OK(v->axpy(ctx, N, z, -.5, x));
	got = to_host(ctx, N, z);
	for (int i = 0; i < N; i++) NEAR(got[i], 2 - .5 * hx[i], 1e-6);
	free(got);
	OK(v->copy(ctx, N, z, x));
	OK(v->update(ctx, N, z, x, y, .25)); /* x stays where the sensitivity is not above 0 */
	got = to_host(ctx, N, z);
	for (int i = 0; i < N; i++)
		NEAR(got[i], hy[i] > 0 ? hx[i] / (.25 * hy[i]) : hx[i], 1e-5 * fabs((double)got[i]));
	free(got);
	OK(v->uniform(ctx, N, z, 42));
	got = to_host(ctx, N, z);
	for (int i = 0; i < N; i++) assert_true(got[i] == philox_unit(philox_draw(42, (uint64_t)i, 0).w[0]));
	free(got);
	device_free(ctx, x);
	device_free(ctx, y);
	device_free(ctx, z);
	device_free(ctx, NULL);
	free(hx);
	free(hy);
}

static void vectors(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_vectors(ctx);
	iso_ctx_free(ctx);
}

static void sums_do_not_depend_on_threads(void **state)
{
	enum { N = 100003 };
	iso_real *x = calloc(N, sizeof *x);
	double r[3];
	int threads[] = { 1, 2, 7 };

	(void)state;
	for (int t = 0; t < 3; t++) {
		iso_ctx *ctx = cpu(threads[t]);

		OK(iso_ctx_vec(ctx)->uniform(ctx, N, x, 3));
		OK(iso_ctx_vec(ctx)->dot(ctx, N, &r[t], x, x));
		iso_ctx_free(ctx);
	}
	assert_true(r[0] == r[1] && r[1] == r[2]);
	free(x);
}

static void fixed_point_sums(void **state)
{
	(void)state;
	for (int threads = 1; threads <= 4; threads += 3) {
		iso_ctx *ctx = cpu(threads);
		struct iso_fixed f;
		iso_real x[2];

		/* 0: private copies; one shared copy 1: with too little memory for them, 2: with too
		   little work */
		for (int shared = 0; shared < 3; shared++) {
			iso_ctx_set_memory_limit(ctx, shared == 1 ? 100 : 0);
			OK(iso_fixed_create(&f, ctx, 2, shared == 2 ? 1 : 1000));
			assert_int_equal(f.atomic, shared && threads > 1);
			iso_fixed_begin(&f, ctx, 1000);
#pragma omp parallel for num_threads(threads)
			for (int i = 0; i < 1000; i++)
				iso_fixed_add(&f, omp_get_thread_num(), i % 2, (i % 2 ? -1 : .75) * f.scale);
			iso_fixed_end(x, &f, ctx);
			NEAR(x[0], 375, 0);
			NEAR(x[1], -500, 0);
			iso_fixed_free(&f);
		}
		iso_ctx_free(ctx);
	}
}

/* ---- operators ---- */

/* A small dense matrix in two subsets, the rows of each in reverse: enough to see the seams. */
struct dense {
	int64_t rows, cols;
	const iso_real *a;
};

static int dense_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct dense *d = op->data;
	struct iso_rows r = iso_op_rows(op, sub);

	for (int64_t i = r.first; i < r.first + r.n; i++) {
		y[i] = 0;
		for (int64_t j = 0; j < d->cols; j++) y[i] += d->a[i * d->cols + j] * x[j];
	}
	return ISO_OK;
}

static int dense_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct dense *d = op->data;
	struct iso_rows r = iso_op_rows(op, sub);

	memset(x, 0, (size_t)d->cols * sizeof *x);
	for (int64_t i = r.first; i < r.first + r.n; i++)
		for (int64_t j = 0; j < d->cols; j++) x[j] += d->a[i * d->cols + j] * y[i];
	return ISO_OK;
}

static struct iso_rows dense_rows(const iso_op *op, int sub)
{
	int64_t half = op->n_out / 2;

	return sub ? (struct iso_rows){ half, op->n_out - half } : (struct iso_rows){ 0, half };
}

static int64_t dense_file_row(const iso_op *op, int64_t row)
{
	return op->n_out - 1 - row;
}

static const struct iso_op_fn dense_fn = {
	.forward = dense_forward,
	.adjoint = dense_adjoint,
	.rows = dense_rows,
	.file_row = dense_file_row,
};

enum { ROWS = 9, COLS = 5 };
static iso_real matrix[ROWS * COLS];

static iso_op *dense(iso_ctx *ctx)
{
	struct dense *d = malloc(sizeof *d);
	iso_op *op = NULL;

	for (int i = 0; i < ROWS * COLS; i++) matrix[i] = (iso_real)(1 + (i * 7) % 11);
	*d = (struct dense){ ROWS, COLS, matrix };
	OK(iso_op_create(&op, ctx, &dense_fn, COLS, ROWS, 2, d));
	return op;
}

static void operators_have_subsets_and_clones(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = dense(ctx), *clone = NULL;
	iso_real x[COLS] = { 1, 2, 3, 4, 5 }, y[ROWS], z[ROWS], sorted[ROWS], back[ROWS];

	(void)state;
	OK(iso_forward(y, op, ISO_ALL, x));
	OK(iso_op_clone(&clone, op));
	iso_op_free(op); /* the clone keeps the tables */
	OK(iso_forward(z, clone, 0, x));
	OK(iso_forward(z, clone, 1, x));
	assert_memory_equal(y, z, sizeof y);
	REFUSED(iso_forward(z, clone, 2, x), ISO_EARG, "subset is 2");
	iso_op_sort(sorted, clone, y);
	assert_true(sorted[0] == y[ROWS - 1]);
	iso_op_unsort(back, clone, sorted);
	assert_memory_equal(back, y, sizeof y);
	clone->busy = 1;
	REFUSED(iso_forward(z, clone, 0, x), ISO_EBUSY, "clone it");
	clone->busy = 0;
	iso_ctx_cancel(ctx);
	REFUSED(iso_forward(z, clone, 0, x), ISO_ECANCEL, "stopped");
	iso_op_free(clone);
	iso_op_free(NULL);
	iso_ctx_free(ctx);
}

static void chain_and_diagonal(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *a = dense(ctx), *d = NULL, *c = NULL;
	iso_real weight[COLS] = { .5f, 2, 1, 0, 3 }, x[COLS] = { 1, 2, 3, 4, 5 };
	iso_real y[ROWS], acc[COLS], ref[COLS], counts[ROWS], add[ROWS], mult[ROWS];
	struct iso_em_data data = { counts, add, mult };
	struct iso_em_stat s, t;
	double err = 1;

	(void)state;
	OK(iso_diag_create(&d, ctx, COLS, weight));
	OK(iso_chain_create(&c, a, d));
	iso_op_free(a);
	iso_op_free(d); /* the chain keeps both */
	assert_int_equal(iso_op_n_sub(c), 2);
	OK(iso_forward(y, c, ISO_ALL, x));
	for (int i = 0; i < ROWS; i++) {
		double want = 0;

		for (int j = 0; j < COLS; j++) want += (double)matrix[i * COLS + j] * weight[j] * x[j];
		NEAR(y[i], want, 1e-4);
		counts[i] = (iso_real)(i + 1);
		add[i] = (iso_real)(i % 3);
		mult[i] = i == 4 ? 0 : .5f;
	}
	OK(iso_test_adjoint(&err, c, ISO_ALL, 1));
	BELOW(err, 1e-6);
	for (int sub = ISO_ALL; sub < 2; sub++) {
		OK(iso_op_em_step(acc, &s, c, sub, x, &data));
		OK(iso_em_step_plain(c, sub, ref, x, &data, &t));
		for (int j = 0; j < COLS; j++) NEAR(acc[j], ref[j], 1e-5 * ref[j]);
		NEAR(s.loglik, t.loglik, 1e-6);
		assert_int_equal(s.used, t.used);
		assert_int_equal(s.skipped, t.skipped);
		NEAR(s.lost, sub == 0 ? 0 : counts[4], 0);
		NEAR(s.lost, t.lost, 0);
	}
	iso_op_free(c);
	iso_ctx_free(ctx);
}

/* Sums of iso_op_em_step as isotome.h defines them, row by row: row 0 has m = 0, row 1 no expectation,
   row 2 neither expectation nor counts, row 3 an additive term alone. */
static void em_step_by_hand(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = dense(ctx);
	iso_real x[COLS] = { 1, 2, 0, 4, 5 }, y[ROWS] = { 7, 3, 0, 2, 5, 1, 0, 4, 6 };
	iso_real add[ROWS] = { 1, 0, 0, 2, 3 }, mult[ROWS] = { 0, 1, 1, .5f, 2, 3, 1, 1, .25f };
	iso_real acc[COLS];
	double want[COLS] = { 0 }, loglik = 0;
	struct iso_em_stat s;

	(void)state;
	memset(matrix + COLS, 0, 3 * COLS * sizeof *matrix);
	for (int i = 3; i < ROWS; i++) {
		double ax = 0;

		for (int j = 0; j < COLS; j++) ax += (double)matrix[i * COLS + j] * x[j];
		loglik += y[i] * log(mult[i] * (ax + add[i]));
		for (int j = 0; j < COLS; j++)
			want[j] += (double)x[j] * matrix[i * COLS + j] * y[i] / (ax + add[i]);
	}
	OK(iso_op_em_step(acc, &s, op, ISO_ALL, x, &(struct iso_em_data){ y, add, mult }));
	for (int j = 0; j < COLS; j++) NEAR(acc[j], want[j], 1e-5 * want[j]);
	NEAR(s.loglik, loglik, 1e-5 * loglik);
	NEAR(s.counts, 5 + 1 + 4 + 6, 0);
	NEAR(s.lost, 7 + 3, 0);
	assert_int_equal(s.used, 6);
	assert_int_equal(s.skipped, 3);
	OK(iso_op_em_step(acc, &s, op, ISO_ALL, x, &(struct iso_em_data){ .add = add, .mult = mult }));
	NEAR(s.lost, 3, 0); /* list mode: the events skipped */
	iso_op_free(op);
	iso_ctx_free(ctx);
}

static void chain_refuses_what_does_not_fit(void **state)
{
	iso_ctx *ctx = cpu(1), *other = cpu(1);
	iso_real one[3] = { 1, 1, 1 };
	iso_op *a = NULL, *b = NULL, *d = dense(ctx), *c = NULL;

	(void)state;
	OK(iso_diag_create(&a, ctx, 3, one));
	OK(iso_diag_create(&b, other, 3, one));
	REFUSED(iso_chain_create(&c, d, a), ISO_EARG, "gives 3 values, the outer one takes 5");
	REFUSED(iso_chain_create(&c, a, b), ISO_EARG, "different contexts");
	REFUSED(iso_diag_create(&c, ctx, 0, one), ISO_EARG, "n is 0");
	iso_op_free(a);
	iso_op_free(b);
	iso_op_free(d);
	iso_ctx_free(ctx);
	iso_ctx_free(other);
}

/* ---- checkpoints ---- */

static void overwrite(const char *path, long at, char byte)
{
	FILE *f = fopen(path, "r+b");

	assert_non_null(f);
	assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
	assert_int_equal(fwrite(&byte, 1, 1, f), 1);
	fclose(f);
}

static void checkpoints(void **state)
{
	const char *path = "test_core.ckpt";
	iso_real x[3] = { 1, 2, 3 }, x2[3] = { 0 };
	double d[2] = { .5, -1 }, d2[2] = { 0 };
	int64_t c = 1ll << 40, c2 = 0;
	struct iso_item out[] = { { "x", ISO_ITEM_REAL, 3, x },
		                  { "d", ISO_ITEM_DOUBLE, 2, d },
		                  { "c", ISO_ITEM_INT64, 1, &c } };
	struct iso_item in[] = { { "x", ISO_ITEM_REAL, 3, x2 },
		                 { "d", ISO_ITEM_DOUBLE, 2, d2 },
		                 { "c", ISO_ITEM_INT64, 1, &c2 } };
	struct stat info;
	char *header = NULL;

	(void)state;
	unlink(path);
	REFUSED(iso_checkpoint_read(path, 9, 3, in), ISO_EINPUT, "No such file");
	OK(iso_checkpoint_write(path, 9, 3, out));
	OK(iso_checkpoint_read(path, 9, 3, in));
	assert_memory_equal(x, x2, sizeof x);
	assert_memory_equal(d, d2, sizeof d);
	assert_true(c == c2);
	REFUSED(iso_checkpoint_read(path, 10, 3, in), ISO_EINPUT, "other inputs or options");
	OK(iso_checkpoint_info(&header, path));
	assert_non_null(strstr(header, "\"key\":\"0000000000000009\""));
	free(header);
	in[0].n = 2;
	REFUSED(iso_checkpoint_read(path, 9, 3, in), ISO_EINPUT, "other vectors");
	in[0].n = 3;
	overwrite(path, -12, 'x');
	REFUSED(iso_checkpoint_read(path, 9, 3, in), ISO_EINPUT, "hash differs");
	REFUSED(iso_checkpoint_info(&header, path), ISO_EINPUT, "hash differs");
	OK(iso_checkpoint_write(path, 9, 3, out));
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(truncate(path, info.st_size - 1), 0);
	REFUSED(iso_checkpoint_read(path, 9, 3, in), ISO_EINPUT, "bytes, must be");
	assert_int_equal(truncate(path, 10), 0);
	REFUSED(iso_checkpoint_read(path, 9, 3, in), ISO_EINPUT, "ends within");
	OK(iso_checkpoint_write(path, 9, 3, out));
	overwrite(path, 0, 'x');
	REFUSED(iso_checkpoint_read(path, 9, 3, in), ISO_EINPUT, "not a checkpoint");
	OK(iso_checkpoint_write(path, 9, 3, out));
	overwrite(path, 8, 7);
	REFUSED(iso_checkpoint_read(path, 9, 3, in), ISO_EINPUT, "version 7");
	unlink(path);
}

static void messages_are_one_line(void **state)
{
	(void)state;
	iso_fail(ISO_EARG, "a%sb", "\n\t\033[1m");
	assert_string_equal(iso_message(), "a???[1mb");
	iso_fail(ISO_EARG, "again: %s", iso_message());
	assert_string_equal(iso_message(), "again: a???[1mb");
	assert_string_equal(iso_bytes(1536), "1.5 KiB");
	assert_string_equal(iso_bytes(12), "12 B");
}

/* ---- CUDA ---- */

static void cuda_vectors(void **state)
{
	iso_ctx *ctx = cuda_or_skip();

	(void)state;
	check_vectors(ctx);
	OK(iso_ctx_set_stream(ctx, NULL)); /* the caller's: here the default stream */
	check_vectors(ctx);
	iso_ctx_free(ctx);
}

/* The stream of a second context is the caller's. What is long under way there is read when it is done, and the
   caller reads the result, and overwrites what it was made of, without waiting on the host. */
static void cuda_streams_are_in_order(void **state)
{
	iso_ctx *ctx = cuda_or_skip(), *caller = cuda_or_skip();
	const struct iso_vec *v = iso_ctx_vec(caller);
	const int64_t n = 1 << 26;
	iso_real *x = to_device(ctx, n, NULL), *y = to_device(ctx, n, NULL), last = 0;
	void *stream = iso_ctx_stream(caller);

	(void)state;
	OK(iso_ctx_wait(ctx));
	OK(v->fill(caller, 1, x, 0)); /* the first launch may take long on the host */
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 100; i++) OK(v->fill(caller, n, x, 100 * turn + i));
		OK(iso_ctx_follow_stream(ctx, stream));
		for (int i = 0; i < 100; i++) OK(v->copy(ctx, n, y, x));
		OK(iso_ctx_lead_stream(ctx, stream));
		OK(v->fill(caller, n, x, -1));
		OK(v->download(caller, &last, y + n - 1, sizeof last));
		NEAR(last, 100 * turn + 99, 0);
	}
	OK(iso_ctx_follow_stream(ctx, NULL)); /* the default stream */
	OK(iso_ctx_lead_stream(ctx, NULL));
	OK(iso_ctx_wait(ctx));
	device_free(ctx, x);
	device_free(ctx, y);
	iso_ctx_free(caller);
	iso_ctx_free(ctx);
}

static void cuda_chain_and_diagonal(void **state)
{
	iso_ctx *ctx = cuda_or_skip();
	iso_real a[4] = { 1, 2, 3, 4 }, b[4] = { 2, -1, .5f, 0 };
	iso_op *oa = NULL, *ob = NULL, *c = NULL;
	double err = 1;

	(void)state;
	OK(iso_diag_create(&oa, ctx, 4, a));
	OK(iso_diag_create(&ob, ctx, 4, b));
	OK(iso_chain_create(&c, oa, ob));
	iso_op_free(oa);
	iso_op_free(ob);
	OK(iso_test_adjoint(&err, c, ISO_ALL, 1));
	BELOW(err, 1e-6);
	iso_real *x = to_device(ctx, 4, a), *y = to_device(ctx, 4, NULL);

	OK(iso_forward(y, c, ISO_ALL, x));
	iso_real *got = to_host(ctx, 4, y);

	for (int i = 0; i < 4; i++) NEAR(got[i], a[i] * a[i] * b[i], 1e-6);
	free(got);
	device_free(ctx, x);
	device_free(ctx, y);
	iso_op_free(c);
	iso_ctx_free(ctx);
}

static void cuda_memory_runs_out(void **state)
{
	iso_ctx *ctx = cuda_or_skip();
	struct iso_plan p = { 0 };
	void *x = NULL;

	(void)state;
	iso_plan_add(&p, "a petabyte", 1ll << 50, 1, true);
	REFUSED(iso_plan_check(ctx, &p), ISO_ENOMEM, "device memory");
	iso_plan_free(&p);
	REFUSED(iso_ctx_vec(ctx)->alloc(ctx, &x, 1ll << 50), ISO_ENOMEM, "1.0 PiB");
	OK(iso_ctx_vec(ctx)->alloc(ctx, &x, 1 << 20)); /* the failure left nothing behind */
	device_free(ctx, x);
	iso_ctx_free(ctx);
}

/* A float whose exponent lies within `spread` of 1's; few bits of significand, so that sums often end in ties. */
static float few_bits(uint32_t random, int spread)
{
	float m = 1 + (float)(random & 0xfff) / 4096 + (float)(random >> 12 & 1) * 0x1p-23f;

	return ldexpf(random >> 13 & 1 ? m : -m, (int)(random >> 14) % (spread + 1) - spread / 2);
}

/* In double as by the instruction, or the C library: ties, cancellation, subnormal numbers, overflow, NaN. */
static void fused_multiply_add_in_double(void **state)
{
	const float special[] = { 0,        -0.f,      1,  0x1p-149f, 0x1.fffffep127f, -0x1.fffffep127f,
		                  INFINITY, -INFINITY, NAN };
	enum { S = N_OF(special), RANDOM = 2000000 };

	(void)state;
	for (int64_t i = 0; i < RANDOM + S * S * S; i++) {
		struct philox r = philox4x32((struct philox){ { (uint32_t)i } }, 7);
		int spread = i % 3 ? 60 : 250;
		float a = few_bits(r.w[0], spread), b = few_bits(r.w[1], spread),
		      c = few_bits(r.w[2], spread), got, want;
		int64_t s = i - RANDOM;

		if (i % 2) c = ldexpf(c, ilogbf(a) + ilogbf(b) + (int)(r.w[3] % 60) - 30);
		if (s >= 0) a = special[s % S], b = special[s / S % S], c = special[s / S / S];
		got = iso_fmaf_by_double(a, b, c);
		want = fmaf(a, b, c);
		if (isnan(want) ? !isnan(got) : memcmp(&got, &want, sizeof got) != 0)
			fail_msg("%a * %a + %a is %a, not %a", a, b, c, want, got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(philox_known_answers),
		cmocka_unit_test(poisson_has_mean_and_variance),
		cmocka_unit_test(poisson_has_its_distribution),
		cmocka_unit_test(sizes_notice_overflow),
		cmocka_unit_test(grids_are_checked),
		cmocka_unit_test(plans_name_what_is_too_large),
		cmocka_unit_test(device_limit),
		cmocka_unit_test(nearest_words),
		cmocka_unit_test(devices_are_named),
		cmocka_unit_test(devices_are_opened_ahead),
		cmocka_unit_test(devices_are_closed_ahead),
		cmocka_unit_test(vectors),
		cmocka_unit_test(sums_do_not_depend_on_threads),
		cmocka_unit_test(fixed_point_sums),
		cmocka_unit_test(operators_have_subsets_and_clones),
		cmocka_unit_test(chain_and_diagonal),
		cmocka_unit_test(em_step_by_hand),
		cmocka_unit_test(chain_refuses_what_does_not_fit),
		cmocka_unit_test(checkpoints),
		cmocka_unit_test(messages_are_one_line),
		cmocka_unit_test(fused_multiply_add_in_double),
		cmocka_unit_test(sharers_of_gpus),
		cmocka_unit_test(cuda_vectors),
		cmocka_unit_test(cuda_streams_are_in_order),
		cmocka_unit_test(cuda_chain_and_diagonal),
		cmocka_unit_test(cuda_memory_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
