/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip on the CPU: the ellipse of each event is worked out once, which serves the forward
   sum and the way back.

   Image columns are contiguous here, and an ellipse is cut into bands of LANES rows. A band is gone
   through column by column, the pixels of all its rows at once. Along a row the logarithm of the
   weight is a polynomial in the column, so from one column to the next it takes multiplications
   only, no exponential: w(i+1) = w(i) r(i), r(i+1) = r(i) s(i), and so on up to the degree.

   A chunk of events adds to an image of its own, in float, which is then rounded to fixed point:
   the sums are short, and the same for every number of threads. */
#include "core/em_kern.h"
#include "core/fixed.h"
#include "core/size.h"
#include "strip.h"

#include <omp.h>
#include <string.h>

#define LANES 4 /* rows of a band */
#define TILE 16 /* columns, before products are started anew: rounding adds up */

/* eq7 and tan: degree of the polynomial, and how small the quantity it is a series in must be at
   the border of the ellipse. What is left out is then 1e-4 of the exponent there, where weights are
   1 % of the highest, and 64 times less half way; an event's sum is good to 1e-6. In double no row
   is near enough, and weights are those of strip_weight. */
#define DEGREE 5
#ifdef ISO_DOUBLE
#	define NEAR 0
#else
#	define NEAR ((iso_real).1)
#endif

#define INLINE static inline __attribute__((always_inline))

/* The rows of a band. Sums and products of these are vector instructions. */
typedef iso_real lanes __attribute__((vector_size(LANES * sizeof(iso_real))));
typedef __typeof__((lanes){ 0 } < (lanes){ 0 }) lane_mask; /* integers */

typedef lanes lanes_at __attribute__((aligned(sizeof(iso_real)), may_alias)); /* in an array */

INLINE lanes load(const iso_real *v)
{
	return *(const lanes_at *)v;
}

INLINE void store(iso_real *v, lanes l)
{
	*(lanes_at *)v = l;
}

INLINE lanes all(iso_real v)
{
	return v - (lanes){ 0 };
}

/* a b + c. Loops over LANES elements become one instruction. */
INLINE lanes fused(lanes a, lanes b, lanes c)
{
	iso_real x[LANES], y[LANES], z[LANES];

	store(x, a);
	store(y, b);
	store(z, c);
#pragma omp simd
	for (int i = 0; i < LANES; i++) z[i] = iso_fma(x[i], y[i], z[i]);
	return load(z);
}

INLINE lanes power_of_two(lanes x)
{
	iso_real v[LANES];

	store(v, x);
#pragma omp simd
	for (int i = 0; i < LANES; i++) v[i] = strip_exp2(v[i]);
	return load(v);
}

/* LANES rows from `row` of the ellipse, `n` columns: a part of a band, most often all of it. */
struct tile {
	int row, first, n;
};

/* An event's ellipse. Elements are rows, from `low`. Where the row is within reach, the weight at
   column iz + middle + u is, over the event's factor,

	root 2^(curve[0] + curve[1] u + curve[2] u^2 + ...) */
struct patch {
	struct strip_line line;
	int low, rows, tiles;                 /* low and rows are multiples of LANES */
	double sum;                           /* of all terms */
	iso_real *dy, *middle, *half, *half2; /* as strip_reach has them */
	iso_real *p0, *p1, *slope, *tau0;     /* as strip_row; slope: n1, or tau1 */
	iso_real *root, *curve[DEGREE + 1];
	struct tile *tile;
	iso_real *start; /* DEGREE + 1 lanes of each tile */
	iso_real *t;     /* terms: weight x pixel, a tile's column after another */
};

enum { ROW_ARRAYS = 9 + DEGREE + 1 };

