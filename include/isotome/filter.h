/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters of images, and the point spread function as an operator. Widths are mm, images in memory of
   the context's device.

   Threads: as the context. */
#ifndef ISOTOME_FILTER_H
#define ISOTOME_FILTER_H

#include "isotome/memory.h"
#include "isotome/op.h"
#include "isotome/grid.h"

ISO_BEGIN_C

enum iso_filter_kind { ISO_GAUSSIAN, ISO_MEDIAN };

struct iso_filter {
	enum iso_filter_kind kind;
	double fwhm[3]; /* Gaussian: mm along x, y, z; 0 leaves the axis alone */
	int size;       /* median: edge of the cube, 3, 5, 7 or 9 voxels */
};

/* "gaussian:MM", "gaussian:X,Y,Z" or "median:N". */
ISO_CHECKED int iso_filter_parse(struct iso_filter *f, const char *text);

/* y = filtered x, two images on `g` in memory of the context's device. Beyond the border the edge
   voxel goes on; the Gaussian ends at 3 sigma. */
ISO_CHECKED int iso_filter_apply(iso_real *y, iso_ctx *ctx, const struct iso_filter *f,
                                 const struct iso_grid *g, const iso_real *x);
/* The same of an image in host memory, in place. */
ISO_CHECKED int iso_filter_host(iso_real *x, iso_ctx *ctx, const struct iso_filter *f,
                                const struct iso_grid *g);

/* Bytes that iso_filter_apply or a filter of EM takes. */
void iso_filter_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_filter *f,
                     const struct iso_grid *g);

/* Image-space point spread function as an operator, its own adjoint: a Gaussian of `fwhm` mm along
   x, y, z, that ends at 3 sigma; 0 beyond the border. Chain it behind a model. */
ISO_CHECKED int iso_psf_create(iso_op **op, iso_ctx *ctx, const struct iso_grid *g, const double fwhm[3]);
void iso_psf_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_grid *g); /* and the
						   images of the chain */

ISO_END_C
#endif
