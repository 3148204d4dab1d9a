/* SPDX-License-Identifier: BSD-3-Clause */
/* The scanner of a file of events: that which the file brings, or one around the ends of its events. */
#include "events.h"
#include "scanner/scanner.h"

static int around(iso_scanner **s, const struct iso_events *e, const char *path)
{
	int st = iso_scanner_around(s, e);

	return st != ISO_EINPUT
	               ? st
	               : iso_fail(st, "%s: does not say what scanner it is of, and %s; give a scanner", path,
	                          iso_message());
}

/* Text brings none, and is read whole. */
static int of_text(iso_scanner **s, const char *path, const struct iso_events_options *o, bool assume)
{
	struct iso_events e = { 0 };
	int st = assume ? iso_events_read(&e, path, o) : ISO_OK;

	if (!st && assume) st = around(s, &e, path);
	iso_events_free(&e);
	return st;
}

/* Of a sample: all ranks that read the file see the same. */
int iso_event_file_own(iso_scanner **s, iso_event_file *f, const char *path, bool assume)
{
	struct iso_events e = { 0 };
	int st = ISO_OK;

	*s = f->own;
	f->lent = true;
	if (!*s && assume && !(st = iso_event_file_sample(&e, f))) st = around(s, &e, path);
	iso_events_free(&e);
	return st;
}

static int of_records(iso_scanner **s, const char *path, const struct iso_events_options *o, bool assume)
{
	iso_event_file *f = NULL;
	int st = iso_event_file_open(&f, path, o);

	if (!st) st = iso_event_file_own(s, f, path, assume);
	iso_event_file_close(f);
	return st;
}

int iso_events_scanner(iso_scanner **s, const char *path, const struct iso_events_options *o, bool assume)
{
	if (!s || !path) return iso_fail_null(__func__);
	iso_scanner *found = NULL;
	int st = (iso_events_only_whole(path) ? of_text : of_records)(&found, path, o, assume);

	if (!st) *s = found;
	return st;
}

bool iso_event_file_of_scanner(char apart[EVENTS_APART], const iso_event_file *f, const char *path,
                               const iso_scanner *given, const char *name)
{
	struct iso_scanner_apart a;
	char own[160], other[160], crystal[120] = "";

	if (!given || !f->own || f->own == given || iso_scanner_same(&a, f->own, given, f->info.has_crystal))
		return true;
	iso_scanner_figures(own, sizeof own, f->own);
	iso_scanner_figures(other, sizeof other, given);
	if (a.crystal >= 0)
		iso_snprintf(crystal, sizeof crystal,
		             ", crystal %" PRId64
		             " %.3g mm off (allowed are %.2g across the radius, %.2g along it)",
		             a.crystal, a.mm, a.across, a.along);
	iso_snprintf(apart, EVENTS_APART, "%s: brings a scanner of %s; 'scanner' %s has %s%s", path, own,
	             name, other, crystal);
	return false;
}
