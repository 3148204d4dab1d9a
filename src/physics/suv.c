/* SPDX-License-Identifier: BSD-3-Clause */
/* Standardised uptake values: activity over what would be everywhere if the dose were spread over the body. */
#include "core/sized.h"
#include "core/status.h"

#include <math.h>

static int check(const struct iso_suv *p)
{
	if (!p->injected_at || !p->reference_at) return iso_fail_null("struct iso_suv");
	if (!(p->weight_kg > 0) || !isfinite(p->weight_kg))
		return iso_fail(ISO_EARG, "suv: weight is %g kg, must be above 0", p->weight_kg);
	if (!(p->residual_mbq >= 0) || !(p->dose_mbq > p->residual_mbq) || !isfinite(p->dose_mbq))
		return iso_fail(
			ISO_EARG,
			"suv: dose is %g MBq, of which %g MBq stay behind; the dose must be the larger",
			p->dose_mbq, p->residual_mbq);
	if (!(p->half_life_s >= 0) || !isfinite(p->half_life_s))
		return iso_fail(ISO_EARG, "suv: half life is %g s, must be 0 or above", p->half_life_s);
	return ISO_OK;
}

/* w [g] / (D [Bq] 2^(-t/h)), t from the injection to the reference time. */
int iso_suv_factor(double *factor, const struct iso_suv *p)
{
	if (!factor || !p) return iso_fail_null(__func__);
	struct iso_suv full;
	double t;
	int st = iso_sized_take(&full, "iso_suv", sizeof full, p);

	if (st || (st = check(&full)) || (st = iso_seconds_between(&t, full.injected_at, full.reference_at)))
		return st;
	double dose = 1e6 * (full.dose_mbq - full.residual_mbq);

	if (full.half_life_s > 0) dose *= exp2(-t / full.half_life_s);
	*factor = 1e3 * full.weight_kg / dose;
	if (!(*factor > 0) || !isfinite(*factor))
		return iso_fail(ISO_EARG, "suv: nothing is left of the dose %g s after the injection", t);
	return ISO_OK;
}
