/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading JSON files, and never waiting for a pipe. */
#include "json_file.h"
#include "regular.h"
#include "status.h"

#define MAX_BYTES (256 << 20)

int iso_json_read(json_t **root, const char *path)
{
	json_error_t error;
	FILE *f = NULL;
	int64_t size = 0;
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
	if (!found)
		return iso_fail(ISO_EINPUT, "%s:%d: %s", path, error.line, error.text);
	*root = found;
	return ISO_OK;
}
