/* SPDX-License-Identifier: BSD-3-Clause */
/* The operator of a system matrix as both backends see it: its rows, in order of subsets, layers,
   directions and shifts.

   All LORs of one signed direction d = l - u between layers a and b are shifted copies of one row of
   the matrix. They stand together: the LOR of the upper crystal (ux, uz) is row

	first + (ux - x0) nz + uz - z0

   A subset is a set of unsigned directions with all their shifts, mirrors and layers. */
#ifndef ISO_SRM_OP_H
#define ISO_SRM_OP_H

#include "core/op.h"
#include "matrix/srm_kern.h"

struct srm_direction {
	int a, b;   /* layers of the upper and the lower crystal */
	int dx, dz; /* l - u */
	int number; /* signed direction number, as in struct iso_srm_rows */
	int subset;
	int64_t first; /* its first row */
	int x0, z0;    /* upper crystal of that: max(0, -dx), max(0, -dz) */
	int nx, nz;    /* shifts: Ncx - |dx|, Ncz - |dz| */
};

struct srm_correlation;

/* Data of the operator; of the tables, those that its strategy needs. On CUDA a strategy makes its
   own from `srm`, into `device`. */
struct srm_op {
	struct srm_shape shape;
	enum iso_srm_strategy strategy;
	int64_t lors, voxels;
	int n_sub, n_direction;          /* L^2 (2 Ncx-1) (2 Ncz-1) directions */
	struct srm_direction *direction; /* by subset, a, b, number */
	int *sub;                        /* n_sub + 1: the first direction of each subset */
	int *place;                      /* of direction (a L + b) (2 Ncx-1) (2 Ncz-1) + number */
	const iso_srm *srm;              /* while the operator is made, no longer, */
	struct iso_room *room;           /* and that which has all of this but taps and columns */
	struct iso_srm_rows *taps;       /* pair of layers a L + b; signed, all planes */
	struct iso_srm_columns *columns; /* the same; half the planes */
	struct srm_correlation *correlation;
	void *device;
};

ISO_HD int64_t srm_voxel_index(const struct srm_shape *s, int y, int x, int z)
{
	return ((int64_t)z * s->planes + y) * ((int64_t)s->nc[0] * s->d[0]) + x;
}

#ifdef __cplusplus
extern "C" {
#endif

struct iso_rows iso_srm_op_rows(const iso_op *op, int sub);
int64_t iso_srm_op_file_row(const iso_op *op, int64_t row);
void iso_srm_op_free(iso_op *op);

/* Tables of all pairs of layers, number a L + b: rows or taps in the order of `o`, whatever its layers are;
   columns of half the planes. */
int iso_srm_pair_rows(struct iso_srm_rows **r, iso_ctx *ctx, const iso_srm *m, struct iso_srm_order o,
                      bool taps);
int iso_srm_pair_columns(struct iso_srm_columns **c, iso_ctx *ctx, const iso_srm *m);
void iso_srm_pair_rows_free(struct iso_srm_rows *r, int pairs);
void iso_srm_pair_columns_free(struct iso_srm_columns *c, int pairs);

/* Directions first ... end - 1 of a subset, or of all. */
void iso_srm_op_range(int *first, int *end, const struct srm_op *m, int sub);

#ifdef __cplusplus
}
#endif
#endif
