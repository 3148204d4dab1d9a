/* SPDX-License-Identifier: BSD-3-Clause */
/* One history of a simulation: a decay, or two strangers' photons, and whether a pair of crystals
   sees it. */
#ifndef ISO_HISTORY_H
#define ISO_HISTORY_H

#include "emission.h"
#include "scanner/scanner.h"
#include "woodcock.h"

enum iso_history_kind { HISTORY_TRUE, HISTORY_SCATTER, HISTORY_RANDOM, HISTORY_DELAYED, HISTORY_KINDS };

/* Bits of a draw's number above these are free for other uses of the same history. */
#define HISTORY_SHIFT 32

/* What histories draw from; read only. */
struct iso_histories {
	const iso_scanner *scanner;
	const iso_real *eff;                 /* per crystal; NULL: 1 */
	double most_eff;                     /* the largest one */
	struct iso_emission trues, scatters; /* made if there are any */
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

/* History number `history` of a kind; false if it gives no event. */
bool iso_history_run(struct iso_hit *hit, const struct iso_histories *h, enum iso_history_kind kind,
                     uint64_t history);

#endif
