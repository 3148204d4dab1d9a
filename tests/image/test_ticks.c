/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of scales: round, evenly spread up to both ends, and written without what they share. */
#include "image/canvas.h"
#include "test.h"

static void round_numbers(void **state)
{
	static const double of[][2] = { { 1, 1 }, { 1.99, 1 }, { 2, 2 },   { 4.9, 2 },
		                        { 5, 5 }, { 9.9, 5 },  { .3, .2 }, { 7e5, 5e5 } };

	(void)state;
	for (int i = 0; i < N_OF(of); i++) NEAR(iso_round_below(of[i][0]), of[i][1], 1e-12 * of[i][1]);
}

/* Steps of 1, 2, 5 or 10 times a power of ten, none missing before the upper end. */
static void even_steps(void **state)
{
	static const struct {
		double low, high;
		int between;
		double step;
	} scale[] = { { 0, 10, 4, 2 }, { 0, 24, 3, 10 },  { -1, 1, 3, .5 },     { 0, 8, 9, 1 },
		      { 0, 4, 3, 1 },  { 10, 90, 9, 10 }, { -300, 300, 4, 200 } };

	(void)state;
	for (int i = 0; i < N_OF(scale); i++) {
		struct iso_ticks t;
		double step = scale[i].step;

		iso_ticks_make(&t, scale[i].low, scale[i].high, scale[i].between);
		assert_true(t.n >= 3 && t.n <= scale[i].between + 2);
		assert_true(t.value[0] == scale[i].low && t.value[t.n - 1] == scale[i].high);
		for (int k = 2; k < t.n - 1; k++) NEAR(t.value[k] - t.value[k - 1], step, 1e-9 * step);
		assert_true(t.value[1] - t.value[0] >= .499 * step && t.value[1] - t.value[0] < 1.5 * step);
		assert_true(t.value[t.n - 1] - t.value[t.n - 2] < 1.5 * step);
		NEAR(fmod(t.value[1], step), 0, 1e-9 * step);
	}
}

static void texts(void **state)
{
	struct iso_ticks t;
	char text[24];

	(void)state;
	iso_ticks_make(&t, -12500, 2e4, 0);
	assert_int_equal(t.n, 2);
	assert_string_equal(t.text[0], "\u221212.5");
	assert_string_equal(t.text[1], "20");
	assert_string_equal(t.factor, "\u00d710\u00b3");
	iso_ticks_make(&t, 0, 2e-4, 0);
	assert_string_equal(t.text[1], "200");
	assert_string_equal(t.factor, "\u00d710\u207b\u2076");
	iso_ticks_make(&t, 0, 9999, 0);
	assert_string_equal(t.text[1], "9999");
	assert_string_equal(t.factor, "");
	iso_tick_text(text, sizeof text, -.0);
	assert_string_equal(text, "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(round_numbers), cmocka_unit_test(even_steps),
		                            cmocka_unit_test(texts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
