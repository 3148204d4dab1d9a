/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports: text and its escapes, curves, values, histories, and whole pages of hostile files. */
#include "test.h"

#include "files.h"
#include "problem/record/record.h"
#include "report/page.h"
#include "report/markup/value.h"

#include <fcntl.h>

/* ---- text ---- */

static void text_is(struct iso_text *t, const char *want)
{
	assert_false(t->failed);
	assert_string_equal(t->n ? t->v : "", want);
	iso_text_free(t);
}

static void escapes(void **state)
{
	static const struct {
		const char *from, *to;
	} c[] = {
		{ "", "" },
		{ "a b", "a b" },
		{ "<script>alert('x\"&')</script>",
		  "&lt;script&gt;alert(&#39;x&quot;&amp;&#39;)&lt;/script&gt;" },
		{ "\x01\n\t\x1b[31m\x7f", "\ufffd\ufffd\ufffd\ufffd[31m\ufffd" },
		{ "\u00e9\u4e2d\U0001f600", "\u00e9\u4e2d\U0001f600" },
		{ "a\xff"
		  "b",
		  "a\ufffd"
		  "b" },
		{ "\xc0\xaf", "\ufffd\ufffd" },                     /* overlong / */
		{ "\xe0\x80\xbc", "\ufffd\ufffd\ufffd" },           /* overlong < */
		{ "\xed\xa0\x80", "\ufffd\ufffd\ufffd" },           /* surrogate */
		{ "\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd" }, /* beyond U+10FFFF */
		{ "x\xe4\xb8", "x\ufffd\ufffd" },                   /* ends too early */
		{ "\xe4<", "\ufffd&lt;" },
		{ "\xc2\x80\xc2\x9f\u00a0", "\ufffd\ufffd\u00a0" },         /* C1 controls */
		{ "\u2027\u2028\u202e\u202f", "\u2027\ufffd\ufffd\u202f" }, /* lines turned around */
		{ "\u2065\u2066\u2069\u206a \u05d0", "\u2065\ufffd\ufffd\u206a \u05d0" }, /* isolates */
	};

	(void)state;
	for (int i = 0; i < N_OF(c); i++) {
		struct iso_text t = { 0 };

		iso_text_escaped(&t, c[i].from);
		text_is(&t, c[i].to);
	}
}

static void cuts(void **state)
{
	struct iso_text t = { 0 };

	(void)state;
	iso_text_cut(&t, "\u00e9<b", 2);
	text_is(&t, "\u00e9&lt;\u2026");
	iso_text_cut(&t, "abc", 3);
	text_is(&t, "abc");
	iso_text_cut(&t, "abc", 0);
	text_is(&t, "\u2026");
}

static void grows(void **state)
{
	struct iso_text t = { 0 };

	(void)state;
	for (int i = 0; i < 10000; i++) iso_text_add(&t, "%d;", i);
	assert_int_equal(t.n, 10 * 2 + 90 * 3 + 900 * 4 + 9000 * 5);
	assert_int_equal(strlen(t.v), t.n);
	assert_string_equal(t.v + t.n - 5, "9999;");
	iso_text_free(&t);
}

/* RFC 4648, section 10 */
static void base64(void **state)
{
	static const char *const c[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xfb\xff\xfe", "+//+" },
	};

	(void)state;
	for (int i = 0; i < N_OF(c); i++) {
		struct iso_text t = { 0 };

		iso_text_base64(&t, c[i][0], strlen(c[i][0]));
		text_is(&t, c[i][1]);
	}
}

/* ---- curves ---- */

static void ticks(void **state)
{
	double first, step;

	(void)state;
	assert_int_equal(iso_svg_ticks(0, 10, &first, &step), 6);
	NEAR(first, 0, 0);
	NEAR(step, 2, 1e-12);
	assert_int_equal(iso_svg_ticks(-.31, .29, &first, &step), 6);
	NEAR(first, -.3, 1e-12);
	NEAR(step, .1, 1e-12);
	assert_int_equal(iso_svg_ticks(1e6, 1e6 + 40, &first, &step), 5);
	NEAR(step, 10, 1e-9);
}

static void draw(struct iso_text *t, int64_t n, const double *x, const double *y, bool from_zero)
{
	const struct iso_svg_curve curve = { "<b>", 1, n, x, y };
	const struct iso_svg_chart chart = {
		"'label'", "x", "y", 1, &curve, from_zero ? ISO_SVG_FROM_ZERO : ISO_SVG_PLAIN
	};

	iso_svg_chart(t, &chart);
}

static void lacks(const struct iso_text *t, const char *what)
{
	if (t->n && strstr(t->v, what)) fail_msg("found '%s': %.300s", what, strstr(t->v, what));
}

static void has(const struct iso_text *t, const char *what)
{
	if (!t->n || !strstr(t->v, what)) fail_msg("'%s' is missing", what);
}

