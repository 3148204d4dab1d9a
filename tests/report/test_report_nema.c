/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of a phantom with spheres: what was measured, where they were found, what can't be measured. */
#include "test.h"

#include "files.h"
#include "report/page.h"

static void has(const struct iso_text *t, const char *what)
{
	if (!t->n || !strstr(t->v, what)) fail_msg("'%s' is missing", what);
}

static void lacks(const struct iso_text *t, const char *what)
{
	if (t->n && strstr(t->v, what)) fail_msg("found '%s'", what);
}

/* A sphere of 10 mm, ratio 3, between a background of 1.5 and one of 2.5. */
static const char sphere_text[] = "spheres: [{centre_mm: [0, 0, 0], diameter_mm: 10, ratio: 3}]\n"
				  "background: [{centre_mm: [-30, 0]}, {centre_mm: [30, 0]}]\n"
				  "slices_mm: [0]\n"
				  "lung: {centre_mm: [0, 30], diameter_mm: 8}\n";

static void write_spheres(const char *path, const char *text)
{
	const struct iso_grid g = { { 40, 40, 3 }, { 2, 2, 2 }, { 0, 0, 0 } };
	struct iso_array a = { 0 };

	OK(iso_array_on_grid(&a, &g));
	for (int64_t z = 0, i = 0; z < 3; z++)
		for (int64_t y = 0; y < 40; y++)
			for (int64_t x = 0; x < 40; x++, i++) {
				double mm[2] = { 2 * (double)x - 39, 2 * (double)y - 39 };

				a.v[i] = mm[1] > 20                 ? .5
				         : hypot(mm[0], mm[1]) < 12 ? 4
				         : mm[0] < 0                ? 1.5
				                                    : 2.5;
			}
	OK(iso_write(path, &a, text));
	iso_array_free(&a);
}

static struct iso_text page_of_spheres(int n, const char *const *paths, const char *truth,
                                       const char *description)
{
	struct iso_report r;
	struct iso_text t = { 0 };

	OK(iso_report_read(&r, n, paths, truth));
	OK(iso_report_spheres(&r, description));
	OK(iso_report_page(&t, &r));
	iso_report_free(&r);
	return t;
}

static void spheres_are_measured(void **state)
{
	const char *a = "q.nii", *b = "r.nii", *paths[] = { a, b };
	struct iso_report r;
	char text[64];

	(void)state;
	put_text("q.yaml", sphere_text);
	write_spheres(a, NULL);
	write_spheres(b, NULL);
	struct iso_text t = page_of_spheres(1, paths, NULL, "q.yaml");

	/* (4/2 - 1)/(3 - 1); two discs of 1.5 and 2.5 */
	snprintf(text, sizeof text, "10 mm</th><td>3</td><td>50.0 %%</td><td>%.1f %%</td></tr>",
	         100 * sqrt(.5) / 2);
	has(&t, text);
	has(&t, "Lung residual</th><td></td><td>25.0 %</td>");
	lacks(&t, "colgroup");
	iso_text_free(&t);
	t = page_of_spheres(2, paths, a, "q.yaml"); /* three columns of two */
	has(&t, "colspan='2'>q.nii</th><th scope='colgroup' colspan='2'>r.nii</th><th scope='colgroup' "
	        "colspan='2'>Truth</th>");
	int found = 0;

	for (const char *c = t.v; (c = strstr(c, "<td>50.0 %</td>")); c++) found++;
	assert_int_equal(found, 3);
	iso_text_free(&t);
	put_text("far.yaml", "spheres: [{centre_mm: [500, 0, 0], diameter_mm: 10, ratio: 3}]\n"
	                     "background: [{centre_mm: [-30, 0]}, {centre_mm: [30, 0]}]\nslices_mm: [0]\n");
	OK(iso_report_read(&r, 1, paths, NULL));
	REFUSED(iso_report_spheres(&r, "far.yaml"), ISO_EINPUT, "q.nii: nema: the disc of radius 5 mm");
	REFUSED(iso_report_spheres(&r, "missing.yaml"), ISO_EINPUT, "missing.yaml");
	iso_report_free(&r);
}

/* Records that end at the phantom have its spheres; what can't be measured says why. */
static void spheres_are_found(void **state)
{
	static const char phantom[] =
		"{\"verb\": \"phantom\", \"parameters\": {\"phantom\": \"%s\", \"output\": "
		"\"elsewhere/%s\"}}";
	static const struct {
		const char *phantom, *output;
		bool found;
	} c[] = { { "spheres", "s.nii", true },
		  { "derenzo", "s.nii", false },
		  { "spheres", "mu.nii", false } };
	const char *s = "s.nii", *paths[] = { s };
	char text[256];

	(void)state;
	for (int i = 0; i < N_OF(c); i++) {
		snprintf(text, sizeof text, phantom, c[i].phantom, c[i].output);
		write_spheres(s, text); /* 80 mm: too small for the phantom */
		struct iso_text t = page_of_spheres(1, paths, NULL, NULL);

		(c[i].found ? has : lacks)(&t, "<h2>Image quality</h2>");
		(c[i].found ? has : lacks)(&t, "<p><b>s.nii</b> nema: the disc of radius");
		(c[i].found ? has : lacks)(&t, "37 mm</th><td>4</td><td>\u2013</td>");
		iso_text_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spheres_are_measured),
		cmocka_unit_test(spheres_are_found),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
