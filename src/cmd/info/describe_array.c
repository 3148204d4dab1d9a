/* SPDX-License-Identifier: BSD-3-Clause */
/* What an array or image holds: shape, grid, unit, statistics. */
#include "describe.h"

#include "cmd/cmd.h"

static const struct fact values[] = {
	FACT("min", struct iso_array_stats, min),
	FACT("max", struct iso_array_stats, max),
	FACT("mean", struct iso_array_stats, mean),
	FACT("sum", struct iso_array_stats, sum),
	FACT("nan", struct iso_array_stats, nan),
	FACT("infinite", struct iso_array_stats, infinite),
	FACT("negative", struct iso_array_stats, negative),
	FACT("zero", struct iso_array_stats, zero),
	{ 0 },
};

static void describe_values(json_t *o, const struct iso_array *a)
{
	struct iso_array_stats s;

	iso_array_stats(&s, a);
	facts_set(o, values, &s);
	if (a->n == 0) facts_warn(o, "no values");
	if (s.nan + s.infinite > 0)
		facts_warn(o, "%" PRId64 " values are NaN or infinite", s.nan + s.infinite);
	if (s.negative > 0) facts_warn(o, "%" PRId64 " values are negative", s.negative);
	if (a->n > 0 && s.zero == a->n) facts_warn(o, "all values are 0");
}

int describe_array(json_t *o, const char *path)
{
	struct iso_array a = { 0 };
	json_t *shape = json_array();
	int st = record_read(NULL, &a, path, ISO_ANY | ISO_PAIRS);

	for (int i = 0; i < a.n_dim; i++) json_array_append_new(shape, json_integer(a.dim[i]));
	set(o, "kind", json_string(a.has_grid ? "image" : a.pairs ? "array of complex pairs" : "array"));
	set(o, "shape", shape);
	if (a.has_grid)
		facts_grid(o, &a.grid);
	else
		facts_warn(o, "no grid: the file does not say where its values lie");
	set(o, "unit", a.unit[0] ? record_string(a.unit) : json_null());
	if (!a.unit[0]) facts_warn(o, "no unit");
	describe_values(o, &a);
	if (!st && !a.pairs && a.n_dim == 2 && (a.dim[1] == 6 || a.dim[1] == 7)) st = describe_rows(o, path);
	iso_array_free(&a);
	return st;
}
