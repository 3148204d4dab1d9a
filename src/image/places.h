/* SPDX-License-Identifier: BSD-3-Clause */
/* Places of an image, which measures, phantoms and pictures share, and the volume that a picture shows. */
#ifndef ISO_MEASURE_H
#define ISO_MEASURE_H

#include "core/status.h"

#define MEASURE_TOLERANCE 1e-4 /* of a voxel: what files keep of a grid */

/* ISO_EARG, with `who`, unless x has three axes and a grid that fits them. */
int iso_measure_check(const struct iso_array *x, const char *who);

/* A place along an axis, in voxels from the centre of the first: voxel i is [i - 1/2, i + 1/2]. */
double iso_measure_index(const struct iso_grid *g, int axis, double place);

/* Centre of voxel i. */
double iso_measure_place(const struct iso_grid *g, int axis, int64_t i);

/* Voxels whose centres lie in [low, high]; none if first > last. */
void iso_measure_range(int64_t *first, int64_t *last, const struct iso_grid *g, int axis, double low,
                       double high);

/* The two of n voxels around `at`, which is in voxels from the centre of the first, and the share of the
   second; beyond the outer centres both are the outer one. */
double iso_measure_between(int64_t i[2], double at, int64_t n);

/* Whether a place along an axis lies in a voxel of the image. */
bool iso_measure_inside(const struct iso_grid *g, int axis, double place);

/* "x -50 to 50, y ..., z ..." */
struct iso_extent {
	char text[200];
};
struct iso_extent iso_measure_extent(const struct iso_grid *g);

/* Widths of a profile of n samples, `step` apart from `first` on, about its largest: the rule of iso_measure_fwhm. */
struct iso_width iso_width_of(const double *v, int64_t n, double step, double first);

/* ---- the volume that a picture shows: one frame of an array, its planes, what its values are ---- */

/* Without a grid of its own, an array lies on one whose coordinates are the indices. */
struct iso_shown {
	const iso_real *v; /* borrowed */
	struct iso_grid grid;
	bool in_mm; /* false: coordinates are indices */
};

/* An array (ny, nx), (nz, ny, nx) or (nt, nz, ny, nx) at frame t; ISO_EARG for any other. */
int iso_shown_of(struct iso_shown *vol, const struct iso_array *a, int64_t frame);

/* Whether its axes are taken for a patient's, R A S: not where there is no grid, nor where transducers heard
   it, whose files do not tell how the object lies. */
bool iso_shown_anatomic(const struct iso_array *a);

/* The axes of the plane across `axis`: (y, z) across x, (x, z) across y, (x, y) across z. */
int iso_plane_axis(int axis, bool vertical);

/* The slice `index` across `axis`, or the greatest finite value along it; horizontal fastest. */
void iso_shown_slice(iso_real *plane, const struct iso_shown *vol, int axis, int64_t index);
void iso_shown_max(iso_real *plane, const struct iso_shown *vol, int axis);

struct iso_range {
	double min, max; /* of the finite values; both 0 if there are none */
	int64_t not_finite;
};
struct iso_range iso_shown_range(const struct iso_shown *vol);

/* Where the image is greatest once smoothed by (1 2 1)/4 along each axis, which passes over the
   lone voxels of noise; the first of equals. */
void iso_shown_hottest(int64_t voxel[3], const struct iso_shown *vol);

/* The value that would stand at place k of the n sorted; those before it are no greater then, those behind it no less. */
iso_real iso_select_place(iso_real *a, int64_t n, int64_t k);

/* value[i]: percent[i] % of the finite values lie below it. */
int iso_shown_percentiles(double value[2], const struct iso_shown *vol, const double percent[2]);

#endif
