/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of poses read by the suffix of the file. */
#include "poses.h"
#include "file/suffix.h"

int iso_poses_read(iso_poses **p, const char *path, const struct iso_poses_options *options)
{
	enum iso_pose_rule rule = ISO_POSE_OF_FILE;
	struct poses_make m = { 0 };
	int st;

	if (!p || !path) return iso_fail_null("poses");
	bool npy = iso_has_suffix(path, ".npy");

	if (!(st = poses_make_begin(&m, options, path, npy ? "row" : "line")) &&
	    !(st = npy ? poses_npy_read(&m, path) : poses_text_read(&m, &rule, path)))
		st = poses_make_end(p, &m, rule);
	poses_make_free(&m);
	return st;
}
