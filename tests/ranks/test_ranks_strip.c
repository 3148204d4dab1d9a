/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip over several ranks: images, and what is said of them, are those of one process. Run by mpirun with one to
   four ranks; the device is that of ISO_TEST_DEVICE, or the CPU. */
#include "core/comm.h"
#include "test.h"

#define STRIPS TEST_EXAMPLES "/scanners/bialas2015.yaml"

enum { EVENTS = 40000, WORDS = 4096 };

static iso_ctx *all, *alone;
static struct iso_strip_events scan; /* whole, on every rank */

static const char *device(void)
{
	const char *d = getenv("ISO_TEST_DEVICE");

	return d ? d : "cpu";
}

/* Hits anywhere on the strips, some beyond their ends, one that is no number. */
static int begin(void **state)
{
	uint32_t r = 1;

	(void)state;
	OK(iso_ctx_create_ranks(&all, device(), 1, NULL));
	OK(iso_ctx_create(&alone, device(), 2));
	scan = (struct iso_strip_events){ EVENTS, calloc(EVENTS, sizeof *scan.v), 1 };
	assert_non_null(scan.v);
	for (int64_t i = 0; i < EVENTS; i++) {
		float v[3];

		for (int k = 0; k < 3; k++)
			v[k] = (float)((r = r * 1664525 + 1013904223) >> 8) * 0x1p-24f - .5f;
		scan.v[i] = (struct iso_strip_event){ 310 * v[0], 300 * v[1], 400 * v[2] };
	}
	scan.v[EVENTS - 7].dl = NAN;
	if (iso_ctx_rank(all) == 0) {
		OK(iso_strip_events_write("scan.f32", &scan, NULL));
		OK(iso_strip_events_write("scan.txt", &scan, NULL));
	}
	OK(iso_comm_agree(all, ISO_OK)); /* the others wait */
	return 0;
}

static int end(void **state)
{
	(void)state;
	iso_strip_events_free(&scan);
	iso_ctx_free(alone);
	iso_ctx_free(all);
	return 0;
}

static void hear(void *arg, enum iso_message_kind kind, const char *text)
{
	char *words = arg;
	size_t used = strlen(words);

	if (kind == ISO_WARNING) snprintf(words + used, WORDS - used, "%s\n", text);
}

/* Settings by name and value, ended by NULL. */
static iso_problem *make(iso_ctx *ctx, const char *const *set, char *words)
{
	iso_problem *p = NULL;

	OK(iso_problem_create(&p, ctx, "strip"));
	iso_problem_set_message(p, hear, words);
	OK(iso_problem_set(p, "scanner", STRIPS));
	OK(iso_problem_set(p, "pixel", "20"));
	for (; *set; set += 2) OK(iso_problem_set(p, set[0], set[1]));
	return p;
}

static void compare(const char *const *set, bool in_memory)
{
	iso_ctx *const of[2] = { alone, all };
	struct iso_array x[2] = { { 0 }, { 0 } };
	char words[2][WORDS] = { "", "" };

	for (int k = 0; k < 2; k++) {
		iso_problem *p = make(of[k], set, words[k]);

		if (in_memory) OK(iso_problem_set_strip_events(p, &scan));
		OK(iso_problem_recon(&x[k], NULL, p));
		assert_true(iso_problem_rows(p) == EVENTS);
		assert_true((iso_problem_own_rows(p) < EVENTS) == (iso_ctx_ranks(of[k]) > 1));
		iso_problem_free(p);
	}
	assert_true(x[0].n == x[1].n);
	assert_memory_equal(x[0].v, x[1].v, (size_t)x[0].n * sizeof *x[0].v);
	assert_string_equal(words[0], words[1]);
	assert_non_null(strstr(words[0], "not finite"));
	iso_array_free(&x[0]);
	iso_array_free(&x[1]);
}

static void images_are_those_of_one(void **state)
{
	static const char *const kernels[] = { "eq7", "tan", "gauss" }, *const rules[] = { "interleaved",
		                                                                           "blocks",
		                                                                           "random" };

	(void)state;
	for (int k = 0; k < 3; k++)
		compare((const char *const[]){ "events", "scan.f32", "kernel", kernels[k], "iterations", "2",
		                               NULL },
		        false);
	for (int k = 0; k < 3; k++)
		compare((const char *const[]){ "events", "scan.f32", "kernel", "gauss", "iterations", "1",
		                               "method", "osem", "subsets", "3", "subset-rule", rules[k],
		                               NULL },
		        false);
}

static void other_sources(void **state)
{
	static const char *const text[] = {
		"events", "scan.txt", "kernel", "gauss", "iterations", "1", NULL
	};
	static const char *const direct[] = { "events", "scan.f32", "method", "direct", NULL };

	(void)state;
	compare(text, false);
	compare(text, true);
	compare(direct, false);
}

static void adjoint_and_forward(void **state)
{
	static const char *const set[] = { "events", "scan.f32", NULL };
	iso_ctx *const of[2] = { alone, all };
	struct iso_array x[2] = { { 0 }, { 0 } }, y[2] = { { 0 }, { 0 } };
	char words[WORDS] = "";

	(void)state;
	for (int k = 0; k < 2; k++) {
		iso_problem *p = make(of[k], set, words);
		struct iso_array image = { 0 };
		struct iso_grid g;

		OK(iso_problem_grid(&g, p));
		OK(iso_array_on_grid(&image, &g));
		for (int64_t i = 0; i < image.n; i++) image.v[i] = (iso_real)(i % 7);
		OK(iso_problem_project(&y[k], p, &image));
		OK(iso_problem_backproject(&x[k], p, &y[k]));
		iso_array_free(&image);
		iso_problem_free(p);
	}
	assert_true(y[0].n == EVENTS && y[1].n == EVENTS);
	assert_memory_equal(y[0].v, y[1].v, EVENTS * sizeof *y[0].v);
	assert_memory_equal(x[0].v, x[1].v, (size_t)x[0].n * sizeof *x[0].v);
	for (int k = 0; k < 2; k++) {
		iso_array_free(&x[k]);
		iso_array_free(&y[k]);
	}
}

