/* SPDX-License-Identifier: BSD-3-Clause */
/* Which share of the photons of an energy the crystals of a ring count: a Gaussian within the window, or a table. */
#include "seen.h"
#include "base/constants.h"
#include "water.h"

static double normal_below(double x)
{
	return erfc(-x / M_SQRT2) / 2;
}

static double from_table(const iso_scanner *s, double kev)
{
	const double *row = s->efficiency;
	int64_t i = 0, last = s->efficiencies_kev - 1;

	if (kev < row[0] || kev > row[2 * last]) return 0;
	while (i < last - 1 && kev > row[2 * (i + 1)]) i++;
	row += 2 * i;
	return row[1] + (kev - row[0]) / (row[2] - row[0]) * (row[3] - row[1]);
}

double iso_seen(const struct seen *s, double kev)
{
	double sigma = s->resolution / ISO_FWHM_PER_SIGMA * sqrt(WATER_E0 * kev);

	if (kev <= 0) return 0;
	if (s->table) return from_table(s->table, kev);
	return normal_below((s->window[1] - kev) / sigma) - normal_below((s->window[0] - kev) / sigma);
}

int iso_seen_make(struct seen *s, const char *who, const iso_scanner *c, const double window[2],
                  double resolution)
{
	bool own = window[0] != 0 || window[1] != 0;
	struct seen made = { .resolution = resolution != 0 ? resolution : c->energy_resolution,
		             .table = c->efficiency && !own && resolution == 0 ? c : NULL };

	memcpy(made.window, own ? window : c->energy_kev, sizeof made.window);
	if (!made.table && ((made.window[0] == 0 && made.window[1] == 0) || made.resolution == 0))
		return iso_fail(ISO_EARG,
		                "%s: scanner %s does not say which energies it counts: its description needs "
		                "a line such as `energy: {window_kev: [435, 650], resolution: 0.11}`",
		                who, c->name);
	if (!made.table && !(made.window[0] >= 0 && made.window[0] < made.window[1] && made.window[1] < 1e5))
		return iso_fail(ISO_EARG,
		                "%s: energy window %g to %g keV, the first must be below the second", who,
		                made.window[0], made.window[1]);
	if (!made.table && !(made.resolution > 0 && made.resolution < 1))
		return iso_fail(ISO_EARG, "%s: energy resolution is %g, must be above 0 and below 1", who,
		                made.resolution);
	if (!(iso_seen(&made, WATER_E0) > 1e-3))
		return iso_fail(ISO_EARG,
		                "%s: the scanner counts %.2g %% of the photons of 511 keV: is its energy "
		                "window right?",
		                who, 100 * iso_seen(&made, WATER_E0));
	*s = made;
	return ISO_OK;
}
