/* SPDX-License-Identifier: BSD-3-Clause */
/* The density of times in a voxel, its means inside of the window, and lives from means. */
#include "mixture.h"
#include "core/sized.h"
#include "triples.h"

enum { NEWTON = 60, BISECTIONS = 60, PANELS = 40000 };

#define TAU_LEAST .4
#define TAU_MOST 20

/* ---- what a caller asks for ---- */

void iso_lifetime_usual(struct iso_lifetime_model *m)
{
	if (!m) return;
	*m = (struct iso_lifetime_model){
		.size = sizeof *m, .tau_p = .125, .tau_d = .388, .ratio = 3, .sigma = .15, .lo = -1, .hi = 15
	};
}

int lifetime_model_take(struct iso_lifetime_model *full, const struct iso_lifetime_model *m)
{
	int st = iso_sized_take(full, "iso_lifetime_model", sizeof *full, m);

	if (st) return st;
	if (full->ratio == 0) full->ratio = 3;
	if (!(full->sigma > 0) || !isfinite(full->sigma))
		return iso_fail(ISO_EARG, "lifetime: sigma is %g ns, must be above 0", full->sigma);
	if (!(full->hi > full->lo) || !isfinite(full->hi - full->lo) || !isfinite(full->offset))
		return iso_fail(ISO_EARG, "lifetime: a window from %g to %g ns, offset %g ns", full->lo,
		                full->hi, full->offset);
	if (!(full->tau_p >= 0) || !(full->tau_d >= 0) || (full->tau_p > 0 && !(full->tau_d > 0)) ||
	    !isfinite(full->tau_p + full->tau_d))
		return iso_fail(
			ISO_EARG,
			"lifetime: lives of %g ns (para) and %g ns (direct), must be both above 0, or "
			"direct alone, or none",
			full->tau_p, full->tau_d);
	if (!(full->ratio > 0) || !isfinite(full->ratio))
		return iso_fail(ISO_EARG, "lifetime: ratio is %g, must be above 0", full->ratio);
	return ISO_OK;
}

void mixture_of(struct mixture *x, const struct iso_lifetime_model *m)
{
	*x = (struct mixture){ .m = *m, .lo = m->lo - m->offset, .hi = m->hi - m->offset };
	x->single = !(m->tau_d > 0);
	x->per = m->tau_p > 0 ? 1 / m->ratio : 0;
	x->k = 1 + x->per;
}

/* ---- means ---- */

void mixture_mean(double mean[2], const struct mixture *x, double tau, double w)
{
	const double s = x->m.sigma;
	double sum[3], j[3];

	emg_moments(sum, x->lo, x->hi, 1 / tau, s);
	for (int k = 0; k < 3; k++) sum[k] *= w;
	if (!x->single) {
		emg_moments(j, x->lo, x->hi, 1 / x->m.tau_d, s);
		for (int k = 0; k < 3; k++) sum[k] += (1 - w * x->k) * j[k];
	}
	if (x->per > 0) {
		emg_moments(j, x->lo, x->hi, 1 / x->m.tau_p, s);
		for (int k = 0; k < 3; k++) sum[k] += w * x->per * j[k];
	}
	mean[0] = sum[1] / sum[0];
	mean[1] = sum[2] / sum[0];
}

/* Without a window: the larger root of a quadratic in tau. */
static void solve_uncut(double *tau, double *w, const struct mixture *x, const double mean[2])
{
	const double d = x->m.tau_d, p = x->m.tau_p, per = x->per, s = x->m.sigma;
	const double m2 = (mean[1] - s * s) / 2, r = (m2 - d * d) / (mean[0] - d);
	const double k = per * p * p - x->k * d * d - r * (per * p - x->k * d);

	*tau = (r + sqrt(r * r - 4 * k)) / 2;
	*w = (mean[0] - d) / (*tau + per * p - x->k * d);
}

static bool in_range(double tau, double w, const struct mixture *x)
{
	return tau > TAU_LEAST && tau < TAU_MOST && w > 0 && w < 1 / x->k;
}

