/* SPDX-License-Identifier: BSD-3-Clause */
/* PET-BIDS: the sidecar of an image, from its record and what the user says besides. */
#include "bids.h"
#include "problem/record/record.h"

#include "core/sized.h"
#include "io/format.h"
#include "text/json_file.h"
#include "text/moment.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

/* In the order of the sidecar. */
struct key {
	struct iso_bids_key k;
	bool if_infused; /* asked for with ModeOfAdministration bolus-infusion alone */
};

static const struct key keys[] = {
	{ { "Manufacturer", "manufacturer", "of the scanner" }, false },
	{ { "ManufacturersModelName", "manufacturers-model-name",
	    "of the scanner (default: its name in the record)" },
	  false },
	{ { "TracerName", "tracer-name", "FDG" }, false },
	{ { "TracerRadionuclide", "tracer-radionuclide", "such as F18 (default: the record's isotope)" },
	  false },
	{ { "InjectedRadioactivity", "injected-radioactivity",
	    "number (default: the record's dose less the residue)" },
	  false },
	{ { "InjectedRadioactivityUnits", "injected-radioactivity-units",
	    "unit of the activity (default: MBq)" },
	  false },
	{ { "InjectedMass", "injected-mass", "of the tracer" }, false },
	{ { "InjectedMassUnits", "injected-mass-units", "ug" }, false },
	{ { "SpecificRadioactivity", "specific-radioactivity", "activity per mass" }, false },
	{ { "SpecificRadioactivityUnits", "specific-radioactivity-units", "Bq/g" }, false },
	{ { "ModeOfAdministration", "mode-of-administration", "bolus, infusion or bolus-infusion" }, false },
	{ { "InfusionRadioactivity", "infusion-radioactivity", "activity of a bolus-infusion" }, true },
	{ { "InfusionStart", "infusion-start", "start of a bolus-infusion, s from the time zero" }, true },
	{ { "InfusionSpeed", "infusion-speed", "speed of a bolus-infusion" }, true },
	{ { "InfusionSpeedUnits", "infusion-speed-units", "unit of that speed, such as mL/s" }, true },
	{ { "InjectedVolume", "injected-volume", "volume of a bolus-infusion, mL" }, true },
	{ { "TimeZero", "time-zero", "hh:mm:ss (default: the start of the scan, if the record has it)" },
	  false },
	{ { "ScanStart", "scan-start", "s from the time zero" }, false },
	{ { "InjectionStart", "injection-start", "s from the time zero" }, false },
	{ { "AcquisitionMode", "acquisition-mode", "mode of the acquisition (default: list mode)" }, false },
	{ { "AttenuationCorrection", "attenuation-correction", "in words (default: what the record says)" },
	  false },
};
enum { KEYS = sizeof keys / sizeof keys[0] };

const struct iso_bids_key *iso_bids_key(int k)
{
	return k >= 0 && k < KEYS ? &keys[k].k : NULL;
}

/* The sidecar in the making. */
struct sidecar {
	const struct iso_bids *p;
	json_t *record; /* beside the image */
	json_t *with;   /* the user's file, or NULL */
	json_t *out;
};

static const json_t *parameter(const struct sidecar *s, const char *name)
{
	return json_object_get(json_object_get(s->record, "parameters"), name);
}

static const char *text_parameter(const struct sidecar *s, const char *name)
{
	return json_string_value(parameter(s, name));
}

static const char *scale(const struct sidecar *s, const char *name)
{
	return json_string_value(
		json_object_get(json_object_get(json_object_get(s->record, "results"), "scale"), name));
}

/* Sets a key that nobody has said; `value`, which may be NULL, is taken over. */
static void fall_back(struct sidecar *s, const char *key, json_t *value)
{
	if (value && !json_object_get(s->out, key))
		json_object_set_new(s->out, key, value);
	else
		json_decref(value);
}

static const char *said(const struct sidecar *s, const char *key)
{
	return json_string_value(json_object_get(s->out, key));
}

/* ---- what follows from the record ---- */

/* F18 of F-18 */
static json_t *radionuclide(const char *isotope)
{
	char text[16];
	size_t n = 0;

	for (const char *c = isotope ? isotope : ""; *c && n + 1 < sizeof text; c++)
		if (*c != '-') text[n++] = *c;
	text[n] = '\0';
	return n > 0 ? json_string(text) : NULL;
}

static json_t *clock_of(const char *moment)
{
	struct moment m;
	char text[16];

	if (!moment || moment_parse(&m, moment)) return NULL;
	snprintf(text, sizeof text, "%02d:%02d:%02d", m.hour, m.minute, m.second);
	return json_string(text);
}

