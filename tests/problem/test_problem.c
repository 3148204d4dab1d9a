/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems by the public interface: parameters by name, arrays in place of files, what is refused. */
#include "model/srm/matrix/srm_matrix.h"
#include "test.h"

#include <unistd.h>

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

		for (; iso_problem_param(&a, p, n) == ISO_OK; n++) {
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
	REFUSED(iso_problem_set_array(p, "scanner", &(struct iso_array){ 0 }, false), ISO_EARG,
	        "'scanner' of model ray takes a file alone, not an array");
	REFUSED(iso_problem_set_array(p, "events", &(struct iso_array){ 0 }, false), ISO_EARG,
	        "'events' of model ray takes a file or list-mode events, not an array");
	REFUSED(iso_problem_set_strip_events(p, &(struct iso_strip_events){ 0 }), ISO_EARG,
	        "not events of strips");
	REFUSED(iso_problem_recon(NULL, NULL, p), ISO_EARG, "NULL");
	REFUSED(iso_problem_load(p), ISO_EARG, "give 'grid' and 'voxel'");
	OK(iso_problem_set(p, "subsets", "3"));
	REFUSED(iso_problem_load(p), ISO_EARG, "'method' osem takes more");
	iso_problem_free(p);
	p = make(ctx, "sradon");
	REFUSED(iso_problem_set_events(p, "data", &(struct iso_events){ 0 }), ISO_EARG,
	        "'data' of model sradon takes a file or an array, not list-mode events");
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
	struct iso_simulated info = { .size = sizeof info };
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
	OK(iso_problem_recon(&from_files, NULL, p));
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set_array(p, "mu", &s.mu, false));
	OK(iso_problem_recon(&from_arrays, NULL, p));
	same_values(&from_files, &from_arrays);
	OK(iso_problem_record(&record, p));
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
	OK(iso_problem_recon(&in_memory, "again.nii", p));
	OK(iso_read(&read, "again.nii", ISO_FINITE));
	same_values(&in_memory, &read);
	OK(iso_problem_set(p, "force", "false"));
	REFUSED(iso_problem_recon(NULL, "again.nii", p), ISO_EARG, "again.nii");
	q = make(s.ctx, "ray");
	OK(iso_problem_like(q, "again.json"));
	OK(iso_problem_recon(&again, NULL, q));
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
	int64_t dim[8];
	iso_problem *p;

	(void)state;
	make_scan(&s);
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set_array(p, "mu", &s.mu, false));
	OK(iso_array_on_grid(&x, &s.mu.grid));
	for (int64_t i = 0; i < x.n; i++) x.v[i] = (iso_real)(i % 7);
	OK(iso_problem_project(&y, p, &x));
	assert_int_equal(y.n, s.e.n);
	assert_int_equal(iso_problem_rows(p), s.e.n);
	assert_int_equal(iso_problem_own_rows(p), s.e.n);
	assert_int_equal(iso_problem_shape(dim, p), 1);
	assert_int_equal(dim[0], s.e.n);
	OK(iso_problem_backproject(&back, p, &y));
	for (int64_t j = 0; j < y.n; j++) forward += (double)y.v[j] * y.v[j];
	for (int64_t i = 0; i < x.n; i++) backward += (double)x.v[i] * back.v[i];
	assert_true(forward > 0);
	NEAR(forward, backward, 1e-5 * forward);
	OK(iso_problem_op(&op, p));
	OK(iso_test_adjoint(&error, op, ISO_ALL, 5));
	BELOW(error, 1e-6);
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
	OK(iso_problem_recon(&x, NULL, p));
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
	OK(iso_problem_plan(&plan, p));
	iso_plan_total(&host, &device, &plan);
	assert_true(host > 4000 * (int64_t)sizeof(struct iso_event));
	assert_int_equal(device, 0);
	iso_plan_free(&plan);
	iso_problem_free(p);
	free_scan(&s);
}

/* ---- calls in any order ---- */

static const char *value_of(iso_problem *p, const char *name, struct iso_param *a)
{
	*a = (struct iso_param){ .size = sizeof *a };
	for (int k = 0; iso_problem_param(a, p, k) == ISO_OK; k++)
		if (strcmp(a->name, name) == 0) return a->value;
	return NULL;
}

/* What a preset has chosen is forgotten when a parameter is set, and chosen anew. */
static void presets_choose_anew(void **state)
{
	struct scan s;
	struct iso_param a = { .size = sizeof a };
	struct iso_grid g;
	iso_problem *p;

	(void)state;
	make_scan(&s);
	p = make(s.ctx, "ray");
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set(p, "scanner", RING));
	assert_string_equal(value_of(p, "preset", &a), "");
	OK(iso_problem_set(p, "preset", "quick"));
	OK(iso_problem_grid(&g, p));
	assert_true(g.voxel[0] == 1.5);
	assert_string_equal(value_of(p, "method", &a), "osem");
	assert_string_equal(value_of(p, "filter", &a), "gaussian:3");
	OK(iso_problem_set(p, "preset", "converged"));
	assert_string_equal(value_of(p, "filter", &a), "");
	OK(iso_problem_load(p));
	assert_string_equal(value_of(p, "method", &a), "svrg");
	assert_string_equal(value_of(p, "filter", &a), "");
	assert_string_equal(value_of(p, "penalty", &a), "rdp:rel=2");
	OK(iso_problem_set(p, "voxel", "8"));
	OK(iso_problem_grid(&g, p));
	assert_true(g.voxel[0] == 8);
	OK(iso_problem_set(p, "preset", "none"));
	OK(iso_problem_load(p));
	assert_string_equal(value_of(p, "method", &a), "mlem");
	assert_string_equal(value_of(p, "penalty", &a), "");
	iso_problem_free(p);
	free_scan(&s);
}

