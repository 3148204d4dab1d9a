/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of an image, after a NUL byte the image (.nii; without one, that of the fixtures): what
   shows records. */
#include "fixtures.h"

static const char *const lines[] = {
	"info y.nii",
	"report y.nii x.nii -o a.html",
	"report x.nii --truth y.nii -o b.html",
	"measure rmse y.nii x.nii",
	"filter gaussian:4 y.nii -o d.nii --memory-limit 0.05",
	"convert y.nii e.npy",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *rest;

	make_fixtures();
	command_enter();
	rest = put_part("y.json", data, end);
	if (rest < end)
		put_file("y.nii", rest, (size_t)(end - rest));
	else
		MUST(link("r.nii", "y.nii") == 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) isotome(lines[i]);
	command_back();
	return 0;
}
