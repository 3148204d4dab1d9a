/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of single scatter in the making, as the host and CUDA share it. */
#ifndef ISO_SSS_RUN_H
#define ISO_SSS_RUN_H

#include "sss.h"
#include "table.h"

struct sss_job {
	struct sss s;
	struct sss_set set;
	struct scatter_grid grid;
	double most_z; /* mm between two rings of a pair; 0: any */
	double reach;  /* largest |u| of a piece, mm */
	int kernel_half;
	float kernel[2 * SSS_KERNEL + 1];
	float *h; /* of the table, on the host */
};

/* Whether detectors of ring a and those apart + k further on of ring b are summed up: of one ring with itself each two once, and
   none farther apart along z than pairs of the scanner. */
ISO_HD bool sss_pair_wanted(const struct scatter_grid *g, double most_z, int32_t a, int32_t b, int32_t k)
{
	if (most_z > 0 && (b - a) * g->step > most_z) return false;
	return a < b || 2 * (g->apart + k) <= g->detectors;
}

ISO_C int sss_job_cells(struct sss_job *job, struct iso_scatter_table *t, double reach);

/* In libisotome_cuda.so: from legs that are made, not traced, to the table. */
#define SSS_FILL_CUDA "iso_sss_fill_cuda"
typedef int (*sss_fill_fn)(struct sss_job *job, iso_ctx *ctx, struct iso_scatter_table *t);

#endif
