/* SPDX-License-Identifier: BSD-3-Clause */
/* Coincidences between patches of the ring by Monte Carlo: counting them, and what they say. */
#ifndef ISO_PATCHES_H
#define ISO_PATCHES_H

#include "patch_kern.h"
#include "physics/photon.h"
#include "scene.h"

/* A count that goes on. */
struct patch_tally {
	struct photon_world world; /* pointers of both are the device's */
	struct patches patches;
	int32_t *pair;     /* that of patches, on the host */
	int64_t *sum;      /* (PATCH_SUMS, pairs, cells) of this rank, on the device */
	int64_t *all;      /* of all ranks, on the host; patch_tally_sum */
	int64_t histories; /* counted so far, of all ranks */
	double per_weight; /* h = per_weight / histories x weight */
};

/* Slabs of a ring of this half length, and cells of u up to `reach`, mm. */
int32_t iso_patch_slabs(double half);
int32_t iso_patch_cells(double reach, double sigma);

/* Patch pairs at least min_angle apart all over, rad; those half way round in any case. reach: greatest |u|, mm, that is
   asked for. Memory is the room's, on its context's device and on the host. */
int iso_patch_tally_make(struct patch_tally *t, struct iso_room *room, const struct scene *s,
                         double min_angle, double reach, uint64_t seed);

/* Counts `histories` more, each rank its share, and sums up into t->all; collective, see core/comm.h. */
int iso_patch_tally_run(struct patch_tally *t, iso_ctx *ctx, int64_t histories);

/* Counts histories first to first + n - 1 of this rank; on CUDA iso_patch_count_cuda. */
int iso_patch_count(iso_ctx *ctx, const struct patch_tally *t, int64_t first, int64_t n);

/* Coincidences a mm of u (without time of flight: in all) of a pair of crystals of efficiency 1 between the patches of
   pair i, in cell c. */
static inline double patch_value(const struct patch_tally *t, enum patch_sum sum, int64_t i, int64_t c)
{
	int64_t at = ((int64_t)sum * t->patches.pairs + i) * t->patches.cells + c;

	return (double)t->all[at] / (double)PATCH_ONE * t->per_weight / (double)t->histories;
}

#endif