struct strip_work {
	int rows, stride; /* of the largest ellipse, whole bands; of an image column */
	int tiles;        /* of any ellipse, at most */
	struct iso_fixed acc;
	iso_real *x; /* columns, padded, over x_scale */
	double x_scale;
	iso_real *block;   /* the same, one for each thread: what a chunk adds to */
	iso_real *patch;   /* `patch_size` for each thread */
	struct tile *tile; /* `tiles` for each thread */
	int64_t patch_size;
	struct iso_em_stat *stat; /* one for each chunk */
};

static int round_up(int64_t n)
{
	return (int)((n + LANES - 1) / LANES * LANES);
}

static struct patch thread_patch(const struct strip_work *w)
{
	iso_real *v = w->patch + omp_get_thread_num() * w->patch_size;
	struct patch p = { .tile = w->tile + omp_get_thread_num() * (int64_t)w->tiles, .start = v };
	iso_real **part[] = { &p.dy, &p.middle, &p.half, &p.half2, &p.p0, &p.p1, &p.slope, &p.tau0, &p.root };

	v += (int64_t)w->tiles * LANES * (DEGREE + 1);
	for (int i = 0; i < ROW_ARRAYS; i++, v += w->rows) *(i < 9 ? part[i] : &p.curve[i - 9]) = v;
	p.t = v;
	return p;
}

/* ---- the rows of an ellipse ---- */

static void set_reach(const struct patch *patch, iso_real pixel)
{
	const struct strip_line line = patch->line;
	const struct patch p = *patch;

#pragma omp simd
	for (int r = 0; r < p.rows; r++) {
		struct strip_reach reach = strip_reach(&line, pixel, p.low + r);

		p.dy[r] = reach.dy;
		p.middle[r] = reach.middle;
		p.half[r] = reach.half;
		p.half2[r] = reach.half2;
	}
}

/* Columns that any row of a band reaches, clipped to the image, an even number: one may lie past its end. */
static void set_tiles(struct patch *p, int nz)
{
	p->tiles = 0;
	for (int row = 0; row < p->rows; row += LANES) {
		const iso_real *middle = p->middle + row, *half = p->half + row;
		iso_real low = middle[0], high = middle[0];

#pragma omp simd reduction(min : low) reduction(max : high)
		for (int r = 0; r < LANES; r++) {
			low = middle[r] - half[r] < low ? middle[r] - half[r] : low;
			high = middle[r] + half[r] > high ? middle[r] + half[r] : high;
		}
		int first = (int)iso_ceil(low) + p->line.iz, last = (int)iso_floor(high) + p->line.iz;

		first = first > 0 ? first : 0;
		last = last < nz - 1 ? last : nz - 1;
		for (int n; first <= last; first += n) {
			n = last - first < TILE ? (last - first) / 2 * 2 + 2 : TILE;
			p->tile[p->tiles++] = (struct tile){ row, first, n };
		}
	}
}

/* False if the series of a row is not near enough. `reach` is the ellipse's, mm. */
INLINE bool set_rows(const struct patch *patch, const struct strip_params *s, iso_real reach,
                     enum iso_strip_kernel kernel)
{
	const iso_real pixel = (iso_real)s->pixel, radius = (iso_real)s->strips.radius;
	const iso_real middle = (iso_real)(.5 * (s->ny - 1));
	const struct strip_line line = patch->line;
	const struct patch p = *patch;
	int far = 0;

#pragma omp simd reduction(| : far)
	for (int r = 0; r < p.rows; r++) {
		struct strip_row row =
			strip_row(kernel, radius, &line, ((iso_real)(p.low + r) - middle) * pixel, p.dy[r]);
		iso_real slope = kernel == ISO_STRIP_TAN ? row.tau1 : row.n1;
		iso_real bound = kernel == ISO_STRIP_TAN ? NEAR : NEAR * row.n0;

		p.curve[0][r] = -row.q0;
		p.curve[1][r] = 0;
		p.curve[2][r] = -row.q1 * (pixel * pixel);
		p.root[r] = row.root;
		if (kernel == ISO_STRIP_GAUSS) continue;
		p.p0[r] = row.p0;
		p.p1[r] = row.p1;
		p.tau0[r] = row.tau0;
		p.slope[r] = slope;
		far |= (p.half2[r] >= 0) & !((slope * reach <= bound) & (-slope * reach <= bound));
	}
	return !far;
}

