/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside a picture: the sheet that it was painted from, for those who must find a voxel again. */
#ifndef ISO_PICTURE_H
#define ISO_PICTURE_H

#include "sheet.h"

/* The sheet that iso_picture_render paints; free with iso_sheet_free. */
int iso_picture_sheet(struct iso_sheet *s, struct iso_picture_info *info, const struct iso_array *a,
                      const struct iso_picture *p);

#endif
