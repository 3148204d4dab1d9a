/* SPDX-License-Identifier: BSD-3-Clause */
/* CT numbers as attenuation at 511 keV: two straight lines, that of soft tissue and that of bone. */
#include "core/progress.h"
#include "core/status.h"

#include <math.h>

/* Carney et al., Med. Phys. 33, 976 (2006): above `bend` mu = slope (HU + 1000) + level. */
struct curve {
	double kvp, slope, level, bend; /* kV, 1/cm, 1/cm, HU */
};

static const struct curve curves[] = {
	{ ISO_KVP_LEAST, 3.64e-5, 6.26e-2, 50 }, { 100, 4.43e-5, 5.44e-2, 52 },
	{ 110, 4.92e-5, 4.88e-2, 43 },           { 120, 5.10e-5, 4.71e-2, 47 },
	{ 130, 5.51e-5, 4.24e-2, 37 },           { ISO_KVP_MOST, 5.64e-5, 4.08e-2, 30 },
};
enum { N_CURVES = sizeof curves / sizeof curves[0] };

#define PIECE 65536   /* values between two words about them */
#define TISSUE 9.6e-5 /* 1/cm for each unit above air; water 0.096 1/cm */

/* kvp lies between those of the first and the last row; two rows hold it. */
static struct curve curve_of(double kvp)
{
	int i = 0;

	while (i < N_CURVES - 2 && kvp > curves[i + 1].kvp) i++;
	const struct curve *a = &curves[i], *b = a + 1;
	double t = (kvp - a->kvp) / (b->kvp - a->kvp);

	return (struct curve){ kvp, a->slope + t * (b->slope - a->slope),
		               a->level + t * (b->level - a->level), a->bend + t * (b->bend - a->bend) };
}

static double per_cm(const struct curve *c, double hu)
{
	return hu < c->bend ? fmax(0, TISSUE * (hu + 1000)) : c->slope * (hu + 1000) + c->level;
}

int iso_mu_of_hu(iso_real *mu, int64_t n, const iso_real *hu, double kvp)
{
	if (!mu || !hu) return iso_fail_null(__func__);
	if (n < 0) return iso_fail(ISO_EARG, "mu of HU: %" PRId64 " values", n);
	if (!(kvp >= ISO_KVP_LEAST && kvp <= ISO_KVP_MOST))
		return iso_fail(ISO_EARG, "mu of HU: a tube voltage of %g kVp, known are %g to %g", kvp,
		                ISO_KVP_LEAST, ISO_KVP_MOST);
	const struct curve c = curve_of(kvp);

	struct iso_clock clock = iso_clock_brief(NULL, "attenuation", "voxels", n, NULL);

	for (int64_t at = 0; at < n; at += PIECE) {
		int64_t end = n - at < PIECE ? n : at + PIECE;

		for (int64_t i = at; i < end; i++) mu[i] = (iso_real)(per_cm(&c, (double)hu[i]) / 10);
		iso_clock_add(&clock, end - at);
	}
	iso_clock_end(&clock);
	return ISO_OK;
}
