/* SPDX-License-Identifier: BSD-3-Clause */
/* The times of a scan: a window or frames, decay and dead time. */
#ifndef ISO_FRAMES_H
#define ISO_FRAMES_H

#include "model.h"

enum { FRAMES_MOST = 100000 };

/* Zero, but for `to_s`, which is INFINITY. */
struct frames {
	/* options */
	double from_s, to_s, half_life_option_s;
	const char *list, *live_list, *isotope;
	struct opt opts[8];
	/* what they say */
	bool series; /* 'frames': a 4-D image */
	bool all;    /* no time is asked for: every event counts */
	int n;
	double *edge_s;     /* n + 1 */
	double *live;       /* n */
	double half_life_s; /* 0: no decay */
	double duration_s;  /* of the scan; 0: not known */
};

struct opt_set frames_params(struct frames *f);

/* After parsing; before the data are read. frames_free frees what it made, also where it failed. */
int frames_check(const iso_problem *problem, struct frames *f);
void frames_free(struct frames *f);

/* Once the data have said how long the scan took (0: they have not). */
int frames_settle(struct frames *f, double duration_s);

/* Frame k, from edge_s[k] on, as far as the scan went. */
double frames_end_s(const struct frames *f, int k);

/* Frames that reach beyond the end of the scan. */
void frames_warn(iso_problem *problem, const struct frames *f);

struct model_frame frames_get(const struct frames *f, int k);

#endif
