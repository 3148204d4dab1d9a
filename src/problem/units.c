/* SPDX-License-Identifier: BSD-3-Clause */
/* Units of an image: the calibration of the scanner makes Bq/ml of counts/mm, dose and weight make SUV of that.

   A [Bq/ml] = K f / (T b), with f in counts/mm, T the length of the frame in s, b the branching fraction. The factor
   T b / K goes into m and S, as decay and live time do, so that the image is in Bq/ml from the first update on. */
#include "calibration.h"
#include "problem.h"

#include "text/json_file.h"
#include "text/moment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OF_EVENTS "events" /* 'calibration' events: the factor of their file */

/* Numbers that went through a text. */
#define SAME 1e-9

struct opt_set units_params(struct units *u)
{
	const struct opt opts[] = {
		{ 0, "calibration", .text = &u->calibration, .file = OPT_MAY_READ,
		  .value = "FILE|K|" OF_EVENTS, .or_word = OF_EVENTS, .or_number = true,
		  .goes = TAKES_COUNTS | MODEL_UNITS, .absent = "none: the image is in counts/mm",
		  .help = "calibration of the scanner, for an image in Bq/ml at the start of the scan: a "
		          "file of 'isotome calibrate', its number K, or the word events for the factor in "
		          "the events' file" },
		{ 0, "branching", .real = &u->branching_option, .goes = MODEL_UNITS, .value = "F",
		  .min = 1e-6, .max = 1, .absent = "the isotope's", .help = "positrons per decay" },
		{ 0, "started-at", .text = &u->started_at, .goes = MODEL_UNITS, .value = "TIME",
		  .help = "when the scan started: 14:30:15, or with the date 2026-11-16T14:30:15" },
		{ 0, "suv", .flag = &u->suv, .goes = TAKES_COUNTS | MODEL_UNITS,
		  .help = "make standardised uptake values by body weight, g/ml, instead of Bq/ml" },
		{ 0, "weight-kg", .real = &u->weight_kg, .goes = MODEL_UNITS, .unit = "kg", .value = "KG",
		  .min = 1e-6, .max = 1e4, .absent = "not known", .help = "weight of the body" },
		{ 0, "dose-mbq", .real = &u->dose_mbq, .goes = MODEL_UNITS, .unit = "MBq", .value = "MBQ",
		  .min = 1e-9, .max = 1e9, .absent = "not known",
		  .help = "activity in the syringe at the time 'injected-at'" },
		{ 0, "residual-mbq", .real = &u->residual_mbq, .goes = MODEL_UNITS, .unit = "MBq",
		  .value = "MBQ", .min = 0, .max = 1e9,
		  .help = "activity that stayed in the syringe, at the time 'injected-at'" },
		{ 0, "injected-at", .text = &u->injected_at, .goes = MODEL_UNITS, .value = "TIME",
		  .help = "time of the injection; without a date Isotome takes the time within 12 hours of "
		          "'started-at', also across midnight" },
		{ 0 },
	};

	_Static_assert(sizeof opts <= sizeof u->opts, "room for the options");
	memcpy(u->opts, opts, sizeof opts);
	return (struct opt_set){ "Units", u->opts };
}

void units_free(struct units *u)
{
	iso_calibration_free(u->file);
	u->file = NULL;
}

/* ---- before the data are read ---- */

/* 'calibration' as a file, a number or the word; k stays 0 for the last. */
static int read_calibration(struct units *u)
{
	const char *text = u->calibration;
	int st;

	if (strcmp(text, OF_EVENTS) == 0) return ISO_OK;
	if (iso_number(&u->k, text, strlen(text)))
		return u->k > 0 ? ISO_OK : iso_fail(ISO_EARG, "'calibration' is %s, must be above 0", text);
	if ((st = iso_calibration_read(&u->file, text))) return st;
	u->k = iso_calibration_k(u->file);
	return ISO_OK;
}

static int check_branching(iso_problem *p)
{
	struct units *u = &p->s.units;

	u->branching = u->branching_option;
	if (u->branching > 0) return ISO_OK;
	if (p->s.frames.isotope) return iso_branching(&u->branching, p->s.frames.isotope);
	return u->calibration
	               ? iso_fail(
				 ISO_EARG,
				 "'calibration' needs the branching fraction: give 'isotope', or 'branching'")
	               : ISO_OK;
}

static int check_time(const char *name, const char *text)
{
	struct moment m;
	int st = text ? moment_parse(&m, text) : ISO_OK;

	return st ? iso_fail(st, "'%s' %s", name, iso_message()) : ISO_OK;
}

/* All that is missing, in one line. */
static int check_suv(iso_problem *p)
{
	static const char *const wanted[] = { "calibration", "weight-kg",  "dose-mbq",
		                              "injected-at", "started-at", NULL };
	char missing[128] = "";

	for (int i = 0; wanted[i]; i++)
		if (!problem_given(p, wanted[i]))
			snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s'%s'",
			         *missing ? ", " : "", wanted[i]);
	if (*missing) return iso_fail(ISO_EARG, "'suv' needs %s", missing);
	if (!(p->s.frames.half_life_s > 0))
		return iso_fail(ISO_EARG,
		                "'suv' needs the decay of the dose: give 'isotope' or 'half-life-s'");
	return ISO_OK;
}

static int make_suv(iso_problem *p)
{
	struct units *u = &p->s.units;
	const struct iso_suv suv = {
		.size = sizeof suv,
		.weight_kg = u->weight_kg,
		.dose_mbq = u->dose_mbq,
		.residual_mbq = u->residual_mbq,
		.injected_at = u->injected_at,
		.reference_at = u->started_at,
		.half_life_s = p->s.frames.half_life_s,
	};
	int st = check_suv(p);

	return st ? st : iso_suv_factor(&u->suv_factor, &suv);
}

