/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report shows of a scan with 'scatter': prompts, and beside them the trues that the image explains, scatter and
   randoms, by radial offset s, azimuth phi and axial place z of the lines. The histograms are ray_seen.c, what is expected
   on lines is ray_expected.c. Sums are integers: the same bits for any number of threads and ranks. */
#ifndef ISO_RAY_SEEN_H
#define ISO_RAY_SEEN_H

#include "ray_scatter.h"

#include "core/loop/fixed.h"

enum {
	SEEN_S = 80,   /* bins of s from -s_mm to s_mm, */
	SEEN_PHI = 48, /* of phi from 0 to pi, */
	SEEN_Z = 96,   /* of z over the scanner's length, at most */
	SEEN_PANEL = SEEN_S * SEEN_PHI,
	SEEN_BINS = SEEN_PANEL + SEEN_Z, /* (phi, s), then z */
	SEEN_FRAMES = 32,                /* of a series that have profiles, at most, about */
};

enum seen_kind {
	SEEN_PROMPTS,
	SEEN_LINES, /* lines there are: of all crystal pairs, or of a sample larger than that of the values */
	SEEN_DRAWN, /* lines that the three below are from */
	SEEN_TRUES,
	SEEN_SCATTER,
	SEEN_RANDOMS,
	SEEN_KINDS,
};

struct ray_seen {
	double s_mm, z_mm[2];    /* of the bins */
	int64_t nz;              /* of z */
	double counts;           /* of the frame */
	struct iso_fixed sum;    /* SEEN_KINDS times SEEN_BINS */
	double unit[SEEN_KINDS]; /* of one count or line, in steps of the integers */
	double times;            /* lines that each of SEEN_LINES stands for */
	int64_t drawn;           /* lines that the values are from */
	bool randoms;            /* these are known over all lines, or there are none */
};

/* ---- ray_seen.c ---- */

/* Empty histograms for the frame whose data are prepared, in place of those before; NULL where frame k has none. */
int ray_seen_begin(struct ray_problem *ray, int64_t k);
void ray_seen_free(struct ray_seen *t);

/* Adds v of each event, in counts or lines; bad events are left out. */
void ray_seen_add(struct ray_seen *t, const iso_ctx *ctx, enum seen_kind kind, const struct iso_events *e,
                  const iso_real *v); /* NULL: 1 each */
void ray_seen_prompts(struct ray_problem *ray, const struct ray_some *some);

/* ---- ray_expected.c ---- */

/* See `seen` of struct model: adds "seen" to what is told of the frame's scatter. */
int ray_seen(iso_problem *problem, const struct iso_array *image);
void ray_seen_plan(struct ray_problem *ray, struct iso_plan *plan);

#endif
