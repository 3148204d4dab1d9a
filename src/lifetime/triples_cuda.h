/* SPDX-License-Identifier: BSD-3-Clause */
/* Triples on CUDA: their rows, and the same entries voxel by voxel, so that sums over the triples of a voxel have an order
   of their own and the same bits in every run. */
#ifndef ISO_TRIPLES_CUDA_H
#define ISO_TRIPLES_CUDA_H

#include "density.h"

/* What a voxel has of a triple. */
struct triple_entry {
	int32_t triple;
	float w;
};

/* Arrays on the device, of the triples' room. */
struct triples_cuda {
	int64_t n, entries, voxels;
	int64_t *start; /* (n + 1) */
	int32_t *voxel;
	float *w;
	int64_t *begin; /* (voxels + 1): of the entries of each voxel, by rising triple */
	struct triple_entry *entry;
	double *t;     /* against the offset */
	int64_t *file; /* place among those given */
};

/* Scores of all entries, twice: by rows and by voxels. */
struct scores_cuda;

enum { SCORES_TOGETHER = 8 };

struct triples_cuda_fn {
	/* t->cuda, of rows and times that lie on the host. */
	int (*open)(struct iso_triples *t);
	/* As lifetime_em. */
	int (*em)(double *x, const struct iso_triples *t, const struct iso_lifetime *p, int powers,
	          const uint8_t *copies);
	/* Of each voxel: its share of the triples, and of their times, by the activity f. */
	int (*deal)(double *sums, const struct iso_triples *t, const double *f);
	/* The log-likelihood at l->state; leaves l->sums, l->without and l->q. */
	int (*pass)(double *loglik, struct likelihood *l);
	/* C, the scores of the triples by `per` unknowns of each voxel, after a pass. */
	int (*scores)(struct scores_cuda **s, struct iso_room *room, const struct likelihood *l, int per);
	/* to = C* C x; or, without x, C* xi with normal numbers from `first` on: SCORES_TOGETHER values an unknown. */
	int (*probe)(double *to, struct scores_cuda *s, const double *x, uint64_t seed, int first);
};

#define ISO_TRIPLES_CUDA "iso_triples_cuda"

#endif
