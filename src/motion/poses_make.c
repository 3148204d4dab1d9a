/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of poses from rows of named columns: every row is checked, inverted, turned into the scanner's axes, and kept. */
#include "poses.h"
#include "core/sized.h"
#include "file/suffix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUATERNION_LEAST 1e-3 /* length */
#define SKEW_MOST 1e-3        /* |R^t R - 1| */
#define FAR_MM 1e4            /* translations beyond 10 m are errors of units */
#define NEAR_MM .01           /* translations that are all below 0.01 mm are likely to be in m */
#define ANGLE_MOST 1e5        /* degrees */
#define CHANGE_TOLD 1e-7      /* of elements of R; files of 9 decimals stay below */

const char *const poses_names[POSES_COLUMNS] = { "time_s", "qw",  "qx",   "qy",   "qz",   "r00",
	                                         "r01",    "r02", "r10",  "r11",  "r12",  "r20",
	                                         "r21",    "r22", "x_mm", "y_mm", "z_mm", "angle_deg" };

enum poses_column poses_column_of(const char *name, size_t length)
{
	int c = 0;

	while (c < POSES_COLUMNS &&
	       !(strlen(poses_names[c]) == length && iso_same_letters(name, poses_names[c], length)))
		c++;
	return (enum poses_column)c;
}

int poses_make_begin(struct poses_make *m, const struct iso_poses_options *o, const char *name,
                     const char *unit)
{
	int st = ISO_OK;

	*m = (struct poses_make){ .name = name, .unit = unit };
	for (int c = 0; c < POSES_COLUMNS; c++) m->at[c] = -1;
	if (o && (st = iso_sized_take(&m->o, "iso_poses_options", sizeof m->o, o))) return st;
	if ((unsigned)m->o.kind > ISO_POSES_ANY || (unsigned)m->o.rule > ISO_POSE_STEP)
		return iso_fail(ISO_EARG,
		                "%s: kind %d and rule %d, there are kinds 0 to %d and rules 0 to %d", name,
		                (int)m->o.kind, (int)m->o.rule, ISO_POSES_ANY, ISO_POSE_STEP);
	if (m->o.axes) {
		m->axes = *m->o.axes;
		m->o.axes = &m->axes;
		if (!(pose_skew(&m->axes) <= SKEW_MOST) || pose_determinant(&m->axes) < 0)
			return iso_fail(ISO_EARG,
			                "%s: the axes of the tracker are no rotation: |R^t R - 1| is %.3g, "
			                "the determinant %.3g",
			                name, pose_skew(&m->axes), pose_determinant(&m->axes));
		m->axes = pose_orthonormal(&m->axes);
	}
	m->p = calloc(1, sizeof *m->p);
	if (!m->p || !(m->p->name = strdup(name))) return iso_fail_memory("poses", sizeof *m->p);
	return ISO_OK;
}

void poses_make_free(struct poses_make *m)
{
	iso_poses_free(m->p);
	m->p = NULL;
}

int poses_make_fail(const struct poses_make *m, int64_t number, enum poses_column c, const char *fmt, ...)
{
	char why[200];
	va_list ap;

	va_start(ap, fmt);
	iso_vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return iso_refuse(m->name, "%s %" PRId64 ", column %d (%s): %s", m->unit, number, m->at[c] + 1,
	                  poses_names[c], why);
}

/* ---- columns ---- */

/* Whether the file has all columns from `first` to `last`. Some alone are refused. */
static int group(bool *has, const struct poses_make *m, enum poses_column first, enum poses_column last)
{
	int n = 0, missing = first;

	for (int c = first; c <= (int)last; c++) {
		n += m->at[c] >= 0;
		if (m->at[c] < 0) missing = c;
	}
	*has = n > 0;
	if (n == 0 || n == (int)last - (int)first + 1) return ISO_OK;
	return iso_refuse(m->name, "column %s is missing: %s to %s go together", poses_names[missing],
	                  poses_names[first], poses_names[last]);
}

int poses_make_columns(struct poses_make *m)
{
	bool angle = m->at[POSES_ANGLE] >= 0, q = false, r = false;
	int st;

	if (m->at[POSES_TIME] < 0) return iso_refuse(m->name, "column time_s is missing");
	if ((st = group(&q, m, POSES_QW, POSES_QZ)) || (st = group(&r, m, POSES_R00, POSES_R22))) return st;
	if (q + r + angle > 1)
		return iso_refuse(m->name, "a rotation is given twice: by %s and by %s",
		                  q ? "qw to qz" : "r00 to r22", angle ? "angle_deg" : "r00 to r22");
	if (q + r + angle == 0 && m->at[POSES_X] < 0 && m->at[POSES_Y] < 0 && m->at[POSES_Z] < 0)
		return iso_refuse(
			m->name, "has times and no poses: columns are time_s, qw, qx, qy, qz (or r00 to r22, "
				 "or angle_deg), x_mm, y_mm, z_mm");
	if (angle && m->o.kind != ISO_POSES_GANTRY && m->o.kind != ISO_POSES_ANY)
		return iso_refuse(m->name, "column angle_deg turns a gantry; %s takes no angle",
		                  m->o.kind == ISO_POSES_BED ? "a bed" : "an object");
	if (angle && m->o.axes)
		return iso_refuse(m->name, "column angle_deg turns about the scanner's z: no other axes");
	return ISO_OK;
}

