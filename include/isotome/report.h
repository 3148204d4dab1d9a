/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages: images and how they were made, each page one HTML file that needs nothing but a browser. The page has
   its own script, with which a reader can move through the images. Without scripts, and on paper, the page is
   still complete.

	const char *images[] = { "plain.nii", "tof.nii" };

	iso_report_write("report.html", 2, images, NULL);

   A page appears whole or not at all, and replaces an existing file.

   Threads: any number of pages at a time. */
#ifndef ISOTOME_REPORT_H
#define ISOTOME_REPORT_H

#include "isotome/picture.h"

ISO_BEGIN_C

/* A struct of zeros with its `size`, or NULL, is a good start. */
struct iso_report_options {
	size_t size;       /* size of this struct */
	const char *title; /* UTF-8; NULL: the names of the images */
	/* files; NULL: none */
	const char *truth;   /* what the images should be, on their grid and any scale */
	const char *overlay; /* an image of any grid that the viewer lays over the first */
	const char
		*spheres; /* where spheres and background are (iso_nema_read), for contrast and noise; NULL:
	                        the places of the phantom `spheres`, if it was scanned */

	/* x, y, z of the beginning and of the end of the profile, mm; NULL: along x, through the signal */
	const double *profile;
	bool plain; /* only the page to be printed: no viewer, and no values of the images */
};

/* `images`: names of up to 6 files. The records beside them, and those beside what they were made from, tell how they were
   made: likelihood, times, parameters, commands, warnings. */
ISO_CHECKED int iso_report_write(const char *path, int n, const char *const *images,
                                 const struct iso_report_options *o);

struct iso_viewer_options {
	size_t size;       /* size of this struct */
	const char *title; /* UTF-8; NULL: the name */
	const char *name;  /* name of the image, and of the file that a reader can save; NULL: "image" */
	const char *map;   /* colours (iso_picture_maps); NULL: what suits the values */
	int64_t frame;     /* shown first, from 0; -1: the one that is seen best */
	double window[2];  /* values of the first and the last colour; both 0: what suits the values */
	/* x, y, z where the slices cross, mm (indices without a grid); NULL: the middle of what is seen */
	const double *at;
	const char *overlay_map;        /* colours of the overlay; NULL: grey */
	double opacity;                 /* opacity of the overlay, above 0, at most 1; 0: 0.4 */
	enum iso_picture_labels labels; /* at the edges of the planes */
};

/* The viewer alone, of an array (ny, nx), (nz, ny, nx) or (nt, nz, ny, nx); `overlay`: an image of any grid to lay over it;
   one of both without a grid must have the sizes of the other. NULL: none. `o` may be NULL. */
ISO_CHECKED int iso_viewer_write(const char *path, const struct iso_array *image,
                                 const struct iso_array *overlay, const struct iso_viewer_options *o);

ISO_END_C
#endif
