/* SPDX-License-Identifier: BSD-3-Clause */
/* Offsets of crystals: kept, used, and as JSON. */
#include "times.h"

#include "base/constants.h"
#include "core/size.h"
#include "core/sized.h"
#include "core/status.h"
#include "file/out.h"
#include "of_scanner.h"
#include "text/json_file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define CORRECT_PIECE (1 << 16)

void iso_times_free(iso_times *t)
{
	if (!t) return;
	free(t->offset);
	free(t->sd);
	free(t->sigma);
	json_decref(t->scanner);
	free(t);
}

static int make(iso_times **times, int64_t n, bool sigma)
{
	iso_times *t = size_alloc(1, sizeof *t);

	if (t) {
		t->crystals = n;
		t->offset = size_alloc(n, sizeof *t->offset);
		t->sd = size_alloc(n, sizeof *t->sd);
		t->sigma = sigma ? size_alloc(n, sizeof *t->sigma) : NULL;
	}
	if (!t || !t->offset || !t->sd || (sigma && !t->sigma)) {
		iso_times_free(t);
		return iso_fail_memory("time offsets", 3 * n * (int64_t)sizeof *t->offset);
	}
	*times = t;
	return ISO_OK;
}

int iso_times_create(iso_times **times, const iso_scanner *s, const double *offset, const double *sd,
                     const double *sigma, const struct iso_timing_info *info)
{
	if (!times || !s || !offset || !sd || !info) return iso_fail_null(__func__);
	const int64_t n = iso_scanner_crystals(s);
	struct iso_timing_info i;
	iso_times *t = NULL;
	int st = iso_sized_take(&i, "iso_timing_info", sizeof i, info);

	if (!st && n < 1) st = iso_fail(ISO_EARG, "timing: scanner %s has no crystals", iso_scanner_name(s));
	if (st || (st = make(&t, n, sigma != NULL))) return st;
	memcpy(t->offset, offset, (size_t)n * sizeof *offset);
	memcpy(t->sd, sd, (size_t)n * sizeof *sd);
	if (sigma) memcpy(t->sigma, sigma, (size_t)n * sizeof *sigma);
	t->info = i;
	t->fwhm = ISO_FWHM_PER_SIGMA * i.sigma_ps;
	t->fwhm_sd = ISO_FWHM_PER_SIGMA * i.sigma_sd_ps;
	if (!(t->scanner = of_scanner_json(s))) {
		iso_times_free(t);
		return iso_fail_memory("time offsets", n);
	}
	*times = t;
	return ISO_OK;
}

int64_t iso_times_crystals(const iso_times *t)
{
	return t ? t->crystals : 0;
}

const double *iso_times_offsets(const iso_times *t)
{
	return t ? t->offset : NULL;
}

const double *iso_times_sd(const iso_times *t)
{
	return t ? t->sd : NULL;
}

const double *iso_times_sigma(const iso_times *t)
{
	return t ? t->sigma : NULL;
}

double iso_times_fwhm(const iso_times *t)
{
	return t ? t->fwhm : 0;
}

double iso_times_fwhm_sd(const iso_times *t)
{
	return t ? t->fwhm_sd : 0;
}

int iso_times_correct(struct iso_events *e, const iso_times *t)
{
	if (!e || !t) return iso_fail_null(__func__);
	if (!e->crystal) return iso_fail(ISO_EARG, "times: the events have no crystal numbers");
	for (int64_t j = 0; j < 2 * e->n; j++)
		if (e->crystal[j] >= t->crystals)
			return iso_fail(ISO_EARG, "times: event %" PRId64 " is of crystal %u of %" PRId64,
			                j / 2, e->crystal[j], t->crystals);
	for (int64_t j = 0; j < e->n; j++)
		e->v[j].dt_ps = (float)((double)e->v[j].dt_ps -
		                        (t->offset[e->crystal[2 * j]] - t->offset[e->crystal[2 * j + 1]]));
	return ISO_OK;
}

/* ---- the file ---- */

static json_t *list_of(int64_t n, const double *v)
{
	json_t *a = json_array();

	for (int64_t i = 0; i < n; i++) json_array_append_new(a, json_real(v[i]));
	return a;
}