static void curve_of_any_values(void **state)
{
	static const double x[] = { 0, 1, 2, 3 };
	static const double y[][4] = {
		{ 1, 1, 1, 1 },          { 0, 0, 0, 0 },         { 0, 5e-324, 0, 0 },
		{ 1e99, -1e99, 0, 1 },   { 1, NAN, 3, 4 },       { INFINITY, 1, 2, -INFINITY },
		{ 1e300, 1, 2, -1e300 }, { 1, 1 + 1e-15, 1, 1 }, { -16e6, -15.99e6, -15.98e6, -15.97e6 },
	};

	(void)state;
	for (int i = 0; i < N_OF(y); i++)
		for (int from_zero = 0; from_zero < 2; from_zero++) {
			struct iso_text t = { 0 };

			draw(&t, 4, x, y[i], from_zero);
			has(&t, "<svg ");
			has(&t, "</svg>");
			lacks(&t, "nan");
			lacks(&t, "inf");
			assert_true(t.n < 4000);
			iso_text_free(&t);
		}
}

static void curve_of_nothing(void **state)
{
	static const double x[] = { 0, 1 }, y[] = { NAN, 1 };
	struct iso_text t = { 0 };

	(void)state;
	draw(&t, 0, x, y, false);
	draw(&t, 1, x, y, false);
	draw(&t, 2, x, y, false);
	text_is(&t, "");
}

/* A gap where a point is missing, and lines only between neighbours. */
static void curve_with_a_gap(void **state)
{
	static const double x[] = { 0, 1, 2, 3 }, y[] = { 0, 1, NAN, 1 };
	struct iso_text t = { 0 };

	(void)state;
	draw(&t, 4, x, y, false);
	const char *path = strstr(t.v, "stroke-linejoin='round' d='M62.0 ");

	assert_non_null(path);
	path = strstr(path, "d='") + 3;
	int moves = 0, lines = 0;

	for (; *path != '\''; path++) {
		moves += *path == 'M';
		lines += *path == 'L';
	}
	assert_int_equal(moves, 2);
	assert_int_equal(lines, 1);
	has(&t, "aria-label='&#39;label&#39;'");
	iso_text_free(&t);
}

/* What grows goes up the page, whose y counts downwards. */
static void curve_rises(void **state)
{
	static const double x[] = { 0, 1 }, y[] = { 0, 1 };
	struct iso_text t = { 0 };
	double at[4];

	(void)state;
	draw(&t, 2, x, y, false);
	const char *path = strstr(t.v, "stroke-linejoin='round' d='");

	assert_non_null(path);
	assert_int_equal(sscanf(strstr(path, "d='"), "d='M%lf %lfL%lf %lf", at, at + 1, at + 2, at + 3), 4);
	assert_true(at[2] > at[0] + 300 && at[3] < at[1] - 100);
	iso_text_free(&t);
}

/* A point at ten times the events and ten times the seconds is one decade on, along both axes; what has no
   logarithm is left out. */
static void curve_on_log_axes(void **state)
{
	static const double x[] = { 1e4, 1e5, 1e6, 1e7, 1e8 }, y[] = { .02, .2, 2, 0, -3 };
	const struct iso_svg_curve curve = { "a", 1, 5, x, y };
	const struct iso_svg_chart chart = { "l", "x", "y", 1, &curve, ISO_SVG_LOG };
	struct iso_text t = { 0 };
	double at[6];

	(void)state;
	iso_svg_chart(&t, &chart);
	lacks(&t, "nan");
	lacks(&t, "inf");
	const char *path = strstr(t.v, "stroke-linejoin='round' d='");

	assert_non_null(path);
	path = strstr(path, "d='");
	assert_int_equal(
		sscanf(path, "d='M%lf %lfL%lf %lfL%lf %lf'", at, at + 1, at + 2, at + 3, at + 4, at + 5), 6);
	NEAR(at[0], 62, .1); /* from one end to the other */
	NEAR(at[4], 464, .1);
	NEAR(at[2] - at[0], at[4] - at[2], .2);
	NEAR(at[1] - at[3], at[3] - at[5], .2);
	assert_true(at[5] < at[1] - 100);
	has(&t, ">0.05</text>"); /* two decades: at 1, 2 and 5 of each */
	has(&t, ">2</text>");
	has(&t, ">10<tspan dy='-5' font-size='70%'>4</tspan></text>");
	has(&t, ">2\u00b710<tspan dy='-5' font-size='70%'>5</tspan></text>");
	iso_text_free(&t);
}

/* Many decades: at 1 of each. All but one value: an axis around it. */
static void log_ticks(void **state)
{
	static const double x[] = { 1, 1e8 }, y[] = { 3, 3 };
	const struct iso_svg_curve curve = { "a", 1, 2, x, y };
	const struct iso_svg_chart chart = { "l", "x", "y", 1, &curve, ISO_SVG_LOG };
	struct iso_text t = { 0 };

	(void)state;
	iso_svg_chart(&t, &chart);
	has(&t, ">1000</text>");
	has(&t, ">10<tspan dy='-5' font-size='70%'>8</tspan></text>");
	lacks(&t, ">2000</text>");
	has(&t, ">2</text>");
	has(&t, ">5</text>");
	iso_text_free(&t);
}

