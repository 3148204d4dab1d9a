/* SPDX-License-Identifier: BSD-3-Clause */
/* A request to stop in every stage of a reconstruction, by the context; where runs count their time from; what
   one run leaves in the record of the next. */
#include "test.h"

#include "algo/loop.h"
#include "core/progress.h"
#include "model/ray/ray.h"
#include "problem/problem.h"

#include <unistd.h>

#define RING TEST_EXAMPLES "/scanners/small-animal.yaml"

static void set_all(iso_problem *p, int n, const char *const set[][2])
{
	for (int i = 0; i < n; i++) OK(iso_problem_set(p, set[i][0], set[i][1]));
}

/* Files of all that is read: some thousands of events with times, and a map of attenuation. */
static void make_files(iso_ctx *ctx)
{
	const struct iso_grid g = { .n = { 12, 12, 8 }, .voxel = { 4, 4, 4 } };
	struct iso_array x = { 0 }, mu = { 0 };
	struct iso_simulated info = { .size = sizeof info };
	struct iso_events e = { 0 };
	iso_scanner *ring = NULL;

	OK(iso_scanner_read(&ring, RING));
	OK(iso_array_on_grid(&x, &g));
	OK(iso_array_on_grid(&mu, &g));
	for (int64_t i = 0; i < x.n; i++) {
		x.v[i] = i % 5 == 0;
		mu.v[i] = (iso_real).01;
	}
	struct iso_simulate p = {
		.size = sizeof p, .scanner = ring, .activity = &x, .mu = &mu, .counts = 4000
	};

	OK(iso_simulate(&e, &info, ctx, &p));
	free(e.time_ms);
	assert_non_null(e.time_ms = calloc((size_t)e.n, sizeof *e.time_ms));
	for (int64_t i = 0; i < e.n; i++) e.time_ms[i] = (uint32_t)(i * 10000 / e.n);
	e.duration_s = 10;
	OK(iso_events_write_with("e.Cdh", &e, ring, NULL));
	OK(iso_write("mu.nii", &mu, NULL));
	iso_events_free(&e);
	iso_array_free(&x);
	iso_array_free(&mu);
	iso_scanner_free(ring);
}

static iso_problem *make_problem(iso_ctx *ctx)
{
	static const char *const set[][2] = {
		{ "events", "e.Cdh" }, { "mu", "mu.nii" },       { "scanner", RING },   { "grid", "12,12,8" },
		{ "voxel", "4" },      { "sens-share", "1e-4" }, { "iterations", "3" },
	};
	iso_problem *p = NULL;

	OK(iso_problem_create(&p, ctx, "ray"));
	set_all(p, N_OF(set), set);
	return p;
}

static void forget(const char *path)
{
	static const char *const ends[] = { "", ".ckpt", ".frames" };
	char name[64];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "%s%s", path, ends[i]);
		unlink(name);
	}
	unlink("x.json");
}

static bool exists(const char *path, const char *more)
{
	char name[64];

	snprintf(name, sizeof name, "%s%s", path, more);
	return access(name, F_OK) == 0;
}

/* ---- stages ---- */

/* Whom the problem tells: cancels when it hears the words, and counts what it hears after that. */
struct listener {
	iso_ctx *ctx;
	const char *words;
	int heard, stages_after;
};

static void listen(void *arg, enum iso_message_kind kind, const char *text)
{
	struct listener *l = arg;

	if (kind != ISO_DETAIL) return;
	l->stages_after += l->heard && strncmp(text, "stage: ", 7) == 0;
	if (l->heard || strncmp(text, l->words, strlen(l->words)) != 0) return;
	l->heard = 1;
	iso_ctx_cancel(l->ctx);
}

