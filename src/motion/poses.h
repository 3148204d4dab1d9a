/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of poses in memory, and how the readers of its formats fill it: column by column named, row by row checked. */
#ifndef ISO_POSES_H
#define ISO_POSES_H

#include "pose.h"
#include "base/fail.h"
#include "file/out.h"

struct iso_poses {
	int64_t n, room;
	double *time;     /* s, rising; -INFINITY: YRT-PET's identity before its first row */
	struct turn *row; /* q[0] is NaN: not known */
	double *angle;    /* degrees about z, which stand for the quaternions; NULL: none */
	enum iso_pose_rule rule;
	char *name;  /* of the file, for messages */
	double step; /* median time between rows, s; INFINITY: there is one row */
	char note[240];
};

/* ---- asking by row ---- */

/* The row that holds at a time: the last that does not begin after it, the first before all. `near`: a row that may be
   right, tried first, so that times in order cost no search. */
int64_t poses_row_at(const iso_poses *p, double time_s, int64_t near);

/* The pose that row k and its successor give for a time within them, both edges included. False: not known. */
bool poses_within(struct iso_pose *pose, const iso_poses *p, int64_t k, double time_s);

/* The same without the turn of a gantry whose angle is given, and that angle in degrees, 0 for all other tables. */
bool poses_without_turn(struct iso_pose *pose, double *degrees, const iso_poses *p, int64_t k, double time_s);

/* When the next row begins after a time at which row k holds: of the first row, which holds before it begins, this is its own
   beginning. INFINITY: never. */
double poses_row_end(const iso_poses *p, int64_t k, double time_s);

/* ---- making a table ---- */

enum poses_column {
	POSES_TIME,
	POSES_QW,
	POSES_QX,
	POSES_QY,
	POSES_QZ,
	POSES_R00,
	POSES_R01,
	POSES_R02,
	POSES_R10,
	POSES_R11,
	POSES_R12,
	POSES_R20,
	POSES_R21,
	POSES_R22,
	POSES_X,
	POSES_Y,
	POSES_Z,
	POSES_ANGLE,
	POSES_COLUMNS
};

enum { POSES_COLUMNS_MOST = 32 }; /* that a line of a table is split into */

extern const char *const poses_names[POSES_COLUMNS];

/* The column of that name, in any case of letters; POSES_COLUMNS: there is none. */
enum poses_column poses_column_of(const char *name, size_t length);

struct poses_make {
	iso_poses *p;
	struct iso_poses_options o;
	struct iso_pose axes;  /* the copy that o.axes points to */
	const char *name;      /* of the file */
	const char *unit;      /* what numbers of rows count, "line" */
	int at[POSES_COLUMNS]; /* where the file has each column, from 0; -1: nowhere */
	double longest;        /* largest translation along an axis, mm */
	double change;         /* largest of an element of R when matrices were made orthonormal */
};

/* Takes the options, and begins with no columns and no rows. Free with poses_make_free, whatever it returns. */
int poses_make_begin(struct poses_make *m, const struct iso_poses_options *o, const char *name,
                     const char *unit);

/* After `at` is filled: whether the columns make poses. */
int poses_make_columns(struct poses_make *m);

/* ISO_EINPUT "FILE: line 7, column 2 (qw): ..." */
int poses_make_fail(const struct poses_make *m, int64_t number, enum poses_column c, const char *fmt, ...)
	ISO_PRINTF(4, 5);

/* Checks row `number` and adds it. v: the columns in the order of the enum; those that the file lacks are not read. */
int poses_make_row(struct poses_make *m, int64_t number, const double v[POSES_COLUMNS]);

/* The identity at -INFINITY, before any row. */
int poses_make_before(struct poses_make *m);

/* The table; `rule` is what the file says, or ISO_POSE_OF_FILE. */
int poses_make_end(iso_poses **p, struct poses_make *m, enum iso_pose_rule rule);
void poses_make_free(struct poses_make *m);

/* The columns of rows of 8 or 13 numbers; NULL for others. */
const enum poses_column *poses_columns_of(int columns);

/* ---- formats ---- */

/* Writes all of a table, which then waits to be closed and put in its place; after a failure nothing is open. */
int poses_write_open(struct iso_out *out, const char *path, const iso_poses *p, bool force);

/* Whether a text that begins with these n bytes is a table of poses. */
bool iso_poses_begins(const uint8_t *head, int64_t n);

int poses_text_read(struct poses_make *m, enum iso_pose_rule *rule, const char *path);
int poses_npy_read(struct poses_make *m, const char *path);

#endif
