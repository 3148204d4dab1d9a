/* SPDX-License-Identifier: BSD-3-Clause */
/* One value of an option: from text, and its checks. */
#include "param.h"

#include "text/nearest.h"
#include "base/number.h"
#include "core/status.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT 9007199254740992. /* 2^53: below, every integer is a double */

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

static bool parse_number(const struct opt *o, int i, const char *text)
{
	return o->real ? iso_number(o->real + i, text, strlen(text)) : parse_integer(o->integer + i, text);
}

static void spread(const struct opt *o)
{
	for (int i = 1; i < o->count; i++) {
		if (o->real)
			o->real[i] = o->real[0];
		else
			o->integer[i] = o->integer[0];
	}
}

/* How many numbers the comma separated text holds, -1 if one of them is none; fills the first
   `count`. */
static int parse_list(const struct opt *o, const char *text)
{
	int count = o->count ? o->count : 1, n = 0;
	char one[64];

	for (;; n++) {
		size_t length = strcspn(text, ",");

		if (n == count || length >= sizeof one) return -1;
		memcpy(one, text, length);
		one[length] = '\0';
		if (!parse_number(o, n, one)) return -1;
		if (text[length] == '\0') return n + 1;
		text += length + 1;
	}
}

static int parse_numbers(const struct opt *o, const char *text)
{
	const char *what = o->real ? "number" : "integer";
	int n = parse_list(o, text);

	if (n == 1 && o->spread)
		spread(o);
	else if (o->count && n != o->count)
		return iso_fail(ISO_EARG, "is '%s', must be %d %ss %s", text, o->count, what, o->value);
	else if (n < 1)
		return iso_fail(ISO_EARG, "is '%s', must be %s %s", text, o->real ? "a" : "an", what);
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

int opt_value_check(const struct opt *o)
{
	int count = o->count ? o->count : 1, st = ISO_OK;

	if (o->text) return o->words && *o->text ? check_word(o, *o->text) : ISO_OK;
	for (int i = 0; i < count && !st; i++) {
		if (o->real)
			st = check_range(o, o->real[i]);
		else if (o->integer)
			st = check_range(o, (double)o->integer[i]);
	}
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

	return st ? st : opt_value_check(o);
}

static int take_flag(const struct opt *o, const char *text)
{
	bool on = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

	if (!on && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
		return iso_fail(ISO_EARG, "is '%s', must be true or false", text);
	*o->flag = on;
	return ISO_OK;
}

enum { MOST = 8 }; /* numbers in a list */

int opt_take(struct opt *o, const char *text)
{
	size_t count = o->count ? (size_t)o->count : 1;
	const char *before_text = o->text ? *o->text : NULL;
	double before_real[MOST];
	int64_t before_integer[MOST];
	int st;

	assert(count <= MOST);
	if (o->real) memcpy(before_real, o->real, count * sizeof *o->real);
	if (o->integer) memcpy(before_integer, o->integer, count * sizeof *o->integer);
	if ((st = o->flag ? take_flag(o, text) : opt_value_parse(o, text))) {
		if (o->text) *o->text = before_text;
		if (o->real) memcpy(o->real, before_real, count * sizeof *o->real);
		if (o->integer) memcpy(o->integer, before_integer, count * sizeof *o->integer);
		return st;
	}
	o->given = true;
	o->lone = o->spread && !strchr(text, ',');
	return ISO_OK;
}

void opt_value_text(char *text, size_t size, const struct opt *o)
{
	int count = o->count ? o->count : 1;

	text[0] = '\0';
	if (o->absent && !o->given) return;
	if (o->flag) snprintf(text, size, "%s", *o->flag ? "true" : "false");
	if (o->text) snprintf(text, size, "%s", *o->text ? *o->text : "");
	for (int i = 0; i < count && (o->real || o->integer); i++) {
		size_t used = strlen(text);
		const char *comma = i ? "," : "";

		if (o->real)
			iso_snprintf(text + used, size - used, "%s%.15g", comma, o->real[i]);
		else
			snprintf(text + used, size - used, "%s%" PRId64, comma, o->integer[i]);
	}
}
