/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip on the CPU: the ellipse of each event is worked out once, as rows of equal width,
   which serves the forward sum and the way back.

   What depends on the row only is done for several rows at a time, weights for several pixels at a
   time; both loops are written so that the compiler makes vector code of them: no branches, fixed
   widths, columns past a row's end count 0. Image rows are padded, so those columns exist.

   A chunk of events adds to an image of its own, in float, which is then rounded to fixed point:
   the sums are short, and the same for every number of threads. */
#include "core/fixed.h"
#include "core/plan.h"
#include "core/size.h"
#include "strip.h"

#include <omp.h>
#include <string.h>

#define CHUNK 2048	/* events that add to one image, between two looks at the cancel flag */
#define LANES 4		/* widths and numbers of rows are rounded up to a multiple */
#define FIXED_WIDTH 12	/* that of the paper's set-up has code of its own */

#define INLINE static inline __attribute__((always_inline))

/* The ellipse of an event: one element a row, `width` weights a row. */
struct patch {
	int low, rows;
	int *first, *n;		/* columns */
	iso_real *v;		/* of the first column */
	iso_real *q0, *p0, *p1, *n0, *n1, *tau0, *tau1, *root;
	iso_real *w;
};

enum { ROW_ARRAYS = 11 };

struct strip_work {
	int rows, width, stride;	/* largest ellipse; of a padded image row */
	struct iso_fixed acc;
	iso_real *x;			/* padded, over x_scale */
	double x_scale;
	iso_real *block;		/* padded, one for each thread: what a chunk adds to */
	iso_real *patch;		/* `patch_size` for each thread */
	int64_t patch_size;
	struct iso_em_stat *stat;	/* one for each chunk */
};

static int round_up(int64_t n)
{
	return (int)((n + LANES - 1) / LANES * LANES);
}

static struct patch thread_patch(const struct strip_work *w)
{
	iso_real *v = w->patch + omp_get_thread_num() * w->patch_size;
	struct patch p = { .first = (int *)v, .n = (int *)(v + w->rows) };
	iso_real **part[] = { &p.v, &p.q0, &p.p0, &p.p1, &p.n0, &p.n1, &p.tau0, &p.tau1, &p.root };

	for (int i = 0; i < ROW_ARRAYS - 2; i++)
		*part[i] = v + (i + 2) * w->rows;
	p.w = v + ROW_ARRAYS * w->rows;
	return p;
}

/* ---- the ellipse ---- */

INLINE void set_rows(struct patch *p, const struct strip_params *s, const struct strip_line *l,
		     enum iso_strip_kernel kernel)
{
	const iso_real pixel = (iso_real)s->pixel, radius = (iso_real)s->strips.radius;
	const iso_real middle = (iso_real)(.5 * (s->ny - 1));
	const struct strip_line line = *l;
	const struct patch to = *p;
	const int low = l->low, nz = s->nz, rows = round_up(p->rows);

#pragma omp simd
	for (int r = 0; r < rows; r++) {
		struct strip_span span = strip_span(&line, nz, pixel, low + r);
		struct strip_row row = strip_row(kernel, radius, &line,
						 ((iso_real)(low + r) - middle) * pixel, span.dy);

		to.first[r] = span.first;
		to.n[r] = span.n;
		to.v[r] = span.v;
		to.q0[r] = row.q0;
		to.p0[r] = row.p0;
		to.p1[r] = row.p1;
		to.n0[r] = row.n0;
		to.n1[r] = row.n1;
		to.tau0[r] = row.tau0;
		to.tau1[r] = row.tau1;
		to.root[r] = row.root;
	}
}

INLINE struct strip_row row_of(const struct patch *p, int r, iso_real q1)
{
	struct strip_row row = { p->q0[r], q1, p->p0[r], p->p1[r], p->n0[r], p->n1[r], p->tau0[r],
				 p->tau1[r], p->root[r] };

	return row;
}

/* Weights of a row. */
INLINE void set_weights(iso_real *restrict w, const struct strip_row *row, iso_real v, int n,
			iso_real pixel, enum iso_strip_kernel kernel, int width)
{
	const iso_real end = (iso_real)n;

	for (int i = 0; i < width; i++) {
		iso_real inside = (iso_real)i < end ? 1 : 0;

		w[i] = inside * strip_weight(kernel, row, v + (iso_real)i * pixel);
	}
}

INLINE void set_patch(struct patch *p, const struct strip_params *s, const struct strip_line *l,
		      enum iso_strip_kernel kernel, int width)
{
	const iso_real q1 = (iso_real)(STRIP_LOG2E / 2) * (l->up + l->down);

	set_rows(p, s, l, kernel);
	for (int r = 0; r < p->rows; r++) {
		struct strip_row row = row_of(p, r, q1);

		set_weights(p->w + r * width, &row, p->v[r], p->n[r], (iso_real)s->pixel, kernel, width);
	}
}

