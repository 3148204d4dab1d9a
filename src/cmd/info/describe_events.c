/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file of events holds: how many, where, when, and what corrections. */
#include "describe.h"

#include "cmd/cmd.h"
#include "core/status.h"
#include "io/events.h"
#include "io/format.h"
#include "problem/strip/strip_opt.h"

#include <math.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 }; /* events in memory at a time */

enum { TIME = 4, COUNT, MULT, ADD, VALUES };

struct tally {
	int64_t n, bad;
	double low[VALUES], high[VALUES]; /* x, y, z in mm, dt in ps, then as named */
	double counts;
};

static void extend(struct tally *t, int i, double v)
{
	t->low[i] = fmin(t->low[i], v);
	t->high[i] = fmax(t->high[i], v);
}

static void add_event(struct tally *t, const struct iso_events *e, int64_t k)
{
	for (int i = 0; i < 3; i++) {
		extend(t, i, e->v[k].p1[i]);
		extend(t, i, e->v[k].p2[i]);
	}
	extend(t, 3, e->v[k].dt_ps);
	if (e->time_ms) extend(t, TIME, e->time_ms[k] / 1e3);
	if (e->count) extend(t, COUNT, (double)e->count[k]);
	if (e->mult) extend(t, MULT, (double)e->mult[k]);
	if (e->add) extend(t, ADD, (double)e->add[k]);
	t->counts += e->count ? (double)e->count[k] : 1;
}

static void add_block(struct tally *t, const struct iso_events *e)
{
	for (int64_t k = 0; k < e->n; k++)
		if (!iso_event_bad(&e->v[k])) add_event(t, e, k);
	t->n += e->n;
	t->bad += e->n_bad;
}

static int add_file(struct tally *t, const iso_event_file *f)
{
	int64_t n = iso_event_file_info(f)->n;
	struct iso_events e = { 0 };
	int st = iso_event_file_block(&e, f, n < BLOCK ? n : BLOCK);

	for (int64_t i = 0; i < n && !st; i += BLOCK) {
		st = iso_event_file_read(&e, f, i, n - i < BLOCK ? n - i : BLOCK);
		if (!st) add_block(t, &e);
	}
	iso_events_free(&e);
	return st;
}

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

static void warn(json_t *o, json_t *text)
{
	json_array_append_new(json_object_get(o, "warnings"), text);
}

static json_t *range(const struct tally *t, int i)
{
	return t->low[i] <= t->high[i] ? record_pack("[f,f]", t->low[i], t->high[i]) : json_null();
}

static void set_if(json_t *o, const struct tally *t, const char *key, int i)
{
	if (t->low[i] <= t->high[i]) set(o, key, range(t, i));
}

static void put_tally(json_t *o, const struct tally *t)
{
	set(o, "events", json_integer(t->n));
	set(o, "bad", json_integer(t->bad));
	set(o, "ends_mm", json_pack("{s:o, s:o, s:o}", "x", range(t, 0), "y", range(t, 1), "z", range(t, 2)));
	set(o, "dt_ps", range(t, 3));
	set(o, "time_of_flight", json_boolean(t->low[3] < 0 || t->high[3] > 0));
	set_if(o, t, "time_s", TIME);
	set_if(o, t, "counts_each", COUNT);
	if (t->low[COUNT] <= t->high[COUNT]) set(o, "counts", record_real(t->counts));
	set_if(o, t, "multiplicative", MULT);
	set_if(o, t, "additive", ADD);
}

static void put_info(json_t *o, const struct iso_events_info *i)
{
	static const char *const name[] = { "attenuation", "normalisation", "scatter", "randoms" };
	const bool there[] = { i->attenuation, i->normalisation, i->scatter, i->randoms };
	json_t *corrections = json_array();

	for (int k = 0; k < 4; k++)
		if (there[k]) json_array_append_new(corrections, json_string(name[k]));
	set(o, "record_bytes", json_integer(i->bytes));
	set(o, "corrections", corrections);
	set(o, "crystal_numbers", json_boolean(i->has_crystal));
	if (i->tof_fwhm_ps > 0) set(o, "tof_fwhm_ps", record_real(i->tof_fwhm_ps));
	if (i->tof_bin_ps > 0) set(o, "tof_bin_ps", record_real(i->tof_bin_ps));
	if (i->duration_s > 0) {
		set(o, "start_s", record_real(i->start_s));
		set(o, "duration_s", record_real(i->duration_s));
	}
	if (i->isotope[0]) set(o, "isotope", record_string(i->isotope));
	if (i->ignored[0]) warn(o, json_sprintf("not used: %s", i->ignored));
}

