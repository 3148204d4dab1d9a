/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of parameters: an entry found, its value from text and back, all of them in a record. */
#include "param.h"

#include "file/suffix.h"
#include "problem/record/record.h"
#include "text/nearest.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXACT 9007199254740992. /* 2^53: below, every integer is a double */

enum { MAX_NAMES = 128, MAX_NUMBERS = 8 /* in a list */ };

/* ---- entries ---- */

struct opt *opt_at(const struct opt_set *sets, int k)
{
	for (; sets->opts; sets++)
		for (struct opt *o = sets->opts; o->name; o++)
			if (k-- == 0) return o;

	return NULL;
}

struct opt *opt_find(const struct opt_set *sets, const char *name)
{
	struct opt *o;

	for (int k = 0; (o = opt_at(sets, k)); k++)
		if (strcmp(o->name, name) == 0) return o;

	return NULL;
}

const char *opt_nearest(const struct opt_set *sets, const char *name, bool (*among)(const struct opt *))
{
	const char *known[MAX_NAMES];
	const struct opt *o;
	int n = 0;

	for (int k = 0; (o = opt_at(sets, k)) && n < MAX_NAMES; k++)
		if (!among || among(o)) known[n++] = o->name;
	return iso_nearest(name, n, known);
}

int opt_place(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0) return i;

	return -1;
}

static int count_of(const struct opt *o)
{
	return o->count ? o->count : 1;
}

/* ---- a value from text ---- */

/* Also 1e6. */
static bool parse_integer(int64_t *v, const char *text)
{
	double real;
	char *end;

	if (!iso_number(&real, text, strlen(text))) return false;
	errno = 0;
	*v = strtoll(text, &end, 10);
	if (*end == '\0') return errno == 0;
	*v = fabs(real) < EXACT ? (int64_t)real : 0;
	return fabs(real) < EXACT && (double)*v == real;
}

/* How many numbers the comma separated text holds, -1 if one of them is none, or there are too many. A list whose name
   has colons may have them too. */
static int parse_list(const struct opt *o, const char *text)
{
	const char *between = o->value && strchr(o->value, ':') ? ",:" : ",";
	char one[64];

	for (int n = 0; n < count_of(o); n++) {
		size_t length = strcspn(text, between);

		if (length >= sizeof one) return -1;
		memcpy(one, text, length);
		one[length] = '\0';
		if (!(o->real ? iso_number(o->real + n, one, length) : parse_integer(o->integer + n, one)))
			return -1;
		if (text[length] == '\0') return n + 1;
		text += length + 1;
	}
	return -1;
}

/* The fewest numbers of a list: what stands in brackets in its name may be left out. */
static int least_of(const struct opt *o)
{
	const char *rest = o->value ? strchr(o->value, '[') : NULL;
	int n = 1;

	for (const char *c = o->value; rest && c < rest; c++) n += *c == ',' || *c == ':';
	return rest ? n : o->count;
}

static int parse_numbers(const struct opt *o, const char *text)
{
	const char *what = o->real ? "number" : "integer";
	int n = parse_list(o, text);

	for (int i = 1; n == 1 && o->spread && i < o->count; i++) {
		if (o->real) o->real[i] = o->real[0];
		if (o->integer) o->integer[i] = o->integer[0];
	}
	if (o->count && least_of(o) < o->count && n < least_of(o))
		return iso_fail(ISO_EARG, "is '%s', must be %d to %d %ss %s", text, least_of(o), o->count,
		                what, o->value);
	if (o->count && n < least_of(o) && !(n == 1 && o->spread))
		return iso_fail(ISO_EARG, "is '%s', must be %d %ss %s", text, o->count, what, o->value);
	if (n < 1) return iso_fail(ISO_EARG, "is '%s', must be %s %s", text, o->real ? "a" : "an", what);
	return ISO_OK;
}

static int check_range(const struct opt *o, double v)
{
	if (!(o->min < o->max) || (v >= o->min && v <= o->max)) return ISO_OK;
	if (isinf(o->max)) return iso_fail(ISO_EARG, "is %.15g, must be at least %.15g", v, o->min);
	if (isinf(o->min)) return iso_fail(ISO_EARG, "is %.15g, must be at most %.15g", v, o->max);
	return iso_fail(ISO_EARG, "is %.15g, must be between %.15g and %.15g", v, o->min, o->max);
}

