/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of isotome timing and isotome rates. */
#include "describe.h"

#include "isotome/rates.h"
#include "isotome/timing.h"

#include <math.h>
#include <string.h>

static int describe_times(json_t *o, const json_t *root, const char *path)
{
	iso_times *t = NULL;
	double square = 0, most = 0;
	int st = iso_times_read(&t, path, NULL);

	if (st) return st;
	const int64_t n = iso_times_crystals(t);
	const double *v = iso_times_offsets(t);

	for (int64_t a = 0; a < n; a++) {
		square += v[a] * v[a] / (double)n;
		most = fmax(most, fabs(v[a]));
	}
	set(o, "kind", json_string("time offsets of crystals"));
	json_object_set(o, "scanner", json_object_get(json_object_get(root, "scanner"), "name"));
	set(o, "crystals", json_integer((json_int_t)n));
	set(o, "fwhm_ps", json_real(iso_times_fwhm(t)));
	set(o, "fwhm_sd_ps", json_real(iso_times_fwhm_sd(t)));
	set(o, "rms_offset_ps", json_real(sqrt(square)));
	set(o, "largest_offset_ps", json_real(most));
	json_object_set(o, "parts", json_object_get(root, "parts"));
	set(o, "sigma_of_crystals", json_boolean(iso_times_sigma(t) != NULL));
	iso_times_free(t);
	return ISO_OK;
}

static int describe_rates(json_t *o, const json_t *root, const char *path)
{
	struct iso_rates r = { .size = sizeof r };
	int st = iso_rates_read(&r, path);

	if (st) return st;
	set(o, "kind", json_string("dead time of a scanner"));
	json_object_set(o, "model", json_object_get(root, "model"));
	set(o, "dead_time_us", json_real(1e6 * r.fit[r.model].tau_s));
	set(o, "dead_time_sd_us", json_real(1e6 * r.fit[r.model].tau_sd_s));
	set(o, "frames", json_integer((json_int_t)json_array_size(json_object_get(root, "frames"))));
	return ISO_OK;
}

bool describe_commission(int *st, json_t *o, const json_t *root, const char *path)
{
	const char *kind = json_string_value(json_object_get(root, "kind"));
	const bool times = kind && strcmp(kind, "times") == 0, rates = kind && strcmp(kind, "rates") == 0;

	if (times || rates) *st = (times ? describe_times : describe_rates)(o, root, path);
	return times || rates;
}
