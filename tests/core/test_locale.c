/* SPDX-License-Identifier: BSD-3-Clause */
/* A process may be in any locale; files, messages and pages have decimal points all the same. Each
   check runs in the C locale and in locales made for it: de_DE and tr_TR write 312,5, ps_AF has a
   decimal separator of two bytes, and in tr_TR the letters I and i are no pair. */
#include "test.h"

#include "algo/checkpoint.h"
#include "base/number.h"
#include "file/suffix.h"
#include "files.h"
#include "report/page.h"

#include <locale.h>

static const struct locale {
	const char *name, *point;
} locales[] = { { "de_DE", "," }, { "ps_AF", "\u066b" }, { "tr_TR", "," } };

static int n_locales;
static char made[] = "/tmp/isotome-locale-XXXXXX";

/* Fails where a locale can't be made: a test that is skipped shows nothing. */
static int make_locales(void **state)
{
	char command[512];

	if (enter(state) || !mkdtemp(made)) return -1;
	n_locales = sized(N_OF(locales), 1);
	for (int i = 0; i < n_locales; i++) {
		snprintf(command, sizeof command, "localedef -i %s -f UTF-8 %s/%s.UTF-8", locales[i].name,
		         made, locales[i].name);
		if (system(command) != 0) {
			print_error("%s failed: it needs the Debian package 'locales'\n", command);
			return -1;
		}
	}
	return setenv("LOCPATH", made, 1);
}

static int remove_locales(void **state)
{
	char command[64];

	snprintf(command, sizeof command, "rm -rf %s", made);
	return leave(state) || system(command) != 0 ? -1 : 0;
}

static void in_each(void (*check)(const char *locale))
{
	check("C");
	for (int i = 0; i < n_locales; i++) {
		char name[32];

		snprintf(name, sizeof name, "%s.UTF-8", locales[i].name);
		if (!setlocale(LC_ALL, name)) fail_msg("no locale %s", name);
		assert_string_equal(localeconv()->decimal_point, locales[i].point);
		check(locales[i].name);
		assert_string_equal(localeconv()->decimal_point, locales[i].point);
		setlocale(LC_ALL, "C");
	}
}

/* `path` as it is written in the C locale, which comes first, and the same bytes in the others. */
static void same_bytes(const char *locale, const char *path)
{
	static char text[2][1 << 20];
	char first[256];
	size_t n = get(path, text[0], sizeof text[0]);

	snprintf(first, sizeof first, "C-%s", path);
	if (strcmp(locale, "C") == 0) {
		assert_true(n > 0 && n < sizeof text[0]);
		assert_int_equal(rename(path, first), 0);
		return;
	}
	if (get(first, text[1], sizeof text[1]) != n || memcmp(text[0], text[1], n) != 0)
		fail_msg("%s differs in locale %s", path, locale);
	assert_int_equal(remove(path), 0);
}

/* ---- numbers and messages ---- */

static void check_numbers(const char *locale)
{
	static const char *const text[] = { "2.5", "-0.1", "3.14159265358979323846", "1e-300" };
	static const double value[] = { 2.5, -.1, 3.14159265358979323846, 1e-300 };
	char out[64];
	double v[3];

	(void)locale;
	for (int i = 0; i < N_OF(text); i++) {
		assert_true(iso_number(v, text[i], strlen(text[i])));
		assert_true(v[0] == value[i]);
	}
	assert_false(iso_number(v, "2,5", 3));
	assert_false(iso_number(v, "3,14159265358979323846", 22));
	assert_int_equal(iso_numbers(v, 3, "1.5,2,-.25"), 3);
	assert_true(v[0] == 1.5 && v[1] == 2 && v[2] == -.25);
	assert_int_equal(iso_snprintf(out, sizeof out, "%g %.2f %.1e", 312.5, -.25, 1e9), 19);
	assert_string_equal(out, "312.5 -0.25 1.0e+09");
	assert_string_equal(iso_bytes(1536), "1.5 KiB");
	assert_int_equal(iso_fail(ISO_EARG, "%g mm", 6.5), ISO_EARG);
	assert_string_equal(iso_message(), "6.5 mm");
	assert_true(iso_has_suffix("A.NII", ".nii") && !iso_has_suffix("A.NI", ".nii"));
}

static void numbers(void **state)
{
	(void)state;
	in_each(check_numbers);
}

static void check_filter(const char *locale)
{
	struct iso_filter f;

	(void)locale;
	OK(iso_filter_parse(&f, "gaussian:6.5"));
	assert_true(f.fwhm[0] == 6.5 && f.fwhm[2] == 6.5);
	OK(iso_filter_parse(&f, "gaussian:6.5,.5,1e-1"));
	assert_true(f.fwhm[1] == .5 && f.fwhm[2] == .1);
	REFUSED(iso_filter_parse(&f, "gaussian:-6.5"), ISO_EARG, "-6.5");
}

