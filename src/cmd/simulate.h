/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation by the kind of scanner. */
#ifndef ISO_CMD_SIMULATE_H
#define ISO_CMD_SIMULATE_H

#include "cmd.h"

/* Whether a description says `kind: strips`; files that can't be read are none. */
bool simulate_is_strips(const char *scanner);

struct simulate_strips {
	const char *scanner, *phantom, *out;
	int64_t n;
	uint64_t seed;
};

/* The whole command for two strips, after its options were parsed. */
int simulate_strips(struct cmd *c, const struct opt_set *sets, const struct simulate_strips *p);

#endif
