/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a table fits a scan's times, and its mean and its reference over them. */
#include "motion.h"
#include "core/sized.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *iso_poses_note(const iso_poses *p)
{
	return p ? p->note : NULL;
}

int64_t iso_poses_outside(const iso_poses *p, const uint32_t *time_ms, int64_t n)
{
	int64_t outside = 0;

	if (!p || !time_ms) return 0;
	double first = p->time[0] - 2 * p->step, last = p->time[p->n - 1] + 2 * p->step;

	for (int64_t i = 0; i < n; i++) outside += time_ms[i] / 1000. < first || time_ms[i] / 1000. > last;
	return outside;
}

int iso_poses_reaches(const iso_poses *p, double first_s)
{
	if (!p) return iso_fail_null("poses");
	if (p->rule != ISO_POSE_LINEAR || p->n < 2 || !(p->time[p->n - 1] < first_s)) return ISO_OK;
	return iso_refuse(
		p->name, "ends at %.10g s, before the first event at %.10g s: do both clocks begin together?",
		p->time[p->n - 1], first_s);
}

int iso_poses_mean(struct iso_pose *mean, const iso_poses *p, double from_s, double to_s,
                   const struct iso_grid *grid, double way_mm)
{
	struct iso_motion_parts parts = { .size = sizeof parts, .poses = p };
	struct iso_motion_span span = { .size = sizeof span, .from_s = from_s, .to_s = to_s, .live = 1 };
	struct iso_piece *piece = NULL;
	iso_motion *m = NULL;
	int64_t n = 0;
	int st;

	if (!mean || !p || !grid) return iso_fail_null("mean of poses");
	if ((st = iso_motion_create(&m, &parts))) return st;
	st = iso_motion_pieces(&piece, &n, m, &span, grid, way_mm);
	if (!st && n == 0)
		st = iso_refuse(p->name, "no pose is known from %.6g to %.6g s, there is no mean", from_s,
		                to_s);
	if (!st) *mean = motion_mean(piece, NULL, n);
	free(piece);
	iso_motion_free(m);
	return st;
}

/* The last row of a table with one; YRT-PET's identity before it does not count. */
static int of_file(struct iso_pose *r, const char *path, const struct iso_poses_options *o)
{
	iso_poses *p = NULL;
	int st = iso_poses_read(&p, path, o);

	if (st) return st;
	if (p->n - (isinf(p->time[0]) ? 1 : 0) != 1)
		st = iso_refuse(path, "%" PRId64 " rows, a reference is a table with one row", p->n);
	else if (!iso_poses_row(r, p, p->n - 1))
		st = iso_refuse(path, "its pose is not known, a reference must be");
	iso_poses_free(p);
	return st;
}

int iso_poses_reference(struct iso_pose *reference, const iso_poses *p, const char *text,
                        const struct iso_poses_options *options, double from_s, double to_s,
                        const struct iso_grid *grid, double way_mm)
{
	double time;

	if (!reference || !p || !text || !grid) return iso_fail_null("reference of poses");
	if (strcmp(text, "mean") == 0) return iso_poses_mean(reference, p, from_s, to_s, grid, way_mm);
	if (!iso_number(&time, text, strlen(text))) return of_file(reference, text, options);
	if (iso_poses_at(reference, p, time)) return ISO_OK;
	return iso_refuse(p->name, "the pose at %.10g s is not known, it can't be the reference", time);
}
