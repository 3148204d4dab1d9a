/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs and variants that papers compare, measured beside the models ray and srm; they serve nothing
   else. */
#ifndef ISO_LADDER_H
#define ISO_LADDER_H

#include "isotome.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Van Gendt 2021, Table 2: from the plain one up, each a step from the one before it ----

   All do the paper's baseline MLEM, image = image x corr (Algorithm 1 without sensitivity). The
   paper's own kernel adds to `corr` without atomics and so loses what two events add at once (its
   Figure 2, lines 33 to 36); here every step adds atomically. */
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

/* ---- Chou 2012, Table 1: the forward projection in three steps, here with any number of threads up to
   128. Meng 2019: 4 against 16 seed columns a plane ---- */

enum iso_srm_step {
	ISO_SRM_ALONE,    /* Algorithm 1: a block a LOR, thread 0 adds up the threads' sums */
	ISO_SRM_MIRRORED, /* Algorithm 2: and its mirror images; sums in global memory */
	ISO_SRM_SHARED,   /* Algorithm 3: sums in shared memory, added up by a tree */
	ISO_SRM_STEPS,
};

struct iso_srm_ladder {
	enum iso_srm_step step;
	int threads; /* of a block: a power of two, 1 to 128 */
};

/* y = A x, all rows, on the operator's device: CUDA, strategy row or combined. `seconds`: of the
   projection alone. */
int iso_srm_ladder_forward(double *seconds, iso_op *op, const struct iso_srm_ladder *p, iso_real *y,
                           const iso_real *x);

/* Gives an operator of strategy column or combined on CUDA the seed columns of all phases, or the
   folded ones, with which it is made; m is its matrix. */
int iso_srm_ladder_columns(iso_op *op, const iso_srm *m, bool folded);

#ifdef __cplusplus
}
#endif
#endif
