/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as GATE text; with a NUL byte, what comes before it is the mask of its columns. */
#include "events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t text = size ? strnlen((const char *)data, size) : 0;
	bool masked = text < size && text < 128;
	size_t skip = masked ? text + 1 : 0;
	char mask[128] = "";
	struct iso_events_options o = { .size = sizeof o, .gate_mask = masked ? mask : NULL };
	const char *path = fuzz_file("x.dat", data + skip, size - skip);

	if (masked) memcpy(mask, data, text);
	fuzz_events(path, &o, false);
	o.trues_only = true;
	fuzz_events(path, &o, false);
	return 0;
}
