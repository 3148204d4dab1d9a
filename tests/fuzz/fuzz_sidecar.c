/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the record that --like takes, for a command with an option of each kind. */
#include "fuzz.h"

#include "cmd/cmd.h"

static const struct opt_usage usage = { "phantom", "Nothing.", "" };
static const char *const words[] = { "mlem", "osem", NULL };

struct values {
	const char *output, *method;
	bool flag;
	int64_t iterations, size[3];
	double fwhm, centre[3];
};

static void check(const struct values *v)
{
	MUST(strcmp(v->method, "mlem") == 0 || strcmp(v->method, "osem") == 0);
	MUST(v->iterations >= 1 && v->iterations <= 1000);
	MUST(v->fwhm >= 0 && isfinite(v->fwhm));
	for (int a = 0; a < 3; a++) {
		MUST(v->size[a] >= 1 && v->size[a] <= (int64_t)1e15);
		MUST(isfinite(v->centre[a]));
	}
}

static int repeat(struct values *v, const char *path)
{
	struct opt own[] = {
		{ 'o', "output", .text = &v->output, .value = "FILE", .required = true },
		{ 0, "method", .text = &v->method, .words = words, .value = "NAME" },
		{ 0, "flag", .flag = &v->flag },
		{ 0, "iterations", .integer = &v->iterations, .min = 1, .max = 1000 },
		{ 0, "grid", .integer = v->size, .count = 3, .min = 1, .max = 1e15 },
		{ 0, "fwhm", .real = &v->fwhm, .min = 0, .max = INFINITY },
		{ 0, "centre", .real = v->centre, .count = 3, .absent = "the origin" },
		{ 0 },
	};
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	char *argv[] = { "phantom", "--like", (char *)path, NULL }, *text = NULL;
	uint64_t key;
	int st = cmd_parse(&c, &usage, sets, 3, argv);

	if (!st) check(v); /* while the texts are there */
	MUST(st || record_key(&c.record, &key, NULL) == ISO_OK);
	MUST(st || record_text(&c.record, &text) == ISO_OK);
	free(text);
	return cmd_end(&c, st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct values v = { .method = "mlem", .iterations = 1, .size = { 1, 1, 1 } };
	int st = repeat(&v, fuzz_file("x.json", data, size));

	MUST(st != ISO_EARG || strstr(iso_message(), "output")); /* the one required */
	if (st != ISO_EARG) fuzz_status(st);
	return 0;
}
