/* SPDX-License-Identifier: BSD-3-Clause */
/* An object that changes its shape from gate to gate: the activity and the map of each, W_g f and W_g mu. A decay in a gate
   of less activity than the largest is thinned, so that the number of events follows the gate. */
#ifndef ISO_STATES_H
#define ISO_STATES_H

#include "isotome/gates.h"
#include "isotome/simulate.h"
#include "moving_kern.h"
#include "photon_history.h"

struct iso_state_images {
	struct iso_array activity, mu; /* without values: those of the object itself */
};

struct iso_states {
	const iso_gates *gates; /* borrowed */
	int n;                  /* gates; 0: the object keeps its shape */
	struct moving_state
		*of; /* n + 1: the last holds at times of no gate; NULL: the object keeps its shape */
	struct iso_state_images *images; /* of each */
};

/* For histories in a ring of this radius and half length; emission of kinds that p asks for. */
int iso_states_create(struct iso_states *s, iso_ctx *ctx, const struct iso_simulate *p, double radius,
                      double half);
void iso_states_free(struct iso_states *s);

/* The state at a time. */
int64_t iso_states_at(const struct iso_states *s, double time_s);

#endif
