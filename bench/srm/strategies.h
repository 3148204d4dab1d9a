/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways in which papers let a system matrix meet image and data, beside the library's own: they serve the papers'
   tables. All are the same sums. */
#ifndef ISO_SRM_STRATEGIES_H
#define ISO_SRM_STRATEGIES_H

#include "isotome/srm.h"
#include "model/srm/srm_op.h"

ISO_BEGIN_C

enum srm_strategy {
	SRM_CORRELATION, /* shifted copies of a row: the library's own */
	SRM_ROW,         /* LOR by LOR, forward and back (Chou 2012) */
	SRM_COLUMN,      /* voxel by voxel, forward and back */
	SRM_COMBINED,    /* LOR by LOR forward, voxel by voxel back (Meng 2019) */
	SRM_STRATEGIES,
};

extern const char *const srm_strategy_name[SRM_STRATEGIES];

/* iso_srm_op_create by this strategy. */
int srm_strategy_create(iso_op **op, iso_ctx *ctx, const struct iso_srm_model *p, enum srm_strategy s);

/* srm_op's `tables` on the CPU, of all pairs of layers, number a L + b; NULL where a strategy has none. */
struct srm_tables {
	struct iso_srm_rows *taps;       /* signed, all planes */
	struct iso_srm_columns *columns; /* half the planes */
};

static inline const struct srm_tables *srm_tables_of(const struct srm_op *m)
{
	return (const struct srm_tables *)m->tables;
}

/* Columns of half the planes, in arrays of the room; NULL: see its status. */
struct iso_srm_columns *iso_srm_pair_columns(struct iso_room *room, const iso_srm *m);

int iso_srm_row_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x);
int iso_srm_row_back(const iso_op *op, int sub, iso_real *x, const iso_real *y);
int iso_srm_column_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x);
int iso_srm_column_back(const iso_op *op, int sub, iso_real *x, const iso_real *y);

ISO_END_C
#endif
