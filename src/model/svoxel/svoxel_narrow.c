/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel on the CPU by kernels of two to four taps (svoxel_kernel.c). As in svoxel_fast.c a voxel adds to the moments
   of a bin, and evaluates the piece of a bin; but a bin has only two or four of them. All that voxels of a row have to
   compute comes first, in vectors; then each is added to its bin, or fetched from it.

   Images of a batch share the delays: up to FRAMES of them go through together. The adjoint takes the transducers
   by groups, so that their pieces need little memory however many there are: an image is a sum over groups, in
   the same order for any number of threads and ranks. */
#include "svoxel_cpu.h"

#include "core/comm.h"

#include <omp.h>

enum { ROW = SVOXEL_ROW, FRAMES = 8, COPIES = 2 };

/* Voxels after which moments go to the trace: longer sums would not be good in float. */
enum { SETTLE = 1 << 18 };

#define GROUP_BYTES (64ll << 20) /* of the pieces of a group, for each image */

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define REAL(x) ((iso_real)(x))

/* Aligned as their numbers are, which arrays of them may be read as. */
#define VECTOR(n, number) \
	__attribute__((vector_size((n) * sizeof(number)), aligned(sizeof(number)), may_alias))

typedef iso_real two VECTOR(2, iso_real);
typedef iso_real four VECTOR(4, iso_real);
typedef double four_doubles VECTOR(4, double);

/* gcc 12 can take functions that store through pointers for ones that store nothing: see svoxel_fast.c. */
#if defined(__GNUC__) && !defined(__clang__)
#	define OPAQUE __attribute__((noipa))
#else
#	define OPAQUE
#endif

/* ---- voxels and bins ---- */

/* Moments + a (1 + bend s^2, s), a what a voxel sends. Neighbours add to different copies of the moments, so that an
   addition need not wait for the one before. */
OPAQUE static void spread_two(void *moments, const struct svoxel_row *row, iso_real sign, iso_real bend,
                              const iso_real *x)
{
	two *m = moments, add[ROW];
	iso_real *v = (iso_real *)add;

#pragma omp simd
	for (int i = 0; i < row->n; i++) {
		iso_real a = sign * row->amplitude[i] * x[i], s = row->s[i];

		v[2 * i] = a + a * bend * s * s;
		v[2 * i + 1] = a * s;
	}
	for (int i = 0; i < row->n; i++) m[row->first[i] * COPIES + i % COPIES] += add[i];
}

OPAQUE static void gather_two(double *x, const struct svoxel_row *row, iso_real sign, iso_real bend,
                              const void *pieces)
{
	const two *of = pieces;
	two found[ROW];
	const iso_real *c = (const iso_real *)found;

	for (int i = 0; i < row->n; i++) found[i] = of[row->first[i]];
#pragma omp simd
	for (int i = 0; i < row->n; i++) {
		iso_real s = row->s[i];

		x[i] += sign * row->amplitude[i] * (c[2 * i] * (1 + bend * s * s) + c[2 * i + 1] * s);
	}
}

/* The same with 1, s, s^2 and s^3. */
#define FOUR(spread_four, gather_four, vector, number)                                                  \
	OPAQUE static void spread_four(void *moments, const struct svoxel_row *row, iso_real sign,      \
	                               iso_real bend, const iso_real *x)                                \
	{                                                                                               \
		vector *m = moments, add[ROW];                                                          \
		number *v = (number *)add;                                                              \
                                                                                                        \
		(void)bend;                                                                             \
		_Pragma("omp simd")                                                                     \
		for (int i = 0; i < row->n; i++) {                                                      \
			number a = sign * row->amplitude[i] * x[i], s = row->s[i];                      \
                                                                                                        \
			v[4 * i] = a;                                                                   \
			v[4 * i + 1] = a * s;                                                           \
			v[4 * i + 2] = a * s * s;                                                       \
			v[4 * i + 3] = a * s * s * s;                                                   \
		}                                                                                       \
		for (int i = 0; i < row->n; i++) m[row->first[i] * COPIES + i % COPIES] += add[i];      \
	}                                                                                               \
                                                                                                        \
	OPAQUE static void gather_four(double *x, const struct svoxel_row *row, iso_real sign,          \
	                               iso_real bend, const void *pieces)                               \
	{                                                                                               \
		const vector *of = pieces;                                                              \
		vector found[ROW];                                                                      \
		const number *c = (const number *)found;                                                \
                                                                                                        \
		(void)bend;                                                                             \
		for (int i = 0; i < row->n; i++) found[i] = of[row->first[i]];                          \
		_Pragma("omp simd")                                                                     \
		for (int i = 0; i < row->n; i++) {                                                      \
			const number *k = c + 4 * i;                                                    \
			number s = row->s[i];                                                           \
                                                                                                        \
			x[i] += sign * row->amplitude[i] * (k[0] + s * (k[1] + s * (k[2] + s * k[3]))); \
		}                                                                                       \
	}

