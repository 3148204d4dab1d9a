/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel on CUDA with a narrow kernel: between voxels and traces of delays in svoxel_narrow_forward.cuh and
   svoxel_narrow_adjoint.cuh; between traces and lines by transforms, image by image, since a transform of another number
   of rows might be rounded otherwise. They are in float, but for rectangles, whose low lines are small differences. */
#include "core/fft/fft.h"
#include "svoxel_narrow_adjoint.cuh"
#include "svoxel_narrow_forward.cuh"

#include <limits.h>

/* Shared memory of a forward block that leaves an H200 room for three blocks on a processor, with rectangles for two. */
enum { SHARED = 72000, SHARED_RECT = 110000, OWN_SHARED = 16 << 10 /* which kernels have beside */ };

struct narrow_work {
	unsigned long long *traces; /* batch x own transducers x span: whole numbers */
	unsigned *loudest;          /* of each image */
	struct iso_fft *fft;        /* of a trace of each transducer */
	void *z, *imaginary; /* batch x n_trans periods of bins; the second where lines have an offset */
	void *spectrum;      /* batch x n_trans x (bins/2 + 1) pairs */
	void *terms;         /* batch x n_trans x span cells */
	float *packed;       /* of core/loop/bricks.cuh */
};

/* ---- around the transforms: a block a transducer, an image along y; forward, of this rank's ---- */

/* One period of bins from a trace; where lines have an offset, the real or the imaginary part of its product with
   exp(-j 2 pi offset t). */
template <class R>
static __global__ void to_periods(struct svoxel_narrow m, R *z, const unsigned long long *traces,
                                  const unsigned *loudest, bool imaginary)
{
	const struct svoxel &p = m.p;
	const int64_t own = blockIdx.x, row = blockIdx.y * p.n_trans + m.own.first + own;
	const long long *from = (const long long *)traces + (blockIdx.y * m.own.n + own) * p.span;
	const unsigned most = loudest[blockIdx.y];
	const double scale = most < 0x7f800000u ? ldexp(1., -whole_bits(m, most)) : NAN;

	for (int64_t bin = threadIdx.x; bin < p.bins; bin += blockDim.x) {
		double sum = 0;

		for (int64_t i = svoxel_wrap(&p, bin - p.low); i < p.span; i += p.bins) {
			double v = (double)from[i];

			if (p.turn) v *= imaginary ? -p.turn[2 * i + 1] : p.turn[2 * i];
			sum += v;
		}
		z[row * p.bins + bin] = (R)(sum * scale);
	}
}

/* `imaginary`: the spectrum is that of an imaginary part, which is added to the lines. */
template <class R>
static __global__ void to_lines(struct svoxel_narrow m, float *y, const R *spectrum, bool imaginary)
{
	const struct svoxel &p = m.p;
	const int64_t row = blockIdx.y * p.n_trans + m.own.first + blockIdx.x;
	const R *from = spectrum + 2 * (row * (p.bins / 2 + 1) + p.first_line);

	for (int64_t l = threadIdx.x; l < p.lines; l += blockDim.x) {
		double2 f = ((const double2 *)p.shaped)[l], a = make_double2(from[2 * l], from[2 * l + 1]);
		float *to = y + 2 * (row * p.lines + l);

		if (imaginary) {
			to[0] = (float)(to[0] - (f.x * a.y + f.y * a.x));
			to[1] = (float)(to[1] + (f.x * a.x - f.y * a.y));
		} else {
			to[0] = (float)(f.x * a.x - f.y * a.y);
			to[1] = (float)(f.x * a.y + f.y * a.x);
		}
	}
}

/* Halves of the lines, since the transform adds their conjugates, but of number 0. */
template <class R>
static __global__ void to_spectra(struct svoxel_narrow m, R *spectrum, const float *y, bool imaginary)
{
	const struct svoxel &p = m.p;
	const int64_t row = blockIdx.y * p.n_trans + blockIdx.x, all = p.bins / 2 + 1;

	for (int64_t line = threadIdx.x; line < all; line += blockDim.x) {
		int64_t l = line - p.first_line;
		double2 v = make_double2(0, 0);

		if (l >= 0 && l < p.lines) {
			double2 f = ((const double2 *)p.shaped)[l];
			double half = line > 0 ? .5 : 1;
			double re = y[2 * (row * p.lines + l)] * half,
			       im = y[2 * (row * p.lines + l) + 1] * half;

			v = make_double2(f.x * re + f.y * im, f.x * im - f.y * re);
			if (imaginary) v = make_double2(v.y, -v.x);
		}
		spectrum[2 * (row * all + line)] = (R)v.x;
		spectrum[2 * (row * all + line) + 1] = (R)v.y;
	}
}