static void filter(void **state)
{
	(void)state;
	in_each(check_filter);
}

/* ---- what is read ---- */

static const char yaml[] = "kind: cylinder\nradius_mm: 120.25\nrings: 2\nring_pitch_mm: 4.5\n"
			   "crystals_per_ring: 16\nmin_crystal_distance: 4\ntof: {fwhm_ps: 312.5}\n";

static void check_scanner(const char *locale)
{
	static const char *const path[] = { "s.yaml", "s.json" };
	iso_scanner *s = NULL;

	(void)locale;
	put_text(path[0], yaml);
	put_text(path[1], "{\"kind\": \"cylinder\", \"radius_mm\": 120.25, \"rings\": 2,\n"
	                  "\"ring_pitch_mm\": 4.5, \"crystals_per_ring\": 16, \"min_crystal_distance\": 4,\n"
	                  "\"tof\": {\"fwhm_ps\": 3.125e2}}\n");
	for (int i = 0; i < 2; i++) {
		OK(iso_scanner_read(&s, path[i]));
		assert_true(iso_scanner_tof_fwhm_ps(s) == 312.5);
		assert_true(iso_scanner_positions(s)[2] == -2.25);
		iso_scanner_free(s);
	}
}

/* Of 46 columns: time, energy, x, y, z of two singles; more digits than a double holds. */
#define SINGLE(time, x) "0 5 0 1 2 3 " time " 0.511 " x " -20.5 3e1 0 1 2 3 4 5 0 7 0 8 0 0 "

static void check_gate(const char *locale)
{
	struct iso_events e = { 0 };

	(void)locale;
	put_text("a.dat", SINGLE("1.25", "100.12345678901234567") SINGLE("1.25", "-100.5") "\n");
	OK(iso_events_read(&e, "a.dat", NULL));
	assert_true(e.n == 1 && e.v[0].p1[0] == 100.123456789f && e.v[0].p2[0] == -100.5f);
	assert_true(e.v[0].p1[1] == -20.5f && e.time_ms[0] == 1250);
	iso_events_free(&e);
}

static void check_phantom(const char *locale)
{
	struct iso_ellipse e;
	iso_phantom *p = NULL;

	(void)locale;
	put_text("p.txt", "ellipse 0.5 -62.25 10 33 -40 0.3\n");
	OK(iso_phantom_create(&p, "p.txt", NULL));
	OK(iso_phantom_ellipse(&e, p, 0));
	assert_true(e.x == .5 && e.y == -62.25 && e.rho == .3);
	iso_phantom_free(p);
}

static void readers(void **state)
{
	(void)state;
	in_each(check_scanner);
	in_each(check_gate);
	in_each(check_phantom);
	files(true);
}

/* ---- what is written, and read again ---- */

static void check_castor(const char *locale)
{
	static const char *const path[] = { "e.Cdh", "e.hscan", "e.Cdf", "e.lut" };
	struct iso_event v = { { 120.25f, 0, -2.25f }, { -120.25f, 0, 2.25f }, 12.5f };
	uint32_t time_ms = 100;
	struct iso_events back = { 0 }, e = { .n = 1,
		                              .v = &v,
		                              .time_ms = &time_ms,
		                              .start_s = 2.5,
		                              .duration_s = 10.75,
		                              .tof_fwhm_ps = 312.5 };
	iso_scanner *s = NULL;

	put_text("s.yaml", yaml);
	OK(iso_scanner_read(&s, "s.yaml"));
	OK(iso_events_write_with("e.Cdh", &e, s, "{}"));
	OK(iso_events_read(&back, "e.Cdh", NULL));
	assert_true(back.start_s == 2.5 && back.duration_s == 10.75 && back.tof_fwhm_ps == 312.5);
	for (int i = 0; i < N_OF(path); i++) same_bytes(locale, path[i]);
	iso_events_free(&back);
	iso_scanner_free(s);
}

static void check_strip(const char *locale)
{
	struct iso_strip_event v[] = { { 1.5f, -2.25f, .125f }, { 1e-9f, 3.1415927f, 1e9f } };
	struct iso_strip_events back = { 0 }, e = { .n = 2, .v = v };

	OK(iso_strip_events_write("e.txt", &e, "{}"));
	OK(iso_strip_events_read(&back, "e.txt", NULL));
	assert_int_equal(back.n, 2);
	assert_memory_equal(back.v, v, sizeof v);
	same_bytes(locale, "e.txt");
	iso_strip_events_free(&back);
}

