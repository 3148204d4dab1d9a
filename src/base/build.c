/* SPDX-License-Identifier: BSD-3-Clause */
/* The version, and what CMake found for this build. */
#include "isotome/status.h"

static const char parts[] =
#ifdef ISO_XRAYLIB
	"xraylib, "
#endif
#ifdef ISO_HDF5
	"HDF5, "
#endif
#ifdef ISO_MATIO
	"matio, "
#endif
#ifdef ISO_EXPAT
	"expat, "
#endif
#ifdef ISO_LZ4
	"LZ4, "
#endif
#ifdef ISO_ZSTD
	"Zstandard, "
#endif
#ifdef ISO_LZMA
	"LZMA, "
#endif
#ifdef ISO_MICROHTTPD
	"libmicrohttpd, "
#endif
	"for " ISO_PROCESSOR;

const char *iso_version(void)
{
	return ISO_VERSION;
}

const char *iso_built_with(void)
{
	return parts;
}
