/* SPDX-License-Identifier: BSD-3-Clause */
/* Model sradon: optoacoustics by spherical means, in the time domain.

   Threads: operators as in isotome/op.h. */
#ifndef ISOTOME_SRADON_H
#define ISOTOME_SRADON_H

#include "isotome/delays.h"
#include "isotome/memory.h"
#include "isotome/op.h"
#include "isotome/transducers.h"

ISO_BEGIN_C

/* Where the sphere of a sample is sampled: patches of exact area; or Wang 2013, algorithm 4. */
enum iso_sradon_sampling { ISO_SRADON_MIDPOINT, ISO_SRADON_ALG4 };

/* The adjoint: from the samples into the image; or for each voxel from the samples around it, the
   same sum. Auto is what is faster on the device. */
enum iso_sradon_adjoint { ISO_SRADON_AUTO, ISO_SRADON_GATHER, ISO_SRADON_SCATTER };

struct iso_sradon {
	size_t size;                     /* size of this struct */
	const struct iso_transducers *t; /* copied */
	struct iso_grid grid;            /* voxels must be cubes */
	enum iso_sradon_sampling sampling;
	enum iso_sradon_adjoint adjoint;
	double step;     /* between points on a sphere, in voxels, 0.125 to 4; 0: by accuracy */
	double accuracy; /* relative error of traces that points on the spheres may cause; 0: a step of 1 */
	bool focus;      /* the mean over each face; without, transducers are points */
	const struct iso_faces *faces; /* of that; copied; NULL: flat */
	double sir_error;              /* relative error of the mean; 0: 1e-2 */
	const iso_delays
		*delays; /* through tissue, kept; NULL: one speed. With midpoint sampling and scatter alone */
};

/* The step that these parameters mean: their own; or the largest of 2, sqrt(2), 1, ... 1/8 whose error is
   at most the accuracy, for images whose edges are blurred by half a voxel; or 1. */
double iso_sradon_step(const struct iso_sradon *p);

/* Traces (transducers, samples) of an image of absorbed energy: He D G (Wang 2013, 11 to 14). */
ISO_CHECKED int iso_sradon_create(iso_op **op, iso_ctx *ctx, const struct iso_sradon *p);
void iso_sradon_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_sradon *p);

/* The parts: G, integrals over spheres; D, gamma / (4 pi c^2) d/dt (g/t); He, the response. */
ISO_CHECKED int iso_sradon_integrals(iso_op **op, iso_ctx *ctx, const struct iso_sradon *p);
ISO_CHECKED int iso_sradon_derivative(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t);
ISO_CHECKED int iso_sradon_response(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t);

ISO_END_C
#endif
