/* SPDX-License-Identifier: BSD-3-Clause */
/* The Hessian of a penalty times an image, on the CPU: a voxel at a time, with all its neighbours. A pair's Hessian has rank
   one in every kind of pairs: f_12 = -sqrt(f_11 f_22). */
#include "prior_in.h"

#include "core/ctx.h"

/* Over 2, as the bits have twice the weight. */
static iso_real weight(const iso_prior *r, int i, int64_t v, int64_t m)
{
	const bool front = i >= PRIOR_PAIRS;
	const int o = front ? i - PRIOR_PAIRS
	                    : PRIOR_PAIRS - 1 - i; /* number of the pair, seen from its first voxel */
	iso_real w = r->par.w[o];

	if (r->bits) w *= (iso_real)(r->bits[front ? v : m] >> 2 * o & 3) / 2;
	return r->kappa ? w * r->kappa[v] * r->kappa[m] : w;
}

static iso_real product_at(const iso_prior *r, const iso_real *x, const iso_real *v, const int64_t at[3],
                           int64_t here)
{
	const int64_t *n = r->par.n;
	iso_real sum = 0;

	for (int i = 0; i < PRIOR_NEAR; i++) {
		int d[3];
		bool inside = true;

		prior_near(d, i);
		for (int a = 0; a < 3; a++) inside = inside && at[a] + d[a] >= 0 && at[a] + d[a] < n[a];
		if (!inside) continue;
		const int64_t there = here + (d[2] * n[1] + d[1]) * n[0] + d[0];
		const struct prior_pair q = prior_pair_of(r->par.kind, &r->par, x[here], x[there]);

		sum += weight(r, i, here, there) * (q.h1 * v[here] - iso_sqrt(q.h1 * q.h2) * v[there]);
	}
	return sum;
}

static void product_cpu(const iso_prior *r, iso_real *to, const iso_real *x, const iso_real *v)
{
	const int64_t *n = r->par.n;

#pragma omp parallel for num_threads(r->ctx->threads)
	for (int64_t row = 0; row < n[1] * n[2]; row++)
		for (int64_t i = 0; i < n[0]; i++) {
			const int64_t at[3] = { i, row % n[1], row / n[1] };

			to[row * n[0] + i] = product_at(r, x, v, at, row * n[0] + i);
		}
}

int iso_prior_product(iso_real *to, iso_prior *r, const iso_real *x, const iso_real *v)
{
	if (!r->pairs) return iso_fail(ISO_EARG, "prior: 'tv' has no Hessian that can be applied");
	if (r->product_cuda) return r->product_cuda(r, to, x, v);
	product_cpu(r, to, x, v);
	return iso_ctx_poll(r->ctx);
}