/* A file that must be there is looked for when it is named; the words and numbers in its place are no files. */
static void files_are_looked_for(void **state)
{
	struct iso_param a;
	struct scan s = { 0 };
	iso_problem *p;

	(void)state;
	OK(iso_ctx_create(&s.ctx, "cpu", 1));
	p = make(s.ctx, "ray");
	assert_int_equal(iso_problem_set(p, "delayed", "nowhere.lmdT"), ISO_EINPUT);
	OK(iso_problem_set(p, "delayed", "none"));
	assert_int_equal(iso_problem_set(p, "delayed", "auto"), ISO_EINPUT);
	assert_int_equal(iso_problem_set(p, "sens", "nowhere.nii"), ISO_EINPUT);
	OK(iso_problem_set(p, "sens", "none"));
	assert_int_equal(iso_problem_set(p, "bowsher", "nowhere.nii,5"), ISO_EINPUT);
	assert_int_equal(iso_problem_set(p, "kernel", "nowhere.nii,k=8"), ISO_EINPUT);
	OK(iso_problem_set(p, "kernel", RING ",k=8"));
	OK(iso_problem_set(p, "additive", "0.25"));
	value_of(p, "additive", &a);
	assert_true(a.or_number);
	value_of(p, "calibration", &a);
	assert_true(a.or_number);
	value_of(p, "mu", &a);
	assert_false(a.or_number);
	iso_problem_free(p);
	iso_ctx_free(s.ctx);
}

/* What is refused leaves a problem as it was. */
static void refused_values_change_nothing(void **state)
{
	struct iso_array x = { 0 };
	struct iso_param a;
	struct scan s = { 0 };
	iso_problem *p;

	(void)state;
	make_scan(&s);
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	REFUSED(iso_problem_set(p, "method", "foo"), ISO_EARG, "must be one of");
	REFUSED(iso_problem_set(p, "iterations", "0"), ISO_EARG, "must be");
	REFUSED(iso_problem_set(p, "voxel", "2,-1,3"), ISO_EARG, "must be");
	REFUSED(iso_problem_set_array(p, "mu", &(struct iso_array){ 0 }, false), ISO_EARG, "no values");
	REFUSED(iso_problem_set_events(p, "delayed", &(struct iso_events){ 0 }), ISO_EARG, "no events");
	assert_string_equal(value_of(p, "method", &a), "mlem");
	assert_string_equal(value_of(p, "iterations", &a), "2");
	assert_string_equal(value_of(p, "voxel", &a), "4,4,4");
	assert_string_equal(value_of(p, "mu", &a), "");
	OK(iso_problem_recon(&x, NULL, p));
	REFUSED(iso_problem_set(p, "mu", "nowhere.nii"), ISO_EINPUT, "nowhere.nii: No such file");
	assert_string_equal(value_of(p, "mu", &a), "");
	OK(iso_write("gone.nii", &s.mu, NULL));
	OK(iso_problem_set(p, "mu", "gone.nii"));
	assert_int_equal(remove("gone.nii"), 0);
	for (int i = 0; i < 2; i++) REFUSED(iso_problem_load(p), ISO_EINPUT, "gone.nii");
	REFUSED(iso_problem_recon(&x, NULL, p), ISO_EINPUT, "gone.nii");
	iso_problem_free(p);
	iso_array_free(&x);
	free_scan(&s);
}

/* After frames all events are there again; after the sensitivity the operator has the subsets. */
static void one_call_leaves_the_next_alone(void **state)
{
	struct iso_array x = { 0 }, again = { 0 }, sens = { 0 };
	struct scan s = { 0 };
	iso_op *op = NULL;
	iso_problem *p;

	(void)state;
	make_scan(&s);
	if (!s.e.time_ms) s.e.time_ms = calloc((size_t)s.e.n, sizeof *s.e.time_ms);
	assert_non_null(s.e.time_ms);
	for (int64_t i = 0; i < s.e.n; i++) s.e.time_ms[i] = (uint32_t)(i * 10000 / s.e.n);
	s.e.duration_s = 10;
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set(p, "frames", "0,3,10"));
	OK(iso_problem_set(p, "method", "osem"));
	OK(iso_problem_set(p, "subsets", "4"));
	OK(iso_problem_sens(&sens, p));
	OK(iso_problem_op(&op, p));
	assert_int_equal(iso_op_n_sub(op), 4);
	OK(iso_problem_recon(&x, NULL, p));
	assert_int_equal(x.dim[0], 2);
	assert_int_equal(iso_problem_rows(p), s.e.n);
	OK(iso_problem_recon(&again, NULL, p));
	same_values(&x, &again);
	iso_op_free(op);
	iso_problem_free(p);
	iso_array_free(&x);
	iso_array_free(&again);
	iso_array_free(&sens);
	free_scan(&s);
}

