/* SPDX-License-Identifier: BSD-3-Clause */
/* Hits of many points at once, on CUDA: a lane has a point, and the pieces between corners of all points of a warp become
   one list, that the lanes take in turn. */
#ifndef ISO_BARREL_PIECES_CUH
#define ISO_BARREL_PIECES_CUH

#include "core/cuda.cuh"
#include "barrel_kern.h"

#define PIECES 160 /* between corners, of the points of a warp; of half of them never more than 112 */

/* A lane's point has none to seven pieces. `v`: slopes low and high of each piece at first, its six sums at last. */
struct pieces {
	float v[6][PIECES];
	unsigned char owner[PIECES]; /* the lane whose point it is of */
	float y[ISO_WARP], d[ISO_WARP];
};

/* Those of `lanes` lanes from `from` on, n of this one, which come before + ... in the list of all. */
static __device__ void take_pieces(struct barrel_sums *sum, struct pieces *r, const struct barrel_pair *p,
                                   const float cut[BARREL_CUTS], int n, int before, float mu, int from,
                                   int lanes)
{
	const int lane = threadIdx.x % ISO_WARP, start = __shfl_sync(ISO_FULL_WARP, before, from);
	const int all = __shfl_sync(ISO_FULL_WARP, before + n, from + lanes - 1) - start;
	const bool mine = n > 0 && lane >= from && lane < from + lanes;

	for (int k = 0, at = before - start; mine && k < BARREL_CUTS - 1; k++) {
		if (!(cut[k] < cut[k + 1])) continue;
		r->v[0][at] = cut[k];
		r->v[1][at] = cut[k + 1];
		r->owner[at++] = (unsigned char)lane;
	}
	__syncwarp();
	for (int i = lane; i < all; i += ISO_WARP) {
		const float low = r->v[0][i], high = r->v[1][i], y = r->y[r->owner[i]], d = r->d[r->owner[i]];
		struct barrel_sums part = ISO_ZERO;

		for (int g = 0; g < BARREL_POINTS; g++) {
			struct barrel_ray ray = barrel_ray(p, y, d, low, high, g);

			barrel_add(&part, &ray, mu);
		}
		r->v[0][i] = part.w;
		r->v[1][i] = part.a;
		r->v[2][i] = part.b;
		r->v[3][i] = part.aa;
		r->v[4][i] = part.bb;
		r->v[5][i] = part.ab;
	}
	__syncwarp();
	for (int k = 0, at = before - start; mine && k < n; k++, at++) {
		sum->w += r->v[0][at];
		sum->a += r->v[1][at];
		sum->b += r->v[2][at];
		sum->aa += r->v[3][at];
		sum->bb += r->v[4][at];
		sum->ab += r->v[5][at];
	}
	__syncwarp();
}

/* Adds the point (y, d) of each lane that has one. */
static __device__ void add_points(struct barrel_sums *sum, struct pieces *r, const struct barrel_pair *p,
                                  bool in, float y, float d, float mu)
{
	const int lane = threadIdx.x % ISO_WARP;
	float cut[BARREL_CUTS];
	int n = 0, up_to;

	if (in && barrel_cuts(cut, p, y, d))
		for (int k = 0; k < BARREL_CUTS - 1; k++) n += cut[k] < cut[k + 1];
	up_to = n;
	for (int step = 1; step < ISO_WARP; step *= 2) {
		int other = __shfl_up_sync(ISO_FULL_WARP, up_to, step);

		up_to += lane >= step ? other : 0;
	}
	const int all = __shfl_sync(ISO_FULL_WARP, up_to, ISO_WARP - 1);

	if (all == 0) return;
	r->y[lane] = y;
	r->d[lane] = d;
	if (all <= PIECES) {
		take_pieces(sum, r, p, cut, n, up_to - n, mu, 0, ISO_WARP);
		return;
	}
	take_pieces(sum, r, p, cut, n, up_to - n, mu, 0, ISO_WARP / 2);
	take_pieces(sum, r, p, cut, n, up_to - n, mu, ISO_WARP / 2, ISO_WARP / 2);
}

/* Of a pixel around (y, d), if the lane has one: the four points that stand for it. */
static __device__ struct barrel_hits pixel_hits(struct pieces *r, const struct barrel_pair *p, bool in,
                                                float y, float d, float pixel, float mu)
{
	struct barrel_sums sum = ISO_ZERO;

	for (int point = 0; point < 4; point++) {
		float move_y = 0, move_d = 0;

		barrel_point(&move_y, &move_d, p, pixel, point);
		add_points(&sum, r, p, in, y + move_y, d + move_d, mu);
	}
	return barrel_hits_of(&sum, 4);
}

#endif
