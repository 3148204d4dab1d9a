/* SPDX-License-Identifier: BSD-3-Clause */
/* Volumes that lie in the room as they were scanned, straight or oblique; and CT as attenuation.

   Threads: any number of volumes at a time; one that a function writes belongs to one thread. */
#ifndef ISOTOME_VOLUME_H
#define ISOTOME_VOLUME_H

#include "isotome/context.h"
#include "isotome/grid.h"
#include "isotome/memory.h"

ISO_BEGIN_C

/* Voxel (i, j, k) has its value at v[(k dim[1] + j) dim[0] + i], and its centre at
   affine[r][0] i + affine[r][1] j + affine[r][2] k + affine[r][3] mm, r = 0, 1, 2 towards right, anterior,
   superior. */
struct iso_volume {
	int64_t dim[3];
	double affine[3][4];
	iso_real *v;
	double kvp; /* tube voltage of a CT; 0 if the file does not say it */
	int64_t n_files;
	char **file;   /* names of the files that it was read from */
	char unit[32]; /* unit of the values: Units of the JSON file beside it; "" if that says none */
};

/* A NIfTI image (.nii, .nii.gz) of any orientation, another image with a grid (.raw), or a CT series in DICOM,
   uncompressed: a folder, or one file of the series, with which all of its series in that folder are taken.
   ISO_ENOMEM, before memory is taken, if it does not fit what the context (NULL: the machine) leaves. */
ISO_CHECKED int iso_volume_read(struct iso_volume *v, const iso_ctx *ctx, const char *path);
ISO_CHECKED int iso_volume_peek(struct iso_volume *v,
                                const char *path); /* all but the values: v->v is NULL */
void iso_volume_free(struct iso_volume *v);        /* leaves zeros, which it takes too */

/* x = the volume on a grid of straight axes: smoothed by a Gaussian of the grid's voxels less the volume's own,
   and of `smooth` mm more (full widths at half maximum, added as squares); then linear between the eight voxels
   around each centre. Beyond the volume x is 0, and *outside (or NULL) counts those voxels. Attenuation is to be
   resampled, not Hounsfield units, of which 0 is water and the mean of two kinds of tissue means nothing. */
ISO_CHECKED int iso_volume_resample(iso_real *x, int64_t *outside, iso_ctx *ctx, const struct iso_grid *g,
                                    const struct iso_volume *v, double smooth);
void iso_volume_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_grid *g,
                     const struct iso_volume *v, double smooth); /* what that takes */

/* The straight grid, of the volume's own voxel sizes, that covers all of its voxels. */
ISO_CHECKED int iso_volume_grid(struct iso_grid *g, const struct iso_volume *v);

#define ISO_KVP_LEAST 80. /* tube voltages that are known, kV */
#define ISO_KVP_MOST 140.

/* mu[i] = attenuation at 511 keV in 1/mm of hu[i] Hounsfield units, for i < n; the arrays may be the same. Two
   straight lines that depend on the tube voltage (Carney et al., Med. Phys. 33, 976, 2006), ISO_KVP_LEAST to
   ISO_KVP_MOST; between the voltages of the paper's table its numbers are interpolated. */
ISO_CHECKED int iso_mu_of_hu(iso_real *mu, int64_t n, const iso_real *hu, double kvp);

ISO_END_C
#endif