/* Traces are filtered once, whatever was made of them before; a penalty is the last that was set. */
static void sound_twice(void **state)
{
	const struct iso_grid g = { .n = { 8, 8, 8 }, .voxel = { 1, 1, 1 } };
	const char *const model[] = { "sradon", "ubp" };
	struct iso_array x = { 0 }, y = { 0 }, one = { 0 }, two = { 0 };
	iso_ctx *ctx = context();
	iso_problem *p[2];
	char *record = NULL;

	(void)state;
	for (int k = 0; k < 2; k++) {
		p[k] = make(ctx, model[k]);
		OK(iso_problem_set(p[k], "scanner", TEST_EXAMPLES "/scanners/optoacoustic-small.yaml"));
		OK(iso_problem_set(p[k], "grid", "8,8,8"));
		OK(iso_problem_set(p[k], "voxel", "1"));
	}
	OK(iso_array_on_grid(&x, &g));
	x.v[200] = 1;
	OK(iso_problem_project(&y, p[0], &x));
	for (int k = 0; k < 2; k++) OK(iso_problem_set_array(p[k], "data", &y, false));
	OK(iso_problem_set(p[1], "band-mhz", "0.1,2"));
	OK(iso_problem_recon(&one, NULL, p[1]));
	OK(iso_problem_recon(&two, NULL, p[1]));
	same_values(&one, &two);
	iso_array_free(&one);
	iso_array_free(&two);
	OK(iso_problem_set(p[0], "iterations", "2"));
	OK(iso_problem_set(p[0], "penalty", "tv:1"));
	OK(iso_problem_recon(&one, NULL, p[0]));
	OK(iso_problem_set(p[0], "penalty", "quadratic:1"));
	OK(iso_problem_recon(&two, NULL, p[0]));
	OK(iso_problem_record(&record, p[0]));
	assert_non_null(strstr(record, "\"quadratic\""));
	assert_null(strstr(record, "\"tv\""));
	free(record);
	for (int k = 0; k < 2; k++) iso_problem_free(p[k]);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_array_free(&one);
	iso_array_free(&two);
	iso_ctx_free(ctx);
}

/* Two small heads. */
static const struct iso_panels panels = { .crystals = { 3, 4 },
	                                  .pitch = { 2, 2 },
	                                  .crystal = { 2, 2, 6 },
	                                  .gap = 10,
	                                  .layers = 1,
	                                  .formula = "Lu1.8Y0.2SiO5",
	                                  .density = 7.1,
	                                  .resolution = .2,
	                                  .window = { 250, 750 },
	                                  .per_pitch = { 2, 2 },
	                                  .planes = 2,
	                                  .plane = 4 };

/* A matrix in memory gives the image of its file. */
static void matrix_in_place_of_a_file(void **state)
{
	struct iso_array counts = { 0 }, x[2] = { 0 };
	iso_ctx *ctx = context();
	iso_srm *srm = NULL;

	(void)state;
	OK(iso_array_create(&counts, 4, (int64_t[]){ 3, 4, 3, 4 }));
	for (int64_t i = 0; i < counts.n; i++) counts.v[i] = (iso_real)(1 + i % 5);
	OK(iso_srm_analytic(&srm, ctx, &panels));
	OK(iso_srm_threshold(srm, ctx, &(struct iso_srm_bound){ .share = .9 }));
	OK(iso_srm_write("given.srm", srm, true, NULL, NULL));
	for (int k = 0; k < 2; k++) {
		iso_problem *p = make(ctx, "srm");

		OK(k ? iso_problem_set_srm(p, srm) : iso_problem_set(p, "srm", "given.srm"));
		OK(iso_problem_set(p, "iterations", "3"));
		OK(iso_problem_set_array(p, "data", &counts, false));
		OK(iso_problem_recon(&x[k], NULL, p));
		iso_problem_free(p);
	}
	assert_true(x[0].n == x[1].n && x[0].v[0] > 0);
	assert_memory_equal(x[0].v, x[1].v, (size_t)x[0].n * sizeof *x[0].v);
	unlink("given.srm");
	iso_srm_free(srm);
	for (int k = 0; k < 2; k++) iso_array_free(&x[k]);
	iso_array_free(&counts);
	iso_ctx_free(ctx);
}

/* What the record of a reconstruction by a matrix in memory says of its inputs; to be freed. */
static char *inputs_by(const iso_srm *srm, iso_ctx *ctx, const struct iso_array *counts)
{
	iso_problem *p = make(ctx, "srm");
	char *record = NULL, *inputs, *end;

	OK(iso_problem_set_srm(p, srm));
	OK(iso_problem_set(p, "iterations", "1"));
	OK(iso_problem_set_array(p, "data", counts, false));
	OK(iso_problem_recon(NULL, "by.nii", p));
	OK(iso_problem_record(&record, p));
	assert_non_null(inputs = strstr(record, "\"inputs\""));
	assert_non_null(end = strchr(inputs, ']'));
	inputs = strndup(inputs, (size_t)(end - inputs));
	assert_non_null(inputs);
	iso_problem_free(p);
	free(record);
	unlink("by.nii");
	unlink("by.json");
	return inputs;
}

/* Two weights that change places leave the sensitivity of their column as it is, yet it is another matrix. */
static void matrices_are_told_apart(void **state)
{
	struct iso_array counts = { 0 };
	iso_ctx *ctx = context();
	iso_srm *srm = NULL;
	char *was, *again, *is;
	int64_t k = 0;

	(void)state;
	OK(iso_array_create(&counts, 4, (int64_t[]){ 3, 4, 3, 4 }));
	for (int64_t i = 0; i < counts.n; i++) counts.v[i] = 1;
	OK(iso_srm_analytic(&srm, ctx, &panels));
	OK(iso_srm_threshold(srm, ctx, &(struct iso_srm_bound){ .share = .9 }));
	was = inputs_by(srm, ctx, &counts);
	again = inputs_by(srm, ctx, &counts);
	assert_string_equal(was, again);
	while (k + 1 < srm->ptr[1] && srm->w[k] == srm->w[k + 1]) k++;
	assert_true(k + 1 < srm->ptr[1]);
	iso_real first = srm->w[k];

	srm->w[k] = srm->w[k + 1];
	srm->w[k + 1] = first;
	is = inputs_by(srm, ctx, &counts);
	assert_string_not_equal(was, is);
	free(was);
	free(again);
	free(is);
	iso_srm_free(srm);
	iso_array_free(&counts);
	iso_ctx_free(ctx);
}

