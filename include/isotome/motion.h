/* SPDX-License-Identifier: BSD-3-Clause */
/* Motion while a scan is measured: rigid poses of the object, the bed and the gantry over time. Lengths are mm, times
   are s; times of events are ms.

   There are three frames: the scanner's (the crystals as its description has them), the bed's, and the object's (the
   image). A pose says where the object is:

	x_scanner = R x_object + T

   Where the bed B(t), the object P(t) and the gantry G(t) move at once, a crystal c of the description is at

	x_lab = G(t) c = B(t) P(t) x_object,     so that     x_object = Z^-1 c     with     Z = G^-1 B P

   docs/motion.md tells more, docs/formats.md says what tables of poses look like.

   Threads: any number of threads may ask one table or one motion. */
#ifndef ISOTOME_MOTION_H
#define ISOTOME_MOTION_H

#include "isotome/context.h"
#include "isotome/events.h"
#include "isotome/grid.h"

ISO_BEGIN_C

/* x' = R x + T as a matrix of 3 rows and 4 columns, row by row; each row is one of R, then one number of T. */
struct iso_pose {
	double m[12];
};

/* R = 1, T = 0 */
struct iso_pose iso_pose_identity(void);
struct iso_pose iso_pose_multiply(struct iso_pose a, struct iso_pose b); /* first b, then a */
struct iso_pose iso_pose_inverse(struct iso_pose a); /* R' = R^t, T' = -R^t T: R is taken to be orthonormal */
void iso_pose_apply(double y[3], const struct iso_pose *p, const double x[3]); /* y = R x + T; y may be x */

/* ---- tables ---- */

typedef struct iso_poses iso_poses; /* a table of poses over time */

/* What holds between the rows of a table. Before the first row its pose holds, after the last row the last. */
enum iso_pose_rule {
	ISO_POSE_OF_FILE, /* what the table says; linear if it says nothing */
	ISO_POSE_LINEAR, /* rotations by slerp, translations along straight lines; an angle of a gantry by itself */
	ISO_POSE_STEP, /* a row holds until the next row begins */
};

/* What moves. Columns of angles are read for a gantry only; ISO_POSES_ANY takes every table. */
enum iso_pose_kind { ISO_POSES_OBJECT, ISO_POSES_BED, ISO_POSES_GANTRY, ISO_POSES_ANY };

/* How to read a table. A struct of zeros with its `size` is a good start. */
struct iso_poses_options {
	size_t size; /* size of this struct */
	enum iso_pose_kind kind;
	enum iso_pose_rule rule;
	bool inverse; /* the rows are P^-1 */
	const struct iso_pose
		*axes; /* C, x_scanner = C x_tracker: each P becomes C P C^-1, after `inverse`; NULL: none */
};

/* Reads a table by its suffix and its first line: Isotome's own .csv, YRT-PET's motion .csv, or .npy of (n, 8), (n, 13)
   or records. What is wrong with a row is ISO_EINPUT with the row, the column and what was there. `options` may be
   NULL. Free the table with iso_poses_free. */
ISO_CHECKED int iso_poses_read(iso_poses **p, const char *path, const struct iso_poses_options *options);

/* The same from memory: n rows of 8 numbers (time, quaternion w x y z, T) or 13 (time, 3 x 4 matrix). A row whose numbers
   behind the time are all NaN means that the pose is not known until the next row. `name` is for messages. */
ISO_CHECKED int iso_poses_create(iso_poses **p, const double *rows, int64_t n, int columns,
                                 const struct iso_poses_options *options, const char *name);

/* The table of an object that goes `turns` times round the axis of the scanner during the scan, on a circle about it, and
   does not turn: at time 0 it is moved by radius_mm along x. */
ISO_CHECKED int iso_poses_orbit(iso_poses **p, double radius_mm, double turns, double duration_s);
void iso_poses_free(iso_poses *p);

/* Number of rows. A table that YRT-PET wrote has one more than its file: the identity at time -INFINITY, which holds
   before the first line. */
int64_t iso_poses_rows(const iso_poses *p);
enum iso_pose_rule iso_poses_rule(const iso_poses *p);  /* never ISO_POSE_OF_FILE */
double iso_poses_time(const iso_poses *p, int64_t row); /* s; 0 if there is no such row */
bool iso_poses_row(struct iso_pose *pose, const iso_poses *p,
                   int64_t row); /* false: not known, or no such row */
bool iso_poses_at(struct iso_pose *pose, const iso_poses *p, double time_s); /* false: not known */

/* What a reader of the table should know, in words: matrices that had to be made orthonormal, translations that may be in m.
   "": nothing. The text lives as long as the table. */
const char *iso_poses_note(const iso_poses *p);

