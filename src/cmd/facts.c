/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of a struct as JSON and as text, by a table. */
#include "facts.h"

#include "cmd.h"

static json_t *integers(int n, const int *v)
{
	json_t *list = json_array();

	for (int i = 0; i < n; i++) json_array_append_new(list, json_integer(v[i]));
	return list;
}

static bool is_text(const struct fact *f)
{
	return f->type == FACT_TEXT || f->type == FACT_CHARS;
}

static const char *text(const struct fact *f, const void *v)
{
	return f->type == FACT_CHARS ? v : *(const char *const *)v;
}

static bool is_absent(const struct fact *f, const void *v)
{
	return f->type == FACT_REAL    ? !(*(const double *)v > 0)
	       : f->type == FACT_REALS ? !(((const double *)v)[0] <= ((const double *)v)[1])
	                               : *(const int *)v <= 0;
}

static json_t *value(const struct fact *f, const void *v)
{
	if (f->or_null && is_absent(f, v)) return json_null();
	switch (f->type) {
	case FACT_REAL:
		return record_real(*(const double *)v);
	case FACT_INT:
		return json_integer(*(const int *)v);
	case FACT_INT64:
		return json_integer(*(const int64_t *)v);
	case FACT_BOOL:
		return json_boolean(*(const bool *)v);
	case FACT_TEXT:
	case FACT_CHARS:
		return text(f, v) ? record_string(text(f, v)) : json_null();
	case FACT_REALS:
		return record_reals((int)(f->size / sizeof(double)), v);
	case FACT_ENUM:
		return json_string(f->words[*(const int *)v]);
	case FACT_OBJECT:
		return facts_json(f->inside, v);
	default:
		return integers((int)(f->size / sizeof(int)), v);
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

void facts_warn(json_t *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	json_array_append_new(json_object_get(o, "warnings"), json_vsprintf(fmt, ap));
	va_end(ap);
}

void facts_grid(json_t *o, const struct iso_grid *g)
{
	json_t *extent = json_object();

	for (int a = 0; a < 3; a++) {
		double half = .5 * (double)g->n[a] * g->voxel[a];
		const double ends[2] = { g->centre[a] - half, g->centre[a] + half };

		json_object_set_new(extent, (const char *[]){ "x", "y", "z" }[a],
		                    ends[0] <= ends[1] ? record_reals(2, ends) : json_null());
	}
	json_object_set_new(o, "grid", cmd_grid_json(g));
	json_object_set_new(o, "extent_mm", extent);
}

/* ---- text ---- */

static void print_value(const struct fact *f, const void *v)
{
	if (f->type == FACT_REAL)
		printf("%*.*g", f->width, f->digits, *(const double *)v);
	else if (is_text(f))
		printf("%*s", f->width, text(f, v));
	else
		printf("%*" PRId64, f->width, f->type == FACT_INT ? *(const int *)v : *(const int64_t *)v);
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