/* Stands alone: XML with a name space and colours, and the names of curves inside. */
static void file_of_charts(void **state)
{
	static const double x[] = { 0, 1 }, y[] = { 0, 1 }, none[] = { NAN, NAN };
	const struct iso_svg_curve curve[] = { { "a & b", 1, 2, x, y }, { "limit", 0, 2, x, y } };
	const struct iso_svg_curve empty = { "c", 2, 2, x, none };
	const struct iso_svg_chart chart[] = { { "one", "x", "y", 2, curve, ISO_SVG_PLAIN },
		                               { "two", "x", "y", 1, &empty, ISO_SVG_PLAIN } };
	struct iso_text t = { 0 };

	(void)state;
	iso_svg_file(&t, 1, chart + 1);
	text_is(&t, "");
	iso_svg_file(&t, 2, chart);
	assert_int_equal(strncmp(t.v, "<svg xmlns='http://www.w3.org/2000/svg' ", 40), 0);
	has(&t, "aria-label='one'");
	lacks(&t, "aria-label='two'");
	has(&t, ">a &amp; b</text>");
	has(&t, ">limit</text>");
	has(&t, "stroke='#0a6fa3'");
	has(&t, "stroke-dasharray='5 3'");
	lacks(&t, "var(");
	assert_string_equal(t.v + t.n - 7, "</svg>\n");
	iso_text_free(&t);
}

/* ---- values ---- */

static void counts_and_times(void **state)
{
	static const struct {
		double n;
		const char *text;
	} count[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1\u202f000" },
		{ 5002139, "5\u202f002\u202f139" },
		{ 1e15, "1\u202f000\u202f000\u202f000\u202f000\u202f000" },
		{ -5, "0" },
		{ NAN, "0" },
	};
	static const struct {
		double s;
		const char *text;
	} time[] = {
		{ .0123, "0.012\u202fs" },
		{ 12.34, "12.3\u202fs" },
		{ 59.96, "1\u202fmin 00\u202fs" },
		{ 185, "3\u202fmin 05\u202fs" },
		{ 7620, "2\u202fh 07\u202fmin" },
		{ NAN, "\u2013" },
		{ -1, "\u2013" },
		{ 1e300, "\u2013" },
	};

	(void)state;
	for (int i = 0; i < N_OF(count); i++) {
		struct iso_text t = { 0 };

		iso_value_count(&t, count[i].n);
		text_is(&t, count[i].text);
	}
	for (int i = 0; i < N_OF(time); i++) {
		struct iso_text t = { 0 };

		iso_value_time(&t, time[i].s);
		text_is(&t, time[i].text);
	}
}

