/* SPDX-License-Identifier: BSD-3-Clause */
/* All that moves, asked row by row. */
#ifndef ISO_MOTION_H
#define ISO_MOTION_H

#include "poses.h"

enum { MOVES_OBJECT, MOVES_BED, MOVES_GANTRY, MOVES };

struct iso_motion {
	const iso_poses *table[MOVES]; /* NULL: does not move */
	bool has_reference;
	struct iso_pose back; /* R^-1 of the reference R */
};

/* Where each table is. All zero: at its first row. */
struct motion_rows {
	int64_t k[MOVES];
};

/* The rows that hold at a time; those that are there are tried first. */
void motion_rows_find(struct motion_rows *r, const iso_motion *m, double time_s);

/* Z by these rows at a time within them, both edges included; false: not known. */
bool motion_within(struct iso_pose *z, const iso_motion *m, const struct motion_rows *r, double time_s);

/* Z but for the turn of a gantry that is given by its angle, and that angle in degrees. */
bool motion_without_turn(struct iso_pose *z, double *degrees, const iso_motion *m,
                         const struct motion_rows *r, double time_s);

/* When the next row of a table begins after this time, at which these rows hold; INFINITY: never. */
double motion_rows_end(const iso_motion *m, const struct motion_rows *r, double time_s);

/* The corners of a grid's box, by its outer faces. */
void motion_corners(double corner[8][3], const struct iso_grid *grid);

/* The polar part of the weighted mean of the rotations, and the mean of the translations. */
struct iso_pose motion_mean(const struct iso_piece *piece, const int64_t *which, int64_t n);

#endif
