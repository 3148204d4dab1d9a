/* SPDX-License-Identifier: BSD-3-Clause */
/* The EM step of model strip, and its step of ratios, with the image in shared memory.

   A warp takes 32 events: first each lane prepares one of them, then the warp goes through them one
   by one with a row of the ellipse in each lane. From row to row all of strip_row is a polynomial of
   Dy, and along a row the exponent is one of v, so that a pixel costs a dozen instructions; its
   weight is computed once and stays in a register until the sum is known.

   Lanes begin at one distance from the ellipse's long axis, and rows lie BANK words apart (modulo
   32), so the banks they meet are BANK + t apart, t the slope: two lanes or so share one. A border
   of zeros spares the test for the image's edge.

   Sums are integers, so the order of events does not matter: 32 bits in shared memory, and whoever
   meets a sum past the half moves it to the image. Those of a step of ratios have a sign; its image u, which goes
   back, stays in global memory: shared memory for it would leave room for half the warps. */
#include "strip_cuda.cuh"

#define THREADS 384
#define WARPS (THREADS / ISO_WARP)
#define ROWS ISO_WARP /* of an ellipse, at most */
#define NARROW 11     /* columns of a row, at most: two sizes */
#define WIDE 16
#define BANK 17 /* the best odd number for slopes of the paper's set-up; 3 and 29 come next */
#define REACH ((float)(STRIP_REACH2 * STRIP_LOG2E / 2)) /* of q: the ellipse's rim */

/* An event as its warp sees it, in shared memory. */
struct __align__(16) prepared
{
	struct strip_powers w;
	float t, fz;
	float steps; /* Dy of the first row, in pixels */
	int low, rows, iz;
	float count, add;   /* count in fixed point, in a step of ratios as it is; 0: skipped */
	float factor, half; /* half: width of the ellipse along a row, at most, in pixels, halved */
};

static_assert(sizeof(struct prepared) == 80, "read as five times 16 bytes");

/* The image in shared memory: rows of `pitch` words, `border` zeros on either side. */
struct tile {
	float *x;
	unsigned *low;
	int pitch, border;
	float unit; /* x is in units of it, a power of 2: no sum leaves the range of float */
};

/* ---- a pixel ---- */