static void values(void **state)
{
	static const struct {
		const char *json, *text;
	} c[] = {
		{ "[1, 2.5, \"<a>\", true, null, []]", "1, 2.5, &lt;a&gt;, yes, none, " },
		{ "{\"k&\": [1, {\"x\": 2}]}", "k&amp; 1, x 2" },
		{ "[[[[[[1]]]]]]", "\u2026" },
		{ "[1,2,3,4,5,6,7,8,9,10,11,12,13]", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, \u2026 (13)" },
	};

	(void)state;
	for (int i = 0; i < N_OF(c); i++) {
		json_t *v = json_loads(c[i].json, 0, NULL);
		struct iso_text t = { 0 };

		iso_value_put(&t, v);
		text_is(&t, c[i].text);
		json_decref(v);
	}
	struct iso_text t = { 0 };

	iso_value_put(&t, NULL);
	text_is(&t, "");
}

/* ---- histories ---- */

static void read_history(struct iso_history *h, const char *path)
{
	OK(iso_history_read(h, path));
}

/* c.nii from b.nii from a.lmdT, each file of 4 bytes. */
static void history_follows_inputs(void **state)
{
	struct iso_history h;

	(void)state;
	put_text("a.lmdT", "aaaa");
	put_text("b.nii", "bbbb");
	put_text("c.nii", "cccc");
	put_text("a.lmdT.json", "{\"verb\": \"simulate\"}");
	put_text("b.json", "{\"verb\": \"recon\", \"inputs\": [{\"name\": \"elsewhere/a.lmdT\", "
	                   "\"bytes\": 4}]}");
	put_text("c.json", "{\"verb\": \"filter\", \"inputs\": [{\"name\": \"b.nii\", "
	                   "\"bytes\": 4}]}");
	read_history(&h, "c.nii");
	assert_int_equal(h.n, 3);
	assert_string_equal(h.step[0].file, "./a.lmdT");
	assert_string_equal(h.step[1].file, "b.nii");
	assert_string_equal(h.step[2].file, "c.nii");
	assert_string_equal(h.problem, "");
	assert_ptr_equal(iso_history_own(&h), h.step[2].record);
	assert_ptr_equal(iso_history_recon(&h), h.step[1].record);
	iso_history_free(&h);

	put_text("b.nii", "another"); /* not the file that c.nii was made from */
	read_history(&h, "c.nii");
	assert_int_equal(h.n, 1);
	assert_null(iso_history_recon(&h));
	iso_history_free(&h);
}

static void history_of_a_circle(void **state)
{
	struct iso_history h;

	(void)state;
	put_text("p.nii", "pppp");
	put_text("q.nii", "qqqq");
	put_text("p.json", "{\"verb\": \"x\", \"inputs\": [{\"name\": \"q.nii\", \"bytes\": 4}, "
	                   "{\"name\": \"p.nii\", \"bytes\": 4}, 7, {\"name\": 3}, null]}");
	put_text("q.json", "{\"verb\": \"y\", \"inputs\": [{\"name\": \"p.nii\", \"bytes\": 4}]}");
	read_history(&h, "p.nii");
	assert_int_equal(h.n, 2);
	assert_string_equal(h.step[1].file, "p.nii");
	iso_history_free(&h);
}

static void history_has_problems(void **state)
{
	static const struct {
		const char *text, *problem;
	} c[] = {
		{ "{\"verb\": \"recon\"", "bad.json:1: " },
		{ "", "bad.json:1: " },
		{ "\xff\xfe", "bad.json:1: " },
		{ "{\"verb\": \"\xff\"}", "bad.json:1: " },
		{ "[1, 2]", "bad.json is not the record of a run" },
		{ "{\"verb\": 3}", "bad.json is not the record of a run" },
	};
	struct iso_history h;

	(void)state;
	for (int i = 0; i < N_OF(c); i++) {
		put_text("bad.json", c[i].text);
		read_history(&h, "bad.nii");
		assert_int_equal(h.n, 0);
		if (!strstr(h.problem, c[i].problem)) fail_msg("'%s' lacks '%s'", h.problem, c[i].problem);
		iso_history_free(&h);
	}
	assert_int_equal(truncate("bad.json", (off_t)65 << 20), 0);
	read_history(&h, "bad.nii");
	assert_non_null(strstr(h.problem, "65.0 MiB"));
	iso_history_free(&h);
	read_history(&h, "nothing.nii");
	assert_int_equal(h.n, 0);
	assert_string_equal(h.problem, "");
	iso_history_free(&h);
}

/* ---- pages ---- */

static void write_image(const char *path, int64_t nx, int64_t ny, int64_t nz, double top, const char *record)
{
	const struct iso_grid g = { { nx, ny, nz }, { 2, 2, 4 }, { 0, 0, 0 } };
	struct iso_array a = { 0 };

	OK(iso_array_on_grid(&a, &g));
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)(top * (double)(i % 7) / 6);
	OK(iso_write(path, &a, record));
	iso_array_free(&a);
}

/* Entities aside, every < of a page must be one that this project wrote. */
static void assert_tags(const struct iso_text *t)
{
	static const char *const known[] = {
		"!doctype",   "html",    "head", "meta", "title", "style",   "body",    "header", "main",
		"footer",     "section", "h1",   "h2",   "h3",    "p",       "b",       "i",      "small",
		"span",       "div",     "ul",   "ol",   "li",    "dl",      "dt",      "dd",     "figure",
		"figcaption", "img",     "svg",  "path", "text",  "circle",  "table",   "thead",  "tbody",
		"tr",         "th",      "td",   "pre",  "code",  "details", "summary",
	};

	for (const char *c = t->v; (c = strchr(c, '<')); c++) {
		size_t n = strcspn(c + 1 + (c[1] == '/'), " >\n");
		bool found = false;

		for (int i = 0; i < N_OF(known); i++)
			found |= strlen(known[i]) == n && strncmp(known[i], c + 1 + (c[1] == '/'), n) == 0;
		if (!found) fail_msg("a tag that is none of ours: %.60s", c);
	}
}

/* The page of some images, complete and closed to the outside. */
static struct iso_text page_of(struct iso_report *r, int n, const char *const *paths, const char *truth)
{
	struct iso_text t = { 0 };

	OK(iso_report_read(r, n, paths, truth));
	OK(iso_report_page(&t, r));
	iso_report_free(r);
	assert_int_equal(strlen(t.v), t.n);
	assert_memory_equal(t.v, "<!doctype html>", 15);
	assert_string_equal(t.v + t.n - 8, "</html>\n");
	has(&t, "default-src 'none'; img-src data:; style-src 'unsafe-inline'");
	assert_tags(&t);
	lacks(&t, "<script");
	lacks(&t, "http:");
	lacks(&t, "https:");
	lacks(&t, "url(");
	for (int i = 0; i < 4; i++) /* pictures hold no such letters */
		lacks(&t, (const char *[]){ "nan<", "nan ", "inf ", "nan%" }[i]);
	return t;
}

