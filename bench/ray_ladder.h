/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs that Van Gendt 2021 compares in its Table 2, from the plain one up, each a step from
   the one before it; they are measured beside the model ray, and serve nothing else.

   All do the paper's baseline MLEM, image = image x corr (Algorithm 1 without sensitivity). The
   paper's own kernel adds to `corr` without atomics and so loses what two events add at once (its
   Figure 2, lines 33 to 36); here every step adds atomically. */
#ifndef ISO_RAY_LADDER_H
#define ISO_RAY_LADDER_H

#include "isotome.h"

#ifdef __cplusplus
extern "C" {
#endif

enum iso_ladder_step {
	ISO_LADDER_SCALAR,  /* CPU: one thread, one event after the other, face to face */
	ISO_LADDER_BASIC,   /* CUDA: a block an event, a thread a slice, x fastest */
	ISO_LADDER_TILES,   /* and the image in tiles of 4 x 4 x 4 */
	ISO_LADDER_SHARED,  /* and the event fetched, and its line set up, once a block */
	ISO_LADDER_REDUCED, /* and the forward sum reduced in the block */
	ISO_LADDER_SHAPED,  /* and the number of threads that is fastest here */
	ISO_LADDER_STEPS,
};

const char *iso_ladder_name(enum iso_ladder_step step);

struct iso_ladder {
	struct iso_grid grid;
	enum iso_ladder_step step;
	bool wide; /* float64 instead of float32; not the scalar program */
	int iterations;
};

struct iso_ladder_time {
	double total_s;      /* from the events on the host to the image on the host */
	double iterations_s; /* of that, the iterations */
	int threads;         /* of a block, or 1 */
};

/* x, on the host, is the start and the result. The scalar program needs a context of the CPU, the
   others one of CUDA. */
int iso_ladder_run(iso_real *x, struct iso_ladder_time *time, iso_ctx *ctx, const struct iso_ladder *p,
                   const struct iso_events *e);

#ifdef __cplusplus
}
#endif
#endif
