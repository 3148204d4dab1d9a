/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity after NEMA NU 2: the fit over sleeves. */
#include "nema_line.h"

#include "base/fail.h"

#include <math.h>

int iso_nema_sensitivity_fit(struct nema_sensitivity *s, const struct nema_sleeve *sleeve, int n,
                             double activity_mbq)
{
	double w0 = 0, w1 = 0, w2 = 0, v0 = 0, v1 = 0, e0 = 0, e1 = 0, e2 = 0;

	if (n < 2) return iso_fail(ISO_EINPUT, "nema: %d sleeves, and 2 or more are needed", n);
	for (int j = 0; j < n; j++) {
		const struct nema_sleeve *a = &sleeve[j];

		if (!(a->counts > 0))
			return iso_fail(ISO_EINPUT, "nema: sleeve %d has %g net counts, must be above 0",
			                j + 1, a->counts);
		/* w^2 var(ln C) = variance */
		double w = a->counts, e = a->variance > 0 ? a->variance : a->counts;
		double y = log(a->counts / (a->duration_s * a->decay)), x = -2 * a->wall_mm;

		w0 += w;
		w1 += w * x;
		w2 += w * x * x;
		v0 += w * y;
		v1 += w * x * y;
		e0 += e;
		e1 += e * x;
		e2 += e * x * x;
	}
	double det = w0 * w2 - w1 * w1;

	if (!(det > 1e-12 * w0 * w2))
		return iso_fail(ISO_EINPUT,
		                "nema: all sleeves have the same wall_mm, and 2 or more must differ");
	s->r0 = exp((w2 * v0 - w1 * v1) / det);
	s->mu = (w0 * v1 - w1 * v0) / det;
	s->r0_err = s->r0 * sqrt(w2 * w2 * e0 - 2 * w1 * w2 * e1 + w1 * w1 * e2) / det;
	s->mu_err = sqrt(w1 * w1 * e0 - 2 * w0 * w1 * e1 + w0 * w0 * e2) / det;
	s->s = s->r0 / activity_mbq;
	s->s_err = s->r0_err / activity_mbq;
	return ISO_OK;
}