static json_t *root_of(const iso_times *t, const char *record, const char *path)
{
	json_t *root = NULL;

	if (record && iso_json_parse(&root, path, record, strlen(record))) return NULL;
	if (!root) root = json_object();
	json_object_set_new(root, "version", json_integer(1));
	json_object_set_new(root, "kind", json_string("times"));
	json_object_set(root, "scanner", t->scanner);
	json_object_set_new(root, "fwhm_ps", json_real(t->fwhm));
	json_object_set_new(root, "fwhm_sd_ps", json_real(t->fwhm_sd));
	json_object_set_new(root, "randoms_share", json_real(t->info.share));
	json_object_set_new(root, "parts", json_integer(t->info.parts));
	json_object_set_new(root, "crystals_without_events", json_integer(t->info.unseen));
	json_object_set_new(root, "steps", json_integer(t->info.steps));
	json_object_set_new(root, "loglik", json_real(t->info.loglik));
	json_object_set_new(root, "offsets_ps", list_of(t->crystals, t->offset));
	json_object_set_new(root, "sd_ps", list_of(t->crystals, t->sd));
	json_object_set_new(root, "crystal_sigma_ps",
	                    t->sigma ? list_of(t->crystals, t->sigma) : json_null());
	return root;
}

int iso_times_write(const char *path, const iso_times *t, const char *record, bool force)
{
	if (!path || !t) return iso_fail_null(__func__);
	const int64_t failures = iso_json_failures();
	int st = iso_out_check(path, NULL, force);
	json_t *root = st ? NULL : root_of(t, record, path);
	char *text = root ? iso_json_text(root, JSON_INDENT(1)) : NULL;

	json_decref(root);
	if (!st && (!text || iso_json_failures() != failures))
		st = iso_fail_memory("time offsets", t->crystals * 64);
	if (!st) st = iso_out_text(path, text);
	free(text);
	return st;
}

static int read_list(double *v, const json_t *root, const char *key, int64_t n, double least,
                     const char *path)
{
	const json_t *a = json_object_get(root, key);

	if (json_array_size(a) != (size_t)n)
		return iso_fail(ISO_EINPUT, "%s: '%s' must be a list of %" PRId64 " numbers, one a crystal",
		                path, key, n);
	for (int64_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(a, (size_t)i);

		v[i] = json_is_number(x) ? json_number_value(x) : NAN;
		if (!(v[i] >= least) || !isfinite(v[i]))
			return iso_fail(ISO_EINPUT,
			                "%s: '%s' has at place %" PRId64 " no number that can be used", path,
			                key, i);
	}
	return ISO_OK;
}

static int take(iso_times **times, const json_t *root, const char *path, const iso_scanner *s)
{
	const json_t *scanner = json_object_get(root, "scanner"),
		     *sigma = json_object_get(root, "crystal_sigma_ps");
	const char *kind = json_string_value(json_object_get(root, "kind"));
	iso_times *t = NULL;
	int st;

	if (!kind || strcmp(kind, "times") != 0)
		return iso_fail(ISO_EINPUT, "%s: is of kind %.20s, expected times (offsets of crystals)",
		                path, kind ? kind : "not said");
	if ((st = of_scanner_check(scanner, path, s))) return st;
	const json_int_t n = json_integer_value(json_object_get(scanner, "crystals"));

	if (json_array_size(json_object_get(root, "offsets_ps")) != (size_t)n)
		return iso_fail(ISO_EINPUT,
		                "%s: 'offsets_ps' must be a list of %" JSON_INTEGER_FORMAT " numbers", path,
		                n);
	if ((st = make(&t, n, json_is_array(sigma)))) return st;
	t->fwhm = json_number_value(json_object_get(root, "fwhm_ps"));
	t->fwhm_sd = json_number_value(json_object_get(root, "fwhm_sd_ps"));
	t->info.size = sizeof t->info;
	t->info.share = json_number_value(json_object_get(root, "randoms_share"));
	t->info.loglik = json_number_value(json_object_get(root, "loglik"));
	t->info.parts = json_integer_value(json_object_get(root, "parts"));
	t->info.unseen = json_integer_value(json_object_get(root, "crystals_without_events"));
	t->info.steps = (int)json_integer_value(json_object_get(root, "steps"));
	t->info.sigma_ps = t->fwhm / ISO_FWHM_PER_SIGMA;
	t->info.sigma_sd_ps = t->fwhm_sd / ISO_FWHM_PER_SIGMA;
	t->scanner = json_deep_copy(scanner);
	if (!t->scanner) st = iso_fail_memory("time offsets", n);
	if (!st) st = read_list(t->offset, root, "offsets_ps", n, -INFINITY, path);
	if (!st) st = read_list(t->sd, root, "sd_ps", n, 0, path);
	if (!st && t->sigma) st = read_list(t->sigma, root, "crystal_sigma_ps", n, 0, path);
	if (st)
		iso_times_free(t);
	else
		*times = t;
	return st;
}

int iso_times_read(iso_times **times, const char *path, const iso_scanner *s)
{
	if (!times || !path) return iso_fail_null(__func__);
	json_t *root = NULL;
	int st = iso_json_read(&root, path);

	if (!st) st = take(times, root, path, s);
	json_decref(root);
	return st;
}