static void matrices_that_are_refused(void **state)
{
	const struct iso_srm_options o = { .size = sizeof o, .seed = 1 };
	iso_ctx *ctx = context();
	iso_problem *p = make(ctx, "srm"), *ray = make(ctx, "ray");
	iso_srm *srm = NULL;

	(void)state;
	OK(iso_srm_create(&srm, &panels, &o));
	REFUSED(iso_problem_set_srm(p, srm), ISO_EARG, "has no elements");
	OK(iso_srm_simulate(srm, ctx, 0, 1000, 0));
	OK(iso_srm_threshold(srm, ctx, &(struct iso_srm_bound){ .share = 1 }));
	OK(iso_problem_set_srm(p, srm));
	REFUSED(iso_problem_set_srm(ray, srm), ISO_EARG, "no parameter 'srm'");
	OK(iso_srm_write("peeked.srm", srm, true, NULL, NULL));
	iso_srm_free(srm);
	OK(iso_srm_peek(&srm, "peeked.srm"));
	unlink("peeked.srm");
	REFUSED(iso_problem_set_srm(p, srm), ISO_EARG, "has no elements");
	iso_problem_free(p);
	iso_problem_free(ray);
	iso_srm_free(srm);
	iso_ctx_free(ctx);
}

/* A stop while the factors of LORs are made leaves none of them: the next call has them all. */
static void factors_after_a_stop(void **state)
{
	struct iso_array counts = { 0 }, mu = { 0 };
	iso_real *y = NULL, *r = NULL, *m = NULL;
	iso_ctx *ctx = context();
	iso_srm *srm = NULL;
	struct iso_grid g;
	iso_problem *p = make(ctx, "srm");

	(void)state;
	OK(iso_srm_analytic(&srm, ctx, &panels));
	OK(iso_srm_threshold(srm, ctx, &(struct iso_srm_bound){ .share = 1 }));
	OK(iso_srm_write("factors.srm", srm, true, NULL, NULL));
	iso_panels_grid(&g, &panels);
	OK(iso_array_create(&counts, 4, (int64_t[]){ 3, 4, 3, 4 }));
	OK(iso_array_on_grid(&mu, &g));
	for (int64_t i = 0; i < mu.n; i++) mu.v[i] = (iso_real).01;
	OK(iso_problem_set(p, "srm", "factors.srm"));
	OK(iso_problem_set_array(p, "data", &counts, false));
	OK(iso_problem_set_array(p, "mu", &mu, false));
	OK(iso_problem_load(p));
	iso_ctx_cancel(ctx);
	REFUSED(iso_problem_data(&y, &r, &m, p), ISO_ECANCEL, "");
	iso_ctx_clear_cancel(ctx);
	OK(iso_problem_data(&y, &r, &m, p));
	for (int64_t i = 0; i < counts.n; i++) assert_true(m[i] > .5 && m[i] < 1);
	free(y);
	free(r);
	free(m);
	unlink("factors.srm");
	iso_srm_free(srm);
	iso_array_free(&counts);
	iso_array_free(&mu);
	iso_problem_free(p);
	iso_ctx_free(ctx);
}

/* Images of several sizes, one after the other. */
static void projections_of_other_grids(void **state)
{
	const struct iso_grid small = { .n = { 6, 6, 4 }, .voxel = { 4, 4, 4 } };
	const struct iso_grid large = { .n = { 24, 24, 16 }, .voxel = { 4, 4, 4 } };
	struct iso_array x[2] = { 0 }, y[2] = { 0 };
	struct scan s = { 0 };
	iso_problem *p;

	(void)state;
	make_scan(&s);
	p = make(s.ctx, "ray");
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_array_on_grid(&x[0], &small));
	OK(iso_array_on_grid(&x[1], &large));
	for (int k = 0; k < 2; k++) OK(iso_problem_project(&y[k], p, &x[k]));
	iso_problem_free(p);
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_load(p));
	iso_array_free(&y[1]);
	REFUSED(iso_problem_project(&y[1], p, &x[1]), ISO_EARG, "not those of the image");
	iso_problem_free(p);
	for (int k = 0; k < 2; k++) {
		iso_array_free(&x[k]);
		iso_array_free(&y[k]);
	}
	free_scan(&s);
}

static int count(const char *text, const char *part)
{
	int n = 0;

	for (; (text = strstr(text, part)); text++) n++;
	return n;
}