static const struct stage {
	const char *words, *out, *frames;
	bool stream;
	int status;
	bool checkpoint, kept; /* what the run leaves */
} stages[] = {
	{ "stage: read", "x.nii", NULL, false, ISO_ECANCEL, false, false },
	{ "stage: read", "x.nii", NULL, true, ISO_ECANCEL, false, false },
	{ "stage: factors", "x.nii", NULL, false, ISO_ECANCEL, false, false },
	{ "stage: factors", "x.nii", "0,3,10", false, ISO_ECANCEL, false, false },
	{ "ordering", "x.nii", NULL, false, ISO_ECANCEL, false, false },
	{ "stage: sensitivity", "x.nii", NULL, false, ISO_ECANCEL, false, false },
	{ "stage: reconstruct", "x.nii", "0,3,10", false, ISO_ECANCEL, false, false },
	{ "writing", "x.nii", NULL, false, ISO_OK, false, false },
	{ "writing", "x.nii.gz", NULL, false, ISO_ECANCEL, true, false },
	{ "writing", "x.nii", "0,3,10", false, ISO_ECANCEL, false, true },
};

/* The run is stopped in this stage, leaves no image but the work of its iterations, and, resumed, makes the
   image that it would have made. */
static void stop_in(iso_ctx *ctx, const struct stage *s)
{
	struct listener l = { ctx, s->words, 0, 0 };
	struct iso_array whole = { 0 }, resumed = { 0 };
	iso_problem *p = make_problem(ctx);

	forget(s->out);
	if (s->frames) OK(iso_problem_set(p, "frames", s->frames));
	if (s->stream) OK(iso_problem_set(p, "block", "1000"));
	OK(iso_problem_recon(&whole, NULL, p));
	iso_problem_free(p);
	p = make_problem(ctx);
	if (s->frames) OK(iso_problem_set(p, "frames", s->frames));
	if (s->stream) OK(iso_problem_set(p, "block", "1000"));
	iso_problem_set_message(p, listen, &l);
	int st = iso_problem_recon(NULL, s->out, p);

	iso_ctx_clear_cancel(ctx);
	if (st != s->status) fail_msg("%s: status %d: %s", s->words, st, iso_message());
	assert_true(l.heard);
	assert_int_equal(l.stages_after, 0);
	assert_int_equal(exists(s->out, ""), st == ISO_OK);
	assert_int_equal(exists(s->out, ".ckpt"), s->checkpoint);
	assert_int_equal(exists(s->out, ".frames"), s->kept);
	if (s->checkpoint || s->kept) assert_non_null(strstr(iso_message(), "resume continues from x.nii"));
	OK(iso_problem_set(p, "force", "true"));
	OK(iso_problem_set(p, "resume", "true"));
	OK(iso_problem_recon(&resumed, s->out, p));
	assert_int_equal(resumed.n, whole.n);
	assert_memory_equal(resumed.v, whole.v, (size_t)whole.n * sizeof *whole.v);
	assert_false(exists(s->out, ".ckpt") || exists(s->out, ".frames"));
	iso_problem_free(p);
	iso_array_free(&whole);
	iso_array_free(&resumed);
	forget(s->out);
}

static void every_stage(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	make_files(ctx);
	for (int i = 0; i < N_OF(stages); i++) stop_in(ctx, &stages[i]);
	iso_ctx_free(ctx);
}

static int second_frame_is_enough(void *arg, const struct iso_iteration *step)
{
	(void)arg;
	return step->frame == 1 ? ISO_ENOUGH : ISO_OK;
}

/* Its caller ends a series in the second of three frames; stopped while that is written, and resumed by nobody who
   looks, it has two frames still, the second of one iteration. */
static void ended_series_is_resumed(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct listener l = { ctx, "writing", 0, 0 };
	struct iso_array x = { 0 }, resumed = { 0 };
	char *record = NULL;
	iso_problem *p;

	(void)state;
	make_files(ctx);
	forget("x.nii");
	p = make_problem(ctx);
	OK(iso_problem_set(p, "frames", "0,3,6,10"));
	iso_problem_set_each(p, second_frame_is_enough, NULL);
	OK(iso_problem_recon(&x, NULL, p));
	iso_problem_set_message(p, listen, &l);
	REFUSED(iso_problem_recon(NULL, "x.nii", p), ISO_ECANCEL, "resume continues from x.nii.frames");
	iso_ctx_clear_cancel(ctx);
	iso_problem_set_each(p, NULL, NULL);
	OK(iso_problem_set(p, "resume", "true"));
	OK(iso_problem_recon(&resumed, "x.nii", p));
	assert_true(x.dim[0] == 2 && resumed.dim[0] == 2 && resumed.n == x.n);
	assert_memory_equal(resumed.v, x.v, (size_t)x.n * sizeof *x.v);
	OK(iso_problem_record(&record, p));
	assert_non_null(strstr(record, "\"stopped_by_caller\": true"));
	assert_non_null(strstr(record, "\"iteration\": 1"));
	free(record);
	iso_problem_free(p);
	iso_array_free(&x);
	iso_array_free(&resumed);
	iso_ctx_free(ctx);
	forget("x.nii");
}

