/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel on CUDA. Forward, a thread has a transducer and a window of its trace in shared
   memory, laid out so that no two threads meet: a block walks bricks of voxels, adds their impulses
   to the windows, and adds each window to its own part of the traces; so nothing is atomic, and the
   order of every sum is fixed. The adjoint has a thread a voxel, which reads the traces of all
   transducers. Transforms are in double. */
#include "core/cuda.cuh"
#include "core/fft.h"
#include "svoxel.h"

#include <stdlib.h>

enum {
	GATHER_X = 8, GATHER_Y = 8, GATHER_Z = 16,	/* voxels of a block of the adjoint, */
	EACH = 4,					/* and of a thread, along z */
	GATHER = GATHER_X * GATHER_Y * GATHER_Z / EACH,
	VIEWS = 128,		/* of transducers, that a block holds at a time */
	SHARED_BYTES = 64000,	/* what every card since 2018 gives to a block, at most, */
	SHARED_WANTED = 36000,	/* and so little that several fit a multiprocessor */
};

struct svoxel_cuda {
	struct svoxel p;		/* its tables on the device */
	struct svoxel *host;		/* as made on the host */
	int edge, rows;			/* of a brick, of a window */
	int64_t bricks[3];
	int parts;			/* of the bricks, each with traces of its own */
};

struct svoxel_cuda_work {
	double *parts;			/* parts x n_trans x span */
	struct iso_fft *fft;		/* of a trace of each transducer */
	double *z;			/* n_trans periods of bins */
	double *spectrum;		/* n_trans x (bins/2 + 1) pairs */
	void *traces;			/* n_trans x span, float or (rectangles) double */
};

/* Traces and their sums: in double where impulses cancel. */
template <bool RECT> struct sum_type { typedef float t; };
template <> struct sum_type<true> { typedef double t; };

/* ---- a voxel ---- */

/* tap_{w-1-j}(s) = tap_j(-s): the even powers of both are one sum, the odd ones another; the middle tap
   has no odd ones. */
template <int W>
static __device__ __forceinline__ void weights(float (&w)[W], const struct svoxel_taps &t, float s)
{
	float ss = s * s;

#pragma unroll
	for (int j = 0; j < (W + 1) / 2; j++) {
		float even = t.c[SVOXEL_DEGREE - 1][j], odd = t.c[SVOXEL_DEGREE][j];

#pragma unroll
		for (int i = SVOXEL_DEGREE - 2; i > 0; i -= 2) {
			odd = fmaf(odd, ss, t.c[i][j]);
			even = fmaf(even, ss, t.c[i - 1][j]);
		}
		w[j] = 2 * j == W - 1 ? even : fmaf(odd, s, even);
		if (2 * j < W - 1)
			w[W - 1 - j] = fmaf(-odd, s, even);
	}
}

/* svoxel_delay, and 1/d. */
static __device__ __forceinline__ float delay(float d, float dd, float fraction, float bins_per_mm,
					      float excess, float *over_d)
{
	float square = dd + excess;

	*over_d = iso_over_root(square);
	return fmaf(excess * bins_per_mm, iso_over(fmaf(square, *over_d, d)), fraction);
}

/* svoxel_first for a width that is known: rounding up at 2^23 is quicker than a conversion. */
template <int W> static __device__ __forceinline__ int first_bin(float u, float *s)
{
	const float high = 12582912.f;
	float shifted = __fadd_ru(u - .5f * W, high);

	*s = fmaf(2.f, (shifted - high) - u, (float)(W - 1));
	return __float_as_int(shifted) - __float_as_int(high);
}

