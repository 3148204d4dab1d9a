/* SPDX-License-Identifier: BSD-3-Clause */
/* What the states of all algorithms begin with, and what surrounds their steps: the caller's arrays,
   progress, the caller's look at the image, checkpoints by the clock, and a stop that keeps the work. */
#ifndef ISO_LOOP_H
#define ISO_LOOP_H

#include "checkpoint.h"
#include "core/progress.h"
#include "core/room.h"

enum { LOOP_ITEMS = 16 };

struct iso_loop;

/* An algorithm. A step that ISO_ECANCEL interrupts must leave a state that can be saved, and that the
   next step goes on from. */
struct iso_loop_fn {
	const char *name;                        /* in messages: "cg" */
	const char *unit;                        /* what steps are: "iterations" */
	const char *figure;                      /* what curve[0] holds: "cost" */
	double (*now)(const struct iso_loop *l); /* the figure, where there is no curve of it; else NULL */
	int curves;
	int at_start; /* 1: curves begin with a value of the start image; 0: with the first step's */
	int (*begin)(struct iso_loop *l); /* from the start image; NULL: nothing to do */
	int (*step)(struct iso_loop *l);
	bool (*finished)(const struct iso_loop *l); /* NULL: when all steps are done */
	/* The caller has ended the run: what would have been done behind the last step. The state is as it was if it
	   fails. NULL: nothing. */
	int (*cut)(struct iso_loop *l);
	/* The items of a checkpoint and how many there are, from the state as it is now. Those of type
	   ISO_ITEM_REAL are in memory of the context's device. */
	int (*items)(struct iso_loop *l, struct iso_item item[LOOP_ITEMS]);
	int (*restored)(struct iso_loop *l, const char *path); /* the items were read from a file */
};

struct iso_loop {
	const struct iso_loop_fn *fn;
	const char *stage; /* for the caller's progress */
	iso_op *op;
	iso_ctx *ctx;
	const struct iso_vec *v;
	int64_t n, n_data; /* voxels, rows */
	enum iso_place place;
	int64_t done, total; /* steps */
	int per;             /* steps of an iteration */
	bool ended;          /* a step found nothing left to gain */
	bool shown;          /* the image, to the callers of some ranks */
	bool stopped;        /* the caller has seen enough, before the last step */
	iso_real *x;         /* the image, on the device */
	iso_real *host;      /* room for one on the host */
	double *curve[2];    /* total + at_start values each */
	int resumed_from, unsaved;
	double start_s;        /* when the run began */
	struct iso_clock data; /* while arrays of the data are taken */
	struct iso_room room;  /* has the state's arrays; zeros at first */
	struct iso_room taken; /* copies of the caller's arrays, until all are checked and on the device */
};

/* A zeroed state of `size` bytes, which begins with its struct iso_loop; NULL, with ISO_ENOMEM's
   message, if there is no memory. Keeps the operator. */
void *iso_loop_make(size_t size, const struct iso_loop_fn *fn, iso_op *op, enum iso_place place,
                    int64_t total);
void iso_loop_free(struct iso_loop *l); /* and the state around it */

/* *v, of n values where the caller says, becomes an array on the host: the same, or a copy that is
   `taken`. ISO_EINPUT for values that are not finite, or negative if they must not be. NULL stays. */
int iso_loop_take(struct iso_loop *l, const char *what, int64_t n, const iso_real **v, bool nonneg);

/* A copy of a data vector of the host on the device, in the operator's order; NULL of NULL, and after a
   failure, which is the room's status. */
iso_real *iso_loop_rows(struct iso_loop *l, const iso_real *host);

/* The data of EM, the caller's arrays, checked, become ours on the device, add over mult; and the sum of the counts of
   this rank's rows, unless NULL. */
int iso_loop_em_data(struct iso_loop *l, struct iso_em_data *d, double *counts);

/* From the start or from the checkpoint to the end, and the image to x. */
int iso_loop_run(struct iso_loop *l, iso_real *x, const struct iso_run *run);

bool iso_loop_finished(const struct iso_loop *l);
int iso_loop_step(struct iso_loop *l);
int iso_loop_image(iso_real *x, const struct iso_loop *l);

/* A curve so far, and how many values it has. */
const double *iso_loop_curve(const struct iso_loop *l, int which, int *n);

#endif
