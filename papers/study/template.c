/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages from templates: HTML with tags in the manner of Mustache.

     {{path}}           a value, escaped; a dash for null and for what is not there
     {{path|format}}    a number by printf's format; "-%.2f" has a true minus sign, "1/%.2f" is its
                        reciprocal. Or by name: time (12.3 ms), seconds (12.3 s), count (12 345 678),
                        short (1.5e6), ratio (x 2.5)
     {{path*100|%.1f}}  a number times a whole one
     {{{path}}}         HTML as it is
     {{#path}} {{/}}    once for each element of a list; once for any other value but null and false
     {{^path}} {{/}}    if there is none

   A path names keys of objects and numbers of elements, a.b.2; "." is the element at hand. The first
   name is looked for in the element at hand, then outwards. */
#include "study.h"

#include "report/markup/value.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TAG 400 /* bytes */

struct scope {
	const json_t *value;
	const struct scope *outer;
};

/* ---- values ---- */

/* A name of digits belongs to a list, any other to an object. */
static const json_t *member(const json_t *v, const char *name)
{
	return isdigit((unsigned char)name[0]) ? json_array_get(v, (size_t)strtoul(name, NULL, 10))
	                                       : json_object_get(v, name);
}

static const json_t *find(const struct scope *s, const char *path)
{
	char text[MOST_TAG], *rest = NULL, *name;
	const json_t *v;

	if (strcmp(path, ".") == 0) return s->value;
	snprintf(text, sizeof text, "%s", path);
	name = strtok_r(text, ".", &rest);
	while (s && !member(s->value, name)) s = s->outer;
	for (v = s ? s->value : NULL; v && name; name = strtok_r(NULL, ".", &rest)) v = member(v, name);
	return v;
}

const char *study_short(double v)
{
	const char *text = study_text("%.3g", v), *e = strstr(text, "e+");

	return e ? study_text("%.*se%s", (int)(e - text), text, e + 2 + strspn(e + 2, "0")) : text;
}

static void put_number(struct iso_text *t, double v, const char *format)
{
	if (strcmp(format, "time") == 0 && v < 1)
		iso_text_add(t, "%.3g\u202fms", 1e3 * v);
	else if (strcmp(format, "time") == 0)
		iso_text_add(t, v < 1000 ? "%.3g\u202fs" : "%.0f\u202fs", v);
	else if (strcmp(format, "seconds") == 0)
		iso_text_add(t, v < 10 ? "%.3g\u202fs" : "%.1f\u202fs", v);
	else if (strcmp(format, "count") == 0)
		iso_value_count(t, v);
	else if (strcmp(format, "short") == 0)
		iso_text_add(t, "%s", study_short(v));
	else if (strcmp(format, "ratio") == 0)
		iso_text_add(t, v < 9.95 ? "\u00d7%.1f" : "\u00d7%.0f", v);
	else if (format[0] == '-') {
		if (v < 0) iso_text_add(t, "\u2212");
		iso_text_add(t, format + 1, fabs(v));
	} else
		iso_text_add(t, format, v);
}

/* path [*factor] [|format] */
static void put_value(struct iso_text *t, const struct scope *s, char *tag)
{
	char *format = strchr(tag, '|'), *factor;

	if (format) *format++ = 0;
	if ((factor = strchr(tag, '*'))) *factor++ = 0;
	const json_t *v = find(s, tag);
	double number = json_number_value(v) * (factor ? (double)strtol(factor, NULL, 10) : 1);

	if (format && strncmp(format, "1/", 2) == 0) {
		number = 1 / number;
		format += 2;
	}
	if (json_is_string(v))
		iso_text_escaped(t, json_string_value(v));
	else if (json_is_number(v) && isfinite(number))
		put_number(t, number, format ? format : "%g");
	else
		iso_text_add(t, "\u2013");
}

/* ---- the text ---- */

static const char *put(struct iso_text *t, const char *text, const struct scope *s, bool shown);

/* A section from behind its tag; where its end tag ends. Not shown, it is only gone through. */
static const char *put_section(struct iso_text *t, const char *body, const struct scope *s, const char *tag,
                               bool shown)
{
	const json_t *v = shown ? find(s, tag + 1) : NULL;
	bool there = v && !json_is_null(v) && !json_is_false(v);
	struct scope inner = { v, s };
	const char *end = put(t, body, s, shown && tag[0] == '^' && !there);
	size_t i;

	if (tag[0] == '^' || !there) return end;
	if (!json_is_array(v)) return put(t, body, &inner, true);
	json_array_foreach ((json_t *)v, i, inner.value) put(t, body, &inner, true);
	return end;
}

/* Up to the end, or behind the end tag of the section that the text stands in. */
static const char *put(struct iso_text *t, const char *text, const struct scope *s, bool shown)
{
	for (;;) {
		const char *open = strstr(text, "{{"), *close, *html;
		char tag[MOST_TAG];

		if (shown) iso_text_add(t, "%.*s", open ? (int)(open - text) : (int)strlen(text), text);
		if (!open) return text + strlen(text);
		close = strstr(open, "}}");
		assert(close && close - open - 2 < MOST_TAG);
		snprintf(tag, sizeof tag, "%.*s", (int)(close - open - 2), open + 2);
		text = close + (tag[0] == '{' ? 3 : 2);
		if (tag[0] == '/') return text;
		if (tag[0] == '#' || tag[0] == '^')
			text = put_section(t, text, s, tag, shown);
		else if (shown && tag[0] != '{')
			put_value(t, s, tag);
		else if (shown && (html = json_string_value(find(s, tag + 1))))
			iso_text_add(t, "%s", html);
	}
}

void template_put(struct iso_text *t, const char *template, const json_t *inner, const json_t *outer)
{
	const struct scope last = { outer, NULL }, first = { inner, &last };

	put(t, template, &first, true);
}
