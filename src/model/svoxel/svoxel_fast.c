/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel on the CPU by a non-uniform Fourier transform over delays. Forward, a thread takes a
   transducer; a voxel adds the powers of its place within a bin to the moments of that bin, the moments
   become a trace, and that is transformed. The adjoint transforms the lines of all transducers to traces and
   makes pieces of them: at each bin a polynomial in the place within it, which holds what the taps would
   gather there; then a thread takes a block of voxels, which evaluate their pieces. Both use the same
   weights, so one is the transpose of the other whatever the kernel's width.

   Forward, a rank has its share of the transducers; in the adjoint, of the rows of voxels along x: what a voxel gets
   depends on where along x it lies in its block, not on which rows are in the block. */
#include "svoxel_cpu.h"

#include "core/comm.h"

#include <omp.h>

/* Voxels after which moments go to the trace: longer sums would not be good in float. */
enum { SETTLE = 1 << 16 };

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define REAL(x) ((iso_real)(x))
#define OVER_2_PI REAL(SVOXEL_OVER_2_PI)

typedef iso_real two __attribute__((vector_size(2 * sizeof(iso_real))));

/* Moments or a piece of a bin: what goes with 1 and, two by two, with s to s^SVOXEL_DEGREE.
   Impulses of a rectangle cancel: the first is in double. */
struct powers {
	two higher[SVOXEL_DEGREE / 2];
	double zeroth;
};

_Static_assert(sizeof(struct powers) == SVOXEL_PIECE_BYTES, "the plan knows its size");

struct svoxel_work {
	struct powers *moments; /* for each thread (span, SVOXEL_COPIES) */
	struct iso_fft *fft;    /* of one trace */
	double *z;              /* for each thread a period of bins, and its bins/2 + 1 lines; two, real
				   and imaginary part, where lines have an offset */
	struct powers *pieces;  /* (n_trans, span) */
};

/* gcc 12 can take gather() for a function that stores nothing and drop its calls: noipa forbids it to
   conclude anything from the function's body. */
#if defined(__GNUC__) && !defined(__clang__)
#	define OPAQUE __attribute__((noipa))
#else
#	define OPAQUE
#endif

/* Moments + a (1, s, s^2, ...), a what a voxel sends. */
OPAQUE static void spread(struct powers *moments, const struct svoxel_row *row, iso_real sign,
                          const iso_real *x)
{
	for (int i = 0; i < row->n; i++) {
		struct powers *m = moments + row->first[i] * SVOXEL_COPIES + i % SVOXEL_COPIES;
		iso_real a = sign * row->amplitude[i] * x[i], s = row->s[i];
		two v = { a * s, a * s * s };

		m->zeroth += a;
		for (int k = 0; k < SVOXEL_DEGREE / 2; k++) {
			m->higher[k] += v;
			v *= s * s;
		}
	}
}

/* The polynomial at s, by its even and odd powers, but for its constant. */
OPAQUE static void gather(double *x, const struct svoxel_row *row, iso_real sign, const struct powers *pieces)
{
	for (int i = 0; i < row->n; i++) {
		const struct powers *c = pieces + row->first[i];
		iso_real s = row->s[i];
		two v = c->higher[SVOXEL_DEGREE / 2 - 1];

		for (int k = SVOXEL_DEGREE / 2 - 2; k >= 0; k--) v = v * (s * s) + c->higher[k];
		x[i] += sign * row->amplitude[i] * (c->zeroth + s * iso_fma(s, v[1], v[0]));
	}
}

/* ---- forward ---- */

/* From the moments of a bin, in all copies, to the bins that its impulses reach. */
static void reach(double bin[SVOXEL_TAPS], const struct svoxel_taps *t, const struct powers *m)
{
	double moment[SVOXEL_DEGREE + 1] = { 0 }, sum[SVOXEL_TAPS] = { 0 };

	for (int c = 0; c < SVOXEL_COPIES; c++) {
		moment[0] += m[c].zeroth;
		for (int i = 0; i < SVOXEL_DEGREE; i++) moment[i + 1] += m[c].higher[i / 2][i % 2];
	}
	for (int i = 0; i <= SVOXEL_DEGREE; i++)
#pragma omp simd
		for (int j = 0; j < SVOXEL_TAPS; j++) sum[j] += moment[i] * t->c[i][j];
	for (int j = 0; j < SVOXEL_TAPS; j++) bin[j] += sum[j];
}

/* Adds all moments to the period z and sets them to 0. z has SVOXEL_BEHIND bins more than a period, so that an
   impulse's taps need not be wrapped one by one. Where lines have an offset, each bin is times
   exp(-j 2 pi offset t), before bins are wrapped: that does not repeat after 1/df. */
