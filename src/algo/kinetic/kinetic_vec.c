/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of nested EM on the CPU, a tile of voxels at a time: a vector or two of the machine for each value. */
#include "kinetic_vec.h"

#include "core/ctx.h"

enum { TILE = 16, BINS = 64 }; /* voxels; bins whose ratios are held at once */

struct tile {
	iso_real theta[ISO_BASES_MOST][TILE], before[ISO_BASES_MOST][TILE], r[ISO_BASES_MOST][TILE];
	iso_real ratio[BINS][TILE];
};

static int form(iso_ctx *ctx, iso_real *f, const iso_real *x, const struct kinetic_fit *p, int first,
                int bins)
{
	const int64_t n = p->n;

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i += TILE) {
		const int64_t end = n - i < TILE ? n : i + TILE;

		for (int m = 0; m < bins; m++) {
			const iso_real *mean = p->mean + first + m;
			iso_real *to = f + m * n;

			for (int64_t v = i; v < end; v++) to[v] = mean[0] * x[v];
			for (int k = 1; k < p->coefficients; k++)
				for (int64_t v = i; v < end; v++) to[v] += mean[k * p->bins] * x[k * n + v];
		}
	}
	return ISO_OK;
}

/* ratio = acc / f of the bins first ... first + n - 1, 0 where f is. Four bins share what is read of theta. */
static void take_ratios(struct tile *t, const struct kinetic_fit *p, int64_t at, int width, int first, int n)
{
	for (int b = 0; b < n; b += 4) {
		const int four = n - b < 4 ? n - b : 4;
		iso_real f[4][TILE] = { { 0 } };

		for (int k = 0; k < p->coefficients; k++) {
			const iso_real *mean = p->mean + k * p->bins + first + b;
			const iso_real m[4] = { mean[0], four > 1 ? mean[1] : 0, four > 2 ? mean[2] : 0,
				                four > 3 ? mean[3] : 0 };

			for (int i = 0; i < 4; i++)
				for (int v = 0; v < TILE; v++) f[i][v] += m[i] * t->theta[k][v];
		}
		for (int i = 0; i < four; i++) {
			const iso_real *acc = p->acc + (first + b + i) * p->n + at;
			iso_real *to = t->ratio[b + i];

			for (int v = 0; v < width; v++) to[v] = acc[v];
			for (int v = 0; v < TILE; v++) to[v] = f[i][v] > 0 ? to[v] / f[i][v] : 0;
		}
	}
}

/* r += share ratio. Four coefficients share what is read of the ratios. */
static void add_ratios(struct tile *t, const struct kinetic_fit *p, int first, int n)
{
	for (int k = 0; k < p->coefficients; k += 4) {
		const int four = p->coefficients - k < 4 ? p->coefficients - k : 4;
		iso_real r[4][TILE] = { { 0 } };

		for (int b = 0; b < n; b++) {
			const iso_real *share = p->share + k * p->bins + first + b;
			const iso_real s[4] = { share[0], four > 1 ? share[p->bins] : 0,
				                four > 2 ? share[2 * p->bins] : 0,
				                four > 3 ? share[3 * p->bins] : 0 };

			for (int i = 0; i < 4; i++)
				for (int v = 0; v < TILE; v++) r[i][v] += s[i] * t->ratio[b][v];
		}
		for (int i = 0; i < four; i++)
			for (int v = 0; v < TILE; v++) t->r[k + i][v] += r[i][v];
	}
}

/* `width` voxels from `at` on. */
static void fit_tile(iso_real *x, const struct kinetic_fit *p, int64_t at, int width)
{
	struct tile t;
	iso_real over[TILE] = { 0 };

	memset(t.ratio, 0, sizeof t.ratio);
	for (int v = 0; v < width; v++) over[v] = p->sens[at + v] > 0 ? 1 / p->sens[at + v] : 0;
	for (int k = 0; k < p->coefficients; k++) {
		memset(t.before[k], 0, sizeof t.before[k]);
		for (int v = 0; v < width; v++) t.before[k][v] = over[v] > 0 ? x[k * p->n + at + v] : 0;
		memcpy(t.theta[k], t.before[k], sizeof t.theta[k]);
	}
	for (int it = 0; it < p->inner; it++) {
		memset(t.r, 0, (size_t)p->coefficients * sizeof *t.r);
		for (int first = 0; first < p->bins; first += BINS) {
			const int n = p->bins - first < BINS ? p->bins - first : BINS;

			take_ratios(&t, p, at, width, first, n);
			add_ratios(&t, p, first, n);
		}
		for (int k = 0; k < p->coefficients; k++)
			for (int v = 0; v < TILE; v++) t.theta[k][v] *= t.r[k][v] * over[v];
		for (int k = 0; k < (p->gradient ? p->coefficients : 0); k++)
			for (int v = 0; v < width; v++)
				t.theta[k][v] =
					kinetic_penalised(p, k, at + v, t.theta[k][v], t.before[k][v]);
	}
	for (int k = 0; k < p->coefficients; k++)
		for (int v = 0; v < width; v++) x[k * p->n + at + v] = t.theta[k][v];
}

static int fit(iso_ctx *ctx, iso_real *x, const struct kinetic_fit *p)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < p->n; i += TILE) fit_tile(x, p, i, p->n - i < TILE ? (int)(p->n - i) : TILE);
	return ISO_OK;
}

static const struct kinetic_vec kinetic_vec_cpu = { form, fit };

int iso_kinetic_vec(const struct kinetic_vec **v, iso_ctx *ctx)
{
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(ctx) ? iso_cuda_symbol(&cuda, "iso_kinetic_vec_cuda") : ISO_OK;

	*v = cuda ? cuda : &kinetic_vec_cpu;
	return st;
}
