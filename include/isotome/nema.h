/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of merit of a scanner after NEMA NU 2-2018 and NU 4-2008: scatter fraction and noise-equivalent counts,
   sensitivity, accuracy, image quality of the NU 4 phantom. Results are JSON texts, with the names that 'isotome nema
   --json' prints; docs/nema.md explains them.

   Threads: any number of calls at a time, each with a context of its own. */
#ifndef ISOTOME_NEMA_H
#define ISOTOME_NEMA_H

#include "isotome/context.h"
#include "isotome/measure.h"

ISO_BEGIN_C

enum iso_nema_test {
	ISO_NEMA_SENSITIVITY, /* line source in sleeves, or a point: a description of runs */
	ISO_NEMA_COUNTING,    /* decaying line in a phantom: a description of runs */
	ISO_NEMA_ACCURACY,    /* images of a counting series: a description of runs */
	ISO_NEMA_MOUSE,       /* image quality of NU 4: a description of places, and an image */
};

/* A struct of zeros with its `size`, or NULL, is a good start. */
struct iso_nema_options {
	size_t size;          /* size of this struct */
	const char *standard; /* file of the standards' numbers; NULL: those of the library */
	const char *scanner;  /* its description; NULL: that of the runs, or of their first file */
	const char *image;    /* of ISO_NEMA_MOUSE */
	const char *norm;     /* resolution: efficiencies per crystal (.npy); NULL: all alike */
	bool mouse;           /* resolution: the radii of NU 4, not those of NU 2 */
	double voxel_mm;      /* resolution: voxels in the plane; 0: half a bin */
	/* of sinograms; 0: as the scanner says */
	int64_t angles;
	double bin_mm, pitch_mm;
};

/* *json: a text, to be freed with iso_nema_free. `description`: YAML or JSON. */
ISO_CHECKED int iso_nema_run(char **json, iso_ctx *ctx, enum iso_nema_test test, const char *description,
                             const struct iso_nema_options *o);
void iso_nema_free(char *json);

/* Resolution: a point a file, events or images. Events become images by filtered back-projection. */
ISO_CHECKED int iso_nema_resolution(char **json, iso_ctx *ctx, int n, const char *const *files,
                                    const struct iso_nema_options *o);

/* The files that a description of runs names, one a line: to be freed with iso_nema_free. */
ISO_CHECKED int iso_nema_inputs(char **names, enum iso_nema_test test, const char *description);

ISO_END_C
#endif
