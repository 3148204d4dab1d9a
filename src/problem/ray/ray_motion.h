/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray of an object that moves: parameters, tables and the motion in ray_motion.c, the sensitivity of the scan's pieces
   in ray_motion_sens.c. The ends of events lie in the object's axes from load on; whatever belongs to the crystals (pair
   weight, efficiencies, randoms, maps that stay) moves them back. */
#ifndef ISO_RAY_MOTION_H
#define ISO_RAY_MOTION_H

#include "problem/model.h"

struct ray_problem;

/* A map that does not move with the object, and what moves crystals into its axes. */
struct ray_beside {
	struct iso_array mu; /* no values: there is none */
	iso_motion *motion;  /* NULL: it lies where the crystals are */
};

struct ray_motion {
	/* parameters */
	const char *poses, *rule, *reference, *axes, *bed, *gantry, *mu_fixed, *mu_bed, *event_times;
	bool inverse, bed_inverse, of_file; /* of_file: the events' file has bed or gantry */
	double sens_error;
	int64_t sens_budget; /* -1: not said */
	/* what they name */
	iso_poses *table[3];       /* by enum iso_pose_kind; NULL: none, or it does not move */
	int64_t rows;              /* of the table of poses */
	struct iso_pose to_object; /* that is to be the identity */
	bool refers;               /* there is one */
	struct iso_pose tracker;   /* 'poses-axes' */
	iso_motion *all;           /* NULL: nothing moves */
	struct ray_beside beside[2];
	bool moved;        /* the ends of ray->e */
	int64_t unknown;   /* events without a known pose, of those read */
	double duration_s; /* of the scan; 0: not known */
	/* of the frame in force */
	double decay;              /* 1/s; 0: none */
	double mean, mean_randoms; /* of exp(-kt) and exp(-2kt) */
};

enum { RAY_MOTION_PARAMS = 13 };

void ray_motion_params(struct opt *table, struct ray_motion *m);

/* In load, in this order: the tables, before the grid is chosen; a grid made longer for a bed; times of events that are
   read from a file of their own; motion and maps, after the events are there, which are moved. */
int ray_motion_tables(struct ray_problem *ray);
void ray_motion_lengthen(const struct ray_problem *ray, struct iso_grid *g);
int ray_motion_times(struct ray_problem *ray);
int ray_motion_begin(struct ray_problem *ray, int need);
void ray_motion_end(struct ray_problem *ray);

/* What stays where it is attenuates, too. */
int ray_motion_maps(struct ray_problem *ray);
bool ray_motion_attenuates(const struct ray_problem *ray);
int ray_motion_attenuate(struct ray_problem *ray, iso_real *alpha, const struct iso_events *e);

/* Ends of events into the object's axes; adds to `unknown`. Nothing where nothing moves. */
int ray_motion_move(struct ray_problem *ray, struct iso_events *e, int64_t *unknown);

/* Ends of event j where its crystals are. */
void ray_motion_crystals(double p1[3], double p2[3], const struct ray_problem *ray,
                         const struct iso_events *e, int64_t j);

/* exp(-kt) of an event over its mean in the frame, and that of randoms; 1 where nothing moves. */
double ray_motion_decay(const struct ray_problem *ray, const struct iso_events *e, int64_t j);
double ray_motion_decay_randoms(const struct ray_problem *ray, const struct iso_events *e, int64_t j);
void ray_motion_select(struct ray_problem *ray); /* the frame in force */

/* Whether the sensitivity is made of pieces, and that of the frame in force, over the mean of exp(-kt) Live. */
bool ray_motion_in_sens(const struct ray_problem *ray);
int ray_motion_sens(struct ray_problem *ray, iso_real *s, const struct iso_ray_sens *p);

int ray_motion_tell_unknown(struct ray_problem *ray); /* of events that were left out */

/* Pieces of the frame in force, with weights over the mean of exp(-kt) Live, and where the maps that stay are in each; one
   piece where nothing moves. */
struct ray_pieces {
	struct iso_piece *v;
	int64_t n;
	struct iso_pose *at[2]; /* of 'beside'; NULL: the map lies where the crystals are, or there is none */
};

int ray_pieces_make(struct ray_pieces *p, const struct ray_problem *ray);
void ray_pieces_free(struct ray_pieces *p);

#endif
