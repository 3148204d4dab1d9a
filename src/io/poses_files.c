/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of poses as outputs of a run: with a record beside them. */
#include "format.h"
#include "file/suffix.h"
#include "motion/poses.h"

int iso_poses_write_check(const char *path, bool force)
{
	if (!path) return iso_fail_null("poses");
	if (!iso_has_suffix(path, ".csv") && !iso_has_suffix(path, ".npy"))
		return iso_fail(ISO_EARG, "%s: poses are written as .csv, .yrt.csv (YRT-PET) or .npy", path);
	return iso_target_check(path, force);
}

int iso_poses_write_with(const char *path, const iso_poses *p, bool force, const char *sidecar)
{
	struct iso_out out = { 0 };
	int st;

	if (!path || !p) return iso_fail_null("poses");
	if ((st = poses_write_open(&out, path, p, force))) return st;
	st = iso_target_finish(&out, sidecar);
	iso_out_free(&out);
	return st;
}
