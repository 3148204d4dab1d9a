/* SPDX-License-Identifier: BSD-3-Clause */
/* Transducers from a file: a description, or a recording with its traces. */
#include "sound.h"

#include "io/recording.h"

void transducers_warn(struct record *record, const iso_recording *r)
{
	for (int i = 0; i < iso_recording_info(r)->n_warnings; i++)
		record_warn(record, "%s", iso_recording_info(r)->warning[i]);
}

int transducers_load(struct transducers *f, struct record *record, const char *path)
{
	bool traces = iso_is_recording(path);
	int st = traces ? iso_recording_open(&f->r, path) : iso_scanner_read(&f->s, path);

	if (st || (st = record_input(record, path))) return st;
	if (traces) transducers_warn(record, f->r);
	f->t = traces ? &iso_recording_info(f->r)->t : iso_scanner_transducers(f->s);
	f->faces = traces ? iso_recording_info(f->r)->faces : iso_scanner_faces(f->s);
	if (f->t) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s: a scanner of another kind, expected kind: transducers", path);
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