/* With N = n0 (1 - e u) and ab / sqrt(n0) = b0 + b1 u the exponent of eq7 is, in powers of two,

	b0^2 - q0 + b0 (b1 + k) u - q1 u^2 + k^2 u^2 / (1 - e u) - log2(1 - e u) / 2,  k = b1 + b0 e

   of which the last two are series in e u. */
INLINE void add_eq7(const struct patch *p, int r, iso_real b0, iso_real b1, iso_real pixel)
{
	const iso_real unit = (iso_real)(STRIP_LOG2E / 2);
	iso_real e = -p->slope[r] * p->root[r] * p->root[r] * pixel, e2 = e * e, log = unit * e2;
	iso_real k = iso_fma(b0, e, b1), k2 = k * k;

	p->curve[1][r] = iso_fma(b0, b1 + k, unit * e);
	p->curve[2][r] += iso_fma(log, (iso_real)1 / 2, k2);
	p->curve[3][r] = e * iso_fma(log, (iso_real)1 / 3, k2);
	p->curve[4][r] = e2 * iso_fma(log, (iso_real)1 / 4, k2);
	p->curve[5][r] = e2 * e * iso_fma(log, (iso_real)1 / 5, k2);
}

/* tan: with z = (tau0 + i) tau1 / (1 + tau0^2), 1 + tau*^2 = (1 + tau0^2) |1 + z u|^2; of the
   series of its logarithm the real parts of (-z)^n, c[n], are needed:
   c[n] = 2 c[1] c[n-1] - |z|^2 c[n-2]. */
INLINE void add_tan(const struct patch *p, int r, iso_real b0, iso_real b1, iso_real pixel)
{
	const iso_real unit = (iso_real)(2 * STRIP_LOG2E);
	iso_real over = 1 / iso_fma(p->tau0[r], p->tau0[r], 1), tau1 = p->slope[r] * pixel;
	iso_real c1 = -p->tau0[r] * tau1 * over, twice = 2 * c1, z2 = tau1 * tau1 * over;
	iso_real c2 = twice * c1 - z2, c3 = twice * c2 - z2 * c1, c4 = twice * c3 - z2 * c2;
	iso_real c5 = twice * c4 - z2 * c3;

	p->curve[1][r] = iso_fma(2 * b0, b1, unit * c1);
	p->curve[2][r] += iso_fma(b1, b1, unit / 2 * c2);
	p->curve[3][r] = unit / 3 * c3;
	p->curve[4][r] = unit / 4 * c4;
	p->curve[5][r] = unit / 5 * c5;
	p->root[r] *= over;
}

/* From gauss to eq7 or tan. A loop of its own: one for all would be too long for the processor to
   overlap its turns. */
INLINE void set_curves(const struct patch *patch, iso_real pixel, enum iso_strip_kernel kernel)
{
	const struct patch p = *patch;

#pragma omp simd
	for (int r = 0; r < p.rows; r++) {
		iso_real b0 = p.p0[r] * p.root[r], b1 = p.p1[r] * p.root[r] * pixel;

		p.curve[0][r] = iso_fma(b0, b0, p.curve[0][r]);
		if (kernel == ISO_STRIP_EQ7)
			add_eq7(&p, r, b0, b1, pixel);
		else
			add_tan(&p, r, b0, b1, pixel);
	}
}

/* ---- terms, weight x pixel ---- */

/* Weight at u, and what leads from column to column: the polynomial's differences, n! times the
   coefficients of its Newton form at u, u + 1, ... (Horner's rule). Of the first three their powers
   of two are kept; from the third difference on they are small, and kept as logarithms. */
