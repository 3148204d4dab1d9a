/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading JSON files, and never waiting for a pipe. */
#include "json_file.h"
#include "json_memory.h"
#include "regular.h"
#include "status.h"

#include <stdlib.h>

#define MAX_BYTES (256 << 20)

/* What was found, unless memory ran out after the failures counted before. */
static int take(json_t **root, json_t *found, int64_t failures, const char *name, int64_t size,
		const json_error_t *error)
{
	if (iso_json_failures() != failures) {
		json_decref(found);
		return iso_fail_memory(name, size);
	}
	if (!found)
		return iso_fail(ISO_EINPUT, "%s:%d: column %d: %s", name, error->line, error->column,
				error->text);
	*root = found;
	return ISO_OK;
}

int iso_json_read(json_t **root, const char *path)
{
	int64_t size = 0, failures = iso_json_failures();
	json_error_t error;
	FILE *f = NULL;
	int st = iso_regular_fopen(&f, &size, path);

	if (st)
		return st;
	if (size > MAX_BYTES) {
		fclose(f);
		return iso_fail(ISO_EINPUT, "%s: %s of JSON, at most %s are read", path, iso_bytes(size),
				iso_bytes(MAX_BYTES));
	}
	json_t *found = json_loadf(f, JSON_REJECT_DUPLICATES, &error);

	fclose(f);
	return take(root, found, failures, path, size, &error);
}

int iso_json_parse(json_t **root, const char *name, const char *text, size_t size)
{
	int64_t failures = iso_json_failures();
	json_error_t error;
	json_t *found = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);

	return take(root, found, failures, name, (int64_t)size, &error);
}

char *iso_json_dump(const json_t *root, size_t flags)
{
	int64_t failures = iso_json_failures();
	char *text = json_dumps(root, flags);

	if (iso_json_failures() == failures)
		return text;
	free(text);
	return NULL;
}
