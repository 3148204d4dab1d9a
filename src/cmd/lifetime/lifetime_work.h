/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome lifetime: what was asked for, what is read, and the maps. */
#ifndef ISO_LIFETIME_WORK_H
#define ISO_LIFETIME_WORK_H

#include "cmd/cmd.h"
#include "problem/problem.h"

#include <math.h>
#include <string.h>

enum { LIFETIME_REGIONS = 64, LIFETIME_BINS = 64, LIFETIME_MAPS = 6 };

/* Options. */
struct lifetime_settings {
	const char *out, *method, *components, *intensity, *error, *penalty, *pairs, *activity, *regions,
		*page;
	double ratio, sigma_ps, offset_ps, window[2], background[2], share, min_counts, prior[2];
	int64_t iterations, subsets, most, seed;
};

struct lifetime_map {
	const char *name, *unit; /* name: behind the output's; "" for the lives themselves */
	char path[PATH_MAX];
	bool wanted;
	double *v;
};

enum { MAP_TAU, MAP_ERROR, MAP_COUNTS, MAP_MEAN, MAP_W, MAP_W_ERROR };

struct lifetime_work {
	struct cmd *c;
	iso_problem *p;
	iso_ctx *host; /* of rows and penalties: the command's context, or one of the CPU beside it */
	struct lifetime_settings s;
	/* what they say */
	struct iso_lifetime_model model;
	struct iso_lifetime ask;
	struct penalties penalty;
	/* what is read */
	struct iso_lifetimes times;
	iso_op *op;
	iso_triples *t;
	struct iso_array sens;
	double *activity, *randoms, *w;
	int32_t *label;
	int regions;
	/* what is made */
	struct lifetime_map map[LIFETIME_MAPS];
	struct iso_lifetime_maps maps;
	double region_tau[LIFETIME_REGIONS], region_error[LIFETIME_REGIONS];
	double curve_counts[LIFETIME_REGIONS * LIFETIME_BINS], curve_fit[LIFETIME_REGIONS * LIFETIME_BINS];
};

/* lifetime_input.c: options that are words into numbers; and events, images, triples. */
int lifetime_settle(struct lifetime_work *w);
int lifetime_read(struct lifetime_work *w);

/* lifetime_output.c: names of the maps; the maps as files, the record, the page. */
int lifetime_name_maps(struct lifetime_work *w);
int lifetime_write(struct lifetime_work *w);

#endif
