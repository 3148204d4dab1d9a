/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a table of poses: as text, and as a .npy file. What is read is asked, cut into pieces and written. */
#include "fuzz.h"

static void write_table(const char *name, const iso_poses *p)
{
	char path[FUZZ_PATH + 32];

	snprintf(path, sizeof path, "%s/%s", fuzz_folder, name);
	(void)!iso_poses_write(path, p, true);
}

static void use(const iso_poses *p)
{
	const struct iso_grid grid = { { 1, 1, 1 }, { 100, 100, 100 }, { 0, 0, 0 } };
	const struct iso_motion_span span = { sizeof span, 0, 10, 60, 1 };
	const struct iso_motion_parts parts = { .size = sizeof parts, .gantry = p };
	struct iso_piece *piece = NULL;
	struct iso_pose z;
	iso_motion *m = NULL;
	int64_t n = 0;

	for (int t = -2; t < 12; t++) (void)!iso_poses_at(&z, p, t);
	if (!iso_motion_create(&m, &parts) && !iso_motion_pieces(&piece, &n, m, &span, &grid, 1e3))
		free(piece);
	iso_motion_free(m);
	write_table("out.csv", p);
	write_table("out.yrt.csv", p);
}

static void read_table(const char *path)
{
	const struct iso_poses_options o = { .size = sizeof o, .kind = ISO_POSES_ANY };
	iso_poses *p = NULL;

	if (iso_poses_read(&p, path, &o)) return;
	use(p);
	iso_poses_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_table(fuzz_file("x.csv", data, size));
	read_table(fuzz_file("x.npy", data, size));
	return 0;
}
