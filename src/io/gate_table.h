/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of coincidences, as GATE 10 writes them by pandas: HDF5, which src/io/hdf5 reads whole. */
#ifndef ISO_GATE_TABLE_H
#define ISO_GATE_TABLE_H

#include "events.h"

struct gate_table {
	const char *path, *name; /* the table is /NAME/table */
	bool trues_only;
	const iso_ctx *ctx; /* whose memory limit holds; NULL: none */
	/* what was read */
	struct iso_events e;
	int64_t left_out;
};

/* In a process of its own, see iso_apart; the caller frees t->e. */
int gate_table_read(struct gate_table *t);

/* In this one. */
int gate_table_read_here(struct gate_table *t);

#endif
