/* SPDX-License-Identifier: BSD-3-Clause */
/* Rotations as unit quaternions (w, x, y, z), Hamilton's, and as matrices; poses between two poses. */
#ifndef ISO_POSE_H
#define ISO_POSE_H

#include "isotome/motion.h"

/* A pose as tables keep it: R of the quaternion, then T. */
struct turn {
	double q[4], t[3];
};

struct iso_pose pose_of_turn(const struct turn *a);
struct iso_pose pose_about_z(double degrees, const double t[3]); /* exact for multiples of 90 degrees */

/* The quaternion, w >= 0, of the rotation R that is nearest to the 3 x 3 part of m in the sum of squares: of the polar part
   where its determinant is positive. */
void pose_nearest(double q[4], const struct iso_pose *m);

/* m with its rotation made orthonormal. */
struct iso_pose pose_orthonormal(const struct iso_pose *m);

/* From a (s = 0) to b (s = 1): slerp over the shorter arc, and a straight line. */
struct turn pose_between(const struct turn *a, const struct turn *b, double s);

/* Largest element of |R^t R - 1|, and the determinant of R. */
double pose_skew(const struct iso_pose *m);
double pose_determinant(const struct iso_pose *m);

#endif
