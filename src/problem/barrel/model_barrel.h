/* SPDX-License-Identifier: BSD-3-Clause */
/* Model barrel as a problem, as its parts see it: 'follow' is in barrel_follow.c. */
#ifndef ISO_MODEL_BARREL_H
#define ISO_MODEL_BARREL_H

#include "isotome/barrel.h"
#include "problem/problem.h"

struct barrel_problem {
	iso_problem *p;
	/* options */
	const char *events, *scanner, *mu, *additive, *kernel, *shadow, *smear;
	int64_t size[3];
	double voxel[3], centre[3];
	bool edge;
	struct iso_barrel_options read;
	/* what they name */
	iso_scanner *s;
	struct iso_barrel barrel;
	struct iso_barrel_model model;
	struct iso_barrel_events e;
	struct iso_array mu_map, add;
	double add_constant;
	int64_t n;
};

/* `from`: what the warnings begin with. */
void barrel_warn(struct record *record, const char *from, const struct iso_barrel_events *e);

extern const struct method barrel_follow;

#endif