static void check_srm(const char *locale)
{
	struct iso_panels p = { .crystals = { 3, 3 },
		                .pitch = { 2.5, 2.5 },
		                .crystal = { 1.8, 1.8, 6 },
		                .gap = 10.5,
		                .layers = 1,
		                .formula = "Lu1.8Y0.2SiO5",
		                .density = 7.1,
		                .resolution = .2,
		                .window = { 250, 750 },
		                .per_pitch = { 2, 2 },
		                .planes = 2,
		                .plane = 3.5 };
	struct iso_srm_info info = { .size = sizeof info };
	iso_ctx *ctx = cpu(1);
	iso_srm *m = NULL;

	OK(iso_srm_analytic(&m, ctx, &p));
	OK(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ .share = .75 }));
	OK(iso_srm_write("m.srm", m, true, NULL, "{}"));
	iso_srm_free(m);
	OK(iso_srm_read(&m, "m.srm", false));
	OK(iso_srm_info(&info, m));
	assert_true(info.panels.gap == 10.5 && info.panels.density == 7.1);
	same_bytes(locale, "m.srm");
	iso_srm_free(m);
	iso_ctx_free(ctx);
}

static const struct iso_grid grid = { { 8, 6, 5 }, { 1.6, 1.25, 2.5 }, { .5, -.5, 0 } };

static void make_image(struct iso_array *a)
{
	OK(iso_array_on_grid(a, &grid));
	for (int64_t i = 0; i < a->n; i++) a->v[i] = (iso_real)(.25 * (double)(i % 7));
}

static void check_image(const char *locale)
{
	static const char *const path[] = { "x.raw", "x.nii" };
	struct iso_array a = { 0 }, b = { 0 };

	make_image(&a);
	for (int i = 0; i < 2; i++) {
		OK(iso_write(path[i], &a, "{\"half\": 0.5}"));
		OK(iso_read(&b, path[i], ISO_FINITE));
		assert_true(b.has_grid && iso_grid_same(&b.grid, &grid));
		assert_true(b.grid.voxel[0] == 1.6 && b.grid.centre[1] == -.5);
		same_bytes(locale, path[i]);
		same_bytes(locale, i ? "x.json" : "x.raw.json");
		iso_array_free(&b);
	}
	iso_array_free(&a);
}

static void check_checkpoint(const char *locale)
{
	double v[] = { .5, 312.5 };
	struct iso_item item = { "v", ISO_ITEM_DOUBLE, 2, v };

	OK(iso_checkpoint_write("c.ckpt", 7, 1, &item));
	OK(iso_checkpoint_read("c.ckpt", 7, 1, &item));
	assert_true(v[1] == 312.5);
	same_bytes(locale, "c.ckpt");
}

static void writers(void **state)
{
	(void)state;
	in_each(check_castor);
	in_each(check_strip);
	in_each(check_srm);
	in_each(check_image);
	in_each(check_checkpoint);
	files(true);
}

/* ---- what people look at ---- */

static void check_picture(const char *locale)
{
	struct iso_pixels pixels = { 0 };
	struct iso_array a = { 0 };

	make_image(&a);
	OK(iso_picture_render(
		&pixels, NULL, &a,
		&(struct iso_picture){ .size = sizeof(struct iso_picture), .labels = ISO_LABEL_AXES }));
	OK(iso_picture_write("x.png", &pixels, "{}"));
	same_bytes(locale, "x.png");
	iso_pixels_free(&pixels);
	iso_array_free(&a);
}

static void check_page(const char *locale)
{
	const char *name = "x.nii", *paths[] = { name };
	struct iso_array a = { 0 };
	struct iso_text t = { 0 };
	struct iso_report r;
	char *made_at;

	make_image(&a);
	OK(iso_write(name, &a,
	             "{\"verb\": \"recon\", \"times_s\": {\"read\": 0.5, \"all\": 9.25},"
	             " \"parameters\": {\"voxel\": 1.6}, \"results\": {\"loglik\": [-9.5, -8.5, -8]}}"));
	OK(iso_report_read(&r, 1, paths, NULL));
	OK(iso_report_page(&t, &r));
	assert_non_null(strstr(t.v, "1.6"));
	while ((made_at = strstr(t.v, " UTC"))) /* "2026-01-02 03:04 UTC" */
		memset(made_at - 16, '-', 20);
	put("page.html", t.v, t.n);
	same_bytes(locale, "page.html");
	iso_report_free(&r);
	iso_text_free(&t);
	iso_array_free(&a);
}

static void pages(void **state)
{
	(void)state;
	in_each(check_picture);
	in_each(check_page);
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(filter), cmocka_unit_test(readers),
		cmocka_unit_test(writers), cmocka_unit_test(pages),
	};

	return cmocka_run_group_tests(tests, make_locales, remove_locales);
}
