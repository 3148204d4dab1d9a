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

#define CHUNK 1024	/* events that add to one image, between two looks at the cancel flag */
#define LANES 4		/* widths and numbers of rows are rounded up to a multiple */
#define FIXED_WIDTH 12	/* that of the paper's set-up has code of its own */

#define NEAR ((iso_real).1)	/* how far N may be from N at v = 0, relative, for a polynomial */

#define INLINE static inline __attribute__((always_inline))

/* Several values at once, where the compiler does not find that by itself. */
typedef iso_real lanes __attribute__((vector_size(LANES * sizeof(iso_real))));
#ifdef ISO_DOUBLE
typedef int64_t lane_mask __attribute__((vector_size(LANES * sizeof(iso_real))));
#else
typedef int32_t lane_mask __attribute__((vector_size(LANES * sizeof(iso_real))));
#endif

INLINE lanes load(const iso_real *v)
{
	lanes l;

	memcpy(&l, v, sizeof l);
	return l;
}

INLINE void store(iso_real *v, lanes l)
{
	memcpy(v, &l, sizeof l);
}

/* l where the mask is set, else 0. */
INLINE lanes only(lane_mask mask, lanes l)
{
	return (lanes)((lane_mask)l & mask);
}

/* How a row's weights are worked out. */
enum form { EQ7, EQ7_NEAR, TAN, GAUSS };

/* The ellipse of an event, an element a row, `width` terms a row. In column first + i the weight is

	GAUSS		root 2^x,  x = c0 + c1 i + c2 i^2
	TAN		root 2^x / (1 + tau^2),  tau = e0 + e1 i
	EQ7		2^(x + ab^2 / N) / sqrt(N),  ab = b0 + b1 i,  N = e0 + e1 i
	EQ7_NEAR	root g 2^(x + (g ab)^2),  g = 1/sqrt(1 + e),  e = e0 + e1 i

   over the event's factor. The last is the third with N = (1 + e) / root^2, where e is small. c2 is
   the same for all rows of GAUSS, whose weights are products: start[i % 4] e1^(i / 4) h[i], with

	start[j] = root 2^(c0 + c1 j),  e1 = 2^(4 c1),  h[i] = 2^(c2 i^2) */
struct patch {
	int low, rows;
	int *first, *n;		/* columns */
	iso_real *v, *dy;	/* mm, of the first column */
	iso_real *start, *h;	/* LANES a row; `width` in all */
	iso_real *root, *c0, *c1, *c2, *b0, *b1, *e0, *e1;
	iso_real *exponent;	/* of two */
	iso_real *t;		/* terms: weight x pixel */
};

enum { ROW_ARRAYS = 12 };

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
	iso_real **part[] = { &p.v, &p.dy, &p.root, &p.c0, &p.c1, &p.c2, &p.b0, &p.b1, &p.e0,
			      &p.e1 };

	for (int i = 0; i < ROW_ARRAYS - 2; i++)
		*part[i] = v + (i + 2) * w->rows;
	p.start = v + ROW_ARRAYS * w->rows;
	p.h = p.start + LANES * w->rows;
	p.exponent = p.h + w->width;
	p.t = p.exponent + w->width * w->rows;
	return p;
}

/* ---- the ellipse ---- */

/* From polynomials in v to polynomials in i: v is that of column i = 0. */
INLINE void set_row(const struct patch *p, int r, const struct strip_row *row, iso_real v,
		    iso_real pixel, enum form form)
{
	iso_real root = form == EQ7 ? 1 : row->root, over_n = root * root;
	iso_real b0 = (row->p0 + row->p1 * v) * root, b1 = row->p1 * pixel * root;
	iso_real c0 = -(row->q0 + row->q1 * v * v), c1 = -2 * row->q1 * v * pixel;
	iso_real c2 = -row->q1 * pixel * pixel;

	p->root[r] = root;
	p->c0[r] = form == TAN ? c0 + b0 * b0 : c0;
	p->c1[r] = form == TAN ? c1 + 2 * b0 * b1 : c1;
	if (form == GAUSS)
		return;
	p->c2[r] = form == TAN ? c2 + b1 * b1 : c2;
	p->b0[r] = b0;
	p->b1[r] = b1;
	p->e0[r] = form == TAN ? row->tau0 + row->tau1 * v : form == EQ7 ? row->n0 + row->n1 * v :
			row->n1 * v * over_n;
	p->e1[r] = form == TAN ? row->tau1 * pixel : row->n1 * pixel * over_n;
}

