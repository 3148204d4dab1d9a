/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel on CUDA with a narrow kernel: between voxels and traces of delays in svoxel_narrow_forward.cuh and
   svoxel_narrow_adjoint.cuh; between traces and lines by transforms, image by image, since a transform of another number
   of rows might be rounded otherwise. They are in float, but for rectangles, whose low lines are small differences. */
#include "core/fft/fft.h"
#include "svoxel_narrow_adjoint.cuh"
#include "svoxel_narrow_forward.cuh"

#include <limits.h>

enum { MOST_SHARED = 64000 }; /* of any card since 2018: a block's */

/* So that an H200 has four blocks at a time on a processor forward, and five or more back. */
enum { SHARED = 57300, SHARED_BACK = 24 << 10 };

struct narrow_work {
	unsigned long long *traces; /* batch x own transducers x span: whole numbers */
	unsigned *loudest;          /* of each image */
	struct iso_fft *fft;        /* of a trace of each transducer */
	void *z, *imaginary; /* batch x n_trans periods of bins; the second where lines have an offset */
	void *spectrum;      /* batch x n_trans x (bins/2 + 1) pairs */
	float *terms;        /* batch x n_trans x span x width */
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
typedef void (*adjoint_kernel)(struct svoxel_narrow, struct iso_bricks, int64_t, float *, float *);

static bool is_rect(const struct svoxel_narrow *m)
{
	return m->host->sir == ISO_SIR_RECT;
}

static bool is_flat(const struct svoxel *p)
{
	return p->n[2] == 1;
}

static forward_kernel forward_of(const struct svoxel_narrow *m)
{
	static const forward_kernel made[3][2] = { { forward_narrow<2, false>, forward_narrow<2, true> },
		                                   { forward_narrow<3, false>, forward_narrow<3, true> },
		                                   { forward_narrow<4, false>, forward_narrow<4, true> } };

	return made[m->p.taps.width - 2][is_rect(m)];
}

static adjoint_kernel adjoint_of(const struct svoxel_narrow *m)
{
	static const adjoint_kernel made[3][2][2] = {
		{ { adjoint_narrow<2, false, false>, adjoint_narrow<2, false, true> },
		  { adjoint_narrow<2, true, false>, adjoint_narrow<2, true, true> } },
		{ { adjoint_narrow<3, false, false>, adjoint_narrow<3, false, true> },
		  { adjoint_narrow<3, true, false>, adjoint_narrow<3, true, true> } },
		{ { adjoint_narrow<4, false, false>, adjoint_narrow<4, false, true> },
		  { adjoint_narrow<4, true, false>, adjoint_narrow<4, true, true> } },
	};

	return made[m->p.taps.width - 2][is_rect(m)][is_flat(m->host)];
}

/* Bytes of shared memory of a block: windows of its warps, and a brick; windows of some transducers. */
static int64_t shared_of(const struct svoxel_narrow *m)
{
	int64_t w = m->p.taps.width;

	return (HEARERS * ISO_WARP * w * (m->window.rows + w - 1) + m->brick[0] * m->brick[1] * m->brick[2]) *
	       (int64_t)sizeof(float);
}

static int64_t shared_back(const struct svoxel_narrow *m)
{
	return (int64_t)m->at_a_time * m->window_back.rows * m->p.taps.width * (int64_t)sizeof(float);
}

static struct iso_bricks gather_bricks(const iso_ctx *ctx, const struct svoxel *p)
{
	typedef struct gather_shape<true> flat;
	typedef struct gather_shape<false> deep;

	return is_flat(p) ? iso_bricks(ctx, p->n, flat::X, flat::Y, flat::Z)
	                  : iso_bricks(ctx, p->n, deep::X, deep::Y, deep::Z);
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
	const int64_t batch = m->p.batch, groups = (m->own.n + HEARERS * ISO_WARP - 1) / (HEARERS * ISO_WARP);
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
	switch (m->p.taps.width) {
	case 2:
		to_terms<2><<<rows, ISO_THREADS, 0, stream>>>(*m, w->terms, (R *)w->z, (R *)w->imaginary);
		break;
	case 3:
		to_terms<3><<<rows, ISO_THREADS, 0, stream>>>(*m, w->terms, (R *)w->z, (R *)w->imaginary);
		break;
	default:
		to_terms<4><<<rows, ISO_THREADS, 0, stream>>>(*m, w->terms, (R *)w->z, (R *)w->imaginary);
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
	ISO_DEVICE(&op->room, w->terms, all * m->p.span * m->p.taps.width);
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
};

/* ---- shapes ---- */

/* Powers of s to powers of t, s = 2 t - 1; two taps keep their terms of s. */
static struct narrow_taps taps_of(const struct svoxel_taps *t)
{
	struct narrow_taps to = {};
	int w = t->width;

