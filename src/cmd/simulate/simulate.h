/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation by the kind of scanner. */
#ifndef ISO_CMD_SIMULATE_H
#define ISO_CMD_SIMULATE_H

#include "cmd/cmd.h"
#include "problem/sound/sound_tissue.h"
#include "simulate_lifetime.h"
#include "simulate_rates.h"

/* All options, whatever the kind of scanner. */
struct simulate {
	const char *scanner, *image, *out, *mu, *norm, *delayed, *singles, *isotope, *truth;
	double counts, randoms, bent, tof_fwhm_ps, duration_s, half_life_s, noise;
	bool exact;
	int64_t seed;
	/* by photons: rings and two panels */
	bool physics, by_rate, object_rayleigh, crystals;
	double decays, window_kev[2], resolution;
	/* down to the crystals */
	bool pairs_only;
	const char *materials;
	double beam[3];
	/* rings and two panels: an object that moves */
	const char *poses, *bed, *gantry, *mu_fixed;
	double orbit[2]; /* radius, mm; turns, 0: none */
	const char *gates, *fields, *field_axes;
	bool warp_mass;
	/* rings: what the electronics do to events */
	const char *pair_factors, *time_offsets, *crystal_fwhm, *dead_time;
	/* rings: activity that follows curves */
	const char *tacs, *basis, *truth_tacs, *truth_edges;
	/* barrels */
	struct simulate_lifetime lifetime;
	/* crystals at an activity */
	struct simulate_rates rates;
	/* transducers */
	struct tissue tissue;
	/* two panels */
	double point[3], pairs;
	const char *list, *list_times;
	bool rayleigh, reentry;
	struct iso_transport_options transport;
};

enum { SIMULATE_CRYSTALS_OPTIONS = 4 };

/* Lists the options of a simulation down to the crystals. */
void simulate_crystals_options(struct opt o[SIMULATE_CRYSTALS_OPTIONS], struct simulate *s);

enum { SIMULATE_PANELS_OPTIONS = 10 };

/* Lists the options of two panels, whose values are `s`. */
void simulate_panels_options(struct opt o[SIMULATE_PANELS_OPTIONS], struct simulate *s);

/* ISO_EARG, "--NAME is for WHOM", if one of a list is given. */
int simulate_refuse(const struct opt *o, const struct simulate *s, const char *whom);

/* The command for one kind of scanner, after its options were parsed: cylinders and free detectors,
   strips, panels, transducers, barrels. */
int simulate_ring(struct cmd *c, const struct simulate *s);
int simulate_strips(struct cmd *c, const struct simulate *s);
int simulate_barrel(struct cmd *c, const struct simulate *s);
int simulate_panels(struct cmd *c, const struct simulate *s);
int simulate_sound(struct cmd *c, const struct simulate *s);

/* The image and, to be freed, the name of the table of LABELS,TABLE: the last comma parts them. */
int simulate_materials(struct iso_array *labels, char **table, struct cmd *c, const char *text);

/* Crystals of any scanner, at an activity. */
int simulate_at_activity(struct cmd *c, const struct simulate *s);
/* With --crystals, without an activity. */
int simulate_crystals(struct cmd *c, const struct simulate *s);

/* Whether something moves during the scan, the option that says so, and the tables. */
bool simulate_moves(const struct simulate *s);
const char *simulate_mover(const struct simulate *s);
int simulate_check_orbit(const struct simulate *s);
int simulate_tables(iso_poses *table[3], struct iso_motion_parts *parts, struct cmd *c,
                    const struct simulate *s);

/* The half-life of the decay over the scan; 0: none. */
int simulate_half_life(double *half_life_s, const struct simulate *s);

/* Whether an option was given, and asks for something: a record gives every number that has a
   default, and 0 is nothing. */
bool simulate_asks(const struct opt *o);

/* The phantom, which becomes an input of the record if it is a file. */
int simulate_phantom(struct cmd *c, iso_phantom **p, const char *path);

/* Events by the number of scatters, up to the last that has some, for the record. */
json_t *simulate_orders(const int64_t by_order[ISO_ORDERS]);

/* What events are, a byte each, as they come; `order` is freed by the caller. */
struct simulate_truth {
	uint8_t *order;
	int64_t n, room;
};

/* An iso_truth_fn whose argument is a struct simulate_truth. */
int simulate_add_truth(void *truth, const uint8_t *order, int64_t n);

/* Takes blocks of events to an iso_event_writer. */
int simulate_append(void *writer, const struct iso_events *block);

#endif
