/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a .nii file, or, if they begin like one, as a .nii.gz file: an image, one on its own axes, and a volume of
   any orientation. Bytes that begin like an ECAT 7 image are read as that. */
#include "fuzz.h"

static void read_own_axes(const char *path)
{
	struct iso_array a = { 0 };
	int st = iso_read(&a, path, ISO_ANY | ISO_OBLIQUE);

	fuzz_status(st);
	for (int r = 0; !st && r < 3; r++) MUST(a.grid.voxel[r] > 0 && isfinite(a.grid.centre[r]));
	iso_array_free(&a);
}

static void read_volume(const char *path)
{
	struct iso_volume v = { 0 };
	int st = iso_volume_read(&v, NULL, path);

	fuzz_status(st);
	for (int64_t i = 0; !st && i < v.dim[0] * v.dim[1] * v.dim[2]; i++) MUST(isfinite(v.v[i]));
	iso_volume_free(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= 7 && memcmp(data, "MATRIX7", 7) == 0) {
		fuzz_read(fuzz_file("x.v", data, size));
		return 0;
	}
	bool gzip = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;

	const char *path = fuzz_file(gzip ? "x.nii.gz" : "x.nii", data, size);

	fuzz_read(path);
	read_own_axes(path);
	read_volume(path);
	return 0;
}