/* From polynomials to products, for GAUSS. */
static void set_starts(const struct patch *patch)
{
	const struct patch p = *patch;
	const int rows = round_up(p.rows);

#pragma omp simd
	for (int r = 0; r < rows; r++) {
		iso_real g = strip_exp2(p.c1[r]), g2 = g * g, first = p.root[r] * strip_exp2(p.c0[r]);

		p.start[LANES * r] = first;
		p.start[LANES * r + 1] = first * g;
		p.start[LANES * r + 2] = first * g2;
		p.start[LANES * r + 3] = first * (g2 * g);
		p.e1[r] = g2 * g2;
	}
}

static void set_spans(const struct patch *patch, const struct strip_params *s,
		      const struct strip_line *l)
{
	const iso_real pixel = (iso_real)s->pixel;
	const struct strip_line line = *l;
	const struct patch p = *patch;
	const int nz = s->nz, rows = round_up(p.rows);

#pragma omp simd
	for (int r = 0; r < rows; r++) {
		struct strip_span span = strip_span(&line, nz, pixel, p.low + r);

		p.first[r] = span.first;
		p.n[r] = span.n;
		p.v[r] = span.v;
		p.dy[r] = span.dy;
	}
}

/* EQ7_NEAR: false if e leaves |e| <= NEAR anywhere in the ellipse. */
INLINE bool set_rows(const struct patch *patch, const struct strip_params *s,
		     const struct strip_line *l, enum form form)
{
	const enum iso_strip_kernel kernel = form == TAN ? ISO_STRIP_TAN :
					     form == GAUSS ? ISO_STRIP_GAUSS : ISO_STRIP_EQ7;
	const iso_real pixel = (iso_real)s->pixel, radius = (iso_real)s->strips.radius;
	const iso_real middle = (iso_real)(.5 * (s->ny - 1));
	const iso_real reach = iso_sqrt(STRIP_REACH2 / (l->up + l->down)) / NEAR;
	const struct strip_line line = *l;
	const struct patch p = *patch;
	const int low = p.low, rows = round_up(p.rows);
	int far = 0;

#pragma omp simd reduction(| : far)
	for (int r = 0; r < rows; r++) {
		struct strip_row row = strip_row(kernel, radius, &line,
						 ((iso_real)(low + r) - middle) * pixel, p.dy[r]);

		set_row(&p, r, &row, p.v[r], pixel, form);
		far |= (p.n[r] > 0) & !(row.n1 * reach <= row.n0) & !(-row.n1 * reach <= row.n0);
	}
	return form != EQ7_NEAR || !far;
}

/* 1/sqrt(1 + e) for |e| <= NEAR: in float a polynomial (minimax, 1.6e-7). */
INLINE iso_real over_root(iso_real e)
{
#ifdef ISO_DOUBLE
	return 1 / sqrt(1 + e);
#else
	iso_real e2 = e * e, high = iso_fma(.27680373f, e2, iso_fma(-.31560379f, e, .37498766f));

	return iso_fma(high, e2, iso_fma(-.49999222f, e, 1.f));
#endif
}

/* Exponent and factor of each weight of a row, the factor times the pixel. Past the row's end the
   factor is 0, and the exponent that of the first column. */
