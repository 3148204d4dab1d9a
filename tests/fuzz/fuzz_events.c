/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a file of events: up to the first newline the suffix of its format, any of the table in
   io/kinds.c, then the file. Of a text, what comes before a NUL byte is the mask of its columns. */
#include "events.h"
#include "io/kinds.h"

static const iso_scanner *ring(void)
{
	static const char text[] = "kind: cylinder\nradius_mm: 100\nrings: 2\nring_pitch_mm: 10\n"
				   "crystals_per_ring: 8\n";
	static iso_scanner *s;

	if (!s) MUST(iso_scanner_read(&s, fuzz_file("x.yaml", text, strlen(text))) == ISO_OK);
	return s;
}

static void try_text(const char *name, const uint8_t *data, size_t size)
{
	size_t text = size ? strnlen((const char *)data, size) : 0;
	bool masked = text < size && text < 128;
	size_t skip = masked ? text + 1 : 0;
	char mask[128] = "";
	struct iso_events_options o = { .size = sizeof o,
		                        .scanner = ring(),
		                        .gate_mask = masked ? mask : NULL };
	const char *path = fuzz_file(name, data + skip, size - skip);

	if (masked) memcpy(mask, data, text);
	fuzz_events(path, &o, false);
	o.trues_only = true;
	fuzz_events(path, &o, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size < 12 ? size : 12) : NULL;
	struct iso_events_options o = { .size = sizeof o, .scanner = ring() };
	char name[16];

	if (!end) return 0;
	snprintf(name, sizeof name, "x%.*s", (int)(end - data), (const char *)data);
	if (!iso_kind_as(name, ISO_EVENTS_FILE) || strchr(name, '/') || strstr(name, ".h"))
		return 0; /* fuzz_table.c */
	size -= (size_t)(++end - data);
	if (iso_events_only_whole(name)) {
		try_text(name, end, size);
	} else {
		const char *path = fuzz_file(name, end, size);

		fuzz_events(path, &o, true);
		fuzz_events(path, NULL, true);
		o.trues_only = strcmp(name, "x.root") == 0;
		if (o.trues_only) fuzz_events(path, &o, true);
	}
	return 0;
}
