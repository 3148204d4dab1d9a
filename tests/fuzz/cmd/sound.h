/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done with a recording of transducers. */
#ifndef SOUND_H
#define SOUND_H

#include "fixtures.h"

static const char *const sound_lines[] = {
	"info %s",
	"convert %s b.npy",
	"convert %s c.hdf5",
	"recon ubp --data %s --grid 3 --voxel 4 -o d.nii --memory-limit 0.05",
	"recon sradon --data %s --grid 3 --voxel 4 --iterations 1 -o e.nii --memory-limit 0.05",
	"simulate %s balls.yaml -o f.npy --memory-limit 0.05",
};

/* `which` picks one: a child reads HDF5, and one of a process under the sanitizers takes long. */
static inline void try_recording(const char *name, size_t which)
{
	char line[200];

	snprintf(line, sizeof line, sound_lines[which % (sizeof sound_lines / sizeof *sound_lines)], name);
	isotome(line);
}

#endif
