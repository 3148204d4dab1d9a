/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter as an option of a reconstruction: images of scans with scatter against those without, count balance, the fit of
   tails, frames, events on disk, what is resumed, what is refused, what the record says. */
#include "scatter_scan.h"

#include <unistd.h>

/* Body and rod of the scan with scatter, corrected, are those of the trues alone; uncorrected they are not. */
static void image_is_that_of_trues(const char *tof)
{
	struct iso_array t = { 0 }, plain = { 0 }, x = { 0 };

	reconstruct(&t, &w.trues, false, "tof-fwhm-ps", tof);
	reconstruct(&plain, &w.all, false, "tof-fwhm-ps", tof);
	reconstruct(&x, &w.all, true, "tof-fwhm-ps", tof);
	double body = mean_of(&t, false);

	print_message(
		"tof %s ps: body of trues %.4g, with scatter x %.4f, corrected x %.4f; rod %.3f %.3f %.3f\n",
		tof, body, mean_of(&plain, false) / body, mean_of(&x, false) / body, mean_of(&t, true) / body,
		mean_of(&plain, true) / body, mean_of(&x, true) / body);
	assert_true(mean_of(&plain, false) > 1.1 * body);
	NEAR(mean_of(&x, false) / body, 1, .015);
	NEAR(mean_of(&x, true) / body, mean_of(&t, true) / body, .04);
	iso_array_free(&t);
	iso_array_free(&plain);
	iso_array_free(&x);
}

static void corrects_with_time_of_flight(void **state)
{
	(void)state;
	image_is_that_of_trues("300");
}

static void corrects_without(void **state)
{
	(void)state;
	image_is_that_of_trues("0");
}

/* c_1 is far from 1, c_3 is not, and the scatter is what was put in. */
static void rounds_settle_in_absolute_counts(void **state)
{
	iso_problem *p = problem_of(&w.all, true);
	struct iso_array x = { 0 };

	(void)state;
	OK(iso_problem_set(p, "scatter-rounds", "3"));
	OK(iso_problem_recon(&x, NULL, p));
	json_t *record = record_of(p);
	const json_t *s = scatter_of(record), *rounds = json_object_get(s, "rounds"), *last;
	size_t n = json_array_size(rounds);

	if (getenv("ISO_TEST_SHOW")) json_dumpf(record, stderr, JSON_INDENT(1));
	for (size_t i = 0; i < n; i++)
		print_message("round %zu: c %.4f, share %.4f\n", i + 1,
		              number(json_array_get(rounds, i), "c"),
		              number(json_array_get(rounds, i), "share"));
	assert_true(n >= 2 && n <= 3);
	last = json_array_get(rounds, n - 1);
	assert_true(number(json_array_get(rounds, 0), "c") < .95);
	NEAR(number(last, "c"), 1, .01);
	NEAR(number(last, "scatter"), w.scattered, .03 * w.scattered);
	NEAR(number(last, "trues"), (double)w.trues.n, .015 * (double)w.trues.n);
	NEAR(number(s, "counts"), (double)w.all.n, 1e-6);
	assert_string_equal(json_string_value(json_object_get(s, "method")), "sss");
	assert_true(number(s, "points") > 0);
	print_message("%.4f of the activity away from matter\n", number(s, "outside_matter"));
	assert_true(number(s, "outside_matter") < .015);
	char *warnings = json_dumps(json_object_get(record, "warnings"), 0);

	assert_non_null(warnings);
	assert_null(strstr(warnings, "registered"));
	assert_null(strstr(warnings, "scatter"));
	free(warnings);
	const char *ended = json_string_value(json_object_get(s, "ended_by"));

	assert_true(strcmp(ended, n < 3 ? "settled" : "rounds") == 0 || strcmp(ended, "settled") == 0);
	json_decref(record);
	iso_array_free(&x);
	iso_problem_free(p);
}