/* Kernel and, where it is the paper's, width are constants inside. */
INLINE void set_patch_of(struct patch *p, const struct strip_params *s, const struct strip_line *l,
			 enum iso_strip_kernel kernel, int width)
{
	if (width == FIXED_WIDTH)
		set_patch(p, s, l, kernel, FIXED_WIDTH);
	else
		set_patch(p, s, l, kernel, width);
}

static void apply_edge(struct patch *p, const struct strip_params *s, int width)
{
	for (int r = 0; r < p->rows; r++) {
		double y = (p->low + r - .5 * (s->ny - 1)) * s->pixel;
		double z = (p->first[r] - .5 * (s->nz - 1)) * s->pixel;
		struct strip_row row = row_of(p, r, 0);

		for (int i = 0; i < p->n[r]; i++)
			p->w[r * width + i] *= strip_edge(&s->strips, &row,
							  p->v[r] + (iso_real)(i * s->pixel), y,
							  z + i * s->pixel);
	}
}

/* Weights of an event over its factor, which is returned; 0: it has none. */
static double weigh(struct patch *p, const struct strip_model *m, const struct strip_work *w,
		    const struct iso_strip_event *e)
{
	struct strip_line l = strip_line(&m->p, e);

	p->low = l.low;
	p->rows = l.high - l.low + 1;
	if (p->rows < 1)
		return p->rows = 0;
	switch (m->p.kernel) {
	case ISO_STRIP_EQ7:
		set_patch_of(p, &m->p, &l, ISO_STRIP_EQ7, w->width);
		break;
	case ISO_STRIP_TAN:
		set_patch_of(p, &m->p, &l, ISO_STRIP_TAN, w->width);
		break;
	default:
		set_patch_of(p, &m->p, &l, ISO_STRIP_GAUSS, w->width);
	}
	if (m->p.edge)
		apply_edge(p, &m->p, w->width);
	return l.factor;
}

/* ---- to the image and back ---- */

INLINE double multiply_rows(struct patch *p, const struct strip_work *w, int width)
{
	iso_real part[LANES] = { 0 };
	double sum = 0;

	for (int r = 0; r < p->rows; r++) {
		const iso_real *restrict x = w->x + (int64_t)(p->low + r) * w->stride + p->first[r];
		iso_real *restrict t = p->w + r * width;

		for (int i = 0; i < width; i += LANES)
			for (int k = 0; k < LANES; k++) {
				t[i + k] *= x[i + k];
				part[k] += t[i + k];
			}
	}
	for (int k = 0; k < LANES; k++)
		sum += part[k];
	return sum;
}

/* Weights become terms w x, whose sum is returned. */
static double multiply(struct patch *p, const struct strip_work *w)
{
	return w->width == FIXED_WIDTH ? multiply_rows(p, w, FIXED_WIDTH) :
					 multiply_rows(p, w, w->width);
}

INLINE void add_rows(iso_real *block, const struct patch *p, const struct strip_work *w,
		     iso_real factor, int width)
{
	for (int r = 0; r < p->rows; r++) {
		iso_real *restrict to = block + (int64_t)(p->low + r) * w->stride + p->first[r];
		const iso_real *restrict t = p->w + r * width;

		for (int i = 0; i < width; i++)
			to[i] = iso_fma(t[i], factor, to[i]);
	}
}

static void add(iso_real *block, const struct patch *p, const struct strip_work *w, iso_real factor)
{
	if (w->width == FIXED_WIDTH)
		add_rows(block, p, w, factor, FIXED_WIDTH);
	else
		add_rows(block, p, w, factor, w->width);
}

static iso_real *thread_block(const struct strip_work *w, const struct strip_params *p)
{
	return w->block + (int64_t)omp_get_thread_num() * p->ny * w->stride;
}

/* What a chunk added up goes, times `scale`, to the fixed-point image; the block is clear again. */
static void flush(struct strip_work *w, const struct strip_params *p, iso_real *block, double scale)
{
	int64_t *v = iso_fixed_of(&w->acc, omp_get_thread_num());

	for (int iy = 0; iy < p->ny; iy++) {
		iso_real *restrict from = block + (int64_t)iy * w->stride;
		int64_t *restrict to = v + (int64_t)iy * p->nz;

		if (w->acc.atomic)
			for (int i = 0; i < p->nz; i++)
				__atomic_fetch_add(to + i, llrint(from[i] * scale), __ATOMIC_RELAXED);
		else
			for (int i = 0; i < p->nz; i++)
				to[i] += llrint(from[i] * scale);
		memset(from, 0, (size_t)w->stride * sizeof *from);
	}
}

/* The padded copy of an image, over the power of two that brings its largest value near 1: no
   product of weight and pixel leaves the range of float. */