/* Half the delays across a rectangle, bins; the amplitude goes over their product. */
static __device__ __forceinline__ void across(const struct svoxel_view &v, float least, float ox,
					      float oy, float oz, float over_d, float *amplitude,
					      float *hx, float *hy)
{
	float x = v.x + ox * v.ex[0] + oy * v.ex[1] + oz * v.ex[2];
	float y = v.y + ox * v.ey[0] + oy * v.ey[1] + oz * v.ey[2];
	float tx = fmaxf(fabsf(x) * v.side_x * over_d, least);
	float ty = fmaxf(fabsf(y) * v.side_y * over_d, least);

	*hx = tx / 2;
	*hy = ty / 2;
	*amplitude *= iso_over(tx * ty);
}

/* ---- forward ---- */

struct brick {
	int64_t ix, iy, iz;	/* first voxel */
	int nx, ny, nz;
};

static __device__ int at_most(int64_t left, int edge)
{
	return left < edge ? (int)left : edge;
}

static __device__ struct brick brick_at(const struct svoxel_cuda &m, int64_t b)
{
	struct brick k;

	k.ix = b % m.bricks[0] * m.edge;
	k.iy = b / m.bricks[0] % m.bricks[1] * m.edge;
	k.iz = b / m.bricks[0] / m.bricks[1] * m.edge;
	k.nx = at_most(m.p.n[0] - k.ix, m.edge);
	k.ny = at_most(m.p.n[1] - k.iy, m.edge);
	k.nz = at_most(m.p.n[2] - k.iz, m.edge);
	return k;
}

/* The brick's values into shared memory; false in all threads if every one is 0. */
static __device__ bool fetch(float *voxel, const struct svoxel &p, const struct brick &b,
			     const float *x)
{
	bool any = false;

	for (int i = threadIdx.x; i < b.nx * b.ny * b.nz; i += blockDim.x) {
		int64_t iz = b.iz + i / b.nx / b.ny, iy = b.iy + i / b.nx % b.ny, ix = b.ix + i % b.nx;

		voxel[i] = x[(iz * p.n[1] + iy) * p.n[0] + ix];
		any |= voxel[i] != 0;
	}
	return __syncthreads_or(any);
}

static __device__ void middle(double from[3], const struct svoxel &p, const struct brick &b)
{
	from[0] = p.first[0] + ((double)b.ix + (b.nx - 1) / 2.) * p.ds;
	from[1] = p.first[1] + ((double)b.iy + (b.ny - 1) / 2.) * p.ds;
	from[2] = p.first[2] + ((double)b.iz + (b.nz - 1) / 2.) * p.ds;
}

/* window[bin][thread], of which this is the thread's own, from the bin of the view on. */
template <int W, bool RECT, class T>
static __device__ __forceinline__ void spread(T *window, const struct svoxel_taps &t, float u, float a)
{
	constexpr int threads = RECT ? SVOXEL_RECT_THREADS : SVOXEL_POINT_THREADS;
	float w[W], s;
	T *to = window + first_bin<W>(u, &s) * threads;

	weights<W>(w, t, s);
#pragma unroll
	for (int j = 0; j < W; j++)
		to[j * threads] += (T)(a * w[j]);
}

/* A row of voxels as one point of a transducer hears them; `beside` is the excess of their y and z. */
template <int W, bool RECT>
static __device__ __forceinline__ void hear_row(typename sum_type<RECT>::t *window,
						const struct svoxel_cuda &m, const struct svoxel_view &v,
						int n, float oy, float oz, float weight,
						const float *voxel)
{
	const float ds = (float)m.p.ds, per_mm = (float)m.p.bins_per_mm, x0 = -.5f * ds * (n - 1);
	const float beside = oy * (oy + v.r2[1]) + oz * (oz + v.r2[2]);

#pragma unroll 2
	for (int i = 0; i < n; i++) {
		float ox = x0 + ds * i, over_d, hx, hy;
		float u = delay(v.d, v.dd, v.fraction, per_mm, fmaf(ox, ox + v.r2[0], beside), &over_d);
		float a = weight * over_d * voxel[i];

		if (!RECT) {
			spread<W, RECT>(window, m.p.taps, u, a);
			continue;
		}
		across(v, (float)m.p.least, ox, oy, oz, over_d, &a, &hx, &hy);
		spread<W, RECT>(window, m.p.taps, u - (hx + hy), a);
		spread<W, RECT>(window, m.p.taps, u + (hx - hy), -a);
		spread<W, RECT>(window, m.p.taps, u - (hx - hy), -a);
		spread<W, RECT>(window, m.p.taps, u + (hx + hy), a);
	}
}

