/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a .nii file, or, if they begin like one, as a .nii.gz file. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool gzip = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;

	fuzz_read(fuzz_file(gzip ? "x.nii.gz" : "x.nii", data, size));
	return 0;
}
