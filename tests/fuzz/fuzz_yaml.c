/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a description in YAML. */
#include "description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_description("x.yaml", data, size);
	return 0;
}
