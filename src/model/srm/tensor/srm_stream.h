/* SPDX-License-Identifier: BSD-3-Clause */
/* The shift-correlation projector of two panels as streams of small matrices, in the order in which
   the warps of a GPU meet them.

   For a fixed direction d the rows of all its LORs are shifted copies of one, so with a crystal of
   Dx x Dz voxels, taps w at the voxels (y, i, k) of a row, q = floor((i, k) / D) and p the rest,

	forward   P_d[u]        = sum w f(y, D u + (i, k))	over the taps of d
	adjoint   b(y, D s + p) = sum w G_d[s - q]		over the taps of all d with this y and p

   Both are one operation on a rectangle of places r, a place a crystal,

	out_j[r] = sum_k w_jk in_k[r + q_k]

   for 16 outputs j that share what they read: forward neighbouring directions, adjoint phases p. It is a
   product of matrices, (j, k) by (k, r), which tensor cores carry out in rows of 16 lanes j, 8 taps
   k and 8 places r along z. Places come in cells of 4 rows of 8: a step is carried out for those cells
   alone that its taps reach. A warp reads 4 taps at 8 places at a time; they are neighbours along z, so
   that what it reads lies in one or two lines of the cache.

   Planes of the upper half are counted from the upper crystal u, those of the lower half from the
   lower one l = u + d: so the taps of neighbouring directions lie close together. */
#ifndef ISO_SRM_STREAM_H
#define ISO_SRM_STREAM_H

#include "model/srm/srm_op.h"

ISO_BEGIN_C

enum {
	STREAM_LANES = 16, /* outputs that share a stream */
	STREAM_TAPS = 8,   /* of a row of taps */
	STREAM_RUN = 4,    /* rows of taps of a step, at most */
	STREAM_KINDS = 2 * STREAM_RUN,
	STREAM_REST = 4096, /* what is left of weights is kept times this: less than 2^-12 of the greatest */
	STREAM_CELL_X = 4,  /* places of a cell */
	STREAM_CELL_Z = 8,
	STREAM_CELLS = 2,        /* that a warp holds, one after the other along x */
	STREAM_MARGIN_X = 12,    /* rows of zeros between planes, */
	STREAM_MARGIN_Z = 12,    /* and columns between rows of an image, */
	STREAM_MARGIN_DATA = 20, /* or of data */
};

/* Bit i: a step reaches cells number i along x and along z of its rectangle. */
struct stream_reach {
	uint64_t x, z;
};

/* The weight of tap k of lane j is a half, in word [j % 8 * 4 + k % 4][k / 4]: the lower 16 bits for j < 8, the
   upper ones for others. In the step's first row the tap reads from offset[k % 4][k / 4] on. That is the order
   in which the lanes of a warp hold operands of mma.m16n8k16. */
struct stream_weights {
	uint32_t v[32][2];
};

struct stream_offsets {
	int32_t v[4][2];
};

/* Place (x, z) of a lane goes to base + (x - x0) row + (z - z0) step, if it lies in the range. */
struct stream_out {
	int64_t base;
	int32_t row, step;
	int16_t x0, nx, z0, nz;
};

/* A step has rows of taps, each of which reads a row of places further than the one before. Steps are of
   kinds: kind % STREAM_RUN is the number of rows, less 1; kind / STREAM_RUN is 1 where a half does not
   hold a weight, so that what is left of the weights, times STREAM_REST, follows in as many rows again. */
ISO_HD int stream_rows(int kind)
{
	return kind % STREAM_RUN + 1;
}

ISO_HD int stream_pairs(int kind)
{
	return kind / STREAM_RUN;
}

/* Steps first ... first + n - 1, whose weights begin with number `row`. The last range of a warp is
   followed by one of kind -1. */
struct stream_range {
	int32_t first, n, row, kind;
};

/* A warp. Several share the rectangle of nx x nz places from (x0, z0); this is number `warp`. Its ranges are the
   steps of the rectangle, by kind, that reach its cells. The slices of a place are added up in order. */
struct stream_block {
	int64_t range;
	int32_t out, slice; /* out: the first of STREAM_LANES */
	int16_t x0, nx, z0, nz;
	int32_t warp;
	int64_t work; /* products of its steps, about */
};

/* Rows of weights that lie together, from number `row` on; the next part's follow. */
struct stream_part {
	int64_t row;
	const struct stream_weights *v;
};

struct srm_stream {
	int n_sub, slices;
	int64_t *block_of; /* n_sub + 1: blocks of a subset, most work first */
	struct stream_block *block;
	int64_t n_out, n_range, n_step, n_row;
	struct stream_out *out;
	struct stream_range *range;
	struct stream_reach *reach;
	struct stream_offsets *offset;
	int64_t n_part;
	struct stream_part *part; /* n_part + 1: the last one ends the rows */
	double unit;          /* of weights: the greatest is below 2^15 units; a half holds 11 bits times a
	                         power of 2 units */
	int64_t useful, done; /* multiply-adds of all subsets: asked for, and carried out */
};

/* An image with its margins: voxels of a plane's row one after the other. */
struct stream_image {
	int rows, pitch; /* of a plane, and of a row */
	int x, z;        /* margins, in voxels */
};

ISO_HD int64_t stream_voxel(struct stream_image m, int y, int x, int z)
{
	return ((int64_t)y * m.rows + m.x + x) * m.pitch + m.z + z;
}

/* Padded memory. Along z places lie Dz words apart in an image, and side by side in data. */
struct stream_layout {
	struct stream_image plane;
	int row_image, row_data; /* words from a row of places to the next */
	int64_t image, data;     /* words in all */
	int64_t *direction;      /* place (0, 0) of each direction */
};

/* What streams are made of: the taps of all planes and signed directions, a table for each pair of layers
   a L + b. Weights that were counted are rounded to what halves hold. */
struct stream_taps {
	struct iso_srm_rows *rows;
	uint16_t **half; /* of each weight, in units; with STREAM_REST_BIT where a half does not hold it */
	bool rest;       /* there are such weights */
	double unit;
	float row_most;      /* the greatest sum of a direction's weights, before rounding */
	struct store *store; /* of each thread: what the weights of a stream lie in */
	int n_store;
};

enum { STREAM_REST_BIT = 1 << 15 };

/* In arrays of the room, and memory that iso_stream_taps_free gives back, before the room goes. */
int iso_stream_taps(struct stream_taps *t, struct iso_room *room, const struct srm_op *m);
void iso_stream_taps_free(struct stream_taps *t);

/* In arrays of the room, which after a failure may have some of them; of this rank's directions and planes, and m->share
   tells whose the others are. The weights of a stream, which are most of
   it, lie in the memory of the taps until the next stream is made of them. */
int iso_stream_layout(struct stream_layout *l, struct iso_room *room, const struct srm_op *m);
int iso_stream_forward(struct srm_stream *s, struct iso_room *room, const struct srm_op *m,
                       const struct stream_taps *taps, const struct stream_layout *l);
int iso_stream_adjoint(struct srm_stream *s, struct iso_room *room, const struct srm_op *m,
                       const struct stream_taps *taps, const struct stream_layout *l);

/* Rows first ... first + n - 1 of the weights, by so many threads. */
void iso_stream_rows(struct stream_weights *to, const struct srm_stream *s, int64_t first, int64_t n,
                     int threads);

ISO_END_C
#endif
