/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph of crystals that events join: its Laplacian, and its parts. */
#ifndef ISO_TIMING_GRAPH_H
#define ISO_TIMING_GRAPH_H

#include "core/ctx.h"
#include "core/room.h"

/* Events are summed in as many pieces, whatever the number of threads: so sums have the same bits. */
enum { TIMING_PIECES = 16 };

struct timing_graph {
	iso_ctx *ctx;
	int threads; /* one where events are few: threads would wait for each other */
	int64_t n, crystals;
	const uint32_t *crystal; /* (n, 2) */
	float *weight;           /* of each event */
	double *piece;           /* (TIMING_PIECES, crystals): sums of the pieces */
	double *diagonal;        /* of the Laplacian, by timing_diagonal */
	double *r, *z, *d, *q;   /* of conjugate gradients */
	int64_t *part;           /* number of each crystal's part, -1: no events; by timing_parts */
	int64_t parts;
};

/* All arrays in the room, whose status tells. */
void timing_graph_begin(struct timing_graph *g, struct iso_room *room, int64_t n, int64_t crystals,
                        const uint32_t *crystal);

static inline int64_t timing_piece_begins(const struct timing_graph *g, int piece)
{
	return g->n / TIMING_PIECES * piece + (piece < g->n % TIMING_PIECES ? piece : g->n % TIMING_PIECES);
}

/* to[a] = sum over pieces of piece[.][a]. */
void timing_gather(double *to, const struct timing_graph *g);

void timing_diagonal(struct timing_graph *g);
void timing_parts(struct timing_graph *g);

/* Takes the mean over each part from v, whose crystals without events become 0. */
void timing_centre(double *v, const struct timing_graph *g);

/* L s = b by conjugate gradients to `tolerance` of |b|; b is lost. */
int timing_solve(double *s, struct timing_graph *g, double *b, double tolerance);

#endif
