/* SPDX-License-Identifier: BSD-3-Clause */
/* The scatter of a report: what a record tells is on the page, and whatever else it holds does no harm. */
#include "test.h"

#include "files.h"
#include "report/page.h"
#include "report/report_scatter.h"

/* An image, and beside it a record whose results these are. */
static void write_run(const char *results)
{
	struct iso_array a = { 0 };
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	OK(iso_array_create(&a, 3, (int64_t[]){ 2, 3, 4 }));
	a.v[5] = 1;
	OK(iso_write("s.npy", &a, NULL));
	iso_array_free(&a);
	assert_non_null(f);
	fprintf(f, "{\"verb\": \"recon\", \"parameters\": {\"scatter-error\": 0.01}, \"results\": {%s}}",
	        results);
	fclose(f);
	put_text("s.npy.json", text);
	free(text);
}

static struct iso_text page(void)
{
	struct iso_report r;
	struct iso_text t = { 0 };
	const char *paths[] = { "s.npy" };

	OK(iso_report_read(&r, 1, paths, NULL));
	OK(iso_report_page(&t, &r));
	iso_report_free(&r);
	assert_string_equal(t.v + t.n - 8, "</html>\n");
	for (int i = 0; i < 5; i++)
		if (strstr(t.v, (const char *[]){ "<script", "nan<", "nan ", "inf ", "inf<" }[i]))
			fail_msg("%.200s", t.v);
	return t;
}

static int times(const struct iso_text *t, const char *what)
{
	int n = 0;

	for (const char *c = t->v; (c = strstr(c, what)); c++) n++;
	return n;
}

static void has(const struct iso_text *t, const char *what)
{
	if (times(t, what) == 0) fail_msg("'%s' is missing", what);
}

#define ROUNDS                                                                                            \
	"\"rounds\": [{\"c\": 0.75, \"scale\": 0.75, \"trues\": 900, \"scatter\": 250, \"share\": 0.25, " \
	"\"change\": null}, {\"c\": 1.1, \"scale\": 1.1, \"trues\": 700, \"scatter\": 280, \"share\": "   \
	"0.28, "                                                                                          \
	"\"change\": 0.02}]"
#define LISTS(a, b, c, d) \
	"{\"prompts\": [" a "], \"trues\": [" b "], \"scatter\": [" c "], \"randoms\": " d "}"
#define PANELS(d)                                                                                            \
	"{\"s\": 3, \"phi\": 2, \"step\": 2.5, \"prompts\": [\"1 9 2\", \"0 8 1\"], \"trues\": [\"0 7 0\", " \
	"\"0 "                                                                                               \
	"6 0\"], \"scatter\": [\"1 2 1\", \"0 2 1\"], \"randoms\": " d "}"
#define SEEN(over_s, over_z, sinogram)                                                                     \
	"\"seen\": {\"s_mm\": [-90, 90], \"z_mm\": [-40, 50], \"over_s\": " over_s ", \"over_z\": " over_z \
	", \"sinogram\": " sinogram ", \"beside\": {\"counts\": 130, \"expected\": 100}}"
#define GOOD_S LISTS("100, 900, 120", "10, 700, 20", "90, 150, 100", "[5, 6, 7]")
#define GOOD_Z LISTS("500, 620", "300, 430", "200, 140", "[9, 9]")
#define WHOLE(seen)                                                                                        \
	"{\"method\": \"sss+mc\", \"counts\": 1120, \"share\": 0.28, \"randoms_share\": 0.1, \"c\": 1.1, " \
	"\"error\": 0.02, \"outside_matter\": 0.2, \"map_cut\": true, \"ends_active\": false, " seen       \
	", " ROUNDS "}"

static void tells_all(void **state)
{
	(void)state;
	write_run("\"scatter\": " WHOLE(SEEN(GOOD_S, GOOD_Z, PANELS("[\"1 1 1\", \"1 1 1\"]"))));
	struct iso_text t = page();

	has(&t, "<h2>Scatter</h2>");
	has(&t, "<dd>28.0 %<small>");
	has(&t, "<dd>10.0 %<small>");
	has(&t, "aria-label='Counts over the radial offset'");
	has(&t, "aria-label='Counts along the axis'");
	assert_int_equal(times(&t, "<li class='k4'>Randoms</li>"), 2);
	for (int i = 0; i < 5; i++)
		has(&t, (const char *[]){ "alt='Prompts' src=", "alt='Trues' src=", "alt='Scatter' src=",
		                          "alt='Randoms' src=", "alt='Prompts less the parts' src=" }[i]);
	has(&t, "<b>Prompts</b> <span>to 22</span>"); /* 9 steps of 2.5 */
	has(&t, "<td>0.7500</td>");
	has(&t, "<td>1.1000</td>");
	assert_int_equal(times(&t, "class='differs'"), 5); /* c, beside, error, outside, cut */
	iso_text_free(&t);
}

