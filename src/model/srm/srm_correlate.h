/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of the correlation projector on the CPU.

   An element (y, i, k) of direction d is a tap: cell q = (floor(i/Dx), floor(k/Dz)) and phase p. Half
   the planes are kept. The rest follow from the central symmetry of a row,

	W_d^ab(y, i, k) = W_d^ba(Ny-1-y, Dx (dx+1) - 1 - i, Dz (dz+1) - 1 - k):

   with the image plane read backwards along x and z, the taps of plane y give the LORs of plane
   Ny-1-y backwards, those between the layers b and a. */
#ifndef ISO_SRM_CORRELATE_H
#define ISO_SRM_CORRELATE_H

#include "srm_op.h"

#include <string.h>

enum {
	SRM_ROWS = 4,     /* cells along x that may share a tap */
	SRM_BLOCK = 16,   /* most directions in a block: their taps and values stay in cache */
	SRM_VECTORS = 13, /* of one row of sums; a row of 52 crystals is 13 of 4 floats */
};

#ifdef __AVX__
#	define SRM_LANES ((int)(32 / sizeof(iso_real)))
#else
#	define SRM_LANES ((int)(16 / sizeof(iso_real)))
#endif

/* Neighbours in z: directions of one subset, pair of layers and dx, the next in order. */
struct srm_block {
	int first, n; /* places in the table of directions */
};

struct srm_tap {
	iso_real w;
	int32_t at; /* (qx P + p) width + qz, in a plane of rows (cell x, phase) of `width` */
};

struct srm_correlation {
	int phases, half; /* P = Dx Dz; planes kept */
	int width;        /* of a row of a plane, zeros around it */
	int n_block;
	struct srm_block *block;
	int *sub;      /* n_sub + 1: the first block of each subset */
	uint8_t *mine; /* of each direction, this rank computes the rows: bit 0: its own, bit 1: with layers
	                  exchanged, which its taps give in a mirrored pass */
	int64_t *ptr;  /* (plane, direction), by (qx, qz, phase); none that this rank does not need */
	struct srm_tap *tap;
};

#endif
