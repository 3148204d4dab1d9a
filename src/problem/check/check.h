/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the inputs of a run fit each other, and that its image fits its data. One table, check.c; a check
   looks at heads and samples alone, and all ranks look at the same. */
#ifndef ISO_CHECK_H
#define ISO_CHECK_H

#include "problem/problem.h"

/* What a check looks at, and what it has found so far. */
struct look {
	iso_problem *p;
	const struct run_made *made; /* by the run; NULL before it */
	const struct check *check;
	bool looked;       /* it had something to compare; else the record has no word of it */
	int doubts;        /* findings of this check */
	char refusal[640]; /* the first finding that ends the run; "": none */
};

struct check {
	const char *name;  /* in the record, in docs/checks.md, and what 'accept' takes */
	const char *model; /* that it is for, several with commas between them; NULL: every one that has a
				      sensitivity */
	bool after;        /* it looks at the image, once that is made */
	/* Tells what it finds by check_doubt and check_refuse; fails for want of memory alone. */
	int (*look)(struct look *l);
};

/* A finding that may be right: a warning. */
void check_doubt(struct look *l, const char *fmt, ...) ISO_PRINTF(2, 3);

/* A finding with which the image can only be wrong: the run is refused, unless 'accept' names the check. */
void check_refuse(struct look *l, const char *fmt, ...) ISO_PRINTF(2, 3);

/* ---- the checks, a file a subject ---- */

int check_ends(struct look *l); /* check_events.c */
int check_time_differences(struct look *l);
int check_attenuation(struct look *l); /* check_mu.c */
int check_matter(struct look *l);
int check_efficiencies(struct look *l); /* check_factors.c */
int check_randoms(struct look *l);
int check_additive(struct look *l);
int check_counts(struct look *l); /* check_image.c */
int check_border(struct look *l);
int check_faint(struct look *l);
int check_likelihood(struct look *l);

int check_speed(struct look *l); /* check_sound.c */
int check_sampling(struct look *l);
int check_arrival(struct look *l);
int check_strip_events(struct look *l); /* check_strip.c */
int check_path_differences(struct look *l);
int check_panels_efficiencies(struct look *l); /* check_panels.c */
int check_panels_randoms(struct look *l);
int check_panels_additive(struct look *l);

/* ---- what several of them need ---- */

struct ray_problem;

/* Some events of model ray, spread over the file: the same on every rank. */
enum { CHECK_EVENTS = 500 };
struct some_events {
	int n;
	struct iso_event v[CHECK_EVENTS];
	int32_t crystal[2 * CHECK_EVENTS]; /* -1: the file does not say */
};
int check_some_events(struct some_events *some, struct ray_problem *ray);

/* Box around the crystals of a scanner; false: it has none, or was assumed from the events. */
struct box {
	double low[3], high[3];
};
bool check_crystals(struct box *b, const iso_scanner *s);

/* Every so many voxels are looked at: a sample of about 65536 that is spread over the grid. */
int64_t check_step(const struct iso_grid *g);
struct box check_box(const struct iso_grid *g); /* of a grid, to the outer faces of its voxels */

/* An attenuation map and what it is to fit; path NULL: there is none. */
struct mapped {
	const char *path;
	const struct iso_array *mu;
	const struct iso_grid *image;
	const char *scanner; /* its name; NULL: crystals are not known */
	struct box crystals;
};

struct srm_model;
void check_panels_map(struct mapped *map, const struct srm_model *srm);

#endif
