/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of fuzz_castor.c (a .Cdh, after a NUL byte the .hscan of its scanner s, after another the
   .Cdf), told, converted and reconstructed. */
#include "fixtures.h"

static const float lut[4][6] = {
	{ 100, 0, 0, 1, 0, 0 },
	{ -100, 0, 0, -1, 0, 0 },
	{ 0, 100, 30, 0, 1, 0 },
	{ 0, -100, 30, 0, -1, 0 },
};

static const char *const lines[] = {
	"info x.Cdh s.hscan",
	"convert x.Cdh y.lmdT",
	"convert x.Cdh y.Cdh --scanner s.hscan",
	"convert x.Cdh y.npy",
	("recon ray --events x.Cdh --scanner s.hscan --grid 3 --voxel 50 --iterations 2 -o a.nii "
	 "--memory-limit 0.05"),
	("recon ray --events x.Cdh --grid 3 --voxel 50 --method osem --subsets 2 --iterations 1 --sens none "
	 "--stream --block 2 -o b.nii --memory-limit 0.05"),
	("recon ray --events x.Cdh --scanner s.hscan --delayed x.Cdh --coincidence-ns 5 --frames 0,0.5,20 "
	 "--isotope F-18 --grid 3 --voxel 50 --iterations 1 -o c.nii --memory-limit 0.05"),
	"sens ray --scanner s.hscan --grid 3 --voxel 50 -o d.nii --memory-limit 0.05",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *rest;

	make_fixtures();
	command_enter();
	put_file("s.lut", lut, sizeof lut);
	rest = put_part("s.hscan", put_part("x.Cdh", data, end), end);
	put_file("x.Cdf", rest, (size_t)(end - rest));
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) isotome(lines[i]);
	command_back();
	return 0;
}
