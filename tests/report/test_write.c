/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages by the public functions. */
#include "test.h"

#include "files.h"
#include "isotome/report.h"

#include <string.h>

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text;
	long n;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = calloc((size_t)n + 1, 1);
	assert_int_equal(fread(text, 1, (size_t)n, f), n);
	fclose(f);
	return text;
}

static void has(const char *path, const char *what, bool there)
{
	char *text = read_text(path);

	if (!strstr(text, what) == there) fail_msg("%s: %s '%s'", path, there ? "no" : "has", what);
	free(text);
}

static struct iso_array image(double hot)
{
	struct iso_array a = { 0 };
	const struct iso_grid g = { .n = { 6, 5, 4 }, .voxel = { 2, 2, 2 } };

	OK(iso_array_on_grid(&a, &g));
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)(i % 7);
	a.v[50] = (iso_real)hot;
	return a;
}

static void write_image(const char *path, double hot)
{
	struct iso_array a = image(hot);

	OK(iso_write(path, &a, NULL));
	iso_array_free(&a);
}

static void reports(void **state)
{
	(void)state;
	const char *images[] = { "one.nii", "two.nii" };
	const double line[] = { -3, 0, 0, 3, 0, 0 };
	struct iso_report_options o = { .size = sizeof o,
		                        .title = "Two <images>",
		                        .truth = "one.nii",
		                        .overlay = "two.nii",
		                        .profile = line };

	write_image("one.nii", 20);
	write_image("two.nii", 30);
	OK(iso_report_write("plain.html", 2, images, NULL));
	has("plain.html", "one.nii", true);
	has("plain.html", "<script", true);
	OK(iso_report_write("page.html", 2, images, &o));
	has("page.html", "Two &lt;images&gt;", true);
	o.plain = true;
	o.overlay = NULL;
	OK(iso_report_write("page.html", 2, images, &o));
	has("page.html", "<script", false);

	REFUSED(iso_report_write("page.txt", 2, images, NULL), ISO_EARG,
	        "page.txt: a page is written as .html");
	REFUSED(iso_report_write("page.html", 7, (const char *[]){ "a", "a", "a", "a", "a", "a", "a" }, NULL),
	        ISO_EARG, "7 images");
	REFUSED(iso_report_write("none.html", 1, (const char *[]){ "none.nii" }, NULL), ISO_EINPUT,
	        "none.nii");
	REFUSED(iso_report_write("no/folder.html", 1, images, NULL), ISO_EIO, "no/folder.html");
	o.profile = (const double[]){ NAN, 0, 0, 1, 0, 0 };
	REFUSED(iso_report_write("none.html", 1, images, &o), ISO_EINPUT, "outside");
	o.size = 0;
	REFUSED(iso_report_write("page.html", 1, images, &o), ISO_EARG, "size");
	assert_null(fopen("none.html", "rb"));
}

static void viewers(void **state)
{
	(void)state;
	struct iso_array a = image(20), b = image(30), flat = { 0 };
	const double at[] = { 1, 0, 2 }, outside[] = { 100, 0, 0 };
	struct iso_viewer_options o = { .size = sizeof o,
		                        .title = "Mine",
		                        .name = "mine.nii",
		                        .map = "grey",
		                        .window = { 0, 10 },
		                        .at = at };

	OK(iso_viewer_write("view.html", &a, NULL, NULL));
	has("view.html", "image", true);
	OK(iso_viewer_write("view.html", &a, &b, &o));
	has("view.html", "mine.nii", true);
	has("view.html", "<h1>Mine", true);
	assert_int_equal(a.n, 120); /* the arrays stay the caller's */

	o.at = outside;
	REFUSED(iso_viewer_write("view.html", &a, NULL, &o), ISO_EINPUT, "100,0,0 is outside mine.nii");
	o.at = NULL;
	o.frame = 1;
	REFUSED(iso_viewer_write("view.html", &a, NULL, &o), ISO_EARG, "frame is 1, and mine.nii has 1");
	o.frame = 0;
	o.window[0] = 10;
	REFUSED(iso_viewer_write("view.html", &a, NULL, &o), ISO_EARG, "window is 10 to 10, must rise");
	o.window[0] = 0;
	o.map = "mauve";
	REFUSED(iso_viewer_write("view.html", &a, NULL, &o), ISO_EARG, "mauve");
	REFUSED(iso_viewer_write("view.png", &a, NULL, NULL), ISO_EARG,
	        "view.png: a page is written as .html");
	OK(iso_array_create(&flat, 1, (int64_t[]){ 5 }));
	REFUSED(iso_viewer_write("view.html", &flat, NULL, NULL), ISO_EINPUT, "an array of 1 axes");
	iso_array_free(&a);
	iso_array_free(&b);
	iso_array_free(&flat);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(reports), cmocka_unit_test(viewers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
