/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading transducers: from a description, or from a file of traces beside which it stands. */
#include "sound_transducers.h"

#include "core/status.h"

void transducers_warn(struct record *record, const iso_recording *r)
{
	for (int i = 0; i < iso_recording_info(r)->n_warnings; i++)
		record_warn(record, "%s", iso_recording_info(r)->warning[i]);
}

static int load_description(struct transducers *f, struct record *record, const char *path)
{
	int st;

	if ((st = iso_scanner_read(&f->s, path)) || (st = record_input(record, path))) return st;
	f->t = iso_scanner_transducers(f->s);
	return f->t ? ISO_OK
	            : iso_fail(ISO_EINPUT,
	                       "%s: a scanner of another kind, expected kind: "
	                       "transducers",
	                       path);
}

int transducers_load(struct transducers *f, struct record *record, const char *path)
{
	int st;

	if (!iso_is_recording(path)) return load_description(f, record, path);
	if ((st = iso_recording_open(&f->r, path)) || (st = record_input(record, path))) return st;
	transducers_warn(record, f->r);
	f->t = &iso_recording_info(f->r)->t;
	return ISO_OK;
}

int transducers_traces(iso_recording **r, struct record *record, const struct iso_transducers *t,
                       const struct iso_array *y, const char *path)
{
	int st = iso_recording_of(r, t, y);

	if (st) return st == ISO_EINPUT ? iso_fail(st, "%s: %s", path, iso_message()) : st;
	for (int i = 0; i < iso_recording_info(*r)->n_warnings; i++)
		record_warn(record, "%s: %s", path, iso_recording_info(*r)->warning[i]);
	return ISO_OK;
}

void transducers_free(struct transducers *f)
{
	iso_scanner_free(f->s);
	iso_recording_free(f->r);
	*f = (struct transducers){ 0 };
}
