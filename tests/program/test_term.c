/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program says on stderr where that is no terminal: few lines, and none that steers one. */
#include "cmd/term.c"
#include "files.h"
#include "test.h"

static double now;

static double test_now(void)
{
	return now;
}

/* A struct term whose lines go to the file "err", on a clock that the test moves. */
static struct term begin(FILE **kept)
{
	struct term t;

	fflush(stderr);
	*kept = fdopen(dup(STDERR_FILENO), "w");
	assert_non_null(*kept);
	assert_non_null(freopen("err", "w", stderr));
	term_open(&t, "recon");
	assert_false(t.is_tty);
	t.now_s = test_now;
	now = 1000;
	return t;
}

static char *end(struct term *t, FILE *kept)
{
	static char text[1 << 16];

	term_close(t);
	fflush(stderr);
	dup2(fileno(kept), STDERR_FILENO);
	fclose(kept);
	text[get("err", text, sizeof text - 1)] = '\0';
	files(true);
	return text;
}

/* Steps `from` + 1 to `to` of a stage of `total` steps, `step_s` seconds each, as core/ctx.c
   tells them. */
static void steps(struct term *t, const char *stage, int from, int to, int total, double step_s,
                  const char *note)
{
	if (from == 0) term_progress(t, &(struct iso_progress){ stage, 0, total, 0, -1, NULL });
	for (int i = from + 1; i <= to; i++) {
		now += step_s;
		term_progress(
			t, &(struct iso_progress){ stage, i, total, i * step_s, (total - i) * step_s, note });
	}
}

static int lines(const char *text)
{
	int n = 0;

	for (; *text; text++) n += *text == '\n';
	return n;
}

/* 10000 steps in 50 s, each with a note: the first line and the last. */
static void short_stage(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);

	(void)state;
	steps(&t, "mlem", 0, 10000, 10000, .005, "logL -1");
	assert_string_equal(end(&t, kept), "mlem  0/10000  0 %\n"
	                                   "mlem  10000/10000  100 %  took 50 s  logL -1\n");
}

/* An hour of steps of 1 s: one line a minute, not more. */
static void long_stage(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);
	char *text;

	(void)state;
	steps(&t, "osem", 0, 3600, 3600, 1, "logL -1");
	text = end(&t, kept);
	assert_int_equal(lines(text), 61);
	assert_non_null(strstr(text, "osem  60/3600  2 %  1.0 s/it  left 59 min 00 s"));
	assert_null(strstr(text, "osem  61/3600"));
}

/* The next stage begins at once, also one of the same name; an end that is told twice is one. */
static void several_stages(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);

	(void)state;
	steps(&t, "sensitivity", 0, 3, 3, .001, NULL);
	steps(&t, "sensitivity", 2, 3, 3, .001, NULL);
	term_part(&t, "frame", 1, 2);
	steps(&t, "mlem", 0, 2, 2, .01, NULL);
	term_part(&t, "frame", 2, 2);
	steps(&t, "mlem", 0, 2, 2, .01, NULL);
	assert_string_equal(end(&t, kept),
	                    "sensitivity  0/3  0 %\nsensitivity  3/3  100 %  took 0 s\n"
	                    "frame 1/2  mlem  0/2  0 %\nframe 1/2  mlem  2/2  100 %  took 0 s\n"
	                    "frame 2/2  mlem  0/2  0 %\nframe 2/2  mlem  2/2  100 %  took 0 s\n");
}

/* A thousand frames of 0.3 s: the first and the last, and one line a minute between. */
static void many_parts(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);
	char *text;

	(void)state;
	for (int k = 1; k <= 1000; k++) {
		term_part(&t, "frame", k, 1000);
		steps(&t, "mlem", 0, 3, 3, .1, NULL);
	}
	text = end(&t, kept);
	assert_int_equal(lines(text), 8);
	assert_non_null(strstr(text, "frame 1/1000  mlem  3/3  100 %"));
	assert_non_null(strstr(text, "frame 1000/1000  mlem  3/3  100 %"));
}

/* A stage that stops before its last step ends where it was, before the next one begins. */
static void stopped_stages(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);

	(void)state;
	steps(&t, "srm", 0, 3, 10, 1, NULL);
	steps(&t, "cg", 0, 4, 10, 1, NULL);
	assert_string_equal(end(&t, kept), "srm  0/10  0 %\nsrm  3/10  30 %  left 7 s\n"
	                                   "cg  0/10  0 %\ncg  4/10  40 %  left 6 s\n");
}

/* A run that --resume continues begins in the middle. */
static void resumed(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);

	(void)state;
	term_progress(&t, &(struct iso_progress){ "mlem", 8, 10, 0, -1, NULL });
	steps(&t, "mlem", 8, 10, 10, 1, NULL);
	assert_string_equal(end(&t, kept), "mlem  8/10  80 %\nmlem  10/10  100 %  took 10 s\n");
}

static void quiet(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);

	(void)state;
	t.quiet = true;
	steps(&t, "mlem", 0, 3, 9, 100, NULL);
	term_say(&t, "something");
	term_warning(&t, "something");
	assert_string_equal(end(&t, kept), "");
}

/* ESC, a new line, DEL, the C1 control CSI in UTF-8 and as a byte; letters beyond ASCII stay. */
static void controls(void **state)
{
	static const char hostile[] = "\x1b[31m\n\r\x7f\xc2\x9b\x9b \u00e9\u4e2d";
	static const char shown[] = "?[31m?????? \u00e9\u4e2d";
	char want[512];
	FILE *kept;
	struct term t = begin(&kept);

	(void)state;
	t.verbose = true;
	term_say(&t, "%s", hostile);
	term_note(&t, "%s", hostile);
	term_warning(&t, hostile);
	term_put(stderr, hostile);
	fputc('\n', stderr);
	term_progress(&t, &(struct iso_progress){ "read", 1, 1, 1, 0, hostile });
	snprintf(want, sizeof want,
	         "isotome recon: %s\nisotome recon: %s\nisotome recon: warning: %s\n"
	         "%s\nread  1/1  100 %%  took 1 s  %s\n",
	         shown, shown, shown, shown, shown);
	assert_string_equal(end(&t, kept), want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_stage),    cmocka_unit_test(long_stage),
		cmocka_unit_test(several_stages), cmocka_unit_test(many_parts),
		cmocka_unit_test(stopped_stages), cmocka_unit_test(resumed),
		cmocka_unit_test(quiet),          cmocka_unit_test(controls),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
