/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems by the public interface: parameters by name, arrays in place of files, what is refused. */
#include "test.h"

#define RING TEST_EXAMPLES "/scanners/small-animal.yaml"

static iso_problem *make(iso_ctx *ctx, const char *model)
{
	iso_problem *p = NULL;

	OK(iso_problem_create(&p, ctx, model));
	return p;
}

static iso_ctx *context(void)
{
	iso_ctx *ctx = NULL;

	OK(iso_ctx_create(&ctx, "cpu", 2));
	return ctx;
}

/* Every parameter says what it is, and takes back the value that it shows. */
static void parameters_describe_themselves(void **state)
{
	iso_ctx *ctx = context();

	(void)state;
	for (int m = 0; iso_problem_model(m); m++) {
		iso_problem *p = make(ctx, iso_problem_model(m));
		struct iso_param a = { .size = sizeof a };
		int n = 0;

		for (; iso_problem_param(p, n, &a) == ISO_OK; n++) {
			assert_non_null(a.name);
			assert_non_null(a.help);
			assert_non_null(a.group);
			assert_true(a.type == ISO_PARAM_FLAG || a.value_name);
			if (a.value[0] && !isinf(strtod(a.value, NULL)))
				OK(iso_problem_set(p, a.name, a.value));
		}
		assert_true(n > 30);
		iso_problem_free(p);
	}
	iso_ctx_free(ctx);
}

static void wrong_parameters_are_refused(void **state)
{
	iso_ctx *ctx = context();
	iso_problem *p = NULL;

	(void)state;
	REFUSED(iso_problem_create(&p, ctx, "rai"), ISO_EARG, "did you mean ray");
	REFUSED(iso_problem_create(NULL, ctx, "ray"), ISO_EARG, "NULL");
	p = make(ctx, "ray");
	REFUSED(iso_problem_set(p, "voxl", "2"), ISO_EARG, "did you mean 'voxel'?");
	REFUSED(iso_problem_set(p, "voxel", "-2"), ISO_EARG, "'voxel' is -2, must be between");
	REFUSED(iso_problem_set(p, "grid", "4,4"), ISO_EARG, "3 integers");
	REFUSED(iso_problem_set(p, "projector", "slise"), ISO_EARG, "did you mean 'slice'");
	REFUSED(iso_problem_set(p, "precorrected", "maybe"), ISO_EARG, "true or false");
	REFUSED(iso_problem_set(p, "grid", NULL), ISO_EARG, "NULL");
	REFUSED(iso_problem_set_array(p, "grid", &(struct iso_array){ 0 }, false), ISO_EARG, "names no file");
	REFUSED(iso_problem_set_array(p, "mu", &(struct iso_array){ 0 }, false), ISO_EARG, "no values");
	REFUSED(iso_problem_recon(p, NULL, NULL), ISO_EARG, "NULL");
	REFUSED(iso_problem_load(p), ISO_EARG, "give 'grid' and 'voxel'");
	OK(iso_problem_set(p, "subsets", "3"));
	REFUSED(iso_problem_load(p), ISO_EARG, "'method' osem takes more");
	iso_problem_free(p);
	iso_problem_free(NULL);
	iso_ctx_free(ctx);
}

/* ---- a scan in memory ---- */

struct scan {
	iso_ctx *ctx;
	struct iso_array mu;
	struct iso_events e;
};

static void make_scan(struct scan *s)
{
	const struct iso_grid g = { .n = { 12, 12, 8 }, .voxel = { 4, 4, 4 } };
	struct iso_array x = { 0 };
	struct iso_simulated info = { 0 };
	iso_scanner *ring = NULL;

	s->ctx = context();
	OK(iso_scanner_read(&ring, RING));
	OK(iso_array_on_grid(&x, &g));
	OK(iso_array_on_grid(&s->mu, &g));
	for (int64_t i = 0; i < x.n; i++) {
		x.v[i] = i % 5 == 0;
		s->mu.v[i] = (iso_real).01;
	}
	struct iso_simulate p = {
		.size = sizeof p, .scanner = ring, .activity = &x, .mu = &s->mu, .counts = 4000, .seed = 3
	};
	OK(iso_simulate(&s->e, &info, s->ctx, &p));
	iso_array_free(&x);
	iso_scanner_free(ring);
}

static void free_scan(struct scan *s)
{
	iso_events_free(&s->e);
	iso_array_free(&s->mu);
	iso_ctx_free(s->ctx);
}

static iso_problem *of_scan(const struct scan *s)
{
	const char *const set[][2] = { { "scanner", RING },
		                       { "grid", "12,12,8" },
		                       { "voxel", "4" },
		                       { "iterations", "2" },
		                       { "sens-share", "1e-4" } };
	iso_problem *p = make(s->ctx, "ray");

	for (int i = 0; i < N_OF(set); i++) OK(iso_problem_set(p, set[i][0], set[i][1]));
	return p;
}

static void same_values(const struct iso_array *a, const struct iso_array *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->v, b->v, (size_t)a->n * sizeof *a->v);
}

