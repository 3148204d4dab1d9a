/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading JSON files, and never waiting for a pipe. */
#include "json_file.h"
#include "number.h"
#include "regular.h"
#include "status.h"

#define MAX_BYTES (256 << 20)

json_t *iso_json_parse(const char *text, size_t size, size_t flags, json_error_t *error)
{
	void *was = iso_number_locale();
	json_t *root = json_loadb(text, size, flags, error);

	iso_number_locale_back(was);
	return root;
}

char *iso_json_text(const json_t *root, size_t flags)
{
	void *was = iso_number_locale();
	char *text = json_dumps(root, flags);

	iso_number_locale_back(was);
	return text;
}

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
	void *was = iso_number_locale();
	json_t *found = json_loadf(f, JSON_REJECT_DUPLICATES, &error);

	iso_number_locale_back(was);
	fclose(f);
	if (!found)
		return iso_fail(ISO_EINPUT, "%s:%d: %s", path, error.line, error.text);
	*root = found;
	return ISO_OK;
}