INLINE void set_parts(iso_real *restrict exponent, iso_real *restrict factor,
		      const struct patch *p, int r, const iso_real *restrict x, enum form form,
		      int width)
{
	const iso_real end = (iso_real)p->n[r], root = p->root[r];
	const iso_real c0 = p->c0[r], c1 = p->c1[r], c2 = p->c2[r], b0 = p->b0[r], b1 = p->b1[r];
	const iso_real e0 = p->e0[r], e1 = p->e1[r];

#pragma omp simd
	for (int k = 0; k < width; k++) {
		bool inside = (iso_real)k < end;
		iso_real i = inside ? (iso_real)k : 0, scale = (inside ? root : 0) * x[k];
		iso_real e = iso_fma(e1, i, e0), ab = iso_fma(b1, i, b0);
		iso_real c = iso_fma(iso_fma(c2, i, c1), i, c0), g = over_root(e);
		iso_real over_n = 1 / strip_positive(e);

		if (form == EQ7) {
			c = strip_bounded(iso_fma(ab * ab, over_n, c));
			scale *= iso_sqrt(over_n);
		} else if (form == EQ7_NEAR) {
			c = iso_fma(ab * g, ab * g, c);
			scale *= g;
		} else if (form == TAN) {
			scale /= iso_fma(e, e, 1);
		}
		exponent[k] = c;
		factor[k] = scale;
	}
}

/* Terms, weight x pixel, of all rows; returns their sum. Exponentials come in a loop of their own:
   one loop for all would be too long for the processor to overlap its turns. */
INLINE double set_terms(const struct patch *p, const struct strip_work *w, enum form form, int width)
{
	iso_real *restrict t = p->t, *restrict exponent = p->exponent, sum = 0;
	const int n = p->rows * width;

	for (int r = 0; r < p->rows; r++)
		set_parts(exponent + r * width, t + r * width, p, r,
			  w->x + (int64_t)(p->low + r) * w->stride + p->first[r], form, width);
#pragma omp simd reduction(+ : sum)
	for (int i = 0; i < n; i++) {
		t[i] *= strip_exp2(exponent[i]);
		sum += t[i];
	}
	return sum;
}

/* h of GAUSS; past the end of every row it may be too small to hold. */
INLINE void set_curve(const struct patch *p, const struct strip_params *s, const struct strip_line *l,
		      int width)
{
	const iso_real c2 = (iso_real)(-STRIP_LOG2E / 2 * s->pixel * s->pixel) * (l->up + l->down);

	for (int i = 0; i < width; i++)
		p->h[i] = strip_exp2(iso_fmax(c2 * (iso_real)(i * i), -126));
}