/* Events and attenuation as arrays give the image of the files, and the files are not needed. */
static void arrays_in_place_of_files(void **state)
{
	struct iso_array from_files = { 0 }, from_arrays = { 0 };
	struct scan s = { 0 };
	iso_problem *p;
	char *record = NULL;

	(void)state;
	make_scan(&s);
	OK(iso_events_write("scan.lmdT", &s.e, NULL));
	OK(iso_write("mu.nii", &s.mu, NULL));
	p = of_scan(&s);
	OK(iso_problem_set(p, "events", "scan.lmdT"));
	OK(iso_problem_set(p, "mu", "mu.nii"));
	OK(iso_problem_recon(p, &from_files, NULL));
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set_array(p, "mu", &s.mu, false));
	OK(iso_problem_recon(p, &from_arrays, NULL));
	same_values(&from_files, &from_arrays);
	OK(iso_problem_record(p, &record));
	assert_non_null(strstr(record, "events in memory"));
	assert_non_null(strstr(record, "\"iterations\": 2"));
	free(record);
	iso_problem_free(p);
	iso_array_free(&from_files);
	iso_array_free(&from_arrays);
	free_scan(&s);
}

/* The image on disk is the one in memory; an existing file stays unless 'force' is set; the record makes
   the same image again. */
static void files_and_records(void **state)
{
	struct iso_array in_memory = { 0 }, read = { 0 }, again = { 0 };
	struct scan s = { 0 };
	iso_problem *p, *q;

	(void)state;
	make_scan(&s);
	OK(iso_events_write("again.lmdT", &s.e, NULL));
	p = of_scan(&s);
	OK(iso_problem_set(p, "events", "again.lmdT"));
	OK(iso_problem_set(p, "force", "true"));
	OK(iso_problem_recon(p, &in_memory, "again.nii"));
	OK(iso_read(&read, "again.nii", ISO_FINITE));
	same_values(&in_memory, &read);
	OK(iso_problem_set(p, "force", "false"));
	REFUSED(iso_problem_recon(p, NULL, "again.nii"), ISO_EARG, "again.nii");
	q = make(s.ctx, "ray");
	OK(iso_problem_like(q, "again.json"));
	OK(iso_problem_recon(q, &again, NULL));
	same_values(&in_memory, &again);
	iso_problem_free(p);
	iso_problem_free(q);
	iso_array_free(&in_memory);
	iso_array_free(&read);
	iso_array_free(&again);
	free_scan(&s);
}

/* <A x, y> = <x, A* y> through project and backproject, and the operator that iso_problem_op gives. */
static void projections_and_operator(void **state)
{
	struct iso_array x = { 0 }, y = { 0 }, back = { 0 };
	struct scan s = { 0 };
	iso_op *op = NULL;
	double forward = 0, backward = 0, error = 1;
	iso_problem *p;

	(void)state;
	make_scan(&s);
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set_array(p, "mu", &s.mu, false));
	OK(iso_array_on_grid(&x, &s.mu.grid));
	for (int64_t i = 0; i < x.n; i++) x.v[i] = (iso_real)(i % 7);
	OK(iso_problem_project(p, &y, &x));
	assert_int_equal(y.n, s.e.n);
	assert_int_equal(iso_problem_rows(p), s.e.n);
	OK(iso_problem_backproject(p, &back, &y));
	for (int64_t j = 0; j < y.n; j++) forward += (double)y.v[j] * y.v[j];
	for (int64_t i = 0; i < x.n; i++) backward += (double)x.v[i] * back.v[i];
	assert_true(forward > 0);
	NEAR(forward, backward, 1e-5 * forward);
	OK(iso_problem_op(p, &op));
	OK(iso_test_adjoint(&error, op, ISO_ALL, 5));
	assert_true(error < 1e-6);
	iso_op_free(op);
	iso_problem_free(p);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_array_free(&back);
	free_scan(&s);
}

static void count_warnings(void *arg, enum iso_message_kind kind, const char *text)
{
	assert_non_null(text);
	*(int *)arg += kind == ISO_WARNING;
}

static void warnings_come_by_callback(void **state)
{
	struct iso_array x = { 0 };
	struct scan s = { 0 };
	int warnings = 0;
	iso_problem *p;

	(void)state;
	make_scan(&s);
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set(p, "sens", "none"));
	iso_problem_set_message(p, count_warnings, &warnings);
	OK(iso_problem_recon(p, &x, NULL));
	assert_true(warnings > 0);
	iso_problem_free(p);
	iso_array_free(&x);
	free_scan(&s);
}

/* A plan of the data that were set, with nothing read or made. */
static void plans(void **state)
{
	struct iso_plan plan = { 0 };
	struct scan s = { 0 };
	int64_t host = 0, device = 0;
	iso_problem *p;

	(void)state;
	make_scan(&s);
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_plan(p, &plan));
	iso_plan_total(&plan, &host, &device);
	assert_true(host > 4000 * (int64_t)sizeof(struct iso_event));
	assert_int_equal(device, 0);
	iso_plan_free(&plan);
	iso_problem_free(p);
	free_scan(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_describe_themselves),
		cmocka_unit_test(wrong_parameters_are_refused),
		cmocka_unit_test(arrays_in_place_of_files),
		cmocka_unit_test(files_and_records),
		cmocka_unit_test(projections_and_operator),
		cmocka_unit_test(warnings_come_by_callback),
		cmocka_unit_test(plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
