/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles as a program of somebody else has them, linked with libisotome.so alone: contexts that are
   freed before their operators, requests to stop that are taken back, plans of any length, and structs of
   parameters of other versions. */
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
	OK(iso_forward(y, chain, ISO_ALL, ones));
	for (int i = 0; i < N; i++) assert_true(y[i] == weight[i] * weight[i]);
	iso_op_free(chain);
	OK(iso_adjoint(y, clone, ISO_ALL, ones));
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
	REFUSED(iso_forward(y, op, ISO_ALL, ones), ISO_ECANCEL, "stopped on request");
	REFUSED(iso_forward(y, op, ISO_ALL, ones), ISO_ECANCEL, "stopped on request");
	iso_ctx_clear_cancel(ctx);
	assert_false(iso_ctx_cancelled(ctx));
	OK(iso_forward(y, op, ISO_ALL, ones));
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
	iso_plan_total(&host, &device, &plan);
	assert_int_equal(host + device, 0);
	OK(iso_plan_check(ctx, &plan));
	for (int i = 0; i < 1000; i++) {
		snprintf(what, sizeof what, "line %d %0100d", i, 0); /* longer than is kept */
		iso_plan_add(&plan, what, i, 8, i % 2);
	}
	assert_int_equal(iso_plan_size(&plan), 1000);
	assert_int_equal(iso_plan_line(&plan, 998).host, 998 * 8);
	assert_int_equal(iso_plan_line(&plan, 999).device, 999 * 8);
	assert_memory_equal(iso_plan_line(&plan, 777).what, "line 777 0000", 13);
	iso_plan_total(&host, &device, &plan);
	assert_int_equal(host, 8 * 249500);
	assert_int_equal(device, 8 * 250000);
	OK(iso_plan_check(ctx, &plan));
	iso_plan_free(&plan);
	assert_int_equal(iso_plan_size(&plan), 0);
	iso_plan_free(&plan);
	iso_ctx_free(ctx);
}

/* Parameters of other versions: a smaller struct has zeros for what it lacks, a larger one may only have
   zeros in what this version does not know, and one of no size is a mistake. */
static void sizes_of_structs(void **state)
{
	struct {
		struct iso_ubp p;
		char more[8];
	} newer = { .p = { .size = sizeof newer } };
	struct iso_strip strip = { .size = sizeof strip,
		                   .strips = { 130, 300, 10, 40, 0, 0 },
		                   .ny = 3,
		                   .nz = 5,
		                   .pixel = 4,
		                   .n_sub = 1,
		                   .seed = 7 };
	iso_real whole[15], part[15];
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;

	(void)state;
	OK(iso_strip_sens(whole, &strip, false));
	strip.size = offsetof(struct iso_strip, kernel);
	strip.kernel = (enum iso_strip_kernel)99; /* beyond its size: not seen */
	OK(iso_strip_sens(part, &strip, false));
	assert_memory_equal(whole, part, sizeof whole);
	strip.size = offsetof(struct iso_strip, pixel); /* pixels of 0 mm */
	REFUSED(iso_strip_sens(part, &strip, false), ISO_EARG, "voxel size x is 0 mm");
	strip.size = 0;
	REFUSED(iso_strip_sens(part, &strip, false), ISO_EARG, "struct iso_strip: size is 0");
	REFUSED(iso_ubp_create(&op, ctx, &newer.p), ISO_EARG, "iso_transducers_hear"); /* its size is taken */
	newer.more[7] = 1;
	REFUSED(iso_ubp_create(&op, ctx, &newer.p), ISO_EARG, "does not know");
	assert_null(op);
	iso_ctx_free(ctx);
}

/* Every struct that begins with its size is refused without. */
static void size_0_is_refused(void **state)
{
	static max_align_t zeros[256];
	static void *const z = zeros;
	iso_real value[8];
	struct iso_events e = { 0 };
	struct iso_strip_events s = { 0 };
	struct iso_simulated info;
	struct iso_pixels pixels;
	iso_event_file *file = NULL;
	iso_ray_scratch *scratch = NULL;
	iso_srm *srm = NULL;
	iso_op *op = NULL;
	iso_ctx *ctx = cpu(1);
	double error;
	const int st[] = {
		iso_ray_create(&op, ctx, z, &e),
		iso_ray_stream_create(&op, ctx, z, z, 1),
		iso_ray_stream_create(&op, ctx, &(struct iso_ray){ .size = sizeof(struct iso_ray) }, z, 1),
		iso_ray_scratch_create(&scratch, ctx, z, z, "."),
		iso_ray_sens(value, &error, ctx, z),
		iso_events_read(&e, "e.lmdT", z),
		iso_event_file_open(&file, "e.lmdT", z),
		iso_strip_events_read(&s, "e.f32", z),
		iso_strip_create(&op, ctx, z, &s),
		iso_strip_direct(value, &(int64_t){ 0 }, z, &s),
		iso_srm_create(&srm, z, z),
		iso_srm_op_create(&op, ctx, z),
		iso_ubp_create(&op, ctx, z),
		iso_svoxel_create(&op, ctx, z),
		iso_svoxel_lines(z, 0),
		iso_svoxel_lines_at(z, 1, 1, 1),
		iso_svoxel_spectra(value, ctx, z, value),
		iso_sradon_create(&op, ctx, z),
		iso_sradon_integrals(&op, ctx, z),
		iso_simulate(&e, &info, ctx, z),
		iso_simulate_singles(value, z),
		iso_picture_render(&pixels, NULL, z, z),
	};

	(void)state;
	for (int i = 0; i < N_OF(st); i++)
		if (st[i] != ISO_EARG) fail_msg("call %d: status %d", i, st[i]);
	REFUSED(iso_picture_render(&pixels, NULL, z, z), ISO_EARG, "size is 0, must be");
	iso_ctx_free(ctx);
}

/* Of parameters that are all 0, what must not be NULL is found. */
static void members_that_are_needed(void **state)
{
	const struct iso_simulate simulate = { .size = sizeof simulate };
	const struct iso_ray_sens sens = { .size = sizeof sens };
	const struct iso_srm_model srm = { .size = sizeof srm };
	const struct iso_ubp ubp = { .size = sizeof ubp };
	const struct iso_svoxel svoxel = { .size = sizeof svoxel };
	const struct iso_sradon sradon = { .size = sizeof sradon };
	struct iso_events e = { 0 };
	struct iso_simulated info;
	iso_real value[8];
	iso_op *op = NULL;
	iso_ctx *ctx = cpu(1);
	double error;

	(void)state;
	REFUSED(iso_simulate(&e, &info, ctx, &simulate), ISO_EARG, "is NULL");
	REFUSED(iso_simulate_singles(value, &simulate), ISO_EARG, "is NULL");
	REFUSED(iso_ray_sens(value, &error, ctx, &sens), ISO_EARG, "is NULL");
	REFUSED(iso_srm_op_create(&op, ctx, &srm), ISO_EARG, "is NULL");
	REFUSED(iso_ubp_create(&op, ctx, &ubp), ISO_EARG, "is NULL");
	REFUSED(iso_svoxel_create(&op, ctx, &svoxel), ISO_EARG, "is NULL");
	REFUSED(iso_sradon_create(&op, ctx, &sradon), ISO_EARG, "is NULL");
	iso_ctx_free(ctx);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(context_freed_first),     cmocka_unit_test(failure_keeps_nothing),
		cmocka_unit_test(cancel_is_cleared),       cmocka_unit_test(plan_of_many_lines),
		cmocka_unit_test(sizes_of_structs),        cmocka_unit_test(size_0_is_refused),
		cmocka_unit_test(members_that_are_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