/* The terms of GAUSS: no exponential a pixel. */
INLINE double set_terms_gauss(const struct patch *patch, const struct strip_work *w, int width)
{
	const struct patch p = *patch;
	const iso_real *image = w->x + (int64_t)p.low * w->stride;
	const int64_t stride = w->stride;
	lanes sum = { 0 };

	for (int r = 0; r < p.rows; r++) {
		const iso_real *x = image + r * stride + p.first[r], end = (iso_real)p.n[r], step = p.e1[r];
		lanes weight = load(p.start + LANES * r), i = { 0, 1, 2, 3 };

		for (int k = 0; k < width; k += LANES) {
			lanes term = only(i < end, weight * load(p.h + k) * load(x + k));

			store(p.t + r * width + k, term);
			sum += term;
			weight *= step;
			i += LANES;
		}
	}
	return (double)(sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Form and, where it is the paper's, width are constants inside. */
INLINE double terms_of(const struct patch *p, const struct strip_work *w, enum form form)
{
	if (form == GAUSS)
		return w->width == FIXED_WIDTH ? set_terms_gauss(p, w, FIXED_WIDTH) :
						 set_terms_gauss(p, w, w->width);
	return w->width == FIXED_WIDTH ? set_terms(p, w, form, FIXED_WIDTH) :
					 set_terms(p, w, form, w->width);
}

/* Kernel tan with the ends of the strips. In units of columns tau* = e0 + e1 i. */
static double apply_edge(const struct patch *p, const struct strip_params *s, int width)
{
	double sum = 0;

	for (int r = 0; r < p->rows; r++) {
		double y = (p->low + r - .5 * (s->ny - 1)) * s->pixel;
		double z = (p->first[r] - .5 * (s->nz - 1)) * s->pixel;
		struct strip_row row = { .tau0 = p->e0[r], .tau1 = p->e1[r],
					 .n0 = 1 / (p->root[r] * p->root[r]) };

		for (int i = 0; i < p->n[r]; i++)
			sum += p->t[r * width + i] *= strip_edge(&s->strips, &row, (iso_real)i, y,
								 z + i * s->pixel);
	}
	return sum;
}

/* Sum of the terms, and the factor that makes weights of them; an event that misses the image has
   neither. */
static double project(double *factor, struct patch *p, const struct strip_model *m,
		      const struct strip_work *w, const struct iso_strip_event *e)
{
	struct strip_line l = strip_line(&m->p, e);
	double sum;

	*factor = l.factor;
	p->low = l.low;
	p->rows = l.high - l.low + 1;
	set_spans(p, &m->p, &l);
	switch (m->p.kernel) {
	case ISO_STRIP_EQ7:
		if (set_rows(p, &m->p, &l, EQ7_NEAR))
			return terms_of(p, w, EQ7_NEAR);
		set_rows(p, &m->p, &l, EQ7);
		return terms_of(p, w, EQ7);
	case ISO_STRIP_TAN:
		set_rows(p, &m->p, &l, TAN);
		sum = terms_of(p, w, TAN);
		return m->p.edge ? apply_edge(p, &m->p, w->width) : sum;
	default:
		set_rows(p, &m->p, &l, GAUSS);
		set_starts(p);
		set_curve(p, &m->p, &l, w->width);
		return terms_of(p, w, GAUSS);
	}
}

/* ---- to the image and back ---- */

INLINE void add_rows(iso_real *block, const struct patch *patch, const struct strip_work *w,
		     iso_real factor, int width)
{
	const struct patch p = *patch;
	const int64_t stride = w->stride;

	for (int r = 0; r < p.rows; r++) {
		iso_real *to = block + (p.low + r) * stride + p.first[r], *t = p.t + r * width;

		for (int k = 0; k < width; k += LANES)
			store(to + k, load(to + k) + load(t + k) * factor);
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

/* With an image of ones the terms are the weights. */
static void take_ones(struct strip_work *w, const struct strip_params *p)
{
	w->x_scale = 1;
	for (int iy = 0; iy < p->ny; iy++)
		for (int iz = 0; iz < p->nz; iz++)
			w->x[(int64_t)iy * w->stride + iz] = 1;
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
			double factor, sum = project(&factor, &p, m, w, m->e + i);

			y[i] = (iso_real)(factor * w->x_scale * sum);
		}
	}
	return iso_ctx_poll(op->ctx);
}

/* Bound of what any pixel can add up to: the sum over all of them. */
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
		for (int64_t i = rows.first; !op->ctx->cancel && i < rows.first + rows.n; i++) {
			double factor, sum = project(&factor, &p, m, w, m->e + i);

			w->stat[c].counts += fabs((double)y[i]) * factor * sum;
		}
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

	take_ones(w, &m->p);
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
			double factor;

			project(&factor, &p, m, w, m->e + i);
			add(block, &p, w, (iso_real)(y[i] * factor * unit));
		}
		flush(w, &m->p, block, w->acc.scale / unit);
	}
	int st = iso_ctx_poll(op->ctx);

	return st ? st : iso_fixed_end(x, &w->acc, op->ctx);
}

/* Event i of acc = x A*(y / (A x + a)): the terms w x of the forward sum, over that sum, go back. */
static void em_event(const iso_op *op, int64_t i, struct patch *p, iso_real *block,
		     const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;
	double mult = d->mult ? d->mult[i] : 1, count = d->y ? d->y[i] : 1, unit = 0, sum = 0;

	if (mult > 0)
		sum = project(&unit, p, m, w, m->e + i);
	unit *= w->x_scale;
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
	w->patch_size = (int64_t)(ROW_ARRAYS + LANES + 2 * w->width) * w->rows + w->width;
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