/* A run that was stopped goes on in the same problem; nothing of anybody's is replaced unasked. */
static void checkpoints_and_records(void **state)
{
	struct iso_array x = { 0 }, additive = { 0 }, back = { 0 };
	struct scan s = { 0 };
	iso_problem *p, *q;
	char *record = NULL;

	(void)state;
	make_scan(&s);
	p = of_scan(&s);
	for (int k = 0; k < 3; k++) unlink((const char *[]){ "stop.nii", "stop.json", "stop.nii.ckpt" }[k]);
	OK(iso_array_create(&additive, 1, (int64_t[]){ s.e.n }));
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set_array(p, "additive", &additive, false));
	OK(iso_problem_set(p, "iterations", "5"));
	OK(iso_problem_set(p, "checkpoint-minutes", "0"));
	OK(iso_problem_set(p, "stop-after", "1e-9"));
	REFUSED(iso_problem_recon(NULL, "stop.nii", p), ISO_ECANCEL, "stopped");
	REFUSED(iso_problem_recon(NULL, "stop.nii", p), ISO_EARG, "'resume' continues it");
	OK(iso_problem_set(p, "resume", "true"));
	OK(iso_problem_set(p, "stop-after", "0"));
	OK(iso_problem_recon(NULL, "stop.nii", p));
	OK(iso_problem_record(&record, p));
	assert_int_equal(count(record, "\"xxh64\""), 3);
	assert_null(strstr(record, "\"resumed_from_update\": 0"));
	free(record);
	/* now it is complete: the image is read back, and a checkpoint of it would go; of another run it is refused */
	OK(iso_problem_recon(&x, "stop.nii", p));
	OK(iso_read(&back, "stop.nii", ISO_FINITE));
	assert_int_equal(x.n, back.n);
	assert_memory_equal(x.v, back.v, (size_t)x.n * sizeof *x.v);
	assert_string_equal(x.unit, "counts/mm");
	OK(iso_problem_record(&record, p));
	assert_null(strstr(record, "\"resumed_from_update\": 0"));
	free(record);
	OK(iso_problem_set(p, "iterations", "6"));
	REFUSED(iso_problem_recon(NULL, "stop.nii", p), ISO_EARG,
	        "not of this run: its run had another 'iterations'");
	OK(iso_problem_set(p, "iterations", "5"));
	additive.v[3] = 1e-6f;
	OK(iso_problem_set_array(p, "additive", &additive, false));
	REFUSED(iso_problem_recon(NULL, "stop.nii", p), ISO_EARG, "not of this run");
	additive.v[3] = 0;
	OK(iso_problem_set_array(p, "additive", &additive, false));
	OK(iso_problem_recon(NULL, "stop.nii", p));
	iso_array_free(&x);
	iso_array_free(&back);
	unlink("stop.nii");
	REFUSED(iso_problem_recon(NULL, "stop.nii", p), ISO_EARG, "stop.json exists");
	q = make(s.ctx, "ray");
	for (int k = 0; k < 2; k++) OK(iso_problem_like(q, "stop.json"));
	OK(iso_problem_set_events(q, "events", &s.e));
	OK(iso_problem_set_array(q, "additive", &additive, false));
	OK(iso_problem_recon(&x, NULL, q));
	iso_problem_free(p);
	iso_problem_free(q);
	iso_array_free(&x);
	iso_array_free(&additive);
	free_scan(&s);
}

static void put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Images between iterations are refused in front, as the image is; a run that continues finds its own. */
static void images_between_iterations(void **state)
{
	static const char *const left[] = { "every.nii",        "every.json",      "every_it001.nii",
		                            "every_it001.json", "every_it002.nii", "every_it002.json" };
	struct scan s = { 0 };
	iso_problem *p;

	(void)state;
	for (int i = 0; i < N_OF(left); i++) unlink(left[i]);
	make_scan(&s);
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set(p, "iterations", "3"));
	OK(iso_problem_set(p, "save-every", "1"));
	put_text("every_it002.nii", "somebody's");
	REFUSED(iso_problem_recon(NULL, "every.nii", p), ISO_EARG, "every_it002.nii exists");
	OK(iso_problem_set(p, "resume", "true")); /* it has no record: it is not this run's */
	REFUSED(iso_problem_recon(NULL, "every.nii", p), ISO_EARG, "every_it002.nii exists");
	OK(iso_problem_set(p, "resume", "false"));
	unlink("every_it002.nii");
	put_text("every_it002.json", "{}");
	REFUSED(iso_problem_recon(NULL, "every.nii", p), ISO_EARG,
	        "its record would replace every_it002.json, which is no record");
	assert_int_equal(access("every_it001.nii", F_OK), -1);
	unlink("every_it002.json");
	OK(iso_problem_recon(NULL, "every.nii", p));
	assert_int_equal(access("every_it002.nii", F_OK), 0);
	unlink("every.nii");
	unlink("every.json");
	REFUSED(iso_problem_recon(NULL, "every.nii", p), ISO_EARG, "every_it001.nii exists");
	OK(iso_problem_set(p, "resume", "true"));
	OK(iso_problem_recon(NULL, "every.nii", p));
	OK(iso_problem_set(p, "resume", "false"));
	OK(iso_problem_set(p, "force", "true"));
	OK(iso_problem_recon(NULL, "every.nii", p));
	for (int i = 0; i < N_OF(left); i++) assert_int_equal(unlink(left[i]), 0);
	iso_problem_free(p);
	free_scan(&s);
}

/* A record that is refused sets nothing. */
static void like_all_or_nothing(void **state)
{
	iso_ctx *ctx = context();
	iso_problem *p = make(ctx, "ray");
	struct iso_param a;

	(void)state;
	OK(iso_problem_set(p, "voxel", "3"));
	put_text("half.json",
	         "{\"verb\": \"recon\", \"parameters\": {\"model\": \"ray\", \"grid\": [4, 5, 6], "
	         "\"psf\": [1, 1, 1], \"iterations\": 7, \"projector\": \"slise\"}}");
	REFUSED(iso_problem_like(p, "half.json"), ISO_EINPUT, "did you mean 'slice'");
	assert_string_equal(value_of(p, "grid", &a), "");
	assert_string_equal(value_of(p, "psf", &a), "");
	assert_string_equal(value_of(p, "iterations", &a), "10");
	assert_string_equal(value_of(p, "voxel", &a), "3,3,3");
	REFUSED(iso_problem_load(p), ISO_EARG, "give 'grid' and 'voxel'");
	put_text("half.json",
	         "{\"verb\": \"recon\", \"parameters\": {\"model\": \"ray\", \"grid\": [4, 5, 6]}}");
	OK(iso_problem_like(p, "half.json"));
	assert_string_equal(value_of(p, "grid", &a), "4,5,6");
	unlink("half.json");
	iso_problem_free(p);
	iso_ctx_free(ctx);
}

static void keep_warning(void *arg, enum iso_message_kind kind, const char *text)
{
	if (kind == ISO_WARNING && strstr(text, "not finite")) snprintf(arg, 256, "%s", text);
}

