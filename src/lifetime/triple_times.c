/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of triples: from their three hits, and drawn from the mixture. */
#include "base/constants.h"
#include "core/philox.h"
#include "core/sized.h"
#include "mixture.h"
#include "triples.h"

/* ---- from hits ---- */

static double apart(const double a[3], const double b[3])
{
	return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
	            (a[2] - b[2]) * (a[2] - b[2]));
}

/* Cosine of the angle at x - p towards b - a. */
static double cosine(const struct iso_triple_hits *h)
{
	const double ab = apart(h->a, h->b), xp = apart(h->x, h->p);
	double sum = 0;

	for (int k = 0; k < 3; k++) sum += (h->b[k] - h->a[k]) * (h->x[k] - h->p[k]);
	return ab > 0 && xp > 0 ? sum / (ab * xp) : 0;
}

/* x moves by c/2 for each ps of t_a - t_b towards b, which makes its way to p longer by the cosine. */
int iso_triple_time(double *time, double *error, double *covariance, const struct iso_triple_hits *h)
{
	if (!time || !error || !covariance || !h) return iso_fail_null(__func__);
	struct iso_triple_hits full = { 0 };
	int st = iso_sized_take(&full, "iso_triple_hits", sizeof full, h);

	if (st) return st;
	const double c = ISO_C_MM_PER_PS, g = cosine(&full), s2 = full.sigma * full.sigma;
	const double ps = (full.t_a + full.t_b) / 2 - apart(full.a, full.b) / (2 * c) - full.t_p +
	                  apart(full.p, full.x) / c;

	if (!isfinite(ps))
		return iso_fail(ISO_EINPUT, "lifetime: places or times of a triple are not finite");
	*time = ps / 1000;
	*error = sqrt(s2 * (1 + g * g) / 2 + full.sigma_p * full.sigma_p) / 1000;
	*covariance = s2 * g;
	return ISO_OK;
}

/* ---- drawn ---- */

enum { TRIES = 100000 };

static double life_of(const struct mixture *x, double which, double tau, double w)
{
	if (x->single || which < w) return tau;
	return which < w * x->k ? x->m.tau_p : x->m.tau_d;
}

int iso_lifetime_draw(double *time, const struct iso_lifetime_model *m, double tau, double w, uint64_t seed,
                      uint64_t number)
{
	if (!time || !m) return iso_fail_null(__func__);
	struct iso_lifetime_model full = { 0 };
	struct mixture x;
	int st = lifetime_model_take(&full, m);

	if (st) return st;
	mixture_of(&x, &full);
	if (!(tau > 0) || !isfinite(tau) || !(w >= 0) || !(w <= (x.single ? 1 : 1 / x.k)))
		return iso_fail(ISO_EARG, "lifetime: tau is %g ns, must be above 0; w is %g, must be 0 to %g",
		                tau, w, x.single ? 1 : 1 / x.k);
	for (uint64_t i = 0; i < TRIES; i++) {
		const struct philox a = philox_draw(seed, number, 2 * i),
				    b = philox_draw(seed, number, 2 * i + 1);
		const double life = life_of(&x, (double)philox_unit(a.w[0]), tau, w);
		const double t = -life * log(philox_unit_double(a.w[1], a.w[2])) +
		                 full.sigma * philox_gauss(b.w[0], b.w[1]) + full.offset;

		if (t < full.lo || t >= full.hi) continue;
		*time = t;
		return ISO_OK;
	}
	return iso_fail(ISO_EARG, "lifetime: no time falls into the window from %g to %g ns", full.lo,
	                full.hi);
}