template <int W, bool RECT>
static __device__ __forceinline__ void hear(typename sum_type<RECT>::t *window,
					    const struct svoxel_cuda &m, const struct brick &b,
					    const struct svoxel_view &v, float weight, const float *voxel)
{
	float ds = (float)m.p.ds;

	for (int z = 0; z < b.nz; z++)
		for (int y = 0; y < b.ny; y++)
			hear_row<W, RECT>(window, m, v, b.nx, ds * (y - .5f * (b.ny - 1)),
					  ds * (z - .5f * (b.nz - 1)), weight,
					  voxel + (z * b.ny + y) * b.nx);
}

/* Bins of the window that lie outside of the trace were not touched. */
template <class T> static __device__ void flush(double *trace, int64_t span, int64_t first,
						T *window, int rows)
{
	for (int r = 0; r < rows; r++) {
		T v = window[r * (int)blockDim.x];

		window[r * (int)blockDim.x] = 0;
		if (v != 0 && first + r >= 0 && first + r < span)
			trace[first + r] += v;
	}
}

template <int W, bool RECT>
static __global__ void __launch_bounds__(RECT ? SVOXEL_RECT_THREADS : SVOXEL_POINT_THREADS)
forward_bricks(struct svoxel_cuda m, double *parts, const float *x)
{
	typedef typename sum_type<RECT>::t T;
	extern __shared__ double shared[];
	T *window = (T *)shared + threadIdx.x;
	float *voxel = (float *)((T *)shared + m.rows * (int)blockDim.x);
	int64_t q = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	int64_t bricks = m.bricks[0] * m.bricks[1] * m.bricks[2];
	double *trace = parts + (blockIdx.y * m.p.n_trans + q) * m.p.span;

	for (int r = 0; r < m.rows; r++)
		window[r * (int)blockDim.x] = 0;
	for (int64_t i = blockIdx.y; i < bricks; i += gridDim.y) {
		struct brick b = brick_at(m, i);
		double from[3], at[3];

		__syncthreads();	/* the brick before is done with */
		if (!fetch(voxel, m.p, b, x))
			continue;
		middle(from, m.p, b);
		for (int k = 0; q < m.p.n_trans && k < m.p.points; k++) {
			double weight = svoxel_point(at, &m.p, q, k);
			struct svoxel_view v = svoxel_view(&m.p, q, at, from);

			hear<W, RECT>(window + m.rows / 2 * (int)blockDim.x, m, b, v,
				      .159154943f * (float)weight, voxel);
			flush(trace, m.p.span, v.bin - m.p.low - m.rows / 2, window, m.rows);
		}
	}
}

/* ---- around the transforms: a block a transducer ---- */

/* One period of bins from the parts of a trace. */
static __global__ void to_periods(struct svoxel_cuda m, double *z, const double *parts)
{
	const struct svoxel &p = m.p;
	int64_t q = blockIdx.x;

	for (int64_t bin = threadIdx.x; bin < p.bins; bin += blockDim.x) {
		double sum = 0;

		for (int64_t i = (bin - p.low) & (p.bins - 1); i < p.span; i += p.bins)
			for (int k = 0; k < m.parts; k++)
				sum += parts[(k * p.n_trans + q) * p.span + i];
		z[q * p.bins + bin] = sum;
	}
}

