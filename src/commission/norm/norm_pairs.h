/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes over pairs on CUDA, of a ring whose model has efficiencies of crystals alone. The device keeps q of each pair twice,
   in the rows of both its crystals: each row is summed by itself, and nothing is added to memory that others add to. */
#ifndef ISO_NORM_PAIRS_H
#define ISO_NORM_PAIRS_H

#include "norm_fit.h"

ISO_BEGIN_C

struct norm_device; /* tables of all scans on the device */

struct norm_device_fn {
	/* Room for the tables; ISO_EARG where the ring has too many crystals for it. */
	int (*create)(struct norm_device **d, iso_ctx *ctx, const struct norm_fit *f);
	/* The scans' q as they are now, and with `slopes` these too. */
	int (*load)(struct norm_device *d, const struct norm_fit *f, bool slopes);
	int (*sum)(double *to, double *total, struct norm_device *d, const struct norm_fit *f,
	           enum norm_sum what, const double *v); /* as norm_pairs_sum */
	void (*free)(struct norm_device *d);
};

#define NORM_DEVICE_CUDA "iso_norm_device_cuda" /* in libisotome_cuda.so */

/* Whether the passes of this fit can go on a CUDA device; ISO_EARG says why they can't. */
int norm_device_check(const struct norm_rows *rows, const struct norm_classes *classes);

enum { NORM_DEVICE_RING = 4096 }; /* most crystals of a ring */

/* Bytes of the tables of one scan. */
int64_t norm_device_bytes(const struct norm_rows *rows, int shifts);

ISO_END_C
#endif