/* Without randoms over lines they are not shown, and the page says why. */
static void tells_what_is_known(void **state)
{
	(void)state;
	write_run("\"scatter\": " WHOLE(SEEN(LISTS("1, 2, 3", "1, 1, 1", "0, 1, 2", "null"),
	                                     LISTS("3, 3", "2, 1", "1, 2", "null"), PANELS("null"))));
	struct iso_text t = page();

	has(&t, "known for events alone");
	assert_int_equal(times(&t, "alt='Randoms'"), 0);
	assert_int_equal(times(&t, "alt='Scatter'"), 1);
	iso_text_free(&t);
}

/* Two frames: their sum, and a table of both. */
static void adds_frames_up(void **state)
{
	struct scatter_seen *s = calloc(1, sizeof *s);
	json_t *record;

	(void)state;
	assert_non_null(s);
#define FRAME "{\"scatter\": " WHOLE(SEEN(GOOD_S, GOOD_Z, PANELS("[\"1 1 1\", \"1 1 1\"]"))) "}"
	write_run("\"frames\": [" FRAME ", {\"loglik\": []}, " FRAME "]");
	assert_non_null(record = json_load_file("s.npy.json", 0, NULL));
	OK(scatter_read(s, record));
	assert_int_equal(s->frames, 2);
	assert_int_equal(s->all_frames, 3);
	NEAR(s->over_s[SCATTER_PROMPTS][1], 1800, 1e-9);
	NEAR(s->over_z[SCATTER_RANDOMS][0], 18, 1e-9);
	NEAR((double)s->panel[SCATTER_TRUES][1], 35, 1e-5);
	scatter_free(s);
	free(s);
	json_decref(record);
	struct iso_text t = page();

	has(&t, "The sum of 2 of 3 frames.");
	has(&t, "<h3>Frames</h3>");
	iso_text_free(&t);
}

static void stands_anything(void **state)
{
	static const char *const results[] = {
		"\"scatter\": 3",
		"\"scatter\": {}",
		"\"scatter\": [{}]",
		"\"frames\": {\"scatter\": 1}",
		"\"frames\": [1, null, {\"scatter\": []}, {\"scatter\": {\"seen\": 5, \"rounds\": \"x\"}}]",
		"\"scatter\": {\"method\": \"<script>\", \"counts\": -1e300, \"share\": 1e300, \"c\": \"1\", "
		"\"rounds\": "
		"[1, [], {\"c\": 1e300, \"share\": 1e308, \"trues\": -5, \"scatter\": 1e300}], \"map_cut\": "
		"\"<script>\"}",
		"\"scatter\": " WHOLE(SEEN("[]", "7", "{}")),
		"\"scatter\": " WHOLE(SEEN(LISTS("1", "1", "1", "[1]"), GOOD_Z, PANELS("[]"))),
		"\"scatter\": " WHOLE(SEEN(LISTS("1, 2, \"<script>\"", "1e300, 0, 1", "1, 2", "[null, 1, 2]"),
		                           GOOD_Z, "{\"s\": 1e9, \"phi\": -3, \"step\": 1}")),
		"\"scatter\": " WHOLE(
			SEEN(GOOD_S, GOOD_Z,
		             "{\"s\": 3, \"phi\": 2, \"step\": 1e300, \"prompts\": [\"1 2 3\", \"4 5 6\"]}")),
		"\"scatter\": " WHOLE(
			SEEN(GOOD_S, GOOD_Z,
		             "{\"s\": 512, \"phi\": 2, \"step\": 1, \"prompts\": [\"1 2\", \"1 2\"]}")),
		"\"scatter\": " WHOLE(
			SEEN(GOOD_S, GOOD_Z,
		             "{\"s\": 3, \"phi\": 2, \"step\": 1, \"prompts\": [\"1 2 3 4\", \"1 2 -3\"], "
		             "\"trues\": [\"99999999999 1 1\", \"\"], \"scatter\": [\"1  2\", \"x\"], "
		             "\"randoms\": [1, 2]}")),
		"\"scatter\": " WHOLE("\"seen\": {\"s_mm\": [5, 5], \"z_mm\": [1], \"over_s\": " GOOD_S
		                      ", \"over_z\": " GOOD_Z "}"),
	};

	(void)state;
	for (int i = 0; i < N_OF(results); i++) {
		write_run(results[i]);
		struct iso_text t = page();

		assert_true(t.n < 200000);
		iso_text_free(&t);
	}
}

/* Of very long lists nothing is taken. */
static void long_lists_are_not_believed(void **state)
{
	struct scatter_seen *s = calloc(1, sizeof *s);
	json_t *list = json_array(), *record;

	(void)state;
	assert_true(s && list);
	for (int i = 0; i < 100000; i++) json_array_append_new(list, json_integer(1));
	record = json_pack("{s:{s:{s:{s:[i,i], s:[i,i], s:{s:O}, s:{s:O}}}}}", "results", "scatter", "seen",
	                   "s_mm", 0, 1, "z_mm", 0, 1, "over_s", "prompts", list, "over_z", "prompts", list);
	assert_non_null(record);
	OK(scatter_read(s, record));
	assert_int_equal(s->frames, 0);
	scatter_free(s);
	free(s);
	json_decref(list);
	json_decref(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_all),
		cmocka_unit_test(tells_what_is_known),
		cmocka_unit_test(adds_frames_up),
		cmocka_unit_test(stands_anything),
		cmocka_unit_test(long_lists_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