void mixture_solve(double *tau, double *w, const struct mixture *x, const double mean[2])
{
	double a, b, off = INFINITY;

	solve_uncut(&a, &b, x, mean);
	if (!isfinite(a) || !isfinite(b)) a = 2, b = .3;
	if (!(a > TAU_LEAST && a < TAU_MOST)) a = a < TAU_LEAST ? .6 : 10;
	if (!(b > 0 && b < 1 / x->k)) b = b < 0 ? .05 : .9 / x->k;
	for (int i = 0; i < NEWTON && off > 1e-13; i++) {
		const double h = 1e-5;
		double at[2], by_a[2], by_b[2], back[2];

		mixture_mean(at, x, a, b);
		mixture_mean(by_a, x, a + h, b);
		mixture_mean(back, x, a - h, b);
		for (int k = 0; k < 2; k++) by_a[k] = (by_a[k] - back[k]) / (2 * h);
		mixture_mean(by_b, x, a, b + h);
		mixture_mean(back, x, a, b - h);
		for (int k = 0; k < 2; k++) by_b[k] = (by_b[k] - back[k]) / (2 * h);
		const double det = by_a[0] * by_b[1] - by_a[1] * by_b[0];
		const double r[2] = { mean[0] - at[0], mean[1] - at[1] };
		double da = (r[0] * by_b[1] - r[1] * by_b[0]) / det,
		       db = (by_a[0] * r[1] - by_a[1] * r[0]) / det;
		double step = 1;

		while (step > 1e-4 && !in_range(a + step * da, b + step * db, x)) step /= 2;
		if (!(step > 1e-4)) break; /* NaN too: no solution that way */
		a += step * da;
		b += step * db;
		off = fabs(da) + fabs(db);
	}
	const bool found = off < 1e-8 && in_range(a, b, x);

	*tau = found ? a : NAN;
	*w = found ? b : NAN;
}

double mixture_solve_tau(const struct mixture *x, double w, double mean)
{
	double low = TAU_LEAST, high = TAU_MOST, at[2];

	mixture_mean(at, x, low, w);
	if (!(mean > at[0])) return NAN;
	mixture_mean(at, x, high, w);
	if (!(mean < at[0])) return NAN;
	for (int i = 0; i < BISECTIONS; i++) {
		const double middle = (low + high) / 2;

		mixture_mean(at, x, middle, w);
		if (at[0] < mean)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* ---- for callers ---- */

static int take(struct mixture *x, const struct iso_lifetime_model *m, double tau, double w)
{
	struct iso_lifetime_model full = { 0 };
	int st = lifetime_model_take(&full, m);

	if (st) return st;
	mixture_of(x, &full);
	if (!(tau > 0) || !isfinite(tau) || !(w > 0) || !(w <= (x->single ? 1 : 1 / x->k)))
		return iso_fail(ISO_EARG,
		                "lifetime: tau is %g ns, must be above 0; w is %g, must be above 0 to %g",
		                tau, w, x->single ? 1 : 1 / x->k);
	return ISO_OK;
}

int iso_lifetime_mean(double mean[2], const struct iso_lifetime_model *m, double tau, double w)
{
	if (!mean || !m) return iso_fail_null(__func__);
	struct mixture x;
	int st = take(&x, m, tau, w);

	if (!st) mixture_mean(mean, &x, tau, w);
	return st;
}

int iso_lifetime_information(double info[3], const struct iso_lifetime_model *m, double tau, double w,
                             double random)
{
	if (!info || !m) return iso_fail_null(__func__);
	struct mixture x;
	int st = take(&x, m, tau, w);

	if (st) return st;
	if (!(random >= 0 && random < 1))
		return iso_fail(ISO_EARG, "lifetime: random is %g, must be from 0 to below 1", random);
	const struct fixed_inside fixed = mixture_fixed_inside(&x, x.m.sigma);
	const struct inside in = mixture_inside(&x, &fixed, 1 / tau, w, x.m.sigma);
	const double step = (x.hi - x.lo) / PANELS;

	info[0] = info[1] = info[2] = 0;
	for (int i = 0; i < PANELS; i++) {
		const double t = x.lo + (i + .5) * step, o = emg(t, 1 / tau, x.m.sigma);
		const struct fixed_parts f = mixture_fixed(&x, t, x.m.sigma);
		const struct density d =
			mixture_density(&x, &f, &in, w, o, emg_by_rate(o, t, 1 / tau, x.m.sigma));
		const double q = (1 - random) * d.h + random / (x.hi - x.lo);
		const double a = (1 - random) * (1 - random) * step / q;

		if (!(q > 0)) continue;
		info[0] += a * d.by_rate * d.by_rate;
		info[1] += a * d.by_rate * d.by_w;
		info[2] += a * d.by_w * d.by_w;
	}
	return ISO_OK;
}
