/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark oat: what its parts share. */
#ifndef ISO_BENCH_OAT_H
#define ISO_BENCH_OAT_H

#include "bench.h"
#include "limits.h"

struct oat_settings {
	const char *operator, * which, *accuracies; /* which: a case; NULL: the operators */
	int64_t grid[3], rings, views, transducers, repeats;
	double voxel;
};

/* What the machine does a second. */
struct oat_rates {
	double operations, cache; /* operations, bytes of the first level or of shared memory */
	struct iso_limits limits;
};

/* Names of the cases, ends with NULL; the last, sradon, is that of the operators' table. */
extern const char *const oat_cases[];

/* The operators of svoxel at the size of a case. `rates`: NULL for the plans alone. */
int oat_case(struct cmd *c, const struct oat_settings *s, const struct oat_rates *rates);

#endif