/* Seconds from TimeZero to a moment of the record; NULL: not known. */
static json_t *since_zero(const struct sidecar *s, const char *moment)
{
	const char *start = text_parameter(s, "started-at"), *zero = said(s, "TimeZero");
	double from_zero = 0, from_start = 0;

	if (!moment || !start || iso_seconds_between(&from_start, start, moment)) return NULL;
	char plain[16]; /* the clock of the start, without date and zone, as TimeZero is */
	json_t *clock = clock_of(start);

	snprintf(plain, sizeof plain, "%s", clock ? json_string_value(clock) : "");
	json_decref(clock);
	if (!zero || iso_seconds_between(&from_zero, zero, plain)) return NULL;
	return record_real(from_zero + from_start);
}

static json_t *attenuation(const struct sidecar *s)
{
	const char *word = scale(s, "attenuation");

	if (!word) return NULL;
	if (strcmp(word, "none") == 0) return json_string("none");
	return json_string(strcmp(word, "per event") == 0 ? "factors of the events, in the model"
	                                                  : "attenuation map at 511 keV, in the model");
}

/* A value that is not known has no unit. */
static void fall_back_unit(struct sidecar *s, const char *key, const char *of, const char *unit)
{
	const char *value = said(s, of);

	if (value && strcmp(value, "n/a") == 0)
		fall_back(s, key, json_string("n/a"));
	else if (unit)
		fall_back(s, key, json_string(unit));
}

static void from_record(struct sidecar *s)
{
	double dose =
		json_number_value(parameter(s, "dose-mbq")) - json_number_value(parameter(s, "residual-mbq"));
	const char *start = text_parameter(s, "started-at"), *scanner = scale(s, "scanner");

	fall_back(s, "ManufacturersModelName", scanner ? record_string(scanner) : NULL);
	fall_back(s, "TracerRadionuclide", radionuclide(text_parameter(s, "isotope")));
	fall_back(s, "InjectedRadioactivity", dose > 0 ? record_real(dose) : NULL);
	fall_back_unit(s, "InjectedRadioactivityUnits", "InjectedRadioactivity", "MBq");
	fall_back_unit(s, "InjectedMassUnits", "InjectedMass", NULL);
	fall_back_unit(s, "SpecificRadioactivityUnits", "SpecificRadioactivity", NULL);
	fall_back(s, "TimeZero", clock_of(start));
	fall_back(s, "ScanStart", since_zero(s, start));
	fall_back(s, "InjectionStart", since_zero(s, text_parameter(s, "injected-at")));
	fall_back(s, "AcquisitionMode", json_string("list mode"));
	fall_back(s, "AttenuationCorrection", attenuation(s));
}

/* Of the record's own keys, which are s since the start of the scan, those that are s since TimeZero. */
static void add_times(struct sidecar *s)
{
	const json_t *starts = json_object_get(s->record, "FrameTimesStart");
	double scan = json_number_value(json_object_get(s->out, "ScanStart"));
	bool corrected = text_parameter(s, "isotope") || json_number_value(parameter(s, "half-life-s")) > 0;
	json_t *list = json_array();

	for (size_t k = 0; k < json_array_size(starts); k++)
		json_array_append_new(list, record_real(json_number_value(json_array_get(starts, k)) + scan));
	json_object_set_new(s->out, "FrameTimesStart", list);
	json_object_set(s->out, "FrameDuration", json_object_get(s->record, "FrameDuration"));
	json_object_set_new(s->out, "ImageDecayCorrected", json_boolean(corrected));
	json_object_set_new(s->out, "ImageDecayCorrectionTime", record_real(scan));
}

/* SUV are derived from the image in Bq/ml. */
static bool is_derived(const struct sidecar *s)
{
	const char *unit = json_string_value(json_object_get(s->record, "Units"));

	return unit && strcmp(unit, "g/mL") == 0;
}

/* Keys that the record has in the words of the standard. */
static const char *const of_record[] = { "Units",
	                                 "ReconMethodName",
	                                 "ReconMethodParameterLabels",
	                                 "ReconMethodParameterUnits",
	                                 "ReconMethodParameterValues",
	                                 "ReconFilterType",
	                                 "ReconFilterSize",
	                                 NULL };

static void add_method(struct sidecar *s)
{
	for (int i = 0; of_record[i]; i++) {
		json_t *value = json_object_get(s->record, of_record[i]);

		if (value) json_object_set(s->out, of_record[i], value);
	}
	fall_back(s, "ReconFilterType", json_string("none"));
	fall_back(s, "ReconMethodImplementationVersion", json_sprintf("Isotome %s", iso_version()));
	if (is_derived(s)) fall_back(s, "SkullStripped", json_false()); /* asked of all derived images */
}