static struct iso_text page_of_one(const char *path)
{
	struct iso_report r;
	const char *paths[] = { path };

	return page_of(&r, 1, paths, NULL);
}

static const char record[] =
	"{\"verb\": \"recon\", \"isotome\": \"0\", \"command\": \"isotome recon ray -o x.nii\","
	" \"started\": \"2026-01-02T03:04:05Z\", \"parameters\": {\"grid\": [8, 6, 5], \"mu\": null},"
	" \"inputs\": [{\"name\": \"e.lmdT\", \"bytes\": 2048, \"xxh64\": \"0123456789abcdef\"}],"
	" \"times_s\": {\"read\": 0.5, \"reconstruct\": 9.5}, \"warnings\": [\"beware\"],"
	" \"results\": {\"loglik\": [-900, -50, -40, -30, -20, -10, -9, -8],"
	" \"events\": {\"used\": 12345, \"skipped\": 6}},"
	" \"device\": \"cpu (2 threads)\", \"peak_memory_bytes\": 1048576,"
	" \"ReconMethodName\": \"osem\","
	" \"ReconMethodParameterLabels\": [\"subsets\", \"iterations\"],"
	" \"ReconMethodParameterValues\": [2, 4], \"Units\": \"counts/mm\"}";

static void page_tells_the_run(void **state)
{
	(void)state;
	write_image("x.nii", 8, 6, 5, 3, record);
	struct iso_text t = page_of_one("x.nii");

	has(&t, "<span class='caps'>osem</span><small>4 iterations \u00d7 2 subsets</small>");
	has(&t, "12\u202f345<small>6 left out</small>");
	has(&t, "10.0\u202fs<small>recon on cpu (2 threads)</small>");
	has(&t, "1.0 MiB<small>at its peak</small>");
	has(&t, "8 \u00d7 6 \u00d7 5<small>of 2 \u00d7 2 \u00d7 4 mm</small>");
	has(&t, "3<small>counts/mm</small>");
	has(&t, "<b>x.nii</b> beware</li>");
	has(&t, "style='width:100.0%'"); /* reconstruct */
	has(&t, "style='width:5.3%'");   /* read */
	has(&t, "<td>e.lmdT</td><td>2.0 KiB</td><td><code>0123456789abcdef</code>");
	has(&t, "<span>isotome</span> <span>recon</span>");
	has(&t, "<th scope='row'>grid</th><td>8, 6, 5</td>");
	has(&t, "Not given: mu.");
	lacks(&t, "Error");
	iso_text_free(&t);
}

/* Warnings come before all else, notes after it, folded. */
static void notes_come_last(void **state)
{
	(void)state;
	write_image("x.nii", 8, 6, 5, 3,
	            "{\"verb\": \"recon\", \"warnings\": [\"half of it\"], \"notes\": [\"27 <of> many\"],"
	            " \"parameters\": {\"grid\": [8, 6, 5]}}");
	struct iso_text t = page_of_one("x.nii");
	const char *first = strstr(t.v, "<b>x.nii</b> half of it</li>"),
		   *last = strstr(t.v, "<details class='notes'>");

	assert_non_null(first);
	assert_true(first < strstr(t.v, "aria-label='Key figures'"));
	assert_non_null(last);
	assert_true(last > strstr(t.v, "<h2>Parameters</h2>"));
	assert_non_null(strstr(last, "<b>x.nii</b> 27 &lt;of&gt; many</li>"));
	iso_text_free(&t);
	write_image("x.nii", 8, 6, 5, 3, "{\"verb\": \"recon\", \"warnings\": [], \"notes\": []}");
	t = page_of_one("x.nii");
	lacks(&t, "<details");
	lacks(&t, "<section class='warnings'");
	iso_text_free(&t);
}

/* How many checks a run made, and which were doubtful; names of a foreign record are text. */
static void checks_are_counted(void **state)
{
	(void)state;
	write_image("x.nii", 8, 6, 5, 3,
	            "{\"verb\": \"recon\", \"checks\": {\"ends\": \"fits\", \"matter\": \"doubtful\","
	            " \"<b>\": \"doubtful\", \"odd\": 3}}");
	struct iso_text t = page_of_one("x.nii");

	has(&t, "<b>x.nii</b> 4 made; doubtful: matter, &lt;b&gt;</li>");
	iso_text_free(&t);
	write_image("x.nii", 8, 6, 5, 3,
	            "{\"verb\": \"recon\", \"checks\": {\"ends\": \"fits\", \"counts\": \"fits\"}}");
	t = page_of_one("x.nii");
	has(&t, "<b>x.nii</b> 2 made, all fit</li>");
	iso_text_free(&t);
	write_image("x.nii", 8, 6, 5, 3, "{\"verb\": \"recon\", \"checks\": []}");
	t = page_of_one("x.nii");
	lacks(&t, "id='checks'");
	iso_text_free(&t);
}

