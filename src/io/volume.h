/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers of volumes, each of one format; volume.c picks. `values` false: all but the values. */
#ifndef ISO_IO_VOLUME_H
#define ISO_IO_VOLUME_H

#include "isotome.h"

/* Memory for the values of v->dim, and room for n_files names; what fails, iso_volume_free gives back. */
int iso_volume_room(struct iso_volume *v, const iso_ctx *ctx, const char *path, int64_t n_files, bool values);

int iso_nifti_volume(struct iso_volume *v, const iso_ctx *ctx, const char *path, bool values);

/* Whether a file has the mark of DICOM, DICM at byte 128, or its suffix; a folder is taken for a series. */
bool iso_is_dicom(const char *path);
bool iso_dicom_begins(const uint8_t *head, int64_t n); /* the mark among the first n bytes */
int iso_dicom_volume(struct iso_volume *v, const iso_ctx *ctx, const char *path, bool values);

#endif
