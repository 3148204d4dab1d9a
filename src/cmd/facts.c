/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of a struct as JSON and as text, by a table. */
#include "facts.h"

#include "problem/record.h"

#include <stdio.h>

static json_t *integers(const struct fact *f, const void *v)
{
	size_t each = f->type == FACT_INTS ? sizeof(int) : sizeof(int64_t);
	json_t *list = json_array();

	for (size_t i = 0; i < f->size / each; i++)
		json_array_append_new(list, json_integer(f->type == FACT_INTS ? ((const int *)v)[i]
		                                                              : ((const int64_t *)v)[i]));
	return list;
}

static json_t *reals(const struct fact *f, const double *v)
{
	if (f->type == FACT_RANGE && !(v[0] <= v[1])) return json_null();
	return record_reals((int)(f->size / sizeof *v), v);
}

static json_t *text(const char *v)
{
	return v && *v ? record_string(v) : json_null();
}

static json_t *value(const struct fact *f, const void *v)
{
	switch (f->type) {
	case FACT_REAL:
		return record_real(*(const double *)v);
	case FACT_POSITIVE:
		return *(const double *)v > 0 ? record_real(*(const double *)v) : json_null();
	case FACT_INT:
		return json_integer(*(const int *)v);
	case FACT_INT64:
		return json_integer(*(const int64_t *)v);
	case FACT_BOOL:
		return json_boolean(*(const bool *)v);
	case FACT_TEXT:
		return text(*(const char *const *)v);
	case FACT_CHARS:
		return text(v);
	case FACT_INTS:
	case FACT_INT64S:
		return integers(f, v);
	case FACT_OBJECT:
		return facts_json(f->inside, v);
	default:
		return reals(f, v);
	}
}

static const void *field(const struct fact *f, const void *v)
{
	return (const char *)v + f->at;
}

void facts_set(json_t *o, const struct fact *f, const void *v)
{
	for (; f->key || f->title; f++)
		if (f->key) json_object_set_new(o, f->key, value(f, field(f, v)));
}

json_t *facts_json(const struct fact *f, const void *v)
{
	json_t *o = json_object();

	facts_set(o, f, v);
	return o;
}

json_t *facts_list(const struct fact *f, const void *v, int64_t n, size_t stride)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < n; i++)
		json_array_append_new(list, facts_json(f, (const char *)v + (size_t)i * stride));
	return list;
}

/* ---- text ---- */

static void print_value(const struct fact *f, const void *v)
{
	switch (f->type) {
	case FACT_REAL:
		printf("%*.*g", f->width, f->digits, *(const double *)v);
		break;
	case FACT_INT:
		printf("%*d", f->width, *(const int *)v);
		break;
	case FACT_INT64:
		printf("%*" PRId64, f->width, *(const int64_t *)v);
		break;
	case FACT_TEXT:
		printf("%*s", f->width, *(const char *const *)v);
		break;
	default:
		printf("%*s", f->width, (const char *)v);
	}
}

/* One row, or the titles if v is NULL. */
static void print_row(const struct fact *f, const void *v)
{
	for (const char *gap = ""; f->key || f->title; f++) {
		if (!f->title) continue;
		fputs(gap, stdout);
		if (v)
			print_value(f, field(f, v));
		else
			printf("%*s", f->width, f->title);
		gap = " ";
	}
	putchar('\n');
}

void facts_table(const struct fact *f, const void *v, int64_t n, size_t stride)
{
	print_row(f, NULL);
	for (int64_t i = 0; i < n; i++) print_row(f, (const char *)v + (size_t)i * stride);
}

void facts_lines(const struct fact *f, const void *v, int width)
{
	for (; f->key || f->title; f++) {
		printf("%-*s", width, f->title);
		print_value(f, field(f, v));
		putchar('\n');
	}
}
