/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel on CUDA: between voxels and traces of delays in svoxel_forward.cuh and
   svoxel_adjoint.cuh; between traces and lines by transforms in double. These are of all transducers on every rank:
   little beside the rest, and a transform of another number of rows might be rounded otherwise. */
#include "core/fft/fft.h"
#include "svoxel_adjoint.cuh"
#include "svoxel_forward.cuh"

#include <limits.h>

enum { SHARED_BYTES = 64000 };         /* of any card since 2018: a block's */
enum { FULL_RANKS = 8, ENOUGH = 512 }; /* ranks that fill a device each; bricks worth a part of traces */
enum { LARGE = 6, LARGE_RECT = 8, SMALL = 2 }; /* bricks that kernels are made for: most voxels a side */

struct svoxel_cuda_work {
	double *parts;       /* parts x own transducers x span */
	struct iso_fft *fft; /* of a trace of each transducer */
	double *z;           /* n_trans periods of bins, */
	double *imaginary;   /* of the adjoint, where lines have an offset; else NULL */
	double *spectrum;    /* n_trans x (bins/2 + 1) pairs */
	float4 *pieces;      /* n_trans x 2 x span */
	float *packed;       /* of core/loop/bricks.cuh */
};

/* ---- around the transforms: a block a transducer; forward, of this rank's ---- */

/* One period of bins from the parts of a trace; where lines have an offset, the real or the imaginary
   part of its product with exp(-j 2 pi offset t). */
static __global__ void to_periods(struct svoxel_cuda m, double *z, const double *parts, bool imaginary)
{
	const struct svoxel &p = m.p;
	int64_t own = blockIdx.x, q = m.own.first + own;

	for (int64_t bin = threadIdx.x; bin < p.bins; bin += blockDim.x) {
		double sum = 0;

		for (int64_t i = svoxel_wrap(&p, bin - p.low); i < p.span; i += p.bins)
			for (int k = 0; k < m.parts; k++) {
				double v = parts[(k * m.own.n + own) * p.span + i];

				if (p.turn) v *= imaginary ? -p.turn[2 * i + 1] : p.turn[2 * i];
				sum += v;
			}
		z[q * p.bins + bin] = sum;
	}
}

/* `imaginary`: the spectrum is that of an imaginary part, which is added to the lines. */
static __global__ void to_lines(struct svoxel_cuda m, float *y, const double2 *spectrum, bool imaginary)
{
	const struct svoxel &p = m.p;
	int64_t q = m.own.first + blockIdx.x;
	const double2 *from = spectrum + q * (p.bins / 2 + 1) + p.first_line;

	for (int64_t l = threadIdx.x; l < p.lines; l += blockDim.x) {
		double2 f = ((const double2 *)p.shaped)[l], a = from[l];
		float *to = y + 2 * (q * p.lines + l);

		if (imaginary) {
			to[0] = (float)(to[0] - (f.x * a.y + f.y * a.x));
			to[1] = (float)(to[1] + (f.x * a.x - f.y * a.y));
		} else {
			to[0] = (float)(f.x * a.x - f.y * a.y);
			to[1] = (float)(f.x * a.y + f.y * a.x);
		}
	}
}

/* As to_period of svoxel_fast.c: halves of the lines, since the transform adds their conjugates, but of
   number 0. */
static __global__ void to_spectra(struct svoxel_cuda m, double2 *spectrum, const float *y, bool imaginary)
{
	const struct svoxel &p = m.p;
	int64_t q = blockIdx.x, all = p.bins / 2 + 1;

	for (int64_t line = threadIdx.x; line < all; line += blockDim.x) {
		int64_t l = line - p.first_line;
		double2 v = make_double2(0, 0);

		if (l >= 0 && l < p.lines) {
			double2 f = ((const double2 *)p.shaped)[l];
			double half = line > 0 ? .5 : 1;
			double re = y[2 * (q * p.lines + l)] * half, im = y[2 * (q * p.lines + l) + 1] * half;

			v = make_double2(f.x * re + f.y * im, f.x * im - f.y * re);
			if (imaginary) v = make_double2(v.y, -v.x);
		}
		spectrum[q * all + line] = v;
	}
}

