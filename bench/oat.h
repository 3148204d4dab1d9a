/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark oat: what its parts share. */
#ifndef ISO_BENCH_OAT_H
#define ISO_BENCH_OAT_H

#include "bench.h"
#include "limits.h"

struct oat_settings {
	const char *operator, * which, *through, *accuracies; /* which: a case; NULL: the operators */
	int64_t grid[3], rings, views, transducers, repeats;
	double voxel, radius; /* radius: of tissue */
};

/* What the machine does a second. */
struct oat_rates {
	double operations, cache; /* operations, bytes of the first level or of shared memory */
	struct iso_limits limits;
};

/* Names of the cases, ends with NULL; the last, sradon, is that of the operators' table. */
extern const char *const oat_cases[], *const oat_tissues[];

/* The operators of svoxel at the size of a case. `rates`: NULL for the plans alone. */
int oat_case(struct cmd *c, const struct oat_settings *s, const struct oat_rates *rates);

/* What a case is made of, with the accuracy and the batch at hand. */
struct oat_run {
	struct cmd *c;
	const struct oat_settings *s;
	const struct oat_rates *rates;
	const char *name;
	int frames_of; /* images that also go through together, and whether frames are timed; 0: no */
	struct iso_transducers t;
	int64_t all; /* transducers of the whole case */
	struct iso_svoxel p;
	iso_delays *delays;
};

/* The least that a pair of voxel and transducer takes. `roots`: reciprocal square roots; `bytes`: in and out of shared
   memory, of the first level on the CPU; `slots`: instructions of a lane. */
struct oat_cost {
	double roots, bytes, slots;
};

struct oat_cost oat_cost(const struct oat_run *r, bool back);

/* The least time that one way of all pairs takes, and what sets it. */
double oat_least_s(const struct oat_run *r, bool back, const char **limit);

/* Pairs of all images of the batch. */
double oat_pairs(const struct oat_run *r);

/* Images from frames of traces, 50 iterations each: as many together as the batch has. */
int oat_frames(const struct oat_run *r);

#endif
