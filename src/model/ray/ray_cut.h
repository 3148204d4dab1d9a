/* SPDX-License-Identifier: BSD-3-Clause */
/* The chords of one ray on the CPU. */
#ifndef ISO_RAY_CUT_H
#define ISO_RAY_CUT_H

#include "ray.h"

/* Work space: what is known of a ray between cutting and weighing it. Slice i is from face x[i] to face
   x[i + 1], and in pieces. */
struct ray_cuts {
	iso_real *x;       /* behind them, where voxels change: first all first changes, then all second */
	iso_real *high;    /* these again: where pieces end that are between two others */
	iso_real *low;     /* where those begin */
	iso_real *to;      /* where first pieces end */
	iso_real *end;     /* where last pieces end, of slices with several */
	int *between, *at; /* the voxel of each piece between; number of its slice among those with several */
	unsigned char *several; /* bits: which of slices 4 i ... 4 i + 3 have several */
};

/* `slices`: the most that a ray crosses. */
int64_t iso_ray_cuts_bytes(int slices);
struct ray_cuts iso_ray_cuts(void *memory, int slices);

/* Entries of `voxel` and `w` that iso_ray_cut may write. */
int64_t iso_ray_cut_room(int slices);

/* The voxels that the ray meets, and the weights of its pieces; how many. Some weigh 0. */
int iso_ray_cut(int *voxel, iso_real *w, struct ray_cuts *c, const struct ray *r, const struct ray_tof *tof);

/* Weights of stretches of the ray from x = a[i] to x = b[i]; for times of flight the places become the shares
   of the Gaussian up to there first, in place. */
void iso_ray_shares(iso_real *x, int n, const struct ray *r, const struct ray_tof *tof);
void iso_ray_weigh(iso_real *w, const iso_real *a, const iso_real *b, int n, const struct ray *r,
                   const struct ray_tof *tof);

#endif
