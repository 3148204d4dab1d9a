/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a CASToR geometry. */
#include "description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_scanner(fuzz_file("x.geom", data, size));
	return 0;
}
