/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a .npy file. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_read(fuzz_file("x.npy", data, size));
	return 0;
}