FOUR(spread_four, gather_four, four, iso_real)
FOUR(spread_doubles, gather_doubles, four_doubles, double)

/* What a bin holds. Impulses of a rectangle cancel: its numbers are double. */
static const struct shape {
	int terms;
	bool doubles;
	void (*spread)(void *moments, const struct svoxel_row *row, iso_real sign, iso_real bend,
	               const iso_real *x);
	void (*gather)(double *x, const struct svoxel_row *row, iso_real sign, iso_real bend,
	               const void *pieces);
} shapes[] = {
	{ 2, false, spread_two, gather_two },
	{ 4, false, spread_four, gather_four },
	{ 4, true, spread_doubles, gather_doubles },
};

static const struct shape *shape_of(int width, enum iso_sir sir)
{
	return shapes + (sir == ISO_SIR_RECT ? 2 : width > 2 ? 1 : 0);
}

static int64_t bin_bytes(const struct shape *f)
{
	return f->terms * (int64_t)(f->doubles ? sizeof(double) : sizeof(iso_real));
}

/* ---- what an operator keeps ---- */

struct work {
	const struct shape *shape;
	struct iso_fft *fft; /* of one trace */
	int64_t frames;      /* of a batch that go through together */
	int64_t group;       /* transducers of a group */
	char *moments;       /* for each thread (frames, span, COPIES) */
	double *z;           /* for each thread and frame its periods, and their lines */
	char *pieces;        /* (frames, group, span) */
	double *sums;        /* for each thread (frames, SVOXEL_ROWS_Z, SVOXEL_ROWS_Y, ROW) */
};

enum { SUMS = SVOXEL_ROWS_Z * SVOXEL_ROWS_Y * ROW };

static int64_t group_of(int64_t n_trans, int64_t span, const struct shape *f)
{
	int64_t most = GROUP_BYTES / (span * bin_bytes(f));

	return most < 1 ? 1 : MIN(most, n_trans);
}

void iso_svoxel_narrow_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_svoxel *q,
                            int64_t span)
{
	const struct shape *f = shape_of(q->width, q->sir);
	int64_t frames = q->batch > 1 ? MIN(q->batch, FRAMES) : 1, number = sizeof(double);
	int64_t periods = (q->offset_mhz > 0 ? 2 : 1) * (2 * iso_svoxel_bins(q) + 2);

	iso_plan_add(plan, "traces of delays", frames * group_of(q->t->n, span, f), span * bin_bytes(f),
	             false);
	iso_plan_add(plan, "delays of threads", ctx->threads * frames,
	             span * COPIES * bin_bytes(f) + (periods + SUMS) * number, false);
}

/* The frames of a batch that go through together, and what one of them is in an image and in spectra. */
struct part {
	int64_t frames, voxels, rows;
};

static double *own_period(const struct work *w, const struct svoxel *p, int64_t frame)
{
	return w->z + (omp_get_thread_num() * w->frames + frame) * svoxel_periods(p) * svoxel_period_size(p);
}

static char *own_moments(const struct work *w, const struct svoxel *p, int64_t frame)
{
	return w->moments +
	       (omp_get_thread_num() * w->frames + frame) * p->span * COPIES * bin_bytes(w->shape);
}

/* Number i of a bin, or of its copies. */
static double number(const struct shape *f, const char *bin, int i)
{
	return f->doubles ? ((const double *)bin)[i] : ((const iso_real *)bin)[i];
}

