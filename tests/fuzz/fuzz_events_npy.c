/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a .npy file of events, with and without a scanner. */
#include "events.h"

static const iso_scanner *ring(void)
{
	static const char text[] = "kind: cylinder\nradius_mm: 100\nrings: 2\nring_pitch_mm: 10\n"
				   "crystals_per_ring: 8\n";
	static iso_scanner *s;

	if (!s) MUST(iso_scanner_read(&s, fuzz_file("x.yaml", text, strlen(text))) == ISO_OK);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_events_options o = { .size = sizeof o, .scanner = ring() };
	const char *path = fuzz_file("x.npy", data, size);

	fuzz_events(path, &o, true);
	fuzz_events(path, NULL, true);
	return 0;
}
