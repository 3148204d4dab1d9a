/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip as a problem, as its parts see it: events in strip_load.c, 'follow' in strip_follow.c. */
#ifndef ISO_MODEL_STRIP_H
#define ISO_MODEL_STRIP_H

#include "core/loop/deal.h"
#include "problem/problem.h"

struct strip {
	iso_problem *p; /* whose self this is, from load on */
	/* options */
	const char *events, *scanner, *kernel, *form, *strategy, *sens_rule;
	int64_t size[2]; /* nz, ny */
	double pixel, gamma;
	bool edge;
	struct iso_strip_options read; /* how to read events */
	/* what they name */
	iso_scanner *s;
	struct iso_strip model;    /* one subset */
	struct iso_strip_events e; /* of several ranks, this one's */
	int64_t n;                 /* events of all */
	int64_t *number;           /* of each of `e` among them; NULL: they are all here */
};

/* strip_load.c */
/* The events that the options name, or those set in their place; and n, number. */
int strip_load_events(struct strip *strip);

/* The events lie in a file: they do not come through a pipe. */
bool strip_is_regular(const char *path);

/* Of events that were read; outside: with a hit beyond the ends of the strips, by up to so many mm. */
struct strip_count {
	int64_t n, bad, outside;
	double farthest, reach, half; /* mm; of hits and strips from the middle */
};

void strip_count(struct strip *strip, struct strip_count *c, const struct iso_strip_events *e);

/* `from`: what the warnings begin with. */
void strip_warn(struct record *record, const char *from, const struct strip_count *c);

/* Photons of a decay anywhere reach all of the strips: a hundred events that do not are in another unit. Of n hits that
   reach so far, mm; false: they are as they should be. */
#define STRIP_TELLING 100
#define STRIP_MIDDLE .12 /* of half of a strip */
bool strip_in_the_middle(char text[160], int64_t n, double reach, double half);

/* strip_follow.c */
extern const struct method strip_follow;

#endif
