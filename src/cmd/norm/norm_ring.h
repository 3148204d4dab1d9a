/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome norm of rings and free detectors. */
#ifndef ISO_NORM_RING_H
#define ISO_NORM_RING_H

#include "cmd/cmd.h"

struct norm_ring {
	const char *scanner, *events, *out; /* events and what follows may be lists, a word for each scan */
	const char *source, *mu, *delayed, *singles, *components, *place, *mask, *scatter;
	int64_t scatter_seed;
	double scatter_error, window_kev[2], resolution;
	bool relative, no_mirror, resume;
	int64_t rays;
	double tolerance, pair_share, coincidence_ns, duration_s;
	struct iso_events_options read;
};

extern const char *const norm_scatter_methods[];

/* Before the work: what the words say of each other. */
int norm_ring_check(const struct cmd *c, const struct norm_ring *s);

int norm_ring_run(struct cmd *c, const struct norm_ring *s);

#endif