/* ---- launches ---- */

static int64_t groups_of(int64_t n_trans)
{
	return (n_trans + HEAR - 1) / HEAR;
}

static int large(const struct svoxel *p)
{
	return p->sir == ISO_SIR_RECT ? LARGE_RECT : LARGE;
}

/* Bytes of shared memory of a forward block: windows, and a brick. */
static int64_t shared_of(const struct svoxel_cuda *m)
{
	int64_t zeroth = m->p.sir == ISO_SIR_RECT ? sizeof(double) : sizeof(float), rows = m->window.rows;
	int64_t edge = m->edge > SMALL ? large(m->host) : SMALL;

	return ((rows + BEHIND) * zeroth + rows * (int64_t)(sizeof(float4) + sizeof(float2))) * HEAR +
	       edge * edge * edge * (int64_t)sizeof(float);
}

typedef void (*forward_kernel)(struct svoxel_cuda, double *, const float *);

static int forward_ready(forward_kernel *kernel, const struct svoxel_cuda *m)
{
	/* kind of tissue, rectangle, eight taps, large bricks */
#define OF_EDGES(taps, large, rect, kind)                                                        \
	{                                                                                        \
		forward_bricks<taps, SMALL, rect, kind>, forward_bricks<taps, large, rect, kind> \
	}
#define OF_KIND(kind)                                                                            \
	{                                                                                        \
		{ OF_EDGES(7, LARGE, false, kind), OF_EDGES(8, LARGE, false, kind) },            \
		{                                                                                \
			OF_EDGES(7, LARGE_RECT, true, kind), OF_EDGES(8, LARGE_RECT, true, kind) \
		}                                                                                \
	}
	static const forward_kernel made[TISSUE_KINDS][2][2][2] = {
		OF_KIND(TISSUE_NONE),      OF_KIND(TISSUE_BALL), OF_KIND(TISSUE_SHAPE),
		OF_KIND(TISSUE_BENT_BALL), OF_KIND(TISSUE_BENT), OF_KIND(TISSUE_TABLE)
	};
#undef OF_KIND
#undef OF_EDGES

	*kernel = made[tissue_kind_of(m->p.delays)][m->p.sir == ISO_SIR_RECT][m->taps.width == 8]
		      [m->edge > SMALL];
	return iso_cuda_check(
		"svoxel shared memory",
		cudaFuncSetAttribute(*kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, m->shared_most));
}

/* ---- the operator ---- */

/* From the parts of the traces to the lines. */
static int transform(const iso_op *op, float *y, bool imaginary)
{
	const struct svoxel_cuda *m = (const struct svoxel_cuda *)op->data;
	struct svoxel_cuda_work *w = (struct svoxel_cuda_work *)op->work;
	unsigned blocks = (unsigned)m->own.n;
	int st;

	to_periods<<<blocks, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, w->z, w->parts, imaginary);
	if ((st = iso_cuda_launched("svoxel periods")) || (st = iso_fft_forward(w->fft, w->spectrum, w->z)))
		return st;
	to_lines<<<blocks, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, y, (double2 *)w->spectrum, imaginary);
	return iso_cuda_launched("svoxel lines");
}

/* The lines of this rank's transducers. */
static int forward_own(const iso_op *op, iso_real *y, const iso_real *x)
{
	const struct svoxel_cuda *m = (const struct svoxel_cuda *)op->data;
	struct svoxel_cuda_work *w = (struct svoxel_cuda_work *)op->work;
	size_t bytes = (size_t)(m->parts * m->own.n * m->p.span) * sizeof *w->parts;
	dim3 grid((unsigned)groups_of(m->own.n), (unsigned)m->parts);
	forward_kernel kernel;
	int st;

	if (m->own.n == 0) return ISO_OK;
	if ((st = iso_cuda_check("clear", cudaMemsetAsync(w->parts, 0, bytes, iso_stream(op->ctx)))) ||
	    (st = forward_ready(&kernel, m)))
		return st;
	kernel<<<grid, HEAR, (size_t)shared_of(m), iso_stream(op->ctx)>>>(*m, w->parts, x);
	if ((st = iso_cuda_launched("svoxel forward")) || (st = transform(op, y, false))) return st;
	return m->p.turn ? transform(op, y, true) : ISO_OK;
}

