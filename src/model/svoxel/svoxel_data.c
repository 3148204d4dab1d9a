/* SPDX-License-Identifier: BSD-3-Clause */
/* Which lines the data of model svoxel have; their values are in svoxel_spectra.c. */
#include "core/sized.h"
#include "core/status.h"

#include <math.h>

#define DEFAULT_FMAX_MHZ 5

/* 1e-9: a line at fmax itself counts. */
int iso_svoxel_lines(struct iso_svoxel *p, double fmax_mhz)
{
	struct iso_svoxel full;
	int st = iso_sized_take(&full, "iso_svoxel", sizeof full, p);
	const struct iso_transducers *t = full.t;

	if (st || (st = iso_transducers_check(t))) return st;
	if (!(fmax_mhz >= 0) || !isfinite(fmax_mhz))
		return iso_fail(ISO_EARG, "svoxel: the highest line is at %g MHz, must be positive",
		                fmax_mhz);
	double df = 1 / (2 * (double)t->samples * t->dt_us);
	double top = fmin(fmax_mhz > 0 ? fmax_mhz : DEFAULT_FMAX_MHZ, 1 / (2 * t->dt_us));
	int64_t lines = (int64_t)floor(top / df + 1e-9);

	if (lines < 1) return iso_fail(ISO_EARG, "svoxel: no line up to %g MHz: the first is at %g", top, df);
	p->first_line = 1;
	p->lines = lines;
	p->df_mhz = df;
	p->offset_mhz = 0;
	return ISO_OK;
}

double iso_svoxel_line_mhz(const struct iso_svoxel *p, int64_t l)
{
	return p ? (double)(p->first_line + l) * p->df_mhz + p->offset_mhz : 0;
}

/* 1e-9: an f0 that was rounded from a multiple of df is one. */
int iso_svoxel_lines_at(struct iso_svoxel *p, double f0_mhz, double df_mhz, int64_t lines)
{
	struct iso_svoxel full;
	double number = f0_mhz / df_mhz;
	int st = iso_sized_take(&full, "iso_svoxel", sizeof full, p);

	if (st) return st;
	if (!(f0_mhz >= 0) || !(df_mhz > 0) || !isfinite(df_mhz) || !(number < 1 << 22) || lines < 1)
		return iso_fail(ISO_EARG,
		                "svoxel: %" PRId64
		                " lines from %g MHz on, %g MHz apart, must be 1 or more from 0 to number %d",
		                lines, f0_mhz, df_mhz, 1 << 22);
	p->first_line = (int64_t)floor(number + 1e-9);
	p->lines = lines;
	p->df_mhz = df_mhz;
	p->offset_mhz = f0_mhz - (double)p->first_line * df_mhz;
	if (p->offset_mhz < 1e-9 * df_mhz) p->offset_mhz = 0;
	return ISO_OK;
}