/* ---- launches ---- */

typedef void (*forward_kernel)(struct svoxel_narrow, unsigned long long *, const unsigned *, const float *);
typedef void (*adjoint_kernel)(struct svoxel_narrow, struct iso_bricks, int64_t, float *, const void *);

static bool is_rect(const struct svoxel_narrow *m)
{
	return m->host->sir == ISO_SIR_RECT;
}

static bool is_flat(const struct svoxel *p)
{
	return p->n[2] == 1;
}

/* Four taps are there for what QUICK is too coarse for; rectangles have four. */
static forward_kernel forward_of(const struct svoxel_narrow *m)
{
	static const forward_kernel made[][2] = {
		{ forward_narrow<2, NARROW_QUICK>, forward_narrow<2, NARROW_EXACT> },
		{ forward_narrow<3, NARROW_QUICK>, forward_narrow<3, NARROW_EXACT> },
		{ forward_narrow<4, NARROW_EXACT>, forward_narrow<4, NARROW_EXACT> },
	};

	return is_rect(m) ? forward_narrow<4, NARROW_RECT> : made[m->p.taps.width - 2][m->kind];
}

template <int W, narrow_kind KIND> static adjoint_kernel adjoint_for(bool flat)
{
	return flat ? adjoint_narrow<W, KIND, true> : adjoint_narrow<W, KIND, false>;
}

static adjoint_kernel adjoint_of(const struct svoxel_narrow *m)
{
	bool flat = is_flat(m->host), quick = m->kind == NARROW_QUICK;

	if (is_rect(m)) return adjoint_for<4, NARROW_RECT>(flat);
	switch (m->p.taps.width) {
	case 2:
		return quick ? adjoint_for<2, NARROW_QUICK>(flat) : adjoint_for<2, NARROW_EXACT>(flat);
	case 3:
		return quick ? adjoint_for<3, NARROW_QUICK>(flat) : adjoint_for<3, NARROW_EXACT>(flat);
	default:
		return adjoint_for<4, NARROW_EXACT>(flat);
	}
}

/* Bytes of shared memory of a block that are not the same for all. */
static int64_t shared_of(const struct svoxel_narrow *m)
{
	switch (m->p.taps.width) {
	case 2:
		return forward_bytes<2>(m->window.rows, m->brick);
	case 3:
		return forward_bytes<3>(m->window.rows, m->brick);
	default:
		return forward_bytes<4>(m->window.rows, m->brick);
	}
}

static int64_t cell_bytes(const struct svoxel *p)
{
	return (int64_t)(p->taps.width == 2 ? sizeof(cell<2>) : sizeof(cell<4>));
}

static int64_t shared_back(const struct svoxel_narrow *m)
{
	return TEAM * m->window_back.rows * cell_bytes(&m->p);
}

template <class shape> static struct iso_bricks bricks_of(const iso_ctx *ctx, const struct svoxel *p)
{
	return iso_bricks(ctx, p->n, shape::X, shape::Y, shape::Z);
}

static struct iso_bricks gather_bricks(const iso_ctx *ctx, const struct svoxel *p)
{
	return is_flat(p) ? bricks_of<struct gather_shape<true>>(ctx, p)
	                  : bricks_of<struct gather_shape<false>>(ctx, p);
}

/* ---- the operator ---- */

static int64_t voxels(const struct svoxel *p)
{
	return p->n[0] * p->n[1] * p->n[2];
}

/* A step of the transforms of all images. */
static int transform_all(const struct svoxel_narrow *m, struct narrow_work *w, bool back, void *z)
{
	int64_t real = is_rect(m) ? sizeof(double) : sizeof(float), n = m->p.n_trans;
	int st = ISO_OK;

	for (int64_t b = 0; b < m->p.batch && !st; b++) {
		char *bins = (char *)z + b * n * m->p.bins * real;
		char *lines = (char *)w->spectrum + b * n * (m->p.bins + 2) * real;

		st = back ? iso_fft_inverse(w->fft, bins, lines) : iso_fft_forward(w->fft, lines, bins);
	}
	return st;
}

template <class R> static int to_all_lines(const iso_op *op, float *y, bool imaginary)
{
	const struct svoxel_narrow *m = (const struct svoxel_narrow *)op->data;
	struct narrow_work *w = (struct narrow_work *)op->work;
	dim3 grid((unsigned)m->own.n, (unsigned)m->p.batch);
	cudaStream_t stream = iso_stream(op->ctx);
	int st;

	to_periods<<<grid, ISO_THREADS, 0, stream>>>(*m, (R *)w->z, w->traces, w->loudest, imaginary);
	if ((st = iso_cuda_launched("svoxel periods")) || (st = transform_all(m, w, false, w->z))) return st;
	to_lines<<<grid, ISO_THREADS, 0, stream>>>(*m, y, (const R *)w->spectrum, imaginary);
	return iso_cuda_launched("svoxel lines");
}

