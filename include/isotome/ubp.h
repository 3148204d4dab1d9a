/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ubp: universal back-projection of traces.

   Threads: operators as in isotome/op.h. */
#ifndef ISOTOME_UBP_H
#define ISOTOME_UBP_H

#include "isotome/delays.h"
#include "isotome/memory.h"
#include "isotome/op.h"
#include "isotome/transducers.h"

ISO_BEGIN_C

enum iso_ubp_weights {
	ISO_UBP_SPHERE,      /* exact on a sphere round the object: Wang 2013, eq. (27) */
	ISO_UBP_SOLID_ANGLE, /* any surface: each transducer by the solid angle of its patch */
};

struct iso_ubp {
	size_t size;                               /* size of this struct */
	const struct iso_transducers *transducers; /* what is needed of it is copied */
	struct iso_grid grid;
	enum iso_ubp_weights weights;
	const iso_delays *delays; /* through tissue, kept; NULL: one speed */
};

/* The adjoint of this operator makes the image (absorbed energy density) of traces (n, samples);
   forward is refused. Without areas every transducer has the same; with ISO_UBP_SPHERE they
   share that of the sphere. */
ISO_CHECKED int iso_ubp_create(iso_op **op, iso_ctx *ctx, const struct iso_ubp *p);
void iso_ubp_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ubp *p);

ISO_END_C
#endif
