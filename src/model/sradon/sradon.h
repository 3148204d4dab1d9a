/* SPDX-License-Identifier: BSD-3-Clause */
/* Model sradon inside: the spherical Radon transform's tables. */
#ifndef ISO_SRADON_H
#define ISO_SRADON_H

#include "sradon_kern.h"

#include "core/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sradon {
	struct sradon_params p;
	struct sradon_frame *frame; /* n_trans */
	/* Midpoint sampling: rings are the same for all transducers, those of sample k are
	   ring[start[k]] to before ring[start[k + 1]]. */
	struct sradon_ring *ring;
	int64_t *start;
	int most; /* rings of one sphere, by either sampling */
	enum iso_sradon_adjoint adjoint;
};

extern const struct iso_op_fn iso_sradon_fn; /* sradon_cpu.c */

/* sradon_cpu.c: cells of the slabs that `threads` threads scatter to. */
int64_t iso_sradon_slab_cells(const struct sradon_params *p, int threads);

/* sradon_gather.c: the adjoint at one voxel, number n. */
double iso_sradon_at(const struct sradon *s, int64_t n, const iso_real *y);

#ifdef __cplusplus
}
#endif
#endif
