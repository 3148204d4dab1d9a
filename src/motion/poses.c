/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of poses in memory: asked by row and by time, made from arrays, freed. */
#include "poses.h"
#include "core/sized.h"

#include <math.h>
#include <stdlib.h>

void iso_poses_free(iso_poses *p)
{
	if (!p) return;
	free(p->time);
	free(p->row);
	free(p->angle);
	free(p->name);
	free(p);
}

int64_t iso_poses_rows(const iso_poses *p)
{
	return p ? p->n : 0;
}

enum iso_pose_rule iso_poses_rule(const iso_poses *p)
{
	return p ? p->rule : ISO_POSE_OF_FILE;
}

double iso_poses_time(const iso_poses *p, int64_t row)
{
	return p && row >= 0 && row < p->n ? p->time[row] : 0;
}

static bool known(const iso_poses *p, int64_t k)
{
	return !isnan(p->row[k].q[0]);
}

double poses_row_end(const iso_poses *p, int64_t k, double time_s)
{
	if (time_s < p->time[k]) return p->time[k];
	return k + 1 < p->n ? p->time[k + 1] : INFINITY;
}

static bool holds(const iso_poses *p, int64_t k, double time_s)
{
	return (k == 0 || p->time[k] <= time_s) && (k + 1 == p->n || time_s < p->time[k + 1]);
}

int64_t poses_row_at(const iso_poses *p, double time_s, int64_t near)
{
	int64_t low = 0,
		high = p->n; /* time[low] <= time_s < time[high], where these are rows but the first */

	for (int64_t k = near; k < near + 2 && k < p->n; k++)
		if (holds(p, k, time_s)) return k;
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (p->time[middle] <= time_s)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* How far a time is from row k to the next; 0 where row k holds as it is: by rule step, before the first row and after the
   last, and where the next is not known. */
static double share(const iso_poses *p, int64_t k, double time_s)
{
	if (p->rule == ISO_POSE_STEP || k + 1 >= p->n || !known(p, k + 1)) return 0;
	if (!(time_s > p->time[k]) || isinf(p->time[k])) return 0;
	return (time_s - p->time[k]) / (p->time[k + 1] - p->time[k]);
}

bool poses_without_turn(struct iso_pose *pose, double *degrees, const iso_poses *p, int64_t k, double time_s)
{
	struct turn between;
	double s = share(p, k, time_s);

	*degrees = 0;
	if (!known(p, k)) return false;
	if (p->angle) *degrees = s > 0 ? p->angle[k] + s * (p->angle[k + 1] - p->angle[k]) : p->angle[k];
	if (s > 0) between = pose_between(&p->row[k], &p->row[k + 1], s);
	*pose = pose_of_turn(s > 0 ? &between : &p->row[k]);
	return true;
}

bool poses_within(struct iso_pose *pose, const iso_poses *p, int64_t k, double time_s)
{
	double degrees;

	if (!poses_without_turn(pose, &degrees, p, k, time_s)) return false;
	if (p->angle) *pose = pose_about_z(degrees, (const double[]){ pose->m[3], pose->m[7], pose->m[11] });
	return true;
}

bool iso_poses_row(struct iso_pose *pose, const iso_poses *p, int64_t row)
{
	return pose && p && row >= 0 && row < p->n && poses_within(pose, p, row, p->time[row]);
}

bool iso_poses_at(struct iso_pose *pose, const iso_poses *p, double time_s)
{
	if (!pose || !p || isnan(time_s)) return false;
	return poses_within(pose, p, poses_row_at(p, time_s, 0), time_s);
}

/* ---- from memory ---- */

/* Columns of a row of 8 or 13 numbers. */
static const enum poses_column of8[] = { POSES_TIME, POSES_QW, POSES_QX, POSES_QY,
	                                 POSES_QZ,   POSES_X,  POSES_Y,  POSES_Z };
static const enum poses_column of13[] = { POSES_TIME, POSES_R00, POSES_R01, POSES_R02, POSES_X,
	                                  POSES_R10,  POSES_R11, POSES_R12, POSES_Y,   POSES_R20,
	                                  POSES_R21,  POSES_R22, POSES_Z };

const enum poses_column *poses_columns_of(int columns)
{
	return columns == 8 ? of8 : columns == 13 ? of13 : NULL;
}

static int add_rows(struct poses_make *m, const double *rows, int64_t n, int columns)
{
	const enum poses_column *is = poses_columns_of(columns);
	double v[POSES_COLUMNS];
	int st;

	for (int k = 0; k < columns; k++) m->at[is[k]] = k;
	if ((st = poses_make_columns(m))) return st;
	for (int64_t i = 0; i < n && !st; i++) {
		for (int k = 0; k < columns; k++) v[is[k]] = rows[i * columns + k];
		st = poses_make_row(m, i, v);
	}
	return st;
}

int iso_poses_create(iso_poses **p, const double *rows, int64_t n, int columns,
                     const struct iso_poses_options *options, const char *name)
{
	struct poses_make m = { 0 };
	int st;

	if (!p || !rows) return iso_fail_null("poses");
	if (!poses_columns_of(columns))
		return iso_fail(ISO_EARG, "poses: rows of %d numbers, must be 8 or 13", columns);
	if (n < 1) return iso_fail(ISO_EARG, "poses: n is %" PRId64 ", must be at least 1", n);
	if (!(st = poses_make_begin(&m, options, name ? name : "poses", "row")) &&
	    !(st = add_rows(&m, rows, n, columns)))
		st = poses_make_end(p, &m, ISO_POSE_OF_FILE);
	poses_make_free(&m);
	return st;
}
