/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a phantom: of shapes in JSON if they begin with a brace, else in YAML, and as a list of
   ellipses; its image, its sound, its scans, and where measures look for it. */
#include "fixtures.h"

static const char *const lines[] = {
	"phantom %s --grid 4,3,2 -o a.nii --mu b.nii --samples 2 --memory-limit 0.05",
	"phantom %s -o c.nii --samples 1 --memory-limit 0.05",
	"simulate array.yaml %s -o d.npy --memory-limit 0.05",
	"simulate panels.yaml %s --physics --decays 200 -o e.npy --memory-limit 0.05",
	"measure nema x.nii --phantom %s",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *name = size && data[0] == '{' ? "p.json" : "p.yaml";
	char line[200];

	make_fixtures();
	command_enter();
	put_file(name, data, size);
	put_file("p.txt", data, size);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		snprintf(line, sizeof line, lines[i], name);
		isotome(line);
	}
	isotome("simulate strips.yaml p.txt --counts 9 -o f.f32 --memory-limit 0.05");
	command_back();
	return 0;
}