/* Events in memory are looked at as those of a file are, though nobody counted the bad ones. */
static void bad_events_in_memory(void **state)
{
	struct iso_array x = { 0 };
	struct scan s = { 0 };
	char warning[256] = "";
	iso_problem *p;

	(void)state;
	make_scan(&s);
	s.e.v[s.e.n - 1].dt_ps = NAN;
	s.e.n_bad = 0;
	p = of_scan(&s);
	OK(iso_problem_set(p, "sens", "none"));
	OK(iso_problem_set_events(p, "events", &s.e));
	iso_problem_set_message(p, keep_warning, warning);
	OK(iso_problem_recon(&x, NULL, p));
	assert_non_null(strstr(warning, "(events in memory): 1 of "));
	for (int64_t i = 0; i < s.e.n; i++) s.e.v[i].p1[0] = NAN;
	OK(iso_problem_set_events(p, "events", &s.e));
	iso_array_free(&x);
	REFUSED(iso_problem_recon(&x, NULL, p), ISO_EINPUT, "events is usable");
	iso_problem_free(p);
	free_scan(&s);
}

/* ---- what is known before the data ---- */

/* The grid of model ray is that of its parameters: neither scanner nor sensitivity is asked for. */
static void grid_without_data(void **state)
{
	iso_ctx *ctx = context();
	iso_problem *p = make(ctx, "ray");
	struct iso_grid g = { .n = { 7 } };

	(void)state;
	REFUSED(iso_problem_grid(&g, p), ISO_EARG, "give 'grid' and 'voxel'");
	assert_int_equal(g.n[0], 7);
	OK(iso_problem_set(p, "grid", "12,10,8"));
	OK(iso_problem_set(p, "voxel", "4"));
	OK(iso_problem_set(p, "centre", "1,2,3"));
	OK(iso_problem_grid(&g, p));
	assert_true(g.n[0] == 12 && g.n[1] == 10 && g.n[2] == 8 && g.voxel[2] == 4 && g.centre[1] == 2);
	iso_problem_free(p);
	iso_ctx_free(ctx);
}

/* A number whose name ends in its unit says so; lengths are mm. */
static void units_are_told(void **state)
{
	static const char *const units[][2] = {
		{ "-ps", "ps" },    { "-ns", "ns" },       { "-s", "s" },        { "-mm", "mm" },
		{ "-mhz", "MHz" },  { "-minutes", "min" }, { "voxel", "mm" },    { "pixel", "mm" },
		{ "centre", "mm" }, { "psf", "mm" },       { "speed", "mm/us" }, { "gamma", "1/mm^2" }
	};
	iso_ctx *ctx = context();
	int found = 0;

	(void)state;
	for (int m = 0; iso_problem_model(m); m++) {
		iso_problem *p = make(ctx, iso_problem_model(m));
		struct iso_param a = { .size = sizeof a };

		for (int k = 0; iso_problem_param(&a, p, k) == ISO_OK; k++)
			for (int i = 0; i < N_OF(units) && a.type == ISO_PARAM_REAL; i++) {
				size_t end = strlen(units[i][0]), n = strlen(a.name);

				if (n < end || strcmp(a.name + n - end, units[i][0]) != 0) continue;
				assert_non_null(a.unit);
				assert_string_equal(a.unit, units[i][1]);
				found++;
			}
		iso_problem_free(p);
	}
	assert_true(found > 50);
	iso_ctx_free(ctx);
}

/* ---- the image after each iteration ---- */

/* What was shown, and what to answer. */
struct shown {
	int n, stop_at, answer; /* answer: at iteration stop_at of frame `frame` */
	int64_t frame, frames;
	struct iso_array last; /* a copy */
	double objective[64];
};

static int see(void *arg, const struct iso_iteration *step)
{
	struct shown *s = arg;

	assert_int_equal(step->size, sizeof *step);
	assert_true(step->image->has_grid && step->image->unit[0]);
	if (!s->last.v) OK(iso_array_on_grid(&s->last, &step->image->grid));
	memcpy(s->last.v, step->image->v, (size_t)s->last.n * sizeof *s->last.v);
	assert_true(s->n < N_OF(s->objective));
	s->objective[s->n++] = step->objective;
	s->frames = step->frames;
	assert_true(step->iteration <= step->iterations);
	return step->iteration == s->stop_at && step->frame == s->frame ? s->answer : ISO_OK;
}

static void recorded(iso_problem *p, const char *holds, const char *lacks)
{
	char *text = NULL;

	OK(iso_problem_record(&text, p));
	if (!strstr(text, holds) || (lacks && strstr(text, lacks))) {
		print_error("wanted %s, and not %s: %s\n", holds, lacks ? lacks : "", text);
		fail();
	}
	free(text);
}

