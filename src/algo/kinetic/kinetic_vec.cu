/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of nested EM on CUDA: a thread a voxel. Up to MOST coefficients stay in registers; tables of the basis and the
   voxel's counts stay in shared memory during the inner iterations. */
#include "core/cuda.cuh"
#include "kinetic_vec.h"

enum { MOST = 16, THREADS = 128, SHARED = 96 << 10 };

/* ---- with K coefficients in registers ---- */

/* Values of a bin in tables: K, up to whole vectors. */
template <int K> struct row_of {
	enum { vectors = (K + 3) / 4, values = 4 * vectors };
};

/* table[m][k] = from[k][first + m], and 0 beyond K. */
template <int K>
static __device__ void take_table(float *table, const iso_real *from, int all, int first, int bins)
{
	for (int i = threadIdx.x; i < bins * row_of<K>::values; i += blockDim.x) {
		int m = i / row_of<K>::values, k = i % row_of<K>::values;

		table[i] = k < K ? from[k * all + first + m] : 0;
	}
}

/* do_it(k, value) for the values of a row. */
template <int K, class F> static __device__ void each(const float *row, F do_it)
{
#pragma unroll
	for (int q = 0; q < row_of<K>::vectors; q++) {
		float4 v = ((const float4 *)row)[q];

		do_it(4 * q, v.x);
		if (4 * q + 1 < K) do_it(4 * q + 1, v.y);
		if (4 * q + 2 < K) do_it(4 * q + 2, v.z);
		if (4 * q + 3 < K) do_it(4 * q + 3, v.w);
	}
}

template <int K>
static __global__ void form_of(iso_real *f, const iso_real *x, struct kinetic_fit p, int first, int bins)
{
	extern __shared__ float4 shared[];
	float *mean = (float *)shared;

	take_table<K>(mean, p.mean, p.bins, first, bins);
	__syncthreads();
	ISO_GRID_LOOP (i, p.n) {
		float theta[K];

#pragma unroll
		for (int k = 0; k < K; k++) theta[k] = x[k * p.n + i];
		for (int m = 0; m < bins; m++) {
			float sum = 0;

			each<K>(mean + m * row_of<K>::values,
			        [&](int k, float v) { sum = fmaf(v, theta[k], sum); });
			f[m * p.n + i] = sum;
		}
	}
}

template <int K> static __global__ void __launch_bounds__(THREADS) fit_of(iso_real *x, struct kinetic_fit p)
{
	extern __shared__ float4 shared[];
	const int words = p.bins * row_of<K>::values;
	float *mean = (float *)shared, *share = mean + words, *acc = share + words + threadIdx.x;

	take_table<K>(mean, p.mean, p.bins, 0, p.bins);
	take_table<K>(share, p.share, p.bins, 0, p.bins);
	__syncthreads();
	ISO_GRID_LOOP (i, p.n) {
		if (!(p.sens[i] > 0)) continue;
		float theta[K], r[K], over = 1 / p.sens[i];

#pragma unroll
		for (int k = 0; k < K; k++) theta[k] = x[k * p.n + i];
		for (int m = 0; m < p.bins; m++) acc[m * THREADS] = p.acc[m * p.n + i];
		for (int it = 0; it < p.inner; it++) {
#pragma unroll
			for (int k = 0; k < K; k++) r[k] = 0;
			for (int m = 0; m < p.bins; m++) {
				float f = 0, ratio;

				each<K>(mean + m * row_of<K>::values,
				        [&](int k, float v) { f = fmaf(v, theta[k], f); });
				ratio = f > 0 ? __fdividef(acc[m * THREADS], f) : 0;
				each<K>(share + m * row_of<K>::values,
				        [&](int k, float v) { r[k] = fmaf(v, ratio, r[k]); });
			}
#pragma unroll
			for (int k = 0; k < K; k++) {
				theta[k] *= r[k] * over;
				if (p.gradient)
					theta[k] = kinetic_penalised(&p, k, i, theta[k], x[k * p.n + i]);
			}
		}
#pragma unroll
		for (int k = 0; k < K; k++) x[k * p.n + i] = theta[k];
	}
}

template <int K>
static int form_now(iso_ctx *ctx, iso_real *f, const iso_real *x, const struct kinetic_fit *p, int first,
                    int bins)
{
	int bytes = bins * row_of<K>::values * (int)sizeof(float);

	form_of<K><<<iso_blocks(p->n), ISO_THREADS, bytes, iso_stream(ctx)>>>(f, x, *p, first, bins);
	return iso_cuda_launched("images of bins");
}