/* ---- forward ---- */

/* Adds all moments to the period z and sets them to 0; with an offset of the lines as in svoxel_fast.c. */
static void settle(double *z, const struct svoxel *p, const struct shape *f, char *moments)
{
	int64_t bytes = COPIES * bin_bytes(f), at = svoxel_wrap(p, p->low);
	int width = p->taps.width;

	for (int64_t i = 0; i < p->span; i++, at = at + 1 < p->bins ? at + 1 : 0) {
		double moment[SVOXEL_NARROW] = { 0 }, *re = z + at;

		for (int k = 0; k < f->terms; k++)
			for (int c = 0; c < COPIES; c++)
				moment[k] += number(f, moments + i * bytes, c * f->terms + k);
		for (int j = 0; j < width; j++) {
			double tap = 0;

			for (int k = 0; k < f->terms; k++) tap += moment[k] * p->taps.c[k][j];
			re[j] += p->turn ? tap * p->turn[2 * (i + j)] : tap;
			if (p->turn) re[svoxel_period_size(p) + j] -= tap * p->turn[2 * (i + j) + 1];
		}
	}
	memset(moments, 0, (size_t)(p->span * bytes));
}

/* Adds to the moments of each frame what a point of a transducer hears of a row. */
static void hear_row(const struct svoxel *p, const struct work *w, const struct part *part,
                     struct svoxel_row *row, int64_t bin, const iso_real *x)
{
	for (int c = 0; c < svoxel_impulses(p); c++) {
		iso_real sign = iso_svoxel_find_bins(row, p, c);

		for (int64_t f = 0; f < part->frames; f++)
			w->shape->spread(own_moments(w, p, f) + bin * COPIES * bin_bytes(w->shape), row, sign,
			                 p->taps.bend, x + f * part->voxels);
	}
}

static void settle_all(const struct svoxel *p, const struct work *w, const struct part *part)
{
	for (int64_t f = 0; f < part->frames; f++)
		settle(own_period(w, p, f), p, w->shape, own_moments(w, p, f));
}

/* What a transducer hears of every frame, as periods of bins. */
static void hear(const struct svoxel *p, const struct work *w, const struct part *part, int64_t q,
                 const iso_real *x)
{
	int64_t voxels = 0;
	struct svoxel_row row;

	for (int64_t k = 0; k < part->frames * svoxel_periods(p); k++)
		memset(own_period(w, p, 0) + k * svoxel_period_size(p), 0,
		       (size_t)(p->bins + SVOXEL_BEHIND) * sizeof(double));
	for (int64_t i = 0; i < p->points * p->n[1] * p->n[2]; i++) { /* rows, of each point */
		int64_t iy = i % p->n[1], iz = i / p->n[1] % p->n[2];
		double at[3], weight = svoxel_point(at, p, q, (int)(i / p->n[1] / p->n[2]));

		for (int64_t ix = 0; ix < p->n[0]; ix += ROW) {
			row.n = (int)MIN(ROW, p->n[0] - ix);
			int64_t bin = iso_svoxel_find_row(&row, p, q, at, weight, ix, iy, iz);

			hear_row(p, w, part, &row, bin, x + (iz * p->n[1] + iy) * p->n[0] + ix);
		}
		voxels += p->n[0];
		if (iy < p->n[1] - 1 || voxels < SETTLE) continue;
		settle_all(p, w, part);
		voxels = 0;
	}
	settle_all(p, w, part);
}

static int forward_part(const iso_op *op, const struct part *part, iso_real *y, const iso_real *x)
{
	const struct svoxel *p = op->data;
	const struct work *w = op->work;
	const struct iso_rows own = iso_share(op->ctx, p->n_trans);
	int st = ISO_OK;

	iso_op_counts(op, "project", "traces", own.n);
#pragma omp parallel for schedule(dynamic) num_threads(op->ctx->threads)
	for (int64_t q = own.first; q < own.first + own.n; q++) {
		if (iso_ctx_cancelled(op->ctx)) continue;
		hear(p, w, part, q, x);
		for (int64_t f = 0; f < part->frames; f++)
			iso_svoxel_to_lines(y + f * part->rows + 2 * q * p->lines, p, w->fft,
			                    own_period(w, p, f));
		iso_op_count(op, 1);
	}
	st = iso_ctx_poll(op->ctx);
	for (int64_t f = 0; f < part->frames; f++)
		st = iso_comm_gather(op->ctx, st, y + f * part->rows, p->n_trans,
		                     2 * p->lines * (int64_t)sizeof *y);
	return st;
}

