/* SPDX-License-Identifier: BSD-3-Clause */
/* Gates of model ray: the gate of each event and the part of the scan that each gate has in ray_gates.c; one image of all
   gates by displacement fields in ray_fields.c. */
#ifndef ISO_RAY_GATES_H
#define ISO_RAY_GATES_H

#include "problem/gate_frames.h"

#include <limits.h>

#include "problem/model.h"

struct ray_problem;

struct ray_gates {
	/* parameters */
	const char *file, *shares, *fields, *axes;
	/* histograms, one a gate: all that 'events' names, and how many; it then names the first. NULL: there are none */
	const char *files;
	int n_files;
	char first[PATH_MAX];
	int64_t *end; /* of each: lines of it and of those before */
	bool mass;
	/* what they name */
	struct gating is;        /* n = 0: there are none */
	int32_t *of;             /* of each of ray->e, from 0; -1: none. NULL: not read */
	struct iso_field *field; /* of each gate; without values: the gate lies as the image does */
	/* of the frame in force */
	int32_t *now;           /* with fields: of each of ray->now, from 0 */
	int in_sens;            /* from 1: the gate whose sensitivity is made; 0: none */
	struct gate_part *part; /* of each gate */
};

enum { RAY_GATES_PARAMS = 2, RAY_FIELDS_PARAMS = 3 };

void ray_gates_params(struct opt *table, struct ray_gates *g);
void ray_fields_params(struct opt *table, struct ray_gates *g);

/* See struct model: gates that have an image each. */
int ray_gating(const iso_problem *problem, struct gating *g);

/* In load: the gates, before events are read; and those of the events, once these are there. */
int ray_gates_begin(struct ray_problem *ray);
int ray_gates_load(struct ray_problem *ray);
void ray_gates_end(struct ray_problem *ray);

/* ray_gate_files.c. 'events' that names a histogram a gate: before anybody looks at it; whether gates, shares and fields go
   with it; the others, read behind the first. */
void ray_gate_files_begin(struct ray_problem *ray);
int ray_gate_files_check(const struct ray_problem *ray);
int ray_gate_files_read(struct ray_problem *ray);

bool ray_gated(const struct ray_problem *ray);
bool ray_fielded(const struct ray_problem *ray); /* one image of all gates */
/* After ray->frame was set: the part of each gate in it. */
void ray_gates_select(struct ray_problem *ray);
/* The events of `e` in the frame in force and its gate, and their places in `e`; free both. `of`: gates of these; NULL: by
   their times. */
int ray_gates_pick(struct iso_events *part, int64_t **place, const struct ray_problem *ray,
                   const struct iso_events *e, const int32_t *of);

/* The parts once more, where no frame was selected; ISO_EARG if the length of the scan is not known. */
int ray_gates_known(struct ray_problem *ray);
/* With fields: by what the frame's factor and additive term, and its randoms, differ in the gate of event j of ray->now. */
double ray_gates_factor(const struct ray_problem *ray, int64_t j);
double ray_gates_additive(const struct ray_problem *ray, int64_t j); /* of what was given */
double ray_gates_randoms(const struct ray_problem *ray, int64_t j);

/* ray_fields.c. Fields, after the grid; maps of gates, before 'mu' is read. */
int ray_fields_load(struct ray_problem *ray);
void ray_fields_end(struct ray_problem *ray);
int ray_fields_check_maps(struct ray_problem *ray);
int ray_fields_read_mu(struct ray_problem *ray); /* 'mu'; of a list the first, the others are there */
void ray_fields_plan(struct ray_problem *ray, struct iso_plan *plan);
/* exp(-integral of the map of its gate) of each of ray->now. */
int ray_fields_attenuation(struct ray_problem *ray, iso_real *alpha, const struct iso_events *e);
/* sum of w_g W_g* P* S_g; `sens` makes S_g with the map and the poses of the gate in force. */
int ray_fields_sens(struct ray_problem *ray, struct iso_array *s,
                    int (*sens)(struct ray_problem *ray, struct iso_array *s));
int ray_fields_op(struct ray_problem *ray, iso_op **op, struct iso_ray *p);

#endif