static int lines_of(const iso_op *op, float *y, bool imaginary)
{
	return is_rect((const struct svoxel_narrow *)op->data) ? to_all_lines<double>(op, y, imaginary)
	                                                       : to_all_lines<float>(op, y, imaginary);
}

/* The lines of this rank's transducers. */
static int forward_own(const iso_op *op, iso_real *y, const iso_real *x)
{
	const struct svoxel_narrow *m = (const struct svoxel_narrow *)op->data;
	struct narrow_work *w = (struct narrow_work *)op->work;
	const int64_t batch = m->p.batch, groups = (m->own.n + ISO_WARP - 1) / ISO_WARP;
	cudaStream_t stream = iso_stream(op->ctx);
	size_t bytes = (size_t)(batch * m->own.n * m->p.span) * sizeof *w->traces;
	dim3 grid((unsigned)(groups * m->bricks[0] * m->bricks[1] * m->bricks[2]), (unsigned)batch);
	int st;

	if (m->own.n == 0) return ISO_OK;
	if ((st = iso_cuda_check("clear", cudaMemsetAsync(w->traces, 0, bytes, stream))) ||
	    (st = iso_cuda_check("clear",
	                         cudaMemsetAsync(w->loudest, 0, (size_t)batch * sizeof *w->loudest, stream))))
		return st;
	find_loudest<<<dim3((unsigned)iso_blocks(voxels(&m->p)), (unsigned)batch), ISO_THREADS, 0, stream>>>(
		w->loudest, voxels(&m->p), x);
	forward_of(m)<<<grid, HEARERS * ISO_WARP, (size_t)shared_of(m), stream>>>(*m, w->traces, w->loudest,
	                                                                          x);
	if ((st = iso_cuda_launched("svoxel forward")) || (st = lines_of(op, y, false))) return st;
	return m->p.turn ? lines_of(op, y, true) : ISO_OK;
}

static int forward(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct svoxel *p = ((const struct svoxel_narrow *)op->data)->host;
	int64_t row = 2 * p->lines;
	int st = forward_own(op, y, x);

	for (int64_t b = 0; b < p->batch; b++)
		st = iso_comm_gather(op->ctx, st, y + b * p->n_trans * row, p->n_trans,
		                     row * (int64_t)sizeof *y);
	return st;
}

template <class R> static int to_all_terms(const iso_op *op, const float *y)
{
	const struct svoxel_narrow *m = (const struct svoxel_narrow *)op->data;
	struct narrow_work *w = (struct narrow_work *)op->work;
	dim3 grid((unsigned)m->p.n_trans, (unsigned)m->p.batch);
	unsigned rows = grid.x * grid.y;
	cudaStream_t stream = iso_stream(op->ctx);
	void *z[2] = { w->z, w->imaginary };
	int st;

	for (int i = 0; i < (w->imaginary ? 2 : 1); i++) {
		to_spectra<<<grid, ISO_THREADS, 0, stream>>>(*m, (R *)w->spectrum, y, i == 1);
		if ((st = iso_cuda_launched("svoxel spectra")) || (st = transform_all(m, w, true, z[i])))
			return st;
	}
	const R *re = (const R *)w->z, *im = (const R *)w->imaginary;

	switch (m->p.taps.width) {
	case 2:
		to_terms<2><<<rows, ISO_THREADS, 0, stream>>>(*m, (cell<2> *)w->terms, re, im);
		break;
	case 3:
		to_terms<3><<<rows, ISO_THREADS, 0, stream>>>(*m, (cell<3> *)w->terms, re, im);
		break;
	default:
		to_terms<4><<<rows, ISO_THREADS, 0, stream>>>(*m, (cell<4> *)w->terms, re, im);
	}
	return iso_cuda_launched("svoxel terms");
}

/* This rank's bricks of n images. */
static int gather(const iso_op *op, iso_real *x, const struct iso_bricks &b, int64_t first, int64_t n)
{
	const struct svoxel_narrow *m = (const struct svoxel_narrow *)op->data;
	struct narrow_work *w = (struct narrow_work *)op->work;
	dim3 grid((unsigned)b.own.n, (unsigned)n);

	if (b.own.n == 0) return ISO_OK;
	adjoint_of(m)<<<grid, GATHERERS, (size_t)shared_back(m), iso_stream(op->ctx)>>>(*m, b, first, x,
	                                                                                w->terms);
	return iso_cuda_launched("svoxel adjoint");
}

