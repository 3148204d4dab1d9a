/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of LZMA: an xz file. */
#include "io/root/root_file.h"

#include <lzma.h>

#define MEMORY ((uint64_t)128 << 20) /* bytes that it may take; level 9 takes 65 MiB */

int root_unpack_lzma(uint8_t *dst, int64_t bytes, const uint8_t *src, int64_t packed)
{
	uint64_t most = MEMORY;
	size_t read = 0, written = 0;
	lzma_ret r = lzma_stream_buffer_decode(&most, 0, NULL, src, &read, (size_t)packed, dst, &written,
	                                       (size_t)bytes);

	return r == LZMA_MEM_ERROR                        ? ISO_ENOMEM
	       : r == LZMA_OK && written == (size_t)bytes ? ISO_OK
	                                                  : ISO_EINPUT;
}
