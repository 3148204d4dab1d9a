/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast the memory nearest to the arithmetic is, measured where a benchmark runs. */
#ifndef ISO_CACHE_H
#define ISO_CACHE_H

#include "isotome.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes a second that all threads load from the first-level cache, whole registers at a time; on
   CUDA from shared memory, neighbouring threads neighbouring words. */
int iso_cache_rate(double *bytes_per_s, iso_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
