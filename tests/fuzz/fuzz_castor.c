/* SPDX-License-Identifier: BSD-3-Clause */
/* A .Cdh header, after a NUL byte the .hscan of its scanner s (4 crystals), after another the
   .Cdf. */
#include "events.h"

static void put_lut(void)
{
	static const float lut[4][6] = {
		{ 100, 0, 0, 1, 0, 0 },
		{ -100, 0, 0, -1, 0, 0 },
		{ 0, 100, 30, 0, 1, 0 },
		{ 0, -100, 30, 0, -1, 0 },
	};
	static bool done;

	if (!done) fuzz_file("s.lut", lut, sizeof lut);
	done = true;
}

/* Writes what comes before the next NUL byte; returns what comes after it. */
static const uint8_t *put_part(const char *name, const uint8_t *data, const uint8_t *end)
{
	const uint8_t *nul = data < end ? memchr(data, 0, (size_t)(end - data)) : NULL;
	const uint8_t *stop = nul ? nul : end;

	fuzz_file(name, data, (size_t)(stop - data));
	return nul ? nul + 1 : end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *rest;
	char path[FUZZ_PATH + 16];

	put_lut();
	rest = put_part("s.hscan", put_part("x.Cdh", data, end), end);
	fuzz_file("x.Cdf", rest, (size_t)(end - rest));
	snprintf(path, sizeof path, "%s/x.Cdh", fuzz_folder);
	fuzz_events(path, NULL, true);
	return 0;
}