static __global__ void to_lines(struct svoxel_cuda m, float *y, const double2 *spectrum)
{
	const struct svoxel &p = m.p;
	int64_t q = blockIdx.x;
	const double2 *from = spectrum + q * (p.bins / 2 + 1) + p.first_line;

	for (int64_t l = threadIdx.x; l < p.lines; l += blockDim.x) {
		double2 f = ((const double2 *)p.shaped)[l], a = from[l];

		y[2 * (q * p.lines + l)] = (float)(f.x * a.x - f.y * a.y);
		y[2 * (q * p.lines + l) + 1] = (float)(f.x * a.y + f.y * a.x);
	}
}

/* As to_trace of svoxel_fast.c: halves of the lines, since the transform adds their conjugates. */
static __global__ void to_spectra(struct svoxel_cuda m, double2 *spectrum, const float *y)
{
	const struct svoxel &p = m.p;
	int64_t q = blockIdx.x, all = p.bins / 2 + 1;

	for (int64_t line = threadIdx.x; line < all; line += blockDim.x) {
		int64_t l = line - p.first_line;
		double2 v = make_double2(0, 0);

		if (l >= 0 && l < p.lines) {
			double2 f = ((const double2 *)p.shaped)[l];
			double re = y[2 * (q * p.lines + l)] / 2., im = y[2 * (q * p.lines + l) + 1] / 2.;

			v = make_double2(f.x * re + f.y * im, f.x * im - f.y * re);
		}
		spectrum[q * all + line] = v;
	}
}

template <class T> static __global__ void to_traces(struct svoxel_cuda m, T *traces, const double *z)
{
	const struct svoxel &p = m.p;
	int64_t q = blockIdx.x;

	for (int64_t i = threadIdx.x; i < p.span; i += blockDim.x)
		traces[q * p.span + i] = (T)z[q * p.bins + ((p.low + i) & (p.bins - 1))];
}

/* ---- adjoint ---- */

template <int W, class T>
static __device__ __forceinline__ T gather(const T *trace, const struct svoxel_taps &t, float u)
{
	float w[W], s;
	const T *from = trace + first_bin<W>(u, &s);
	T sum = 0;

	weights<W>(w, t, s);
#pragma unroll
	for (int j = 0; j < W; j++)
		sum += __ldg(from + j) * (T)w[j];
	return sum;
}

/* What a voxel at offset o owes to one point of a transducer, but for the point's weight. */
template <int W, bool RECT>
static __device__ __forceinline__ float owed(const struct svoxel &p, const struct svoxel_view &v, float ox,
					     float oy, float oz, float excess,
					     const typename sum_type<RECT>::t *trace)
{
	float over_d, hx, hy;
	float u = delay(v.d, v.dd, v.fraction, (float)p.bins_per_mm, excess, &over_d), a = over_d;

	if (!RECT)
		return a * (float)gather<W>(trace, p.taps, u);
	across(v, (float)p.least, ox, oy, oz, over_d, &a, &hx, &hy);
	return a * (float)((gather<W>(trace, p.taps, u - (hx + hy)) -
			    gather<W>(trace, p.taps, u + (hx - hy))) -
			   (gather<W>(trace, p.taps, u - (hx - hy)) -
			    gather<W>(trace, p.taps, u + (hx + hy))));
}

/* A thread's voxels stand above each other, so many apart. */
struct column {
	float x, y, z[EACH];	/* offsets from the middle of the block */
};

template <int W, bool RECT>
static __device__ __forceinline__ void
owe(float (&sum)[EACH], const struct svoxel &p, const struct svoxel_view &v, float weight,
    const struct column &c, const typename sum_type<RECT>::t *traces)
{
	const typename sum_type<RECT>::t *trace = traces + v.bin;
	float beside = c.x * (c.x + v.r2[0]) + c.y * (c.y + v.r2[1]);

#pragma unroll
	for (int i = 0; i < EACH; i++)
		sum[i] += weight * owed<W, RECT>(p, v, c.x, c.y, c.z[i],
						 fmaf(c.z[i], c.z[i] + v.r2[2], beside), trace);
}

