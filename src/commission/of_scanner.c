/* SPDX-License-Identifier: BSD-3-Clause */
/* The scanner in files of commissioning. A hash of the description would refuse the same ring from another file, or after
   a change of a comment. */
#include "of_scanner.h"

#include "base/fail.h"

#include <inttypes.h>
#include <math.h>

enum { SAMPLES = 64 };

#define SAME_MM .1

static const double *sample(const iso_scanner *s, int j)
{
	return iso_scanner_positions(s) + 3 * (iso_scanner_crystals(s) * j / SAMPLES);
}

json_t *of_scanner_json(const iso_scanner *s)
{
	json_t *places = json_array();

	for (int j = 0; j < SAMPLES; j++) {
		const double *p = sample(s, j);

		json_array_append_new(places, json_pack("[f, f, f]", p[0], p[1], p[2]));
	}
	return json_pack("{s:s, s:I, s:o}", "name", iso_scanner_name(s), "crystals",
	                 (json_int_t)iso_scanner_crystals(s), "sample_mm", places);
}

int of_scanner_check(const json_t *o, const char *path, const iso_scanner *s)
{
	const json_t *places = json_object_get(o, "sample_mm"), *n = json_object_get(o, "crystals");

	if (!json_is_integer(n) || json_array_size(places) != SAMPLES)
		return iso_fail(ISO_EINPUT, "%s: 'scanner' must have crystals, and sample_mm of %d places",
		                path, SAMPLES);
	if (!s) return ISO_OK;
	if (json_integer_value(n) != iso_scanner_crystals(s))
		return iso_fail(ISO_EINPUT,
		                "%s: is of a scanner of %" JSON_INTEGER_FORMAT " crystals, %s has %" PRId64,
		                path, json_integer_value(n), iso_scanner_name(s), iso_scanner_crystals(s));
	for (int j = 0; j < SAMPLES; j++) {
		double off = 0;

		for (size_t a = 0; a < 3; a++) {
			const json_t *v = json_array_get(json_array_get(places, (size_t)j), a);

			off += pow((json_is_number(v) ? json_number_value(v) : NAN) - sample(s, j)[a], 2);
		}
		if (!(sqrt(off) <= SAME_MM))
			return iso_fail(ISO_EINPUT,
			                "%s: is of another scanner: its crystal %" PRId64
			                " is %.3g mm from that of %s, at most 0.1 is the same",
			                path, iso_scanner_crystals(s) * j / SAMPLES, sqrt(off),
			                iso_scanner_name(s));
	}
	return ISO_OK;
}
