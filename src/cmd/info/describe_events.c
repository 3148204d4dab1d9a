/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file of events holds: how many, where, when, and what corrections. */
#include "describe.h"

#include "cmd/cmd.h"
#include "io/events.h"
#include "io/format.h"
#include "problem/inputs.h"

#include <math.h>
#include <unistd.h>

/* One that is empty is null, or left out if `optional`. */
static void set_range(json_t *o, const char *key, const double v[2], bool optional)
{
	bool empty = !(v[0] <= v[1]);

	if (!empty || !optional) set(o, key, empty ? json_null() : record_reals(2, v));
}

static void put_stats(json_t *o, const struct iso_events_stats *s)
{
	json_t *ends = json_object();

	set_range(ends, "x", s->ends_mm.x, false);
	set_range(ends, "y", s->ends_mm.y, false);
	set_range(ends, "z", s->ends_mm.z, false);
	set(o, "events", json_integer(s->n));
	set(o, "bad", json_integer(s->n_bad));
	set(o, "ends_mm", ends);
	set_range(o, "dt_ps", s->dt_ps, false);
	set(o, "time_of_flight", json_boolean(s->dt_ps[0] < 0 || s->dt_ps[1] > 0));
	set_range(o, "time_s", s->time_s, true);
	set_range(o, "counts_each", s->count, true);
	if (s->count[0] <= s->count[1]) set(o, "counts", record_real(s->counts));
	set_range(o, "multiplicative", s->mult, true);
	set_range(o, "additive", s->add, true);
}

static void put_info(json_t *o, const struct iso_events_info *i)
{
	static const char *const name[] = { "attenuation", "normalisation", "scatter", "randoms" };
	const bool there[] = { i->attenuation, i->normalisation, i->scatter, i->randoms };
	json_t *corrections = json_array();
	char words[sizeof i->assumed + 64];

	for (int k = 0; k < 4; k++)
		if (there[k]) json_array_append_new(corrections, json_string(name[k]));
	set(o, "record_bytes", json_integer(i->bytes));
	set(o, "corrections", corrections);
	set(o, "crystal_numbers", json_boolean(i->has_crystal));
	if (i->delayeds > 0) set(o, "delayeds", json_integer(i->delayeds));
	if (i->tof_fwhm_ps > 0) set(o, "tof_fwhm_ps", record_real(i->tof_fwhm_ps));
	if (i->has_fwhm) set(o, "tof_fwhm_of", json_string("each event"));
	if (i->tof_bin_ps > 0) set(o, "tof_bin_ps", record_real(i->tof_bin_ps));
	if (i->duration_s > 0) {
		set(o, "start_s", record_real(i->start_s));
		set(o, "duration_s", record_real(i->duration_s));
	}
	if (i->calibration > 0) set(o, "calibration", record_real(i->calibration));
	if (i->max_axial_mm > 0) set(o, "max_axial_mm", record_real(i->max_axial_mm));
	if (i->isotope[0]) set(o, "isotope", record_string(i->isotope));
	if (i->layout[0]) set(o, "bins", record_string(i->layout));
	if (i->multiplicity) set(o, "multiplicative_is", json_string("crystal pairs of each bin"));
	if (i->lists_all) set(o, "sensitivity", json_string("of its own lines"));
	if (i->assumed[0])
		set(o, "assumed", record_string(option_words(words, sizeof words, "info", i->assumed)));
	if (i->ignored[0]) facts_warn(o, "not used: %s", i->ignored);
	if (i->warning[0]) facts_warn(o, "%s", i->warning);
}

static void put_warnings(json_t *o, const struct iso_events_stats *s)
{
	if (s->n_bad > 0) facts_warn(o, "%" PRId64 " events are not finite or have no length", s->n_bad);
	if (s->n > s->n_bad && s->dt_ps[0] == 0 && s->dt_ps[1] == 0)
		facts_warn(o, "all time differences are 0: no time of flight");
}

