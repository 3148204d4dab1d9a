/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of LZ4: a checksum of 8 bytes, big-endian, then the block. */
#include "io/root/root_file.h"

#include <lz4.h>
#include <xxhash.h>

int root_unpack_lz4(uint8_t *dst, int64_t bytes, const uint8_t *src, int64_t packed)
{
	struct root_bytes b = { .p = src, .n = packed };
	uint64_t sum = root_number(&b, 8);

	bool good = !b.bad && XXH64(src + 8, (size_t)(packed - 8), 0) == sum &&
	            LZ4_decompress_safe((const char *)src + 8, (char *)dst, (int)(packed - 8), (int)bytes) ==
	                    bytes;

	return good ? ISO_OK : ISO_EINPUT;
}
