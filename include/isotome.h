/* SPDX-License-Identifier: BSD-3-Clause */
/* Isotome: from tomography measurements to images. One header a subject, below; this one has them all.

   Conventions (docs/conventions.md has them all):
   - lengths are mm, time differences ps; any other unit is in the name;
   - images are (nz, ny, nx), x fastest, and voxel i has its centre at
     centre + (i - (n-1)/2) * voxel;
   - arguments stand in this order: results, the context, everything else. A result is what the function writes
     for its caller: a value or an array by its pointer, a handle that it makes, a file by its path. A function that
     changes a handle (iso_problem_set) has that handle as its result;
   - every function that can fail returns ISO_OK (0) or a negative code, and leaves one line
     about it in iso_message(). Results are written on success only;
   - if such a function needs a pointer, NULL gives ISO_EARG; if NULL has a meaning, the function or the member
     says which. Functions without a status do nothing with NULL, and return 0, NULL or false, unless their
     comment says otherwise;
   - a struct of parameters that begins with `size` is made as { .size = sizeof s, ... }: later versions
     add members at its end, and take a smaller struct as one with zeros there. Size 0 gives ISO_EARG.
     All other structs keep their members as long as the library keeps its soname;
   - threads may call any functions at the same time, as long as none writes an object that another
     uses: what a function takes as const it does not write. Handles that allow more, or less, say so in their
     own header. */
#ifndef ISOTOME_H
#define ISOTOME_H

#include "isotome/status.h"
#include "isotome/context.h"
#include "isotome/ranks.h"
#include "isotome/memory.h"
#include "isotome/grid.h"
#include "isotome/vec.h"
#include "isotome/op.h"
#include "isotome/array.h"
#include "isotome/volume.h"
#include "isotome/dicom.h"
#include "isotome/scanner.h"
#include "isotome/events.h"
#include "isotome/motion.h"
#include "isotome/nema.h"
#include "isotome/phantom.h"
#include "isotome/picture.h"
#include "isotome/report.h"
#include "isotome/measure.h"
#include "isotome/physics.h"
#include "isotome/timing.h"
#include "isotome/rates.h"
#include "isotome/units.h"
#include "isotome/unmix.h"
#include "isotome/simulate.h"
#include "isotome/activity.h"
#include "isotome/crystals.h"
#include "isotome/filter.h"
#include "isotome/gates.h"
#include "isotome/warp.h"
#include "isotome/algo.h"
#include "isotome/dynamic.h"
#include "isotome/kinetics.h"
#include "isotome/register.h"
#include "isotome/prior.h"
#include "isotome/map.h"
#include "isotome/pdhg.h"
#include "isotome/response.h"
#include "isotome/ray.h"
#include "isotome/ray_moved.h"
#include "isotome/scatter.h"
#include "isotome/panels.h"
#include "isotome/norm.h"
#include "isotome/srm.h"
#include "isotome/strip.h"
#include "isotome/barrel.h"
#include "isotome/transducers.h"
#include "isotome/delays.h"
#include "isotome/recording.h"
#include "isotome/traces.h"
#include "isotome/spheres.h"
#include "isotome/ubp.h"
#include "isotome/svoxel.h"
#include "isotome/sound_stream.h"
#include "isotome/sradon.h"
#include "isotome/lifetime.h"
#include "isotome/live.h"
#include "isotome/problem.h"

#endif
