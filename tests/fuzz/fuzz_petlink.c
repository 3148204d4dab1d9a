/* SPDX-License-Identifier: BSD-3-Clause */
/* A PETLINK header, and after a NUL byte the words of its list, x.l: both read by the name of either. */
#include "events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t text = nul ? (size_t)(nul - data) : size, skip = nul ? text + 1 : size;
	struct iso_events_options late = { .size = sizeof late, .delayeds = true };
	char path[FUZZ_PATH + 16];

	fuzz_file("x.l.hdr", data, text);
	fuzz_file("x.l", data + skip, size - skip);
	snprintf(path, sizeof path, "%s/x.l.hdr", fuzz_folder);
	fuzz_events(path, NULL, true);
	path[strlen(path) - 4] = '\0';
	fuzz_events(path, &late, false);
	return 0;
}