INLINE void set_starts(const struct patch *patch, int degree)
{
	const struct patch p = *patch;
	const lanes second = power_of_two(load(p.curve[2]) * 2); /* gauss: of all rows */

	for (int i = 0; i < p.tiles; i++) {
		const int row = p.tile[i].row;
		lanes u = (iso_real)(p.tile[i].first - p.line.iz) - load(p.middle + row);
		iso_real *to = p.start + i * (LANES * (DEGREE + 1));
		iso_real factorial = (iso_real)(2 / STRIP_LOG2E);
		lanes c[DEGREE + 1];

		for (int n = 0; n <= degree; n++) c[n] = load(p.curve[n] + row);
		for (int k = 0; k < degree; k++, u += 1)
			for (int n = degree - 1; n >= k; n--) c[n] = fused(c[n + 1], u, c[n]);
		store(to, load(p.root + row) * power_of_two(c[0]));
		store(to + LANES, power_of_two(c[1]));
		store(to + 2 * LANES, degree > 2 ? power_of_two(c[2] * 2) : second);
		for (int n = 3; n <= degree; n++) store(to + n * LANES, c[n] * (factorial *= (iso_real)n));
	}
}

INLINE void step(lanes c[], int degree)
{
	c[0] *= c[1];
	c[1] *= c[2];
	if (degree > 2) { /* c[2] *= exp(c[3]) */
		lanes high = fused(c[3], all((iso_real)1 / 6), all((iso_real)1 / 2));

		c[2] = fused(c[2], fused(c[3] * c[3], high, c[3]), c[2]);
	}
	for (int n = 3; n < degree; n++) c[n] += c[n + 1];
}

