/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the sensitivity of a barrel: pairs that stand for others, and the chance over all tilts. */
#ifndef ISO_BARREL_SENS_H
#define ISO_BARREL_SENS_H

#include "barrel_sens_kern.h"

/* ---- barrel_turns.c: turns and mirrors that put barrel and grid onto themselves ---- */

enum { BARREL_TURNS = 8 };

/* (x, y) becomes (m00 x + m01 y, m10 x + m11 y). */
struct barrel_turns {
	int n;
	int m[BARREL_TURNS][2][2];    /* the first changes nothing */
	int32_t *strip[BARREL_TURNS]; /* what each strip becomes, of the room */
	bool mirror;                  /* z to -z as well */
};

int iso_barrel_turns(struct barrel_turns *t, struct iso_room *room, const struct iso_barrel *b,
                     const struct iso_grid *g);

/* A pair that stands for `weight` of them. */
struct barrel_chosen {
	int32_t a, b;
	double weight;
};

/* One pair of each set that the turns make of one; *n of them, of the room. */
int iso_barrel_choose(struct barrel_chosen **to, int64_t *n, struct iso_room *room,
                      const struct iso_barrel *b, const struct barrel_turns *t);

/* s, x fastest, becomes the mean over the turns. */
void iso_barrel_spread(iso_real *s, const iso_real *from, const struct barrel_turns *t,
                       const struct iso_grid *g, int threads);

/* ---- barrel_tilts.c: the chance of a hit over s^-3 dtau, between two tilts ---- */

void iso_barrel_fit(struct barrel_fit *f);

/* At (y, d); false: nothing hits there. */
bool iso_barrel_tilt_sum(struct barrel_tilt_sum *s, const struct barrel_fit *f, const struct barrel_job *j,
                         double y, double d, double pixel);

/* ---- barrel_sens.cu ---- */

/* Pairs on a device: adds up (n of `planes` planes of each column) in fixed point. */
struct barrel_sens_cuda;
struct barrel_sens_fn {
	int (*open)(struct barrel_sens_cuda **s, iso_ctx *ctx, const struct barrel_params *p,
	            const struct barrel_fit *f, int planes, int64_t factors, double bound);
	/* n pairs, at most BARREL_BATCH; their factors lie one behind the other, `factors` values in all. */
	int (*add)(struct barrel_sens_cuda *s, const struct barrel_job *job, int n, const iso_real *factor,
	           int64_t factors);
	/* The sums of all ranks, z fastest, on the host. */
	int (*end)(iso_real *sum, struct barrel_sens_cuda *s, int st);
	void (*close)(struct barrel_sens_cuda *s);
};

enum { BARREL_BATCH = 1024 };

#define ISO_BARREL_SENS_CUDA "iso_barrel_sens_cuda"

#endif
