/* SPDX-License-Identifier: BSD-3-Clause */
/* How many float operations the machine does in a second, measured where a benchmark runs. */
#ifndef ISO_ARITHMETIC_H
#define ISO_ARITHMETIC_H

#include "isotome.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Multiplications and additions a second over all threads and lanes; on CUDA, where they are fused,
   fused pairs. */
int iso_arithmetic_rate(double *per_s, iso_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
