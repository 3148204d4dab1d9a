/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes of sources: their words, and the lines that cross them, against chords worked by hand and sums over
   points. */
#include "test.h"

#include "commission/source.h"

static struct source of(const char *text)
{
	struct source s;

	OK(source_parse(&s, text));
	return s;
}

static void words(void **state)
{
	struct source s;

	(void)state;
	assert_true(source_is_shape("plane:"));
	assert_false(source_is_shape("plane.nii"));
	assert_false(source_is_shape(NULL));
	REFUSED(source_parse(&s, "cylinder:1,2,3,4"), ISO_EARG, "expected 5 numbers");
	REFUSED(source_parse(&s, "cylinder:1,2,3,4,5,6"), ISO_EARG, "expected 5 numbers");
	REFUSED(source_parse(&s, "cylinder:1,2,3,0,5"), ISO_EARG, "number 4 is 0, must be above 0");
	REFUSED(source_parse(&s, "orbit:60,-1,5"), ISO_EARG, "number 2");
	REFUSED(source_parse(&s, "sphere:1"), ISO_EARG, "no shape");
	OK(source_parse(&s, "plane:-1,0,-3,100,200,4,-30"));
	assert_int_equal(of("cylinder:1,2,3,4,5,x").axis, 0);
	assert_int_equal(of("cylinder:1,2,3,4,5").axis, 2);
}

static void chords(void **state)
{
	const double left[3] = { -100, 3, 0 }, right[3] = { 100, 3, 0 }, up[3] = { 100, 3, 200 };
	struct source_piece piece[SOURCE_PIECES];
	struct source s = of("cylinder:10,0,0,5,30");

	(void)state;
	assert_int_equal(source_pieces(piece, &s, left, right), 1);
	NEAR(piece[0].from, 106, 1e-12); /* 10 -+ sqrt(25 - 9) */
	NEAR(piece[0].to, 114, 1e-12);
	assert_int_equal(source_pieces(piece, &s, left, up), 0);
	s = of("cylinder:10,0,0,5,30,x");
	NEAR(source_integral(&s, left, right), 30, 1e-12);
	s = of("plane:0,0,0,20,4,50,90"); /* 20 along y, 4 along x */
	NEAR(source_integral(&s, left, right), 4, 1e-12);
	s = of("plane:0,0,0,20,4,50,45");
	NEAR(source_integral(&s, left, right), 4 * sqrt(2), 1e-12);
	assert_int_equal(source_pieces(piece, &s, left, left), 0);
}

/* On a long line along x the orbit's density adds up to the mean over the turns of the rod's chord. */
static void orbit(void **state)
{
	const double left[3] = { -200, 30, 1 }, right[3] = { 200, 30, 1 };
	struct source s = of("orbit:60,8,100");
	double mean = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		double y = 30 - 60 * sin(2 * M_PI * (i + .5) / 20000), h = 64 - y * y;

		mean += h > 0 ? 2 * sqrt(h) / 20000 : 0;
	}
	NEAR(source_integral(&s, left, right), mean, .02 * mean); /* 64 pieces */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(chords),
		cmocka_unit_test(orbit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