/* What the rule is: a share below RECORD_SMALL is a note, one at it a warning; both are told. */
static void count_told(void *arg, enum iso_message_kind kind, const char *text)
{
	*(int *)arg += kind == ISO_WARNING && strstr(text, "events") != NULL;
}

static void small_shares_are_notes(void **state)
{
	struct record r;
	int told = 0;

	(void)state;
	OK(record_begin(&r, "recon", NULL));
	r.to.message = count_told;
	r.to.arg = &told;
	record_warn_share(&r, 27, 5e6, "%d of 5000000 events", 27);
	record_warn_share(&r, 1, 1000, "1 of 1000 events");
	record_warn_share(&r, .999, 1000, "fewer events");
	record_warn_share(&r, 0, 0, "0 of 0 events");
	record_note(&r, "no events");
	record_warn(&r, "all events");
	assert_int_equal(told, 6);
	const json_t *notes = json_object_get(r.root, "notes"),
		     *warnings = json_object_get(r.root, "warnings");

	assert_int_equal(json_array_size(notes), 3);
	assert_string_equal(json_string_value(json_array_get(notes, 0)), "27 of 5000000 events");
	assert_string_equal(json_string_value(json_array_get(notes, 1)), "fewer events");
	assert_string_equal(json_string_value(json_array_get(notes, 2)), "no events");
	assert_int_equal(json_array_size(warnings), 3);
	record_free(&r);
}

/* Sums over two updates from the second on: -90, -70, -50, -30, -19, -17. */
static void likelihood_begins_after_the_start_image(void **state)
{
	(void)state;
	write_image("x.nii", 8, 6, 5, 3, record);
	struct iso_text t = page_of_one("x.nii");
	const char *chart = strstr(t.v, "aria-label='Log-likelihood");

	assert_non_null(chart);
	int points = 0;

	for (const char *c = chart; (c = strstr(c, "<circle")); c++) points++;
	assert_int_equal(points, 6);
	has(&t, "\u221280</text>"); /* the axis ends far above -950 */
	lacks(&t, "\u2212900");
	iso_text_free(&t);
}

static void page_of_hostile_record(void **state)
{
	static char big[400000];
	size_t n = 0;

	(void)state;
#define ADD(...) n += (size_t)snprintf(big + n, sizeof big - n, __VA_ARGS__)
	ADD("{\"verb\": \"recon<script>\", \"command\": \"'\\\"><script>x</script> \\u0001\\u001b ");
	for (int i = 0; i < 20000; i++) ADD("long-word");
	ADD("\", \"started\": {\"a\": 1}, \"device\": \"<img src=x onerror=y>\", "
	    "\"Units\": \"</td><b>\", "
	    "\"parameters\": {\"<script>\": \"'><script>\", \"a\": [[[[[[]]]]]]");
	for (int i = 0; i < 3000; i++) ADD(", \"p%d\": %d", i, i);
	ADD("}, \"inputs\": {\"not\": \"a list\"}, "
	    "\"times_s\": {\"<b>\": 1, \"x\": -1, \"y\": \"z\"}, "
	    "\"warnings\": [\"<script>\", 3, [1], {\"k<\": null}], \"ReconMethodName\": \"<i>\", "
	    "\"ReconMethodParameterLabels\": [\"<u>\", 3, \"subsets\"], "
	    "\"ReconMethodParameterValues\": [\"x\", -1, 0], \"peak_memory_bytes\": -1e300, "
	    "\"results\": {\"events\": {\"used\": 1e300, \"skipped\": -4}, \"loglik\": [null, \"a\"");
	for (int i = 0; i < 20000; i++) ADD(", %d", -i);
	ADD("]}}");
#undef ADD
	assert_true(n < sizeof big - 1);
	write_image("h.nii", 8, 6, 5, 3, big);
	struct iso_text t = page_of_one("h.nii");

	has(&t, "&lt;script&gt;");
	has(&t, "\u2026</code></pre>");
	lacks(&t, "onerror=y>");
	assert_true(t.n < 200000);
	iso_text_free(&t);
}

static void page_of_damaged_record(void **state)
{
	(void)state;
	write_image("d.nii", 8, 6, 5, 3, NULL);
	put_text("d.json", "{\"verb\": <script>");
	struct iso_text t = page_of_one("d.nii");

	has(&t, "class='warnings'");
	has(&t, "d.json:");
	iso_text_free(&t);
}

