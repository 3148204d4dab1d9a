/* SPDX-License-Identifier: BSD-3-Clause */
/* What the benchmarks of barrels and of lifetimes share: a scanner, and events spread over a body. */
#ifndef ISO_BENCH_JPET_H
#define ISO_BENCH_JPET_H

#include "bench/bench.h"
#include "isotome/barrel.h"

struct jpet {
	iso_scanner *scanner;
	const struct iso_barrel *b;
	double half[3]; /* of the body, an elliptic cylinder, mm */
	struct iso_barrel_events e;
	int64_t usable;             /* events of pairs */
	double generate_s, visited; /* voxels that an event sees, mean */
};

extern const char *const jpet_cases[]; /* as `which` */

int jpet_open(struct jpet *j, int which);

/* n events, which depend on the seed alone. Photons hit the strips that are nearest to their way, in a layer by chance. */
int jpet_events(struct jpet *j, iso_ctx *ctx, int64_t n, uint64_t seed);

/* Finds j->visited, by some of the events. */
int jpet_visited(struct jpet *j, const struct iso_barrel_model *m);
void jpet_free(struct jpet *j);

#endif