/* How many of n times of events lie more than two of the table's median steps before its first or after its last row. */
int64_t iso_poses_outside(const iso_poses *p, const uint32_t *time_ms, int64_t n);

/* ISO_EINPUT if a table of rule linear with two rows or more ends before `first_s`, when the scan's first event is: the
   clocks differ. */
ISO_CHECKED int iso_poses_reaches(const iso_poses *p, double first_s);

/* Writes a table: Isotome's own .csv, .npy of (n, 8), or, to a name that ends in .yrt.csv, YRT-PET's motion file. A .npy
   file has no place for the rule and for angles; YRT-PET's has none for poses that are not known, and its rule is step.
   `force`: replace an existing file. */
ISO_CHECKED int iso_poses_write(const char *path, const iso_poses *p, bool force);

/* The same with a record beside it: JSON; NULL: none. */
ISO_CHECKED int iso_poses_write_with(const char *path, const iso_poses *p, bool force, const char *sidecar);
ISO_CHECKED int iso_poses_write_check(const char *path, bool force); /* as iso_write_check */

/* ---- all that moves ---- */

typedef struct iso_motion iso_motion;

struct iso_motion_parts {
	size_t size;                           /* size of this struct */
	const iso_poses *poses, *bed, *gantry; /* NULL: does not move; borrowed */
	const struct iso_pose
		*reference; /* the pose R that is to be the identity: P(t) becomes P(t) R^-1; NULL: none */
};

/* Free the motion with iso_motion_free, and before its tables. */
ISO_CHECKED int iso_motion_create(iso_motion **m, const struct iso_motion_parts *parts);
void iso_motion_free(iso_motion *m); /* NULL: nothing to do; the tables stay */

/* Z at a time; false: not known. */
bool iso_motion_at(struct iso_pose *z, const iso_motion *m, double time_s);

/* Moves the ends of n events into the object's frame, by Z^-1 at their times. Ends are moved in double and rounded once.
   If the pose is not known, the ends become NaN, and the event is bad; *unknown says how many. The context's threads
   share the work; any number of them gives the same bits. */
ISO_CHECKED int iso_motion_events(int64_t *unknown, iso_ctx *ctx, const iso_motion *m, struct iso_event *v,
                                  const uint32_t *time_ms, int64_t n);

/* ---- pieces and clusters: a scan as few poses with weights ---- */

struct iso_piece {
	double from_s, to_s; /* a cluster begins with its first piece and ends with its last */
	double weight; /* integral of exp(-kt) Live over the piece's time, divided by the length of the span */
	struct iso_pose z;
};

struct iso_motion_span {
	size_t size; /* size of this struct */
	double from_s, to_s;
	double half_life_s; /* 0: no decay */
	double live;        /* share of the time in which the scanner can count: 1 if it always can */
};

/* Parts of the span in which no corner of the grid's box moves by more than `way_mm`, in the order of time. Time at which
   the pose is not known has no piece. Free the pieces with free(). */
ISO_CHECKED int iso_motion_pieces(struct iso_piece **piece, int64_t *n, const iso_motion *m,
                                  const struct iso_motion_span *span, const struct iso_grid *grid,
                                  double way_mm);

/* Joins pieces into clusters: each piece joins the first cluster whose first piece is within `radius_mm`, else it begins
   a cluster. The pose of a cluster is the weighted mean of those of its pieces. cluster_of[i]: number of the cluster of
   piece i; NULL: not wanted. Free the clusters with free(). */
ISO_CHECKED int iso_motion_clusters(struct iso_piece **cluster, int64_t *n_clusters, int64_t *cluster_of,
                                    const struct iso_piece *piece, int64_t n, const struct iso_grid *grid,
                                    double radius_mm);

/* The largest distance of a corner of the grid's box (outer faces) between two poses. */
double iso_motion_way(const struct iso_pose *a, const struct iso_pose *b, const struct iso_grid *grid);

/* The mean of a table's poses from `from_s` to `to_s`, weighted by the time at which they are known, from pieces of
   `way_mm` of the grid's box. */
ISO_CHECKED int iso_poses_mean(struct iso_pose *mean, const iso_poses *p, double from_s, double to_s,
                               const struct iso_grid *grid, double way_mm);

/* The pose that a text chooses as reference: a time in s, "mean" (of the times from `from_s` to `to_s`), or a file, a table
   of one row, which is read with `options` as the table itself was. */
ISO_CHECKED int iso_poses_reference(struct iso_pose *reference, const iso_poses *p, const char *text,
                                    const struct iso_poses_options *options, double from_s, double to_s,
                                    const struct iso_grid *grid, double way_mm);

ISO_END_C
#endif