/* Of one round, of which c is 0.8 or so, a warning is kept; and one of a map that lies 20 mm beside the object. */
static void one_round_warns(void **state)
{
	iso_problem *p = problem_of(&w.all, true);
	struct iso_array x = { 0 }, shifted = w.mu;
	char *text = NULL;

	(void)state;
	shifted.grid.centre[0] += 20;
	OK(iso_problem_set_array(p, "mu", &shifted, false));
	OK(iso_problem_set(p, "scatter-rounds", "1"));
	OK(iso_problem_recon(&x, NULL, p));
	OK(iso_problem_record(&text, p));
	assert_non_null(strstr(text, "scatter and image do not agree yet"));
	assert_non_null(strstr(text, "is the map registered?"));
	json_t *record = record_of(p);

	print_message("%.4f of the activity beside a map that is shifted\n",
	              number(scatter_of(record), "outside_matter"));
	json_decref(record);
	free(text);
	iso_array_free(&x);
	iso_problem_free(p);
}

/* Tails want the estimate as it is: k = 1.00 +- 0.03, from enough counts that chance is a third of that. The object ends
   where its map does. */
static void tails_confirm_the_scale(void **state)
{
	struct iso_events e = { 0 };
	struct iso_array x = { 0 }, f = w.f;
	double scattered;

	(void)state;
	OK(iso_array_on_grid(&w.f, &f.grid));
	memcpy(w.f.v, f.v, (size_t)f.n * sizeof *f.v);
	make_scan(&e, NULL, sized(700000, 300000), &scattered);
	iso_problem *p = problem_of(&e, true);

	OK(iso_problem_set(p, "scatter-scale", "fit"));
	OK(iso_problem_set(p, "scatter-rounds", "3"));
	OK(iso_problem_set(p, "iterations", "1"));
	OK(iso_problem_recon(&x, NULL, p));
	json_t *record = record_of(p);
	const json_t *rounds = json_object_get(scatter_of(record), "rounds");
	const json_t *tail = json_object_get(json_array_get(rounds, json_array_size(rounds) - 1), "tail");
	double k = number(tail, "k"), error = number(tail, "error");

	print_message("k %.4f +- %.4f of %.0f counts\n", k, error, number(tail, "counts"));
	assert_true(json_is_true(json_object_get(tail, "applied")));
	assert_true(error > 0 && error < sized(110, 220) * 1e-4);
	NEAR(k, 1, sized(300, 600) * 1e-4);
	json_decref(record);
	iso_events_free(&e);
	iso_array_free(&x);
	iso_array_free(&w.f);
	w.f = f;
	iso_problem_free(p);
}

/* An energy window that the scan did not have: the tails want another scale than the estimate, by far more than their error.
   That is told with both values, and the absolute estimate is kept unless the fit is asked for anyway. Of `sss`, which is less
   than all scatter by itself, a fit is taken as it comes. */
static void tails_that_contradict(void **state)
{
	static const struct {
		const char *method, *scale;
		bool applied;
	} of[] = { { "sss+mc", "fit", false }, { "sss+mc", "fit-anyway", true }, { "sss", "fit", true } };

	(void)state;
	for (int i = 0; i < 3; i++) {
		iso_problem *p = problem_of(NULL, true);
		struct iso_array x = { 0 };
		char *text = NULL;

		OK(iso_problem_set(p, "scatter", of[i].method));
		OK(iso_problem_set(p, "scatter-scale", of[i].scale));
		OK(iso_problem_set(p, "scatter-error", "0.1"));
		OK(iso_problem_set(p, "scatter-rounds", "1"));
		OK(iso_problem_set(p, "energy-window", "450,650"));
		OK(iso_problem_set(p, "iterations", "1"));
		OK(iso_problem_recon(&x, NULL, p));
		OK(iso_problem_record(&text, p));
		json_t *record = record_of(p);
		const json_t *round = json_array_get(json_object_get(scatter_of(record), "rounds"), 0);
		const json_t *tail = json_object_get(round, "tail");
		double k = number(tail, "k"), scale = number(round, "scale");

		print_message("%s %s: k %.3f +- %.3f, scale %.3f\n", of[i].method, of[i].scale, k,
		              number(tail, "error"), scale);
		assert_true(k > 1 + 5 * number(tail, "error"));
		assert_true(json_is_true(json_object_get(tail, "applied")) == of[i].applied);
		assert_true((strstr(text, "more than 5 sigma off: 1 is kept") != NULL) == !of[i].applied);
		NEAR(number(round, "k"), of[i].applied ? k : 1, 1e-9);
		if (of[i].applied)
			assert_true(scale > .5 * k);
		else
			NEAR(scale, number(round, "c"), 1e-6);
		json_decref(record);
		free(text);
		iso_array_free(&x);
		iso_problem_free(p);
	}
}