/* ---- rows ---- */

static int check_time(const struct poses_make *m, int64_t number, double time)
{
	const iso_poses *p = m->p;

	if (!isfinite(time)) return poses_make_fail(m, number, POSES_TIME, "the time is not finite");
	if (p->n > 0 && !(time > p->time[p->n - 1]))
		return poses_make_fail(m, number, POSES_TIME,
		                       "%.10g s does not come after %.10g s: times must rise", time,
		                       p->time[p->n - 1]);
	return ISO_OK;
}

/* *unknown: all but the time are NaN. */
static int check_finite(bool *unknown, const struct poses_make *m, int64_t number, const double *v)
{
	int n = 0, nan = 0, bad = POSES_COLUMNS;

	for (int c = POSES_QW; c < POSES_COLUMNS; c++) {
		if (m->at[c] < 0) continue;
		n++;
		nan += isnan(v[c]);
		if (!isfinite(v[c]) && bad == POSES_COLUMNS) bad = c;
	}
	*unknown = nan == n;
	if (*unknown || bad == POSES_COLUMNS) return ISO_OK;
	return poses_make_fail(m, number, (enum poses_column)bad,
	                       "%s, must be finite (a whole row of nan: not known)",
	                       isnan(v[bad]) ? "nan" : "infinite");
}

static int take_quaternion(struct turn *a, const struct poses_make *m, int64_t number, const double *v)
{
	const double *q = v + POSES_QW;
	double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);

	if (!(length >= QUATERNION_LEAST && isfinite(length)))
		return poses_make_fail(m, number, POSES_QW,
		                       "a quaternion of length %.3g, must be at least %g", length,
		                       QUATERNION_LEAST);
	for (int i = 0; i < 4; i++) a->q[i] = q[i] / length;
	return ISO_OK;
}

static int take_matrix(struct turn *a, struct poses_make *m, int64_t number, const double *v)
{
	struct iso_pose r = { { 0 } }, good;

	for (int i = 0; i < 9; i++) r.m[4 * (i / 3) + i % 3] = v[POSES_R00 + i];
	if (pose_determinant(&r) < 0)
		return poses_make_fail(m, number, POSES_R00,
		                       "the determinant is %.3g: a reflection, must be a rotation",
		                       pose_determinant(&r));
	if (!(pose_skew(&r) <= SKEW_MOST))
		return poses_make_fail(m, number, POSES_R00,
		                       "no rotation: |R^t R - 1| is %.3g, at most %g is taken", pose_skew(&r),
		                       SKEW_MOST);
	pose_nearest(a->q, &r);
	good = pose_of_turn(a);
	for (int i = 0; i < 12; i++)
		if (i % 4 < 3) m->change = fmax(m->change, fabs(good.m[i] - r.m[i]));
	return ISO_OK;
}

static int take_translation(struct turn *a, struct poses_make *m, int64_t number, const double *v)
{
	for (int i = 0; i < 3; i++) {
		if (m->at[POSES_X + i] < 0) continue;
		a->t[i] = v[POSES_X + i];
		if (!(fabs(a->t[i]) <= FAR_MM))
			return poses_make_fail(m, number, (enum poses_column)(POSES_X + i),
			                       "%.6g mm, beyond 10 m: lengths are mm", a->t[i]);
		m->longest = fmax(m->longest, fabs(a->t[i]));
	}
	return ISO_OK;
}

/* First inverted, then turned: P becomes C P^-1 C^-1. */
static void turn_row(struct turn *a, double *angle, const struct poses_make *m)
{
	struct iso_pose p = m->at[POSES_ANGLE] >= 0 ? pose_about_z(*angle, a->t) : pose_of_turn(a);

	if (!m->o.inverse && !m->o.axes) return;
	if (m->o.inverse) {
		p = iso_pose_inverse(p);
		*angle = 0 - *angle;
		for (int i = 1; i < 4; i++) a->q[i] = 0 - a->q[i];
	}
	if (m->o.axes) {
		p = iso_pose_multiply(iso_pose_multiply(m->axes, p), iso_pose_inverse(m->axes));
		pose_nearest(a->q, &p);
	}
	for (int i = 0; i < 3; i++) a->t[i] = p.m[4 * i + 3];
}