static void page_of_any_shape(void **state)
{
	static const int64_t dim[][4] = {
		{ 1, 1, 1, 1 }, { 0, 0, 5, 7 },    { 0, 3, 5, 7 },
		{ 2, 3, 5, 7 }, { 0, 1, 1, 2000 }, { 0, 700, 2, 1100 },
	};

	(void)state;
	for (int i = 0; i < N_OF(dim); i++) {
		int skip = 0;

		while (dim[i][skip] == 0) skip++;
		struct iso_array a = { 0 };

		OK(iso_array_create(&a, 4 - skip, dim[i] + skip));
		a.v[a.n - 1] = 1;
		OK(iso_write("any.npy", &a, NULL));
		iso_array_free(&a);
		struct iso_text t = page_of_one("any.npy");

		has(&t, "data:image/png;base64,iVBOR");
		assert_true(t.n < 400000);
		iso_text_free(&t);
	}
}

static void page_of_any_values(void **state)
{
	static const double v[][4] = {
		{ 0, 0, 0, 0 },         { NAN, 1, 2, 3 },
		{ NAN, NAN, NAN, NAN }, { INFINITY, -INFINITY, 0, 1 },
		{ -1, 2, -3, 4 },       { 1e-30, 3e-38, 0, 1e-35 },
		{ 3e38, -3e38, 1, 0 },
	};

	(void)state;
	write_image("t.nii", 4, 1, 1, 1, NULL);
	for (int i = 0; i < N_OF(v); i++) {
		const struct iso_grid g = { { 4, 1, 1 }, { 2, 2, 4 }, { 0, 0, 0 } };
		struct iso_array a = { 0 };
		struct iso_report r;
		const char *paths[] = { "v.nii", "v.nii" };

		OK(iso_array_on_grid(&a, &g));
		for (int k = 0; k < 4; k++) a.v[k] = (iso_real)v[i][k];
		OK(iso_write(paths[0], &a, NULL));
		iso_array_free(&a);
		struct iso_text alone = page_of(&r, 1, paths, NULL);
		struct iso_text beside = page_of(&r, 2, paths, "t.nii");

		if (i < 3) has(&beside, "can\u2019t be scaled to the truth");
		iso_text_free(&alone);
		iso_text_free(&beside);
	}
}

/* Images of 1, 2, 3 times the truth: no error, and the pictures of all are the truth's. */
static void truth_sets_the_scale(void **state)
{
	const char *paths[] = { "one.nii", "two.nii", "three.nii" };
	struct iso_report r;

	(void)state;
	for (int i = 0; i < 3; i++) write_image(paths[i], 8, 6, 5, i + 1, NULL);
	OK(iso_report_read(&r, 3, paths, "two.nii"));
	NEAR(r.image[0].error.scale, 2, 1e-6);
	NEAR(r.image[2].error.scale, 2. / 3, 1e-6);
	NEAR(r.image[2].error.nrmse, 0, 1e-6);
	iso_report_free(&r);
	struct iso_text t = page_of(&r, 3, paths, "two.nii");
	char *row = strstr(t.v, "<h3>Transverse</h3>"), *first, *next;

	assert_non_null(row);
	first = strstr(row, "base64,");
	for (int i = 1; i < 4; i++) {
		next = strstr(first + 1, "base64,");
		assert_int_equal(strcspn(first, "'"), strcspn(next, "'"));
		assert_memory_equal(first, next, strcspn(first, "'"));
		first = next;
	}
	has(&t, "<td>0.0 %<small>NRMSE against the truth, at the scale that fits it</small></td>");
	first = strstr(t.v, "stroke-linejoin='round' d='"); /* the profiles: of the truth and the images */
	for (int i = 1; i < 4; i++) {
		next = first ? strstr(first + 1, "stroke-linejoin='round' d='") : NULL;
		assert_non_null(next);
		assert_int_equal(strcspn(first, ">"), strcspn(next, ">"));
		assert_memory_equal(first, next, strcspn(first, ">"));
		first = next;
	}
	iso_text_free(&t);
}

/* Errors are told in per cent. */
static void errors_are_told(void **state)
{
	const char *paths[] = { "half.nii" };
	char text[64];
	const struct iso_grid g = { { 8, 6, 5 }, { 2, 2, 4 }, { 0, 0, 0 } };
	struct iso_array truth = { 0 }, half = { 0 };
	struct iso_report r;

	(void)state;
	OK(iso_array_on_grid(&truth, &g));
	OK(iso_array_on_grid(&half, &g));
	for (int64_t i = 0; i < truth.n; i++) {
		truth.v[i] = 1;
		half.v[i] = i % 2 ? 2 : 1;
	}
	OK(iso_write("truth.nii", &truth, NULL));
	OK(iso_write(paths[0], &half, NULL));
	/* the scale of (1 + 2)/(1 + 4) = .6 leaves -.4 and .2 */
	snprintf(text, sizeof text, "%.1f %%<small>NRMSE against the truth", 100 * sqrt((.16 + .04) / 2));
	struct iso_text t = page_of(&r, 1, paths, "truth.nii");

	has(&t, text);
	iso_text_free(&t);
	iso_array_free(&truth);
	iso_array_free(&half);
}