/* The images of a batch, one after the other. */
static int forward(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct svoxel *p = ((const struct svoxel_cuda *)op->data)->host;
	int64_t n = p->n[0] * p->n[1] * p->n[2], row = 2 * p->lines;
	int st = ISO_OK;

	for (int64_t b = 0; b < p->batch && !st; b++, x += n, y += p->n_trans * row)
		st = iso_comm_gather(op->ctx, forward_own(op, y, x), y, p->n_trans, row * (int64_t)sizeof *y);
	return st;
}

/* From the lines to a period of each trace. */
static int transform_back(const iso_op *op, double *z, const float *y, bool imaginary)
{
	const struct svoxel_cuda *m = (const struct svoxel_cuda *)op->data;
	struct svoxel_cuda_work *w = (struct svoxel_cuda_work *)op->work;
	int st;

	to_spectra<<<(unsigned)m->p.n_trans, ISO_THREADS, 0, iso_stream(op->ctx)>>>(
		*m, (double2 *)w->spectrum, y, imaginary);
	st = iso_cuda_launched("svoxel spectra");
	return st ? st : iso_fft_inverse(w->fft, z, w->spectrum);
}

static struct iso_bricks bricks(const iso_ctx *ctx, const struct svoxel *p)
{
	return iso_bricks(ctx, p->n, GATHER_X, GATHER_Y, GATHER_Z);
}

/* kind of tissue, rectangle */
static void (*const adjoint_kernels[TISSUE_KINDS][2])(struct svoxel_cuda, struct iso_bricks, float *,
                                                      const float4 *) = {
	{ adjoint_voxels<false, TISSUE_NONE>, adjoint_voxels<true, TISSUE_NONE> },
	{ adjoint_voxels<false, TISSUE_BALL>, adjoint_voxels<true, TISSUE_BALL> },
	{ adjoint_voxels<false, TISSUE_SHAPE>, adjoint_voxels<true, TISSUE_SHAPE> },
	{ adjoint_voxels<false, TISSUE_BENT_BALL>, adjoint_voxels<true, TISSUE_BENT_BALL> },
	{ adjoint_voxels<false, TISSUE_BENT>, adjoint_voxels<true, TISSUE_BENT> },
	{ adjoint_voxels<false, TISSUE_TABLE>, adjoint_voxels<true, TISSUE_TABLE> },
};

/* This rank's bricks. */
static int adjoint_own(const iso_op *op, iso_real *x, const struct iso_bricks &b, const iso_real *y)
{
	const struct svoxel_cuda *m = (const struct svoxel_cuda *)op->data;
	struct svoxel_cuda_work *w = (struct svoxel_cuda_work *)op->work;
	cudaStream_t stream = iso_stream(op->ctx);
	auto kernel = adjoint_kernels[tissue_kind_of(m->p.delays)][m->p.sir == ISO_SIR_RECT];
	int st;

	if (b.own.n == 0) return ISO_OK;
	if ((st = transform_back(op, w->z, y, false)) ||
	    (w->imaginary && (st = transform_back(op, w->imaginary, y, true))))
		return st;
	to_pieces<<<(unsigned)m->p.n_trans, ISO_THREADS, 0, stream>>>(*m, w->pieces, w->z, w->imaginary);
	if ((st = iso_cuda_launched("svoxel pieces"))) return st;
	kernel<<<(unsigned)b.own.n, GATHER, 0, stream>>>(*m, b, x, w->pieces);
	return iso_cuda_launched("svoxel adjoint");
}

static int adjoint(const iso_op *op, int, iso_real *x, const iso_real *y)
{
	const struct svoxel *p = ((const struct svoxel_cuda *)op->data)->host;
	struct iso_bricks b = bricks(op->ctx, p);
	int64_t n = p->n[0] * p->n[1] * p->n[2];
	int st = ISO_OK;

	b.packed = ((const struct svoxel_cuda_work *)op->work)->packed;
	for (int64_t i = 0; i < p->batch && !st; i++, x += n, y += 2 * p->lines * p->n_trans)
		st = iso_bricks_gather(x, b, op->ctx, adjoint_own(op, x, b, y));
	return st;
}

