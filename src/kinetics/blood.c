/* SPDX-License-Identifier: BSD-3-Clause */
/* The input of kinetic models from samples of blood: PET-BIDS tables, or tables of two columns. */
#include "curve_table.h"

#include "core/size.h"
#include "core/sized.h"
#include "core/status.h"
#include "file/suffix.h"
#include "text/json_file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TIME "time"
#define PLASMA "plasma_radioactivity"
#define WHOLE "whole_blood_radioactivity"
#define FRACTION "metabolite_parent_fraction"

#define DIFFER .1 /* whole blood of two recordings: a warning */

/* What a file has; NULL where it has not. */
struct recording {
	iso_curve *plasma, *whole, *fraction, *plain;
};

struct reading {
	const struct iso_blood *by;
	struct recording of[2];
	int64_t negative;
	char *warning;
	size_t room;
};

static void forget(struct recording *r)
{
	iso_curve_free(r->plasma);
	iso_curve_free(r->whole);
	iso_curve_free(r->fraction);
	iso_curve_free(r->plain);
}

static void warn(struct reading *r, const char *text)
{
	size_t used = strlen(r->warning);

	snprintf(r->warning + used, r->room - used, "%s%s", used ? "; " : "", text);
}

/* ---- units ---- */

static bool unit_of(double *factor, const char *unit)
{
	static const struct {
		const char *name;
		double bq_per_ml;
	} units[] = {
		{ "Bq/mL", 1 }, { "kBq/mL", 1e3 }, { "MBq/mL", 1e6 }, { "nCi/mL", 37 }, { "uCi/mL", 37e3 }
	};

	for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
		if (iso_same_word(unit, units[i].name)) {
			*factor = units[i].bq_per_ml;
			return true;
		}
	return false;
}

static const char *said(const json_t *root, const char *column)
{
	return json_string_value(json_object_get(json_object_get(root, column), "Units"));
}

/* Of a column: what the .json says, else what the caller says. */
static int activity_factor(double *factor, const struct reading *r, const json_t *root, const char *path,
                           const char *column)
{
	const char *unit = said(root, column);

	*factor = 1;
	if (r->by->unitless || unit_of(factor, unit) || unit_of(factor, r->by->unit)) return ISO_OK;
	if (r->by->unit)
		return iso_fail(ISO_EARG,
		                "'input-unit' is '%.40s', must be Bq/mL, kBq/mL, MBq/mL, nCi/mL or uCi/mL",
		                r->by->unit);
	return iso_refuse(path, "the unit of '%s' is %s%.40s; 'input-unit' says it", column,
	                  unit ? "not known: " : "in no .json beside it", unit ? unit : "");
}

static int time_factor(double *factor, const json_t *root, const char *path)
{
	const char *unit = said(root, TIME);

	*factor = unit && iso_same_word(unit, "min") ? 60 : 1;
	if (!unit || *factor == 60 || iso_same_word(unit, "s")) return ISO_OK;
	return iso_refuse(path, "its times are in '%.40s', must be s or min", unit);
}

static int read_json(json_t **root, const char *path)
{
	char beside[PATH_MAX];

	*root = NULL;
	if (iso_suffix_partner(beside, sizeof beside, path, ".json") || access(beside, F_OK) != 0)
		return ISO_OK;
	return iso_json_read(root, beside);
}

/* ---- a file ---- */

/* To Bq/ml and to the start of the scan; times in s, as they stand. */
static void correct(struct reading *r, iso_curve *c, double factor)
{
	const double rate = r->by->half_life_s > 0 ? log(2) / r->by->half_life_s : 0, zero = r->by->zero_s;

	for (int64_t i = 0; i < c->n; i++) {
		c->y[i] *= factor * exp(rate * (zero + (r->by->raw ? c->t[i] : 0)));
		r->negative += c->y[i] < 0;
	}
}