INLINE void set_terms(struct patch *patch, const struct strip_work *w, int degree)
{
	const struct patch p = *patch;
	const int64_t stride = w->stride;
	const iso_real *image = w->x + p.low;
	iso_real *t = p.t;
	lanes sum = { 0 };

	for (int i = 0; i < p.tiles; i++) {
		const struct tile tile = p.tile[i];
		const iso_real *x = image + tile.first * stride + tile.row;
		const lanes half2 = load(p.half2 + tile.row);
		lanes u = (iso_real)(tile.first - p.line.iz) - load(p.middle + tile.row);
		lanes c[DEGREE + 1];

		for (int n = 0; n <= degree; n++) c[n] = load(p.start + (i * (DEGREE + 1) + n) * LANES);
		for (int j = 0; j < tile.n; j += 2)
			for (int k = 0; k < 2; k++, u += 1, x += stride, t += LANES) {
				/* 0 beyond the ellipse, also if c is not a number there */
				lanes term = (lanes)((lane_mask)c[0] & (u * u <= half2)) * load(x);

				store(t, term);
				sum += term;
				step(c, degree);
			}
	}
	patch->sum = (double)(sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* By the weight's definition; with the ends of the strips, if they count. */
static void set_terms_exact(struct patch *p, const struct strip_params *s, const struct strip_work *w)
{
	iso_real *at = p->t, pixel = (iso_real)s->pixel;

	p->sum = 0;
	for (int i = 0; i < p->tiles; at += LANES * p->tile[i++].n)
		for (int lane = 0; lane < LANES; lane++) {
			const struct tile tile = p->tile[i];
			const int r = tile.row + lane, iy = p->low + r;
			const double y = (iy - .5 * (s->ny - 1)) * s->pixel;
			struct strip_row row = strip_row(s->kernel, (iso_real)s->strips.radius, &p->line,
			                                 (iso_real)y, p->dy[r]);
			double sum = 0;

			for (int iz = tile.first; iz < tile.first + tile.n; iz++) {
				iso_real *t = at + (iz - tile.first) * LANES + lane;
				iso_real u = (iso_real)(iz - p->line.iz) - p->middle[r], v = u * pixel;

				*t = 0;
				if (!(u * u <= p->half2[r])) continue;
				*t = strip_weight(s->kernel, &row, v) * w->x[(int64_t)iz * w->stride + iy];
				if (s->edge)
					*t *= strip_edge(&s->strips, &row, v, y,
					                 (iz - .5 * (s->nz - 1)) * s->pixel);
				sum += *t;
			}
			p->sum += sum;
		}
}

/* Constants inside: the kernel and its degree. */
INLINE bool set_terms_of(struct patch *p, const struct strip_params *s, const struct strip_work *w,
                         iso_real reach, enum iso_strip_kernel kernel, int degree)
{
	if (!set_rows(p, s, reach, kernel)) return false;
	if (kernel != ISO_STRIP_GAUSS) set_curves(p, (iso_real)s->pixel, kernel);
	set_starts(p, degree);
	set_terms(p, w, degree);
	return true;
}

/* Products serve where a band's first column is not so far from the middle of any of its rows that
   the weight there leaves the range of float, and where the ratios of high order are near 1. */
static bool set_terms_fast(struct patch *p, const struct strip_params *s, const struct strip_work *w)
{
	const iso_real reach = iso_sqrt(STRIP_REACH2 / (p->line.up + p->line.down));
	const iso_real half = reach / (iso_real)s->pixel;
	const iso_real slant = (LANES - 1) * (p->line.t > 0 ? p->line.t : -p->line.t) + 1;

	if (!(slant < 2 * half)) return false;
	if (s->kernel == ISO_STRIP_GAUSS) return set_terms_of(p, s, w, reach, ISO_STRIP_GAUSS, 2);
	if (half < 2 || s->edge) return false;
	return s->kernel == ISO_STRIP_EQ7 ? set_terms_of(p, s, w, reach, ISO_STRIP_EQ7, DEGREE)
	                                  : set_terms_of(p, s, w, reach, ISO_STRIP_TAN, DEGREE);
}

/* The terms of event i and their sum; one that misses the image has neither. */
static double project(struct patch *p, const iso_op *op, int64_t i)
{
	const struct strip_model *m = op->data;
	const struct strip_work *w = op->work;

	p->line = strip_line(&m->p, m->e + i);
	p->low = p->line.low / LANES * LANES;
	p->rows = round_up(p->line.high - p->low + 1);
	set_reach(p, (iso_real)m->p.pixel);
	set_tiles(p, m->p.nz);
	if (!set_terms_fast(p, &m->p, w)) set_terms_exact(p, &m->p, w);
	return p->sum;
}

/* ---- to the image and back ---- */

static void add(iso_real *block, const struct patch *patch, const struct strip_work *w, iso_real factor)
{
	const struct patch p = *patch;
	const int64_t stride = w->stride;
	const iso_real *t = p.t;

	for (int i = 0; i < p.tiles; i++) {
		const struct tile tile = p.tile[i];
		iso_real *to = block + tile.first * stride + p.low + tile.row;

		for (int j = 0; j < tile.n; j += 2)
			for (int k = 0; k < 2; k++, to += stride, t += LANES)
				store(to, fused(load(t), all(factor), load(to)));
	}
}

/* Elements of an image of columns: whole bands, and a column more than the image has. */
static int64_t padded(const struct strip_work *w, const struct strip_params *p)
{
	return (int64_t)(p->nz + 1) * w->stride;
}

/* What a chunk added up goes, times `scale`, to the fixed-point image; the block is clear again. */
static void flush(struct strip_work *w, const struct strip_params *p, iso_real *block, double scale)
{
	int64_t *v = iso_fixed_of(&w->acc, omp_get_thread_num());

	for (int iy = 0; iy < p->ny; iy++)
		for (int iz = 0; iz < p->nz; iz++) {
			int64_t *to = v + (int64_t)iy * p->nz + iz;
			int64_t value = llrint(block[(int64_t)iz * w->stride + iy] * scale);

			if (w->acc.atomic)
				__atomic_fetch_add(to, value, __ATOMIC_RELAXED);
			else
				*to += value;
		}
	memset(block, 0, (size_t)padded(w, p) * sizeof *block);
}

/* The padded copy of an image, over the power of two that brings its largest value near 1: no
   product of weight and pixel leaves the range of float. NULL: of ones, with which terms are weights. */
static void take_image(struct strip_work *w, const struct strip_params *p, const iso_real *x)
{
	iso_real most = 0;

	for (int64_t i = 0; x && i < (int64_t)p->ny * p->nz; i++)
		most = most < x[i] ? x[i] : most < -x[i] ? -x[i] : most;
	w->x_scale = most > 0 && isfinite(most) ? ldexp(1, ilogb(most)) : 1;
	for (int iy = 0; iy < p->ny; iy++)
		for (int iz = 0; iz < p->nz; iz++)
			w->x[(int64_t)iz * w->stride + iy] =
				x ? (iso_real)(x[(int64_t)iy * p->nz + iz] / w->x_scale) : 1;
}

/* ---- the operator ---- */

/* A pass over the events of a subset. */
struct pass {
	enum { FORWARD, BOUND, ADJOINT, EM } what;
	iso_real *to;                /* FORWARD */
	const iso_real *y;           /* BOUND, ADJOINT */
	double unit;                 /* ADJOINT: blocks are times it */
	const struct iso_em_data *d; /* EM: acc = x A*(y / (A x + a)) */
};

/* Event i. In an EM step the terms w x of the forward sum, over that sum, go back. */
static void pass_event(const struct pass *a, const iso_op *op, int64_t i, struct patch *p, iso_real *block,
                       struct iso_em_stat *s)
{
	const struct strip_work *w = op->work;
	bool takes_part = a->what != EM || !a->d->mult || a->d->mult[i] > 0;
	double sum = takes_part ? project(p, op, i) : 0;
	double unit = takes_part ? p->line.factor * w->x_scale : 0, send;

	switch (a->what) {
	case FORWARD:
		a->to[i] = (iso_real)(unit * sum);
		break;
	case BOUND:
		s->counts += fabs((double)a->y[i]) * p->line.factor * sum;
		break;
	case ADJOINT:
		add(block, p, w, (iso_real)(a->y[i] * p->line.factor * a->unit));
		break;
	case EM:
		if ((send = em_respond(s, a->d, i, unit * sum)) > 0)
			add(block, p, w, (iso_real)(send * unit));
	}
}

/* All events of r, a chunk a thread; blocks go to the fixed-point image times `scale`, but not if it is 0. */
static int pass_events(const struct pass *a, const iso_op *op, struct iso_rows r, double scale)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;

#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < order_chunks(r); c++) {
		struct patch p = thread_patch(w);
		struct iso_rows rows = order_chunk(r, c);
		struct iso_em_stat part = { 0 };
		iso_real *block = w->block + omp_get_thread_num() * padded(w, &m->p);

		for (int64_t i = rows.first; !iso_stopped(op->ctx) && i < rows.first + rows.n; i++)
			pass_event(a, op, i, &p, block, &part);
		if (scale > 0) flush(w, &m->p, block, scale);
		w->stat[c] = part;
	}
	return iso_ctx_poll(op->ctx);
}

