/* SPDX-License-Identifier: BSD-3-Clause */
/* Dead time of a scanner as JSON. */
#include "isotome/rates.h"

#include "core/sized.h"
#include "core/status.h"
#include "file/out.h"
#include "text/json_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[ISO_DEAD_TIMES] = { "non-paralysable", "paralysable" };

static void put_fit(json_t *o, const struct iso_rates *r, enum iso_dead_time model)
{
	const struct iso_rates_fit *f = &r->fit[model];

	json_object_set_new(o, "tau_s", json_real(f->tau_s));
	json_object_set_new(o, "tau_sd_s", json_real(f->tau_sd_s));
	json_object_set_new(o, "n0_per_s", json_real(f->n0));
	json_object_set_new(o, "n0_sd_per_s", json_real(f->n0_sd));
	json_object_set_new(o, "b_per_s", json_real(f->b));
	json_object_set_new(o, r->with_randoms ? "chi2" : "deviance", json_real(f->deviance));
}

static void put(json_t *o, const struct iso_rates *r)
{
	json_object_set_new(o, "model", json_string(models[r->model]));
	put_fit(o, r, r->model);
	json_object_set_new(o, "half_life_s", json_real(r->half_life_s));
	json_object_set_new(o, "highest_n_tau", json_real(r->fit[r->model].highest_n_tau));
	for (int m = 0; m < ISO_DEAD_TIMES; m++) {
		json_t *one = json_object();

		put_fit(one, r, (enum iso_dead_time)m);
		json_object_set_new(o, models[m], one);
	}
}

/* Of each frame: its counts, and those that the model in force expects of a series without randoms. */
static json_t *frames_of(const struct iso_rates *r, const struct iso_rates_series *s)
{
	const struct iso_rates_fit *f = &r->fit[r->model];
	json_t *list = json_array();

	for (int64_t j = 0; j < s->n; j++) {
		json_t *o = json_pack("{s:f, s:f, s:f}", "start_s", s->start_s[j], "length_s", s->length_s[j],
		                      "counts", s->counts[j]);

		if (s->randoms)
			json_object_set_new(o, "randoms", json_real(s->randoms[j]));
		else
			json_object_set_new(
				o, "expected",
				json_real(s->length_s[j] * iso_rates_mean(r->model, f->n0, f->tau_s, f->b,
			                                                  r->half_life_s, s->start_s[j],
			                                                  s->start_s[j] + s->length_s[j])));
		json_array_append_new(list, o);
	}
	return list;
}

int iso_rates_write(const char *path, const struct iso_rates *rates, const struct iso_rates *singles,
                    const struct iso_rates_series *series, const char *record, bool force)
{
	if (!path || !rates || !series) return iso_fail_null(__func__);
	const int64_t failures = iso_json_failures();
	struct iso_rates r, of_singles;
	struct iso_rates_series s;
	json_t *root = NULL;
	char *text = NULL;
	int st = iso_sized_take(&r, "iso_rates", sizeof r, rates);

	if (!st) st = iso_sized_take(&s, "iso_rates_series", sizeof s, series);
	if (!st && singles) st = iso_sized_take(&of_singles, "iso_rates", sizeof of_singles, singles);
	if (!st) st = iso_out_check(path, NULL, force);
	if (!st && record) st = iso_json_parse(&root, path, record, strlen(record));
	if (st) return st;
	if (!root) root = json_object();
	json_object_set_new(root, "version", json_integer(1));
	json_object_set_new(root, "kind", json_string("rates"));
	put(root, &r);
	if (s.start_s && s.length_s && s.counts) json_object_set_new(root, "frames", frames_of(&r, &s));
	if (singles) {
		json_t *o = json_object();

		put(o, &of_singles);
		json_object_set_new(root, "singles", o);
	}
	text = iso_json_text(root, JSON_INDENT(1));
	json_decref(root);
	if (!text || iso_json_failures() != failures) st = iso_fail_memory("rates", s.n * 256);
	if (!st) st = iso_out_text(path, text);
	free(text);
	return st;
}

/* A number that is not negative; absent: 0. */
static int number(double *v, const json_t *o, const char *key, bool must, const char *path)
{
	const json_t *x = json_object_get(o, key);

	*v = x ? json_number_value(x) : 0;
	if ((!x && !must) || (json_is_number(x) && *v >= 0 && isfinite(*v))) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s: '%s' must be a number, 0 or above", path, key);
}

static int take_fit(struct iso_rates *r, const json_t *o, enum iso_dead_time m, const char *path)
{
	struct iso_rates_fit *f = &r->fit[m];
	int st = number(&f->tau_s, o, "tau_s", true, path);

	if (!st) st = number(&f->tau_sd_s, o, "tau_sd_s", false, path);
	if (!st) st = number(&f->n0, o, "n0_per_s", false, path);
	if (!st) st = number(&f->n0_sd, o, "n0_sd_per_s", false, path);
	if (!st) st = number(&f->b, o, "b_per_s", false, path);
	if (!st) st = number(&f->deviance, o, r->with_randoms ? "chi2" : "deviance", false, path);
	return st;
}

static int take(struct iso_rates *r, const json_t *root, const char *path)
{
	const char *kind = json_string_value(json_object_get(root, "kind"));
	const char *model = json_string_value(json_object_get(root, "model"));
	int st, m = 0;

	if (!kind || strcmp(kind, "rates") != 0)
		return iso_fail(ISO_EINPUT, "%s: is of kind %.20s, expected rates (a dead time)", path,
		                kind ? kind : "not said");
	while (m < ISO_DEAD_TIMES && (!model || strcmp(model, models[m]) != 0)) m++;
	if (m == ISO_DEAD_TIMES)
		return iso_fail(ISO_EINPUT, "%s: model is '%.20s', must be non-paralysable or paralysable",
		                path, model ? model : "not said");
	r->model = (enum iso_dead_time)m;
	r->with_randoms = json_object_get(root, "chi2");
	st = number(&r->half_life_s, root, "half_life_s", false, path);
	for (int k = 0; k < ISO_DEAD_TIMES && !st; k++) {
		const json_t *o = k == m ? root : json_object_get(root, models[k]);

		if (o) st = take_fit(r, o, (enum iso_dead_time)k, path);
	}
	return st;
}

int iso_rates_read(struct iso_rates *rates, const char *path)
{
	if (!rates || !path) return iso_fail_null(__func__);
	struct iso_rates r = { .size = sizeof r };
	json_t *root = NULL;
	int st = iso_sized_clear(rates, "iso_rates", sizeof *rates);

	if (!st) st = iso_json_read(&root, path);
	if (!st) st = take(&r, root, path);
	json_decref(root);
	if (!st) iso_sized_give(rates, sizeof r, &r);
	return st;
}