/* Views of the next transducers; v.bin counts from the first trace's first bin. */
static __device__ void look(struct svoxel_view *view, float *weight, const struct svoxel &p, int64_t first,
			    int n, const double from[3])
{
	for (int k = threadIdx.x; k < n; k += blockDim.x) {
		int64_t i = first + k, q = i / p.points;
		double at[3];

		weight[k] = .159154943f * (float)svoxel_point(at, &p, q, (int)(i % p.points));
		view[k] = svoxel_view(&p, q, at, from);
		view[k].bin += q * p.span - p.low;
	}
}

template <int W, bool RECT>
static __global__ void __launch_bounds__(GATHER)
adjoint_voxels(struct svoxel_cuda m, float *x, const typename sum_type<RECT>::t *traces)
{
	__shared__ struct svoxel_view view[VIEWS];
	__shared__ float weight[VIEWS];
	const struct svoxel &p = m.p;
	const int step = GATHER_Z / EACH;
	int tx = threadIdx.x % GATHER_X, ty = threadIdx.x / GATHER_X % GATHER_Y;
	int tz = threadIdx.x / GATHER_X / GATHER_Y;
	int64_t ix = blockIdx.x * (int64_t)GATHER_X + tx, iy = blockIdx.y * (int64_t)GATHER_Y + ty;
	int64_t iz = blockIdx.z * (int64_t)GATHER_Z + tz, all = p.n_trans * p.points;
	float ds = (float)p.ds;
	struct column c = { ds * (tx - (GATHER_X - 1) / 2.f), ds * (ty - (GATHER_Y - 1) / 2.f), { } };
	double from[3] = {
		p.first[0] + ((double)(blockIdx.x * (int64_t)GATHER_X) + (GATHER_X - 1) / 2.) * p.ds,
		p.first[1] + ((double)(blockIdx.y * (int64_t)GATHER_Y) + (GATHER_Y - 1) / 2.) * p.ds,
		p.first[2] + ((double)(blockIdx.z * (int64_t)GATHER_Z) + (GATHER_Z - 1) / 2.) * p.ds,
	};
	bool inside = ix < p.n[0] && iy < p.n[1];
	double total[EACH] = { };

	for (int i = 0; i < EACH; i++)	/* what lies beyond the image stands at its edge, and is not kept */
		c.z[i] = ds * (min((int64_t)(tz + i * step), p.n[2] - 1 - blockIdx.z * (int64_t)GATHER_Z) -
			       (GATHER_Z - 1) / 2.f);
	for (int64_t first = 0; first < all; first += VIEWS) {
		int n = all - first < VIEWS ? (int)(all - first) : VIEWS;
		float sum[EACH] = { };

		__syncthreads();	/* the views before are done with */
		look(view, weight, p, first, n, from);
		__syncthreads();
		for (int k = 0; inside && k < n; k++)
			owe<W, RECT>(sum, p, view[k], weight[k], c, traces);
		for (int i = 0; i < EACH; i++)
			total[i] += sum[i];
	}
	for (int i = 0; i < EACH; i++)
		if (inside && iz + i * step < p.n[2])
			x[((iz + i * step) * p.n[1] + iy) * p.n[0] + ix] = (float)total[i];
}

/* ---- launches ---- */

static int threads_of(const struct svoxel *p)
{
	/* rectangles have windows in double */
	return p->sir == ISO_SIR_RECT ? SVOXEL_RECT_THREADS : SVOXEL_POINT_THREADS;
}

static int groups_of(const struct svoxel *p)
{
	return (int)((p->n_trans + threads_of(p) - 1) / threads_of(p));
}

static int64_t shared_of(const struct svoxel *p, int edge, int rows)
{
	int64_t item = p->sir == ISO_SIR_RECT ? sizeof(double) : sizeof(float);

	return (int64_t)rows * threads_of(p) * item + (int64_t)edge * edge * edge * (int64_t)sizeof(float);
}

