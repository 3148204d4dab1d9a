/* SPDX-License-Identifier: BSD-3-Clause */
/* The variants that the papers of the system matrix compare, measured beside the model srm; they
   serve nothing else. Chou 2012, Table 1: the forward projection in three steps, here with any
   number of threads up to 128. Meng 2019: 4 against 16 seed columns a plane. */
#ifndef ISO_SRM_LADDER_H
#define ISO_SRM_LADDER_H

#include "isotome.h"

#ifdef __cplusplus
extern "C" {
#endif

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
