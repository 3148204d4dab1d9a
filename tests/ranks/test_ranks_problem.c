/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems of C callers over ranks: rank 0 writes, a failure of one rank is everybody's, checkpoints serve any number;
   run by mpirun with one to four ranks, which share a folder. */
#include "core/comm.h"
#include "file/out.h"
#include "test.h"

#include <unistd.h>

enum { VIEWS = 12, SAMPLES = 64 };

static iso_ctx *ctx;

static int make_context(void **state)
{
	(void)state;
	OK(iso_ctx_create_ranks(&ctx, "cpu", 1, NULL));
	return 0;
}

static int free_context(void **state)
{
	(void)state;
	iso_ctx_free(ctx);
	ctx = NULL;
	return 0;
}

/* Traces of twelve transducers around the origin, of any values; all ranks have them all. */
static iso_problem *problem_on(iso_ctx *on)
{
	static const char array[] =
		"kind: transducers\nsphere: {radius_mm: 20, rings: 3, views: 4}\n"
		"aperture_mm: [1, 1]\nspeed_mm_per_us: 1.5\nsampling_mhz: 4\nfirst_sample_us: 8\n"
		"samples: 64\n";
	static const char *const set[][2] = { { "scanner", "array.yaml" },
		                              { "grid", "6" },
		                              { "voxel", "1" },
		                              { "iterations", "5" },
		                              { "force", "true" } };
	struct iso_array traces = { 0 };
	iso_problem *p = NULL;

	OK(iso_array_create(&traces, 2, (const int64_t[]){ VIEWS, SAMPLES }));
	for (int64_t i = 0; i < traces.n; i++) traces.v[i] = (iso_real)sin(.37 * (double)i);
	if (iso_ctx_rank(ctx) == 0) OK(iso_out_text("array.yaml", array));
	OK(iso_comm_agree(ctx, ISO_OK));
	OK(iso_problem_create(&p, on, "sradon"));
	for (int i = 0; i < N_OF(set); i++) OK(iso_problem_set(p, set[i][0], set[i][1]));
	OK(iso_problem_set_array(p, "data", &traces, false));
	iso_array_free(&traces);
	return p;
}

static void image_is_that_of_one(void **state)
{
	iso_ctx *alone = NULL;
	iso_problem *p = problem_on(ctx), *q;
	struct iso_array x = { 0 }, y = { 0 }, read = { 0 };
	char *record = NULL;

	(void)state;
	OK(iso_ctx_create(&alone, "cpu", 1));
	q = problem_on(alone);
	OK(iso_problem_recon(&x, "x.nii", p));
	assert_false(iso_out_is_mute());
	OK(iso_problem_recon(&y, NULL, q));
	assert_memory_equal(x.v, y.v, (size_t)x.n * sizeof *x.v);
	OK(iso_comm_agree(ctx, ISO_OK));
	OK(iso_read(&read, "x.nii", ISO_FINITE));
	assert_memory_equal(x.v, read.v, (size_t)x.n * sizeof *x.v);
	OK(iso_problem_record(&record, p));
	assert_true(!strstr(record, "\"ranks\"") == (iso_ctx_ranks(ctx) == 1));
	free(record);
	OK(iso_comm_agree(ctx, ISO_OK));
	if (iso_ctx_rank(ctx) == 0) assert_true(unlink("x.nii") == 0 && unlink("x.json") == 0);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_array_free(&read);
	iso_problem_free(p);
	iso_problem_free(q);
	iso_ctx_free(alone);
}

/* The last rank alone has a wrong parameter. One process is told when it sets it, several when they load. */
static void failure_is_everybodys(void **state)
{
	iso_problem *p = problem_on(ctx);
	struct iso_array x = { 0 };

	(void)state;
	if (iso_ctx_ranks(ctx) == 1)
		REFUSED(iso_problem_set(p, "scanner", "none.yaml"), ISO_EINPUT, "none.yaml");
	else {
		if (iso_ctx_rank(ctx) == iso_ctx_ranks(ctx) - 1)
			OK(iso_problem_set(p, "scanner", "none.yaml"));
		REFUSED(iso_problem_recon(&x, "y.nii", p), ISO_EINPUT, "none.yaml");
	}
	assert_null(x.v);
	assert_true(access("y.nii", F_OK) != 0);
	iso_problem_free(p);
}