/* A run of OSEM that is stopped after 3 of 6 iterations ends with the image of one that had 3, on file too. */
static void stopped_em_is_a_shorter_one(void **state)
{
	struct shown seen = { .stop_at = 3, .answer = ISO_ENOUGH };
	struct iso_array x = { 0 }, y = { 0 }, read = { 0 };
	struct scan s = { 0 };
	iso_problem *p;

	(void)state;
	make_scan(&s);
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set(p, "method", "osem"));
	OK(iso_problem_set(p, "subsets", "4"));
	OK(iso_problem_set(p, "force", "true"));
	OK(iso_problem_set(p, "iterations", "3"));
	OK(iso_problem_recon(&y, NULL, p));
	recorded(p, "\"iteration\": 3", "stopped_by_caller");
	OK(iso_problem_set(p, "iterations", "6"));
	iso_problem_set_each(p, see, &seen);
	OK(iso_problem_recon(&x, "stopped.nii", p));
	assert_int_equal(seen.n, 3);
	assert_int_equal(seen.frames, 1);
	assert_true(seen.objective[0] < seen.objective[1] && seen.objective[1] < seen.objective[2]);
	same_values(&x, &y);
	same_values(&x, &seen.last);
	OK(iso_read(&read, "stopped.nii", ISO_FINITE));
	same_values(&x, &read);
	assert_true(access("stopped.nii.ckpt", F_OK) != 0);
	recorded(p, "\"stopped_by_caller\": true", NULL);
	recorded(p, "\"iteration\": 3", "\"iteration\": 6");
	iso_array_free(&x);
	seen.n = 0; /* the last iteration is no stop */
	seen.stop_at = 6;
	OK(iso_problem_recon(&x, NULL, p));
	assert_int_equal(seen.n, 6);
	same_values(&x, &seen.last);
	recorded(p, "\"iteration\": 6", "stopped_by_caller");
	iso_problem_set_each(p, NULL, NULL);
	iso_problem_set_each(NULL, NULL, NULL);
	seen.n = 0;
	iso_array_free(&y);
	OK(iso_problem_recon(&y, NULL, p));
	assert_int_equal(seen.n, 0);
	same_values(&x, &y);
	iso_problem_free(p);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_array_free(&read);
	iso_array_free(&seen.last);
	free_scan(&s);
}

/* With a filter behind the last iteration too; one that it did not come to is not in its record. */
static void stopped_em_is_filtered(void **state)
{
	struct shown seen = { .stop_at = 2, .answer = ISO_ENOUGH };
	struct iso_array x = { 0 }, y = { 0 };
	struct scan s = { 0 };
	iso_problem *p;

	(void)state;
	make_scan(&s);
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set(p, "filter", "gaussian:9"));
	OK(iso_problem_set(p, "iterations", "2"));
	OK(iso_problem_recon(&y, NULL, p));
	OK(iso_problem_set(p, "iterations", "5"));
	iso_problem_set_each(p, see, &seen);
	OK(iso_problem_recon(&x, NULL, p));
	same_values(&x, &y);
	recorded(p, "\"ReconFilterType\": \"gaussian\"", NULL);
	iso_array_free(&x);
	OK(iso_problem_set(p, "filter-every", "3"));
	OK(iso_problem_recon(&x, NULL, p));
	same_values(&x, &seen.last);
	recorded(p, "stopped_by_caller", "ReconFilterType");
	iso_problem_free(p);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_array_free(&seen.last);
	free_scan(&s);
}

static int fails_itself(void *arg, const struct iso_iteration *step)
{
	struct iso_array none = { 0 };

	(void)arg;
	(void)step;
	return iso_read(&none, "missing.nii", ISO_FINITE);
}

/* A failure of the function is that of the run, which goes on from its checkpoint to the same bits. */
static void failed_look_keeps_the_work(void **state)
{
	struct shown seen = { .stop_at = 2, .answer = ISO_ECANCEL };
	struct iso_array whole = { 0 }, x = { 0 };
	struct scan s = { 0 };
	iso_problem *p;

	(void)state;
	make_scan(&s);
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set(p, "iterations", "4"));
	OK(iso_problem_set(p, "force", "true"));
	OK(iso_problem_recon(&whole, NULL, p));
	unlink("look.nii"); /* of an earlier run of the tests */
	unlink("look.json");
	iso_problem_set_each(p, see, &seen);
	REFUSED(iso_problem_recon(NULL, "look.nii", p), ISO_ECANCEL,
	        "stopped by the caller after iteration 2 of 4");
	assert_true(access("look.nii.ckpt", F_OK) == 0 && access("look.nii", F_OK) != 0);
	seen.answer = 17; /* no status: a failure too */
	REFUSED(iso_problem_recon(&x, NULL, p), ISO_ECANCEL, "stopped by the caller after iteration 2 of 4");
	assert_null(x.v);
	iso_problem_set_each(p, fails_itself, NULL);
	REFUSED(iso_problem_recon(&x, NULL, p), ISO_EINPUT,
	        "stopped by the caller after iteration 1 of 4: missing.nii");
	iso_problem_set_each(p, see, &seen);
	seen.n = 0;
	OK(iso_problem_set(p, "resume", "true"));
	OK(iso_problem_recon(&x, "look.nii", p));
	assert_int_equal(seen.n, 2); /* iterations 3 and 4 */
	same_values(&x, &whole);
	assert_true(access("look.nii.ckpt", F_OK) != 0);
	iso_problem_free(p);
	iso_array_free(&x);
	iso_array_free(&whole);
	iso_array_free(&seen.last);
	free_scan(&s);
}