static void same_image(const struct iso_array *a, const struct iso_array *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->v, b->v, (size_t)a->n * sizeof *a->v);
}

/* Events on disk, block by block, and any number of threads: the same bits. */
static void bits_do_not_depend_on_where_events_are(void **state)
{
	struct iso_array x[3] = { 0 };
	iso_ctx *one = cpu(1), *two = w.ctx;

	(void)state;
	for (int k = 0; k < 3; k++) {
		w.ctx = k == 2 ? one : two;
		iso_problem *p = problem_of(NULL, true);

		OK(iso_problem_set(p, "tof-fwhm-ps", "300"));
		OK(iso_problem_set(p, "scatter-rounds", "1"));
		if (k == 1) OK(iso_problem_set(p, "block", "10007"));
		OK(iso_problem_recon(&x[k], NULL, p));
		iso_problem_free(p);
		same_image(&x[0], &x[k]);
	}
	w.ctx = two;
	iso_ctx_free(one);
	for (int k = 0; k < 3; k++) iso_array_free(&x[k]);
}

static int stop_at_once(void *arg, const struct iso_iteration *step)
{
	(void)arg;
	(void)step;
	return ISO_ECANCEL;
}

/* A run that ended behind its rounds goes on from them, to the same image. */
static void resumes_behind_the_rounds(void **state)
{
	struct iso_array x = { 0 }, y = { 0 };
	iso_problem *p = problem_of(&w.all, true);

	(void)state;
	remove("stopped.nii");
	remove("stopped.json");
	OK(iso_problem_set(p, "scatter-rounds", "1"));
	reconstruct(&x, &w.all, true, "scatter-rounds", "1");
	iso_problem_set_each(p, stop_at_once, NULL);
	OK(iso_problem_set(p, "force", "true"));
	assert_int_equal(iso_problem_recon(NULL, "stopped.nii", p), ISO_ECANCEL);
	assert_int_equal(access("stopped.nii.rounds", F_OK), 0);
	assert_int_not_equal(access("stopped.nii", F_OK), 0);
	iso_problem_set_each(p, NULL, NULL);
	OK(iso_problem_set(p, "force", "false"));
	REFUSED(iso_problem_recon(NULL, "stopped.nii", p), ISO_EARG, "'resume' continues it");
	OK(iso_problem_set(p, "force", "true"));
	OK(iso_problem_set(p, "resume", "true"));
	OK(iso_problem_recon(&y, "stopped.nii", p));
	same_image(&x, &y);
	assert_int_not_equal(access("stopped.nii.rounds", F_OK), 0);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_problem_free(p);
}

/* Of two frames each has an estimate of its own. */
static void frames_have_their_own(void **state)
{
	struct iso_events e = w.all;
	struct iso_array x = { 0 };
	iso_problem *p;

	(void)state;
	e.time_ms = calloc((size_t)e.n, sizeof *e.time_ms);
	assert_non_null(e.time_ms);
	for (int64_t i = 0; i < e.n; i++) e.time_ms[i] = (uint32_t)(i * 10000 / e.n);
	e.duration_s = 10;
	p = problem_of(&e, true);
	OK(iso_problem_set(p, "frames", "0,2.5,10"));
	OK(iso_problem_set(p, "scatter-rounds", "1"));
	OK(iso_problem_recon(&x, NULL, p));
	json_t *record = record_of(p);
	const json_t *frames = json_object_get(json_object_get(record, "results"), "frames");
	double c[2];

	for (int k = 0; k < 2; k++) {
		const json_t *s = json_object_get(json_array_get(frames, (size_t)k), "scatter");

		c[k] = number(s, "counts");
		NEAR(number(s, "share"), w.scattered / (double)w.all.n, .02);
	}
	NEAR(c[0] / (c[0] + c[1]), .25, .001);
	json_decref(record);
	free(e.time_ms);
	iso_array_free(&x);
	iso_problem_free(p);
}

static void refuse(const char *name, const char *value, int status, const char *why)
{
	iso_problem *p = problem_of(&w.all, true);
	struct iso_array x = { 0 };

	OK(iso_problem_set(p, name, value));
	REFUSED(iso_problem_recon(&x, NULL, p), status, why);
	iso_problem_free(p);
}