/* The scanner that recon would take, and where it is from. */
static int put_scanner(json_t *o, const char *path, const struct iso_events_options *how)
{
	iso_scanner *found = NULL;
	const iso_scanner *s = how->scanner;
	int st = s ? ISO_OK : iso_events_scanner(&found, path, how, true);

	if (st == ISO_ENOMEM) return st;
	if (st) facts_warn(o, "%s", iso_message());
	if (st) return ISO_OK;
	if (!s) s = found;
	bool assumed = iso_scanner_assumed(s);

	set(o, "scanner", record_string(iso_scanner_name(s)));
	set(o, "scanner_from",
	    json_string(how->scanner ? "--scanner"
	                : assumed    ? "the ends of events"
	                             : "the file"));
	set(o, "crystals", json_integer(iso_scanner_crystals(s)));
	describe_extent(o, s);
	describe_field(o, s);
	if (assumed)
		facts_warn(o, "does not say what scanner it is of; recon assumes a %s", iso_scanner_name(s));
	iso_scanner_free(found);
	return ISO_OK;
}

static int describe_whole(json_t *o, const char *path, const struct iso_events_options *how)
{
	struct iso_events e = { 0 };
	struct iso_events_stats s = { .size = sizeof s };
	int st = iso_events_read(&e, path, how);

	if (st || (st = iso_events_stats_begin(&s)) || (st = iso_events_stats_add(&s, &e))) return st;
	set(o, "format", json_string(iso_events_only_whole(path)));
	put_stats(o, &s);
	put_warnings(o, &s);
	if (e.n_left_out) set(o, "left_out", json_integer(e.n_left_out));
	if (e.n_lines_bad)
		facts_warn(o, "%" PRId64 " lines can't be used, the first is line %" PRId64, e.n_lines_bad,
		           e.first_line_bad);
	iso_events_free(&e);
	return put_scanner(o, path, how);
}

static int describe_records(json_t *o, const char *path, const struct iso_events_options *how)
{
	struct iso_events_stats s = { .size = sizeof s };
	iso_event_file *f = NULL;
	int st = iso_event_file_open(&f, path, how);

	if (!st && !(st = iso_event_file_stats(&s, f)) && s.n <= s.n_bad)
		st = iso_fail(ISO_EINPUT, "%s: none of its %" PRId64 " events is usable", path, s.n);
	if (st) goto done;
	set(o, "format", json_string(iso_event_file_info(f)->format));
	put_stats(o, &s);
	put_info(o, iso_event_file_info(f));
	if (iso_event_file_info(f)->layout[0]) set(o, "kind", json_string("histogram of events"));
	put_warnings(o, &s);
	if (how->scanner && input_scanner(NULL, f, path, how->scanner, iso_scanner_name(how->scanner), false))
		facts_warn(o, "%s", iso_message());
	st = put_scanner(o, path, how);
done:
	iso_event_file_close(f);
	return st;
}

int describe_strips(json_t *o, const char *path)
{
	static const char *const key[] = { "z_up_mm", "z_down_mm", "dl_mm" };
	int st = strip_describe(o, path);
	double most = 0;

	for (int k = 0; k < 3 && !st; k++)
		for (size_t i = 0; i < 2; i++)
			most = fmax(most,
			            fabs(json_number_value(json_array_get(json_object_get(o, key[k]), i))));
	if (!st && most < DESCRIBE_LITTLE_MM)
		facts_warn(o, "no value is above %.3g mm; in metres? --event-unit-mm is then 1000", most);
	return st;
}

/* Texts of several kinds end in .txt: one says which by its lines. */
static int describe_text(json_t *o, const char *path, const struct iso_events_options *how)
{
	bool txt = iso_has_suffix(path, ".txt");
	bool empty = json_integer_value(json_object_get(o, "bytes")) == 0;
	bool gate = how->gate_mask || empty || access(path, R_OK) != 0;
	int st = gate ? ISO_OK : iso_events_in_text(&gate, path, how);

	if (st || gate) return st ? st : describe_whole(o, path, how);
	if (txt && ((st = describe_strips(o, path)) == ISO_OK || st == ISO_ENOMEM ||
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