/* Stopped in the second of three frames, there are two: in memory, on file, and in the record. */
static void stopped_series_has_the_frames_so_far(void **state)
{
	struct shown seen = { .stop_at = 1, .answer = ISO_ENOUGH, .frame = 1 };
	struct iso_array whole = { 0 }, x = { 0 }, read = { 0 };
	struct scan s = { 0 };
	char *text = NULL;
	iso_problem *p;

	(void)state;
	make_scan(&s);
	if (!s.e.time_ms) s.e.time_ms = calloc((size_t)s.e.n, sizeof *s.e.time_ms);
	assert_non_null(s.e.time_ms);
	for (int64_t i = 0; i < s.e.n; i++) s.e.time_ms[i] = (uint32_t)(i * 9000 / s.e.n);
	s.e.duration_s = 9;
	p = of_scan(&s);
	OK(iso_problem_set_events(p, "events", &s.e));
	OK(iso_problem_set(p, "frames", "0,3,6,9"));
	OK(iso_problem_set(p, "force", "true"));
	OK(iso_problem_recon(&whole, NULL, p));
	iso_problem_set_each(p, see, &seen);
	OK(iso_problem_recon(&x, "series.nii", p));
	assert_int_equal(seen.n, 3);
	assert_int_equal(seen.frames, 3);
	assert_true(x.n_dim == 4 && x.dim[0] == 2 && x.n == 2 * 12 * 12 * 8);
	assert_memory_equal(x.v, whole.v, (size_t)x.n / 2 * sizeof *x.v);
	assert_memory_equal(x.v + x.n / 2, seen.last.v, (size_t)x.n / 2 * sizeof *x.v);
	OK(iso_read(&read, "series.nii", ISO_FINITE));
	same_values(&x, &read);
	OK(iso_problem_record(&text, p));
	assert_int_equal(count(text, "\"loglik\""), 2);
	assert_int_equal(count(text, "\"stopped_by_caller\": true"),
	                 2); /* of the run, and of its last frame */
	assert_int_equal(count(text, "\"iteration\": 1"), 1);
	assert_int_equal(count(text, "\"iteration\": 2"),
	                 2); /* of the run, the most, and of its first frame */
	free(text);
	assert_true(access("series.nii.ckpt", F_OK) != 0 && access("series.nii.frames", F_OK) != 0);
	iso_problem_free(p);
	iso_array_free(&x);
	iso_array_free(&whole);
	iso_array_free(&read);
	iso_array_free(&seen.last);
	free_scan(&s);
}

/* The same by conjugate gradients and by FISTA, whose objective is the cost, which falls; of three recordings in one
   file two images are left. */
static void stopped_least_squares(void **state)
{
	const struct iso_grid g = { .n = { 8, 8, 8 }, .voxel = { 1, 1, 1 } };
	const char *const penalty[] = { "quadratic:1", "tv:1" };
	struct iso_array x = { 0 }, y = { 0 }, one = { 0 }, two = { 0 }, several = { 0 };
	iso_ctx *ctx = context();
	iso_problem *p = make(ctx, "sradon");
	int64_t dim[8];

	(void)state;
	OK(iso_problem_set(p, "scanner", TEST_EXAMPLES "/scanners/optoacoustic-small.yaml"));
	OK(iso_problem_set(p, "grid", "8,8,8"));
	OK(iso_problem_set(p, "voxel", "1"));
	OK(iso_array_on_grid(&x, &g));
	x.v[200] = 1;
	OK(iso_problem_project(&y, p, &x));
	assert_int_equal(iso_problem_shape(dim, p), 2);
	assert_true(dim[0] == y.dim[0] && dim[1] == y.dim[1]);
	OK(iso_problem_set_array(p, "data", &y, false));
	for (int k = 0; k < 2; k++) {
		struct shown seen = { .stop_at = 2, .answer = ISO_ENOUGH };

		OK(iso_problem_set(p, "penalty", penalty[k]));
		OK(iso_problem_set(p, "iterations", "2"));
		OK(iso_problem_recon(&one, NULL, p));
		OK(iso_problem_set(p, "iterations", "5"));
		iso_problem_set_each(p, see, &seen);
		OK(iso_problem_recon(&two, NULL, p));
		iso_problem_set_each(p, NULL, NULL);
		same_values(&one, &two);
		same_values(&two, &seen.last);
		assert_true(seen.n == 2 && seen.objective[1] < seen.objective[0]);
		recorded(p, "\"stopped_by_caller\": true", NULL);
		recorded(p, "\"iteration\": 2", NULL);
		iso_array_free(&one);
		iso_array_free(&two);
		iso_array_free(&seen.last);
	}
	OK(iso_array_create(&several, 4, (const int64_t[]){ 1, 3, y.dim[0], y.dim[1] }));
	for (int64_t i = 0; i < several.n; i++) several.v[i] = y.v[i % y.n];
	struct shown seen = { .stop_at = 1, .answer = ISO_ENOUGH, .frame = 1 };

	OK(iso_problem_set_array(p, "data", &several, false));
	OK(iso_problem_set(p, "wavelength", "all"));
	iso_problem_set_each(p, see, &seen);
	OK(iso_problem_recon(&two, NULL, p));
	assert_true(two.n_dim == 4 && two.dim[0] == 2 && two.n == 2 * 512);
	assert_int_equal(seen.n, 6);
	iso_problem_free(p);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_array_free(&two);
	iso_array_free(&several);
	iso_array_free(&seen.last);
	iso_ctx_free(ctx);
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
		cmocka_unit_test(presets_choose_anew),
		cmocka_unit_test(files_are_looked_for),
		cmocka_unit_test(refused_values_change_nothing),
		cmocka_unit_test(one_call_leaves_the_next_alone),
		cmocka_unit_test(sound_twice),
		cmocka_unit_test(matrix_in_place_of_a_file),
		cmocka_unit_test(matrices_are_told_apart),
		cmocka_unit_test(matrices_that_are_refused),
		cmocka_unit_test(factors_after_a_stop),
		cmocka_unit_test(projections_of_other_grids),
		cmocka_unit_test(checkpoints_and_records),
		cmocka_unit_test(images_between_iterations),
		cmocka_unit_test(like_all_or_nothing),
		cmocka_unit_test(bad_events_in_memory),
		cmocka_unit_test(grid_without_data),
		cmocka_unit_test(units_are_told),
		cmocka_unit_test(stopped_em_is_a_shorter_one),
		cmocka_unit_test(stopped_em_is_filtered),
		cmocka_unit_test(failed_look_keeps_the_work),
		cmocka_unit_test(stopped_series_has_the_frames_so_far),
		cmocka_unit_test(stopped_least_squares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
