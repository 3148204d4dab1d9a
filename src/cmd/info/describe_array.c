/* SPDX-License-Identifier: BSD-3-Clause */
/* What an array or image holds: shape, grid, unit, statistics. */
#include "describe.h"

#include "cmd/cmd.h"
#include "file/suffix.h"
#include "io/ecat.h"
#include "io/format.h"
#include "io/volume.h"
#include "problem/inputs.h"

#include <math.h>

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
	struct iso_array_stats s = { .size = sizeof s };

	if (iso_array_stats(&s, a)) return;
	facts_set(o, values, &s);
	if (a->n == 0) facts_warn(o, "no values");
	if (s.nan + s.infinite > 0)
		facts_warn(o, "%" PRId64 " values are NaN or infinite", s.nan + s.infinite);
	if (s.negative > 0) facts_warn(o, "%" PRId64 " values are negative", s.negative);
	if (a->n > 0 && s.zero == a->n) facts_warn(o, "all values are 0");
}

/* Whether a row has two ends, from 1 cm to 100 m apart. */
static bool has_length(const iso_real *v)
{
	double d = hypot(hypot((double)v[3] - v[0], (double)v[4] - v[1]), (double)v[5] - v[2]);

	return d >= 10 && d <= 1e5;
}

static bool has_crystals(const iso_real *v, const iso_scanner *s)
{
	double n = (double)iso_scanner_crystals(s);

	return v[0] == floor(v[0]) && v[1] == floor(v[1]) && v[0] >= 0 && v[1] >= 0 && v[0] < n && v[1] < n;
}

/* Rows of which nine in ten can be events: those of the widths that the reader of events knows. Numbers of crystals
   tell nothing without a scanner. */
static bool are_events(const struct iso_array *a, const char *path, const iso_scanner *s)
{
	int64_t columns = a->n_dim == 2 ? a->dim[1] : 0, good = 0;
	bool ends = columns >= 6 && columns <= 8, crystals = columns >= 2 && columns <= 4 && s;

	if (a->pairs || !iso_has_suffix(path, ".npy") || !(ends || crystals)) return false;
	for (int64_t i = 0; i < a->dim[0]; i++) {
		const iso_real *row = a->v + i * columns;

		good += ends ? has_length(row) : has_crystals(row, s);
	}
	return (double)good >= .9 * (double)a->dim[0];
}

/* Three columns may be strip events: under "as_strip_events" if they can. */
static int describe_triples(json_t *o, const char *path)
{
	json_t *strips = json_object();
	int st = strip_describe(strips, path);

	json_object_del(strips, "kind");
	if (!st) json_object_set(o, "as_strip_events", strips);
	json_decref(strips);
	return st == ISO_ENOMEM ? st : ISO_OK;
}

/* Times of frames, and how the patient lies, of an ECAT 7 image. */
static int describe_ecat(json_t *o, const char *path)
{
	struct iso_ecat e = { 0 };
	int st = iso_ecat_info(&e, path);

	if (st) return st;
	set(o, "frame_start_s", record_reals((int)e.frames, e.start_s));
	set(o, "frame_duration_s", record_reals((int)e.frames, e.duration_s));
	set(o, "patient", json_string(e.patient));
	if (!e.patient_said)
		facts_warn(o, "the file does not say how the patient lies; head first, supine is assumed");
	iso_ecat_info_free(&e);
	return ISO_OK;
}

int describe_array(json_t *o, const char *path, const struct iso_events_options *how)
{
	struct iso_array a = { 0 };
	json_t *shape = json_array();
	double tilt = 0;
	int st = record_read(NULL, &a, path, ISO_ANY | ISO_PAIRS | ISO_OBLIQUE);
	bool events = st ? st == ISO_EINPUT && iso_has_suffix(path, ".npy")
	                 : are_events(&a, path, how ? how->scanner : NULL);

	if (events) { /* what can't be read as an array may be records */
		json_decref(shape);
		iso_array_free(&a);
		return describe_events(o, path, how);
	}
	for (int i = 0; i < a.n_dim; i++) json_array_append_new(shape, json_integer(a.dim[i]));
	if (!st && a.has_grid) st = iso_image_tilt(&tilt, path);
	set(o, "kind",
	    json_string(tilt > 0     ? "oblique image"
	                : a.has_grid ? "image"
	                : a.pairs    ? "array of complex pairs"
	                             : "array"));
	set(o, "shape", shape);
	if (!st && tilt > 0)
		st = describe_oblique(o, path);
	else if (a.has_grid)
		facts_grid(o, &a.grid);
	else
		facts_warn(o, "no grid: the file does not say where its values lie");
	set(o, "unit", a.unit[0] ? record_string(a.unit) : json_null());
	if (!a.unit[0]) facts_warn(o, "no unit");
	describe_values(o, &a);
	if (!st && iso_is_ecat(path)) st = describe_ecat(o, path);
	if (!st && !a.pairs && a.n_dim == 2 && a.dim[1] == 3 && iso_has_suffix(path, ".npy"))
		st = describe_triples(o, path);
	iso_array_free(&a);
	return st;
}
