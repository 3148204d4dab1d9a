/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed objects of ROOT files: blocks, each of one packer. */
#include "root_file.h"
#include "core/status.h"

#include <zlib.h>

enum { BLOCK_HEAD = 9 };

static int unpack_zlib(uint8_t *dst, int64_t bytes, const uint8_t *src, int64_t packed)
{
	uLongf n = (uLongf)bytes;

	int st = uncompress(dst, &n, src, (uLong)packed);

	return st == Z_MEM_ERROR ? ISO_ENOMEM : st == Z_OK && n == (uLongf)bytes ? ISO_OK : ISO_EINPUT;
}

#ifdef ISO_LZ4
#	define LZ4 root_unpack_lz4
#else
#	define LZ4 NULL
#endif
#ifdef ISO_ZSTD
#	define ZSTD root_unpack_zstd
#else
#	define ZSTD NULL
#endif
#ifdef ISO_LZMA
#	define LZMA root_unpack_lzma
#else
#	define LZMA NULL
#endif

static const struct packer {
	char letters[3];
	const char *library, *package; /* package: Debian's, for the message of a build without */
	int (*unpack)(uint8_t *dst, int64_t bytes, const uint8_t *src, int64_t packed);
} packers[] = {
	{ "ZL", "zlib", "zlib1g-dev", unpack_zlib },
	{ "L4", "LZ4", "liblz4-dev", LZ4 },
	{ "ZS", "Zstandard", "libzstd-dev", ZSTD },
	{ "XZ", "LZMA", "liblzma-dev", LZMA },
};
enum { N_PACKERS = sizeof packers / sizeof *packers };

static int64_t little_endian_3(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16;
}

static int find_packer(const struct packer **which, const uint8_t *letters, const char *path)
{
	for (int i = 0; i < N_PACKERS; i++) {
		const struct packer *p = &packers[i];

		if (memcmp(letters, p->letters, 2) != 0) continue;
		*which = p;
		return p->unpack ? ISO_OK
		                 : iso_refuse(path,
		                              "packed by %s, which this build does not have; install the "
		                              "library (Debian: %s) and build Isotome from source",
		                              p->library, p->package);
	}
	if (memcmp(letters, "CS", 2) == 0)
		return iso_refuse(path, "packed by ROOT's old method (CS), which is not read; zlib, LZ4, "
		                        "Zstandard and LZMA are");
	return iso_refuse(
		path,
		"a packed object begins with bytes 0x%02x 0x%02x; expected ZL, L4, ZS or XZ: a damaged file",
		letters[0], letters[1]);
}

int root_unpack(uint8_t *dst, int64_t bytes, const uint8_t *src, int64_t packed, const char *path)
{
	while (bytes > 0) {
		const struct packer *p = NULL;
		int st;

		if (packed < BLOCK_HEAD)
			return iso_refuse(path, "a packed object ends %" PRId64 " bytes too early", bytes);
		if ((st = find_packer(&p, src, path))) return st;
		int64_t in = little_endian_3(src + 3), out = little_endian_3(src + 6);

		bool fits = in <= packed - BLOCK_HEAD && out >= 1 && out <= bytes;

		st = fits ? p->unpack(dst, out, src + BLOCK_HEAD, in) : ISO_EINPUT;
		if (st == ISO_ENOMEM)
			return iso_fail(st, "%s: no memory to unpack it by %s", path, p->library);
		if (st)
			return iso_refuse(path, "a block packed by %s can't be unpacked: a damaged file",
			                  p->library);
		dst += out;
		bytes -= out;
		src += BLOCK_HEAD + in;
		packed -= BLOCK_HEAD + in;
	}
	return packed == 0 ? ISO_OK
	                   : iso_refuse(path, "a packed object has %" PRId64 " bytes too many", packed);
}
