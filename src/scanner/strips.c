/* SPDX-License-Identifier: BSD-3-Clause */
/* Two strips that face each other (J-PET): no crystals and no pairs, but errors of a hit. */
#include "scanner.h"

/* C^-1 of Bialas 2015, eq. (12), is positive definite for |gamma| < 1/(sqrt(2) sigma_z sigma_dl), at the ends
   too, where a growing sigma_z is largest. */
int iso_strips_check(const struct iso_strips *s)
{
	double sigma = s->sigma_z * fmax(1, 1 + s->sigma_z_growth);
	double most = 1 / (sqrt(2) * sigma * s->sigma_dl);

	if (!(s->radius > 0 && s->length > 0 && s->sigma_z > 0 && s->sigma_dl > 0) ||
	    !isfinite(s->radius * s->length * s->sigma_z * s->sigma_dl))
		return iso_fail(ISO_EARG,
		                "strips: radius %g, length %g, sigma_z %g, sigma_dl %g mm; must be above 0",
		                s->radius, s->length, s->sigma_z, s->sigma_dl);
	if (!(s->sigma_z_growth > -1) || !isfinite(s->sigma_z_growth))
		return iso_fail(ISO_EARG, "strips: sigma_z grows by %g, must be above -1", s->sigma_z_growth);
	if (!(fabs(s->gamma) < most))
		return iso_fail(ISO_EARG,
		                "strips: gamma is %g / mm^2, its magnitude must be below %g, 1 / (sqrt(2) "
		                "sigma_z sigma_dl)",
		                s->gamma, most);
	return ISO_OK;
}

static int read_strips(iso_scanner *s, const struct conf_node *root)
{
	struct iso_strips *p = &s->strips;
	const struct conf_key keys[] = {
		SCANNER_KEYS,
		/* The strips lie along z at y = +radius and -radius. */
		{ "radius_mm", CONF_REAL, &p->radius, 1, 1e-3, 1e5, true },
		/* Of a strip. */
		{ "length_mm", CONF_REAL, &p->length, 1, 1e-3, 1e5, true },
		/* Error of the place of a hit along its strip. */
		{ "sigma_z_mm", CONF_REAL, &p->sigma_z, 1, 1e-3, 1e5, true },
		/* Error of dl, half the difference of the two ways. */
		{ "sigma_dl_mm", CONF_REAL, &p->sigma_dl, 1, 1e-3, 1e5, true },
		/* Share by which sigma_z grows from the middle to the ends. Default 0. */
		{ "sigma_z_growth", CONF_REAL, &p->sigma_z_growth, 1, -.9, 10, false },
		/* Correlation of the errors, in the inverse covariance. Default 0. */
		{ "gamma_per_mm2", CONF_REAL, &p->gamma, 1, -1e6, 1e6, false },
		{ .name = NULL },
	};
	int st = iso_conf_keys(root, keys);

	if (st) return st;
	return iso_strips_check(p) ? iso_conf_fail(root, "%s", iso_message()) : ISO_OK;
}

const struct iso_scanner_fn iso_strips_fn = {
	.read = read_strips,
};
