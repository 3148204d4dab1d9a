/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw arrays and their descriptions. This test is also built in double. */
#include "files.h"

#define DESCRIBED(version, file, type) \
	"{\"version\": " #version ", \"data_file\": \"" file "\", \"type\": \"" type "\""
#define RAW DESCRIBED(1, "a.raw", "float32")

static void types(void **state)
{
	unsigned char data[64];
	char text[512];

	(void)state;
	for (int t = 0; t < COUNT(stored_types); t++)
		for (int big = 0; big < 2; big++) {
			put("a.raw", data, store(data, t, big));
			sprintf(text,
			        DESCRIBED(1, "a.raw", "%s") ", \"byte_order\": \"%s\", "
			                                    "\"shape\": [6]}",
			        stored_types[t].raw, big ? "big" : "little");
			put_text("a.raw.json", text);
			assert_stored("a.raw", t);
			assert_stored("a.raw.json", t);
		}
	files(true);
}

static void described(void **state)
{
	const float data[8] = { -1, -1, 1, 2, 3, 4, 5, 6 };
	struct iso_array a = { 0 };

	(void)state;
	mkdir("sub", 0777);
	put("sub/a.raw", data, sizeof data);
	put_text("sub/any.json",
	         RAW ", \"offset_bytes\": 8, \"shape\": [3, 2, 1], "
	             "\"voxel_mm\": [1, 2, 3.5], \"centre_mm\": [0, -4, 5], \"unit\": \"1/mm\"}");
	read_ok(&a, "sub/any.json");
	assert_true(a.dim[0] == 3 && a.dim[1] == 2 && a.dim[2] == 1);
	assert_grid(&a, (double[]){ 1, 2, 3.5 }, (double[]){ 0, -4, 5 });
	assert_string_equal(a.unit, "1/mm");
	assert_true(a.v[0] == 1 && a.v[5] == 6);
	iso_array_free(&a);
	remove("sub/a.raw");
	remove("sub/any.json");
	files(true);
}

/* The sidecar of a .raw is the caller's, with the description under `array`. */
static void sidecar(void **state)
{
	struct iso_array a = small_image(), b = { 0 };
	char text[2048];

	(void)state;
	strcpy(a.unit, "Bq/ml");
	assert_int_equal(iso_write("a.raw", &a, "{\"command\": \"recon\", \"mm\": 1.6}"), ISO_OK);
	text[get("a.raw.json", text, sizeof text - 1)] = '\0';
	assert_non_null(strstr(text, "\"command\": \"recon\""));
	assert_non_null(strstr(text, "\"mm\": 1.6,"));
	assert_non_null(strstr(text, "\"array\": {"));
	read_ok(&b, "a.raw");
	assert_string_equal(b.unit, "Bq/ml");
	assert_memory_equal(&b.grid, &a.grid, sizeof a.grid);
	iso_array_free(&b);
	files(true);
	assert_int_equal(iso_write("a.raw", &a, "[1, 2]"), ISO_EARG);
	assert_message("not a JSON object");
	assert_int_equal(iso_write("a.raw", &a, "{"), ISO_EARG);
	assert_int_equal(iso_write("a\xff.raw", &a, NULL), ISO_EARG);
	assert_message("UTF-8");
	iso_array_free(&a);
	assert_int_equal(files(true), 0);
}

/* A record of 1.2 MB: descriptions are at most 1 MiB, what stands under `array` is one of its own. */
static void record(void **state)
{
	enum { SIZE = 1200000 };
	struct iso_array a = small_image(), b = { 0 };
	char *text = malloc(SIZE + 64);
	int n = sprintf(text, "{\"text\": \"");

	(void)state;
	memset(text + n, 'x', SIZE);
	strcpy(text + n + SIZE, "\"}");
	assert_int_equal(iso_write("a.raw", &a, text), ISO_OK);
	read_ok(&b, "a.raw");
	assert_true(b.n == a.n && b.has_grid && b.grid.voxel[0] == a.grid.voxel[0]);
	assert_memory_equal(b.v, a.v, (size_t)a.n * sizeof *a.v);
	iso_array_free(&b);
	put_text("a.raw.json", text);
	assert_refused("a.raw", "a.raw.json: is larger than 1 MiB");
	strcpy(text + n + SIZE, "\", \"array\": {\"shape\": [4, 3, 2]}}");
	put_text("a.raw.json", text);
	assert_refused("a.raw", "a.raw.json, array: ");
	free(text);
	iso_array_free(&a);
	files(true);
}

