/* SPDX-License-Identifier: BSD-3-Clause */
/* Options as the parameters of a record, and back. */
#include "param.h"

#include "core/status.h"
#include "record.h"

#include <stdio.h>

static bool in_record(const struct opt *o)
{
	return !o->transient && !o->rest;
}

static bool names_output(const struct opt *o)
{
	return o->file == OPT_WRITES || o->file == OPT_PLACE;
}

static json_t *number(const struct opt *o, int i)
{
	return o->real ? record_real(o->real[i]) : json_integer(o->integer[i]);
}

static json_t *numbers(const struct opt *o)
{
	json_t *list = json_array();

	for (int i = 0; i < o->count; i++)
		if (json_array_append_new(list, number(o, i))) {
			json_decref(list);
			return NULL;
		}

	return list;
}

static json_t *value(const struct opt *o)
{
	if (o->absent && !o->given) return json_null();
	if (o->flag) return json_boolean(*o->flag);
	if (o->text) return *o->text ? record_string(*o->text) : json_null();
	return o->count ? numbers(o) : number(o, 0);
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
	if (o->real && json_is_number(v))
		o->real[i] = json_number_value(v);
	else if (o->integer && json_is_integer(v))
		o->integer[i] = json_integer_value(v);
	else
		return false;
	return true;
}

static bool set_numbers(const struct opt *o, const json_t *v)
{
	if (!json_is_array(v) || json_array_size(v) != (size_t)o->count) return false;
	for (int i = 0; i < o->count; i++)
		if (!set_number(o, i, json_array_get(v, (size_t)i))) return false;

	return true;
}

static bool set_value(const struct opt *o, const json_t *v)
{
	if (o->flag && json_is_boolean(v))
		*o->flag = json_is_true(v);
	else if (o->text && json_is_string(v))
		*o->text = json_string_value(v);
	else if (o->real || o->integer)
		return o->count ? set_numbers(o, v) : set_number(o, 0, v);
	else
		return false;
	return true;
}

static const char *kind(const struct opt *o, char *text, size_t size)
{
	const char *one = o->real ? "a number" : "an integer";

	if (o->flag) return "true or false";
	if (o->text) return "a text";
	if (!o->count) return one;
	snprintf(text, size, "a list of %d %ss", o->count, o->real ? "number" : "integer");
	return text;
}

static int take(struct opt *o, const json_t *v, const char *file)
{
	char text[64];

	if (json_is_null(v)) /* it was not given there either */
		return ISO_OK;
	if (!set_value(o, v))
		return iso_fail(ISO_EINPUT, "%s: parameter '%s' must be %s", file, o->name,
		                kind(o, text, sizeof text));
	if (opt_value_check(o))
		return iso_fail(ISO_EINPUT, "%s: parameter '%s' %s", file, o->name, iso_message());
	o->given = true;
	return ISO_OK;
}

static int unknown(const struct opt_set *sets, const char *key, const char *file)
{
	const char *near = opt_nearest(sets, key, in_record);

	if (opt_find(sets, key))
		return iso_fail(ISO_EINPUT,
		                "%s: parameter '%s' is never taken from a record; give it with "
		                "the command",
		                file, key);
	if (near)
		return iso_fail(ISO_EINPUT, "%s: unknown parameter '%s'; did you mean '%s'?", file, key,
		                near);
	return iso_fail(ISO_EINPUT, "%s: unknown parameter '%s'", file, key);
}

int opt_from_json(const struct opt_set *sets, const json_t *parameters, const char *file)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)parameters, key, v) {
		struct opt *o = opt_find(sets, key);
		int st = ISO_OK;

		if (!o || !in_record(o))
			st = unknown(sets, key, file);
		else if (!o->given && !names_output(o))
			st = take(o, v, file);
		if (st) return st;
	}
	return ISO_OK;
}