template <int W, bool RECT>
static int launch_forward(const iso_op *op, const struct svoxel_cuda *m, double *parts,
			  const float *x)
{
	dim3 grid((unsigned)groups_of(&m->p), (unsigned)m->parts);
	size_t shared = (size_t)shared_of(&m->p, m->edge, m->rows);
	int st = iso_cuda_check("svoxel shared memory", cudaFuncSetAttribute(
		forward_bricks<W, RECT>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));

	if (st)
		return st;
	forward_bricks<W, RECT><<<grid, threads_of(&m->p), shared, iso_stream(op->ctx)>>>(*m, parts,
											  x);
	return iso_cuda_launched("svoxel forward");
}

template <int W, bool RECT>
static int launch_adjoint(const iso_op *op, const struct svoxel_cuda *m, float *x,
			  const void *traces)
{
	const int64_t *n = m->p.n;
	dim3 grid((unsigned)((n[0] + GATHER_X - 1) / GATHER_X),
		  (unsigned)((n[1] + GATHER_Y - 1) / GATHER_Y),
		  (unsigned)((n[2] + GATHER_Z - 1) / GATHER_Z));

	adjoint_voxels<W, RECT><<<grid, GATHER, 0, iso_stream(op->ctx)>>>(
		*m, x, (const typename sum_type<RECT>::t *)traces);
	return iso_cuda_launched("svoxel adjoint");
}

/* Blocks of the forward that the device holds at once. */
template <int W, bool RECT> static int residents(const struct svoxel_cuda *m)
{
	int each = 0, processors = 0, device = 0;

	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	cudaFuncSetAttribute(forward_bricks<W, RECT>, cudaFuncAttributeMaxDynamicSharedMemorySize,
			     SHARED_BYTES);
	cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, forward_bricks<W, RECT>, threads_of(&m->p),
						      (size_t)shared_of(&m->p, m->edge, m->rows));
	return each * processors;
}

/* One kernel for each width of taps and kind of transducer. */
#define EACH_WIDTH(call, rect)                                                               \
	switch (m->p.taps.width) {                                                           \
	case 4: return call<4, rect>;                                                        \
	case 5: return call<5, rect>;                                                        \
	case 6: return call<6, rect>;                                                        \
	case 7: return call<7, rect>;                                                        \
	default: return call<8, rect>;                                                       \
	}

typedef int (*forward_launch)(const iso_op *, const struct svoxel_cuda *, double *, const float *);
typedef int (*adjoint_launch)(const iso_op *, const struct svoxel_cuda *, float *, const void *);

static int (*residents_of(const struct svoxel_cuda *m))(const struct svoxel_cuda *)
{
	if (m->p.sir == ISO_SIR_RECT)
		EACH_WIDTH(residents, true)
	EACH_WIDTH(residents, false)
}

static forward_launch forward_of(const struct svoxel_cuda *m)
{
	if (m->p.sir == ISO_SIR_RECT)
		EACH_WIDTH(launch_forward, true)
	EACH_WIDTH(launch_forward, false)
}

static adjoint_launch adjoint_of(const struct svoxel_cuda *m)
{
	if (m->p.sir == ISO_SIR_RECT)
		EACH_WIDTH(launch_adjoint, true)
	EACH_WIDTH(launch_adjoint, false)
}

static int forward(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct svoxel_cuda *m = (const struct svoxel_cuda *)op->data;
	struct svoxel_cuda_work *w = (struct svoxel_cuda_work *)op->work;
	unsigned blocks = (unsigned)m->p.n_trans;
	size_t bytes = (size_t)(m->parts * m->p.n_trans * m->p.span) * sizeof *w->parts;
	int st = iso_cuda_check("clear", cudaMemsetAsync(w->parts, 0, bytes, iso_stream(op->ctx)));

	if (st || (st = forward_of(m)(op, m, w->parts, x)))
		return st;
	to_periods<<<blocks, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, w->z, w->parts);
	if ((st = iso_cuda_launched("svoxel periods")) ||
	    (st = iso_fft_forward_double(w->fft, w->spectrum, w->z)))
		return st;
	to_lines<<<blocks, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, y, (double2 *)w->spectrum);
	return iso_cuda_launched("svoxel lines");
}