static void damaged(void **state)
{
	static const struct {
		const char *json, *message;
	} bad[] = {
		{ RAW ", \"shape\": [5]}", "a.raw: 20 bytes expected, the file has 24" },
		{ RAW ", \"shape\": [7]}", "28 bytes expected" },
		{ RAW ", \"shape\": [6], \"offset_bytes\": 4}", "28 bytes expected" },
		{ RAW ", \"shape\": [6], \"offset_bytes\": -4}", "offset_bytes" },
		{ RAW ", \"shape\": [1000000000000, 1000000000000]}", "64 bits" },
		{ RAW ", \"shape\": [6, 0]}", "shape" },
		{ RAW ", \"shape\": [1.5]}", "shape" },
		{ RAW ", \"shape\": []}", "1 to 8 sizes" },
		{ RAW ", \"shape\": 6}", "1 to 8 sizes" },
		{ RAW ", \"shape\": [1, 1, 1, 1, 1, 1, 1, 1, 6]}", "1 to 8 sizes" },
		{ RAW "}", "shape" },
		{ RAW ", \"shape\": [6], \"voxel_mm\": [1, 1, 1]}", "at least 3 axes" },
		{ RAW ", \"shape\": [1, 1, 6], \"voxel_mm\": [1, 0, 1]}", "voxel_mm" },
		{ RAW ", \"shape\": [1, 1, 6], \"voxel_mm\": [1, 1]}", "voxel_mm" },
		{ RAW ", \"shape\": [1, 1, 6], \"centre_mm\": [1, 1, 1]}", "needs voxel_mm" },
		{ RAW ", \"shape\": [6], \"byte_order\": \"middle\"}", "byte_order" },
		{ RAW ", \"shap\": [6]}", "did you mean 'shape'" },
		{ RAW ", \"shape\": [6], \"unit\": \"0123456789012345678901234567890123\"}",
		  "unit is longer" },
		{ DESCRIBED(2, "a.raw", "float32") ", \"shape\": [6]}", "version" },
		{ DESCRIBED(1, "a.raw", "float23") ", \"shape\": [6]}", "did you mean 'float32'" },
		{ "{\"version\": 1, \"data_file\": \"a.raw\", \"shape\": [6]}", "type" },
		{ DESCRIBED(1, "b.raw", "float32") ", \"shape\": [6]}",
		  "a.raw: a.raw.json describes b.raw instead" },
		{ DESCRIBED(1, "/a.raw", "float32") ", \"shape\": [6]}", "relative" },
		{ DESCRIBED(1, "../a.raw", "float32") ", \"shape\": [6]}", "must not hold '..'" },
		{ "{\"array\": 3}", "array" },
		{ "{\"array\": " RAW ", \"shape\": [6]}", "a.raw.json" },
		{ "", "a.raw.json" },
	};
	const float data[6] = { 0 };
	struct iso_array a = { 0 };

	(void)state;
	assert_refused("a.raw", "its description a.raw.json: No such file");
	put("a.raw", data, sizeof data);
	assert_refused("a.raw", "its description a.raw.json: No such file");
	for (int i = 0; i < COUNT(bad); i++) {
		put_text("a.raw.json", bad[i].json);
		assert_refused("a.raw", bad[i].message);
	}
	put_text("a.raw.json", "{\"more\": 1, \"array\": " RAW ", \"shape\": [6]}}");
	read_ok(&a, "a.raw");
	iso_array_free(&a);
	unlink("a.raw");
	assert_refused("a.raw", "a.raw: No such file");
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types),  cmocka_unit_test(described), cmocka_unit_test(sidecar),
		cmocka_unit_test(record), cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