static void close_work(iso_op *op)
{
	iso_fft_free(((struct svoxel_cuda_work *)op->work)->fft);
}

static int open_work(iso_op *op)
{
	const struct svoxel_cuda *m = (const struct svoxel_cuda *)op->data;
	struct svoxel_cuda_work *w = (struct svoxel_cuda_work *)op->work;
	int64_t n = m->p.n_trans;

	ISO_DEVICE(&op->room, w->parts, m->parts * (m->own.n > 0 ? m->own.n : 1) * m->p.span);
	ISO_DEVICE(&op->room, w->z, n * m->p.bins);
	if (m->p.turn) ISO_DEVICE(&op->room, w->imaginary, n * m->p.bins);
	ISO_DEVICE(&op->room, w->spectrum, n * (m->p.bins + 2));
	w->pieces = (float4 *)iso_room_device(&op->room, n * m->p.span, SVOXEL_PIECE_BYTES);
	w->packed = iso_bricks_room(&op->room, bricks(op->ctx, m->host));
	return op->room.status ? op->room.status : iso_fft_create_double(&w->fft, op->ctx, m->p.bins, n);
}

/* The model on the host is freed with the room. */
void svoxel_free_cuda(iso_op *op)
{
	iso_delays_free(((const struct svoxel_cuda *)op->data)->host->delays);
}

static const struct iso_op_fn svoxel_fn_cuda = {
	forward,
	adjoint,
	NULL,
	NULL,
	NULL,
	NULL,
	open_work,
	close_work,
	svoxel_free_cuda,
	NULL,
	sizeof(struct svoxel_cuda_work),
	NULL,
	NULL,
	NULL,
};

/* ---- bricks ---- */

/* Parts, up to `most`, for blocks that all have the same work. The order of sums depends on the parts, so that they
   are the same for any number of ranks: enough for a device alone, and where there is much to do, for the work of up to
   FULL_RANKS ranks to fill the device of each. Of the numbers that leave at most a quarter of the places for blocks
   empty there, the one that loads a single device, or where blocks are few, its processors, most evenly. */
static int best_parts(const struct svoxel_cuda *m, int64_t each, int64_t processors, int64_t most,
                      int64_t bricks)
{
	int64_t groups = groups_of(m->p.n_trans), places = each * processors, best = 1;
	int64_t devices = min(groups * bricks / (places * ENOUGH), (int64_t)FULL_RANKS);
	int64_t wanted = places * max(devices, (int64_t)1);
	double fullest = 0;

	for (int64_t k = 1; k <= most && (k == 1 || groups * k <= wanted); k++) {
		int64_t blocks = groups * k, at_once = blocks < places ? processors : places;
		int64_t rounds = (blocks + at_once - 1) / at_once;
		double full = (double)blocks / (double)(rounds * at_once);

		if (full >= fullest || best * groups < wanted * 3 / 4) {
			fullest = full;
			best = k;
		}
	}
	return (int)best;
}

/* The largest bricks whose windows are within so many bytes; false: none are. */
static bool edge_within(struct svoxel_cuda *m, int64_t bytes)
{
	for (m->edge = large(m->host);; m->edge = m->edge > SMALL ? m->edge - SMALL : 1) {
		m->window = iso_svoxel_window(m->host, m->edge, m->edge, m->edge);
		if (shared_of(m) <= bytes) return true;
		if (m->edge == 1) return false;
	}
}

/* Bricks that any card holds; where tissue makes the delays of neighbours differ by much, those that this one does. */
static int fit_edge(struct svoxel_cuda *m, int *bytes)
{
	int device = 0, st;

	*bytes = SHARED_BYTES;
	if (edge_within(m, *bytes) && m->edge >= SMALL) return ISO_OK;
	if ((st = iso_cuda_check("device", cudaGetDevice(&device))) ||
	    (st = iso_cuda_check("device", cudaDeviceGetAttribute(
						   bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device))))
		return st;
	if (*bytes < SHARED_BYTES) *bytes = SHARED_BYTES;
	if (edge_within(m, *bytes)) return ISO_OK;
	return iso_fail(
		ISO_EARG,
		"svoxel: through this tissue the sound of neighbouring voxels comes up to %d bins apart, "
		"which is too much for this CUDA device: 'device' cpu",
		m->window.before);
}

