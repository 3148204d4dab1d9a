/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of any length are rounded as the C library rounds them; UTF-8 is what RFC 3629 says. */
#include "core/philox.h"
#include "test.h"
#include "base/number.h"
#include "base/utf8.h"

/* 1 to 19 digits, a point somewhere among them, an exponent up to 25: where one multiplication or
   division would round a second time. */
static void numbers_round_once(void **state)
{
	char text[64];

	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		struct philox p = philox_draw(5, i, 0);
		uint64_t digits = ((uint64_t)p.w[0] << 32 | p.w[1]) >> (1 + p.w[2] % 60);
		int length = snprintf(text, sizeof text, "%" PRIu64, digits), point = (int)(p.w[3] % 20);
		double v;

		if (point < length) {
			memmove(text + point + 1, text + point, (size_t)(length - point + 1));
			text[point] = '.';
		}
		length = (int)strlen(text);
		snprintf(text + length, sizeof text - (size_t)length, "e%d", (int)(p.w[3] >> 8) % 26);
		assert_true(iso_number(&v, text, strlen(text)));
		if (v != strtod(text, NULL)) fail_msg("%s is read as %.17g", text, v);
	}
}

/* The first and last of each length, and of what may not be: overlong forms, surrogates, beyond 10ffff. */
static void utf8_lengths(void **state)
{
	static const struct {
		const char *text;
		int length;
	} known[] = {
		{ "\x01", 1 },
		{ "\x7f", 1 },
		{ "\x80", 0 },
		{ "\xc1\xbf", 0 },
		{ "\xc2\x80", 2 },
		{ "\xdf\xbf", 2 },
		{ "\xe0\x9f\xbf", 0 },
		{ "\xe0\xa0\x80", 3 },
		{ "\xed\x9f\xbf", 3 },
		{ "\xed\xa0\x80", 0 },
		{ "\xed\xbf\xbf", 0 },
		{ "\xee\x80\x80", 3 },
		{ "\xef\xbf\xbf", 3 },
		{ "\xf0\x8f\xbf\xbf", 0 },
		{ "\xf0\x90\x80\x80", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 },
		{ "\xf4\x90\x80\x80", 0 },
		{ "\xf5\x80\x80\x80", 0 },
		{ "\xe2\x82", 0 },
		{ "\xe2\x28\xac", 0 },
	};

	(void)state;
	for (int i = 0; i < N_OF(known); i++)
		if (iso_utf8_length(known[i].text) != known[i].length)
			fail_msg("number %d has length %d", i, iso_utf8_length(known[i].text));
	assert_int_equal(iso_utf8_printable("\x1f"), 0);
	assert_int_equal(iso_utf8_printable("\x7f"), 0);
	assert_int_equal(iso_utf8_printable("\xc2\x9f"), 0); /* of the second row of controls */
	assert_int_equal(iso_utf8_printable("\xc2\xa0"), 2);
	char text[] = "a\x1b[1m\xed\xa0\x80\xc3\xa9";

	assert_string_equal(iso_utf8_clean(text), "a?[1m???\xc3\xa9");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_round_once),
		                            cmocka_unit_test(utf8_lengths) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
