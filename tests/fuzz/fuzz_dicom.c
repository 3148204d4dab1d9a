/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a DICOM file, and, behind the words "NEXT", a second one of its folder. */
#define _GNU_SOURCE /* memmem */
#include "fuzz.h"

static void use(const struct iso_volume *v)
{
	int64_t n = v->dim[0] * v->dim[1] * v->dim[2];
	struct iso_grid g;

	MUST(n > 0 && v->v && v->n_files == v->dim[2]);
	for (int64_t i = 0; i < v->n_files; i++) MUST(v->file[i]);
	for (int64_t i = 0; i < n; i++) MUST(isfinite(v->v[i]));
	for (int i = 0; i < 12; i++) MUST(isfinite(v->affine[i / 4][i % 4]));
	MUST(v->kvp >= 0 && iso_volume_grid(&g, v) == ISO_OK);
}

/* CT or PET, on whatever axes. */
static void read_image(const char *path)
{
	struct iso_array a = { 0 };
	int st = iso_read(&a, path, ISO_FINITE | ISO_OBLIQUE);

	fuzz_status(st);
	if (!st) fuzz_array(&a);
	iso_array_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *next = size ? memmem(data, size, "NEXT", 4) : NULL;
	size_t first = next ? (size_t)(next - data) : size;
	struct iso_volume v = { 0 };
	char path[FUZZ_PATH + 16];
	int st;

	fuzz_file("b", next ? next + 4 : data, next ? size - first - 4 : 0);
	snprintf(path, sizeof path, "%s", fuzz_file("a.dcm", data, first));
	st = iso_volume_read(&v, NULL, path);
	fuzz_status(st);
	if (!st) use(&v);
	iso_volume_free(&v);
	read_image(path);
	return 0;
}