static void settle(double *z, const struct svoxel *p, struct powers *moments)
{
	for (int64_t i = 0; i < p->span; i++) {
		double *re = z + svoxel_wrap(p, p->low + i), tap[SVOXEL_TAPS] = { 0 };

		reach(p->turn ? tap : re, &p->taps, moments + i * SVOXEL_COPIES);
		for (int j = 0; p->turn && j < SVOXEL_TAPS; j++) {
			re[j] += tap[j] * p->turn[2 * (i + j)];
			re[svoxel_period_size(p) + j] -= tap[j] * p->turn[2 * (i + j) + 1];
		}
	}
	memset(moments, 0, (size_t)(SVOXEL_COPIES * p->span) * sizeof *moments);
}

/* What a transducer hears, as a period of bins. */
static void hear(double *z, struct powers *moments, const struct svoxel *p, int64_t q, const iso_real *x)
{
	int64_t voxels = 0;
	struct svoxel_row row;

	for (int k = 0; k < svoxel_periods(p); k++)
		memset(z + k * svoxel_period_size(p), 0, (size_t)(p->bins + SVOXEL_BEHIND) * sizeof *z);
	for (int64_t i = 0; i < p->points * p->n[1] * p->n[2]; i++) { /* rows, of each point */
		int64_t iy = i % p->n[1], iz = i / p->n[1] % p->n[2];
		double at[3], weight = svoxel_point(at, p, q, (int)(i / p->n[1] / p->n[2]));

		for (int64_t ix = 0; ix < p->n[0]; ix += SVOXEL_ROW) {
			row.n = (int)MIN(SVOXEL_ROW, p->n[0] - ix);
			int64_t bin = iso_svoxel_find_row(&row, p, q, at, weight, ix, iy, iz);

			for (int c = 0; c < svoxel_impulses(p); c++)
				spread(moments + bin * SVOXEL_COPIES, &row, iso_svoxel_find_bins(&row, p, c),
				       x + (iz * p->n[1] + iy) * p->n[0] + ix);
		}
		voxels += p->n[0];
		if (iy < p->n[1] - 1 || voxels < SETTLE) continue;
		settle(z, p, moments);
		voxels = 0;
	}
	settle(z, p, moments);
}

static double *own_period(const struct svoxel_work *w, const struct svoxel *p)
{
	return w->z + omp_get_thread_num() * svoxel_periods(p) * svoxel_period_size(p);
}

static int forward(const iso_op *op, iso_real *y, const iso_real *x)
{
	const struct svoxel *p = op->data;
	const struct svoxel_work *w = op->work;
	const struct iso_rows own = iso_share(op->ctx, p->n_trans);

	iso_op_counts(op, "project", "traces", own.n);
#pragma omp parallel for schedule(dynamic) num_threads(op->ctx->threads)
	for (int64_t q = own.first; q < own.first + own.n; q++) {
		double *z = own_period(w, p);

		if (iso_ctx_cancelled(op->ctx)) continue;
		hear(z, w->moments + omp_get_thread_num() * SVOXEL_COPIES * p->span, p, q, x);
		iso_svoxel_to_lines(y + 2 * q * p->lines, p, w->fft, z);
		iso_op_count(op, 1);
	}
	return iso_comm_gather(op->ctx, iso_ctx_poll(op->ctx), y, p->n_trans,
	                       2 * p->lines * (int64_t)sizeof *y);
}

/* ---- adjoint ---- */

/* What an impulse gathers that begins in bin[0] at place s: a polynomial in s, of which these are the
   coefficients. */
static struct powers piece(const struct svoxel_taps *t, const double bin[SVOXEL_TAPS])
{
	double sum[SVOXEL_DEGREE + 1] = { 0 };
	struct powers c;

	for (int i = 0; i <= SVOXEL_DEGREE; i++)
		for (int j = 0; j < SVOXEL_TAPS; j++) sum[i] += t->c[i][j] * bin[j];
	c.zeroth = sum[0];
	for (int i = 0; i < SVOXEL_DEGREE; i++) c.higher[i / 2][i % 2] = REAL(sum[i + 1]);
	return c;
}

/* Where lines have an offset, the sum is still to be turned by exp(j 2 pi offset t). */
static void to_pieces(struct powers *pieces, const struct svoxel *p, const struct svoxel_work *w,
                      const iso_real *y)
{
	double *z = own_period(w, p);

	iso_svoxel_to_periods(z, p, w->fft, y);
	for (int64_t i = 0; i < p->span; i++) {
		const double *re = z + svoxel_wrap(p, p->low + i);
		double bin[SVOXEL_TAPS];

		for (int j = 0; p->turn && j < SVOXEL_TAPS; j++)
			bin[j] = re[j] * p->turn[2 * (i + j)] -
			         re[svoxel_period_size(p) + j] * p->turn[2 * (i + j) + 1];
		pieces[i] = piece(&p->taps, p->turn ? bin : re);
	}
}

