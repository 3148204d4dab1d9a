/* SPDX-License-Identifier: BSD-3-Clause */
/* Templates of pages: values, formats, sections, and what is not there. */
#include "test.h"

#include "papers/study/study.h"

static void is(const char *template, const char *inner, const char *outer, const char *want)
{
	json_t *a = json_loads(inner, JSON_DECODE_ANY, NULL), *b = json_loads(outer, JSON_DECODE_ANY, NULL);
	struct iso_text t = { 0 };

	assert_non_null(a);
	assert_non_null(b);
	template_put(&t, template, a, b);
	assert_false(t.failed);
	assert_string_equal(t.n ? t.v : "", want);
	iso_text_free(&t);
	json_decref(a);
	json_decref(b);
}

static void values(void **state)
{
	(void)state;
	is("a %d { } b", "{}", "{}", "a %d { } b");
	is("{{x}} {{y.z}} {{l.1}}", "{\"x\": \"<&\", \"y\": {\"z\": 3}, \"l\": [1, 2.5]}", "{}",
	   "&lt;&amp; 3 2.5");
	is("{{{x}}}{{{y}}}", "{\"x\": \"<b>\"}", "{}", "<b>");
	is("{{x}} {{y}} {{z.1}} {{l.7}}", "{\"x\": null, \"l\": [1]}", "{}", "\u2013 \u2013 \u2013 \u2013");
	is("{{x}} {{y}}", "{\"x\": 1}", "{\"x\": 2, \"y\": 3}", "1 3"); /* the inner hides the outer */
}

static void formats(void **state)
{
	(void)state;
	is("{{x|%.2f}} {{x*100|%.0f}}", "{\"x\": 0.125}", "{}", "0.12 12");
	is("{{x|%.1f}} {{x|-%.1f}}", "{\"x\": -2}", "{}", "-2.0 \u22122.0");
	is("{{x|1/%g}} {{y|1/%g}} {{z|1/%g}}", "{\"x\": 8, \"y\": 0}", "{}", "0.125 \u2013 \u2013");
	is("{{x|time}} {{y|time}} {{z|time}} {{n|time}}",
	   "{\"x\": 0.0123, \"y\": 4.567, \"z\": 12345.6, \"n\": null}", "{}",
	   "12.3\u202fms 4.57\u202fs 12346\u202fs \u2013");
	is("{{x|seconds}} {{y|seconds}}", "{\"x\": 0.5, \"y\": 2455.42}", "{}", "0.5\u202fs 2455.4\u202fs");
	is("{{x|count}} {{x|short}} {{y|short}}", "{\"x\": 1500000, \"y\": 12}", "{}",
	   "1\u202f500\u202f000 1.5e6 12");
	is("{{x|ratio}} {{y|ratio}}", "{\"x\": 2.54, \"y\": 122.4}", "{}", "\u00d72.5 \u00d7122");
}

static void sections(void **state)
{
	(void)state;
	is("{{#l}}<{{.}}>{{/}}", "{\"l\": [1, 2, 3]}", "{}", "<1><2><3>");
	is("{{#l}}{{0}}{{#1}}{{.}},{{/}}{{name}};{{/}}", "{\"l\": [[1, [2, 3]], [4, []]], \"name\": \"n\"}",
	   "{}", "12,3,n;4n;");
	is("{{#x}}{{y}}{{/}}", "{\"x\": {\"y\": 1}, \"y\": 2}", "{}", "1");
	is("{{#x}}yes{{/}}{{^x}}no{{/}}", "{\"x\": true}", "{}", "yes");
	is("{{#x}}yes{{/}}{{^x}}no{{/}}", "{\"x\": false}", "{}", "no");
	is("{{#x}}yes{{/}}{{^x}}no{{/}}", "{\"x\": null}", "{}", "no");
	is("{{#x}}yes{{/}}{{^x}}no{{/}}", "{}", "{}", "no");
	is("{{#x}}{{#y}}in{{/}}out{{/}}after", "{}", "{}", "after"); /* nested, not shown */
	is("{{#l}}{{#.}}{{a}}{{/}}{{^.}}-{{/}};{{/}}", "{\"l\": [{\"a\": 1}, null]}", "{}", "1;-;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(formats),
		cmocka_unit_test(sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