	for (int j = 0; j < w && w > 2; j++) {
		double c[4] = { t->c[0][j], t->c[1][j], t->c[2][j], w > 3 ? t->c[3][j] : 0 };

		to.c[0][j] = (float)(c[0] - c[1] + c[2] - c[3]);
		to.c[1][j] = (float)(2 * c[1] - 4 * c[2] + 6 * c[3]);
		to.c[2][j] = (float)(4 * c[2] - 12 * c[3]);
		to.c[3][j] = (float)(8 * c[3]);
	}
	for (int j = 0; j < w && w == 2; j++)
		for (int i = 0; i < w; i++) to.c[i][j] = t->c[i][j];
	to.bend = t->bend;
	return to;
}

/* The largest of these bricks whose windows fit: few bins a voxel go to the traces. Their shape does not depend on the
   device, so that all give the same bits. */
static bool shape_forward(struct svoxel_narrow *m)
{
	static const int deep[][3] = { { ROW_X, 12, 12 }, { ROW_X, 10, 10 }, { ROW_X, 8, 8 }, { ROW_X, 6, 6 },
		                       { ROW_X, 4, 4 },   { ROW_X, 2, 2 },   { ROW_X, 1, 1 } };
	static const int flat[][3] = { { 24, 24, 1 },   { 16, 16, 1 },   { ROW_X, 8, 1 }, { ROW_X, 4, 1 },
		                       { ROW_X, 2, 1 }, { ROW_X, 1, 1 }, { ROW_X, 1, 1 } };
	const struct svoxel *p = m->host;
	double all = (double)(m->own.n / (HEARERS * ISO_WARP) + 1);

	for (int i = 0; i < 7; i++) {
		memcpy(m->brick, is_flat(p) ? flat[i] : deep[i], sizeof m->brick);
		m->window = iso_svoxel_window(p, m->brick[0], m->brick[1], m->brick[2]);
		if (shared_of(m) <= SHARED) break;
	}
	for (int a = 0; a < 3; a++) {
		m->bricks[a] = (p->n[a] + m->brick[a] - 1) / m->brick[a];
		all *= (double)m->bricks[a];
	}
	return shared_of(m) <= SHARED && all < INT_MAX;
}

static bool shape_adjoint(struct svoxel_narrow *m, const iso_ctx *ctx)
{
	const struct svoxel *p = m->host;
	const struct iso_bricks b = gather_bricks(ctx, p);
	int64_t each;

	m->window_back = iso_svoxel_window(p, b.edge[0], b.edge[1], b.edge[2]);
	each = (int64_t)m->window_back.rows * p->taps.width * (int64_t)sizeof(float);
	m->at_a_time = (int)(SHARED_BACK / each < 1 ? 1 : SHARED_BACK / each > 16 ? 16 : SHARED_BACK / each);
	return shared_back(m) <= MOST_SHARED - (int64_t)(SEEN * sizeof(struct seen)) && b.all <= INT_MAX &&
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

static int allow_shared(const struct svoxel_narrow *m)
{
	int st = iso_cuda_check("svoxel shared memory",
	                        cudaFuncSetAttribute(forward_of(m),
	                                             cudaFuncAttributeMaxDynamicSharedMemorySize,
	                                             MOST_SHARED));

	return st ? st
	          : iso_cuda_check("svoxel shared memory",
	                           cudaFuncSetAttribute(adjoint_of(m),
	                                                cudaFuncAttributeMaxDynamicSharedMemorySize,
	                                                MOST_SHARED));
}

bool svoxel_narrow_fits(const iso_op *op)
{
	struct svoxel_narrow m = {};
	const struct svoxel *p = (const struct svoxel *)op->data;

	m.p = *p;
	m.host = p;
	m.own = iso_share(op->ctx, p->n_trans);
	return svoxel_is_narrow(p) && shape_forward(&m) && shape_adjoint(&m, op->ctx) && p->batch <= 65535;
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
	m->taps = taps_of(&host->taps);
	m->loud_bits = loud_bits(host);
	shape_forward(m);
	shape_adjoint(m, op->ctx);
	if ((st = allow_shared(m))) return st;
	svoxel_upload(room, &m->p, host);
	op->data = m;
	op->fn = &narrow_fn;
	return room->status;
}
