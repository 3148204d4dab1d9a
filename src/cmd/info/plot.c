/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture of what a file says of its scanner: crystals, and lines of events through them. */
#include "describe.h"

#include "cmd/cmd.h"
#include "io/events.h"
#include "io/kinds.h"

/* Whether the file describes a scanner, and holds nothing else. */
static bool is_description(const char *path)
{
	const struct iso_kind *k = iso_kind_found(path);

	return k && (k->content == ISO_DESCRIPTION_FILE || k->content == ISO_SCANNER_FILE ||
	             k->content == ISO_JSON_FILE);
}

/* Text is read whole. */
static int some_events(struct iso_events *e, const char *path, const struct iso_events_options *o)
{
	iso_event_file *f = NULL;
	int st;

	if (iso_events_only_whole(path)) return iso_events_read(e, path, o);
	if (!(st = iso_event_file_open(&f, path, o))) st = iso_event_file_sample(e, f);
	iso_event_file_close(f);
	return st;
}

int plot_file(const char *png, const char *path, const struct iso_events_options *o)
{
	const char *slash = strrchr(path, '/');
	struct iso_pixels pixels = { 0 };
	struct iso_events e = { 0 };
	iso_scanner *found = NULL;
	char title[256];
	int st = ISO_OK;

	if (is_description(path))
		st = iso_scanner_read(&found, path);
	else if (!(st = some_events(&e, path, o)) && !o->scanner)
		st = iso_events_scanner(&found, path, o, true);
	if (st) goto done;
	const iso_scanner *s = found ? found : o->scanner;

	snprintf(title, sizeof title, "%s: %s", slash ? slash + 1 : path, iso_scanner_name(s));
	if (!(st = iso_picture_scanner(&pixels, s, e.n ? &e : NULL, title)))
		st = iso_picture_write(png, &pixels, NULL);
done:
	iso_pixels_free(&pixels);
	iso_events_free(&e);
	iso_scanner_free(found);
	return st;
}
