/* SPDX-License-Identifier: BSD-3-Clause */
/* What transducers are, and what a recording of them holds. */
#include "describe.h"

#include "problem/record.h"

void describe_transducers(json_t *o, const struct iso_transducers *t)
{
	const double record[2] = { t->first_us, t->first_us + (double)(t->samples - 1) * t->dt_us };

	set(o, "transducers", json_integer(t->n));
	set(o, "shape", json_string(t->rings ? "rings on a sphere" : "list"));
	set(o, "radius_mm", record_real(t->radius));
	set(o, "centre_mm", record_reals(3, t->centre));
	set(o, "aperture_mm", t->aperture ? record_reals(2, t->aperture) : json_null());
	set(o, "speed_mm_per_us", t->speed > 0 ? record_real(t->speed) : json_null());
	set(o, "sampling_mhz", record_real(1 / t->dt_us));
	set(o, "samples", json_integer(t->samples));
	set(o, "record_us", record_reals(2, record));
	set(o, "grueneisen", record_real(t->gamma));
	set(o, "eir_samples", t->eir ? json_integer(t->n_eir) : json_null());
	if (!(t->speed > 0)) facts_warn(o, "no speed of sound: --speed gives it");
	if (!t->area) facts_warn(o, "no areas: filtered back-projection takes them all alike");
	if (t->spread > .01)
		facts_warn(o, "distances from the centre spread by %.2g of the radius: not on one sphere",
		           t->spread);
}

static void describe_info(json_t *o, const struct iso_recording_info *i)
{
	const double *f = i->field;

	set(o, "kind", json_string("recording"));
	set(o, "wavelengths", json_integer(i->wavelengths));
	set(o, "frames", json_integer(i->frames));
	set(o, "wavelength_nm",
	    i->wavelength_nm ? record_reals((int)i->wavelengths, i->wavelength_nm) : json_null());
	describe_transducers(o, &i->t);
	set(o, "field_of_view_mm",
	    !i->has_field ? json_null()
	                  : record_pack("{s:[f,f], s:[f,f], s:[f,f]}", "x", f[0], f[1], "y", f[2], f[3], "z",
	                                f[4], f[5]));
	for (int k = 0; k < i->n_warnings; k++) facts_warn(o, "%s", i->warning[k]);
}

int describe_recording(json_t *o, const char *path)
{
	iso_recording *r = NULL;
	double range[2];
	int st = iso_recording_open(&r, path);

	if (st) return st;
	describe_info(o, iso_recording_info(r));
	if (!(st = iso_recording_range(range, r))) {
		set(o, "min", record_real(range[0]));
		set(o, "max", record_real(range[1]));
		if (range[0] == 0 && range[1] == 0) facts_warn(o, "all values are 0");
	}
	iso_recording_free(r);
	return st;
}
