/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers of volumes, each of one format; volume.c picks. `values` false: all but the values. */
#ifndef ISO_IO_VOLUME_H
#define ISO_IO_VOLUME_H

#include "isotome.h"

/* Memory for the values of v->dim, and room for n_files names; what fails, iso_volume_free gives back. */
int iso_volume_room(struct iso_volume *v, const iso_ctx *ctx, const char *path, int64_t n_files, bool values);

/* axis[r] = the axis of a volume that runs nearest to world axis r (x, y, z), and sign[r] which way. ISO_EINPUT: a voxel
   has no size along an axis, or the three axes lie in a plane. */
int iso_axes_find(int axis[3], int sign[3], const double affine[3][4], const char *path);

/* The largest angle between an axis of the volume and its world axis, degrees; below 6e-3 it counts as 0. Into each (or
   NULL) those of the world's x, y and z. */
double iso_axes_tilt(double each[3], const double affine[3][4], const int axis[3]);

/* The grid of a volume on its own axes, which are taken for the world's: right, but for the tilt. */
void iso_axes_grid(struct iso_grid *g, const int64_t dim[3], const double affine[3][4], const int axis[3]);

/* Whether the axes of two volumes run the same ways, to 1e-4; the sizes of voxels may differ. */
bool iso_axes_same(const struct iso_volume *a, const struct iso_volume *b);

/* The refusal of a volume with a tilt where a grid is wanted. */
int iso_axes_refuse(const char *path);

/* dim and affine of an image that is there, of which other members stay as they are; frames are not looked at. Of
   formats that know no oblique axes all are 0. */
int iso_image_place(struct iso_volume *v, const char *path);

/* iso_axes_tilt of an image; 0 of what can't be oblique. */
int iso_image_tilt(double *degrees, const char *path);

int iso_nifti_place(struct iso_volume *v, const char *path);
int iso_nifti_volume(struct iso_volume *v, const iso_ctx *ctx, const char *path, bool values);

/* A NIfTI file of vectors as it is stored: axes x, y, z, t, component of the file, the first fastest. */
struct iso_vectors {
	int64_t dim[5];
	int axis[3], sign[3]; /* the file axis along world x, y, z, and which way */
	struct iso_grid grid; /* along the world's axes */
	int intent;           /* code of NIfTI */
	char name[17];        /* of the intent */
	double p1;            /* its first parameter */
	iso_real *v;          /* NaN and infinity too; to be freed, also after a failure */
};

int iso_nifti_vectors(struct iso_vectors *to, const char *path);

/* Whether a file has the mark of DICOM, DICM at byte 128, or its suffix; a folder is taken for a series. */
bool iso_is_dicom(const char *path);
bool iso_dicom_begins(const uint8_t *head, int64_t n); /* the mark among the first n bytes */
int iso_dicom_place(struct iso_volume *v, const char *path);
int iso_dicom_volume(struct iso_volume *v, const iso_ctx *ctx, const char *path, bool values);

/* What a series says besides its values. */
struct iso_dicom_about {
	char modality[16], description[65];
	int64_t frames, n_files;
	char **file;
	double *reference_s, *duration_s; /* of each frame of PET, s; 0: not said */
};

int iso_dicom_about(struct iso_dicom_about *about, const char *path);
void iso_dicom_about_free(struct iso_dicom_about *about);

#endif
