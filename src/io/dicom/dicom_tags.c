/* SPDX-License-Identifier: BSD-3-Clause */
/* Tags of a PET series from the record of the image. */
#include "dicom_tags.h"
#include "base/utf8.h"
#include "core/size.h"
#include "core/status.h"
#include "text/json_file.h"
#include "text/moment.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOBODY_KNOWS_S (-2208988800.) /* 1900-01-01: a series must have a date */

static const json_t *parameter(const json_t *record, const char *name)
{
	return json_object_get(json_object_get(record, "parameters"), name);
}

static const char *text_parameter(const json_t *record, const char *name)
{
	return json_string_value(parameter(record, name));
}

/* At most `size - 1` bytes of UTF-8, without the letters that separate values. */
static void copy(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text ? text : "");
	iso_utf8_clean(to); /* also what was cut within a letter */
	to[size - 1] = '\0';
	for (char *c = to; *c; c++)
		if (*c == '\\' || (unsigned char)*c < ' ') *c = ' ';
}

/* ---- times ---- */

void dicom_date(char text[9], double s)
{
	time_t t = (time_t)floor(s);
	struct tm tm = { 0 };

	gmtime_r(&t, &tm);
	strftime(text, 9, "%Y%m%d", &tm);
}

void dicom_time(char text[17], double s)
{
	time_t t = (time_t)floor(s);
	struct tm tm = { 0 };

	gmtime_r(&t, &tm);
	strftime(text, 17, "%H%M%S", &tm);
}

/* Seconds since 1970; a time without a date is of the day of `near_s`. False: no time. */
static bool take_moment(double *s, const char *text, double near_s)
{
	struct moment m;

	if (!text || moment_parse(&m, text) || !(fabs(m.s) < 2e11)) return false;
	*s = m.dated ? m.s : floor(near_s / 86400) * 86400 + m.s;
	return true;
}

static void take_clock(struct dicom_tags *t, const json_t *record)
{
	const char *start = text_parameter(record, "started-at"),
		   *injected = text_parameter(record, "injected-at");
	double run = NOBODY_KNOWS_S, between;

	take_moment(&run, json_string_value(json_object_get(record, "started")), run);
	t->start_s = run;
	t->start_known = take_moment(&t->start_s, start, run);
	t->injected_known = t->start_known && injected && !iso_seconds_between(&between, start, injected);
	if (t->injected_known) t->injected_s = t->start_s + between;
}

static int take_frames(struct dicom_tags *t, const struct iso_array *a, const json_t *record)
{
	const json_t *from = json_object_get(record, "FrameTimesStart"),
		     *length = json_object_get(record, "FrameDuration");

	t->frames = a->n_dim == 4 ? a->dim[0] : 1;
	t->frame_s = size_alloc(t->frames, sizeof *t->frame_s);
	t->duration_s = size_alloc(t->frames, sizeof *t->duration_s);
	if (!t->frame_s || !t->duration_s)
		return iso_fail_memory("frames", t->frames * (int64_t)sizeof(double));
	if ((int64_t)json_array_size(length) != t->frames || (int64_t)json_array_size(from) < t->frames)
		return ISO_OK;
	for (int64_t k = 0; k < t->frames; k++) {
		double s = json_number_value(json_array_get(from, (size_t)k));
		double d = json_number_value(json_array_get(length, (size_t)k));

		t->frame_s[k] = fabs(s) < 1e6 ? s : 0;
		t->duration_s[k] = d > 0 && d < 1e6 ? d : 0;
	}
	return ISO_OK;
}

/* ---- the rest ---- */

static void take_units(struct dicom_tags *t, const struct iso_array *a, const json_t *record)
{
	const char *unit = a->unit[0] ? a->unit : json_string_value(json_object_get(record, "Units"));

	strcpy(t->units, unit && strcmp(unit, "Bq/mL") == 0  ? "BQML"
	                 : unit && strcmp(unit, "g/mL") == 0 ? "GML"
	                                                     : "CNTS");
}