/* What the standard has no keys for. */
static void add_record(struct sidecar *s)
{
	json_t *own = json_copy(s->record);

	for (int i = 0; of_record[i]; i++) json_object_del(own, of_record[i]);
	json_object_set_new(s->out, "Isotome", own);
}

/* ---- what the user says ---- */

/* A number where the text is one. */
static json_t *value_of(const char *text)
{
	double v;

	if (iso_number(&v, text, strlen(text))) return record_real(v);
	return record_string(text);
}

static int from_user(struct sidecar *s)
{
	const struct iso_bids *p = s->p;
	int st = p->with ? iso_json_read(&s->with, p->with) : ISO_OK;

	if (st) return st;
	if (s->with && !json_is_object(s->with))
		return iso_fail(ISO_EINPUT, "%s: must be a JSON object of keys of the sidecar", p->with);
	if (s->with && json_object_update(s->out, s->with)) return iso_fail_memory("sidecar", 1);
	for (int k = 0; p->value && k < KEYS; k++)
		if (p->value[k] && json_object_set_new(s->out, keys[k].k.key, value_of(p->value[k])))
			return iso_fail_memory("sidecar", 1);
	return ISO_OK;
}

/* ---- checks ---- */

static int check_record(const struct sidecar *s)
{
	const char *image = s->p->image, *unit = json_string_value(json_object_get(s->record, "Units"));

	if (!s->record || !json_object_get(s->record, "ReconMethodName"))
		return iso_fail(ISO_EINPUT, "%s: has no record of a reconstruction beside it", image);
	if (!unit || (strcmp(unit, "Bq/mL") != 0 && strcmp(unit, "g/mL") != 0))
		return iso_fail(ISO_EINPUT,
		                "%s: is in %s, PET-BIDS takes Bq/mL: reconstruct with 'calibration' (and "
		                "'suv' for g/mL)",
		                image, unit ? unit : "no known unit");
	if (json_array_size(json_object_get(s->record, "FrameDuration")) < 1)
		return iso_fail(ISO_EINPUT, "%s: its record does not say how long the frames are", image);
	return ISO_OK;
}

static int check_missing(const struct sidecar *s)
{
	const char *mode = said(s, "ModeOfAdministration");
	bool infused = mode && strcmp(mode, "bolus-infusion") == 0;
	char missing[1024] = "";

	for (int k = 0; k < KEYS; k++)
		if (!json_object_get(s->out, keys[k].k.key) && (infused || !keys[k].if_infused))
			snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s'%s'",
			         *missing ? ", " : "", keys[k].k.name);
	if (*missing)
		return iso_fail(ISO_EARG, "%s: PET-BIDS also asks for %s (n/a where that is not known)",
		                s->p->image, missing);
	return ISO_OK;
}

/* ---- all of it ---- */

static int make_sidecar(struct sidecar *s)
{
	int st = record_sidecar(&s->record, s->p->image);

	if (st || (st = check_record(s)) || (st = from_user(s))) return st;
	from_record(s);
	if ((st = check_missing(s))) return st;
	add_times(s);
	add_method(s);
	add_record(s);
	return ISO_OK;
}

static int write_image(char path[PATH_MAX], const struct sidecar *s)
{
	struct iso_array x = { 0 };
	char *text = iso_json_text(s->out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	int st = text ? iso_read(&x, s->p->image, ISO_FINITE) : iso_fail_memory("sidecar", 1);

	snprintf(x.unit, sizeof x.unit, "%s", said(s, "Units"));
	if (!st) st = bids_place(path, s->p, is_derived(s));
	if (!st) st = iso_write(path, &x, text);
	iso_array_free(&x);
	free(text);
	return st;
}

int iso_bids_write(char *path, size_t bytes, const struct iso_bids *p)
{
	if (!path || !p) return iso_fail_null(__func__);
	struct iso_bids full;
	char name[PATH_MAX];
	int64_t failures = iso_json_failures();
	int st = iso_sized_take(&full, "iso_bids", sizeof full, p);

	if (st) return st;
	if (!full.image || !full.folder || !full.subject) return iso_fail_null("struct iso_bids");
	struct sidecar s = { .p = &full, .out = json_object() };

	if (!(st = bids_check_labels(&full))) st = make_sidecar(&s);
	if (!st && iso_json_failures() != failures) st = iso_fail_memory("sidecar", 1);
	if (!st && !(st = write_image(name, &s))) snprintf(path, bytes, "%s", name);
	json_decref(s.record);
	json_decref(s.with);
	json_decref(s.out);
	return st;
}