int units_check(iso_problem *p)
{
	struct units *u = &p->s.units;
	int st;

	units_free(u); /* of an earlier check */
	u->k = 0;
	u->suv_factor = 1;
	if (!p->m->scale) return ISO_OK;
	if ((st = check_time("started-at", u->started_at)) ||
	    (st = check_time("injected-at", u->injected_at)) ||
	    (u->calibration && (st = read_calibration(u))) || (st = check_branching(p)))
		return st;
	return u->suv ? make_suv(p) : ISO_OK;
}

/* ---- what the scale depends on ---- */

/* A file that `isotome sens` made has the scale of what is made without one. */
static int sens_word(const char **word, const char *path, bool of_pairs)
{
	const char *made = of_pairs ? "scanner" : "bins";
	json_t *record = NULL;
	int st = ISO_OK;

	*word = !path ? made : strcmp(path, "none") == 0 ? "none" : "file";
	if (strcmp(*word, "file") == 0) st = record_sidecar(&record, path);
	const char *verb = json_string_value(json_object_get(record, "verb"));

	if (verb && strcmp(verb, "sens") == 0) *word = made;
	json_decref(record);
	return st;
}

static bool same(const json_t *a, const json_t *b)
{
	if (!json_is_number(a) || !json_is_number(b)) return json_equal(a, b);
	double x = json_number_value(a), y = json_number_value(b);

	return fabs(x - y) <= SAME * fabs(x);
}

/* A plain value in words, cut to `size`. */
static const char *words(char *to, size_t size, const json_t *value)
{
	char *text =
		json_is_string(value) ? NULL : iso_json_text(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));

	snprintf(to, size, "%s", text ? text : value ? json_string_value(value) : "none");
	free(text);
	return to;
}

/* The first of what the calibration was made with that this run has otherwise. */
static int compare(const char *path, const json_t *made_with, const json_t *here)
{
	char a[80], b[80];
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)made_with, key, value) {
		const json_t *own = json_object_get(here, key);

		if (!same(value, own))
			return iso_fail(ISO_EARG,
			                "%s: the calibration was made with '%s' %s, this run has %s; "
			                "'calibration' K takes its number alone",
			                path, key, words(a, sizeof a, value), words(b, sizeof b, own));
	}
	return ISO_OK;
}

/* In a dry run not all values are there to be compared. */
static int settle_scale(iso_problem *p)
{
	const struct units *u = &p->s.units;
	json_t *scale = p->m->scale(p);
	const char *sens;
	int st = sens_word(&sens, p->s.sens, p->found.sens_of_pairs);

	if (!st && (!scale || json_object_set_new(scale, "sens", json_string(sens))))
		st = iso_fail_memory("record", 1);
	if (!st && u->file && !p->record->read.dry_run && calibration_made_with(u->file))
		st = compare(u->calibration, calibration_made_with(u->file), scale);
	if (st) {
		json_decref(scale);
		return st;
	}
	return record_result(p->record, "scale", scale);
}

/* ---- once the data are read ---- */

static int check_durations(const iso_problem *p)
{
	const struct frames *f = &p->s.frames;

	for (int k = 0; k < f->n; k++)
		if (!isfinite(frames_end_s(f, k)))
			return iso_fail(ISO_EARG, "'calibration' needs the length of the scan, which the "
			                          "data do not say: give 'duration-s'");
	return ISO_OK;
}

static void warn(iso_problem *p)
{
	const struct units *u = &p->s.units;
	double uptake_s;

	if (!(p->s.frames.half_life_s > 0))
		record_warn(p->record, "without 'isotope' or 'half-life-s' Bq/ml are means over the frame, "
		                       "not those at the start of the scan");
	if (u->suv && !iso_seconds_between(&uptake_s, u->injected_at, u->started_at) && uptake_s < 0)
		record_warn(p->record, "'injected-at' is %g s after 'started-at'", -uptake_s);
}

static int describe(iso_problem *p)
{
	const struct units *u = &p->s.units;
	json_t *o = record_pack("{s:f, s:f}", "K", u->k, "branching", u->branching);

	if (o && u->file)
		json_object_set_new(o, "standard_error", record_real(iso_calibration_error(u->file)));
	if (o && u->suv) json_object_set_new(o, "suv_of_1_bq_per_ml", record_real(u->suv_factor));
	return record_result(p->record, "calibration", o);
}

int units_settle(iso_problem *p)
{
	struct units *u = &p->s.units;
	int st;

	if (!p->m->scale) return ISO_OK;
	if ((st = settle_scale(p)) || !u->calibration) return st;
	if ((u->file && (st = record_input(p->record, u->calibration))) || (st = check_durations(p)) ||
	    (u->k == 0 && (st = p->m->calibration(p, &u->k))))
		return st;
	warn(p);
	p->found.unit = u->suv ? "g/mL" : "Bq/mL";
	return describe(p);
}

double units_of_frame(const iso_problem *p, int k)
{
	const struct units *u = &p->s.units;
	const struct frames *f = &p->s.frames;

	if (!(u->k > 0)) return 1;
	/* a frame behind the end of the scan has no events, and an image of 0 */
	double duration = frames_end_s(f, k) - frames_begin_s(f, k);

	return (duration > 0 ? duration : 1) * u->branching / (u->k * u->suv_factor);
}
