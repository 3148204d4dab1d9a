/* SPDX-License-Identifier: BSD-3-Clause */
/* The EM step of model strip with the image in shared memory.

   A warp takes 32 events: first each lane prepares one of them, then the warp goes through them one
   by one with a row of the ellipse in each lane. Along a row the exponents are polynomials of v, so
   a pixel costs a dozen instructions; its weight is computed once and stays in a register until
   the sum is known. Sums are integers: 32 bits in shared memory, what overflows goes to the image
   at once. So the order of events does not matter. */
#include "strip_cuda.cuh"

#define THREADS 384
#define WARPS (THREADS / ISO_WARP)
#define ROWS ISO_WARP	/* of an ellipse, at most */
#define COLUMNS 12	/* of a row, at most */

/* An event as its warp sees it, in shared memory. */
struct __align__(16) prepared {
	struct strip_line l;
	float count, add;	/* count 0: skipped */
	float pad;
};

static_assert(sizeof(struct prepared) == 64, "read as four times 16 bytes");

/* ---- a pixel ---- */

static __device__ float power_of_2(float v)
{
	float r;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

static __device__ float root_of_inverse(float v)
{
	float r;

	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

/* strip_weight by the special-function unit. N <= 0 gets 0: its root is NaN or infinite. */
template <enum iso_strip_kernel KERNEL> static __device__ float weight(const struct strip_row *r, float v)
{
	float q = fmaf(r->q1 * v, v, r->q0);

	if (KERNEL == ISO_STRIP_GAUSS)
		return power_of_2(-q) * r->root;
	if (KERNEL == ISO_STRIP_TAN) {
		float ab = fmaf(r->p1, v, r->p0) * r->root, tau = fmaf(r->tau1, v, r->tau0);

		return power_of_2(fmaf(ab, ab, -q)) * __fdividef(r->root, fmaf(tau, tau, 1));
	}
	float n = fmaf(r->n1, v, r->n0), root = root_of_inverse(n), ab = fmaf(r->p1, v, r->p0) * root;

	return n > 0 ? power_of_2(fmaf(ab, ab, -q)) * root : 0;
}

/* ---- an event ---- */

/* Terms weight x value of a lane's row, and their sum over the warp. `at`: its first pixel. */
template <enum iso_strip_kernel KERNEL, bool EDGE>
static __device__ float terms_of(float term[COLUMNS], int *at, int *n, const struct strip_params *p,
				 const struct strip_line *l, const float *x)
{
	int iy = l->low + threadIdx.x % ISO_WARP;
	float pixel = (float)p->pixel, y = (iy - .5f * (p->ny - 1)) * pixel, sum = 0;
	struct strip_span span = strip_span(l, p->nz, pixel, iy);
	struct strip_row row = strip_row(KERNEL, (float)p->strips.radius, l, y, span.dy);

	*n = iy <= l->high && (KERNEL != ISO_STRIP_TAN || row.n0 > 0) ? span.n : 0;
	*at = iy * p->nz + span.first;
#pragma unroll
	for (int c = 0; c < COLUMNS; c++) {
		float v = fmaf((float)c, pixel, span.v);

		term[c] = 0;
		if (c >= *n)
			continue;
		term[c] = weight<KERNEL>(&row, v) * x[*at + c];
		if (EDGE)
			term[c] *= strip_edge(&p->strips, &row, v, y,
					      (span.first + c - .5 * (p->nz - 1)) * p->pixel);
		sum += term[c];
	}
	return iso_warp_sum(sum);
}

/* low += term x send; 2^32 of the sum at a pixel goes to the image. */
static __device__ void add_terms(const float term[COLUMNS], int at, int n, float send, unsigned *low,
				 unsigned long long *acc)
{
#pragma unroll
	for (int c = 0; c < COLUMNS; c++) {
		if (c >= n)
			continue;
		unsigned v = __float2uint_rn(term[c] * send), old = atomicAdd(low + at + c, v);

		if (old + v < old)
			atomicAdd(acc + at + c, 1ull << 32);
	}
}

static __device__ void prepare(struct prepared *e, const struct strip_step *s, int64_t row, bool there)
{
	struct iso_strip_event none = { NAN, NAN, NAN };
	double mult = there && s->d.mult ? s->d.mult[row] : 1;

	e->l = strip_line(&s->m.p, there ? s->m.e + row : &none);
	e->count = !there || !(mult > 0) ? 0 : s->d.y ? s->d.y[row] : 1;
	e->add = there && s->d.add ? s->d.add[row] : 0;
}

/* The 32 events of a warp from row `first`; ax of each goes to its lane. */
template <enum iso_strip_kernel KERNEL, bool EDGE>
static __device__ float go_through(const struct strip_step *s, int n, const struct prepared *e,
				   const float *x, unsigned *low)
{
	float mine = 0;

	for (int j = 0; j < n; j++) {
		struct strip_line l = e[j].l;
		float term[COLUMNS];
		int at, columns;
		float sum = terms_of<KERNEL, EDGE>(term, &at, &columns, &s->m.p, &l, x);
		float ax = sum * l.factor, q = ax + e[j].add;

		if (threadIdx.x % ISO_WARP == j)
			mine = ax;
		if (sum > 0 && e[j].count > 0)
			add_terms(term, at, columns,
				  __fdividef(e[j].count, q) * l.factor * (float)s->acc.scale, low, s->acc.v);
	}
	return mine;
}

template <enum iso_strip_kernel KERNEL, bool EDGE>
static __global__ void __launch_bounds__(THREADS, 2) step(struct strip_step s)
{
	extern __shared__ float memory[];
	int pixels = s.m.p.ny * s.m.p.nz, lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP;
	struct prepared *e = (struct prepared *)memory + warp * ISO_WARP;
	float *x = memory + WARPS * ISO_WARP * (int)(sizeof *e / sizeof *x);
	unsigned *low = (unsigned *)(x + pixels);
	struct iso_em_stat stat = ISO_ZERO;
	int64_t batches = (s.rows.n + ISO_WARP - 1) / ISO_WARP;

	for (int i = threadIdx.x; i < pixels; i += THREADS) {
		x[i] = s.x[i];
		low[i] = 0;
	}
	__syncthreads();
	for (int64_t b = blockIdx.x * WARPS + warp; b < batches; b += (int64_t)gridDim.x * WARPS) {
		int64_t row = s.rows.first + b * ISO_WARP + lane, end = s.rows.first + s.rows.n;
		int n = (int)min((int64_t)ISO_WARP, end - (row - lane));

		prepare(e + lane, &s, row, row < end);
		__syncwarp();
		float ax = go_through<KERNEL, EDGE>(&s, n, e, x, low);

		if (row < end)
			strip_respond(&stat, &s.d, row, ax);
		__syncwarp();
	}
	__syncthreads();
	for (int i = threadIdx.x; i < pixels; i += THREADS)
		if (low[i])
			atomicAdd(s.acc.v + i, (unsigned long long)low[i]);
	strip_leave_sums(s.stat, stat);
}

/* ---- launching ---- */

static int bytes_of(const struct strip_model *m)
{
	return THREADS * (int)sizeof(struct prepared) + m->p.ny * m->p.nz * 8;
}

/* Lines are steepest at s = 1: half height 3 sigma_dl / 2, half width of a row 3 sigma_z / sqrt 2,
   sigma_z that of the strips' ends. */
bool iso_strip_fast_serves(const iso_ctx *ctx, const struct strip_model *m)
{
	const struct iso_strips *s = &m->p.strips;
	double sigma_z = s->sigma_z * (1 + fmax(0., s->sigma_z_growth));
	int most = 0;

	cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx->cuda_device);
	return (int64_t)m->p.ny * m->p.nz < INT32_MAX / 16 && bytes_of(m) + 1024 <= most &&
	       3 * s->sigma_dl / m->p.pixel + 1 <= ROWS &&
	       6 * sigma_z / sqrt(2.) / m->p.pixel + 1 <= COLUMNS;
}

template <enum iso_strip_kernel KERNEL, bool EDGE>
static int launch(const struct strip_step *s, iso_ctx *ctx)
{
	auto kernel = step<KERNEL, EDGE>;
	int bytes = bytes_of(&s->m), blocks = 0, sms = 0;
	cudaError_t e;

	if ((e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) ||
	    (e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, THREADS, bytes)) ||
	    (e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, ctx->cuda_device)))
		return iso_cuda_check("strip", e);
	blocks = blocks * sms < STRIP_BLOCKS ? blocks * sms : STRIP_BLOCKS;
	kernel<<<blocks, THREADS, bytes, iso_stream(ctx)>>>(*s);
	return iso_cuda_launched("strip em step");
}

int iso_strip_fast_step(const struct strip_step *given, iso_ctx *ctx)
{
	struct strip_step s = *given;

	switch (s.m.p.kernel) {
	case ISO_STRIP_EQ7:
		return launch<ISO_STRIP_EQ7, false>(&s, ctx);
	case ISO_STRIP_TAN:
		return s.m.p.edge ? launch<ISO_STRIP_TAN, true>(&s, ctx)
				  : launch<ISO_STRIP_TAN, false>(&s, ctx);
	default:
		return launch<ISO_STRIP_GAUSS, false>(&s, ctx);
	}
}
