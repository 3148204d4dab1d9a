/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a system matrix: as they are, and with length and checksums put right, which no
   mutation would hit upon. What can be read can be put into every order. */
#define _GNU_SOURCE	/* memmem */
#include "fuzz.h"

#include <jansson.h>
#include <xxhash.h>

enum { HEAD = 64, TEXT_BYTES = 16, FILE_BYTES = 24, TEXT_SUM = 32, SUM_DIGITS = 16 };

static void use(const iso_srm *m)
{
	struct iso_srm_order o = { 0 };
	struct iso_srm_columns c = { 0 };
	struct iso_srm_rows r = { 0 };
	struct iso_srm_info info;
	iso_ctx *ctx = NULL;

	iso_srm_info(&info, m);
	if (info.panels.crystals[0] * info.panels.crystals[1] > 64 || info.panels.planes > 64 ||
	    info.panels.per_pitch[0] * info.panels.per_pitch[1] > 64)
		return;
	MUST(iso_ctx_create(&ctx, "cpu", 1) == ISO_OK);
	MUST(iso_srm_columns(&c, ctx, m, &o) == ISO_OK);
	MUST(iso_srm_taps(&r, ctx, m, &o) == ISO_OK);
	MUST(c.ptr[c.n] == r.ptr[r.n]);
	iso_srm_columns_free(&c);
	iso_srm_rows_free(&r);
	iso_ctx_free(ctx);
}

static void try_file(const void *data, size_t size)
{
	iso_srm *m = NULL;
	int st = iso_srm_read(&m, fuzz_file("x.srm", data, size), true);

	fuzz_status(st);
	if (!st)
		use(m);
	iso_srm_free(m);
}

/* The checksum of a section stands in the text as 16 digits. */
static void repair_section(uint8_t *file, size_t size, size_t text, const json_t *item)
{
	const char *sum = json_string_value(json_object_get(item, "xxh3"));
	json_int_t offset = json_integer_value(json_object_get(item, "offset"));
	json_int_t bytes = json_integer_value(json_object_get(item, "bytes"));
	size_t data = (HEAD + text + 63) / 64 * 64;
	char digits[SUM_DIGITS + 1];
	void *at;

	if (!sum || strlen(sum) != SUM_DIGITS || data > size || offset < 0 || bytes < 0 ||
	    (size_t)offset > size - data || (size_t)bytes > size - data - (size_t)offset)
		return;
	at = memmem(file + HEAD, text, sum, SUM_DIGITS);
	snprintf(digits, sizeof digits, "%016llx",
		 (unsigned long long)XXH3_64bits(file + data + offset, (size_t)bytes));
	if (at)
		memcpy(at, digits, SUM_DIGITS);
}

static void repair(uint8_t *file, size_t size)
{
	int64_t text, length = (int64_t)size;
	json_t *root, *item;
	uint64_t sum;
	size_t i;

	memcpy(&text, file + TEXT_BYTES, sizeof text);
	memcpy(file + FILE_BYTES, &length, sizeof length);
	if (text < 0 || text > length - HEAD)
		return;
	root = json_loadb((char *)file + HEAD, (size_t)text, 0, NULL);
	json_array_foreach(json_object_get(root, "sections"), i, item)
		repair_section(file, size, (size_t)text, item);
	json_decref(root);
	sum = XXH3_64bits(file + HEAD, (size_t)text);
	memcpy(file + TEXT_SUM, &sum, sizeof sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	try_file(data, size);
	if (size < HEAD)
		return 0;
	copy = malloc(size);
	MUST(copy);
	memcpy(copy, data, size);
	repair(copy, size);
	try_file(copy, size);
	free(copy);
	return 0;
}
