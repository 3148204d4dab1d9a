/* SPDX-License-Identifier: BSD-3-Clause */
/* A small file of every kind that a command reads, made once by the commands themselves: scanners,
   a 3 x 3 x 3 image x.nii, events and data of each model. */
#ifndef FIXTURES_H
#define FIXTURES_H

#include "command.h"

static const struct {
	const char *name, *text;
} fixture_texts[] = {
	{ "ring.yaml", "kind: cylinder\nradius_mm: 100\nrings: 2\nring_pitch_mm: 10\ncrystals_per_ring: 12\n"
	               "min_crystal_distance: 3\npair_weight: solid-angle\ncrystal_mm: [20, 10, 10]\n"
	               "tof: {fwhm_ps: 300}\n" },
	{ "panels.yaml", "kind: panels\ncrystals: [2, 3]\npitch_mm: [2, 2]\ncrystal_mm: [2, 2, 10]\n"
	                 "gap_mm: 10\nlayers: 1\nmaterial: {formula: LuYSiO5, density: 7}\n"
	                 "energy: {resolution: 0.2, window_kev: [250, 750]}\nreadout: head\n"
	                 "voxels_per_pitch: [1, 1]\nplanes: 2\nplane_mm: 2\n" },
	{ "strips.yaml", "kind: strips\nradius_mm: 130\nlength_mm: 300\nsigma_z_mm: 10\nsigma_dl_mm: 40\n" },
	{ "array.yaml",
	  "kind: transducers\nsphere: {radius_mm: 20, rings: 2, views: 3, polar_deg: [60, 120], "
	  "azimuth_deg: 0}\naperture_mm: [2, 2]\nspeed_mm_per_us: 1.5\nsampling_mhz: 4\n"
	  "first_sample_us: 8\nsamples: 40\n" },
	{ "balls.yaml", "smooth_fwhm_mm: 2\nshapes:\n- {type: sphere, centre_mm: [1, 0, 0], radius_mm: 3, "
	                "activity: 1}\n" },
	{ "shapes.yaml", "shapes:\n- {type: sphere, centre_mm: [1, 2, 3], radius_mm: 12, activity: 8}\n"
	                 "- {type: cylinder, radius_mm: [30, 20], length_mm: 40, axis: z, activity: 1, "
	                 "mu_per_mm: 0.0096}\n" },
	{ "ellipses.txt", "ellipse 0 0 30 60 0 1\n" },
};

static const char *const fixture_lines[] = {
	"phantom shapes.yaml --grid 3 --voxel 20 -o x.nii --mu mu.nii",
	"simulate ring.yaml x.nii --counts 40 --duration-s 10 --isotope F-18 -o e.lmdT",
	"simulate ring.yaml x.nii --counts 40 --duration-s 10 --randoms 0.2 --delayed d.Cdh -o c.Cdh",
	"srm panels.yaml --analytic -o m.srm --export rows.npy",
	"simulate panels.yaml x.nii --physics --decays 2000 -o lors.npy",
	"simulate strips.yaml ellipses.txt --counts 30 -o s.f32",
	"simulate array.yaml balls.yaml -o t.npy",
	"convert t.npy t.hdf5 --scanner array.yaml",
	"recon ray --events e.lmdT --scanner ring.yaml --grid 3 --voxel 20 --iterations 2 -o r.nii",
};

/* What stands in the folder of work from now on stands there for every input. */
static inline void keep_all(void)
{
	DIR *d = opendir(".");

	MUST(d);
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			MUST(renameat(AT_FDCWD, e->d_name, command.base,
			              strcat(strcpy((char[300]){ 0 }, "keep/"), e->d_name)) == 0);
	closedir(d);
}

/* A build without HDF5 can't make what transducers hear; all else must come about. */
static inline void make_fixtures(void)
{
	static bool done;

	if (done) return;
	done = true;
	command_enter();
	command.patient = true;
	for (size_t i = 0; i < sizeof fixture_texts / sizeof *fixture_texts; i++)
		put_file(fixture_texts[i].name, fixture_texts[i].text, strlen(fixture_texts[i].text));
	for (size_t i = 0; i < sizeof fixture_lines / sizeof *fixture_lines; i++)
		MUST(isotome(fixture_lines[i]) == 0 || strstr(fixture_lines[i], "t.npy"));
	command.patient = false;
	keep_all();
	command_back();
}

#endif
