/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel: optoacoustics by spherical voxels, in the frequency domain. Frequencies are MHz.

   Threads: operators as in isotome/op.h. */
#ifndef ISOTOME_SVOXEL_H
#define ISOTOME_SVOXEL_H

#include "isotome/delays.h"
#include "isotome/memory.h"
#include "isotome/op.h"
#include "isotome/transducers.h"

ISO_BEGIN_C

/* By a fast transform over the delays, or term by term (the reference, slow). */
enum iso_svoxel_transform { ISO_SVOXEL_NUFFT, ISO_SVOXEL_DIRECT };

struct iso_svoxel {
	size_t size;                     /* size of this struct */
	const struct iso_transducers *t; /* copied; its impulse response is part of the model */
	struct iso_grid grid;            /* voxels must be cubes */
	int64_t first_line, lines;       /* line l is at (first_line + l) df_mhz + offset_mhz */
	double df_mhz;
	double offset_mhz; /* from 0 to below df_mhz */
	const double *eir; /* (lines, 2): spectrum of the impulse response, instead of t->eir */
	enum iso_sir sir;
	enum iso_svoxel_transform transform;
	int width;         /* the fast transform's kernel spans 2 to 8 bins; 0: by accuracy */
	int bins_per_wave; /* its traces have 3 to 64 in the wave of the highest line; 0: by accuracy */
	double accuracy;   /* largest relative error of forward data against the direct sum; 0: 1e-6 */
	int batch; /* images (batch, nz, ny, nx) and spectra (batch, transducers, lines, 2) that go through
	                      together; 0: one */
	const struct iso_faces *faces; /* copied; NULL: flat */
	double sir_error; /* relative error of the integral over a face, up to the highest line. 0: 1e-2; for
	                     a near rectangle 1e-4, and 16 points along a side at least */
	const iso_delays *delays; /* through tissue, kept; NULL: one speed */
};

/* Points that stand for a face in its integral: along ex and ey; for a bowl from the middle to the rim, and round it. Where
   an array hears a plane of symmetry, half of them are computed. */
struct iso_face_points {
	size_t size; /* size of this struct */
	int along[2];
	int computed; /* of each transducer */
};

/* How many points an operator with these parameters takes for each face. */
ISO_CHECKED int iso_svoxel_points(struct iso_face_points *n, const struct iso_svoxel *p);

/* Sets width, bins_per_wave and accuracy to the values of the operator: what was given, and what follows
   from it. The accuracy is then the relative error to be expected. Returns the bins of a period of the lines; 0:
   the parameters are wrong, and iso_svoxel_create says why. */
int64_t iso_svoxel_settle(struct iso_svoxel *p);

/* Lines 1 ... of the record padded to twice its length, up to fmax_mhz (0: 5) or half the sampling
   rate. Sets first_line, lines, df_mhz and offset_mhz. */
ISO_CHECKED int iso_svoxel_lines(struct iso_svoxel *p, double fmax_mhz);

/* The same for any lines f0 + l df, l = 0 ... lines - 1: f0 need be no multiple of df, nor 1/df as
   long as the delays. */
ISO_CHECKED int iso_svoxel_lines_at(struct iso_svoxel *p, double f0_mhz, double df_mhz, int64_t lines);
double iso_svoxel_line_mhz(const struct iso_svoxel *p, int64_t l);

/* Spectra (transducers, lines, 2) of an image of absorbed energy (Wang 2013, 17 to 19): complex
   numbers as pairs, the inner product is the real part. */
ISO_CHECKED int iso_svoxel_create(iso_op **op, iso_ctx *ctx, const struct iso_svoxel *p);
void iso_svoxel_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_svoxel *p);

/* The data: spectra of traces (transducers, samples), dt included, phases from the laser pulse. */
ISO_CHECKED int iso_svoxel_spectra(iso_real *u, iso_ctx *ctx, const struct iso_svoxel *p,
                                   const iso_real *traces);

ISO_END_C
#endif
