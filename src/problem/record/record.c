/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a run, built as a JSON object. */
#include "record.h"

#include "text/json_file.h"
#include "core/progress.h"
#include "core/size.h"
#include "base/utf8.h"
#include "live/live.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static int no_memory(void)
{
	return iso_fail(ISO_ENOMEM, "no memory for the record of the run");
}

json_t *record_string(const char *text)
{
	int64_t failures = iso_json_failures();
	json_t *s = json_string(text);
	char *copy = s || !text || iso_json_failures() != failures ? NULL : strdup(text);

	if (!copy) return s;
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c >= 0x80) *c = '?';
	s = json_string(copy);
	free(copy);
	return s;
}

static json_t *utc_now(void)
{
	char text[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

int record_begin(struct record *r, const char *verb, const char *command)
{
	*r = (struct record){ .failures = iso_json_failures() };
	r->root = record_pack("{s:s, s:s, s:o, s:o, s:{}, s:[], s:{}, s:[], s:[], s:{}}", "isotome",
	                      iso_version(), "verb", verb, "command",
	                      command ? record_string(command) : json_null(), "started", utc_now(),
	                      "parameters", "inputs", "times_s", "warnings", "notes", "results");
	return r->root ? ISO_OK : no_memory();
}

int record_started(struct record *r)
{
	return record_set(r, "started", utc_now());
}

void record_free(struct record *r)
{
	while (r->read.given) {
		struct given *g = r->read.given;

		r->read.given = g->next;
		iso_array_free(&g->array);
		iso_events_free(&g->events);
		iso_strip_events_free(&g->strips);
		free(g);
	}
	record_hash_forget(r);
	json_decref(r->root);
	*r = (struct record){ 0 };
}

int record_set(struct record *r, const char *key, json_t *value)
{
	return json_object_set_new(r->root, key, value) ? no_memory() : ISO_OK;
}

int record_result(struct record *r, const char *key, json_t *value)
{
	return json_object_set_new(json_object_get(r->root, "results"), key, value) ? no_memory() : ISO_OK;
}

/* ---- hashes of what was read ---- */

struct known_hash {
	struct known_hash *next;
	struct iso_hash hash;
};

void record_hashed(struct record *r, const struct iso_hash *h)
{
	struct known_hash *k = h->path[0] ? size_alloc(1, sizeof *k) : NULL;

	if (!k) return;
	*k = (struct known_hash){ r->read.known, *h };
	r->read.known = k;
}

bool record_hash_known(struct record *r, struct iso_hash *h, const char *path)
{
	struct known_hash **at = &r->read.known, *k;

	while (*at && path && strcmp((*at)->hash.path, path) != 0) at = &(*at)->next;
	if (!(k = *at)) return false;
	*h = k->hash;
	*at = k->next;
	free(k);
	return true;
}

void record_hash_forget(struct record *r)
{
	for (struct iso_hash h; record_hash_known(r, &h, NULL);)
		;
}

/* ---- stages and warnings ---- */

void record_stage(struct record *r, const char *name)
{
	json_t *times = json_object_get(r->root, "times_s");
	double now = iso_now_s();

	if (r->stage) {
		double sum = json_real_value(json_object_get(times, r->stage));
		double ms = round(1e3 * (sum + now - r->stage_began_s));

		json_object_set_new(times, r->stage, record_real(ms / 1e3));
	}
	if (name && (!r->stage || strcmp(name, r->stage) != 0)) record_tell(r, ISO_DETAIL, "stage: %s", name);
	if (name && r->to.staged) r->to.staged(r->to.arg, name);
	r->stage = name;
	r->stage_began_s = now;
}

/* Into a list of the record; NULL: into none. */
static void tell(struct record *r, enum iso_message_kind kind, const char *list, const char *fmt, va_list ap)
{
	char text[512];

	iso_vsnprintf(text, sizeof text, fmt, ap);
	iso_utf8_clean(text);
	if (r->to.message) r->to.message(r->to.arg, kind, text);
	if (!list) return;
	json_array_append_new(json_object_get(r->root, list), record_string(text));
	iso_live_warning(r->to.live, text);
}

void record_tell(struct record *r, enum iso_message_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(r, kind, kind == ISO_WARNING ? "warnings" : NULL, fmt, ap);
	va_end(ap);
}

void record_warn_share(struct record *r, double part, double whole, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(r, ISO_WARNING, part < RECORD_SMALL * whole ? "notes" : "warnings", fmt, ap);
	va_end(ap);
}

void record_part(struct record *r, const char *kind, int64_t k, int64_t n)
{
	if (r->to.part) r->to.part(r->to.arg, kind, k, n);
	iso_live_part(r->to.live, kind, k, n);
}

/* ---- out ---- */

/* Digits of real numbers: 15 read better (0.1, not 0.10000000000000001), 17 where a parameter
   would not come back the same. */
static int digits(const struct record *r)
{
	json_t *parameters = json_object_get(r->root, "parameters");
	char *text = iso_json_text(parameters, JSON_REAL_PRECISION(15));
	json_t *back = NULL;
	int n = text && !iso_json_parse(&back, "parameters", text, strlen(text)) &&
	                        json_equal(parameters, back)
	                ? 15
	                : 17;

	json_decref(back);
	free(text);
	return n;
}

int64_t record_peak_bytes(void)
{
	struct rusage use = { 0 };

	getrusage(RUSAGE_SELF, &use); /* ru_maxrss is in KiB */
	return (int64_t)use.ru_maxrss * 1024;
}

int record_text(struct record *r, char **text)
{
	size_t size;
	int st;

	record_stage(r, r->stage); /* what it took so far; it goes on */
	st = record_set(r, "peak_memory_bytes", json_integer(record_peak_bytes()));
	if (st) return st;
	char *json = iso_json_text(r->root, JSON_INDENT(2) | JSON_REAL_PRECISION(digits(r)));
	char *line = json ? realloc(json, (size = strlen(json)) + 2) : NULL;

	/* a value that could not be made is missing in the text, and no call may have said so */
	if (!line || iso_json_failures() > r->failures) {
		free(line ? line : json);
		return no_memory();
	}
	memcpy(line + size, "\n", 2);
	*text = line;
	return ISO_OK;
}