static bool grow(void **v, int64_t room, size_t item)
{
	void *w = realloc(*v, (size_t)room * item);

	if (w) *v = w;
	return w;
}

static int append(const struct poses_make *m, double time, const struct turn *a, double angle)
{
	iso_poses *p = m->p;

	if (p->n == p->room) {
		int64_t room = p->room < 64 ? 64 : p->room + p->room / 2;

		if (!grow((void **)&p->time, room, sizeof *p->time) ||
		    !grow((void **)&p->row, room, sizeof *p->row) ||
		    (m->at[POSES_ANGLE] >= 0 && !grow((void **)&p->angle, room, sizeof *p->angle)))
			return iso_fail_memory(m->name, room * (int64_t)sizeof *p->row);
		p->room = room;
	}
	p->time[p->n] = time;
	p->row[p->n] = *a;
	if (p->angle) p->angle[p->n] = angle;
	p->n++;
	return ISO_OK;
}

int poses_make_before(struct poses_make *m)
{
	return append(m, -INFINITY, &(struct turn){ .q = { 1 } }, 0);
}

int poses_make_row(struct poses_make *m, int64_t number, const double v[POSES_COLUMNS])
{
	struct turn a = { .q = { 1 } };
	double angle = m->at[POSES_ANGLE] >= 0 ? v[POSES_ANGLE] : 0;
	bool unknown = false;
	int st;

	if ((st = check_time(m, number, v[POSES_TIME])) || (st = check_finite(&unknown, m, number, v)))
		return st;
	if (unknown)
		return append(m, v[POSES_TIME], &(struct turn){ { NAN, NAN, NAN, NAN }, { NAN, NAN, NAN } },
		              NAN);
	if (m->at[POSES_QW] >= 0 && (st = take_quaternion(&a, m, number, v))) return st;
	if (m->at[POSES_R00] >= 0 && (st = take_matrix(&a, m, number, v))) return st;
	if ((st = take_translation(&a, m, number, v))) return st;
	if (!(fabs(angle) <= ANGLE_MOST))
		return poses_make_fail(m, number, POSES_ANGLE, "%.6g degrees, at most %g are taken", angle,
		                       ANGLE_MOST);
	turn_row(&a, &angle, m);
	return append(m, v[POSES_TIME], &a, angle);
}

/* ---- the end ---- */

/* The element that n/2 of them lie below; v is put into another order. Hoare's selection. */
static double middle(double *v, int64_t n)
{
	int64_t low = 0, high = n - 1, k = n / 2;

	while (low < high) {
		double pivot = v[k];
		int64_t i = low, j = high;

		while (i <= j) {
			while (v[i] < pivot) i++;
			while (pivot < v[j]) j--;
			if (i > j) break;
			double was = v[i];

			v[i++] = v[j];
			v[j--] = was;
		}
		if (j < k) low = i;
		if (k < i) high = j;
	}
	return v[k];
}

static int find_step(iso_poses *p)
{
	int64_t first = isinf(p->time[0]) ? 1 : 0, n = p->n - first - 1;
	double *step;

	p->step = INFINITY;
	if (n < 1) return ISO_OK;
	step = malloc((size_t)n * sizeof *step);
	if (!step) return iso_fail_memory(p->name, n * (int64_t)sizeof *step);
	for (int64_t i = 0; i < n; i++) step[i] = p->time[first + i + 1] - p->time[first + i];
	p->step = middle(step, n);
	free(step);
	return ISO_OK;
}

static void take_note(const struct poses_make *m)
{
	char *note = m->p->note;
	size_t size = sizeof m->p->note, n = 0;

	if (m->change > CHANGE_TOLD)
		n = (size_t)iso_snprintf(note, size,
		                         "matrices were made orthonormal, elements changed by up to %.2g",
		                         m->change);
	if (m->longest > 0 && m->longest < NEAR_MM)
		iso_snprintf(note + n, size - n, "%sall translations are below %g mm: are they in m?",
		             n ? "; " : "", NEAR_MM);
}

int poses_make_end(iso_poses **p, struct poses_make *m, enum iso_pose_rule rule)
{
	int st;

	if (m->p->n == 0) return iso_refuse(m->name, "has no row, a table of poses needs at least one");
	m->p->rule = m->o.rule ? m->o.rule : rule ? rule : ISO_POSE_LINEAR;
	if ((st = find_step(m->p))) return st;
	take_note(m);
	*p = m->p;
	m->p = NULL;
	return ISO_OK;
}
