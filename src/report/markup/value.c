/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing numbers and values of records. */
#include "value.h"

#include <math.h>
#include <string.h>

#define MOST_TEXT 400    /* characters */
#define MOST_ELEMENTS 12 /* of a list or an object */
#define MOST_NESTED 3
#define THIN "\u202f" /* narrow space that does not break */

static void put(struct iso_text *t, const json_t *v, int nested)
{
	size_t n = json_array_size(v) + json_object_size(v), i = 0;
	const char *key;
	json_t *part;

	if (json_is_string(v))
		iso_text_cut(t, json_string_value(v), MOST_TEXT);
	else if (json_is_integer(v))
		iso_text_add(t, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_real(v))
		iso_text_add(t, "%.9g", json_real_value(v));
	else if (json_is_boolean(v))
		iso_text_add(t, json_is_true(v) ? "yes" : "no");
	else if (json_is_null(v))
		iso_text_add(t, "none");
	else if (v && nested >= MOST_NESTED)
		iso_text_add(t, "\u2026");
	if (nested >= MOST_NESTED) return;
	for (; i < json_array_size(v) && i < MOST_ELEMENTS; i++) {
		iso_text_add(t, "%s", i ? ", " : "");
		put(t, json_array_get(v, i), nested + 1);
	}
	json_object_foreach ((json_t *)v, key, part) {
		if (i == MOST_ELEMENTS) break;
		iso_text_add(t, "%s", i++ ? ", " : "");
		iso_text_cut(t, key, MOST_TEXT);
		iso_text_add(t, " ");
		put(t, part, nested + 1);
	}
	if (n > MOST_ELEMENTS) iso_text_add(t, ", \u2026 (%zu)", n);
}

void iso_value_put(struct iso_text *t, const json_t *v)
{
	put(t, v, 0);
}

void iso_value_in(struct iso_text *t, const char *before, const json_t *v, const char *after)
{
	iso_text_add(t, "%s", before);
	iso_value_put(t, v);
	iso_text_add(t, "%s", after);
}

double iso_value_number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

const char *iso_value_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

void iso_value_count(struct iso_text *t, double n)
{
	int64_t whole = n >= 0 && n <= 0x1p53 ? llround(n) : 0, unit = 1;

	while (unit <= whole / 1000) unit *= 1000;
	iso_text_add(t, "%" PRId64, whole / unit);
	for (unit /= 1000; unit > 0; unit /= 1000) iso_text_add(t, THIN "%03" PRId64, whole / unit % 1000);
}

void iso_value_time(struct iso_text *t, double seconds)
{
	int64_t whole = seconds < 1e12 ? llround(seconds) : 0;

	if (!(seconds >= 0) || seconds >= 1e12)
		iso_text_add(t, "\u2013");
	else if (seconds < 1)
		iso_text_add(t, "%.2g" THIN "s", seconds);
	else if (seconds < 59.95)
		iso_text_add(t, "%.1f" THIN "s", seconds);
	else if (whole < 3600)
		iso_text_add(t, "%d" THIN "min %02d" THIN "s", (int)(whole / 60), (int)(whole % 60));
	else
		iso_text_add(t, "%" PRId64 THIN "h %02d" THIN "min", whole / 3600, (int)(whole / 60 % 60));
}

const char *iso_value_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
