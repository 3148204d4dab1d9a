/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of decays: the allowed spectrum of positrons as the inverse of its integral, and ranges of a file.

   N(T) = p W (Q - T)^2 F(Z, T), W = 1 + T / E0, p = sqrt(W^2 - 1); the Fermi function F = 2 (1 + g) (2 p R)^(2 (g - 1))
   exp(pi y) |Gamma(g + i y)|^2 / Gamma(2 g + 1)^2 with g = sqrt(1 - (alpha Z)^2), y = -alpha Z W / p, Z of the daughter, and
   the nuclear radius R in units of hbar / (m c). */
#include "isotope.h"
#include "core/status.h"
#include "text/table_text.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#define ALPHA (1 / 137.036)

/* ln |Gamma(z)|^2: Stirling's series at z + 10, and the recurrence down. */
static double log_gamma2(double complex z)
{
	double down = 0;

	for (int k = 0; k < 10; k++, z += 1) down += log(creal(z) * creal(z) + cimag(z) * cimag(z));
	double complex l = (z - .5) * clog(z) - z + .5 * log(2 * M_PI) + 1 / (12 * z) -
	                   1 / (360 * z * z * z) + 1 / (1260 * z * z * z * z * z);

	return 2 * creal(l) - down;
}

/* The spectrum at T MeV but for constant factors. */
static double spectrum(double t, double q, int z, int a)
{
	double w = 1 + 1e3 * t / WATER_E0, p = sqrt(w * w - 1), third = cbrt(a);

	if (!(p > 0) || !(t < q)) return 0;
	double g = sqrt(1 - ALPHA * z * ALPHA * z), y = -ALPHA * z * w / p;
	double radius = .0029 * third + .0063 / third - .017 / a;
	double fermi = 2 * (g - 1) * log(2 * p * radius) + M_PI * y + log_gamma2(g + I * y);

	return p * w * (q - t) * (q - t) * exp(fermi);
}

enum { CELLS = 4096 }; /* of the integral, each by Simpson's rule */

/* T where cell k begins: close together at both ends, where the spectrum goes to 0. */
static double begins(int k, double q)
{
	double x = (double)k / CELLS;

	return q * x * x * (3 - 2 * x);
}

/* inverse[k]: T below which k / DECAY_STEPS of the positrons are. */
static void invert(float inverse[DECAY_STEPS + 1], double q, int z, int a)
{
	double sum[CELLS + 1] = { 0 };
	int cell = 0;

	for (int k = 0; k < CELLS; k++) {
		double low = begins(k, q), high = begins(k + 1, q);

		sum[k + 1] =
			sum[k] + (high - low) / 6 *
					 (spectrum(low, q, z, a) + 4 * spectrum(.5 * (low + high), q, z, a) +
		                          spectrum(high, q, z, a));
	}
	for (int k = 0; k <= DECAY_STEPS; k++) {
		double want = sum[CELLS] * k / DECAY_STEPS;

		while (cell < CELLS - 1 && sum[cell + 1] < want) cell++;
		double part = (want - sum[cell]) / (sum[cell + 1] - sum[cell]);

		inverse[k] = (float)(begins(cell, q) + part * (begins(cell + 1, q) - begins(cell, q)));
	}
	inverse[0] = 0;
	inverse[DECAY_STEPS] = (float)q;
}

double iso_decay_mean_kev(const struct decay_table *t, int branch)
{
	double sum = 0;

	for (int k = 0; k < DECAY_STEPS; k++) sum += .5 * (t->energy[branch][k] + t->energy[branch][k + 1]);
	return t->positron[branch] ? 1e3 * sum / DECAY_STEPS : 0;
}

/* Next row of the table: r and share, both not below those before. */
static int range_row(double row[2], const double before[2], struct table_value line,
                     const struct table_lines *l)
{
	struct table_value v[2];

	if (table_split(v, 2, line) != 2 || !table_number(row, v[0]) || !table_number(row + 1, v[1]))
		return iso_fail(ISO_EINPUT,
		                "%s:%" PRId64 ": '%.*s' must be two numbers: r in mm and the share within r",
		                l->path, l->number, line.length, line.begin);
	if (!(row[0] >= before[0] && row[1] >= before[1] && row[1] <= 1 && row[0] <= 1e4))
		return iso_fail(ISO_EINPUT,
		                "%s:%" PRId64
		                ": r %g mm, share %g: both must rise, from 0 to at most 1e4 mm and 1",
		                l->path, l->number, row[0], row[1]);
	return ISO_OK;
}

static int read_ranges(float within[DECAY_STEPS + 1], const char *path)
{
	struct table_lines l = { 0 };
	struct table_value line;
	double before[2] = { 0, 0 }, row[2];
	bool more = true;
	int k = 0, st = table_lines_open(&l, path);

	while (!st && !(st = table_lines_next(&more, &line, &l)) && more) {
		if (line.length == 0 || line.begin[0] == '#' || (l.number == 1 && line.begin[0] == 'r'))
			continue;
		if ((st = range_row(row, before, line, &l))) break;
		for (; k <= DECAY_STEPS && (double)k / DECAY_STEPS <= row[1]; k++) {
			double step = row[1] - before[1],
			       part = step > 0 ? ((double)k / DECAY_STEPS - before[1]) / step : 1;

			within[k] = (float)(before[0] + part * (row[0] - before[0]));
		}
		before[0] = row[0];
		before[1] = row[1];
	}
	if (!st && before[1] < 1 - 1e-3)
		st = iso_fail(ISO_EINPUT, "%s: the shares end at %g, must reach 1", path, before[1]);
	for (; !st && k <= DECAY_STEPS; k++) within[k] = (float)before[0];
	table_lines_close(&l);
	return st;
}

int iso_decay_make(struct decay_table *t, const struct isotope *i, const struct decay_setting *s)
{
	double until = 0;

	memset(t, 0, sizeof *t);
	t->angle = (float)(s->angle_deg * M_PI / 180 / sqrt(8 * log(2)));
	if (!i) {
		t->branches = 1;
		t->until[0] = 1;
		t->positron[0] = true;
		return ISO_OK;
	}
	t->later_share = (float)i->later_share;
	t->later_kev = (float)i->later_kev;
	t->range = s->range || s->range_table;
	t->table = s->range_table != NULL;
	for (int b = 0; b < DECAY_BRANCHES && i->branch[b].share > 0; b++) {
		const struct isotope_branch *from = &i->branch[b];

		until += from->share;
		t->until[b] = (float)until;
		t->positron[b] = from->endpoint_kev > 0;
		if (t->positron[b]) invert(t->energy[b], 1e-3 * from->endpoint_kev, i->z, i->a);
		while (t->lines[b] < DECAY_LINES && from->line_kev[t->lines[b]] > 0) {
			t->line_kev[b][t->lines[b]] = (float)from->line_kev[t->lines[b]];
			t->lines[b]++;
		}
		t->branches++;
	}
	return s->range_table ? read_ranges(t->within, s->range_table) : ISO_OK;
}