static int adjoint(const iso_op *op, int, iso_real *x, const iso_real *y)
{
	const struct svoxel_cuda *m = (const struct svoxel_cuda *)op->data;
	struct svoxel_cuda_work *w = (struct svoxel_cuda_work *)op->work;
	unsigned blocks = (unsigned)m->p.n_trans;
	int st;

	to_spectra<<<blocks, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, (double2 *)w->spectrum, y);
	if ((st = iso_cuda_launched("svoxel spectra")) ||
	    (st = iso_fft_inverse_double(w->fft, w->z, w->spectrum)))
		return st;
	if (m->p.sir == ISO_SIR_RECT)
		to_traces<<<blocks, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, (double *)w->traces, w->z);
	else
		to_traces<<<blocks, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, (float *)w->traces, w->z);
	if ((st = iso_cuda_launched("svoxel traces")))
		return st;
	return adjoint_of(m)(op, m, x, w->traces);
}

/* ---- memory ---- */

static void close_work(iso_op *op)
{
	struct svoxel_cuda_work *w = (struct svoxel_cuda_work *)op->work;

	cudaFree(w->parts);
	cudaFree(w->z);
	cudaFree(w->spectrum);
	iso_fft_free(w->fft);
	cudaFree(w->traces);
	free(w);
}

static int open_work(iso_op *op)
{
	const struct svoxel_cuda *m = (const struct svoxel_cuda *)op->data;
	struct svoxel_cuda_work *w = (struct svoxel_cuda_work *)calloc(1, sizeof *w);
	const struct iso_vec *v = op->ctx->vec;
	int64_t n = m->p.n_trans, trace = n * m->p.span * (int64_t)sizeof(double);
	int st;

	if (!w)
		return iso_fail_memory("svoxel", sizeof *w);
	op->work = w;	/* from here close_work cleans up */
	if ((st = v->alloc(op->ctx, (void **)&w->parts, m->parts * trace))) return st;
	if ((st = v->alloc(op->ctx, (void **)&w->z, n * m->p.bins * (int64_t)sizeof *w->z))) return st;
	if ((st = v->alloc(op->ctx, (void **)&w->spectrum, n * (m->p.bins + 2) * (int64_t)sizeof *w->z)))
		return st;
	if ((st = v->alloc(op->ctx, &w->traces, trace))) return st;
	return iso_fft_create_double(&w->fft, op->ctx, m->p.bins, n);
}

static void free_tables(iso_op *op)
{
	struct svoxel_cuda *m = (struct svoxel_cuda *)op->data;
	double *const table[] = { m->p.pos, m->p.ex, m->p.ey, m->p.side, m->p.shaped };
	iso_op on_host = *op;

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		cudaFree(table[i]);
	on_host.data = m->host;
	iso_svoxel_free(&on_host);
	free(m);
}

static const struct iso_op_fn svoxel_fn_cuda = {
	forward, adjoint, NULL, NULL, NULL, open_work, close_work, free_tables, NULL,
};

/* The greatest sine of the angle under which a transducer sees a voxel off its axis: no voxel is further
   than `reach` from the image's middle. 1 where it is not known to be less. */
static double widest(const struct svoxel *p, int64_t q)
{
	const double *ex = p->ex + 3 * q, *ey = p->ey + 3 * q;
	double x = 0, y = 0, square = 0, reach = 0;

	for (int a = 0; a < 3; a++) {
		double half = .5 * (double)(p->n[a] - 1) * p->ds, r = p->first[a] + half - p->pos[3 * q + a];

		x += r * ex[a];
		y += r * ey[a];
		square += r * r;
		reach += half * half;
	}
	double d = sqrt(square), off = sqrt(x * x + y * y) / d, far = sqrt(reach) / d;

	return off < 1 && far < 1 && asin(off) + asin(far) < 1.5 ? sin(asin(off) + asin(far)) : 1;
}

