/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of scattered coincidences as its makers see it. */
#ifndef ISO_SCATTER_TABLE_H
#define ISO_SCATTER_TABLE_H

#include "core/ctx.h"
#include "scene.h"
#include "table_kern.h"

struct iso_scatter_table {
	struct scatter_grid grid;
	float *h;                   /* (table_rows, cells), on the host */
	float *all;                 /* (table_rows): the integral over u */
	const iso_scanner *scanner; /* the caller's */
	struct iso_scatter_info info;
	iso_ctx *ctx;  /* whose device has `device`; NULL: none */
	float *device; /* copy of h */
};

/* All samples of the ring and along u, but the values: sizes and steps as p asks, or the defaults. Time of flight: cells
   is not known yet. */
int table_grid(struct scatter_grid *g, const struct scene *s, const struct iso_scatter *p);

/* After h was filled or changed: its integrals, and the device's copy of a CUDA context. */
int table_finish(struct iso_scatter_table *t, iso_ctx *ctx);

/* As HDF5 into `temp`, of a build that has it; `path` for messages. */
int table_write_h5(const char *temp, const char *path, const iso_scatter_table *t);

/* h of events on the host, as iso_scatter_at; bin in mm. */
int table_events(iso_real *h, const struct iso_scatter_table *t, iso_ctx *ctx, const struct iso_events *e,
                 double bin);

/* The samples of all rings so that lines between them keep the mean (table_rings.c). most_z: mm between two rings up to which
   there are values; 0: everywhere. */
int table_bend_rings(struct iso_scatter_table *t, iso_ctx *ctx, double most_z);

/* h and cells, at least as many as it has, of t by the single-scatter formula (sss.c). */
int sss_fill(struct iso_scatter_table *t, iso_ctx *ctx, const struct scene *s, const struct iso_scatter *p,
             enum sss_kernel kernel);

/* In libisotome_cuda.so: h of events; bin in mm. */
#define TABLE_EVENTS_CUDA "iso_scatter_events_cuda"
typedef int (*table_events_fn)(iso_real *h, const iso_scatter_table *t, iso_ctx *ctx,
                               const struct iso_events *e, double bin);

#endif
