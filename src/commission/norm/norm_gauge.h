/* SPDX-License-Identifier: BSD-3-Clause */
/* What the likelihood of a norm leaves free, and what fixes it.

   For any u of the place in a block (with mirror u(i) = u(B-1-i)) and any v of the ring, eps_a exp(u(i_a) + v(ring_a)),
   t_k exp(-u(i_a) - u(i_b)), z_l exp(-v - v') are as likely. The gauge: eps hold all that factorises, so that u and v are the
   least-squares solutions of sum over used pairs (ln t_k + u + u')^2 -> min, and of ln z alike. Where crystals fall into two
   sides that only see each other, eps of one side may grow as the other's shrink: both have one mean of ln eps. */
#ifndef ISO_NORM_GAUGE_H
#define ISO_NORM_GAUGE_H

#include "norm_fit.h"

struct norm_freedoms {
	struct iso_room room;
	int64_t n; /* freedoms: of places in a block, then of rings, then of parts with two sides */
	int64_t places, rings; /* 0 where the component is not in the model */
	int64_t parts, sided;  /* parts of the graph of used pairs, and those with two sides */
	int64_t *pairs_t;      /* (n_t, places) ends of used pairs, of each class, at each place in a block */
	int64_t *pairs_z;      /* (n_z, rings) the same of rings */
	int64_t *in_t, *in_z;  /* used pairs of each class */
	int8_t *ends_t, *ends_z; /* (n_t, places), (n_z, rings): of one pair of the class */
	int32_t *
		part; /* of each crystal: the number of its two-sided part + 1, below 0 on the other side; 0: none */
};

int norm_freedoms_create(struct norm_freedoms *d, const struct norm_fit *f);
void norm_freedoms_free(struct norm_freedoms *d);

/* Place in the block that a crystal has, as the freedoms count them. */
int64_t norm_place_of(const struct norm_classes *c, int64_t crystal);

/* A x = b of n unknowns, A symmetric and not negative; unknowns that A does not fix become 0. A and b are lost. */
void norm_solve_small(double *x, double *a, double *b, int64_t n);

#endif
