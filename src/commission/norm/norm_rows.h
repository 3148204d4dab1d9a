/* SPDX-License-Identifier: BSD-3-Clause */
/* Crystal pairs a < b of a scanner in the order of a, then b: row a holds the pairs of crystal a with later ones, as a few
   runs of neighbouring crystals b. A table of a number a pair needs no list of the pairs. */
#ifndef ISO_NORM_ROWS_H
#define ISO_NORM_ROWS_H

#include "scanner/scanner.h"

struct norm_rows {
	const iso_scanner *s;    /* borrowed */
	int64_t n;               /* crystals */
	int64_t rings, per_ring; /* rings = 0: free detectors, of which row a holds every later one */
	int64_t min_distance, max_ring_difference;
	double share;   /* of the pairs, all of a crystal with another ring or none of them; 0: all pairs */
	int64_t every;  /* of each so many crystals one has a row; 0: all do */
	int64_t *first; /* (n + 1) number of the first pair of each row */
};

/* Crystals b ... b + n - 1, which lie in one ring; their pairs have the numbers from pair on. */
struct norm_run {
	int64_t b, n, pair;
};

int norm_rows_create(struct norm_rows *r, const iso_scanner *s);
int norm_rows_create_share(struct norm_rows *r, const iso_scanner *s, double share); /* of rings */
/* Of every so many crystals, where there are rings. */
int norm_rows_create_some(struct norm_rows *r, const struct norm_rows *of, int64_t every);
void norm_rows_free(struct norm_rows *r);

/* Room for the runs of one row. */
int64_t norm_rows_most(const struct norm_rows *r);

/* The runs of row a; returns how many. */
int64_t norm_rows_runs(struct norm_run *run, const struct norm_rows *r, int64_t a);

/* Pairs of the longest row. */
int64_t norm_rows_longest(const struct norm_rows *r);

/* The pairs of a run from the first to the last with a value above 0; values are those of the run. */
struct norm_run norm_run_used(struct norm_run run, const float *value);

/* First row of part i of `parts`, of about as many pairs each; that of part i = parts is the end. */
int64_t norm_rows_of_part(const struct norm_rows *r, int64_t i, int64_t parts);

/* Number of the pair of a and b, in any order; -1: they are none, or not of the share. */
int64_t norm_rows_pair(const struct norm_rows *r, int64_t a, int64_t b);

#endif
