/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an ECAT 7 image. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_read(fuzz_file("x.v", data, size));
	return 0;
}
