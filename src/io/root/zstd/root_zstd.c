/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of Zstandard: a frame. */
#include "io/root/root_file.h"

#include <zstd.h>
#include <zstd_errors.h>

int root_unpack_zstd(uint8_t *dst, int64_t bytes, const uint8_t *src, int64_t packed)
{
	size_t n = ZSTD_decompress(dst, (size_t)bytes, src, (size_t)packed);

	if (ZSTD_isError(n))
		return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? ISO_ENOMEM : ISO_EINPUT;
	return n == (size_t)bytes ? ISO_OK : ISO_EINPUT;
}
