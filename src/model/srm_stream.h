/* SPDX-License-Identifier: BSD-3-Clause */
/* The shift-correlation projector of two panels as streams of taps, in the order in which the
   threads of a GPU meet them.

   For a fixed direction d the rows of all its LORs are shifted copies of one, so with the image cut
   into its Dx Dz phase planes F_p[y][s] = f(y, Dx sx + px, Dz sz + pz) and a tap w at (y, i, k),
   q = floor((i, k) / D), p the rest,

	forward   P_d[u]    = sum w F_p[y][u + q]	over the taps of d
	adjoint   B_p[y][s] = sum w G_d[s - q]		over the taps of all d with this y and p

   Both are one operation: out_j[r] += w_j in[r + q] for a rectangle of places r, and four outputs j
   that share what they read: forward four neighbouring directions, adjoint the phases px. Taps that
   follow each other along x make a run, for which a thread that owns some places along x reads each
   value once. In memory neighbours along z stand next to each other, and so do threads.

   Planes of the upper half are counted from the upper crystal u, those of the lower half from the
   lower one l = u + d: so the taps of neighbouring directions lie close together. */
#ifndef ISO_SRM_STREAM_H
#define ISO_SRM_STREAM_H

#include "srm_op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	STREAM_LANES = 4,	/* outputs that share a stream */
	STREAM_RUN = 4,		/* taps of a run, at most */
	STREAM_ROWS = 8,	/* places along x that a thread owns, at most, */
	STREAM_FEW = 5,		/* and at least */
	STREAM_SPARE = 6,	/* places that a near run may lie outside */
	STREAM_MARGIN_X = STREAM_ROWS + STREAM_RUN - 1 + STREAM_SPARE,	/* zeros around a plane */
	STREAM_MARGIN_Z = 12,
	STREAM_TILE = 6 << 10,	/* bytes of image that a block of the adjoint holds, at most */
};

/* A run that may leave its plane, margin and all: `base` is place (0, 0) of a plane of nx by nz, and
   the run begins at (x, z) from the place r. */
struct stream_far {
	int32_t base;
	int16_t x, z, nx, nz;
	int32_t pad;
};

/* Runs of 1, 2, ... taps: near ones, which stay inside for all places of their job, are a distance
   alone, near[n-1] ... near[n] - 1; far ones likewise. Weights, a lane each, stand in the same
   order from `weight`. */
struct stream_part {
	int32_t near[STREAM_RUN + 1], far[STREAM_RUN + 1];
	int64_t weight;
};

/* Parts for the places x0 ... x0 + nx - 1, z0 ..., each thread owning `rows` of them along x. */
struct stream_job {
	int32_t part, n_part;
	int16_t x0, nx, z0, nz;
	int32_t rows;
};

/* Place (x, z) of a lane goes to base + (x - x0) row + (z - z0) step, if it lies in the range. */
struct stream_out {
	int64_t base;
	int32_t row, step;
	int16_t x0, nx, z0, nz;
};

/* Jobs of one block of threads. Outputs of different slices overlap and are added up in order. */
struct stream_block {
	int32_t job, n_job, slice, first;	/* first: thread of its only job (forward) */
	int16_t x0, nx, z0, nz;			/* places that it holds (adjoint) */
	struct stream_out out[STREAM_LANES];
	int64_t work;
};

struct srm_stream {
	int n_sub, slices;
	int64_t *block_of;		/* n_sub + 1: blocks of a subset, most work first */
	struct stream_block *block;
	int64_t n_job, n_part, n_near, n_far, n_weight;
	struct stream_job *job;
	struct stream_part *part;	/* n_part + 1: the last marks the end */
	int32_t *near;
	struct stream_far *far;
	float (*weight)[STREAM_LANES];
	int64_t useful, done;		/* multiply-adds of all subsets: asked for, and carried out */
	int tile;			/* bytes of the largest block's places */
};

/* Where a place lies in padded memory: planes of `pitch` floats a row. */
struct stream_layout {
	int pitch, rows;		/* of an image plane */
	int64_t image, data;		/* floats, with margins */
	int64_t *direction;		/* place (0, 0) of each direction's plane */
};

int iso_stream_layout(struct stream_layout *l, const struct srm_op *m);
void iso_stream_layout_free(struct stream_layout *l);

/* `taps`: of all planes and signed directions, one table for each pair of layers a L + b. */
int iso_stream_forward(struct srm_stream *s, iso_ctx *ctx, const struct srm_op *m,
		       const struct iso_srm_rows *taps, const struct stream_layout *l);
int iso_stream_adjoint(struct srm_stream *s, iso_ctx *ctx, const struct srm_op *m,
		       const struct iso_srm_rows *taps, const struct stream_layout *l);
void iso_stream_free(struct srm_stream *s);

#ifdef __cplusplus
}
#endif
#endif