template <int K> static int fit_now(iso_ctx *ctx, iso_real *x, const struct kinetic_fit *p)
{
	auto kernel = fit_of<K>;
	int bytes = p->bins * (2 * row_of<K>::values + THREADS) * (int)sizeof(float);
	int64_t blocks = (p->n + THREADS - 1) / THREADS;
	cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);

	if (e != cudaSuccess) return iso_cuda_check("fit of coefficients", e);
	kernel<<<(int)(blocks < 8192 ? blocks : 8192), THREADS, bytes, iso_stream(ctx)>>>(x, *p);
	return iso_cuda_launched("fit of coefficients");
}

/* What has no kernel of its own: too many coefficients or bins. */
static bool fits(const struct kinetic_fit *p)
{
	int64_t words = (p->coefficients + 3) / 4 * 4;

	return p->coefficients <= MOST && p->bins * (2 * words + THREADS) * (int64_t)sizeof(float) <= SHARED;
}

/* ---- any number of coefficients, which lie in memory ---- */

static __global__ void form_any(iso_real *f, const iso_real *x, struct kinetic_fit p, int first)
{
	const iso_real *mean = p.mean + first + blockIdx.y;

	ISO_GRID_LOOP (i, p.n) {
		iso_real sum = 0;

		for (int k = 0; k < p.coefficients; k++) sum += mean[k * p.bins] * x[k * p.n + i];
		f[blockIdx.y * p.n + i] = sum;
	}
}

static __global__ void fit_any(iso_real *x, struct kinetic_fit p)
{
	ISO_GRID_LOOP (i, p.n) {
		iso_real theta[ISO_BASES_MOST], r[ISO_BASES_MOST];

		if (!(p.sens[i] > 0)) continue;
		for (int k = 0; k < p.coefficients; k++) theta[k] = x[k * p.n + i];
		for (int it = 0; it < p.inner; it++) {
			for (int k = 0; k < p.coefficients; k++) r[k] = 0;
			for (int m = 0; m < p.bins; m++) {
				iso_real f = 0, ratio;

				for (int k = 0; k < p.coefficients; k++)
					f += p.mean[k * p.bins + m] * theta[k];
				ratio = f > 0 ? p.acc[m * p.n + i] / f : 0;
				for (int k = 0; k < p.coefficients; k++)
					r[k] += p.share[k * p.bins + m] * ratio;
			}
			for (int k = 0; k < p.coefficients; k++) {
				theta[k] *= r[k] / p.sens[i];
				if (p.gradient)
					theta[k] = kinetic_penalised(&p, k, i, theta[k], x[k * p.n + i]);
			}
		}
		for (int k = 0; k < p.coefficients; k++) x[k * p.n + i] = theta[k];
	}
}

/* ---- which kernel ---- */

template <int K>
static int form_by(iso_ctx *ctx, iso_real *f, const iso_real *x, const struct kinetic_fit *p, int first,
                   int bins)
{
	if (K == p->coefficients) return form_now<K>(ctx, f, x, p, first, bins);
	return form_by<K - 1>(ctx, f, x, p, first, bins);
}

template <> int form_by<0>(iso_ctx *, iso_real *, const iso_real *, const struct kinetic_fit *, int, int)
{
	return ISO_EARG; /* there is at least one coefficient */
}

template <int K> static int fit_by(iso_ctx *ctx, iso_real *x, const struct kinetic_fit *p)
{
	return K == p->coefficients ? fit_now<K>(ctx, x, p) : fit_by<K - 1>(ctx, x, p);
}

template <> int fit_by<0>(iso_ctx *, iso_real *, const struct kinetic_fit *)
{
	return ISO_EARG;
}

static int form_cuda(iso_ctx *ctx, iso_real *f, const iso_real *x, const struct kinetic_fit *p, int first,
                     int bins)
{
	if (fits(p)) return form_by<MOST>(ctx, f, x, p, first, bins);
	form_any<<<dim3(iso_blocks(p->n), bins), ISO_THREADS, 0, iso_stream(ctx)>>>(f, x, *p, first);
	return iso_cuda_launched("images of bins");
}

static int fit_cuda(iso_ctx *ctx, iso_real *x, const struct kinetic_fit *p)
{
	if (fits(p)) return fit_by<MOST>(ctx, x, p);
	fit_any<<<iso_blocks(p->n), ISO_THREADS, 0, iso_stream(ctx)>>>(x, *p);
	return iso_cuda_launched("fit of coefficients");
}

extern "C" const struct kinetic_vec iso_kinetic_vec_cuda = { form_cuda, fit_cuda };
