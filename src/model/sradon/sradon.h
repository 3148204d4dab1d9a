/* SPDX-License-Identifier: BSD-3-Clause */
/* Model sradon inside: the spherical Radon transform's tables. */
#ifndef ISO_SRADON_H
#define ISO_SRADON_H

#include "sradon_kern.h"

#include "core/op.h"
#include "tissue/tissue_delays.h"

struct sradon {
	struct sradon_params p;
	struct sradon_frame *frame; /* n_trans */
	/* Midpoint sampling: rings are the same for all transducers, those of sample k are
	   ring[start[k]] to before ring[start[k + 1]]. */
	struct sradon_ring *ring;
	int64_t *start;
	enum iso_sradon_adjoint adjoint;
	iso_delays *delays; /* through tissue; NULL: none, and no sound */
	struct sound sound;
	int points;     /* of a transducer's face, one after the other */
	double *stands; /* where transducers stand, 3 each */
};

/* Ring i of the sphere of sample k, whose radius is rho; `top` is its theta_max. Algorithm 4 has rings of its
   own for each transducer and sample: they are made on the way. */
static inline struct sradon_ring sradon_ring_of(const struct sradon *s, int64_t k, double rho, double top,
                                                int i)
{
	return s->p.sampling == ISO_SRADON_MIDPOINT
	               ? s->ring[s->start[k] + i]
	               : sradon_ring(&s->p, rho, sradon_theta(&s->p, rho, top, i));
}

extern const struct iso_op_fn iso_sradon_fn;        /* sradon_cpu.c */
extern const struct iso_op_fn iso_sradon_tissue_fn; /* sradon_tissue.c */

/* sradon_cpu.c: cells of the slabs that `threads` threads scatter to. */
int64_t iso_sradon_slab_cells(const struct sradon_params *p, int threads);

/* sradon_gather.c: the adjoint at one voxel, number n. */
double iso_sradon_at(const struct sradon *s, int64_t n, const iso_real *y);

/* A ring and a box: coordinate i of a point at azimuth phi is c[i] + reach[i] cos(phi - phase[i]); the box
   goes from low to high. */
struct sradon_hoop {
	double c[3], reach[3], phase[3]; /* phase in [-pi, pi] */
	double low[3], high[3];
};

enum { SRADON_ARCS = 8 }; /* more than a ring can have */

/* sradon_arcs.c: the arcs in the box of the points 0 ... n - 1 at azimuths (j + shift) step in [0, 2 pi), in
   their order; returns how many. A point that lies up to 1e-3 steps outside may be among them. */
int iso_sradon_arcs(struct sradon_arc arc[SRADON_ARCS], const struct sradon_hoop *h, double step,
                    double shift, int n);

#endif
