/* SPDX-License-Identifier: BSD-3-Clause */
/* An Interfile header and, after a NUL byte, the x.s that it should name: as projection data, as values beside such, and
   as an image. */
#include "events.h"
#include "io/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t text = size ? strnlen((const char *)data, size) : 0, skip = text < size ? text + 1 : size;
	const struct iso_events_options plain = { .size = sizeof plain, .no_multiplicity = true };
	char path[FUZZ_PATH + 16];
	iso_real v[7];

	fuzz_file("x.s", data + skip, size - skip);
	snprintf(path, sizeof path, "%s", fuzz_file("x.hs", data, text));
	fuzz_events(path, size % 2 ? &plain : NULL, true);
	if (iso_interfile_fits(path, path, true) == ISO_OK) fuzz_status(iso_interfile_piece(v, path, 1, 7));
	snprintf(path, sizeof path, "%s", fuzz_file("x.hv", data, text));
	fuzz_read(path);
	return 0;
}
