/* SPDX-License-Identifier: BSD-3-Clause */
/* A system matrix with its length and checksums put right, which no mutation would hit upon. The
   includer has _GNU_SOURCE, for memmem. */
#ifndef SRM_REPAIR_H
#define SRM_REPAIR_H

#include "fuzz.h"

#include <jansson.h>
#include <xxhash.h>

enum { HEAD = 64, TEXT_BYTES = 16, FILE_BYTES = 24, TEXT_SUM = 32, SUM_DIGITS = 16 };

/* The checksum of a section stands in the text as 16 digits. */
static inline void repair_section(uint8_t *file, size_t size, size_t text, const json_t *item)
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
	if (at) memcpy(at, digits, SUM_DIGITS);
}

static inline void repair_srm(uint8_t *file, size_t size)
{
	int64_t text, length = (int64_t)size;
	json_t *root, *item;
	uint64_t sum;
	size_t i;

	memcpy(&text, file + TEXT_BYTES, sizeof text);
	memcpy(file + FILE_BYTES, &length, sizeof length);
	if (text < 0 || text > length - HEAD) return;
	root = json_loadb((char *)file + HEAD, (size_t)text, 0, NULL);
	json_array_foreach (json_object_get(root, "sections"), i, item)
		repair_section(file, size, (size_t)text, item);
	json_decref(root);
	sum = XXH3_64bits(file + HEAD, (size_t)text);
	memcpy(file + TEXT_SUM, &sum, sizeof sum);
}

#endif