static void what_is_refused(void **state)
{
	struct iso_array x = { 0 }, cm = { 0 };
	iso_problem *p;

	(void)state;
	refuse("precorrected", "true", ISO_EARG, "'precorrected' data can't carry 'scatter'");
	refuse("sens", "none", ISO_EARG, "not 'sens' none");
	refuse("scatter-scale", "-1", ISO_EARG, "must be a number above 0, fit or fit-anyway");
	refuse("scatter-scale", "much", ISO_EARG, "must be a number above 0, fit or fit-anyway");
	refuse("energy-window", "650,435", ISO_EARG, "the first must be below the second");
	refuse("scatter-save", "t.nii", ISO_EARG, "writes .h5 alone");
	p = problem_of(&w.all, true);
	REFUSED(iso_problem_set(p, "energy-resolution", "1.5"), ISO_EARG, "'energy-resolution' is 1.5");
	REFUSED(iso_problem_set(p, "scatter", "ssss"), ISO_EARG, "did you mean 'sss'");
	OK(iso_array_on_grid(&cm, &w.mu.grid));
	for (int64_t i = 0; i < cm.n; i++) cm.v[i] = 10 * w.mu.v[i];
	OK(iso_problem_set_array(p, "mu", &cm, false));
	REFUSED(iso_problem_recon(&x, NULL, p), ISO_EINPUT, "is it 1/cm?");
	for (int64_t i = 0; i < cm.n; i++) cm.v[i] = 0;
	OK(iso_problem_set_array(p, "mu", &cm, false));
	REFUSED(iso_problem_recon(&x, NULL, p), ISO_EINPUT, "holds no matter");
	iso_problem_free(p);
	iso_array_free(&cm);
	p = problem_of(&w.all, false);
	OK(iso_problem_set(p, "scatter-rounds", "2"));
	REFUSED(iso_problem_recon(&x, NULL, p), ISO_EARG, "'scatter-rounds' needs 'scatter'");
	iso_problem_free(p);
	p = problem_of(&w.all, false);
	OK(iso_problem_set(p, "scatter", "sss"));
	REFUSED(iso_problem_recon(&x, NULL, p), ISO_EARG, "needs the energy window: energy: {window_kev:");
	iso_real *y = NULL, *r = NULL, *m = NULL;
	REFUSED(iso_problem_data(&y, &r, &m, p), ISO_EARG, "recon makes both in turn");
	iso_problem_free(p);
	OK(iso_problem_create(&p, w.ctx, "ray"));
	OK(iso_problem_set_events(p, "events", &w.all));
	OK(iso_problem_set(p, "scanner", "ring.yaml"));
	OK(iso_problem_set(p, "grid", "8"));
	OK(iso_problem_set(p, "voxel", "16"));
	OK(iso_problem_set(p, "scatter", "sss"));
	REFUSED(iso_problem_recon(&x, NULL, p), ISO_EARG, "'scatter' needs 'mu'");
	iso_problem_free(p);
}

/* Events that end off the scanner, more than one in a hundred of them. */
static void events_of_another_scanner_are_refused(void **state)
{
	struct iso_events e = { .n = w.all.n, .v = malloc((size_t)w.all.n * sizeof *e.v) };
	struct iso_array x = { 0 };

	(void)state;
	memcpy(e.v, w.all.v, (size_t)e.n * sizeof *e.v);
	for (int64_t i = 0; i < e.n; i += 30) e.v[i].p1[2] += 150;
	iso_problem *p = problem_of(&e, true);

	REFUSED(iso_problem_recon(&x, NULL, p), ISO_EINPUT, "'scatter' needs its own scanner");
	iso_problem_free(p);
	iso_events_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_settle_in_absolute_counts),
		cmocka_unit_test(tails_confirm_the_scale),
		cmocka_unit_test(tails_that_contradict),
		cmocka_unit_test(resumes_behind_the_rounds),
		cmocka_unit_test(corrects_with_time_of_flight),
		cmocka_unit_test(corrects_without),
		cmocka_unit_test(one_round_warns),
		cmocka_unit_test(bits_do_not_depend_on_where_events_are),
		cmocka_unit_test(frames_have_their_own),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(events_of_another_scanner_are_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
