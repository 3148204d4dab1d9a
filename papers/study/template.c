/* SPDX-License-Identifier: BSD-3-Clause */
/* Filling in templates. */
#include "template.h"

#include "report/value.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\u2013"
#define MOST_TAG 400 /* bytes */

struct scope {
	const json_t *value;
	const struct scope *outer;
};

/* ---- values ---- */

static const json_t *member(const json_t *v, const char *name)
{
	return json_is_array(v) ? json_array_get(v, (size_t)strtoul(name, NULL, 10))
	                        : json_object_get(v, name);
}

/* A name of digits belongs to a list, any other to an object. */
static bool may_have(const json_t *v, const char *name)
{
	return name[0] >= '0' && name[0] <= '9' ? json_is_array(v) : json_object_get(v, name) != NULL;
}

static const json_t *find(const struct scope *s, const char *path)
{
	char text[MOST_TAG], *rest = NULL, *name;
	const json_t *v;

	if (strcmp(path, ".") == 0) return s->value;
	snprintf(text, sizeof text, "%s", path);
	name = strtok_r(text, ".", &rest);
	while (s && !may_have(s->value, name)) s = s->outer;
	for (v = s ? s->value : NULL; v && name; name = strtok_r(NULL, ".", &rest)) v = member(v, name);
	return v;
}

static void put_time(struct iso_text *t, double s)
{
	if (s < 1)
		iso_text_add(t, "%.3g\u202fms", 1e3 * s);
	else
		iso_text_add(t, s < 1000 ? "%.3g\u202fs" : "%.0f\u202fs", s);
}

const char *template_short(char text[TEMPLATE_SHORT], double v)
{
	char *from, *to;

	snprintf(text, TEMPLATE_SHORT, "%.3g", v);
	if ((to = strstr(text, "e+"))) {
		for (from = to + 2; *from == '0'; from++)
			;
		memmove(to + 1, from, strlen(from) + 1);
	}
	return text;
}

static void put_number(struct iso_text *t, double v, const char *format)
{
	char text[TEMPLATE_SHORT];

	if (strcmp(format, "time") == 0)
		put_time(t, v);
	else if (strcmp(format, "seconds") == 0)
		iso_text_add(t, v < 10 ? "%.3g\u202fs" : "%.1f\u202fs", v);
	else if (strcmp(format, "count") == 0)
		iso_value_count(t, v);
	else if (strcmp(format, "short") == 0)
		iso_text_add(t, "%s", template_short(text, v));
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

	if (json_is_string(v))
		iso_text_escaped(t, json_string_value(v));
	else if (json_is_number(v))
		put_number(t, json_number_value(v) * (factor ? (double)strtol(factor, NULL, 10) : 1),
		           format ? format : "%g");
	else
		iso_text_add(t, DASH);
}

static void put_heads(struct iso_text *t, const char *heads)
{
	iso_text_add(t, "<div class='scroll'><table class='measured'>\n<thead><tr>");
	while (heads) {
		const char *end = strchr(heads, '|');

		iso_text_add(t, "<th scope='col'>%.*s</th>", end ? (int)(end - heads) : (int)strlen(heads),
		             heads);
		heads = end ? end + 1 : NULL;
	}
	iso_text_add(t, "</tr></thead>\n<tbody>\n");
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

	if (!shown || tag[0] == '^' || !there) return end;
	if (!json_is_array(v)) return put(t, body, &inner, true);
	json_array_foreach ((json_t *)v, i, inner.value) put(t, body, &inner, true);
	return end;
}

static void put_tag(struct iso_text *t, const struct scope *s, char *tag)
{
	const char *html = tag[0] == '{' ? json_string_value(find(s, tag + 1)) : NULL;

	if (tag[0] == '{')
		iso_text_add(t, "%s", html ? html : "");
	else if (strncmp(tag, "table|", 6) == 0)
		put_heads(t, tag + 6);
	else if (strcmp(tag, "end") == 0)
		iso_text_add(t, "</tbody></table></div>\n");
	else
		put_value(t, s, tag);
}

/* Up to the end, or behind the end tag of the section that the text stands in. */
static const char *put(struct iso_text *t, const char *text, const struct scope *s, bool shown)
{
	for (;;) {
		const char *open = strstr(text, "{{"), *close;
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
		else if (shown)
			put_tag(t, s, tag);
	}
}

void template_put(struct iso_text *t, const char *template, const json_t *inner, const json_t *outer)
{
	const struct scope last = { outer, NULL }, first = { inner, &last };

	put(t, template, &first, true);
}
