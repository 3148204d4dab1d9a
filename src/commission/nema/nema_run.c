/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures after NEMA from files: scanner, sinograms of runs, and the door of the library. */
#include "nema_point.h"

#include "base/fail.h"
#include "core/sized.h"
#include "isotome/array.h"
#include "text/json_file.h"

#include <math.h>
#include <string.h>

/* ---- JSON ---- */

json_t *iso_nema_real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *iso_nema_list(const double *v, int64_t n, size_t stride)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < n; i++)
		json_array_append_new(
			list,
			iso_nema_real(*(const double *)(const void *)((const char *)v + (size_t)i * stride)));
	return list;
}

void iso_nema_set(json_t *o, const char *key, double v)
{
	json_object_set_new(o, key, iso_nema_real(v));
}

/* ---- files of runs ---- */

int iso_nema_scanner(struct nema_job *j, double length_mm)
{
	const char *path = j->o.scanner ? j->o.scanner : j->series.scanner[0] ? j->series.scanner : NULL;
	const struct ssrb_choice c = { j->o.angles, j->o.bin_mm, j->o.pitch_mm, length_mm };
	struct iso_events_options read = { .size = sizeof read, .ctx = j->ctx };
	int st;

	st = path ? iso_scanner_read(&j->scanner, path)
	          : iso_events_scanner(&j->scanner, j->series.run[0].events, &read, false);
	if (st) return st;
	if (!j->scanner)
		return iso_fail(ISO_EARG,
		                "%s brings no scanner: give one, in the description or by 'scanner'",
		                j->series.run[0].events);
	return iso_ssrb_of(&j->g, j->scanner, &c);
}

struct ssrb_file iso_nema_file(const struct nema_job *j, const struct nema_run *r)
{
	return (struct ssrb_file){
		.path = r->events,
		.read = { .size = sizeof(struct iso_events_options), .scanner = j->scanner, .ctx = j->ctx },
		.timed = r->timed,
		.from_s = r->from_s,
		.to_s = r->to_s
	};
}

int iso_nema_prompts(int32_t *cells, struct ssrb_told *told, const struct nema_job *j,
                     const struct nema_run *r)
{
	const struct ssrb_file f = iso_nema_file(j, r);
	int st = iso_ssrb_count(cells, told, &j->g, &f, 1);

	if (!st && told->used == 0)
		return iso_fail(ISO_EINPUT, "%s: no event%s lies in a slice of the scanner", r->events,
		                r->timed ? " of this frame" : "");
	return st;
}

int iso_nema_late(int32_t *cells, bool *has_late, const struct nema_job *j, const struct nema_run *r)
{
	struct ssrb_file f = iso_nema_file(j, r);
	iso_event_file *file = NULL;
	struct ssrb_told told;
	int st;

	*has_late = false;
	if (r->no_delayed) return ISO_OK;
	if (!r->delayed[0]) {
		if (iso_event_file_open(&file, r->events, &f.read)) return ISO_OK; /* text has none */
		bool none = iso_event_file_info(file)->delayeds == 0;

		iso_event_file_close(file);
		if (none) return ISO_OK;
	} else {
		f.path = r->delayed;
	}
	f.read.delayeds = true;
	if ((st = iso_ssrb_count(cells, &told, &j->g, &f, 1))) return st;
	*has_late = true;
	return ISO_OK;
}

/* ---- NU 4 quality ---- */

