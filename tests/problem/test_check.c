/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of an image that no run could show: figures made up by hand. */
#include "test.h"

#include "problem/check/check.h"

#include <math.h>

enum { N = 10 };

static int heard; /* warnings */

static void listen(void *arg, enum iso_message_kind kind, const char *text)
{
	(void)arg;
	(void)text;
	heard += kind == ISO_WARNING;
}

/* Findings of the check of this name, for what a run made. */
static int findings(const char *name, const struct run_made *made, int subsets)
{
	iso_ctx *ctx = NULL;
	iso_problem *p = NULL;
	const json_t *verdict;

	heard = 0;
	assert_int_equal(iso_ctx_create(&ctx, "cpu", 1), ISO_OK);
	assert_int_equal(iso_problem_create(&p, ctx, "ray"), ISO_OK);
	iso_problem_set_message(p, listen, NULL);
	p->s.subsets = subsets;
	p->s.filter_every = p->s.iterations;
	assert_int_equal(problem_check_image(p, made), ISO_OK);
	verdict = json_object_get(json_object_get(p->record->root, "checks"), name);
	assert_non_null(verdict);
	bool doubtful = strcmp(json_string_value(verdict), "doubtful") == 0;

	assert_int_equal(doubtful, heard > 0);
	iso_problem_free(p);
	iso_ctx_free(ctx);
	return heard;
}

/* An image of n voxels a side, all 1, seen with sensitivity 1 each, and as many counts as it expects. */
struct case_of {
	struct iso_array image;
	iso_real sens[N * N * N];
	struct run_made made;
};

static void set_up(struct case_of *c)
{
	const struct iso_grid g = { { N, N, N }, { 1, 1, 1 }, { 0, 0, 0 } };

	*c = (struct case_of){ 0 };
	assert_int_equal(iso_array_on_grid(&c->image, &g), ISO_OK);
	for (int i = 0; i < N * N * N; i++) c->image.v[i] = c->sens[i] = 1;
	c->made = (struct run_made){ .image = &c->image, .sens = c->sens, .expected = 1e6, .counts = 1e6 };
}

static void counts(void **state)
{
	struct case_of c;

	(void)state;
	set_up(&c);
	assert_int_equal(findings("counts", &c.made, 1), 0);
	c.made.expected = 1.04e6; /* as subsets leave it */
	assert_int_equal(findings("counts", &c.made, 1), 0);
	c.made.expected = 1.07e6;
	assert_int_equal(findings("counts", &c.made, 1), 1);
	c.made.expected = .93e6;
	assert_int_equal(findings("counts", &c.made, 1), 1);
	c.made.added = .07e6; /* known, and makes up for it */
	c.made.updates = 40;
	assert_int_equal(findings("counts", &c.made, 1), 0);
	c.made.added = .3e6;
	assert_int_equal(findings("counts", &c.made, 1), 1);
	c.made.updates = 2; /* too few to share the counts out */
	assert_int_equal(findings("counts", &c.made, 1), 0);
	c.made.added = NAN; /* not known: anything below the counts may be */
	assert_int_equal(findings("counts", &c.made, 1), 0);
	c.made.expected = .04e6;
	assert_int_equal(findings("counts", &c.made, 1), 1);
	c.made.expected = 1.07e6;
	assert_int_equal(findings("counts", &c.made, 1), 1);
	iso_array_free(&c.image);
}

static void border(void **state)
{
	struct case_of c;

	(void)state;
	set_up(&c);
	assert_int_equal(findings("border", &c.made, 1), 0); /* it fills the grid */
	for (int i = 0; i < N * N * N; i++)
		if (i / (N * N) % (N - 1) == 0) c.image.v[i] = 9; /* along z a body goes on */
	assert_int_equal(findings("border", &c.made, 1), 0);
	for (int i = 0; i < N * N * N; i++) c.image.v[i] = i % N == N - 1 ? 9 : 1;
	assert_int_equal(findings("border", &c.made, 1), 1);
	iso_array_free(&c.image);
}

static void faint(void **state)
{
	struct case_of c;

	(void)state;
	set_up(&c);
	for (int i = 0; i < N * N; i++) c.sens[i] = .005f; /* an end plane that few lines cross */
	assert_int_equal(findings("faint-voxels", &c.made, 1), 0);
	for (int i = 0; i < N * N; i++) c.image.v[i] = 3;
	assert_int_equal(findings("faint-voxels", &c.made, 1), 1);
	iso_array_free(&c.image);
}

static void likelihood(void **state)
{
	struct case_of c;
	json_t *rises = json_pack("[f,f,f,f,f]", 9., -5., -3., -2., -1.5); /* from a start of any scale */
	json_t *falls = json_pack("[f,f,f,f,f]", 9., -5., -3., -2., -2.1);
	json_t *pairs = json_pack("[f,f,f,f,f,f,f,f]", 0., 0., -5., -5., -1., -3., -3., -1.);

	(void)state;
	set_up(&c);
	c.made.loglik = rises;
	assert_int_equal(findings("likelihood", &c.made, 1), 0);
	c.made.loglik = falls;
	assert_int_equal(findings("likelihood", &c.made, 1), 1);
	c.made.loglik = pairs; /* of two subsets: -10, -4, -4 */
	assert_int_equal(findings("likelihood", &c.made, 2), 0);
	json_decref(rises);
	json_decref(falls);
	json_decref(pairs);
	iso_array_free(&c.image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(border),
		cmocka_unit_test(faint),
		cmocka_unit_test(likelihood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