static void take_dose(struct dicom_tags *t, const json_t *record)
{
	const char *isotope = text_parameter(record, "isotope");
	double mbq = json_number_value(parameter(record, "dose-mbq")) -
	             json_number_value(parameter(record, "residual-mbq"));
	double weight = json_number_value(parameter(record, "weight-kg"));

	copy(t->isotope, sizeof t->isotope, isotope ? iso_isotope(isotope) : NULL);
	if (t->isotope[0] &&
	    (iso_half_life(&t->half_life_s, t->isotope) || iso_branching(&t->branching, t->isotope)))
		t->half_life_s = t->branching = 0;
	if (!(t->half_life_s > 0)) t->half_life_s = json_number_value(parameter(record, "half-life-s"));
	if (!(t->half_life_s > 0 && t->half_life_s < 1e12)) t->half_life_s = 0;
	t->corrects_decay = t->half_life_s > 0;
	t->dose_bq = mbq > 0 && mbq < 1e9 ? 1e6 * mbq : 0;
	t->weight_kg = weight > 0 && weight < 1e4 ? weight : 0;
}

static bool given(const json_t *record, const char *name)
{
	const json_t *v = parameter(record, name);
	const char *text = json_string_value(v);

	return (text && strcmp(text, "none") != 0) || json_is_true(v);
}

/* Corrections that the record tells of; DICOM's words. */
static void take_corrections(struct dicom_tags *t, const json_t *record)
{
	const char *attenuation = json_string_value(
		json_object_get(json_object_get(json_object_get(record, "results"), "scale"), "attenuation"));
	bool attn = given(record, "mu") || (attenuation && strcmp(attenuation, "none") != 0);
	bool scat = given(record, "scatter"), rand = given(record, "delayed") || given(record, "singles");
	const struct {
		bool is;
		const char *word;
	} all[] = { { t->corrects_decay, "DECY" },
		    { attn, "ATTN" },
		    { scat, "SCAT" },
		    { rand, "RAN" },
		    { given(record, "norm"), "NORM" } };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].is) {
			size_t n = strlen(t->corrected);

			snprintf(t->corrected + n, sizeof t->corrected - n, "%s%s", n ? "\\" : "",
			         all[i].word);
		}
	if (attn) strcpy(t->attenuation, "map of attenuation at 511 keV");
	if (scat) strcpy(t->scatter, "single scatter simulation");
	if (rand) strcpy(t->randoms, given(record, "delayed") ? "DLYD" : "SING");
}

static void take_words(struct dicom_tags *t, const json_t *record, const struct iso_dicom *p)
{
	const json_t *scale = json_object_get(json_object_get(record, "results"), "scale");
	const char *method = json_string_value(json_object_get(record, "ReconMethodName"));

	copy(t->patient_name, sizeof t->patient_name, p->patient_name ? p->patient_name : "Anonymous^");
	copy(t->patient_id, sizeof t->patient_id, p->patient_id ? p->patient_id : "0");
	copy(t->description, sizeof t->description,
	     p->description ? p->description
	     : method       ? method
	                    : "Isotome");
	copy(t->scanner, sizeof t->scanner, json_string_value(json_object_get(scale, "scanner")));
	copy(t->method, sizeof t->method, method);
}

int dicom_tags_take(struct dicom_tags *t, const struct iso_array *a, const struct iso_dicom *p)
{
	char path[PATH_MAX];
	json_t *record = NULL;
	int st = ISO_OK;

	memset(t, 0, sizeof *t); /* identifiers are made of all bytes */
	if (p->image && !iso_sidecar_path(path, sizeof path, p->image) && access(path, R_OK) == 0 &&
	    iso_json_read(&record, path) == ISO_ENOMEM)
		return ISO_ENOMEM;
	take_units(t, a, record);
	take_clock(t, record);
	take_dose(t, record);
	take_corrections(t, record);
	take_words(t, record, p);
	st = take_frames(t, a, record);
	json_decref(record);
	return st;
}

void dicom_tags_free(struct dicom_tags *t)
{
	free(t->frame_s);
	free(t->duration_s);
	*t = (struct dicom_tags){ 0 };
}
