/* SPDX-License-Identifier: BSD-3-Clause */
/* What surrounds the steps of every algorithm: progress, the caller's look at the image, checkpoints
   by the clock, and a stop that keeps the work. */
#ifndef ISO_LOOP_H
#define ISO_LOOP_H

#include "checkpoint.h"

/* The functions get `state`. A step that ISO_ECANCEL interrupts must leave a state that `save` can
   write and `step` go on from. */
struct iso_loop {
	void *state;
	iso_ctx *ctx;
	const char *name; /* of the stage: "cg" */
	const char *unit; /* what `done` counts: "iterations" */
	const int64_t *done;
	int64_t total;
	const char *checkpoint;    /* file, or NULL */
	double checkpoint_minutes; /* least time between two writings */
	double stop_after_minutes; /* then checkpoint and ISO_ECANCEL; 0: never */
	double start_s;            /* iso_now_s() when the algorithm began */
	int (*step)(void *state);
	bool (*finished)(const void *state);
	int (*show)(void *state); /* after each step, also the last */
	int (*save)(void *state);
	const char *(*note)(char *text, size_t size, const void *state); /* NULL: none now */
	int unsaved; /* result: checkpoints that could not be written */
};

int iso_loop_run(struct iso_loop *l);

/* Writes or reads a checkpoint of `n` items, the first n_vectors of which are reals in memory of the
   context's device. */
int iso_loop_write(iso_ctx *ctx, const char *path, uint64_t key, int n_vectors, int n,
                   const struct iso_item *item);
int iso_loop_read(iso_ctx *ctx, const char *path, uint64_t key, int n_vectors, int n,
                  const struct iso_item *item);

#endif
