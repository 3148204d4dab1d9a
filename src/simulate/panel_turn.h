/* SPDX-License-Identifier: BSD-3-Clause */
/* Panels and an object that move against each other during a scan: which decay happens when, and where it is then. Decays
   are numbered in the order of time. Each span of time has a Poisson number of them, spread evenly by strata. */
#ifndef ISO_PANEL_TURN_H
#define ISO_PANEL_TURN_H

#include "isotome/simulate.h"
#include "panel_scan.h"

/* From one row of the gantry's table to the next, its pose known; without such a table the whole scan. */
struct panel_span {
	double from_s, to_s;
	int64_t first; /* decay; that of the span behind the last: how many there are */
};

struct iso_panel_turn {
	iso_motion *motion;
	struct panel_span *span; /* n + 1 */
	int n;
	double half_life_s; /* 0: no decay */
	uint64_t seed;
};

int iso_panel_turn_create(struct iso_panel_turn **t, const struct iso_panel_simulate *p);
void iso_panel_turn_free(struct iso_panel_turn *t);

/* Numbers decays anew, `mean` of them, or about as many by chance. */
void iso_panel_turn_deal(struct iso_panel_turn *t, double mean, bool by_chance);

/* The span and the time, in ms, of a decay. */
int iso_panel_turn_when(uint32_t *ms, const struct iso_panel_turn *t, int64_t decay);

/* Where the object is then, in the axes of the panels' description; false: not known. */
bool iso_panel_turn_at(struct panel_pose *z, const struct iso_panel_turn *t, uint32_t ms);

/* ISO_EINPUT where activity or matter lies within a head, at some times of each span. */
int iso_panel_turn_check(const struct iso_panel_turn *t, const struct iso_array *a, const char *what,
                         double gap);

#endif
