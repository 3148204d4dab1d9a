/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a description in JSON. */
#include "description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_description("x.json", data, size);
	return 0;
}
