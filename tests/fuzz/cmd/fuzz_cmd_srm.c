/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a system matrix, with length and checksums put right: told, cut anew, added to, and
   used. */
#define _GNU_SOURCE /* memmem */
#include "fixtures.h"
#include "tests/fuzz/srm_repair.h"

static const char *const lines[] = {
	"info y.srm",
	"srm y.srm -o a.srm --share 0.5 --memory-limit 0.05",
	"srm y.srm -o b.srm --pairs 12 --threads 1 --memory-limit 0.05",
	"sens srm --srm y.srm -o c.nii --memory-limit 0.05",
	"project srm c.nii --srm y.srm -o d.npy --memory-limit 0.05",
	"backproject srm d.npy --srm y.srm -o e.nii --memory-limit 0.05",
	"recon srm --srm y.srm --data d.npy --iterations 2 -o f.nii --memory-limit 0.05",
	("recon srm --srm y.srm --data d.npy --method osem --subsets 2 --subset-rule mod "
	 "--iterations 1 -o g.nii --memory-limit 0.05"),
	"recon srm --srm y.srm --data lors.npy --iterations 1 -o h.nii --memory-limit "
	"0.05",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	MUST(copy);
	if (size) memcpy(copy, data, size);
	if (size >= HEAD) repair_srm(copy, size);
	make_fixtures();
	command_enter();
	put_file("y.srm", copy, size);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) isotome(lines[i]);
	command_back();
	free(copy);
	return 0;
}
