/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a .npy file, and as a .npz file, which is a zip archive of them. */
#include "file/npz.h"
#include "fuzz.h"

static void read_npz(const char *path)
{
	int64_t *whole, n;
	iso_real *real;
	char word[16];

	(void)iso_npz_word(word, path, "format");
	if (!iso_npz_integers(&whole, &n, path, "indptr")) free(whole);
	if (!iso_npz_reals(&real, &n, path, "data")) free(real);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_read(fuzz_file("x.npy", data, size));
	read_npz(fuzz_file("x.npz", data, size));
	return 0;
}
