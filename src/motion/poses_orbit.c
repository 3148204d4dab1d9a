/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of poses of an object that goes round the scanner's axis without turning. */
#include "core/size.h"
#include "core/status.h"
#include "isotome/motion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROWS_A_TURN = 360,
	COLUMNS = 8,
	MOST_TURNS = 10000
}; /* chords leave the circle by 4e-5 of its radius */

int iso_poses_orbit(iso_poses **p, double radius_mm, double turns, double duration_s)
{
	if (!p) return iso_fail_null(__func__);
	*p = NULL;
	if (!(radius_mm >= 0 && isfinite(radius_mm)) || !(turns > 0 && turns <= MOST_TURNS) ||
	    !(duration_s > 0 && isfinite(duration_s)))
		return iso_fail(ISO_EARG,
		                "orbit: radius %g mm, %g turns in %g s, must be 0 or above, above 0 to %d, "
		                "above 0",
		                radius_mm, turns, duration_s, MOST_TURNS);
	const int64_t n = (int64_t)ceil(turns * ROWS_A_TURN) + 1;
	double *rows = size_alloc(n * COLUMNS, sizeof *rows);
	int st;

	if (!rows) return iso_fail_memory("orbit", n * COLUMNS * (int64_t)sizeof *rows);
	for (int64_t i = 0; i < n; i++) {
		double share = (double)i / (double)(n - 1), angle = 2 * M_PI * turns * share;
		const double row[COLUMNS] = { share * duration_s,     1, 0, 0, 0, radius_mm * cos(angle),
			                      radius_mm * sin(angle), 0 };

		memcpy(rows + i * COLUMNS, row, sizeof row);
	}
	st = iso_poses_create(p, rows, n, COLUMNS, NULL, "orbit");
	free(rows);
	return st;
}