static void take_image(struct strip_work *w, const struct strip_params *p, const iso_real *x)
{
	iso_real most = 0;

	for (int64_t i = 0; i < (int64_t)p->ny * p->nz; i++)
		most = most < x[i] ? x[i] : most < -x[i] ? -x[i] : most;
	w->x_scale = most > 0 && isfinite(most) ? ldexp(1, ilogb(most)) : 1;
	for (int iy = 0; iy < p->ny; iy++)
		for (int iz = 0; iz < p->nz; iz++)
			w->x[(int64_t)iy * w->stride + iz] =
				(iso_real)(x[(int64_t)iy * p->nz + iz] / w->x_scale);
}

/* ---- the operator ---- */

/* Events of one subset in chunks that the data alone decide. */
#define CHUNKS(rows) (((rows).n + CHUNK - 1) / CHUNK)

static struct iso_rows chunk_rows(struct iso_rows r, int64_t chunk)
{
	int64_t first = r.first + chunk * CHUNK, left = r.first + r.n - first;
	struct iso_rows c = { first, left < CHUNK ? left : CHUNK };

	return c;
}

static int strip_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;
	struct iso_rows r = iso_op_rows(op, sub);

	take_image(w, &m->p, x);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < CHUNKS(r); c++) {
		struct patch p = thread_patch(w);
		struct iso_rows rows = chunk_rows(r, c);

		for (int64_t i = rows.first; !op->ctx->cancel && i < rows.first + rows.n; i++) {
			double factor = weigh(&p, m, w, m->e + i);

			y[i] = (iso_real)(factor * w->x_scale * multiply(&p, w));
		}
	}
	return iso_ctx_poll(op->ctx);
}

/* The largest weight of an event, all of which are 0 or above. */
static double largest(const struct patch *p, const struct strip_work *w)
{
	iso_real most = 0;

	for (int i = 0; i < p->rows * w->width; i++)
		most = iso_fmax(most, p->w[i]);
	return most;
}

/* Bound of what any pixel can add up to: sum over events of |y| x largest weight. */
static double adjoint_bound(const iso_op *op, struct iso_rows r, const iso_real *y)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;
	double bound = 0;

#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < CHUNKS(r); c++) {
		struct patch p = thread_patch(w);
		struct iso_rows rows = chunk_rows(r, c);

		w->stat[c].counts = 0;
		for (int64_t i = rows.first; !op->ctx->cancel && i < rows.first + rows.n; i++)
			w->stat[c].counts += fabs((double)y[i]) * weigh(&p, m, w, m->e + i) *
					     largest(&p, w);
	}
	for (int64_t c = 0; c < CHUNKS(r); c++)
		bound += w->stat[c].counts;
	return bound;
}

static int strip_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;
	struct iso_rows r = iso_op_rows(op, sub);
	double bound = adjoint_bound(op, r, y);

	if (!isfinite(bound))
		return iso_fail(ISO_EARG, "strip: a value to back project is not finite");
	/* so that a chunk's sums are of the order of 1 at most, whatever the unit of y */
	double unit = bound > 0 ? ldexp(1, -ilogb(bound)) : 1;

	iso_fixed_begin(&w->acc, op->ctx, bound);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < CHUNKS(r); c++) {
		struct patch p = thread_patch(w);
		struct iso_rows rows = chunk_rows(r, c);
		iso_real *block = thread_block(w, &m->p);

		for (int64_t i = rows.first; !op->ctx->cancel && i < rows.first + rows.n; i++) {
			double factor = weigh(&p, m, w, m->e + i);

			add(block, &p, w, (iso_real)(y[i] * factor * unit));
		}
		flush(w, &m->p, block, w->acc.scale / unit);
	}
	int st = iso_ctx_poll(op->ctx);

	return st ? st : iso_fixed_end(x, &w->acc, op->ctx);
}

/* Event i of acc = x A*(y / (A x + a)): the terms w x of the forward sum, over that sum, go back.
   `sum` below 2^-100 would make their factor leave float: they are scaled up first. */
static void em_event(const iso_op *op, int64_t i, struct patch *p, iso_real *block,
		     const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;
	double mult = d->mult ? d->mult[i] : 1, count = d->y ? d->y[i] : 1, unit = 0, sum = 0;

	if (mult > 0) {
		unit = weigh(p, m, w, m->e + i) * w->x_scale;
		sum = multiply(p, w);
	}
	double ax = unit * sum, q = ax + (d->add ? d->add[i] : 0);

	if (!(mult > 0) || !(q > 0)) {
		s->skipped++;
		return;
	}
	s->used++;
	s->counts += ax > 0 ? count : 0;
	s->loglik += count * log(mult * q);
	if (ax > 0)
		add(block, p, w, (iso_real)(count * unit / q));
}

static struct iso_em_stat sum_stats(int64_t n, const struct iso_em_stat *part)
{
	struct iso_em_stat s = { 0 };

