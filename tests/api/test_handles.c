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
	struct iso_simulated info = { .size = sizeof info };
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
	assert_int_equal(iso_svoxel_settle(z), 0);
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
	struct iso_simulated info = { .size = sizeof info };
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

/* ---- parameters of a problem ---- */

/* The value that a parameter has now. */
static const char *value_of(iso_problem *p, const char *name)
{
	struct iso_param a = { .size = sizeof a };

	for (int k = 0; iso_problem_param(&a, p, k) == ISO_OK; k++)
		if (strcmp(a.name, name) == 0) return a.value;
	return NULL;
}

static void parameters_from_numbers(void **state)
{
	const double grid[] = { 4, 5, 6 }, third = 1. / 3;
	iso_ctx *ctx = cpu(1);
	iso_problem *p = NULL;
	struct iso_grid g;

	(void)state;
	OK(iso_problem_create(&p, ctx, "ray"));
	OK(iso_problem_set_reals(p, "grid", grid, 3));
	OK(iso_problem_set_real(p, "voxel", third));
	OK(iso_problem_grid(&g, p));
	assert_int_equal(g.n[2], 6);
	assert_true(g.voxel[1] == third); /* no digit is lost */
	OK(iso_problem_set_int(p, "iterations", 7));
	assert_string_equal(value_of(p, "iterations"), "7");
	OK(iso_problem_set_flag(p, "force", true));
	assert_string_equal(value_of(p, "force"), "true");
	OK(iso_problem_set_flag(p, "force", false));
	assert_string_equal(value_of(p, "force"), "false");

	REFUSED(iso_problem_set_int(p, "iterations", 0), ISO_EARG, "'iterations' is 0, must be");
	REFUSED(iso_problem_set_real(p, "iterations", 2.5), ISO_EARG, "'iterations' is '2.5', must be");
	REFUSED(iso_problem_set_real(p, "voxel", NAN), ISO_EARG, "'voxel'");
	REFUSED(iso_problem_set_int(p, "events", 3), ISO_EARG, "'events' is the number 3, must be FILE");
	REFUSED(iso_problem_set_reals(p, "grid", grid, 0), ISO_EARG, "must be 1 to");
	REFUSED(iso_problem_set_int(p, "iteration", 3), ISO_EARG, "did you mean 'iterations'?");
	assert_string_equal(value_of(p, "iterations"), "7");
	iso_problem_free(p);
	iso_ctx_free(ctx);
}

/* A value of any length comes back as it was set. */
static void long_values(void **state)
{
	static char path[4096];
	iso_ctx *ctx = cpu(1);
	iso_problem *p = NULL;

	(void)state;
	memset(path, 'x', sizeof path - 1);
	for (int i = 0; i < (int)sizeof path - 1; i += 200) path[i] = '/';
	OK(iso_problem_create(&p, ctx, "ray"));
	OK(iso_problem_set(p, "cache", path));
	assert_string_equal(value_of(p, "cache"), path);
	iso_problem_free(p);
	iso_ctx_free(ctx);
}

/* ---- versions ---- */

static void versions(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof text, "%d.%d.%d", ISO_VERSION_MAJOR, ISO_VERSION_MINOR, ISO_VERSION_PATCH);
	assert_string_equal(iso_version(), text);
	OK(iso_version_check(ISO_VERSION_NUMBER));
	OK(iso_version_check(ISO_VERSION_OF(ISO_VERSION_MAJOR, ISO_VERSION_MINOR, 0)));
	REFUSED(iso_version_check(ISO_VERSION_NUMBER + 1), ISO_EARG, text);
	REFUSED(iso_version_check(ISO_VERSION_OF(0, ISO_VERSION_MINOR - 1, 9)), ISO_EARG,
	        "was built for version 0.");
	REFUSED(iso_version_check(ISO_VERSION_OF(ISO_VERSION_MAJOR + 1, 0, 0)), ISO_EARG, text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(context_freed_first),
		cmocka_unit_test(failure_keeps_nothing),
		cmocka_unit_test(cancel_is_cleared),
		cmocka_unit_test(plan_of_many_lines),
		cmocka_unit_test(sizes_of_structs),
		cmocka_unit_test(size_0_is_refused),
		cmocka_unit_test(members_that_are_needed),
		cmocka_unit_test(parameters_from_numbers),
		cmocka_unit_test(long_values),
		cmocka_unit_test(versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
