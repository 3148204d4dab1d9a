/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector table of the CPU, and what the library's code does often with tables. */
#ifndef ISO_VEC_H
#define ISO_VEC_H

#include "isotome.h"

extern const struct iso_vec iso_vec_cpu;

/* n values of the storage type on the context's device, zeroed. */
int iso_vec_alloc(iso_ctx *ctx, iso_real **x, int64_t n);

#endif
