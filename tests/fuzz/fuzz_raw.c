/* SPDX-License-Identifier: BSD-3-Clause */
/* A description and, after a NUL byte, the x.raw that it should describe. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t text = size ? strnlen((const char *)data, size) : 0;
	size_t skip = text < size ? text + 1 : size;
	char path[FUZZ_PATH + 16];

	fuzz_file("x.raw", data + skip, size - skip);
	snprintf(path, sizeof path, "%s", fuzz_file("x.raw.json", data, text));
	fuzz_read(path);
	path[strlen(path) - strlen(".json")] = '\0';
	fuzz_read(path);
	return 0;
}