/* ---- adjoint ---- */

/* The pieces of a transducer: at each bin what an impulse gathers that begins there, a polynomial of its place. */
static void to_pieces(char *pieces, const struct svoxel *p, const struct work *w, const iso_real *y)
{
	const struct shape *f = w->shape;
	double *z = own_period(w, p, 0);
	int64_t at = svoxel_wrap(p, p->low);

	iso_svoxel_to_periods(z, p, w->fft, y);
	for (int64_t i = 0; i < p->span; i++, at = at + 1 < p->bins ? at + 1 : 0) {
		double sum[SVOXEL_NARROW] = { 0 };

		for (int j = 0; j < p->taps.width; j++) {
			double bin = z[at + j];

			if (p->turn)
				bin = bin * p->turn[2 * (i + j)] -
				      z[svoxel_period_size(p) + at + j] * p->turn[2 * (i + j) + 1];
			for (int k = 0; k < f->terms; k++) sum[k] += p->taps.c[k][j] * bin;
		}
		for (int k = 0; k < f->terms; k++)
			if (f->doubles)
				((double *)pieces)[i * f->terms + k] = sum[k];
			else
				((iso_real *)pieces)[i * f->terms + k] = REAL(sum[k]);
	}
}

/* Adds to each voxel of the block, in every frame, what one point of a transducer projects back to it. */
static void add_point(double *sums, const struct svoxel *p, const struct work *w, const struct part *part,
                      const struct svoxel_block *b, int64_t q, int k, const char *pieces)
{
	double at[3], weight = svoxel_point(at, p, q, k);
	struct svoxel_row row = { .n = b->n[0] };
	int64_t bytes = bin_bytes(w->shape);

	for (int z = 0; z < b->n[2]; z++)
		for (int y = b->from[z]; y < b->to[z]; y++) {
			int64_t bin = iso_svoxel_find_row(&row, p, q, at, weight, b->first[0],
			                                  b->first[1] + y, b->first[2] + z);

			for (int i = 0; i < svoxel_impulses(p); i++) {
				iso_real sign = iso_svoxel_find_bins(&row, p, i);

				for (int64_t f = 0; f < part->frames; f++)
					w->shape->gather(sums + f * SUMS + (z * SVOXEL_ROWS_Y + y) * ROW,
					                 &row, sign, p->taps.bend,
					                 pieces + (f * w->group * p->span + bin) * bytes);
			}
		}
}

/* The transducers of a group give a block's voxels their part. */
static void adjoint_block(iso_real *x, const struct svoxel *p, const struct work *w, const struct part *part,
                          struct svoxel_block b, struct iso_rows group)
{
	double *sums = w->sums + omp_get_thread_num() * w->frames * SUMS;

	memset(sums, 0, (size_t)(part->frames * SUMS) * sizeof *sums);
	for (int64_t q = 0; q < group.n; q++)
		for (int k = 0; k < p->points; k++)
			add_point(sums, p, w, part, &b, group.first + q, k,
			          w->pieces + q * p->span * bin_bytes(w->shape));
	for (int64_t f = 0; f < part->frames; f++)
		for (int z = 0; z < b.n[2]; z++)
			for (int y = b.from[z]; y < b.to[z]; y++) {
				const double *sum = sums + f * SUMS + (z * SVOXEL_ROWS_Y + y) * ROW;
				iso_real *to = x + f * part->voxels +
				               ((b.first[2] + z) * p->n[1] + b.first[1] + y) * p->n[0] +
				               b.first[0];

				for (int i = 0; i < b.n[0]; i++)
					to[i] = REAL(group.first > 0 ? to[i] + sum[i] : sum[i]);
			}
}

