/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the spherical Radon transform on the device, and the rings of a sphere. */
#ifndef ISO_SRADON_CUDA_CUH
#define ISO_SRADON_CUDA_CUH

#include "core/cuda.cuh"
#include "sradon.h"
#include "sradon_brick.h"

struct sradon_cuda {
	struct sradon_params p;
	struct sradon_row *row; /* rings of midpoint sampling, counted in voxels */
	struct sradon_axes *axes;
	int64_t *start;
	double weight; /* the largest of a point, mm^2 */
	int group;     /* transducers between two times that a brick is drained */
	double most;   /* the largest term of a brick's sums */
	struct sradon *host;
};

/* A sphere: its radius, theta_max (algorithm 4), its number of rings. TABLE: midpoint sampling,
   whose rings lie in a table; those of algorithm 4 are made on the way. */
struct sphere {
	double rho, top;
	int64_t k;
	int n;
};

template <bool TABLE>
static __device__ inline struct sphere sphere_of(const struct sradon_cuda &m, const struct sradon_axes &x,
                                                 int64_t k)
{
	struct sphere s = { sradon_radius(&m.p, k), 0, k, 0 };

	if (TABLE) {
		s.n = (int)(m.start[k + 1] - m.start[k]);
	} else {
		s.top = sradon_theta_max(&m.p, x.distance, s.rho);
		s.n = sradon_n_rings(&m.p, s.rho, s.top);
	}
	return s;
}

template <bool TABLE>
static __device__ inline struct sradon_row row_of(const struct sradon_cuda &m, const struct sphere &s, int i)
{
	if (TABLE) return m.row[m.start[s.k] + i];
	struct sradon_ring r = sradon_ring(&m.p, s.rho, sradon_theta(&m.p, s.rho, s.top, i));

	return sradon_row(&m.p, s.rho, &r);
}

#endif
