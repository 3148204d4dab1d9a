/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of an MSOT scan, after a NUL byte its records. */
#include "fuzz.h"

/* What can be opened can be read to the end. */
static void use(const iso_recording *r)
{
	const struct iso_recording_info *i = iso_recording_info(r);
	iso_real *y = malloc((size_t)(i->t.n * i->t.samples) * sizeof *y);

	MUST(y && i->frames > 0 && i->wavelengths > 0);
	for (int64_t k = 0; k < i->frames * i->wavelengths && k < 9; k++)
		MUST(iso_recording_read(y, r, k % i->wavelengths, k / i->wavelengths) == ISO_OK);
	free(y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t text = nul ? (size_t)(nul - data) : size;
	iso_recording *r = NULL;
	char path[FUZZ_PATH + 16];
	int st;

	fuzz_file("x.bin", nul ? nul + 1 : data, nul ? size - text - 1 : 0);
	fuzz_file("x.msot", data, text);
	snprintf(path, sizeof path, "%s/x.msot", fuzz_folder);
	st = iso_recording_open(&r, path);
	fuzz_status(st);
	if (!st) use(r);
	iso_recording_free(r);
	return 0;
}