static int take_column(iso_curve **c, struct reading *r, const struct curve_table *t, const json_t *root,
                       const char *name, bool activity)
{
	int k = curve_table_column(t, name), st = ISO_OK;
	double factor = 1, seconds;

	if (k < 0) return ISO_OK;
	if (activity) st = activity_factor(&factor, r, root, t->path, name);
	if (!st) st = time_factor(&seconds, root, t->path);
	if (!st) st = curve_table_take(c, t, k);
	if (st) return st;
	for (int64_t i = 0; i < (*c)->n; i++) (*c)->t[i] *= seconds;
	if (activity) correct(r, *c, factor);
	return ISO_OK;
}

static int take_columns(struct recording *of, struct reading *r, const struct curve_table *t,
                        const json_t *root)
{
	int st = take_column(&of->plasma, r, t, root, PLASMA, true);

	if (!st) st = take_column(&of->whole, r, t, root, WHOLE, true);
	if (!st) st = take_column(&of->fraction, r, t, root, FRACTION, false);
	if (st || of->plasma || of->whole) return st;
	if (t->columns == 1) return take_column(&of->plain, r, t, root, t->name[0], true);
	return iso_refuse(t->path,
	                  "has no column '" PLASMA "' or '" WHOLE "', and %d others; without them it must "
	                  "have one",
	                  t->columns);
}

static int read_file(struct recording *of, struct reading *r, const char *path)
{
	struct curve_table t = { 0 };
	json_t *root = NULL;
	int st = read_json(&root, path);

	if (!st) st = curve_table_read(&t, path);
	if (!st) st = take_columns(of, r, &t, root);
	json_decref(root);
	curve_table_free(&t);
	return st;
}

/* ---- curves of curves ---- */

/* The value, which holds before the first sample too. */
static double held(const iso_curve *c, double t)
{
	return t < c->t[0] ? c->y[0] : iso_curve_at(c, t);
}

/* a b at the times of both up to `last`, and then those of `later`, which may be NULL. */
static int multiply(iso_curve **out, const iso_curve *a, const iso_curve *b, double last,
                    const iso_curve *later)
{
	const int64_t most = a->n + b->n + (later ? later->n : 0);
	double *t = size_alloc(most, 2 * sizeof *t), *y = t + most;
	int64_t n = 0, i = 0, k = 0;

	if (!t) return iso_fail_memory("blood", 2 * most * (int64_t)sizeof *t);
	while (i < a->n || k < b->n) {
		double at = fmin(i < a->n ? a->t[i] : INFINITY, k < b->n ? b->t[k] : INFINITY);

		i += i < a->n && a->t[i] == at;
		k += k < b->n && b->t[k] == at;
		if (at > last) break;
		t[n] = at;
		y[n++] = iso_curve_at(a, at) * held(b, at);
	}
	for (i = 0; later && i < later->n; i++)
		if (later->t[i] > last) {
			t[n] = later->t[i];
			y[n++] = later->y[i];
		}
	int st = iso_curve_create(out, n, t, y);

	free(t);
	return st;
}

static double last_of(const iso_curve *c)
{
	return c->t[c->n - 1];
}

/* c becomes the curve with (0, first) in front of it, where its first time is above 0. */
static int put_in_front(iso_curve **c, double first)
{
	const iso_curve *was = *c;
	iso_curve *made = NULL;

	if (!was || was->t[0] <= 0) return ISO_OK;
	double *t = size_alloc(was->n + 1, 2 * sizeof *t), *y = t + was->n + 1;

	if (!t) return iso_fail_memory("blood", 2 * (was->n + 1) * (int64_t)sizeof *t);
	memcpy(t + 1, was->t, (size_t)was->n * sizeof *t);
	memcpy(y + 1, was->y, (size_t)was->n * sizeof *y);
	y[0] = first;
	int st = curve_of(&made, was->n + 1, t, y);

	free(t);
	if (st) return st;
	iso_curve_free(*c);
	*c = made;
	return ISO_OK;
}