static int strip_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	take_image(op->work, &((const struct strip_model *)op->data)->p, x);
	return pass_events(&(struct pass){ FORWARD, .to = y }, op, iso_op_rows(op, sub), 0);
}

static int strip_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	struct strip_work *w = op->work;
	struct iso_rows r = iso_op_rows(op, sub);
	int st;

	take_image(w, &((const struct strip_model *)op->data)->p, NULL);
	if ((st = pass_events(&(struct pass){ BOUND, .y = y }, op, r, 0))) return st;
	/* no pixel of A* y exceeds the sum of |A* y| over all pixels */
	double bound = em_stat_sum(order_chunks(r), w->stat).counts;

	if (!isfinite(bound)) return iso_fail(ISO_EARG, "strip: a value to back project is not finite");
	/* so that a chunk's sums are of the order of 1 at most, whatever the unit of y */
	double unit = bound > 0 ? ldexp(1, -ilogb(bound)) : 1;

	iso_fixed_begin(&w->acc, op->ctx, bound);
	st = pass_events(&(struct pass){ ADJOINT, .y = y, .unit = unit }, op, r, w->acc.scale / unit);
	if (!st) iso_fixed_end(x, &w->acc, op->ctx);
	return st;
}

static int strip_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                         const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;
	struct iso_rows r = iso_op_rows(op, sub);
	double bound = (double)r.n; /* x w / q <= 1 for every event */
	int st = d->y ? op->ctx->vec->asum(op->ctx, r.n, &bound, d->y + r.first) : ISO_OK;

	if (st) return st;
	take_image(w, &m->p, x);
	iso_fixed_begin(&w->acc, op->ctx, bound);
	if ((st = pass_events(&(struct pass){ EM, .d = d }, op, r, w->acc.scale))) return st;
	*s = em_stat_sum(order_chunks(r), w->stat);
	iso_fixed_end(acc, &w->acc, op->ctx);
	return ISO_OK;
}