/* One rank is asked to stop: all do, and go on from the checkpoint. */
static void stop_is_everybodys(void **state)
{
	iso_problem *p = problem_on(ctx);
	struct iso_array x = { 0 }, y = { 0 };

	(void)state;
	OK(iso_problem_recon(&x, NULL, p));
	if (iso_ctx_rank(ctx) == iso_ctx_ranks(ctx) - 1) OK(iso_problem_set(p, "stop-after", "1e-9"));
	REFUSED(iso_problem_recon(NULL, "z.nii", p), ISO_ECANCEL, "stopped after 1 of 5");
	iso_problem_free(p);
	free_context(NULL);
	make_context(NULL);
	p = problem_on(ctx);
	OK(iso_problem_set(p, "resume", "true"));
	OK(iso_problem_recon(&y, "z.nii", p));
	assert_memory_equal(x.v, y.v, (size_t)x.n * sizeof *x.v);
	OK(iso_comm_agree(ctx, ISO_OK));
	assert_true(access("z.nii", F_OK) == 0 && access("z.nii.ckpt", F_OK) != 0);
	OK(iso_comm_agree(ctx, ISO_OK));
	if (iso_ctx_rank(ctx) == 0) assert_true(unlink("z.nii") == 0 && unlink("z.json") == 0);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_problem_free(p);
}

/* The last rank alone is shown images, and has seen enough after two: all end with those of two iterations. */
static int second_is_enough(void *arg, const struct iso_iteration *step)
{
	*(int *)arg = step->iteration;
	return step->iteration == 2 ? ISO_ENOUGH : ISO_OK;
}

static void enough_is_everybodys(void **state)
{
	bool last = iso_ctx_rank(ctx) == iso_ctx_ranks(ctx) - 1;
	iso_problem *p = problem_on(ctx);
	struct iso_array x = { 0 }, y = { 0 };
	char *record = NULL;
	int seen = 0;

	(void)state;
	OK(iso_problem_set(p, "iterations", "2"));
	OK(iso_problem_recon(&x, NULL, p));
	OK(iso_problem_set(p, "iterations", "5"));
	if (last) iso_problem_set_each(p, second_is_enough, &seen);
	OK(iso_problem_recon(&y, NULL, p));
	assert_int_equal(seen, last ? 2 : 0);
	assert_memory_equal(x.v, y.v, (size_t)x.n * sizeof *x.v);
	OK(iso_problem_record(&record, p));
	assert_non_null(strstr(record, "stopped_by_caller"));
	free(record);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_problem_free(p);
}

static int first_is_enough(void *arg, int iteration, const iso_real *x)
{
	(void)x;
	*(int *)arg = iteration;
	return ISO_ENOUGH;
}

/* The same of an algorithm, where rank 0 alone looks. */
static void one_rank_may_look(void **state)
{
	bool first = iso_ctx_rank(ctx) == 0;
	iso_problem *p = problem_on(ctx);
	iso_op *op = NULL;
	int seen = 0;
	const struct iso_run run = { .size = sizeof run,
		                     .each = first ? first_is_enough : NULL,
		                     .arg = &seen };
	struct iso_cg_result r = { .size = sizeof r };

	(void)state;
	OK(iso_problem_op(&op, p));
	iso_real *x = calloc((size_t)iso_op_n_in(op), sizeof *x),
		 *y = calloc((size_t)iso_op_n_out(op), sizeof *y);
	struct iso_cg cg = { .size = sizeof cg, .op = op, .y = y, .iterations = 3 };

	assert_true(x && y);
	for (int64_t i = 0; i < iso_op_n_out(op); i++) y[i] = (iso_real)(1 + i % 7);
	OK(iso_cg_run(x, &r, &cg, &run));
	assert_int_equal(seen, first);
	assert_true(r.stopped && r.n == 1);
	iso_cg_result_free(&r);
	free(x);
	free(y);
	iso_op_free(op);
	iso_problem_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(image_is_that_of_one, make_context, free_context),
		cmocka_unit_test_setup_teardown(failure_is_everybodys, make_context, free_context),
		cmocka_unit_test_setup_teardown(stop_is_everybodys, make_context, free_context),
		cmocka_unit_test_setup_teardown(enough_is_everybodys, make_context, free_context),
		cmocka_unit_test_setup_teardown(one_rank_may_look, make_context, free_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
