/* SPDX-License-Identifier: BSD-3-Clause */
/* All files that an output becomes. */
#include "events.h"
#include "format.h"

int iso_target_names(struct iso_names *s, const char *path, const char *what)
{
	const struct iso_event_format *f = iso_event_format_find(path);
	char name[PATH_MAX], text[256];
	int st = iso_names_add(s, true, path, what);

	snprintf(text, sizeof text, "the record of %s", what);
	if (!st && !(st = iso_sidecar_path(name, sizeof name, path))) st = iso_names_add(s, true, name, text);
	if (!st && !(st = iso_format_values(name, path)) && *name) {
		snprintf(text, sizeof text, "the file of values of %s", what);
		st = iso_names_add(s, true, name, text);
	}
	for (int i = 0; !st && f && f->beside && f->beside[i]; i++) {
		snprintf(text, sizeof text, "the %s file of %s", f->beside[i], what);
		if (!(st = iso_events_partner(name, sizeof name, path, f->beside[i])))
			st = iso_names_add(s, true, name, text);
	}
	return st;
}
