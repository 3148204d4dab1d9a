/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading JSON files, and never waiting for a pipe. */
#include "json_file.h"
#include "file/in.h"
#include "core/status.h"

#include <stdlib.h>

/* MiB of a file, bytes of its tree. A record of 1000 frames of 500 updates has 15 MiB; jansson would make
   100 bytes of each byte of "{},{},{},...", so what it will take is counted first. */
enum { FILE_MOST = 32, TREE_MOST = 128 << 20 };

/* What jansson takes: for an object or array with its first entries, and for a value in one. */
enum { CONTAINER = 256, VALUE = 48 };

/* Bytes of the tree of a text, about. */
static int64_t weigh(const char *text, size_t size)
{
	bool string = false, escape = false; /* inside of a string, and after its backslash */
	int64_t tree = 0;

	for (size_t i = 0; i < size; i++) {
		char c = text[i];

		if (string) {
			string = escape || c != '"';
			escape = !escape && c == '\\';
		} else {
			string = c == '"';
			tree += c == '{' || c == '[' ? CONTAINER : c == ',' || c == ':' ? VALUE : 0;
		}
	}
	return tree;
}

int iso_json_parse(json_t **root, const char *name, const char *text, size_t size)
{
	int64_t before = iso_json_failures();
	void *was = iso_number_locale();
	json_error_t why;
	json_t *found = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);

	iso_number_locale_back(was);
	if (iso_json_failures() != before) {
		json_decref(found);
		return iso_fail_memory(name, (int64_t)size);
	}
	if (!found) return iso_fail(ISO_EINPUT, "%s:%d: column %d: %s", name, why.line, why.column, why.text);
	*root = found;
	return ISO_OK;
}

int iso_json_read(json_t **root, const char *path)
{
	char *text = NULL;
	size_t size;
	int st = iso_text_read(&text, &size, path, FILE_MOST, "file of JSON");

	if (st) return st;
	if (weigh(text, size) > TREE_MOST)
		st = iso_refuse(path, "its JSON holds more values than fit %s", iso_bytes(TREE_MOST));
	else
		st = iso_json_parse(root, path, text, size);
	free(text);
	return st;
}

char *iso_json_text(const json_t *root, size_t flags)
{
	int64_t before = iso_json_failures();
	void *was = iso_number_locale();
	char *text = json_dumps(root, flags);

	iso_number_locale_back(was);
	if (iso_json_failures() == before) return text;
	free(text);
	return NULL;
}
