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
	if (from == 0)
		term_progress(t, &(struct iso_progress){ .stage = stage, .total = total, .left_s = -1 });
	for (int i = from + 1; i <= to; i++) {
		now += step_s;
		term_progress(t, &(struct iso_progress){ .stage = stage,
		                                         .done = i,
		                                         .total = total,
		                                         .elapsed_s = i * step_s,
		                                         .left_s = (total - i) * step_s,
		                                         .note = note });
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
	term_progress(&t, &(struct iso_progress){ .stage = "mlem", .done = 8, .total = 10, .left_s = -1 });
	steps(&t, "mlem", 8, 10, 10, 1, NULL);
	assert_string_equal(end(&t, kept), "mlem  8/10  80 %\nmlem  10/10  100 %  took 10 s\n");
}

/* A stage that counts bytes or events tells how many a second, and no iterations. */
static void rates(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);
	struct iso_progress p = { .stage = "read",
		                  .total = 4000000000,
		                  .left_s = -1,
		                  .unit = "bytes",
		                  .note = "a.lmdT",
		                  .brief = true };

	(void)state;
	for (p.elapsed_s = 0; p.elapsed_s < 1.6; p.elapsed_s += .5) { /* told of from 1 s on */
		p.per_s = 5e8;
		p.done = (int64_t)(p.per_s * p.elapsed_s);
		term_progress(&t, &p);
	}
	p.done = p.total;
	p.elapsed_s = 8;
	term_progress(&t, &p);
	p = (struct iso_progress){ .stage = "order", .total = 50, .left_s = -1, .unit = "events" };
	term_progress(&t, &p);
	for (double rate = 999; rate < 2e9; rate *= 1000) {
		p.elapsed_s = ++p.done;
		p.left_s = 5;
		p.per_s = rate;
		now += 61;
		term_progress(&t, &p);
	}
	assert_string_equal(
		end(&t, kept),
		"read  12 %  500 MB/s  a.lmdT\nread  100 %  500 MB/s  took 8 s  a.lmdT\norder  0 %\n"
		"order  2 %  999 events/s  left 5 s\n"
		"order  4 %  999 k events/s  left 5 s\n"
		"order  6 %  999 M events/s  left 5 s\n");
}

/* A brief stage within another, such as a checkpoint that is written, is none of the log's; between stages it is. */
static void brief_within(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);
	const struct iso_progress write[2] = {
		{ .stage = "write", .total = 9, .left_s = -1, .unit = "bytes", .brief = true },
		{ .stage = "write",
		  .done = 9,
		  .total = 9,
		  .elapsed_s = 1,
		  .unit = "bytes",
		  .per_s = 9,
		  .brief = true },
	};

	(void)state;
	steps(&t, "mlem", 0, 1, 2, 1, NULL);
	for (int i = 0; i < 2; i++) term_progress(&t, write + i);
	steps(&t, "mlem", 1, 2, 2, 1, NULL);
	for (int i = 0; i < 2; i++) term_progress(&t, write + i);
	t.is_tty = true;
	now += 1;
	steps(&t, "cg", 0, 1, 2, 0, NULL);
	now += 1;
	term_progress(&t, write);
	t.is_tty = t.open = false;
	assert_string_equal(end(&t, kept), "mlem  0/2  0 %\nmlem  2/2  100 %  took 2 s\n"
	                                   "write  100 %  9 B/s  took 1 s\n"
	                                   "\rcg  0/2  0 %\033[K\rcg  1/2  50 %  left 0 s\033[K\rcg  1/2  50 "
	                                   "%  left 0 s  |  write  0 %\033[K\r\033[K");
}

/* Of a total that is not known, a log hears the end, and a line a minute. */
static void total_not_known(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);
	struct iso_progress p = { .stage = "read", .left_s = -1, .note = "a.hdf5", .brief = true };

	(void)state;
	t.told_s = now;
	for (; p.elapsed_s <= 90; p.elapsed_s += 10, now += 10) term_progress(&t, &p);
	p.done = p.total = 1;
	term_progress(&t, &p);
	assert_string_equal(end(&t, kept),
	                    "read  1 min 00 s  a.hdf5\nread  100 %  took 1 min 40 s  a.hdf5\n");
}

/* The name of a stage is for terminals, where it is drawn at once unless progress is. */
static void names_of_stages(void **state)
{
	FILE *kept;
	struct term t = begin(&kept);

	(void)state;
	term_stage(&t, "read");
	t.is_tty = true;
	term_stage(&t, "factors");
	steps(&t, "mlem", 0, 1, 2, 1, NULL);
	term_stage(&t, "hidden");
	assert_string_equal(end(&t, kept),
	                    "\rfactors\033[K\rmlem  0/2  0 %\033[K\rmlem  1/2  50 %  left 1 s\033[K\r\033[K");
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
	term_progress(&t, &(struct iso_progress){
				  .stage = "read", .done = 1, .total = 1, .elapsed_s = 1, .note = hostile });
	snprintf(want, sizeof want,
	         "isotome recon: %s\nisotome recon: %s\nisotome recon: warning: %s\n"
	         "%s\nread  1/1  100 %%  took 1 s  %s\n",
	         shown, shown, shown, shown, shown);
	assert_string_equal(end(&t, kept), want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_stage),     cmocka_unit_test(long_stage),
		cmocka_unit_test(several_stages),  cmocka_unit_test(many_parts),
		cmocka_unit_test(stopped_stages),  cmocka_unit_test(resumed),
		cmocka_unit_test(rates),           cmocka_unit_test(brief_within),
		cmocka_unit_test(total_not_known), cmocka_unit_test(names_of_stages),
		cmocka_unit_test(quiet),           cmocka_unit_test(controls),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