static void adjoint_group(const iso_op *op, const struct part *part, struct iso_rows group, iso_real *x,
                          const iso_real *y)
{
	const struct svoxel *p = op->data;
	const struct work *w = op->work;
	const struct iso_rows own = iso_share(op->ctx, p->n[1] * p->n[2]), blocks = iso_svoxel_blocks(p, own);

#pragma omp parallel num_threads(op->ctx->threads)
	{
#pragma omp for schedule(static)
		for (int64_t i = 0; i < part->frames * group.n; i++) {
			int64_t f = i / group.n, q = i % group.n;

			to_pieces(w->pieces + (f * w->group + q) * p->span * bin_bytes(w->shape), p, w,
			          y + f * part->rows + 2 * (group.first + q) * p->lines);
		}
#pragma omp for schedule(dynamic)
		for (int64_t b = blocks.first; b < blocks.first + blocks.n; b++) {
			if (!iso_ctx_cancelled(op->ctx))
				adjoint_block(x, p, w, part, iso_svoxel_block(p, b, own), group);
			iso_op_count(op, 1);
		}
	}
}

static int adjoint_part(const iso_op *op, const struct part *part, iso_real *x, const iso_real *y)
{
	const struct svoxel *p = op->data;
	const struct work *w = op->work;
	const int64_t rows = p->n[1] * p->n[2], groups = (p->n_trans + w->group - 1) / w->group;
	int st;

	iso_op_counts(op, "backproject", "blocks", groups * iso_svoxel_blocks(p, iso_share(op->ctx, rows)).n);
	for (int64_t first = 0; first < p->n_trans; first += w->group)
		adjoint_group(op, part, (struct iso_rows){ first, MIN(w->group, p->n_trans - first) }, x, y);
	st = iso_ctx_poll(op->ctx);
	for (int64_t f = 0; f < part->frames; f++)
		st = iso_comm_gather(op->ctx, st, x + f * part->voxels, rows, p->n[0] * (int64_t)sizeof *x);
	return st;
}

/* ---- batches; one subset only ---- */

static struct part part_at(const struct svoxel *p, const struct work *w, int64_t frame)
{
	return (struct part){ MIN(w->frames, p->batch - frame), p->n[0] * p->n[1] * p->n[2],
		              2 * p->lines * p->n_trans };
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct svoxel *p = op->data;
	const struct work *w = op->work;
	int st = ISO_OK;

	(void)sub;
	for (int64_t b = 0; b < p->batch && !st; b += w->frames) {
		struct part part = part_at(p, w, b);

		st = forward_part(op, &part, y + b * part.rows, x + b * part.voxels);
	}
	return st;
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct svoxel *p = op->data;
	const struct work *w = op->work;
	int st = ISO_OK;

	(void)sub;
	for (int64_t b = 0; b < p->batch && !st; b += w->frames) {
		struct part part = part_at(p, w, b);

		st = adjoint_part(op, &part, x + b * part.voxels, y + b * part.rows);
	}
	return st;
}

static void close_work(iso_op *op)
{
	iso_fft_free(((struct work *)op->work)->fft);
}

static int open_work(iso_op *op)
{
	const struct svoxel *p = op->data;
	struct work *w = op->work;
	const struct shape *f = shape_of(p->taps.width, p->sir);
	int64_t bytes = bin_bytes(f), each;

	w->shape = f;
	w->frames = MIN(p->batch, FRAMES);
	w->group = group_of(p->n_trans, p->span, f);
	each = op->ctx->threads * w->frames;
	w->moments = iso_room_host(&op->room, each, p->span * COPIES * bytes);
	w->z = iso_room_host(&op->room, each,
	                     svoxel_periods(p) * svoxel_period_size(p) * (int64_t)sizeof *w->z);
	w->pieces = iso_room_host(&op->room, w->frames * w->group, p->span * bytes);
	w->sums = iso_room_host(&op->room, each, SUMS * sizeof *w->sums);
	return op->room.status ? op->room.status : iso_fft_create_double(&w->fft, op->ctx, p->bins, 1);
}

const struct iso_op_fn iso_svoxel_narrow_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.open = open_work,
	.free = iso_svoxel_free,
	.close = close_work,
	.to_cuda = "iso_svoxel_to_cuda",
	.work = sizeof(struct work),
};