static void slices_go_where_the_signal_is(void **state)
{
	const struct iso_grid g = { { 8, 6, 5 }, { 2, 2, 4 }, { 0, 0, 0 } };
	struct iso_array a = { 0 };
	struct iso_report r;
	const char *paths[] = { "spot.nii" };

	(void)state;
	OK(iso_array_on_grid(&a, &g));
	a.v[6 + 8 * (1 + 6 * 3)] = 5;
	OK(iso_write(paths[0], &a, NULL));
	iso_array_free(&a);
	OK(iso_report_read(&r, 1, paths, NULL));
	assert_int_equal(r.image[0].cut[0], 6);
	assert_int_equal(r.image[0].cut[1], 1);
	assert_int_equal(r.image[0].cut[2], 3);
	iso_report_free(&r);
	struct iso_text t = page_of_one(paths[0]);

	has(&t, "x = 5 mm");
	has(&t, "y = \u22123 mm");
	has(&t, "z = 4 mm");
	iso_text_free(&t);
}

static void refusals(void **state)
{
	struct iso_report r;
	struct iso_text t = { 0 };
	struct iso_array line = { 0 };
	const char x[] = "x.nii", *paths[] = { x, x, x, x, x, x, x }, *one[] = { "flat.npy" };

	(void)state;
	write_image("x.nii", 8, 6, 5, 3, NULL);
	write_image("other.nii", 8, 6, 4, 3, NULL);
	REFUSED(iso_report_read(&r, 7, paths, NULL), ISO_EARG, "7 images");
	REFUSED(iso_report_read(&r, 0, paths, NULL), ISO_EARG, "0 images");
	REFUSED(iso_report_read(&r, 2, paths, "other.nii"), ISO_EINPUT,
	        "other.nii and x.nii do not lie on one grid");
	REFUSED(iso_report_read(&r, 1, paths, "missing.nii"), ISO_EINPUT, "missing.nii");
	OK(iso_array_create(&line, 1, (int64_t[]){ 9 }));
	OK(iso_write(one[0], &line, NULL));
	iso_array_free(&line);
	REFUSED(iso_report_read(&r, 1, one, NULL), ISO_EINPUT, "flat.npy: an array of 1 axes");
	OK(iso_report_read(&r, 1, paths, NULL));
	r.has_line = true;
	r.to[0] = 1000;
	REFUSED(iso_report_page(&t, &r), ISO_EINPUT, "1000");
	iso_text_free(&t);
	iso_report_free(&r);
}

static void names_of_files_are_escaped(void **state)
{
	const char *name = "<b onclick='x'>\xff&.nii";
	struct iso_report r;
	const char *paths[] = { name };
	struct iso_text t = { 0 };

	(void)state;
	write_image(name, 4, 4, 4, 1, NULL);
	OK(iso_report_read(&r, 1, paths, NULL));
	r.title = "</title><script>\x02\"'";
	OK(iso_report_page(&t, &r));
	iso_report_free(&r);
	lacks(&t, "<b onclick");
	lacks(&t, "<script");
	has(&t, "<h1>&lt;/title&gt;&lt;script&gt;\ufffd&quot;&#39;</h1>");
	has(&t, "&lt;b onclick=&#39;x&#39;&gt;\ufffd&amp;.nii");
	assert_tags(&t);
	iso_text_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes),
		cmocka_unit_test(cuts),
		cmocka_unit_test(grows),
		cmocka_unit_test(base64),
		cmocka_unit_test(ticks),
		cmocka_unit_test(curve_of_any_values),
		cmocka_unit_test(curve_of_nothing),
		cmocka_unit_test(curve_with_a_gap),
		cmocka_unit_test(curve_rises),
		cmocka_unit_test(curve_on_log_axes),
		cmocka_unit_test(log_ticks),
		cmocka_unit_test(file_of_charts),
		cmocka_unit_test(counts_and_times),
		cmocka_unit_test(values),
		cmocka_unit_test(history_follows_inputs),
		cmocka_unit_test(history_of_a_circle),
		cmocka_unit_test(history_has_problems),
		cmocka_unit_test(page_tells_the_run),
		cmocka_unit_test(checks_are_counted),
		cmocka_unit_test(notes_come_last),
		cmocka_unit_test(small_shares_are_notes),
		cmocka_unit_test(likelihood_begins_after_the_start_image),
		cmocka_unit_test(page_of_hostile_record),
		cmocka_unit_test(page_of_damaged_record),
		cmocka_unit_test(page_of_any_shape),
		cmocka_unit_test(page_of_any_values),
		cmocka_unit_test(truth_sets_the_scale),
		cmocka_unit_test(errors_are_told),
		cmocka_unit_test(slices_go_where_the_signal_is),
		cmocka_unit_test(refusals),
		cmocka_unit_test(names_of_files_are_escaped),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