/* A step of ratios from 0, and one more at another image. */
static void steps_of_ratios(void **state)
{
	static const char *const set[] = { "events", "scan.f32", "kernel", "eq7", NULL };
	iso_ctx *const of[2] = { alone, all };
	struct iso_ratio_stat s[2][2];
	iso_real *z[2][2];
	char words[WORDS] = "";
	int64_t n = 0;

	(void)state;
	for (int k = 0; k < 2; k++) {
		iso_problem *p = make(of[k], set, words);
		iso_op *op = NULL;

		OK(iso_problem_op(&op, p));
		n = iso_op_n_in(op);
		iso_real *x = to_device(of[k], n, NULL), *rho = to_device(of[k], iso_op_n_out(op), NULL);
		iso_real *out = to_device(of[k], n, NULL);

		for (int step = 0; step < 2; step++) {
			struct iso_em_data d = { 0 };

			OK(iso_ctx_vec(of[k])->fill(of[k], n, x, 1 + step));
			OK(iso_op_ratio_step(out, rho, &s[k][step], op, ISO_ALL, false, x, x, &d));
			z[k][step] = to_host(of[k], n, out);
		}
		device_free(of[k], x);
		device_free(of[k], rho);
		device_free(of[k], out);
		iso_problem_free(p);
	}
	for (int step = 0; step < 2; step++) {
		assert_memory_equal(z[0][step], z[1][step], (size_t)n * sizeof **z[0]);
		assert_true(s[0][step].em.used > EVENTS / 2);
		assert_int_equal(s[0][step].em.used, s[1][step].em.used);
		assert_int_equal(s[0][step].cut, s[1][step].cut);
		NEAR(s[0][step].em.loglik, s[1][step].em.loglik, 1e-9 * fabs(s[0][step].em.loglik));
		free(z[0][step]);
		free(z[1][step]);
	}
}

/* What the whole operator makes of its subsets' rows: A* A x, a step of EM and one of ratios. */
struct whole {
	int64_t n;
	iso_real *back, *em, *ratio;
	struct iso_em_stat stat;
};

static void apply_whole(struct whole *w, iso_ctx *ctx, iso_op *op)
{
	struct iso_em_data d = { 0 };
	struct iso_ratio_stat s;

	w->n = iso_op_n_in(op);
	iso_real *x = to_device(ctx, w->n, NULL), *out = to_device(ctx, w->n, NULL);
	iso_real *y = to_device(ctx, iso_op_n_out(op) + 1, NULL),
		 *rho = to_device(ctx, iso_op_n_out(op) + 1, NULL);

	OK(iso_ctx_vec(ctx)->fill(ctx, w->n, x, 1.1f));
	OK(iso_forward(y, op, ISO_ALL, x));
	OK(iso_adjoint(out, op, ISO_ALL, y));
	w->back = to_host(ctx, w->n, out);
	OK(iso_op_em_step(out, &w->stat, op, ISO_ALL, x, &d));
	w->em = to_host(ctx, w->n, out);
	OK(iso_op_ratio_step(out, rho, &s, op, ISO_ALL, false, x, x, &d));
	w->ratio = to_host(ctx, w->n, out);
	device_free(ctx, x);
	device_free(ctx, out);
	device_free(ctx, y);
	device_free(ctx, rho);
}

static void compare_whole(const char *rule)
{
	const char *const set[] = { "events",  "scan.f32", "kernel",      "gauss", "method", "osem",
		                    "subsets", "7",        "subset-rule", rule,    NULL };
	iso_ctx *const of[2] = { alone, all };
	struct whole w[2];
	char words[WORDS] = "";

	for (int k = 0; k < 2; k++) {
		iso_problem *p = make(of[k], set, words);
		iso_op *op = NULL;

		OK(iso_problem_op(&op, p));
		assert_int_equal(iso_op_n_sub(op), 7);
		apply_whole(&w[k], of[k], op);
		iso_problem_free(p);
	}
	assert_memory_equal(w[0].back, w[1].back, (size_t)w[0].n * sizeof *w[0].back);
	assert_memory_equal(w[0].em, w[1].em, (size_t)w[0].n * sizeof *w[0].em);
	assert_memory_equal(w[0].ratio, w[1].ratio, (size_t)w[0].n * sizeof *w[0].ratio);
	assert_true(w[0].stat.loglik == w[1].stat.loglik && w[0].stat.used == w[1].stat.used);
	for (int k = 0; k < 2; k++) {
		free(w[k].back);
		free(w[k].em);
		free(w[k].ratio);
	}
}

/* Chunks of rows begin with each subset: a rank has whole ones, also where all subsets are taken at once. */
static void whole_of_subsets(void **state)
{
	(void)state;
	compare_whole("interleaved");
	compare_whole("blocks");
	compare_whole("random");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_are_those_of_one), cmocka_unit_test(other_sources),
		cmocka_unit_test(adjoint_and_forward),     cmocka_unit_test(steps_of_ratios),
		cmocka_unit_test(whole_of_subsets),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
