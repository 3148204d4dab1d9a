/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of GATE's coincidences in files that name them: of GATE 9, in ROOT trees, and of GATE 10, in trees and tables. */
#ifndef ISO_GATE_COLUMNS_H
#define ISO_GATE_COLUMNS_H

#include "events.h"

#include <math.h>

enum gate_column {
	GATE_X1,
	GATE_Y1,
	GATE_Z1,
	GATE_X2,
	GATE_Y2,
	GATE_Z2, /* mm */
	GATE_T1,
	GATE_T2, /* since the start: may both be absent */
	/* for trues_only */
	GATE_EVENT1,
	GATE_EVENT2, /* numbers of the decays */
	GATE_COMPTON1,
	GATE_COMPTON2,
	GATE_RAYLEIGH1,
	GATE_RAYLEIGH2, /* counts, in the phantom */
	GATE_COLUMNS,
	GATE_ENDS = GATE_T1,     /* columns before are ends, */
	GATE_READ = GATE_EVENT1, /* before these all that an event needs */
};

struct gate_columns {
	double ps, ms;                    /* in a unit of the file's times */
	const void *column[GATE_COLUMNS]; /* as `find` gave them; NULL: not there, or not needed */
};

/* All that is needed, by the names of GATE 9, or of 10. `where` are they looked for: "tree Coincidences". */
int gate_columns_find(struct gate_columns *g, const char *path, const char *where, bool trues_only,
                      const void *(*find)(const void *arg, const char *name), const void *arg);

/* Times of an event that are negative, beyond 49 days or not finite make it a bad one. */
static inline void gate_times(struct iso_event *v, uint32_t *time_ms, const struct gate_columns *g, double t1,
                              double t2)
{
	double ms = t1 * g->ms;
	bool good = ms >= 0 && ms < 4294967296.;

	v->dt_ps = good ? (float)((t1 - t2) * g->ps) : NAN;
	*time_ms = good ? (uint32_t)ms : 0;
}

#endif
