/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles as a program of somebody else has them, linked with libisotome.so alone: contexts that are
   freed before their operators, requests to stop that are taken back, and plans of any length. */
#include "test.h"

enum { N = 4 };

static const iso_real weight[N] = { 1, 2, 3, 4 }, ones[N] = { 1, 1, 1, 1 };

static iso_op *diagonal(iso_ctx *ctx)
{
	iso_op *op = NULL;

	OK(iso_diag_create(&op, ctx, N, weight));
	return op;
}

/* The last of the operators frees the context: the address sanitizer sees if it is used after that,
   or never freed. */
static void context_freed_first(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *a = diagonal(ctx), *b = diagonal(ctx), *chain = NULL, *clone = NULL;
	iso_real y[N];

	(void)state;
	iso_ctx_free(ctx);
	OK(iso_chain_create(&chain, a, b));
	OK(iso_op_clone(&clone, b));
	iso_op_free(a);
	iso_op_free(b);
	assert_int_equal(iso_ctx_threads(iso_op_ctx(chain)), 1);
	OK(iso_forward(chain, ISO_ALL, y, ones));
	for (int i = 0; i < N; i++) assert_true(y[i] == weight[i] * weight[i]);
	iso_op_free(chain);
	OK(iso_adjoint(clone, ISO_ALL, y, ones));
	assert_memory_equal(y, weight, sizeof y);
	iso_op_free(clone);
	iso_ctx_free(NULL);
}

/* An operator that could not be made keeps nothing. */
static void failure_keeps_nothing(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;

	(void)state;
	REFUSED(iso_diag_create(&op, ctx, 0, weight), ISO_EARG, "diag");
	assert_null(op);
	iso_ctx_free(ctx);
}

static void cancel_is_cleared(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = diagonal(ctx);
	iso_real y[N];

	(void)state;
	iso_ctx_cancel(ctx);
	assert_true(iso_ctx_cancelled(ctx));
	REFUSED(iso_forward(op, ISO_ALL, y, ones), ISO_ECANCEL, "stopped on request");
	REFUSED(iso_forward(op, ISO_ALL, y, ones), ISO_ECANCEL, "stopped on request");
	iso_ctx_clear_cancel(ctx);
	assert_false(iso_ctx_cancelled(ctx));
	OK(iso_forward(op, ISO_ALL, y, ones));
	assert_memory_equal(y, weight, sizeof y);
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* As many lines as are added, in their order; `what` may be gone. */
static void plan_of_many_lines(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_plan plan = { 0 };
	int64_t host, device;
	char what[120];

	(void)state;
	iso_plan_total(&plan, &host, &device);
	assert_int_equal(host + device, 0);
	OK(iso_plan_check(&plan, ctx));
	for (int i = 0; i < 1000; i++) {
		snprintf(what, sizeof what, "line %d %0100d", i, 0); /* longer than is kept */
		iso_plan_add(&plan, what, i, 8, i % 2);
	}
	assert_int_equal(iso_plan_size(&plan), 1000);
	assert_int_equal(iso_plan_line(&plan, 998).host, 998 * 8);
	assert_int_equal(iso_plan_line(&plan, 999).device, 999 * 8);
	assert_memory_equal(iso_plan_line(&plan, 777).what, "line 777 0000", 13);
	iso_plan_total(&plan, &host, &device);
	assert_int_equal(host, 8 * 249500);
	assert_int_equal(device, 8 * 250000);
	OK(iso_plan_check(&plan, ctx));
	iso_plan_free(&plan);
	assert_int_equal(iso_plan_size(&plan), 0);
	iso_plan_free(&plan);
	iso_ctx_free(ctx);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(context_freed_first),
		cmocka_unit_test(failure_keeps_nothing),
		cmocka_unit_test(cancel_is_cleared),
		cmocka_unit_test(plan_of_many_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
