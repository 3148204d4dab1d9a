/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a scanner, in JSON if they begin with a brace, else in YAML: what it is, its
   sensitivity, and simulations of each kind. */
#include "fixtures.h"

static const char *const lines[] = {
	"info %s",
	"sens ray --scanner %s --grid 3 --voxel 20 -o a.nii --sens-share 1e-3 --memory-limit 0.05",
	"sens strip --scanner %s --grid 4,3 -o b.npy --memory-limit 0.05",
	"simulate %s x.nii --counts 9 -o c.lmdT --memory-limit 0.05",
	"simulate %s x.nii --physics --decays 200 -o d.npy --memory-limit 0.05",
	"simulate %s balls.yaml -o f.npy --memory-limit 0.05",
	"srm %s --pairs 20 -o g.srm --memory-limit 0.05",
	"project sradon x.nii --scanner %s -o h.npy --memory-limit 0.05",
	"convert e.lmdT i.Cdh --scanner %s",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *name = size && data[0] == '{' ? "s.json" : "s.yaml";
	char line[200];

	make_fixtures();
	command_enter();
	put_file(name, data, size);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		snprintf(line, sizeof line, lines[i], name);
		isotome(line);
	}
	command_back();
	return 0;
}