static int check_word(const struct opt *o, const char *text)
{
	char all[256] = "";
	int n = 0;

	for (; o->words[n]; n++) {
		size_t used = strlen(all);

		if (strcmp(o->words[n], text) == 0) return ISO_OK;
		snprintf(all + used, sizeof all - used, "%s%s", n ? ", " : "", o->words[n]);
	}
	const char *near = iso_nearest(text, n, o->words);

	if (near) return iso_fail(ISO_EARG, "is '%s'; did you mean '%s'? (one of %s)", text, near, all);
	return iso_fail(ISO_EARG, "is '%s', must be one of %s", text, all);
}

/* Every number in its range, a text one of its words. */
static int check_value(const struct opt *o)
{
	int st = o->text && o->words && *o->text ? check_word(o, *o->text) : ISO_OK;

	for (int i = 0; (o->real || o->integer) && i < count_of(o) && !st; i++)
		st = check_range(o, o->real ? o->real[i] : (double)o->integer[i]);
	return st;
}

int opt_value_parse(const struct opt *o, const char *text)
{
	int st = ISO_OK;

	if (text[0] == '\0') return iso_fail(ISO_EARG, "is empty, must be %s", o->value);
	if (o->text)
		*o->text = text;
	else
		st = parse_numbers(o, text);
	return st ? st : check_value(o);
}

