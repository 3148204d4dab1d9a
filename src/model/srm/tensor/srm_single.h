/* SPDX-License-Identifier: BSD-3-Clause */
/* The forward projection of directions far from the others of their subset, as of one of many that were dealt
   out at random: no 16 of them share what they read (srm_stream.h), so each goes by itself, in float.

	P_d[u] = sum w f(y, D u + (i, k))	over the taps of d

   A thread has a block of SINGLE_X x SINGLE_Z places u. Taps are taken 4 neighbours along z at a time, a
   quad, which lie in a cell of the image together: voxels of one phase px, 4 phases pz, of a crystal's
   place. A strip is a rectangle of such quads, rows of cells by columns of cells. A thread reads the cells
   of a column once for all rows of quads, and for all its places along z: place z + j meets at column
   c - j what place z meets at column c.

   An image lies in quads: plane, phase, row of cells, and along z first every SINGLE_Z-th cell, then those
   beside them, and so on, so that neighbouring threads, SINGLE_Z places apart, read side by side. */
#ifndef ISO_SRM_SINGLE_H
#define ISO_SRM_SINGLE_H

#include "model/srm/srm_op.h"

ISO_BEGIN_C

enum {
	SINGLE_QUAD = 4,
	SINGLE_X = 8, /* places of a thread */
	SINGLE_Z = 3,
	SINGLE_ROWS = 4,     /* of a strip, at most, */
	SINGLE_COLUMNS = 14, /* so that its mask fits, shifted by SINGLE_Z - 1 columns */
	SINGLE_THREADS = 32, /* that walk together: a warp */
};

/* Its first quad, for the direction's first place, is number `at` of the image, in part `part` of a row.
   Bit 4 c + r of the mask: row r of column c has a tap. Weights: column by column, row by row. */
struct single_strip {
	int32_t at;
	uint8_t rows, columns, part, spare;
	uint64_t mask;
};

struct single_quad {
	float w[SINGLE_QUAD];
};

/* A warp: blocks of places number 32 warp ... of a direction, along z first, through a share of its
   planes. Its sums go to rows row + x nz + z of slice `slice`. */
struct single_block {
	int64_t strip, quad; /* the first */
	int32_t n;           /* strips */
	int32_t slice;
	int64_t row;
	int16_t nx, nz;
	int32_t warp;
	int64_t work; /* quads */
};

/* Where quads lie. */
struct single_image {
	int d[2];       /* voxels of a crystal */
	int blocks;     /* quads of a cell of one phase px: Dz / 4, rounded up */
	int x, z;       /* margins of zeros before the first cell */
	int rows, part; /* cells of a plane along x with margins, and quads of a part of a row */
	int64_t quads;  /* in all, with what threads may read beyond the last plane */
};

struct srm_single {
	struct single_image image;
	int n_sub, slices;
	int64_t *block_of; /* n_sub + 1: blocks of a subset, most work first */
	struct single_block *block;
	int64_t n_strip, n_quad;
	struct single_strip *strip;
	struct single_quad *quad;
};

/* Quad of cell (x, z). */
ISO_HD int64_t single_cell(struct single_image m, int y, int phase, int x, int z)
{
	int64_t row = ((int64_t)y * m.d[0] * m.blocks + phase) * m.rows + m.x + x;

	return (row * SINGLE_Z + (m.z + z) % SINGLE_Z) * m.part + (m.z + z) / SINGLE_Z;
}

/* A voxel is float number single_voxel % 4 of a quad. */
ISO_HD int64_t single_voxel(struct single_image m, int y, int x, int z)
{
	int phase = x % m.d[0] * m.blocks + z % m.d[1] / SINGLE_QUAD;

	return single_cell(m, y, phase, x / m.d[0], z / m.d[1]) * SINGLE_QUAD + z % m.d[1] % SINGLE_QUAD;
}

/* From a quad in part `part` of a row to that of the next cell. */
ISO_HD int single_next(struct single_image m, int part)
{
	return part < SINGLE_Z - 1 ? m.part : 1 - (SINGLE_Z - 1) * m.part;
}

ISO_HD int single_threads(int nx, int nz)
{
	return (nx + SINGLE_X - 1) / SINGLE_X * ((nz + SINGLE_Z - 1) / SINGLE_Z);
}

/* Whether subsets are many, and most directions have no neighbour along z in theirs. */
bool iso_single_wanted(const struct srm_op *m);

/* Of this rank's directions, in arrays of the room; `taps` as for iso_stream_forward. */
int iso_single_make(struct srm_single *s, struct iso_room *room, const struct srm_op *m,
                    const struct iso_srm_rows *taps);

ISO_END_C
#endif
