/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation by the kind of scanner. */
#ifndef ISO_CMD_SIMULATE_H
#define ISO_CMD_SIMULATE_H

#include "cmd/cmd.h"

/* Whether an option was given, and asks for something: a record gives every number that has a
   default, and 0 is nothing. */
bool simulate_asks(const struct opt *o);

struct simulate_strips {
	const char *scanner, *phantom, *out;
	int64_t n;
	uint64_t seed;
};

/* The whole command for two strips, after its options were parsed. */
int simulate_strips(struct cmd *c, const struct opt_set *sets, const struct simulate_strips *p);

/* Transducers: traces of spheres. */
struct simulate_sound {
	const char *scanner, *phantom, *out;
	double noise; /* width, of the greatest pressure */
	uint64_t seed;
};

/* The whole command for transducers, after its options were parsed. */
int simulate_sound(struct cmd *c, const struct opt_set *sets, const struct simulate_sound *p);

/* Two panels: photon transport, into a histogram of LORs. */
struct simulate_panels {
	const char *scanner, *image, *out, *delayed; /* of all kinds of scanners, as counts, */
	double counts, randoms, duration_s;          /* randoms (a share) and seed */
	bool exact;
	uint64_t seed;
	bool physics; /* and their own */
	double point[3], pairs, decays;
	const char *list, *positron;
	bool by_rate, centroid, first_layer, acollinearity, rayleigh, reentry;
};

enum { SIMULATE_PANELS_OPTIONS = 13 };

/* Sets the defaults of what is its own, and lists the options for it. */
void simulate_panels_options(struct opt o[SIMULATE_PANELS_OPTIONS], struct simulate_panels *p);

/* ISO_EARG if one of these is given for another kind of scanner. */
int simulate_panels_refuse(const struct opt *o, const struct simulate_panels *p);

/* The whole command for two panels, after its options were parsed. */
int simulate_panels(struct cmd *c, const struct opt_set *sets, const struct simulate_panels *p);

struct iso_transport_options simulate_transport(const struct simulate_panels *p);

/* --point: the share of its decays that the scanner records, for each readout and window. */
int simulate_point(struct cmd *c, const struct simulate_panels *p);

#endif
