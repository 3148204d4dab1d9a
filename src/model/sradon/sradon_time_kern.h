/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces in time: the derivative D (Wang 2013, 13 and 22) and the impulse response He (14, 21),
   each at one sample; t is the trace, K long. */
#ifndef ISO_SRADON_TIME_KERN_H
#define ISO_SRADON_TIME_KERN_H

#include "core/hd.h"

struct sradon_time {
	int64_t samples;
	double first_us, dt_us;
	double scale; /* gamma / (4 pi c^2) / (2 dt) */
	int64_t n_eir;
	double *eir;
	bool response; /* He, else D */
};

/* g_k / t_k; 0 before the laser pulse and outside of the record. */
ISO_HD double sradon_over_time(const struct sradon_time *p, const iso_real *g, int64_t k)
{
	double t = p->first_us + (double)k * p->dt_us;

	return k < 0 || k >= p->samples || t <= 0 ? 0 : g[k] / t;
}

ISO_HD double sradon_derivative(const struct sradon_time *p, const iso_real *g, int64_t k)
{
	return p->scale * (sradon_over_time(p, g, k + 1) - sradon_over_time(p, g, k - 1));
}

ISO_HD double sradon_derivative_adjoint(const struct sradon_time *p, const iso_real *u, int64_t k)
{
	double t = p->first_us + (double)k * p->dt_us;
	double before = k > 0 ? u[k - 1] : 0, after = k < p->samples - 1 ? u[k + 1] : 0;

	return t <= 0 ? 0 : p->scale * (before - after) / t;
}

/* sum of h_i p_{k-i} */
ISO_HD double sradon_response(const struct sradon_time *p, const iso_real *u, int64_t k)
{
	double sum = 0;

	for (int64_t i = 0; i < p->n_eir && i <= k; i++) sum += p->eir[i] * u[k - i];
	return sum;
}

/* sum of h_i u_{k+i} */
ISO_HD double sradon_response_adjoint(const struct sradon_time *p, const iso_real *u, int64_t k)
{
	double sum = 0;

	for (int64_t i = 0; i < p->n_eir && k + i < p->samples; i++) sum += p->eir[i] * u[k + i];
	return sum;
}

ISO_HD double sradon_time(const struct sradon_time *p, bool adjoint, const iso_real *t, int64_t k)
{
	if (p->response) return adjoint ? sradon_response_adjoint(p, t, k) : sradon_response(p, t, k);
	return adjoint ? sradon_derivative_adjoint(p, t, k) : sradon_derivative(p, t, k);
}

#endif