static json_t *rods_json(const struct nema_mouse *q, const struct nema_mouse_result *r)
{
	json_t *list = json_array();

	for (int i = 0; i < q->n_rods; i++) {
		json_t *o = json_object();

		iso_nema_set(o, "diameter_mm", q->rod[i][2]);
		iso_nema_set(o, "rc", r->rc[i]);
		iso_nema_set(o, "std_percent", r->rod_std_percent[i]);
		iso_nema_set(o, "rc_err", fabs(r->rc[i]) * r->rod_std_percent[i] / 100);
		iso_nema_set(o, "rc_middle", r->rc_middle[i]);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *cold_json(const struct nema_mouse *q, const struct nema_mouse_result *r)
{
	json_t *list = json_array();

	for (int i = 0; i < q->n_cold; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "name", json_string(q->cold_name[i]));
		iso_nema_set(o, "sor", r->sor[i]);
		iso_nema_set(o, "std_percent", r->cold_std_percent[i]);
		iso_nema_set(o, "sor_err", fabs(r->sor[i]) * r->cold_std_percent[i] / 100);
		json_array_append_new(list, o);
	}
	return list;
}

static int run_mouse(struct nema_job *j)
{
	struct nema_mouse_result r;
	struct iso_array x = { 0 };
	struct nema_mouse q;
	int st;

	if (!j->o.image) return iso_fail(ISO_EARG, "nema: 'image' is missing");
	if ((st = iso_nema_mouse_read(&q, j->path, &j->standard)) ||
	    (st = iso_read_image(&x, j->o.image, ISO_FINITE, NULL)))
		return st;
	if (!(st = iso_nema_mouse(&r, &x, &q))) {
		json_t *o = json_object(), *u = json_object();

		iso_nema_set(u, "mean", r.mean);
		iso_nema_set(u, "max", r.most);
		iso_nema_set(u, "min", r.least);
		iso_nema_set(u, "std_percent", r.std_percent);
		json_object_set_new(o, "uniform", u);
		json_object_set_new(o, "rods", rods_json(&q, &r));
		json_object_set_new(o, "cold", cold_json(&q, &r));
		json_object_set_new(j->json, "nu4", o);
	}
	iso_array_free(&x);
	return st;
}

/* ---- the door ---- */

static enum nema_of series_of(enum iso_nema_test test)
{
	return test == ISO_NEMA_SENSITIVITY ? NEMA_OF_SENSITIVITY
	       : test == ISO_NEMA_COUNTING  ? NEMA_OF_COUNTING
	                                    : NEMA_OF_ACCURACY;
}

static int work(struct nema_job *j, enum iso_nema_test test)
{
	int st;

	if ((st = iso_nema_standard_read(&j->standard, j->o.standard))) return st;
	if (test == ISO_NEMA_MOUSE) return run_mouse(j);
	if ((st = iso_nema_series_read(&j->series, j->path, series_of(test), &j->standard))) return st;
	if (test == ISO_NEMA_COUNTING) return iso_nema_counting(j);
	if (test == ISO_NEMA_ACCURACY) return iso_nema_accuracy(j);
	if ((st = iso_nema_scanner(j, 0))) return st;
	return j->series.point ? iso_nema_point_sensitivity(j) : iso_nema_sensitivity(j);
}

int iso_nema_run(char **json, iso_ctx *ctx, enum iso_nema_test test, const char *description,
                 const struct iso_nema_options *o)
{
	if (!json || !ctx || !description) return iso_fail_null(__func__);
	struct nema_job j = { .ctx = ctx, .path = description, .o = { .size = sizeof j.o } };
	int64_t failures = iso_json_failures();
	int st;

	if ((unsigned)test > ISO_NEMA_MOUSE)
		return iso_fail(ISO_EARG, "nema: test is %d, must be 0 to 3", (int)test);
	if (o && (st = iso_sized_take(&j.o, "iso_nema_options", sizeof j.o, o))) return st;
	j.json = json_object();
	st = work(&j, test);
	char *text = st ? NULL : iso_json_text(j.json, JSON_INDENT(1));

	if (!st && (!text || iso_json_failures() != failures)) st = iso_fail_memory("nema", 1 << 16);
	json_decref(j.json);
	iso_nema_series_free(&j.series);
	iso_scanner_free(j.scanner);
	if (st)
		free(text);
	else
		*json = text;
	return st;
}

void iso_nema_free(char *json)
{
	free(json);
}

static void add_name(char *to, const char *name)
{
	if (!name[0]) return;
	strcat(to, name);
	strcat(to, "\n");
}

int iso_nema_inputs(char **names, enum iso_nema_test test, const char *description)
{
	if (!names || !description) return iso_fail_null(__func__);
	struct nema_standard standard;
	struct nema_series s = { 0 };
	char *text;
	int st;

	if ((st = iso_nema_standard_read(&standard, NULL))) return st;
	if (test != ISO_NEMA_MOUSE &&
	    (st = iso_nema_series_read(&s, description, series_of(test), &standard)))
		return st;
	text = calloc((size_t)(4 * s.n + 4), PATH_MAX + 1);
	if (text) {
		add_name(text, s.scanner);
		add_name(text, s.empty.events);
		add_name(text, s.empty.delayed);
		for (int k = 0; k < s.n; k++) {
			bool again =
				k > 0 && s.run[k].timed && strcmp(s.run[k].events, s.run[k - 1].events) == 0;

			if (again) continue;
			add_name(text, s.run[k].events);
			add_name(text, s.run[k].delayed);
			add_name(text, s.run[k].image);
			add_name(text, s.run[k].truth);
		}
		*names = text;
	} else {
		st = iso_fail_memory("nema", (int64_t)(4 * s.n + 4) * PATH_MAX);
	}
	iso_nema_series_free(&s);
	return st;
}