static __device__ float power_of_2(float v)
{
	float r;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

/* A row of an ellipse: in column c, counted from the first, q = q0 + c (q1 + c q2), and ab ~ p and N
   = n are linear in c. root = 1/sqrt(N) for gauss and tan, whose N is constant along a row: a factor
   of all weights, left to the caller. tan: tau* = t + lean ab root. */
struct fast_row {
	float q0, q1, q2, p0, p1, n0, n1, root, lean, t;
	int first, at, pixel; /* the first column; its place in the tile and in the image */
	float v, y;           /* of the first column, mm */
};

/* strip_weight by the special-function unit; 0 beyond the rim. N <= 0 gets 0: its root is NaN or infinite. */
template <enum iso_strip_kernel KERNEL> static __device__ float weight(const struct fast_row *r, float c)
{
	float q = fmaf(c, fmaf(c, r->q2, r->q1), r->q0), w;

	if (KERNEL == ISO_STRIP_GAUSS) return q <= REACH ? power_of_2(-q) : 0;
	if (KERNEL == ISO_STRIP_TAN) {
		float ab = fmaf(r->p1, c, r->p0), tau = fmaf(ab, r->lean, r->t);

		w = power_of_2(fmaf(ab, ab, -q)) * iso_over(fmaf(tau, tau, 1));
		return q <= REACH ? w : 0;
	}
	float n = fmaf(r->n1, c, r->n0), root = iso_over_root(n), ab = fmaf(r->p1, c, r->p0) * root;

	w = power_of_2(fmaf(ab, ab, -q)) * root;
	return q <= REACH && n > 0 ? w : 0;
}

/* ---- an event ---- */

static __device__ void prepare(struct prepared *e, const struct strip_step *s, float unit, int64_t row,
                               bool there)
{
	struct iso_strip_event none = { NAN, NAN, NAN };
	struct strip_line l = strip_line(&s->m.p, there ? s->m.e + row : &none);
	double mult = there && s->d.mult ? s->d.mult[row] : 1;

	e->w = strip_powers(&s->m.p, &l, s->m.p.kernel);
	e->half = sqrtf(STRIP_REACH2 / (l.up + l.down)) / (float)s->m.p.pixel;
	e->t = l.t;
	e->fz = l.fz;
	e->steps = (float)(l.low - l.iy) - l.fy;
	e->low = l.low;
	e->rows = l.high - l.low + 1;
	e->iz = l.iz;
	e->count = !there || !(mult > 0) ? 0 : (s->d.y ? s->d.y[row] : 1) * (s->u ? 1 : (float)s->acc.scale);
	e->add = (there && s->d.add ? s->d.add[row] : 0) / unit;
	e->factor = l.factor;
}

/* A lane's row; beyond the ellipse q0 is infinite, and the place any, one bank a lane. */
template <enum iso_strip_kernel KERNEL>
static __device__ struct fast_row row_of(const struct strip_params *p, const struct prepared *e,
                                         const struct tile *image)
{
	int lane = threadIdx.x % ISO_WARP, iy = e->low + lane;
	float pixel = (float)p->pixel, steps = e->steps + lane, d = steps * pixel;
	float middle = fmaf(steps, e->t, e->fz);
	float p1 = fmaf(e->w.s1, d, e->w.s0), n1 = e->w.turn * p1;
	struct fast_row r;

	r.first = max(-image->border, min((int)ceilf(middle - e->half) + e->iz, p->nz));
	r.v = ((float)(r.first - e->iz) - middle) * pixel;
	r.q2 = e->w.q1 * pixel * pixel;
	r.q1 = 2 * e->w.q1 * pixel * r.v;
	r.q0 = lane < e->rows ? fmaf(e->w.rise * d, d, e->w.q1 * r.v * r.v) : INFINITY;
	r.n0 = fmaf(n1, r.v, fmaf(fmaf(e->w.m2, d, e->w.m1), d, e->w.m0));
	r.n1 = n1 * pixel;
	r.root = KERNEL == ISO_STRIP_EQ7 ? 1 : r.n0 > 0 ? iso_over_root(r.n0) : 0;
	r.lean = r.root * (float)(-1 / STRIP_UNIT_ROOT);
	r.t = e->t;
	r.p0 = fmaf(p1, r.v, d * fmaf(e->w.l1, d, e->w.l0)) * r.root;
	r.p1 = p1 * pixel * r.root;
	r.at = lane < e->rows ? iy * image->pitch + image->border + r.first : lane;
	r.pixel = iy * p->nz + r.first;
	r.y = (iy - .5f * (p->ny - 1)) * pixel;
	return r;
}

/* Terms weight x value of a lane's row, without its root; their sum over the warp, with it. RATIO: terms are the
   weights. */
template <enum iso_strip_kernel KERNEL, bool EDGE, int COLUMNS, bool RATIO>
static __device__ float terms_of(float term[COLUMNS], const struct strip_params *p,
                                 const struct fast_row *row, const float *x)
{
	float sum = 0;

#pragma unroll
	for (int c = 0; c < COLUMNS; c++) {
		term[c] = weight<KERNEL>(row, (float)c) * (RATIO ? 1 : x[row->at + c]);
		if (EDGE && term[c] > 0) { /* the share of directions that meet both strips */
			struct strip_row r = ISO_ZERO;

			r.n0 = row->n0;
			r.tau0 = fmaf(fmaf(row->p1, (float)c, row->p0), row->lean,
			              row->t); /* at v = 0, below */
			term[c] *= strip_edge(&p->strips, &r, 0, row->y,
			                      (row->first + c - .5 * (p->nz - 1)) * p->pixel);
		}
		sum += RATIO ? term[c] * x[row->at + c] : term[c];
	}
	return iso_warp_sum(sum * row->root);
}

/* low += term x send. A term is below 2^TERM_BITS: from the half to overflow there is room for one
   of each warp, and each that meets a sum past the half moves it before it takes another event.
   Zeros are added too: a test for each would put the additions in line. */
template <int COLUMNS>
static __device__ void add_terms(const float term[COLUMNS], float send, unsigned *low,
                                 unsigned long long *acc)
{
	unsigned met = 0;

#pragma unroll
	for (int c = 0; c < COLUMNS; c++) met |= atomicAdd(low + c, __float2uint_rn(term[c] * send));
	if (met >> 31)
		for (int c = 0; c < COLUMNS; c++)
			if (term[c] > 0) atomicAdd(acc + c, (unsigned long long)atomicExch(low + c, 0));
}

/* What 32 bits hold of a sum with a sign: from here to overflow there is room for a term of each warp. */
#define HALF (1 << 30)
#define LARGE 0x1p26f /* terms from here on go to the image at once */

/* The same in a step of ratios: low += weight x u x send, in the columns that the image has; over: 1 / unit. */
template <int COLUMNS>
static __device__ void add_signed(const float weight[COLUMNS], float send, const struct strip_step *s,
                                  const struct fast_row *row, float over, unsigned *low, int64_t *count)
{
	unsigned long long *acc = s->acc.v + row->pixel;
	unsigned met = 0;

#pragma unroll
	for (int c = 0; c < COLUMNS; c++) {
		if (!(weight[c] > 0) || (unsigned)(row->first + c) >= (unsigned)s->m.p.nz) continue;
		float term = weight[c] * send * (s->u[row->pixel + c] * over);

		if (fabsf(term) < LARGE) {
			int old = (int)atomicAdd(low + c, (unsigned)__float2int_rn(term));

			met |= (unsigned)(old >= HALF || old <= -HALF) << c;
		} else {
			atomicAdd(acc + c,
			          (unsigned long long)__double2ll_rn(ratio_cut(term, s->limit, count)));
		}
	}
	for (; met; met &= met - 1) {
		int c = __ffs((int)met) - 1;

		atomicAdd(acc + c, (unsigned long long)(long long)(int)atomicExch(low + c, 0));
	}
}

/* The ratios of a warp's events, a lane each, over the unit of the image. */
struct ratios {
	float before, now;
	int64_t count; /* of terms that were cut */
};

/* Event j of a warp in a step of ratios, whose sum is ax. */
template <int COLUMNS>
static __device__ void send_ratio(struct ratios *r, int j, float ax, const struct prepared *e,
                                  const float weight[COLUMNS], const struct strip_step *s,
                                  const struct fast_row *row, const struct tile *image)
{
	float q = ax + e->add, now = e->count > 0 && q > 0 ? fminf(e->count * iso_over(q), FLT_MAX) : 0;
	float change = now - __shfl_sync(ISO_FULL_WARP, r->before, j);

	if (threadIdx.x % ISO_WARP == j) r->now = now;
	if (change != 0)
		add_signed<COLUMNS>(weight, change * e->factor * row->root * (float)s->acc.scale, s, row,
		                    1 / image->unit, image->low + row->at, &r->count);
}

/* The 32 events of a warp; ax of each goes to its lane. */
template <enum iso_strip_kernel KERNEL, bool EDGE, int COLUMNS, bool RATIO>
static __device__ float go_through(const struct strip_step *s, int n, const struct prepared *events,
                                   const struct tile *image, struct ratios *ratios)
{
	float mine = 0;

	for (int j = 0; j < n; j++) {
		struct prepared e = events[j];
		struct fast_row row = row_of<KERNEL>(&s->m.p, &e, image);
		float term[COLUMNS];
		float sum = terms_of<KERNEL, EDGE, COLUMNS, RATIO>(term, &s->m.p, &row, image->x);
		float ax = sum * e.factor;

		if (threadIdx.x % ISO_WARP == j) mine = ax;
		if (RATIO)
			send_ratio<COLUMNS>(ratios, j, ax, &e, term, s, &row, image);
		else if (sum > 0 && e.count > 0)
			add_terms<COLUMNS>(term, e.count * iso_over(ax + e.add) * e.factor * row.root,
			                   image->low + row.at, s->acc.v + row.pixel);
	}
	return mine;
}

/* The unit is the largest value of the image as a power of 2, or 1. Every block finds the same. */
static __device__ void load(struct tile *image, const struct strip_step *s)
{
	__shared__ unsigned most;
	int nz = s->m.p.nz, cells = s->m.p.ny * image->pitch;
	unsigned v = 0;

	if (threadIdx.x == 0) most = 0;
	__syncthreads();
	for (int i = threadIdx.x; i < s->m.p.ny * nz; i += THREADS)
		v = max(v, __float_as_uint(s->x[i])); /* not negative: ordered as integers */
	atomicMax(&most, v);
	__syncthreads();
	image->unit = most ? ldexpf(1, max(ilogbf(__uint_as_float(most)), -126)) : 1;
	for (int i = threadIdx.x; i < cells; i += THREADS) {
		int iy = i / image->pitch, iz = i % image->pitch - image->border;

		image->x[i] = iz >= 0 && iz < nz ? s->x[iy * nz + iz] / image->unit : 0;
		image->low[i] = 0;
	}
	__syncthreads();
}

/* Zeros for the columns of an ellipse that leaves the image, and BANK modulo 32. */
static __host__ __device__ int pitch_of(int nz, int columns)
{
	int least = nz + 2 * columns;

	return least + ((BANK - least) % 32 + 32) % 32;
}

/* Over the unit, a power of two: exact, but for what leaves the range of float. */
static __device__ void take_ratio(struct ratios *r, const struct strip_step *s, float unit, int64_t row,
                                  bool there)
{
	float rho = there ? s->ratio.rho[row] * unit : 0;

	r->before = fminf(fmaxf(rho, -FLT_MAX), FLT_MAX);
	r->now = 0;
}

static __device__ void leave_ratio(const struct ratios *r, const struct strip_step *s, float unit,
                                   int64_t row)
{
	if (!s->ratio.keep) s->ratio.rho[row] = fminf(r->now / unit, FLT_MAX);
}

template <enum iso_strip_kernel KERNEL, bool EDGE, int COLUMNS, bool RATIO>
static __global__ void __launch_bounds__(THREADS, 2) step(struct strip_step s)
{
	extern __shared__ float4 memory[];
	int lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP;
	struct prepared *e = (struct prepared *)memory + warp * ISO_WARP;
	struct tile image = { (float *)((struct prepared *)memory + THREADS), NULL,
		              pitch_of(s.m.p.nz, COLUMNS), COLUMNS, 1 };
	struct iso_em_stat stat = ISO_ZERO;
	struct ratios ratios = ISO_ZERO;
	int64_t batches = (s.rows.n + ISO_WARP - 1) / ISO_WARP;

	image.low = (unsigned *)(image.x + s.m.p.ny * image.pitch);
	load(&image, &s);
	for (int64_t b = blockIdx.x * WARPS + warp; b < batches; b += (int64_t)gridDim.x * WARPS) {
		int64_t row = s.rows.first + b * ISO_WARP + lane, end = s.rows.first + s.rows.n;
		int n = (int)min((int64_t)ISO_WARP, end - (row - lane));

		prepare(e + lane, &s, image.unit, row, row < end);
		if (RATIO) take_ratio(&ratios, &s, image.unit, row, row < end);
		__syncwarp();
		double ax = go_through<KERNEL, EDGE, COLUMNS, RATIO>(&s, n, e, &image, &ratios);

		if (row < end) em_respond(&stat, &s.d, row, ax * image.unit);
		if (RATIO && row < end) leave_ratio(&ratios, &s, image.unit, row);
		__syncwarp();
	}
	__syncthreads();
	for (int i = threadIdx.x, nz = s.m.p.nz; i < s.m.p.ny * nz; i += THREADS) {
		unsigned v = image.low[i / nz * image.pitch + image.border + i % nz];

		if (v)
			atomicAdd(s.acc.v + i,
			          RATIO ? (unsigned long long)(long long)(int)v : (unsigned long long)v);
	}
	em_leave_sums(s.stat, stat);
	if (RATIO) em_leave_integer(s.cut, ratios.count);
}

/* ---- launching ---- */

/* Of a row at its widest, sigma_z that of the strips' ends. */
static int columns_of(const struct strip_model *m)
{
	const struct iso_strips *s = &m->p.strips;
	double sigma_z = s->sigma_z * (1 + fmax(0., s->sigma_z_growth));
	double columns = 6 * sigma_z / sqrt(2.) / m->p.pixel + 1;

	return columns < NARROW + 1 ? NARROW : columns < WIDE + 1 ? WIDE : INT32_MAX;
}

static int bytes_of(const struct strip_model *m, int columns)
{
	return THREADS * (int)sizeof(struct prepared) + m->p.ny * pitch_of(m->p.nz, columns) * 8;
}

/* Lines are steepest at s = 1: half height 3 sigma_dl / 2. */
bool iso_strip_fast_serves(const iso_ctx *ctx, const struct strip_model *m)
{
	int most = 0, columns = columns_of(m);

	cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx->cuda_device);
	return columns <= WIDE && (int64_t)m->p.ny * m->p.nz < most / 8 &&
	       bytes_of(m, columns) + 1024 <= most && 3 * m->p.strips.sigma_dl / m->p.pixel + 1 <= ROWS;
}

