/* SPDX-License-Identifier: BSD-3-Clause */
/* What reads a table of scatter on CUDA. */
#ifndef ISO_SCATTER_TABLE_RUN_H
#define ISO_SCATTER_TABLE_RUN_H

#include "table.h"

/* In libisotome_cuda.so: h of events; bin in mm. */
#define TABLE_EVENTS_CUDA "iso_scatter_events_cuda"
typedef int (*table_events_fn)(iso_real *h, const iso_scatter_table *t, iso_ctx *ctx,
                               const struct iso_events *e, double bin);

#endif
