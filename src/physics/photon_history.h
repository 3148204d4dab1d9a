/* SPDX-License-Identifier: BSD-3-Clause */
/* One history of a simulation: a decay, or two strangers' photons; whether they cross the object, and
   whether a pair of crystals sees them. */
#ifndef ISO_HISTORY_H
#define ISO_HISTORY_H

#include "emission.h"
#include "scanner/scanner.h"

/* ---- when events happen, while the activity decays ---- */

/* A rate exp(-lambda t) over 0 <= t <= duration; lambda 0: constant. Units are the caller's. */
struct scan_rate {
	double lambda, duration;
};

/* Share of the events before t, and the time before which a share u comes. */
double iso_scan_share(const struct scan_rate *r, double t);
double iso_scan_when(const struct scan_rate *r, double u);

/* n times between `from` and `to`, in order, as many independent ones would be. */
void iso_scan_times(double *t, int64_t n, const struct scan_rate *r, double from, double to, uint64_t seed,
                    uint64_t history, uint64_t draw);

/* mean of rate^2 / (mean rate)^2 over the scan: randoms over those of a constant rate. */
double iso_scan_pile_up(const struct scan_rate *r);

/* ---- whether a photon crosses an attenuating object ---- */

struct iso_woodcock {
	const iso_real *mu; /* 1/mm; borrowed. NULL: nothing attenuates */
	int64_t n[3];
	double voxel[3], low[3]; /* size and low corner of the grid, mm */
	double box[3][2];        /* mm: around the voxels that are not 0 */
	double path;             /* mean free path in the densest voxel, mm */
};

/* mu NULL: nothing attenuates. ISO_EINPUT if a value is negative or not finite. */
int iso_woodcock_create(struct iso_woodcock *w, const struct iso_array *mu);

/* A photon from `from` along the unit vector `dir`. Takes draws `draw`, draw + 1, ... of the history. */
bool iso_woodcock_passes(const struct iso_woodcock *w, const double from[3], const double dir[3],
                         uint64_t seed, uint64_t history, uint64_t draw);

/* ---- histories ---- */

enum iso_history_kind { HISTORY_TRUE, HISTORY_SCATTER, HISTORY_RANDOM, HISTORY_DELAYED, HISTORY_KINDS };

/* Bits of a draw's number above these are free for other uses of the same history. */
#define HISTORY_SHIFT 32

/* What histories draw from; read only. */
struct iso_histories {
	const iso_scanner *scanner;
	const iso_real *eff;             /* per crystal; NULL: 1 */
	double most_eff;                 /* the largest one */
	struct iso_emission emission[2]; /* of trues and scatters, made if there are any */
	struct iso_woodcock mu;
	double half;      /* of the ring's axial length, mm */
	double sigma_ps;  /* 0: no times */
	double window_ps; /* randoms: |dt| <= window */
	uint64_t seed;
};

struct iso_hit {
	uint32_t crystal[2];
	float dt_ps;
};

/* The first draw of history number `history` of a kind, to be made some histories before that one runs. */
struct philox iso_history_begin(const struct iso_histories *h, enum iso_history_kind kind, uint64_t history);

/* The history that begins with `place`; false if it gives no event. */
bool iso_history_run(struct iso_hit *hit, const struct iso_histories *h, enum iso_history_kind kind,
                     uint64_t history, struct philox place);

#endif