/* Once an update is done, there is a checkpoint. */
static void stop_at_second_update(void *arg, const struct iso_progress *p)
{
	if (strcmp(p->stage, "mlem") == 0 && p->done == 2) iso_ctx_cancel(arg);
}

static void between_updates(void **state)
{
	iso_ctx *ctx = cpu(2);
	iso_problem *p;

	(void)state;
	make_files(ctx);
	forget("x.nii");
	p = make_problem(ctx);
	iso_ctx_set_progress(ctx, stop_at_second_update, ctx);
	REFUSED(iso_problem_recon(NULL, "x.nii", p), ISO_ECANCEL,
	        "stopped after 2 of 3 updates; resume continues from x.nii.ckpt");
	assert_true(exists("x.nii", ".ckpt") && !exists("x.nii", ""));
	iso_problem_free(p);
	iso_ctx_free(ctx);
	forget("x.nii");
}

/* Parts of the pipeline alone: each sees the request itself. */
static void every_part(void **state)
{
	const struct iso_grid g = { .n = { 12, 12, 8 }, .voxel = { 4, 4, 4 } };
	const struct iso_ray ray = { .size = sizeof ray, .grid = g, .n_sub = 1 };
	struct iso_events_options o = { .size = sizeof o };
	const struct iso_strip strip = { .size = sizeof strip,
		                         .strips = { 100, 200, 10, 40, 0, 0 },
		                         .ny = 8,
		                         .nz = 8,
		                         .pixel = 10,
		                         .n_sub = 1 };
	struct iso_strip_event at = { 1, 2, 3 };
	struct iso_strip_events one = { .n = 1, .v = &at };
	iso_real x[12 * 12 * 8], *v = x;
	iso_ctx *ctx = cpu(2);
	struct iso_events e = { 0 };
	iso_op *op = NULL, *none = NULL;
	iso_em_state *em = NULL;

	(void)state;
	make_files(ctx);
	for (int i = 0; i < N_OF(x); i++) x[i] = 1;
	OK(iso_scanner_read((iso_scanner **)&o.scanner, RING));
	OK(iso_events_read(&e, "e.Cdh", &o));
	OK(iso_ray_create(&op, ctx, &ray, &e));
	iso_real *counts = calloc((size_t)e.n, sizeof *counts);
	const struct iso_em p = {
		.size = sizeof p, .op = op, .data = { .y = counts }, .sens = { 1, 1, v }, .iterations = 1
	};

	iso_ctx_cancel(ctx);
	assert_int_equal(iso_ray_create(&none, ctx, &ray, &e), ISO_ECANCEL);
	assert_int_equal(iso_strip_create(&none, ctx, &strip, &one), ISO_ECANCEL);
	assert_int_equal(iso_em_create(&em, &p, x), ISO_ECANCEL);
	assert_null(none);
	assert_null(em);
	iso_ctx_clear_cancel(ctx);
	OK(iso_em_create(&em, &p, x));
	iso_em_free(em);
	iso_op_free(op);
	free(counts);
	iso_events_free(&e);
	iso_scanner_free((iso_scanner *)o.scanner);
	iso_ctx_free(ctx);
}

/* ---- times ---- */