/* All images at once; several ranks take one after the other. */
static int adjoint(const iso_op *op, int, iso_real *x, const iso_real *y)
{
	const struct svoxel_narrow *m = (const struct svoxel_narrow *)op->data;
	struct iso_bricks b = gather_bricks(op->ctx, m->host);
	int64_t batch = m->p.batch, n = voxels(&m->p);
	int st = is_rect(m) ? to_all_terms<double>(op, y) : to_all_terms<float>(op, y);

	b.packed = ((const struct narrow_work *)op->work)->packed;
	if (!b.packed) return iso_comm_agree(op->ctx, st ? st : gather(op, x, b, 0, batch));
	for (int64_t i = 0; i < batch; i++)
		st = iso_bricks_gather(x + i * n, b, op->ctx, st ? st : gather(op, x, b, i, 1));
	return st;
}

static void close_work(iso_op *op)
{
	iso_fft_free(((struct narrow_work *)op->work)->fft);
}

static int open_work(iso_op *op)
{
	const struct svoxel_narrow *m = (const struct svoxel_narrow *)op->data;
	struct narrow_work *w = (struct narrow_work *)op->work;
	int64_t n = m->p.n_trans, all = n * m->p.batch, own = m->own.n > 0 ? m->own.n : 1;
	int64_t real = is_rect(m) ? sizeof(double) : sizeof(float);

	ISO_DEVICE(&op->room, w->traces, m->p.batch * own * m->p.span);
	ISO_DEVICE(&op->room, w->loudest, m->p.batch);
	w->z = iso_room_device(&op->room, all * m->p.bins, real);
	if (m->p.turn) w->imaginary = iso_room_device(&op->room, all * m->p.bins, real);
	w->spectrum = iso_room_device(&op->room, all * (m->p.bins + 2), real);
	w->terms = iso_room_device(&op->room, all * m->p.span, cell_bytes(&m->p));
	w->packed = iso_bricks_room(&op->room, gather_bricks(op->ctx, m->host));
	if (op->room.status) return op->room.status;
	return is_rect(m) ? iso_fft_create_double(&w->fft, op->ctx, m->p.bins, n)
	                  : iso_fft_create(&w->fft, op->ctx, m->p.bins, n);
}

static const struct iso_op_fn narrow_fn = {
	forward,
	adjoint,
	NULL,
	NULL,
	NULL,
	NULL,
	open_work,
	close_work,
	NULL,
	NULL,
	sizeof(struct narrow_work),
	NULL,
	NULL,
	NULL,
};

/* ---- shapes ---- */

/* QUICK moves the waves of the highest line by this part of their way, which must be little beside the kernel's error. */
#define QUICK_ERROR 4e-8

static enum narrow_kind kind_of(const struct svoxel *p)
{
	const double far_us = (double)(p->low + p->span) / p->bins_per_us;
	const double turns = far_us * svoxel_line_mhz(p, p->lines - 1);

	if (p->sir == ISO_SIR_RECT) return NARROW_RECT;
	return p->taps.width <= 3 && 2 * M_PI * turns * QUICK_ERROR < p->error / 2 ? NARROW_QUICK
	                                                                           : NARROW_EXACT;
}

static struct narrow_taps taps_of(const struct svoxel_taps *t)
{
	struct narrow_taps to = {};

	for (int i = 0; i < t->width; i++)
		for (int j = 0; j < t->width; j++) to.c[i][j] = (float)t->c[i][j];
	to.bend = t->bend;
	return to;
}

/* Shared memory that a block may have. */
static int64_t most_shared(const iso_ctx *ctx)
{
	int most = 0;

	if (cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx->cuda_device) !=
	    cudaSuccess)
		most = 0;
	return most - OWN_SHARED;
}