	for (int64_t i = 0; i < n; i++) {
		s.loglik += part[i].loglik;
		s.counts += part[i].counts;
		s.used += part[i].used;
		s.skipped += part[i].skipped;
	}
	return s;
}

static int strip_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
			 const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;
	struct iso_rows r = iso_op_rows(op, sub);
	double bound = (double)r.n;	/* x w / q <= 1 for every event */
	int st = d->y ? op->ctx->vec->asum(op->ctx, r.n, &bound, d->y + r.first) : ISO_OK;

	if (st)
		return st;
	take_image(w, &m->p, x);
	iso_fixed_begin(&w->acc, op->ctx, bound);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < CHUNKS(r); c++) {
		struct patch p = thread_patch(w);
		struct iso_rows rows = chunk_rows(r, c);
		struct iso_em_stat part = { 0 };
		iso_real *block = thread_block(w, &m->p);

		for (int64_t i = rows.first; !op->ctx->cancel && i < rows.first + rows.n; i++)
			em_event(op, i, &p, block, d, &part);
		flush(w, &m->p, block, w->acc.scale);
		w->stat[c] = part;
	}
	if ((st = iso_ctx_poll(op->ctx)))
		return st;
	*s = sum_stats(CHUNKS(r), w->stat);
	return iso_fixed_end(acc, &w->acc, op->ctx);
}

/* ---- work space ---- */

/* Rows and columns of the largest ellipse: 3 sigma_dl and 3 sqrt(2) sigma_z high and wide; sigma_z
   is largest where both hits lie at the ends, if it grows. */
static void set_sizes(struct strip_work *w, const struct strip_params *p)
{
	const struct iso_strips *s = &p->strips;
	double sigma = s->sigma_z * fmax(1, 1 + s->sigma_z_growth);

	w->rows = round_up((int64_t)fmin(3 * s->sigma_dl / p->pixel + 2, p->ny));
	w->width = round_up((int64_t)fmin(3 * sqrt(2) * sigma / p->pixel + 1.01, p->nz));
	w->stride = p->nz + w->width;
	w->patch_size = (int64_t)(ROW_ARRAYS + w->width) * w->rows;
}

static double additions(const struct strip_model *m)
{
	return (double)(CHUNKS(order_rows(&m->order, 0)) * m->p.ny * m->p.nz);
}

static void strip_close(iso_op *op)
{
	struct strip_work *w = op->work;

	iso_fixed_free(&w->acc);
	free(w->x);
	free(w->block);
	free(w->patch);
	free(w->stat);
	free(w);
}

static int strip_open(iso_op *op)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = size_alloc(1, sizeof *w);
	int64_t chunks = op->n_out / CHUNK + 1, padded;

	if (!w)
		return iso_fail_memory("strip", sizeof *w);
	op->work = w;	/* from here strip_close cleans up */
	set_sizes(w, &m->p);
	padded = (int64_t)m->p.ny * w->stride;
	w->x = size_alloc(padded, sizeof *w->x);
	w->block = size_alloc(padded * op->ctx->threads, sizeof *w->block);
	w->patch = size_alloc(w->patch_size * op->ctx->threads, sizeof *w->patch);
	w->stat = size_alloc(chunks, sizeof *w->stat);
	if (!w->x || !w->block || !w->patch || !w->stat)
		return iso_fail_memory("strip", (padded * (op->ctx->threads + 1) +
				       w->patch_size * op->ctx->threads) * (int64_t)sizeof *w->x);
	return iso_fixed_create(&w->acc, op->ctx, op->n_in, additions(m));
}

static void strip_free(iso_op *op)
{
	struct strip_model *m = op->data;

	free(m->e);
	free(m);
}

const struct iso_op_fn iso_strip_cpu_fn = {
	.forward = strip_forward,
	.adjoint = strip_adjoint,
	.em_step = strip_em_step,
	.rows = iso_strip_rows,
	.file_row = iso_strip_file_row,
	.open = strip_open,
	.close = strip_close,
	.free = strip_free,
	.to_cuda = "iso_strip_to_cuda",
};

void iso_strip_cpu_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct strip_model *m)
{
	struct strip_work w = { 0 };
	int64_t pixels = (int64_t)m->p.ny * m->p.nz;

	set_sizes(&w, &m->p);
	iso_plan_add(plan, "padded images", (int64_t)m->p.ny * w.stride,
		     (int64_t)sizeof(iso_real) * (ctx->threads + 1), false);
	iso_plan_add(plan, "ellipses", w.patch_size, (int64_t)sizeof(iso_real) * ctx->threads, false);
	iso_plan_add(plan, "fixed-point image", pixels,
		     (int64_t)sizeof(int64_t) * iso_fixed_copies(ctx, pixels, additions(m)), false);
}
