/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation by the kind of scanner. */
#ifndef ISO_CMD_SIMULATE_H
#define ISO_CMD_SIMULATE_H

#include "cmd/cmd.h"

/* All options, whatever the kind of scanner. */
struct simulate {
	const char *scanner, *image, *out, *mu, *norm, *delayed, *singles, *isotope;
	double counts, randoms, scatters, tof_fwhm_ps, duration_s, half_life_s, noise;
	bool exact;
	int64_t seed;
	/* two panels */
	bool physics;
	double point[3], pairs, decays;
	const char *list;
	bool by_rate, rayleigh, reentry;
	struct iso_transport_options transport;
};

enum { SIMULATE_PANELS_OPTIONS = 13 };

/* Lists the options of two panels, whose values are `s`. */
void simulate_panels_options(struct opt o[SIMULATE_PANELS_OPTIONS], struct simulate *s);

/* ISO_EARG if one of them is given for another kind of scanner. */
int simulate_panels_refuse(const struct opt *o, const struct simulate *s);

/* The command for one kind of scanner, after its options were parsed: cylinders and free detectors,
   strips, panels, transducers. */
int simulate_ring(struct cmd *c, const struct simulate *s);
int simulate_strips(struct cmd *c, const struct simulate *s);
int simulate_panels(struct cmd *c, const struct simulate *s);
int simulate_sound(struct cmd *c, const struct simulate *s);

/* Whether an option was given, and asks for something: a record gives every number that has a
   default, and 0 is nothing. */
bool simulate_asks(const struct opt *o);

/* The phantom, which becomes an input of the record if it is a file. */
int simulate_phantom(struct cmd *c, iso_phantom **p, const char *path);

/* Takes blocks of events to an iso_event_writer. */
int simulate_append(void *writer, const struct iso_events *block);

#endif
