/* SPDX-License-Identifier: BSD-3-Clause */
/* What the figures after NEMA are made of: the standards' numbers, and a description of runs. */
#ifndef ISO_NEMA_READ_H
#define ISO_NEMA_READ_H

#include "nema_mouse.h"
#include "text/conf.h"

#include <limits.h>

enum { NEMA_RUNS = 128, NEMA_LIST = 8 };

struct nema_phantom {
	char name[32];
	double diameter_mm, offset_mm, volume_ml, cut_mm, strip_mm; /* strip: half of it */
};

enum { NEMA_PHANTOMS = 4 };

struct nema_standard {
	struct nema_phantom phantom[NEMA_PHANTOMS];
	double length_mm, tof_kbq_per_ml, tof_reach_mm, tof_strip_mm;
	int n_radii[2];
	double radii_mm[2][NEMA_LIST]; /* NU 2, NU 4 */
	double window_fwhm, least_samples[2];
	int64_t least_events;
	double disc_mm, axial_share, accuracy_length_mm;
	int64_t lowest;
	double uniform_mm[2], rods_length_mm, cold_mm[2];
	double point_window_mm, point_branching, point_lengths_mm[NEMA_LIST];
	int n_point_lengths;
};

/* path NULL: the numbers that the library carries, examples/nema/standards.yaml. */
int iso_nema_standard_read(struct nema_standard *s, const char *path);

/* An acquisition; times in s on the clock of `start`. */
struct nema_run {
	char events[PATH_MAX], delayed[PATH_MAX], image[PATH_MAX], truth[PATH_MAX]; /* "": not said */
	bool no_delayed;
	double start_s, duration_s;
	double wall_mm, offset_mm; /* a line in sleeves */
	double z_mm;               /* a point */
	bool timed;                /* events from_s <= t < to_s of the file alone */
	double from_s, to_s;
};

struct nema_series {
	char scanner[PATH_MAX]; /* "": that of the first run's file */
	char isotope[32];
	double half_life_s, activity_mbq, activity_at_s;
	struct nema_phantom phantom;
	bool low[NEMA_RUNS];
	int n_low, n;
	struct nema_run *run;
	bool point;            /* the runs are steps of a point, not sleeves of a line */
	struct nema_run empty; /* without any source */
};

enum nema_of { NEMA_OF_SENSITIVITY, NEMA_OF_COUNTING, NEMA_OF_ACCURACY };

int iso_nema_series_read(struct nema_series *s, const char *path, enum nema_of of,
                         const struct nema_standard *standard);
void iso_nema_series_free(struct nema_series *s);

/* Mean activity of a run, MBq. */
double iso_nema_activity(const struct nema_series *s, const struct nema_run *r);

/* Places of the NU 4 phantom. */
int iso_nema_mouse_read(struct nema_mouse *q, const char *path, const struct nema_standard *standard);

#endif
