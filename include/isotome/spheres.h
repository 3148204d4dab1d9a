/* SPDX-License-Identifier: BSD-3-Clause */
/* Spheres that are heard: optoacoustic data in closed form. Lengths are mm, values absorbed energy
   density. */
#ifndef ISOTOME_SPHERES_H
#define ISOTOME_SPHERES_H

#include "isotome/delays.h"
#include "isotome/phantom.h"
#include "isotome/transducers.h"

ISO_BEGIN_C

struct iso_sphere {
	double centre[3], radius; /* mm */
	double value;             /* absorbed energy density */
};

/* Their sum, smoothed by a Gaussian of this FWHM (mm; 0: not at all). */
struct iso_spheres {
	int n;
	const struct iso_sphere *v;
	double fwhm;
};

/* Value at each voxel centre, in host memory, by the context's device; ctx may be NULL. */
ISO_CHECKED int iso_spheres_raster(iso_real *x, iso_ctx *ctx, const struct iso_spheres *s,
                                   const struct iso_grid *g);

/* Pressure traces (n, samples) in host memory, in closed form, by the context's device; with apertures, the
   mean over each aperture. ISO_EINPUT if a transducer lies in a sphere. ctx may be NULL. */
ISO_CHECKED int iso_spheres_pressure(iso_real *y, iso_ctx *ctx, const struct iso_spheres *s,
                                     const struct iso_transducers *t);

/* The spheres of a phantom into v, with room for iso_phantom_shapes; ISO_EARG if it has another
   shape, or two overlap. */
ISO_CHECKED int iso_phantom_spheres(struct iso_sphere *v, double *fwhm, const iso_phantom *p);

/* The same through the impulse response, and with Gaussian noise of width `noise`, a share of
   *greatest, the greatest pressure; value i depends on the seed and i alone. ISO_EINPUT, with
   *greatest infinite, where values are not finite. */
ISO_CHECKED int iso_spheres_traces(iso_real *y, double *greatest, iso_ctx *ctx, const struct iso_spheres *s,
                                   const struct iso_transducers *t, double noise, uint64_t seed);

/* The same with curved faces (NULL: flat): the mean over each face is a sum over as many points as the smoothed
   spheres need for an error of 1e-3. */
ISO_CHECKED int iso_spheres_traces_faces(iso_real *y, double *greatest, iso_ctx *ctx,
                                         const struct iso_spheres *s, const struct iso_transducers *t,
                                         const struct iso_faces *faces, double noise, uint64_t seed);

/* The same through tissue: make `delays` for these transducers, and for a grid over the centres of the spheres. A sphere is
   heard by the delay and the speed at its centre. ISO_EINPUT if one lies across a border; ISO_EARG on CUDA. NULL: one
   speed. */
ISO_CHECKED int iso_spheres_traces_through(iso_real *y, double *greatest, iso_ctx *ctx,
                                           const struct iso_spheres *s, const struct iso_transducers *t,
                                           const struct iso_faces *faces, const iso_delays *delays,
                                           double noise, uint64_t seed);

/* A grid over the centres, for the delays. */
void iso_spheres_box(struct iso_grid *g, const struct iso_spheres *s);

ISO_END_C
#endif
