/* SPDX-License-Identifier: BSD-3-Clause */
/* IPASC files: those of fuzz_ipasc.c, made by the HDF5 library, and any bytes, where the input begins
   as HDF5 does. Commands read them in a child, which may fall. */
#include "sound.h"

#ifdef ISO_HDF5
#	include "tests/fuzz/ipasc.h"

static void make(const uint8_t *data, size_t size)
{
	struct choice c = { data, data + size };

	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	make_ipasc("a.hdf5", &c, size % 2);
}
#else
static void make(const uint8_t *data, size_t size)
{
	put_file("a.hdf5", data, size);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	make_fixtures();
	command_enter();
	if (size > 3 && memcmp(data, "\x89HDF", 4) == 0)
		put_file("a.hdf5", data, size);
	else
		make(data, size);
	try_recording("a.hdf5", size);
	command_back();
	return 0;
}