template <enum iso_strip_kernel KERNEL, bool EDGE, int COLUMNS>
static int launch(const struct strip_step *s, iso_ctx *ctx)
{
	auto kernel = s->u ? step<KERNEL, EDGE, COLUMNS, true> : step<KERNEL, EDGE, COLUMNS, false>;
	int bytes = bytes_of(&s->m, COLUMNS), blocks = 0, sms = 0;
	cudaError_t e;

	if ((e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) ||
	    (e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, THREADS, bytes)) ||
	    (e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, ctx->cuda_device)))
		return iso_cuda_check("strip", e);
	blocks = blocks * sms < STRIP_BLOCKS ? blocks * sms : STRIP_BLOCKS;
	kernel<<<blocks, THREADS, bytes, iso_stream(ctx)>>>(*s);
	return iso_cuda_launched("strip step");
}

template <enum iso_strip_kernel KERNEL, bool EDGE>
static int launch_for_width(const struct strip_step *s, iso_ctx *ctx)
{
	return columns_of(&s->m) == NARROW ? launch<KERNEL, EDGE, NARROW>(s, ctx)
	                                   : launch<KERNEL, EDGE, WIDE>(s, ctx);
}

int iso_strip_fast_step(const struct strip_step *s, iso_ctx *ctx)
{
	return s->m.p.kernel == ISO_STRIP_EQ7   ? launch_for_width<ISO_STRIP_EQ7, false>(s, ctx)
	       : s->m.p.kernel != ISO_STRIP_TAN ? launch_for_width<ISO_STRIP_GAUSS, false>(s, ctx)
	       : s->m.p.edge                    ? launch_for_width<ISO_STRIP_TAN, true>(s, ctx)
	                                        : launch_for_width<ISO_STRIP_TAN, false>(s, ctx);
}
