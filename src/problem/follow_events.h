/* SPDX-License-Identifier: BSD-3-Clause */
/* 'follow' of models with lists of events: OSEM over blocks of them as they come. */
#ifndef ISO_FOLLOW_EVENTS_H
#define ISO_FOLLOW_EVENTS_H

#include "follow.h"

/* What a model does with its events as they come. It keeps a block of them. */
struct follow_source {
	const char *path;
	void *self; /* of the functions */
	void (*plan)(void *self, struct iso_plan *lines, int64_t block);
	int (*open)(void *self, int64_t block);
	/* Reads up to `most` events into the block from place `at` on, *n of them; they are counted. Waits as
	   iso_strip_file_next. */
	int (*next)(void *self, int64_t *n, bool *end, int64_t at, int64_t most, double wait_s);
	/* The operator of the first n events of the block, and their factors. */
	int (*op)(void *self, iso_op **op, struct iso_em_data *d, iso_ctx *ctx, int64_t n);
	json_t *(*counts)(void *self); /* for the record: what was wrong with events, and how many were */
	void (*warn)(void *self, struct record *record);
	void (*close)(void *self);
};

struct opt_set follow_event_params(struct follow *f);

/* To the end of the events. */
int follow_events(iso_problem *problem, struct iso_array *to, const struct follow_source *source);

#endif