static void put_warnings(json_t *o, const struct tally *t)
{
	if (t->bad > 0) warn(o, json_sprintf("%" PRId64 " events are not finite or have no length", t->bad));
	if (t->n > t->bad && t->low[3] == 0 && t->high[3] == 0)
		warn(o, json_string("all time differences are 0: no time of flight"));
}

static struct tally nothing(void)
{
	struct tally t = { 0 };

	for (int i = 0; i < VALUES; i++) {
		t.low[i] = INFINITY;
		t.high[i] = -INFINITY;
	}
	return t;
}

static int unusable(const struct tally *t, const char *path)
{
	if (t->n > t->bad) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s: none of its %" PRId64 " events is usable", path, t->n);
}

static int describe_gate(json_t *o, const char *path, const struct iso_events_options *how)
{
	struct iso_events e = { 0 };
	struct tally t = nothing();
	int st = iso_events_read(&e, path, how);

	if (st) return st;
	add_block(&t, &e);
	set(o, "format", json_string("GATE text"));
	put_tally(o, &t);
	put_warnings(o, &t);
	if (e.n_left_out) set(o, "left_out", json_integer(e.n_left_out));
	if (e.n_lines_bad)
		warn(o, json_sprintf("%" PRId64 " lines can't be used, the first is line %" PRId64,
		                     e.n_lines_bad, e.first_line_bad));
	iso_events_free(&e);
	return ISO_OK;
}

static int describe_records(json_t *o, const char *path, const struct iso_events_options *how)
{
	struct tally t = nothing();
	iso_event_file *f = NULL;
	int st = iso_event_file_open(&f, path, how);

	if (st) return st;
	if ((st = add_file(&t, f)) || (st = unusable(&t, path))) goto done;
	set(o, "format", json_string(iso_event_file_info(f)->format));
	if (iso_event_file_scanner(f))
		set(o, "scanner", record_string(iso_scanner_name(iso_event_file_scanner(f))));
	put_tally(o, &t);
	put_info(o, iso_event_file_info(f));
	put_warnings(o, &t);
done:
	iso_event_file_close(f);
	return st;
}

/* Texts of several kinds end in .txt: one says which by its lines. */
static int describe_text(json_t *o, const char *path, const struct iso_events_options *how)
{
	bool txt = iso_has_suffix(path, ".txt");
	bool empty = json_integer_value(json_object_get(o, "bytes")) == 0;
	bool gate = how->gate_mask || empty || access(path, R_OK) != 0;
	int st = gate ? ISO_OK : iso_is_gate(&gate, path, how);

	if (st || gate) return st ? st : describe_gate(o, path, how);
	if (txt && ((st = strip_describe(o, path)) == ISO_OK || st == ISO_ENOMEM ||
	            (st = describe_phantom(o, path)) == ISO_OK || st == ISO_ENOMEM))
		return st;
	return iso_fail(ISO_EINPUT,
	                "%s: not a known format: its lines are no GATE coincidences (46 "
	                "columns, 40 for ecat; --gate-mask where some are off)%s",
	                path, txt ? ", strip events (3 numbers) or ellipses" : "");
}

int describe_events(json_t *o, const char *path, const struct iso_events_options *how)
{
	bool text = iso_events_only_whole(path);

	set(o, "kind", json_string("events"));
	return (text ? describe_text : describe_records)(o, path, how);
}

int describe_rows(json_t *o, const char *path)
{
	struct tally t = nothing();
	iso_event_file *f = NULL;
	json_t *rows = json_object();
	int st = iso_event_file_open(&f, path, NULL);

	if (!st && !(st = add_file(&t, f)) && t.n > t.bad) {
		put_tally(rows, &t);
		set(o, "as_events", json_incref(rows));
	}
	json_decref(rows);
	iso_event_file_close(f);
	return st == ISO_ENOMEM ? st : ISO_OK; /* else they are no events */
}