typedef double sums[SVOXEL_ROWS_Z][SVOXEL_ROWS_Y][SVOXEL_ROW];

/* Adds to each voxel of the block what one point of a transducer projects back to it. */
static void add_point(sums sum, const struct svoxel *p, const struct svoxel_block *b, int64_t q, int k,
                      const struct powers *pieces)
{
	double at[3], weight = svoxel_point(at, p, q, k);
	struct svoxel_row row = { .n = b->n[0] };

	for (int z = 0; z < b->n[2]; z++)
		for (int y = b->from[z]; y < b->to[z]; y++) {
			int64_t bin = iso_svoxel_find_row(&row, p, q, at, weight, b->first[0],
			                                  b->first[1] + y, b->first[2] + z);

			for (int i = 0; i < svoxel_impulses(p); i++)
				gather(sum[z][y], &row, iso_svoxel_find_bins(&row, p, i), pieces + bin);
		}
}

static void adjoint_block(iso_real *x, const struct svoxel *p, struct svoxel_block b,
                          const struct powers *pieces)
{
	iso_real *to = x + (b.first[2] * p->n[1] + b.first[1]) * p->n[0] + b.first[0];
	sums sum = { { { 0 } } };

	for (int64_t q = 0; q < p->n_trans; q++)
		for (int k = 0; k < p->points; k++) add_point(sum, p, &b, q, k, pieces + q * p->span);
	for (int z = 0; z < b.n[2]; z++)
		for (int y = b.from[z]; y < b.to[z]; y++)
			for (int i = 0; i < b.n[0]; i++)
				to[(z * p->n[1] + y) * p->n[0] + i] = REAL(sum[z][y][i]);
}

/* Every rank makes the pieces of all transducers: little work beside the voxels', and more bytes than an image. */
static int adjoint(const iso_op *op, iso_real *x, const iso_real *y)
{
	const struct svoxel *p = op->data;
	const struct svoxel_work *w = op->work;
	const int64_t rows = p->n[1] * p->n[2];
	const struct iso_rows own = iso_share(op->ctx, rows), blocks = iso_svoxel_blocks(p, own);

	iso_op_counts(op, "backproject", "blocks", blocks.n);
#pragma omp parallel num_threads(op->ctx->threads)
	{
#pragma omp for schedule(static)
		for (int64_t q = 0; q < p->n_trans; q++)
			to_pieces(w->pieces + q * p->span, p, w, y + 2 * q * p->lines);
#pragma omp for schedule(dynamic)
		for (int64_t b = blocks.first; b < blocks.first + blocks.n; b++) {
			if (!iso_ctx_cancelled(op->ctx))
				adjoint_block(x, p, iso_svoxel_block(p, b, own), w->pieces);
			iso_op_count(op, 1);
		}
	}
	return iso_comm_gather(op->ctx, iso_ctx_poll(op->ctx), x, rows, p->n[0] * (int64_t)sizeof *x);
}

static void close_work(iso_op *op)
{
	iso_fft_free(((struct svoxel_work *)op->work)->fft);
}

static int open_work(iso_op *op)
{
	const struct svoxel *p = op->data;
	struct svoxel_work *w = op->work;
	int64_t threads = op->ctx->threads;

	ISO_HOST(&op->room, w->moments, threads * SVOXEL_COPIES * p->span);
	ISO_HOST(&op->room, w->z, threads * svoxel_periods(p) * svoxel_period_size(p));
	w->pieces = iso_room_host(&op->room, p->n_trans, p->span * (int64_t)sizeof *w->pieces);
	return op->room.status ? op->room.status : iso_fft_create_double(&w->fft, op->ctx, p->bins, 1);
}

static int forward_all(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	(void)sub; /* one subset only */
	return iso_svoxel_each(op, forward, y, op->n_out, x, op->n_in);
}

static int adjoint_all(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	(void)sub;
	return iso_svoxel_each(op, adjoint, x, op->n_in, y, op->n_out);
}

const struct iso_op_fn iso_svoxel_fast_fn = {
	.forward = forward_all,
	.adjoint = adjoint_all,
	.open = open_work,
	.free = iso_svoxel_free,
	.close = close_work,
	.to_cuda = "iso_svoxel_to_cuda",
	.work = sizeof(struct svoxel_work),
};
