/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that share the data of one run. Algorithms call these also when there is one rank. */
#ifndef ISO_COMM_H
#define ISO_COMM_H

#include "isotome.h"

#ifdef __cplusplus
extern "C" {
#endif

struct iso_comm {
	int rank, size;
	/* Sums over all ranks, in place, host memory. Images are added as fixed-point integers, so
	   that their bits do not depend on how the data were split. */
	int (*sum_integers)(const struct iso_comm *c, int64_t n, int64_t *x);
	int (*sum_doubles)(const struct iso_comm *c, int64_t n, double *x);
};

extern const struct iso_comm iso_comm_self; /* one rank */

#ifdef __cplusplus
}
#endif
#endif