static int shape_bricks(struct svoxel_cuda *m, const iso_ctx *ctx)
{
	const struct svoxel *p = m->host;
	int64_t bricks = 1, most = svoxel_parts(p->n_trans, p->span);
	int each = 0, processors = 0, device = 0, st;
	forward_kernel kernel;
	/* The adjoint's bricks must be within CUDA's limits, and its delays below 2^22 bins, up to which
	   first_bin is right. Half the delay across a rectangle is at most span/4 bins. */
	double reach = sqrt(GATHER_X * GATHER_X + GATHER_Y * GATHER_Y + GATHER_Z * GATHER_Z) / 2 * p->ds;
	bool fits = ::bricks(ctx, p).all <= INT_MAX && reach * p->bins_per_mm + (double)p->span / 4 < 1 << 22;

	/* seven or eight taps, with zeros on both sides where there are fewer: kernels know these widths */
	m->taps.width = p->taps.width % 2 ? 7 : 8;
	m->shift = (m->taps.width - p->taps.width) / 2;
	for (int i = 0; i <= SVOXEL_DEGREE; i++)
		for (int j = 0; j < p->taps.width; j++) m->taps.c[i][j + m->shift] = p->taps.c[i][j];
	if ((st = fit_edge(m, &m->shared_most))) return st;
	for (int a = 0; a < 3; a++) {
		int64_t along = (p->n[a] + m->edge - 1) / m->edge;

		m->bricks[a] = (unsigned)along;
		bricks *= along;
	}
	if (bricks > INT_MAX || p->span > INT_MAX - m->window.rows || !fits)
		return iso_fail(ISO_EARG, "svoxel: %lld bricks and %lld bins are too many for CUDA",
		                (long long)bricks, (long long)p->span);
	if ((st = forward_ready(&kernel, m)) || (st = iso_cuda_check("device", cudaGetDevice(&device))) ||
	    (st = iso_cuda_check("device", cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount,
	                                                          device))) ||
	    (st = iso_cuda_check("svoxel blocks", cudaOccupancyMaxActiveBlocksPerMultiprocessor(
							  &each, kernel, HEAR, (size_t)shared_of(m)))))
		return st;
	m->parts = best_parts(m, each, processors, most < bricks ? most : bricks, bricks);
	return ISO_OK;
}

void svoxel_upload(struct iso_room *room, struct svoxel *p, const struct svoxel *host)
{
	ISO_UPLOAD(room, p->pos, host->pos, 3 * host->n_trans);
	ISO_UPLOAD(room, p->ex, host->ex, 3 * host->n_trans);
	ISO_UPLOAD(room, p->ey, host->ey, 3 * host->n_trans);
	ISO_UPLOAD(room, p->side, host->side, 2 * host->n_trans);
	ISO_UPLOAD(room, p->face.face, host->face.face, host->n_trans);
	ISO_UPLOAD(room, p->face.node, host->face.node, 4 * host->face.faces * host->points);
	ISO_UPLOAD(room, p->shaped, host->shaped, 2 * host->lines);
	ISO_UPLOAD(room, p->turn, host->turn, 2 * (host->span + SVOXEL_TAPS));
	p->factor = NULL;
	if (host->delays) tissue_upload(room, &p->sound, host->delays);
}

extern "C" int iso_svoxel_to_cuda(iso_op *op)
{
	const struct svoxel *host = (const struct svoxel *)op->data;
	struct iso_room *room = &op->shared->room;
	struct svoxel_cuda *m;
	int st;

	if (svoxel_narrow_fits(op)) return svoxel_narrow_to_cuda(op);
	if (!ISO_HOST(room, m, 1)) return room->status;
	m->host = host;
	m->p = *host;
	m->own = iso_share(op->ctx, host->n_trans);
	if ((st = shape_bricks(m, op->ctx))) return st;
	svoxel_upload(room, &m->p, host);
	op->data = m;
	op->fn = &svoxel_fn_cuda;
	return room->status;
}
