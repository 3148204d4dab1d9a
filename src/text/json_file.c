/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading JSON files, and never waiting for a pipe. */
#include "json_file.h"
#include "json_memory.h"
#include "base/number.h"
#include "file/regular.h"
#include "core/status.h"

#include <stdlib.h>

/* Bytes. A record of 1000 frames of 500 updates has 15 MiB; jansson would make 100 bytes of
   each byte of "{},{},{},...", so what it may take is counted as the text goes by. */
enum { FILE_MOST = 32 << 20, TREE_MOST = 128 << 20 };

/* What jansson takes: for an object or array with its first entries, and for a value in one. */
enum { CONTAINER = 256, VALUE = 48 };

struct text {
	FILE *f;
	bool string, escape; /* inside of a string, and after its backslash */
	int64_t tree;        /* bytes of what was read so far */
};

static void weigh(struct text *t, char c)
{
	if (t->string) {
		t->string = t->escape || c != '"';
		t->escape = !t->escape && c == '\\';
	} else if (c == '"') {
		t->string = true;
	} else if (c == '{' || c == '[') {
		t->tree += CONTAINER;
	} else if (c == ',' || c == ':') {
		t->tree += VALUE;
	}
}

static size_t next(void *buffer, size_t size, void *arg)
{
	struct text *t = arg;
	size_t n = fread(buffer, 1, size, t->f);

	for (size_t i = 0; i < n; i++) weigh(t, ((const char *)buffer)[i]);
	return t->tree > TREE_MOST ? (size_t)-1 : n;
}

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
	struct text t = { 0 };
	json_error_t error;
	int64_t size = 0, failures = iso_json_failures();
	int st = iso_regular_fopen(&t.f, &size, path);

	if (st) return st;
	if (size > FILE_MOST) {
		fclose(t.f);
		return iso_fail(ISO_EINPUT, "%s: %s of JSON, at most %s are read", path, iso_bytes(size),
		                iso_bytes(FILE_MOST));
	}
	void *was = iso_number_locale();
	json_t *found = json_load_callback(next, &t, JSON_REJECT_DUPLICATES, &error);

	iso_number_locale_back(was);
	fclose(t.f);
	if (t.tree > TREE_MOST) {
		json_decref(found);
		return iso_fail(ISO_EINPUT, "%s: its JSON holds more values than fit %s", path,
		                iso_bytes(TREE_MOST));
	}
	return take(root, found, failures, path, size, &error);
}

int iso_json_parse(json_t **root, const char *name, const char *text, size_t size)
{
	int64_t failures = iso_json_failures();
	void *was = iso_number_locale();
	json_error_t error;
	json_t *found = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);

	iso_number_locale_back(was);
	return take(root, found, failures, name, (int64_t)size, &error);
}

char *iso_json_text(const json_t *root, size_t flags)
{
	int64_t failures = iso_json_failures();
	void *was = iso_number_locale();
	char *text = json_dumps(root, flags);

	iso_number_locale_back(was);
	if (iso_json_failures() == failures) return text;
	free(text);
	return NULL;
}