static int take_flag(const struct opt *o, const char *text)
{
	bool on = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

	if (!on && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
		return iso_fail(ISO_EARG, "is '%s', must be true or false", text);
	*o->flag = on;
	return ISO_OK;
}

/* Whether `text` can only be the name of a file; "-" is standard input. */
static bool names_file(const struct opt *o, const char *text)
{
	return strcmp(text, "-") != 0 && !o->or_number && !(o->or_word && strcmp(o->or_word, text) == 0);
}

const char *opt_next_file(char path[PATH_MAX], const char *list)
{
	size_t n = access(list, F_OK) == 0 ? strlen(list) : strcspn(list, ",");

	snprintf(path, PATH_MAX, "%.*s", (int)n, list);
	return list[n] ? list + n + 1 : NULL;
}

static int check_readable(const char *path)
{
	char file[PATH_MAX];
	const bool readable = access(iso_without_variable(file, path), R_OK) == 0;

	return readable ? ISO_OK : iso_fail(ISO_EINPUT, "%s: %s", path, strerror(errno));
}

static int check_list(const char *list)
{
	char path[PATH_MAX];
	int st = ISO_OK;

	while (list && !st) {
		list = opt_next_file(path, list);
		if (strcmp(path, "-") != 0) st = check_readable(path);
	}
	return st;
}

int opt_check_file(const struct opt *o, const char *text)
{
	char path[PATH_MAX];

	if (text && o->file == OPT_LIST) return check_list(text);
	if (!text || (o->file != OPT_READS && o->file != OPT_FIRST) || !names_file(o, text)) return ISO_OK;
	snprintf(path, sizeof path, "%.*s", (int)(o->file == OPT_FIRST ? strcspn(text, ",") : strlen(text)),
	         text);
	return check_readable(path);
}

int opt_take(struct opt *o, const char *text)
{
	void *place = o->text ? (void *)o->text : o->real ? (void *)o->real : o->integer;
	size_t bytes = o->text ? sizeof *o->text : (size_t)count_of(o) * sizeof(int64_t);
	char before[MAX_NUMBERS * sizeof(int64_t)];
	int st;

	_Static_assert(sizeof(double) == sizeof(int64_t), "one size for both");
	assert(bytes <= sizeof before);
	if (place) memcpy(before, place, bytes);
	if ((st = o->flag ? take_flag(o, text) : opt_value_parse(o, text))) {
		if (place) memcpy(place, before, bytes);
		return st;
	}
	o->given = true;
	o->lone = o->spread && !strchr(text, ',');
	return ISO_OK;
}

void opt_value_text(char *text, size_t size, const struct opt *o)
{
	text[0] = '\0';
	if (o->absent && !o->given) return;
	if (o->flag) snprintf(text, size, "%s", *o->flag ? "true" : "false");
	if (o->text) snprintf(text, size, "%s", *o->text ? *o->text : "");
	for (int i = 0; i < count_of(o) && (o->real || o->integer); i++) {
		size_t used = strlen(text);
		const char *comma = i ? "," : "";

		if (o->real)
			iso_snprintf(text + used, size - used, "%s%.15g", comma, o->real[i]);
		else
			snprintf(text + used, size - used, "%s%" PRId64, comma, o->integer[i]);
	}
}

/* ---- parameters of a record ---- */

static bool in_record(const struct opt *o)
{
	return !o->transient && !o->rest;
}

static json_t *number(const struct opt *o, int i)
{
	return o->real ? record_real(o->real[i]) : json_integer(o->integer[i]);
}

static json_t *value(const struct opt *o)
{
	json_t *list;

	if (o->absent && !o->given) return json_null();
	if (o->flag) return json_boolean(*o->flag);
	if (o->text) return *o->text ? record_string(*o->text) : json_null();
	if (!o->count) return number(o, 0);
	list = json_array();
	for (int i = 0; i < o->count; i++)
		if (json_array_append_new(list, number(o, i))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

json_t *opt_to_json(const struct opt_set *sets)
{
	json_t *all = json_object();
	const struct opt *o;

	for (int k = 0; (o = opt_at(sets, k)); k++)
		if (in_record(o) && json_object_set_new(all, o->name, value(o))) {
			json_decref(all);
			return NULL;
		}

	return all;
}

static bool set_number(const struct opt *o, int i, const json_t *v)
{
	bool fits = o->real ? json_is_number(v) : json_is_integer(v);

	if (fits && o->real) o->real[i] = json_number_value(v);
	if (fits && o->integer) o->integer[i] = json_integer_value(v);
	return fits;
}

static bool set_value(const struct opt *o, const json_t *v)
{
	bool fits = o->flag   ? json_is_boolean(v)
	            : o->text ? json_is_string(v)
	                      : !o->count || json_array_size(v) == (size_t)o->count;

	if (fits && o->flag) *o->flag = json_is_true(v);
	if (fits && o->text) *o->text = json_string_value(v);
	for (int i = 0; fits && (o->real || o->integer) && i < count_of(o); i++)
		fits = set_number(o, i, o->count ? json_array_get(v, (size_t)i) : v);
	return fits;
}

static int take(struct opt *o, const json_t *v, const char *file)
{
	char kind[64];

	if (json_is_null(v)) return ISO_OK; /* it was not given there either */
	if (!set_value(o, v)) {
		snprintf(kind, sizeof kind, "a list of %d %ss", o->count, o->real ? "number" : "integer");
		return iso_fail(ISO_EINPUT, "%s: parameter '%s' must be %s", file, o->name,
		                o->flag    ? "true or false"
		                : o->text  ? "a text"
		                : o->count ? kind
		                : o->real  ? "a number"
		                           : "an integer");
	}
	if (check_value(o))
		return iso_fail(ISO_EINPUT, "%s: parameter '%s' %s", file, o->name, iso_message());
	o->given = true;
	return ISO_OK;
}

static int unknown(const struct opt_set *sets, const char *key, const char *file)
{
	const char *near = opt_nearest(sets, key, in_record);

	if (opt_find(sets, key))
		return iso_fail(ISO_EINPUT,
		                "%s: parameter '%s' is never taken from a record; give it with the command",
		                file, key);
	return iso_fail(ISO_EINPUT, "%s: unknown parameter '%s'%s%s%s", file, key,
	                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* By its own name or by another that has the same place. */
static bool is_given(const struct opt_set *sets, const struct opt *of)
{
	const struct opt *o;

	for (int k = 0; of->text && (o = opt_at(sets, k)); k++)
		if (o->text == of->text && o->given) return true;
	return of->given;
}

/* The name of a parameter that records of 0.1 have by another. */
static const char *name_now(const char *key)
{
	return strcmp(key, "live") == 0 ? "live-share" : key;
}

int opt_from_json(const struct opt_set *sets, const json_t *parameters, const char *file)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)parameters, key, v) {
		struct opt *o = opt_find(sets, name_now(key));
		bool output = o && (o->file == OPT_WRITES || o->file == OPT_PLACE);
		int st = ISO_OK;

		if (strcmp(key, "deterministic") == 0) continue; /* of 0.2 and before; it does nothing */
		if (!o || !in_record(o))
			st = unknown(sets, key, file);
		else if (!is_given(sets, o) && !output)
			st = take(o, v, file);
		if (st) return st;
	}
	return ISO_OK;
}
