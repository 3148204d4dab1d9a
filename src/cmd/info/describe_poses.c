/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of poses: rows, rule, times, how much is not known, and how far it moves a head. */
#include "describe.h"
#include "cmd/cmd.h"

#include <math.h>

#define BOX_MM 100. /* a cube around 0: a corner of it shows turns as well as shifts */

struct seen {
	int64_t rows, unknown;
	double from_s, to_s, unknown_s; /* between the first and the last row */
	double way_mm;                  /* of a corner of the cube, from the first known row */
};

static struct seen look(const iso_poses *p)
{
	const struct iso_grid cube = { { 1, 1, 1 }, { BOX_MM, BOX_MM, BOX_MM }, { 0, 0, 0 } };
	int64_t n = iso_poses_rows(p), first = isinf(iso_poses_time(p, 0)) ? 1 : 0;
	struct seen s = { n - first, 0, iso_poses_time(p, first), iso_poses_time(p, n - 1), 0, 0 };
	struct iso_pose start, z;
	bool any = false;

	for (int64_t k = first; k < n; k++) {
		if (!iso_poses_row(&z, p, k)) {
			s.unknown++;
			if (k + 1 < n) s.unknown_s += iso_poses_time(p, k + 1) - iso_poses_time(p, k);
			continue;
		}
		if (!any) start = z;
		any = true;
		s.way_mm = fmax(s.way_mm, iso_motion_way(&start, &z, &cube));
	}
	return s;
}

int describe_poses(json_t *o, const char *path)
{
	const struct iso_poses_options how = { .size = sizeof how, .kind = ISO_POSES_ANY };
	iso_poses *p = NULL;
	int st = iso_poses_read(&p, path, &how);

	if (st) return st;
	struct seen s = look(p);
	bool yrt = isinf(iso_poses_time(p, 0));

	set(o, "kind", json_string("table of poses"));
	if (yrt) set(o, "format", json_string("YRT-PET's motion file"));
	set(o, "rows", json_integer(s.rows));
	set(o, "rule", json_string(iso_poses_rule(p) == ISO_POSE_STEP ? "step" : "linear"));
	set(o, "from_s", record_real(s.from_s));
	set(o, "to_s", record_real(s.to_s));
	if (yrt) set(o, "before", json_string("identity"));
	set(o, "unknown_rows", json_integer(s.unknown));
	set(o, "unknown_share", record_real(s.to_s > s.from_s ? s.unknown_s / (s.to_s - s.from_s) : 0));
	set(o, "largest_way_mm", record_real(s.way_mm));
	if (*iso_poses_note(p)) facts_warn(o, "%s", iso_poses_note(p));
	iso_poses_free(p);
	return ISO_OK;
}