/* Rows that hold the delays across a brick, those of a rectangle and the taps, on both sides. */
static int rows_of(const struct svoxel *p, int edge)
{
	double reach = sqrt(3.) / 2 * edge * p->ds, side = 0;

	for (int64_t q = 0; p->sir == ISO_SIR_RECT && q < p->n_trans; q++)
		side = fmax(side, widest(p, q) * (p->side[2 * q] + p->side[2 * q + 1]));
	return 2 * ((int)ceil((reach + side / 2) * p->bins_per_mm + p->least) + SVOXEL_TAPS / 2 + 3);
}

static int shape_bricks(struct svoxel_cuda *m)
{
	static const int edges[] = { 16, 12, 8, 4, 2, 1 };
	const int n = sizeof edges / sizeof edges[0];
	const struct svoxel *p = m->host;
	int64_t bricks = 1, most = svoxel_parts(p->n_trans, p->span, threads_of(p)), bytes = 0;

	for (int i = 0; i < n; i++) {
		m->edge = edges[i];
		m->rows = rows_of(p, m->edge);
		bytes = shared_of(p, m->edge, m->rows);
		if (bytes <= SHARED_WANTED || (m->edge <= 8 && bytes <= SHARED_BYTES))
			break;
	}
	if (bytes > SHARED_BYTES)
		return iso_fail(ISO_EARG, "svoxel: voxels of %g mm, or apertures, span %d bins of delay; too "
				"many for shared memory", p->ds, m->rows);
	for (int a = 0; a < 3; a++)
		bricks *= m->bricks[a] = (p->n[a] + m->edge - 1) / m->edge;
	/* all blocks have the same work: as many as run at once */
	int64_t parts = residents_of(m)(m) / groups_of(p);

	parts = parts < bricks ? parts : bricks;
	parts = parts < most ? parts : most;
	m->parts = (int)(parts > 1 ? parts : 1);
	return ISO_OK;
}

/* n numbers to the device; on failure there is none. */
static int upload(iso_ctx *ctx, double **v, int64_t n)
{
	const double *from = *v;
	int st;

	*v = NULL;
	if ((st = ctx->vec->alloc(ctx, (void **)v, n * (int64_t)sizeof **v))) return st;
	return ctx->vec->upload(ctx, *v, from, n * (int64_t)sizeof **v);
}

static int upload_all(iso_ctx *ctx, struct svoxel *p)
{
	int64_t n = p->n_trans;
	int st = upload(ctx, &p->pos, 3 * n), next;

	/* each replaces its pointer, also after a failure: none of the host's is left */
	if ((next = upload(ctx, &p->ex, 3 * n))) st = next;
	if ((next = upload(ctx, &p->ey, 3 * n))) st = next;
	if ((next = upload(ctx, &p->side, 2 * n))) st = next;
	if ((next = upload(ctx, &p->shaped, 2 * p->lines))) st = next;
	p->factor = NULL;
	return st;
}

extern "C" int iso_svoxel_to_cuda(iso_op *op)
{
	struct svoxel_cuda *m = (struct svoxel_cuda *)calloc(1, sizeof *m);
	int st;

	if (!m)
		return iso_fail_memory("svoxel", sizeof *m);
	m->host = (struct svoxel *)op->data;
	m->p = *m->host;
	if ((st = shape_bricks(m))) {
		free(m);
		return st;
	}
	st = upload_all(op->ctx, &m->p);
	op->data = m;	/* from here free_tables cleans up */
	op->fn = &svoxel_fn_cuda;
	return st;
}
