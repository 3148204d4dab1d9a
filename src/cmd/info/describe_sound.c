/* SPDX-License-Identifier: BSD-3-Clause */
/* What transducers are, and what a recording of them holds. */
#include "describe.h"

#include "problem/record/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sizes and areas of the elements: one each where all are alike, else least and greatest. */
static void describe_elements(json_t *o, const struct iso_transducers *t)
{
	double least[3] = { INFINITY, INFINITY, INFINITY }, most[3] = { 0 };

	set(o, "aperture_mm", json_null());
	if (!t->aperture) return;
	for (const double *a = t->aperture; a < t->aperture + 2 * t->n; a += 2) {
		const double of[3] = { a[0], a[1], a[0] * a[1] };

		for (int k = 0; k < 3; k++) {
			least[k] = fmin(least[k], of[k]);
			most[k] = fmax(most[k], of[k]);
		}
	}
	bool alike = least[0] == most[0] && least[1] == most[1];

	set(o, "aperture_mm",
	    alike ? record_reals(2, least)
	          : record_pack("{s:[f,f], s:[f,f]}", "least", least[0], least[1], "greatest", most[0],
	                        most[1]));
	set(o, "element_area_mm2",
	    alike ? record_real(least[2]) : record_reals(2, (double[]){ least[2], most[2] }));
}

/* The radius of curved faces, the least and the greatest; null: flat. */
static json_t *focus_json(const struct iso_faces *f)
{
	double least = INFINITY, most = 0;

	if (!f) return json_null();
	for (int64_t q = 0; q < f->n; q++) {
		least = fmin(least, f->focus[q]);
		most = fmax(most, f->focus[q]);
	}
	return record_pack("{s:s, s:[f,f]}", "shape", f->bowl ? "bowl" : "cylinder", "radius", least, most);
}

void describe_transducers(json_t *o, const struct iso_transducers *t, const struct iso_faces *faces)
{
	const double record[2] = { t->first_us, t->first_us + (double)(t->samples - 1) * t->dt_us };

	set(o, "transducers", json_integer(t->n));
	set(o, "shape", json_string(t->rings ? "rings on a sphere" : "list"));
	set(o, "radius_mm", record_real(t->radius));
	set(o, "centre_mm", record_reals(3, t->centre));
	describe_elements(o, t);
	set(o, "focus_mm", focus_json(faces));
	set(o, "speed_mm_per_us", t->speed > 0 ? record_real(t->speed) : json_null());
	set(o, "sampling_mhz", record_real(1 / t->dt_us));
	set(o, "samples", json_integer(t->samples));
	set(o, "record_us", record_reals(2, record));
	set(o, "grueneisen", record_real(t->gamma));
	set(o, "eir_samples", t->eir ? json_integer(t->n_eir) : json_null());
	if (!(t->speed > 0)) facts_warn(o, "no speed of sound: --speed gives it");
	if (!t->area)
		facts_warn(o, "no areas%s: filtered back-projection takes them all alike",
		           t->aperture ? " of the surface that each element stands for" : "");
	if (t->spread > .01)
		facts_warn(o, "distances from the centre spread by %.2g of the radius: not on one sphere",
		           t->spread);
}

static void describe_info(json_t *o, const struct iso_recording_info *i, const char *path)
{
	const double *f = i->field;
	char start[PATH_MAX + 2];

	snprintf(start, sizeof start, "%s: ", path);

	set(o, "kind", json_string("recording"));
	set(o, "wavelengths", json_integer(i->wavelengths));
	set(o, "frames", json_integer(i->frames));
	set(o, "wavelength_nm",
	    i->wavelength_nm ? record_reals((int)i->wavelengths, i->wavelength_nm) : json_null());
	describe_transducers(o, &i->t, i->faces);
	set(o, "field_of_view_mm",
	    !i->has_field ? json_null()
	                  : record_pack("{s:[f,f], s:[f,f], s:[f,f]}", "x", f[0], f[1], "y", f[2], f[3], "z",
	                                f[4], f[5]));
	for (int k = 0; k < i->n_warnings; k++) /* the name of the file stands above */
		facts_warn(o, "%s",
		           i->warning[k] +
		                   (strncmp(i->warning[k], start, strlen(start)) == 0 ? strlen(start) : 0));
}

int describe_recording(json_t *o, const char *path)
{
	iso_recording *r = NULL;
	double range[2];
	int st = iso_recording_open(&r, path);

	if (st) return st;
	describe_info(o, iso_recording_info(r), path);
	if (!(st = iso_recording_range(range, r))) {
		set(o, "min", record_real(range[0]));
		set(o, "max", record_real(range[1]));
		if (range[0] == 0 && range[1] == 0) facts_warn(o, "all values are 0");
	}
	iso_recording_free(r);
	return st;
}
