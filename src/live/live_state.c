/* SPDX-License-Identifier: BSD-3-Clause */
/* What the page shows, as JSON. */
#include "live.h"

#include "text/json_file.h"

#include <math.h>

/* null where it is not finite, as JSON has no such number. */
static json_t *number(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* Steps a second over the marks; while none comes the rate falls. */
static double rate(const struct live_facts *f, double now_s)
{
	const struct live_mark *first = f->mark;
	double seconds = f->n_marks > 0 ? now_s - first->at_s : 0;
	double since = f->n_marks > 0 ? now_s - f->mark[f->n_marks - 1].at_s : 0;

	if (f->n_marks < 2) return NAN;
	/* up to the last step, unless the next is already later than it should be */
	double one = (seconds - since) / (double)(f->mark[f->n_marks - 1].done - first->done);
	double until = since > one + LIVE_MARK_S ? seconds : seconds - since;

	return (double)(f->mark[f->n_marks - 1].done - first->done) / until;
}

static json_t *curve(const struct live_facts *f)
{
	json_t *at = json_array(), *value = json_array();

	for (int i = 0; i < f->n_points; i++) {
		json_array_append_new(at, number(f->point[i].at));
		json_array_append_new(value, number(f->point[i].value));
	}
	return json_pack("{s:s, s:o, s:o}", "figure", f->figure, "iteration", at, "value", value);
}

static json_t *warnings(const struct live_facts *f)
{
	int64_t n = f->warnings < LIVE_WARNINGS ? f->warnings : LIVE_WARNINGS;
	json_t *last = json_array();

	for (int64_t k = f->warnings - n; k < f->warnings; k++)
		json_array_append_new(last, json_string(f->warning[k % LIVE_WARNINGS]));
	return json_pack("{s:I, s:o}", "count", (json_int_t)f->warnings, "last", last);
}

/* How far the stage is, with the time that has gone by since it was told. */
static json_t *stage(const struct live_facts *f, double now_s)
{
	double since = f->told_s > 0 ? now_s - f->told_s : 0;
	double left = f->left_s < 0 ? NAN : fmax(0, f->left_s - since);

	return json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:s}", "name", f->stage, "part", f->part, "done",
	                 (json_int_t)f->done, "total", (json_int_t)f->total, "elapsed_s",
	                 number(f->elapsed_s + since), "left_s", number(left), "note", f->note);
}

static json_t *iterations(const struct live_facts *f, double now_s)
{
	double per = f->per > 0 ? (double)f->per : 1, steps_s = rate(f, now_s);

	return json_pack("{s:o, s:o, s:o, s:o, s:s, s:o}", "done", number((double)f->steps / per), "total",
	                 f->steps_total > 0 ? number((double)f->steps_total / per) : json_null(),
	                 "iterations_a_second", number(steps_s / per), "rows_a_second",
	                 f->rows > 0 ? number(steps_s / per * (double)f->rows) : json_null(), "rows",
	                 f->row_name, "updates", json_integer(f->steps));
}

static json_t *saving(const struct live_facts *f, double now_s)
{
	return json_pack("{s:b, s:b, s:b, s:I, s:o}", "can", f->can_save, "asked", f->save_asked, "failed",
	                 f->save_failed, "count", (json_int_t)f->saves, "ago_s",
	                 number(f->saved_s > 0 ? now_s - f->saved_s : NAN));
}

char *iso_live_state(const struct live_facts *f, double now_s, double began_s)
{
	json_t *root = json_pack(
		"{s:s, s:s, s:o, s:b, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:I, s:s, s:b}", "isotome",
		iso_version(), "title", f->title, "since_s", number(now_s - began_s), "ended", f->has_ended,
		"outcome", f->ended, "stopping", f->stop_asked, "stage", stage(f, now_s), "iterations",
		iterations(f, now_s), "objective", curve(f), "warnings", warnings(f), "save",
		saving(f, now_s), "image", (json_int_t)f->image, "unit", f->unit, "at_point", f->at_point);
	char *text = root ? iso_json_text(root, JSON_COMPACT) : NULL;

	json_decref(root);
	return text;
}
