/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of a record: what is not finite is null, and takes nothing else with it. */
#include "problem/record/record_pack.c"
#include "test.h"

static void same(json_t *made, const char *want)
{
	char *text = json_dumps(made, JSON_COMPACT);

	assert_string_equal(text, want);
	free(text);
	json_decref(made);
}

static void numbers(void **state)
{
	(void)state;
	same(record_reals(4, (const double[]){ .5, NAN, INFINITY, -INFINITY }), "[0.5,null,null,null]");
}

static void packed(void **state)
{
	(void)state;
	same(record_pack("{s:f, s:[f,f], s:i, s:I, s:s, s:b, s:o}", "a", 1.5, "b", NAN, 2., "c", 3, "d",
	                 (json_int_t)1 << 40, "e", "x", "f", 1, "g", json_array()),
	     "{\"a\":1.5,\"b\":[null,2.0],\"c\":3,\"d\":1099511627776,\"e\":\"x\",\"f\":true,\"g\":[]}");
	same(record_pack("[f, {s:{s:f}}]", -HUGE_VAL, "o", "p", 0.), "[null,{\"o\":{\"p\":0.0}}]");
}

/* A value that was not made spoils all, but those behind it are taken over: the leak sanitizer sees
   to that. */
static void spoiled(void **state)
{
	(void)state;
	assert_null(record_pack("{s:o, s:o}", "a", NULL, "b", json_string("taken")));
	assert_null(record_pack("[o, [o], o]", NULL, json_array(), json_object()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(packed),
		cmocka_unit_test(spoiled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