/* A problem, or a state, may be an hour old when its run begins. */
static void time_of_a_run(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct iso_array x = { 0 };
	iso_problem *p;

	(void)state;
	make_files(ctx);
	p = make_problem(ctx);
	OK(iso_problem_set(p, "stop-after", "10"));
	p->s.began_s = iso_now_s() - 3600;
	OK(iso_problem_recon(&x, NULL, p));
	iso_problem_free(p);
	iso_array_free(&x);
	iso_ctx_free(ctx);
}

static int identity(void *arg, int sub, iso_real *to, const iso_real *from)
{
	(void)arg, (void)sub;
	memcpy(to, from, 4 * sizeof *to);
	return ISO_OK;
}

static void time_of_a_state(void **state)
{
	const struct iso_custom c = {
		.size = sizeof c, .n_in = 4, .n_out = 4, .n_sub = 1, .forward = identity, .adjoint = identity
	};
	iso_real x[4] = { 0 }, y[4] = { 1, 2, 3, 4 };
	const struct iso_run run = { .size = sizeof run, .stop_after_minutes = 10 };
	iso_ctx *ctx = cpu(1);
	iso_cg_state *cg = NULL;
	iso_op *op = NULL;

	(void)state;
	OK(iso_custom_create(&op, ctx, &c));
	const struct iso_cg p = { .size = sizeof p, .op = op, .y = y, .iterations = 3 };

	OK(iso_cg_create(&cg, &p, x));
	((struct iso_loop *)cg)->start_s = iso_now_s() - 3600;
	OK(iso_loop_run((struct iso_loop *)cg, x, &run));
	NEAR(x[2], 3, 1e-5);
	iso_cg_free(cg);
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* ---- records ---- */

static int count(iso_problem *p, const char *part)
{
	char *record = NULL, *at;
	int n = 0;

	OK(iso_problem_record(&record, p));
	for (at = record; (at = strstr(at, part)); at++) n++;
	free(record);
	return n;
}

static void second_run(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct iso_array x = { 0 };
	struct iso_plan plan = { 0 };
	struct iso_grid g;
	iso_problem *p;

	(void)state;
	make_files(ctx);
	p = make_problem(ctx);
	OK(iso_problem_set(p, "filter", "gaussian:5"));
	OK(iso_problem_set(p, "sens", "none"));
	OK(iso_problem_recon(&x, NULL, p));
	assert_int_equal(count(p, "not corrected for sensitivity"), 1);
	assert_int_equal(count(p, "ReconFilterType"), 1);
	int inputs = count(p, "\"xxh64\"");

	iso_array_free(&x);
	OK(iso_problem_recon(&x, NULL, p)); /* of the same data, which are still there */
	assert_int_equal(count(p, "not corrected for sensitivity"), 1);
	assert_int_equal(count(p, "\"tof_fwhm_ps\""), 1);
	assert_int_equal(count(p, "\"xxh64\""), inputs);
	assert_int_equal(count(p, "\"read\""), 1);
	problem_unload(p);
	OK(iso_problem_grid(&g, p)); /* read again, and the record is still that of the run */
	assert_int_equal(count(p, "\"loglik\""), 1);
	assert_int_equal(count(p, "\"xxh64\""), inputs);
	OK(iso_problem_plan(&plan, p));
	assert_int_equal(count(p, "\"loglik\""), 1);
	iso_plan_free(&plan);
	iso_array_free(&x);
	iso_problem_free(p);
	p = make_problem(ctx);
	OK(iso_problem_recon(&x, NULL, p));
	assert_int_equal(count(p, "every update"), 1);
	assert_int_equal(count(p, "relative_error"), 1);
	OK(iso_problem_set(p, "sens", "none"));
	iso_array_free(&x);
	OK(iso_problem_recon(&x, NULL, p));
	assert_int_equal(count(p, "every update"), 0); /* a warning of the run before */
	assert_int_equal(count(p, "relative_error"), 0);
	iso_array_free(&x);
	iso_problem_free(p);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_stage),     cmocka_unit_test(ended_series_is_resumed),
		cmocka_unit_test(between_updates), cmocka_unit_test(every_part),
		cmocka_unit_test(time_of_a_run),   cmocka_unit_test(time_of_a_state),
		cmocka_unit_test(second_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
