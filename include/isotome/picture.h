/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures: slices, montages and projections of arrays, as pixels and as PNG files. Places are mm.

   Threads: any number of pictures at a time. */
#ifndef ISOTOME_PICTURE_H
#define ISOTOME_PICTURE_H

#include "isotome/array.h"
#include "isotome/events.h"

ISO_BEGIN_C

enum iso_picture_kind {
	ISO_SLICES,  /* coronal, sagittal and transverse through one point */
	ISO_MONTAGE, /* slices across one axis, row by row */
	ISO_MIP,     /* the greatest values along y, x and z */
};

enum iso_picture_at {
	ISO_AT_CENTRE, /* of the grid */
	ISO_AT_MAX,    /* greatest value, once smoothed by (1 2 1)/4 along each axis */
	ISO_AT_POINT,
	ISO_AT_OBJECT, /* centre of mass of the upper half of the image, smoothed */
};

enum iso_picture_labels {
	ISO_LABEL_ANATOMY, /* R L A P S I: the ends of +x -x +y -y +z -z */
	ISO_LABEL_AXES,    /* +x +y +z; also where the array has no grid, or the unit of optoacoustics */
	ISO_LABEL_NONE,
};

/* How to show an array (ny, nx), (nz, ny, nx) or (nt, nz, ny, nx); all zero but `size` is a good start.
   Axes run to the right and upwards, so left is left; `radiological` turns x round. Both axes of
   every panel have one scale, whatever the shape of the voxels. */
struct iso_picture {
	size_t size; /* size of this struct */
	enum iso_picture_kind kind;
	int64_t frame;          /* t, from 0 */
	enum iso_picture_at at; /* point where slices cross */
	double point[3];        /* mm (indices without a grid), for ISO_AT_POINT */
	char axis;              /* montage: 'x', 'y' or 'z'; 0: z */
	int64_t every, columns; /* montage: one slice in so many, so many in a row;
					   0: at most 24 slices, and what fills the picture */
	double window[2];       /* values of the first and last colour; both 0: */
	double percent[2];      /* from these percentiles of all voxels; both 0: from 0 to a high
					   percentile of what is inside the object (docs/viewer.md has
					   the rule), or symmetric about 0 if there are negative values
					   that the unit does not rule out */
	const char *map;        /* see iso_picture_maps; NULL: ember, or blue-red for a
					   window symmetric about 0 */
	double zoom;            /* pixels along the shortest edge of a voxel;
					   0: for a picture about 1000 pixels wide or high */
	bool linear;            /* interpolate between voxels, instead of flat boxes */
	bool radiological, crosshair;
	enum iso_picture_labels labels;
	const char *title; /* UTF-8; NULL: none */
};

struct iso_picture_info {
	size_t size; /* size of this struct, set by the caller */
	double window[2];
	const char *map;
	double min, max;      /* of the finite values of the frame */
	int64_t not_finite;   /* voxels of the frame; those shown are drawn in magenta */
	int64_t voxel[3];     /* x, y, z where slices cross, */
	double point[3];      /* and its centre: mm, or indices without a grid */
	double pixels_per_mm; /* or per voxel, without a grid */
	int64_t panels;
};

/* Red, green and blue of each pixel, 8 bits each, rows from the top. */
struct iso_pixels {
	int64_t width, height;
	unsigned char *rgb;
};

/* At most 100 million pixels. `info` may be NULL. */
ISO_CHECKED int iso_picture_render(struct iso_pixels *pixels, struct iso_picture_info *info,
                                   const struct iso_array *a, const struct iso_picture *p);
void iso_pixels_free(struct iso_pixels *pixels);

/* A scanner of crystals, or a barrel of strips, as seen along z, and from the side, where crystals stand at their distance
   from the axis; with the lines of up to 400 of the events through it. `e` and `title` (UTF-8) may be NULL. ISO_EARG: it has neither. */
ISO_CHECKED int iso_picture_scanner(struct iso_pixels *pixels, const iso_scanner *s,
                                    const struct iso_events *e, const char *title);
const char *const *iso_picture_maps(void); /* names, ends with NULL */

/* As PNG; as iso_write and iso_write_check otherwise. */
ISO_CHECKED int iso_picture_write(const char *path, const struct iso_pixels *pixels, const char *sidecar);
ISO_CHECKED int iso_picture_write_check(const char *path, bool force);

ISO_END_C
#endif
