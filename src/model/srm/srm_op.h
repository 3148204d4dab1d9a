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
struct srm_op;
struct srm_share;

/* How a matrix meets image and data; all ways are the same sums. */
struct srm_way {
	int number;                      /* 0: correlation; others are of bench/srm */
	void (*table)(struct srm_op *m); /* makes its tables on the CPU, in arrays of m->room */
	struct iso_op_fn fn;             /* with SRM_OP_SHARED */
	const char *cuda[2]; /* a library and its function `int NAME(iso_op *op)`, which makes the tables
	                                    on the device and swaps op->fn; NULL: correlation's */
};

#define SRM_OP_SHARED .rows = iso_srm_op_rows, .file_row = iso_srm_op_file_row, .to_cuda = "iso_srm_to_cuda"

/* Data of the operator. On CUDA a way makes its tables from `srm`, into `device`. */
struct srm_op {
	struct srm_shape shape;
	const struct srm_way *way;
	int64_t lors, voxels;
	int n_sub, n_direction;          /* L^2 (2 Ncx-1) (2 Ncz-1) directions */
	struct srm_direction *direction; /* by subset, a, b, number */
	int *sub;                        /* n_sub + 1: the first direction of each subset */
	int *place;                      /* of direction (a L + b) (2 Ncx-1) (2 Ncz-1) + number */
	struct srm_share *share;         /* over ranks: srm_share.h */
	const iso_srm *srm;              /* while the operator is made, no longer, */
	struct iso_room *room;           /* and that which has all of this */
	struct srm_correlation *correlation;
	void *tables, *device; /* of other ways; on the device */
};

#define SRM_PAIRS(m) ((m)->shape.layers * (m)->shape.layers) /* of layers */

/* Subsets first ... end - 1: one, or for ISO_ALL all. */
struct srm_subsets {
	int first, end;
};

static inline struct srm_subsets srm_subsets(int n_sub, int sub)
{
	struct srm_subsets s = { sub == ISO_ALL ? 0 : sub, sub == ISO_ALL ? n_sub : sub + 1 };

	return s;
}

/* a / d, rounded down. */
ISO_HD int srm_down(int a, int d)
{
	return (a >= 0 ? a : a - d + 1) / d;
}

ISO_HD int64_t srm_voxel_index(const struct srm_shape *s, int y, int x, int z)
{
	return ((int64_t)z * s->planes + y) * ((int64_t)s->nc[0] * s->d[0]) + x;
}

static inline const struct srm_direction *srm_direction_at(const struct srm_op *m, int a, int b, int number)
{
	return &m->direction[m->place[(a * m->shape.layers + b) * (m->n_direction / SRM_PAIRS(m)) + number]];
}

/* Taps of a direction in plane y, of tables for each pair of layers. */
struct srm_taps {
	int64_t n;
	const struct iso_srm_voxel *voxel;
	const iso_real *w;
};

static inline struct srm_taps srm_taps_of(const struct srm_op *m, const struct iso_srm_rows *taps,
                                          const struct srm_direction *d, int y)
{
	const struct iso_srm_rows *r = &taps[d->a * m->shape.layers + d->b];
	const int64_t *ptr = r->ptr + y * r->directions + d->number;
	struct srm_taps t = { ptr[1] - ptr[0], r->voxel + ptr[0], r->w + ptr[0] };

	return t;
}

ISO_BEGIN_C

struct iso_rows iso_srm_op_rows(const iso_op *op, int sub);
int64_t iso_srm_op_file_row(const iso_op *op, int64_t row);
int iso_srm_direction_of(const struct srm_op *m, int64_t row); /* the place of a row's direction */

/* iso_srm_op_create in this way, which outlives the operator. */
int iso_srm_op_create_by(iso_op **op, iso_ctx *ctx, const struct iso_srm_model *p, const struct srm_way *way);

/* Rows or taps of all pairs of layers, number a L + b, in arrays of the room and in the order of `o`, whatever its
   layers are; NULL: see the room's status. */
struct iso_srm_rows *iso_srm_pair_rows(struct iso_room *room, const iso_srm *m, struct iso_srm_order o,
                                       bool taps);

/* Correlation on the CPU: m->correlation. */
void iso_srm_correlate_table(struct srm_op *m);
int iso_srm_correlate_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x);
int iso_srm_correlate_back(const iso_op *op, int sub, iso_real *x, const iso_real *y);

ISO_END_C
#endif