/* plasma / whole blood of the samples of a recording where both are above 0. */
static int ratio_of(iso_curve **out, const struct recording *r)
{
	double *t = size_alloc(r->plasma->n, 2 * sizeof *t), *y = t + r->plasma->n;
	int64_t n = 0, k = 0;

	if (!t) return iso_fail_memory("blood", 2 * r->plasma->n * (int64_t)sizeof *t);
	for (int64_t i = 0; i < r->plasma->n; i++) {
		while (k < r->whole->n && r->whole->t[k] < r->plasma->t[i]) k++;
		if (k == r->whole->n || r->whole->t[k] != r->plasma->t[i]) continue;
		if (!(r->plasma->y[i] > 0 && r->whole->y[k] > 0)) continue;
		t[n] = r->plasma->t[i];
		y[n++] = r->plasma->y[i] / r->whole->y[k];
	}
	int st = n > 0 ? curve_of(out, n, t, y)
	               : iso_fail(ISO_EINPUT,
	                          "blood: no sample has plasma and whole blood above 0 at once, which two "
	                          "recordings need");

	free(t);
	return st;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of manual over automatic whole blood where they overlap. */
static int compare_whole(struct reading *r, const iso_curve *manual, const iso_curve *automatic)
{
	double *v = size_alloc(manual->n, sizeof *v);
	char text[160];
	int n = 0;

	if (!v) return iso_fail_memory("blood", manual->n * (int64_t)sizeof *v);
	for (int64_t i = 0; i < manual->n; i++)
		if (manual->t[i] >= automatic->t[0] && manual->t[i] <= last_of(automatic) &&
		    manual->y[i] > 0 && iso_curve_at(automatic, manual->t[i]) > 0)
			v[n++] = manual->y[i] / iso_curve_at(automatic, manual->t[i]);
	qsort(v, (size_t)n, sizeof *v, compare);
	if (n > 0 && fabs(v[n / 2] - 1) > DIFFER) {
		iso_snprintf(
			text, sizeof text,
			"manual samples of whole blood are %.3g times those of the autosampler: is one of "
			"them not corrected for decay?",
			v[n / 2]);
		warn(r, text);
	}
	free(v);
	return ISO_OK;
}

/* Whole blood of the autosampler times the ratio of the manual samples, then the later of these. */
static int join(iso_curve **plasma, iso_curve **whole, iso_curve **fraction, struct reading *r)
{
	const bool second = r->of[1].plasma != NULL;
	struct recording *manual = &r->of[second], *automatic = &r->of[!second];
	iso_curve *ratio = NULL;

	if (!manual->plasma || automatic->plasma || !automatic->whole || !manual->whole)
		return iso_fail(ISO_EINPUT, "blood: of two recordings one must have the columns " PLASMA
		                            " and " WHOLE ", the other " WHOLE " alone");
	int st = ratio_of(&ratio, manual);

	if (!st) st = compare_whole(r, manual->whole, automatic->whole);
	if (!st) st = put_in_front(&automatic->whole, 0);
	if (!st) st = multiply(plasma, automatic->whole, ratio, last_of(automatic->whole), manual->plasma);
	iso_curve_free(ratio);
	if (st) return st;
	*whole = automatic->whole;
	automatic->whole = NULL;
	*fraction = manual->fraction ? manual->fraction : automatic->fraction;
	return ISO_OK;
}

/* Of one recording; curves that are taken leave it. */
static int take_one(iso_curve **plasma, iso_curve **whole, iso_curve **fraction, struct reading *r)
{
	struct recording *of = &r->of[0];
	const double ratio = r->by->plasma_ratio;

	*plasma = of->plasma ? of->plasma : of->plain;
	of->plasma = of->plain = NULL;
	*whole = of->whole;
	of->whole = NULL;
	*fraction = of->fraction;
	if (*plasma) return ISO_OK;
	if (!(ratio > 0))
		return iso_refuse(r->by->file,
		                  "has whole blood alone, and the input is plasma: 'plasma-ratio' says how "
		                  "much of it plasma has");
	int st = curve_copy(plasma, *whole);

	for (int64_t i = 0; !st && i < (*plasma)->n; i++) (*plasma)->y[i] *= ratio;
	return st;
}

/* Parent plasma: times the fraction, which is 1 at time 0. */
static int take_parent(iso_curve **plasma, iso_curve *fraction, struct reading *r, bool bids)
{
	iso_curve *copy = NULL, *parent = NULL;

	if (!fraction) {
		if (bids) warn(r, "there is no column " FRACTION ": plasma is taken as it is");
		return ISO_OK;
	}
	int st = curve_copy(&copy, fraction);

	if (!st) st = put_in_front(&copy, 1);
	if (!st) st = multiply(&parent, *plasma, copy, last_of(*plasma), NULL);
	iso_curve_free(copy);
	if (st) return st;
	iso_curve_free(*plasma);
	*plasma = parent;
	return ISO_OK;
}

/* Its times become those of the scan. */
static int shift(iso_curve **c, double by)
{
	iso_curve *made = NULL;

	if (!*c) return ISO_OK;
	for (int64_t i = 0; i < (*c)->n; i++) (*c)->t[i] += by;
	int st = curve_of(&made, (*c)->n, (*c)->t, (*c)->y);

	if (st) return st;
	iso_curve_free(*c);
	*c = made;
	return ISO_OK;
}

static bool is_zero(const iso_curve *c)
{
	for (int64_t i = 0; i < c->n; i++)
		if (c->y[i] != 0) return false;
	return true;
}

static int read_all(struct iso_input *to, struct reading *r)
{
	const struct iso_blood *by = r->by;
	iso_curve *fraction = NULL;
	int st = read_file(&r->of[0], r, by->file);

	if (!st && by->second) st = read_file(&r->of[1], r, by->second);
	const bool bids = !r->of[0].plain;

	if (!st)
		st = by->second ? join(&to->plasma, &to->whole, &fraction, r)
		                : take_one(&to->plasma, &to->whole, &fraction, r);
	if (!st && !(st = put_in_front(&to->plasma, 0))) st = put_in_front(&to->whole, 0);
	if (!st) st = take_parent(&to->plasma, fraction, r, bids);
	if (!st && !(st = shift(&to->plasma, by->zero_s + by->delay_s)))
		st = shift(&to->whole, by->zero_s + by->delay_s);
	if (!st && is_zero(to->plasma)) st = iso_refuse(by->file, "the input is 0 at all times");
	to->negative = r->negative;
	return st;
}

int iso_input_read(struct iso_input *out, const struct iso_blood *given)
{
	struct iso_input to = { .size = sizeof to };
	struct iso_blood by;
	struct reading r = { .by = &by, .warning = to.warning, .room = sizeof to.warning };

	if (!out) return iso_fail_null(__func__);
	int st = iso_sized_take(&by, "iso_blood", sizeof by, given);

	if (!st && !by.file) st = iso_fail(ISO_EARG, "blood: there is no file");
	if (!st && !(isfinite(by.zero_s) && isfinite(by.delay_s)))
		st = iso_fail(ISO_EARG, "blood: times are %g and %g s, must be finite", by.zero_s,
		              by.delay_s);
	if (!st) st = read_all(&to, &r);
	if (!st) st = iso_sized_put(out, "iso_input", sizeof to, &to);
	for (int i = 0; i < 2; i++) forget(&r.of[i]);
	if (st) iso_input_free(&to);
	return st;
}

void iso_input_free(struct iso_input *in)
{
	if (!in) return;
	iso_curve_free(in->plasma);
	iso_curve_free(in->whole);
	in->plasma = in->whole = NULL;
}
