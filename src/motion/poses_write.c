/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of poses written: Isotome's own .csv, .npy of (n, 8), YRT-PET's motion file. */
#include "poses.h"
#include "file/npy.h"
#include "file/out.h"
#include "file/suffix.h"

#include <math.h>
#include <string.h>

enum { FULL = 1 << 15, LINE = 1 << 10 };

/* Lines are gathered: a call for each takes longer than the line. */
struct lines {
	struct iso_out out;
	char text[FULL + LINE];
	int n;
};

static int flush(struct lines *l)
{
	int st = iso_out_write(&l->out, l->text, l->n);

	l->n = 0;
	return st;
}

static int print(struct lines *l, const char *fmt, ...) ISO_PRINTF(2, 3);
static int print(struct lines *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	l->n += iso_vsnprintf(l->text + l->n, LINE, fmt, ap);
	va_end(ap);
	return l->n < FULL ? ISO_OK : flush(l);
}

/* ---- rows as they are written ---- */

/* YRT-PET's identity before the first row, as a row that holds at all times from 0 on: no row where the table's own
   begins by then. By rule linear it holds until just before that one. */
static bool starts(double *time, const iso_poses *p)
{
	if (p->n < 2 || !isinf(p->time[0])) return false;
	*time = p->rule == ISO_POSE_LINEAR ? nextafter(p->time[1], -INFINITY) : 0;
	return p->time[1] > 0;
}

static int64_t first_row(const iso_poses *p)
{
	return isinf(p->time[0]) ? 1 : 0;
}

/* ---- Isotome's own ---- */

static int own_row(struct lines *l, const iso_poses *p, int64_t k, double time)
{
	const struct turn *a = &p->row[k];

	if (p->angle)
		return print(l, "%.17g,%.17g,%.17g,%.17g,%.17g\n", time, p->angle[k], a->t[0], a->t[1],
		             a->t[2]);
	if (isnan(a->q[0])) return print(l, "%.17g,nan,nan,nan,nan,nan,nan,nan\n", time);
	return print(l, "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", time, a->q[0], a->q[1], a->q[2],
	             a->q[3], a->t[0], a->t[1], a->t[2]);
}

static int write_own(struct lines *l, const iso_poses *p)
{
	double time;
	int st = print(l, "# isotome poses 1\n# rule: %s\ntime_s,%s,x_mm,y_mm,z_mm\n",
	               p->rule == ISO_POSE_STEP ? "step" : "linear", p->angle ? "angle_deg" : "qw,qx,qy,qz");

	if (!st && starts(&time, p)) st = own_row(l, p, 0, time);
	for (int64_t k = first_row(p); k < p->n && !st; k++) st = own_row(l, p, k, p->time[k]);
	return st;
}

/* ---- NumPy's ---- */

static int npy_row(struct lines *l, const iso_poses *p, int64_t k, double time)
{
	const struct turn *a = &p->row[k];
	const double v[8] = { time, a->q[0], a->q[1], a->q[2], a->q[3], a->t[0], a->t[1], a->t[2] };

	memcpy(l->text + l->n, v, sizeof v);
	l->n += (int)sizeof v;
	return l->n < FULL ? ISO_OK : flush(l);
}

static int write_npy(struct lines *l, const iso_poses *p)
{
	double time;
	bool before = starts(&time, p);

	l->n = iso_npy_lead(l->text, 'f', sizeof(double), 2,
	                    (const int64_t[]){ p->n - first_row(p) + before, 8 });
	int st = before ? npy_row(l, p, 0, time) : ISO_OK;

	for (int64_t k = first_row(p); k < p->n && !st; k++) st = npy_row(l, p, k, p->time[k]);
	return st;
}

/* ---- YRT-PET's ---- */

static int yrt_row(struct lines *l, const iso_poses *p, int64_t k, double ms)
{
	struct iso_pose z;

	if (!iso_poses_row(&z, p, k))
		return iso_refuse(
			l->out.path,
			"the pose from %.10g s on is not known, YRT-PET's motion files can't say so",
			p->time[k]);
	z = iso_pose_inverse(z);
	for (int i = 0; i < 12; i++) /* no -0.000000000 */
		if (fabs(z.m[i]) < .5e-9) z.m[i] = 0;
	return print(l, "%.0f,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f,0.000000000\n", ms,
	             z.m[0], z.m[1], z.m[2], z.m[3], z.m[4], z.m[5], z.m[6], z.m[7], z.m[8], z.m[9], z.m[10],
	             z.m[11]);
}

/* Times are whole ms. The first row holds before it begins, which YRT-PET's does not: it is written at 0 as well. */
static int write_yrt(struct lines *l, const iso_poses *p)
{
	int64_t first = first_row(p);
	double last = -1;
	int st = ISO_OK;

	for (int64_t k = first; k < p->n && !st; k++) {
		double ms = rint(p->time[k] * 1000);

		if (ms <= last)
			return iso_refuse(
				l->out.path,
				"the row at %.10g s is at %.0f ms, must come after %.0f ms in YRT-PET's "
				"motion files",
				p->time[k], ms, last);
		if (k == first && first == 0 && ms > 0) st = yrt_row(l, p, k, 0);
		if (!st) st = yrt_row(l, p, k, ms);
		last = ms;
	}
	return st;
}

/* ---- which ---- */

static bool writable(const char *path)
{
	return iso_has_suffix(path, ".npy") || iso_has_suffix(path, ".csv");
}

int poses_write_open(struct iso_out *out, const char *path, const iso_poses *p, bool force)
{
	struct lines l = { .n = 0 };
	int st;

	if (!writable(path))
		return iso_fail(ISO_EARG, "%s: poses are written as .csv, .yrt.csv (YRT-PET) or .npy", path);
	if (iso_has_suffix(path, ".npy") && p->angle)
		return iso_fail(ISO_EARG,
		                "%s: a .npy file of poses has no place for the angles of a gantry; .csv has",
		                path);
	if ((st = iso_out_check(path, NULL, force)) || (st = iso_out_open(&l.out, path, 0, ISO_OUT_PLAIN)))
		return st;
	st = iso_has_suffix(path, ".npy")       ? write_npy(&l, p)
	     : iso_has_suffix(path, ".yrt.csv") ? write_yrt(&l, p)
	                                        : write_own(&l, p);
	if (!st) st = flush(&l);
	if (st)
		iso_out_free(&l.out);
	else
		*out = l.out;
	return st;
}

int iso_poses_write(const char *path, const iso_poses *p, bool force)
{
	struct iso_out out = { 0 };
	int st;

	if (!path || !p) return iso_fail_null("poses");
	if ((st = poses_write_open(&out, path, p, force))) return st;
	if (!(st = iso_out_close(&out))) st = iso_out_commit(&out);
	iso_out_free(&out);
	return st;
}