/* The largest ellipse is 3 sigma_dl high; how wide a band is depends on its slant. */
static void set_sizes(struct strip_work *w, const struct strip_params *p)
{
	w->rows = round_up((int64_t)fmin(3 * p->strips.sigma_dl / p->pixel + 1 + LANES, p->ny));
	w->stride = round_up(p->ny);
	w->tiles = w->rows / LANES * ((p->nz - 1) / TILE + 1);
	w->patch_size =
		(int64_t)(ROW_ARRAYS + p->nz + 1) * w->rows + (int64_t)w->tiles * LANES * (DEGREE + 1);
}

static double additions(const struct strip_model *m)
{
	return (double)(order_chunks(order_rows(&m->order, 0)) * m->p.ny * m->p.nz);
}

static void strip_close(iso_op *op)
{
	iso_fixed_free(&((struct strip_work *)op->work)->acc);
}

static int strip_open(iso_op *op)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;
	int threads = op->ctx->threads;

	set_sizes(w, &m->p);
	ISO_HOST(&op->room, w->x, padded(w, &m->p));
	ISO_HOST(&op->room, w->block, padded(w, &m->p) * threads);
	ISO_HOST(&op->room, w->patch, w->patch_size * threads);
	ISO_HOST(&op->room, w->tile, (int64_t)w->tiles * threads);
	ISO_HOST(&op->room, w->stat, op->n_out / ORDER_CHUNK + 1);
	if (op->room.status) return op->room.status;
	return iso_fixed_create(&w->acc, op->ctx, op->n_in, additions(m));
}

const struct iso_op_fn iso_strip_cpu_fn = {
	.forward = strip_forward,
	.adjoint = strip_adjoint,
	.em_step = strip_em_step,
	.rows_split = true,
	.rows = iso_strip_rows,
	.file_row = iso_strip_file_row,
	.open = strip_open,
	.close = strip_close,
	.to_cuda = "iso_strip_to_cuda",
	.work = sizeof(struct strip_work),
};

void iso_strip_cpu_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct strip_model *m)
{
	struct strip_work w = { 0 };
	int64_t pixels = (int64_t)m->p.ny * m->p.nz;

	set_sizes(&w, &m->p);
	iso_plan_add(plan, "padded images", padded(&w, &m->p), (int64_t)sizeof(iso_real) * (ctx->threads + 1),
	             false);
	iso_plan_add(plan, "ellipses", w.patch_size, (int64_t)sizeof(iso_real) * ctx->threads, false);
	iso_plan_add(plan, "fixed-point image", pixels,
	             (int64_t)sizeof(int64_t) * iso_fixed_copies(ctx, pixels, additions(m)), false);
}
