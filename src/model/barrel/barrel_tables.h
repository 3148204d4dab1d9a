/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of hits on CUDA, and the order of events by pairs that goes with them. Which events have a table depends on the
   whole list alone: those whose pair and interval of tilts occur twice or more. Where not all tables find room, they are made
   again a chunk at a time in every pass. */
#ifndef ISO_BARREL_TABLES_H
#define ISO_BARREL_TABLES_H

#include "barrel_table.h"

#define BARREL_NO_TABLE 0xffffffffu

/* Groups whose tables lie on the device together. */
struct barrel_chunk {
	int64_t first, n, at; /* at: of its first value, among those of all chunks */
};

/* One order for each subset, and for all rows where there are several: the rows of this rank, those with a table first. */
struct barrel_tables {
	/* on the device: */
	unsigned *row, *group_of; /* of each place of all orders; BARREL_NO_TABLE: the row has none */
	struct barrel_group *group;
	float *value; /* of the one chunk; NULL: there are several, and a handle of the operator has them one by one */
	/* on the host: */
	struct barrel_chunk *chunk;
	int64_t *start; /* place where each order begins, and the end of all */
	int64_t *bound; /* of each order: places where rows of each chunk begin, and those without a table */
	int chunks, orders;
	int64_t most; /* values of the largest chunk */
};

/* Of the operator's events, which lie on the device. `place`: of its strips, on the host. */
ISO_C int iso_barrel_tables_make(struct barrel_tables *t, iso_op *op, const struct barrel_place *place);

/* Makes the values of a chunk. */
ISO_C int iso_barrel_tables_fill(float *value, const struct barrel_tables *t, const iso_op *op, int chunk);

#endif