/* The largest of these bricks whose windows fit: few bins a voxel go to the traces. */
static bool shape_forward(struct svoxel_narrow *m, const iso_ctx *ctx)
{
	static const int deep[][3] = { { 2 * ROW_X, 16, 16 }, { 2 * ROW_X, 12, 12 }, { ROW_X, 12, 12 },
		                       { ROW_X, 10, 10 },     { ROW_X, 8, 8 },       { ROW_X, 6, 6 },
		                       { ROW_X, 4, 4 },       { ROW_X, 2, 2 },       { ROW_X, 1, 1 } };
	static const int flat[][3] = { { 4 * ROW_X, 32, 1 }, { 3 * ROW_X, 24, 1 }, { 2 * ROW_X, 16, 1 },
		                       { ROW_X, 8, 1 },      { ROW_X, 4, 1 },      { ROW_X, 4, 1 },
		                       { ROW_X, 2, 1 },      { ROW_X, 1, 1 },      { ROW_X, 1, 1 } };
	const struct svoxel *p = m->host;
	const int64_t most = most_shared(ctx), wanted = is_rect(m) ? SHARED_RECT : SHARED;
	double all = (double)(m->own.n / ISO_WARP + 1);

	for (int i = 0; i < (int)(sizeof deep / sizeof *deep); i++) {
		memcpy(m->brick, is_flat(p) ? flat[i] : deep[i], sizeof m->brick);
		m->window = iso_svoxel_window_all(p, m->brick[0], m->brick[1], m->brick[2]);
		if (shared_of(m) <= min(wanted, most)) break;
	}
	for (int a = 0; a < 3; a++) {
		m->bricks[a] = (p->n[a] + m->brick[a] - 1) / m->brick[a];
		all *= (double)m->bricks[a];
	}
	return shared_of(m) <= min(wanted, most) && all < INT_MAX;
}

/* From the middle of a brick to its corners, half bins. */
static float reach_of(const struct svoxel_narrow *m)
{
	double sum = 0;

	for (int a = 0; a < 3; a++) sum += pow(m->brick[a] - 1, 2);
	return (float)(sqrt(sum) / 2 * m->p.ds * half_bins_per_mm(m->p));
}

static bool shape_adjoint(struct svoxel_narrow *m, const iso_ctx *ctx)
{
	const struct svoxel *p = m->host;
	const struct iso_bricks b = gather_bricks(ctx, p);

	m->window_back = iso_svoxel_window_all(p, b.edge[0], b.edge[1], b.edge[2]);
	return shared_back(m) <= most_shared(ctx) && b.all <= INT_MAX &&
	       p->span < INT_MAX - m->window_back.rows;
}

/* The most that a bin can get, over the loudest voxel: all voxels at the least distance, with taps of up to 2. */
static double loud_bits(const struct svoxel *p)
{
	double nearest = iso_svoxel_nearest(p), corners = 1;

	if (p->sir == ISO_SIR_RECT) corners = 4 / (p->least * p->least);
	return ceil(log2(2 * (double)(p->n[0] * p->n[1] * p->n[2]) * SVOXEL_OVER_2_PI / nearest * corners)) +
	       1;
}

/* For all operators with these kernels. */
static int allow_shared(const struct svoxel_narrow *m, const iso_ctx *ctx)
{
	const void *kernels[] = { (const void *)forward_of(m), (const void *)adjoint_of(m) };
	int st = ISO_OK;

	for (int i = 0; i < 2 && !st; i++)
		st = iso_cuda_check("svoxel shared memory",
		                    cudaFuncSetAttribute(kernels[i],
		                                         cudaFuncAttributeMaxDynamicSharedMemorySize,
		                                         (int)most_shared(ctx)));
	return st;
}

bool svoxel_narrow_fits(const iso_op *op)
{
	struct svoxel_narrow m = {};
	const struct svoxel *p = (const struct svoxel *)op->data;

	m.p = *p;
	m.host = p;
	m.own = iso_share(op->ctx, p->n_trans);
	return svoxel_is_narrow(p) && !p->delays && shape_forward(&m, op->ctx) &&
	       shape_adjoint(&m, op->ctx) && p->batch <= 65535;
}

int svoxel_narrow_to_cuda(iso_op *op)
{
	const struct svoxel *host = (const struct svoxel *)op->data;
	struct iso_room *room = &op->shared->room;
	struct svoxel_narrow *m;
	int st;

	if (!ISO_HOST(room, m, 1)) return room->status;
	m->host = host;
	m->p = *host;
	m->own = iso_share(op->ctx, host->n_trans);
	m->kind = kind_of(host);
	for (int a = 0; a < 3; a++) m->middle[a] = host->first[a] + (double)(host->n[a] - 1) / 2 * host->ds;
	m->taps = taps_of(&host->taps);
	m->loud_bits = loud_bits(host);
	m->nearest = iso_svoxel_nearest(host) * half_bins_per_mm(*host);
	shape_forward(m, op->ctx);
	shape_adjoint(m, op->ctx);
	m->reach = reach_of(m);
	if ((st = allow_shared(m, op->ctx))) return st;
	svoxel_upload(room, &m->p, host);
	op->data = m;
	op->fn = &narrow_fn;
	return room->status;
}
