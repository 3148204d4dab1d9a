/* SPDX-License-Identifier: BSD-3-Clause */
/* An exponential behind a Gaussian error, for callers: density, integral, derivatives. */
#include "emg.h"
#include "core/status.h"
#include "isotome/lifetime.h"

int iso_emg_at(struct iso_emg *v, double t, double rate, double sigma)
{
	if (!v) return iso_fail_null(__func__);
	if (!isfinite(t) || !(rate > 0 && isfinite(rate)) || !(sigma > 0 && isfinite(sigma)))
		return iso_fail(ISO_EARG, "emg: t %g, rate %g, sigma %g; rate and sigma must be above 0", t,
		                rate, sigma);
	const double e = emg(t, rate, sigma), normal = emg_normal(t, sigma), slope = rate * (normal - e);

	*v = (struct iso_emg){ .value = e,
		               .integral = emg_integral(t, rate, sigma),
		               .by_rate = emg_by_rate(e, t, rate, sigma),
		               .by_sigma = -rate * (t / sigma * normal + sigma * slope),
		               .by_time = slope };
	return ISO_OK;
}
