/* SPDX-License-Identifier: BSD-3-Clause */
/* What transducers are, and what a recording of them holds. */
#include "describe.h"
#include "problem/record.h"

#include "core/size.h"
#include "core/status.h"

#include <math.h>

enum { PIECE = 1 << 24 }; /* values of traces in memory at a time */

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

static void warn(json_t *o, json_t *text)
{
	json_array_append_new(json_object_get(o, "warnings"), text);
}

static json_t *positive(double v)
{
	return v > 0 ? record_real(v) : json_null();
}

/* ---- transducers ---- */

static void describe_record(json_t *o, const struct iso_transducers *t)
{
	set(o, "speed_mm_per_us", positive(t->speed));
	set(o, "sampling_mhz", record_real(1 / t->dt_us));
	set(o, "samples", json_integer(t->samples));
	set(o, "record_us",
	    record_pack("[f,f]", t->first_us, t->first_us + (double)(t->samples - 1) * t->dt_us));
	set(o, "grueneisen", record_real(t->gamma));
	set(o, "eir_samples", t->eir ? json_integer(t->n_eir) : json_null());
}

void describe_transducers(json_t *o, const struct iso_transducers *t)
{
	set(o, "transducers", json_integer(t->n));
	set(o, "shape", json_string(t->rings ? "rings on a sphere" : "list"));
	set(o, "radius_mm", record_real(t->radius));
	set(o, "centre_mm", record_pack("[f,f,f]", t->centre[0], t->centre[1], t->centre[2]));
	set(o, "aperture_mm",
	    t->aperture ? record_pack("[f,f]", t->aperture[0], t->aperture[1]) : json_null());
	describe_record(o, t);
	if (!(t->speed > 0)) warn(o, json_string("no speed of sound: --speed gives it"));
	if (!t->area) warn(o, json_string("no areas: filtered back-projection takes them all alike"));
	if (t->spread > .01)
		warn(o, json_sprintf("distances from the centre spread by %.2g of the radius: not on one "
		                     "sphere",
		                     t->spread));
}

/* ---- recordings ---- */

static json_t *wavelengths(const struct iso_recording_info *i)
{
	json_t *list = i->wavelength_nm ? json_array() : json_null();

	for (int64_t k = 0; k < i->wavelengths && i->wavelength_nm; k++)
		json_array_append_new(list, record_real(i->wavelength_nm[k]));
	return list;
}

static void widen(double range[2], const iso_real *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (y[i] < range[0]) range[0] = y[i];
		if (y[i] > range[1]) range[1] = y[i];
	}
}

/* Of image k, `most` transducers at a time, in y. */
static int widen_by_image(double range[2], iso_real *y, const iso_recording *r, int64_t k, int64_t most)
{
	const struct iso_recording_info *i = iso_recording_info(r);
	int st = ISO_OK;

	for (int64_t q = 0; q < i->t.n && !st; q += most) {
		int64_t n = i->t.n - q < most ? i->t.n - q : most;

		st = iso_recording_read_some(y, r, k % i->wavelengths, k / i->wavelengths, q, n);
		if (!st) widen(range, y, n * i->t.samples);
	}
	return st;
}

/* Least and greatest value of all traces. */
static int describe_values(json_t *o, const iso_recording *r)
{
	const struct iso_recording_info *i = iso_recording_info(r);
	int64_t most = i->t.samples < PIECE ? PIECE / i->t.samples : 1;
	double range[2] = { INFINITY, -INFINITY };
	iso_real *y;
	int st = ISO_OK;

	most = most < i->t.n ? most : i->t.n;
	if (!(y = size_alloc(most * i->t.samples, sizeof *y)))
		return iso_fail_memory("traces", most * i->t.samples * (int64_t)sizeof *y);
	for (int64_t k = 0; k < i->wavelengths * i->frames && !st; k++)
		st = widen_by_image(range, y, r, k, most);
	free(y);
	if (st) return st;
	set(o, "min", record_real(range[0]));
	set(o, "max", record_real(range[1]));
	if (range[0] == 0 && range[1] == 0) warn(o, json_string("all values are 0"));
	return ISO_OK;
}

static void describe_info(json_t *o, const struct iso_recording_info *i)
{
	const double *f = i->field;

	set(o, "kind", json_string("recording"));
	set(o, "wavelengths", json_integer(i->wavelengths));
	set(o, "frames", json_integer(i->frames));
	set(o, "wavelength_nm", wavelengths(i));
	describe_transducers(o, &i->t);
	set(o, "field_of_view_mm",
	    !i->has_field ? json_null()
	                  : record_pack("{s:[f,f], s:[f,f], s:[f,f]}", "x", f[0], f[1], "y", f[2], f[3], "z",
	                                f[4], f[5]));
	for (int k = 0; k < i->n_warnings; k++) warn(o, json_string(i->warning[k]));
}

int describe_recording(json_t *o, const char *path)
{
	iso_recording *r = NULL;
	int st = iso_recording_open(&r, path);

	if (!st) {
		describe_info(o, iso_recording_info(r));
		st = describe_values(o, r);
	}
	iso_recording_free(r);
	return st;
}
