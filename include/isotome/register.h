/* SPDX-License-Identifier: BSD-3-Clause */
/* Rigid registration: the pose of an object in one image relative to another image; and the motion of a head, found by it
   from the events of a scan. Lengths are mm, images on the host.

   Threads: an image that others are registered to serves one call at a time. */
#ifndef ISOTOME_REGISTER_H
#define ISOTOME_REGISTER_H

#include "isotome/array.h"
#include "isotome/memory.h"
#include "isotome/motion.h"

ISO_BEGIN_C

/* The image that others are registered to, with all that is made of it once. */
typedef struct iso_register iso_register;

struct iso_registered {
	size_t size;          /* size of this struct, set by the caller */
	struct iso_pose pose; /* pose of the object in the moved image: x_moved = R x_fixed + T */
	double correlation; /* correlation of the two images over the object; NaN: the moved image has no value there */
	int steps;  /* of all three levels of smoothing */
	bool ended; /* by steps below 1e-3 mm; false: by their number, or outside the image */
};

/* Copies what it needs of `fixed`, an image on g. ISO_EINPUT if the image does not fix all six numbers of a pose:
   it is empty, or round. */
ISO_CHECKED int iso_register_create(iso_register **r, iso_ctx *ctx, const struct iso_grid *g,
                                    const iso_real *fixed);
/* Finds the pose, and a scale, of least squares: inverse compositional Gauss-Newton (Baker and Matthews, IJCV 56, 221,
   2004), with both images smoothed by 12 mm, 6 mm and not at all. It begins with the pose of start[0 .. n - 1] that
   fits best; n = 0: with the identity. `moved` is an image on the grid of the fixed one. Same bits for every
   number of threads. */
ISO_CHECKED int iso_register_find(struct iso_registered *found, iso_register *r, const iso_real *moved,
                                  const struct iso_pose *start, int n);
void iso_register_free(iso_register *r); /* and all that it holds */

/* y(x) = image(pose x), linear between the eight voxels around each place, 0 outside: the moved image as the object
   lies in the fixed one. Two images on g. */
ISO_CHECKED int iso_register_resample(iso_real *y, iso_ctx *ctx, const struct iso_grid *g,
                                      const iso_real *image, const struct iso_pose *pose);

/* ---- the motion of a head ---- */

/* What is found is the pose in each frame relative to a reference image. A frame is reconstructed by MLEM with time of
   flight, without scatter and randoms, filtered, and registered. A struct of zeros with its `size` takes
   all defaults. */
struct iso_track {
	size_t size;                /* size of this struct */
	const iso_scanner *scanner; /* NULL: that of the file */
	struct iso_grid grid;       /* of the frames; no voxels given: 4 mm; no sizes: as iso_scanner_grid */
	double frame_s;             /* least length of a frame; 0: 1 s */
	int64_t events;             /* least number of events of a frame; 0: 4e5; -1: any */
	int reference_frames;       /* number of frames, from the first, whose mean is the reference; 0: 2 */
	const struct iso_array *reference; /* in place of that mean: an image on a grid of its own */
	int rounds;         /* 0: 2. From the second on the reference is the mean of all frames, moved */
	int iterations;     /* of MLEM; 0: 4 */
	double smooth_mm;   /* FWHM of the filter; 0: 6 mm */
	double tof_fwhm_ps; /* 0: that of the file, else that of the scanner; below 0: none */
	/* Attenuation, 1/mm, as the head lies in the reference; it moves with the head. NULL: none. What attenuation leaves
	   in an image does not turn with the head, so that rotations come out too small without a map. */
	const struct iso_array *mu;
};

struct iso_tracked_frame {
	double from_s, to_s;
	int64_t events;
	int steps;            /* of the last registration */
	double correlation;   /* with the reference, after it; NaN: not known */
	bool known;           /* false: without events, or an outlier */
	struct iso_pose pose; /* x_frame = R x_reference + T */
};

struct iso_tracked {
	size_t size;          /* size of this struct, set by the caller */
	struct iso_grid grid; /* of the frames */
	double tof_fwhm_ps;   /* that was used; 0: none */
	int64_t n, empty, outliers;
	struct iso_tracked_frame *frame;
};

/* Reads a frame at a time; memory for images of frames stays below 1 GiB, however long the scan is. The events must have
   times, which do not fall. A frame is an outlier if its correlation is below the median of all frames by more than six
   times their median deviation from it, and by more than 0.05. It is also one if it lies more than 30 mm from the frame
   before and from the frame after it. Registration runs on the CPU, the rest on the context's device. */
ISO_CHECKED int iso_track_events(struct iso_tracked *found, iso_ctx *ctx, const iso_event_file *f,
                                 const struct iso_track *p);
void iso_tracked_free(struct iso_tracked *found); /* its frames */
/* The memory that it takes; frames are taken to be as long as the mean rate of events makes them. */
ISO_CHECKED int iso_track_plan(struct iso_plan *plan, iso_ctx *ctx, const iso_event_file *f,
                               const struct iso_track *p);
/* A table with a row at the middle of each frame; rows of frames that are not known are nan. */
ISO_CHECKED int iso_tracked_poses(iso_poses **p, const struct iso_tracked *found);

ISO_END_C
#endif
