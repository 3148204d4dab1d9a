/* SPDX-License-Identifier: BSD-3-Clause */
/* Mean chords of the lines of each pair through a shape, row by row: all that moves with the place of a source. */
#ifndef ISO_NORM_SHAPE_H
#define ISO_NORM_SHAPE_H

#include "norm_q.h"

/* Pairs of a run from the first to the last that is used. */
struct norm_kept {
	int32_t skip, n;
};

/* Where the lines of crystals begin and end, in the frame of the shape, and room for the pairs of a run. */
struct norm_shape {
	const struct norm_q *q;
	double *end[2]; /* (lines, 3, crystals): as the earlier, as the later crystal of a pair */
	double *place;  /* (3, crystals): crystals in the frame of the scanner */
	double *sum;    /* (threads, width): sum of chords of the pairs of a run */
	double *weight; /* (threads, width): by solid angle */
	double *met;    /* (threads, width): how many lines meet the shape */
	int64_t width;  /* longest run */
	/* for rows that are made one by one: */
	struct norm_run *run;   /* (threads, runs of a row) */
	struct norm_kept *kept; /* (rows, runs of a row) */
	bool known;             /* kept is known */
};

/* For a source at this shift; what it holds is of `room`. */
int norm_shape_create(struct norm_shape *m, struct iso_room *room, const struct norm_q *q,
                      const double shift[NORM_SHIFTS], const iso_ctx *ctx);

/* Sums, weights and meetings of crystal a with the crystals of a run, to row `thread` of each. */
void norm_shape_run(struct norm_shape *m, int thread, int64_t a, int64_t b, int64_t n);

/* Chord of one line of a pair. */
double norm_shape_chord(const struct norm_shape *m, int64_t a, int64_t b, int line);

#endif
