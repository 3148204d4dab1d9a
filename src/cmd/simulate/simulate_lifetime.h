/* SPDX-License-Identifier: BSD-3-Clause */
/* Lifetimes of simulated triples. */
#ifndef ISO_SIMULATE_LIFETIME_H
#define ISO_SIMULATE_LIFETIME_H

#include "cmd/cmd.h"
#include "core/philox.h"

/* Options. */
struct simulate_lifetime {
	const char *maps; /* "TAU,W"; NULL: no lifetimes */
	double sigma_ps, random, window[2];
};

enum { SIMULATE_LIFETIME_OPTIONS = 5 };

void simulate_lifetime_options(struct opt o[SIMULATE_LIFETIME_OPTIONS], struct simulate_lifetime *s);

/* Whether an option has the value that the record of a run has which did not ask for lifetimes. */
bool simulate_lifetime_is_usual(const struct opt *o, const struct simulate_lifetime *s);

/* What they name. */
struct simulate_lifetimes {
	struct iso_lifetime_model model;
	struct simulate_map {
		double value;
		struct iso_array image; /* v NULL: the value holds everywhere */
	} tau, w;
	double random;
};

int simulate_lifetime_read(struct simulate_lifetimes *l, struct cmd *c, const struct simulate_lifetime *s,
                           const struct iso_grid *g);

/* Of events first ... first + n - 1, emitted at places (n, 3). */
int simulate_lifetime_draw(double *time, const struct simulate_lifetimes *l, const float *places,
                           uint64_t seed, int64_t first, int64_t n);
void simulate_lifetime_free(struct simulate_lifetimes *l);

#endif
