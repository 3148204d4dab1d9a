/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip on CUDA: the operator, and the two strategies of Bialas 2015 for its EM step, a thread
   an event and a warp an event. The third, `fast`, is in strip_fast.cu. All add in fixed point. */
#include "strip_cuda.cuh"
#include "core/loop/em_sum.h"
#include "core/loop/em.cuh"

#define WARPS (ISO_THREADS / ISO_WARP) /* of a block */
#define CACHED 640                     /* weights that a warp keeps from the first pass, as in the paper */
#define MOST_COUNT 256                 /* of a row: its terms leave small ones enough bits in 32 */
#define TERM_BITS 27 /* after the binary point, then, of a term: it is at most the largest count */

struct strip_cuda_work {
	struct iso_fixed_cuda acc;
	struct em_sums sums;
	int64_t *cut; /* terms of a step of ratios, on the device */
};

/* ---- pixels ---- */

/* Row iy of an event's ellipse. */
struct row {
	struct strip_span span;
	struct strip_row coefficients;
	float y;
};

static __device__ struct row row_of(const struct strip_params *p, const struct strip_line *l, int iy)
{
	struct row r;

	r.y = (float)((iy - .5 * (p->ny - 1)) * p->pixel);
	r.span = strip_span(l, p->nz, (float)p->pixel, iy);
	r.coefficients = strip_row(p->kernel, (float)p->strips.radius, l, r.y, r.span.dy);
	return r;
}

/* Weight of column c of its span, without the event's factor. */
static __device__ float weight_of(const struct strip_params *p, const struct row *r, int c)
{
	float v = fmaf((float)c, (float)p->pixel, r->span.v),
	      w = strip_weight(p->kernel, &r->coefficients, v);

	if (p->edge)
		w *= strip_edge(&p->strips, &r->coefficients, v, r->y,
		                (r->span.first + c - .5 * (p->nz - 1)) * p->pixel);
	return w;
}

/* ---- a thread an event ---- */

static __device__ float sum_rows(const struct strip_params *p, const struct strip_line *l, int first,
                                 int step, const float *x)
{
	float sum = 0;

	for (int iy = l->low + first; iy <= l->high; iy += step) {
		struct row r = row_of(p, l, iy);

		for (int c = 0; c < r.span.n; c++)
			sum = fmaf(weight_of(p, &r, c), x[iy * p->nz + r.span.first + c], sum);
	}
	return sum;
}

/* acc += factor * weight (* x, if given). */
template <class TERMS>
static __device__ void add_rows(const struct strip_params *p, const struct strip_line *l, int first, int step,
                                const float *x, double factor, struct iso_fixed_cuda acc, TERMS whole)
{
	for (int iy = l->low + first; iy <= l->high; iy += step) {
		struct row r = row_of(p, l, iy);

		for (int c = 0; c < r.span.n; c++) {
			int at = iy * p->nz + r.span.first + c;

			iso_fixed_add(acc, at, whole(weight_of(p, &r, c) * (x ? x[at] : 1) * factor));
		}
	}
}

static __global__ void step_by_threads(struct strip_step s)
{
	struct iso_em_stat stat = ISO_ZERO;

	ISO_GRID_LOOP (i, s.rows.n) {
		int64_t row = s.rows.first + i;
		struct strip_line l = strip_line(&s.m.p, s.m.e + row);
		double ax = (double)sum_rows(&s.m.p, &l, 0, 1, s.x) * l.factor;
		double send = em_respond(&stat, &s.d, row, ax);

		if (send > 0)
			add_rows(&s.m.p, &l, 0, 1, s.x, send * l.factor * s.acc.scale, s.acc, whole_terms());
	}
	em_leave_sums(s.stat, stat);
}

static __global__ void ratios_by_threads(struct strip_step s)
{
	struct iso_em_stat stat = ISO_ZERO;
	int64_t count = 0;
	struct cut_terms cut = { s.limit, &count };

	ISO_GRID_LOOP (i, s.rows.n) {
		int64_t row = s.rows.first + i;
		struct strip_line l = strip_line(&s.m.p, s.m.e + row);
		double ax = (double)sum_rows(&s.m.p, &l, 0, 1, s.x) * l.factor;
		double send = ratio_respond(&stat, &s.ratio, row, &s.d, row, ax);

		if (send != 0) add_rows(&s.m.p, &l, 0, 1, s.u, send * l.factor * s.acc.scale, s.acc, cut);
	}
	em_leave_sums(s.stat, stat);
	em_leave_integer(s.cut, count);
}

/* ---- a warp an event: lanes over the box of its ellipse, weights kept as long as there is room ---- */

/* Pixel number i of the ellipse's box, `wide` columns: its place in the image and its weight, 0 if
   it lies outside. */
static __device__ float box_pixel(const struct strip_params *p, const struct strip_line *l, int wide, int i,
                                  int *at)
{
	int iy = l->low + i / wide, c = i % wide;
	struct row r = row_of(p, l, iy);

	*at = iy * p->nz + r.span.first + c;
	return iy <= l->high && c < r.span.n ? weight_of(p, &r, c) : 0;
}

/* What a warp sends back of a row; all lanes call it, lane 0 counts. In a step of ratios all have read that of the row
   before lane 0 changes it. */
template <bool RATIO>
static __device__ double respond(struct iso_em_stat *stat, const struct strip_step *s, int64_t row, double ax)
{
	struct iso_em_stat not_counted = ISO_ZERO;
	bool first = threadIdx.x % ISO_WARP == 0;

	if (!RATIO) return em_respond(first ? stat : &not_counted, &s->d, row, ax);
	float before = s->ratio.rho[row], now = ratio_new(first ? stat : &not_counted, &s->d, row, ax);

	__syncwarp();
	if (first && !s->ratio.keep) s->ratio.rho[row] = now;
	return (double)now - before;
}

template <bool RATIO> static __global__ void step_by_warps(struct strip_step s)
{
	__shared__ float kept[WARPS][CACHED];
	struct iso_em_stat stat = ISO_ZERO;
	int lane = threadIdx.x % ISO_WARP;
	float *mine = kept[threadIdx.x / ISO_WARP];
	const float *back = RATIO ? s.u : s.x;
	int64_t count = 0;

	ISO_WARP_LOOP (row, s.rows) {
		struct strip_line l = strip_line(&s.m.p, s.m.e + row);
		int wide = (int)(2 * sqrtf(STRIP_REACH2 / (l.up + l.down)) / (float)s.m.p.pixel) + 1;
		int n = l.low <= l.high ? wide * (l.high - l.low + 1) : 0, at;
		float sum = 0;

		for (int i = lane; i < n; i += ISO_WARP) {
			float w = box_pixel(&s.m.p, &l, wide, i, &at);

			if (i < CACHED) mine[i] = w;
			sum += w > 0 ? w * s.x[at] : 0;
		}
		double send = respond<RATIO>(&stat, &s, row, (double)iso_warp_sum(sum) * l.factor);

		for (int i = lane; i < n && (RATIO ? send != 0 : send > 0); i += ISO_WARP) {
			float w = box_pixel(&s.m.p, &l, wide, i, &at);

			w = i < CACHED ? mine[i] : w;
			if (!(w > 0)) continue;
			double term = (double)w * back[at] * send * l.factor * s.acc.scale;

			iso_fixed_add(s.acc, at, RATIO ? ratio_cut(term, s.limit, &count) : term);
		}
	}
	em_leave_sums(s.stat, stat);
	if (RATIO) em_leave_integer(s.cut, count);
}

/* ---- forward and adjoint: a warp an event, its lanes over rows ---- */

static __global__ void forward(struct strip_model m, struct iso_rows rows, float *y, const float *x)
{
	ISO_WARP_LOOP (row, rows) {
		struct strip_line l = strip_line(&m.p, m.e + row);
		float sum = iso_warp_sum(sum_rows(&m.p, &l, threadIdx.x % ISO_WARP, ISO_WARP, x));

		if (threadIdx.x % ISO_WARP == 0) y[row] = sum * l.factor;
	}
}

static __global__ void adjoint(struct strip_model m, struct iso_rows rows, struct iso_fixed_cuda acc,
                               const float *y)
{
	ISO_WARP_LOOP (row, rows) {
		struct strip_line l = strip_line(&m.p, m.e + row);

		add_rows(&m.p, &l, threadIdx.x % ISO_WARP, ISO_WARP, NULL, y[row] * acc.scale * l.factor, acc,
		         whole_terms());
	}
}

/* ---- functions of the operator ---- */

static int strip_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct strip_model *m = (const struct strip_model *)op->data;

	forward<<<STRIP_BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, iso_op_rows(op, sub), y, x);
	return iso_cuda_launched("strip forward");
}

static int strip_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct strip_model *m = (const struct strip_model *)op->data;
	struct strip_cuda_work *w = (struct strip_cuda_work *)op->work;
	struct iso_rows rows = iso_op_rows(op, sub);
	/* no weight exceeds factor / sqrt(N); N >= 0.9 aa >= 0.9 R^2 (1/sigma^2 + 1/sigma^2) / 2 */
	struct strip_inverse c = strip_inverse(&m->p.strips, 0, 0);
	double least = .4 * m->p.strips.radius * m->p.strips.radius * fmin(c.up, c.down), total = 0;
	int st = op->ctx->vec->asum(op->ctx, rows.n, &total, y + rows.first);

	if ((st = iso_comm_sum_real(op->ctx, st, &total, 1))) return st;
	if (!isfinite(total)) return iso_fail(ISO_EARG, "strip: a value to back project is not finite");
	if (!(st = iso_fixed_begin(&w->acc, op->ctx, total * (2 * c.factor / sqrt(least))))) {
		adjoint<<<STRIP_BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, rows, w->acc, y);
		st = iso_cuda_launched("strip adjoint");
	}
	return (st = iso_fixed_sum(&w->acc, op->ctx, st)) ? st : iso_fixed_end(x, &w->acc, op->ctx);
}

static __global__ void find_largest(unsigned *most, int64_t n, const float *y)
{
	float v = 0;

	ISO_GRID_LOOP (i, n) v = fmaxf(v, y[i]);
	for (int step = ISO_WARP / 2; step > 0; step /= 2)
		v = fmaxf(v, __shfl_xor_sync(ISO_FULL_WARP, v, step));
	if (threadIdx.x % ISO_WARP == 0)
		atomicMax(most, __float_as_uint(v)); /* not negative: ordered as integers */
}

/* The largest count of a subset; 1 for list mode. */
static int largest_count(const iso_op *op, struct iso_rows rows, const iso_real *y, double *most)
{
	struct strip_cuda_work *w = (struct strip_cuda_work *)op->work;
	float value = 1;
	int st;

	*most = 1;
	if (!y) return ISO_OK;
	find_largest<<<iso_blocks(rows.n), ISO_THREADS, 0, iso_stream(op->ctx)>>>((unsigned *)w->sums.stat,
	                                                                          rows.n, y + rows.first);
	if ((st = iso_cuda_launched("largest count")) ||
	    (st = op->ctx->vec->download(op->ctx, &value, w->sums.stat, sizeof value)))
		return st;
	*most = value;
	return em_sums_clear(&w->sums, op->ctx);
}

/* The scale of the sums, for counts of at most `most`; `fast`: terms have 32 bits. rows: of all ranks. */
static double scale_of(const struct strip_step *s, double rows, double most, bool fast)
{
	/* EM: x w / q <= 1 for every event */
	double whole = iso_fixed_scale(s->u ? ratio_bound(rows, most, 1) : rows * most);
	double few = ldexp(1, TERM_BITS - (most > 1 ? ilogb(most) + 1 : 0));

	if (!fast) return whole;
	return s->u ? fmin(few, whole) : few;
}

/* The kernels of a step. */
static int start_step(struct strip_step *s, const iso_op *op, double rows, double most)
{
	bool fast = s->m.strategy == ISO_STRIP_FAST && most <= MOST_COUNT &&
	            iso_strip_fast_serves(op->ctx, &s->m);
	int st = iso_fixed_begin(&s->acc, op->ctx, 0);

	if (st) return st;
	s->acc.scale = scale_of(s, rows, most, fast);
	s->limit = RATIO_MOST * most * s->acc.scale;
	if (fast) return s->rows.n > 0 ? iso_strip_fast_step(s, op->ctx) : ISO_OK;
	bool threads = s->m.strategy == ISO_STRIP_THREAD;
	auto kernel = s->u ? (threads ? ratios_by_threads : step_by_warps<true>)
	                   : (threads ? step_by_threads : step_by_warps<false>);

	kernel<<<STRIP_BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*s);
	return iso_cuda_launched("strip step");
}

/* A step whose images and ratios are in s: its sums, of all ranks. */
static int step(struct strip_step *s, const iso_op *op, int sub, const struct iso_em_data *d,
                struct iso_em_stat *stat)
{
	struct strip_cuda_work *w = (struct strip_cuda_work *)op->work;
	double most = 1, rows;
	int st;

	s->m = *(const struct strip_model *)op->data;
	s->rows = iso_op_rows(op, sub);
	s->d = *d;
	s->acc = w->acc;
	s->stat = w->sums.stat;
	s->cut = w->cut;
	rows = (double)s->rows.n;
	if (!(st = em_sums_clear(&w->sums, op->ctx))) st = largest_count(op, s->rows, d->y, &most);
	if ((st = iso_comm_sum_real(op->ctx, st, &rows, 1)) || (st = iso_comm_max(op->ctx, st, &most, 1)))
		return st;
	st = start_step(s, op, rows, s->u && !(most > 0) ? 1 : most);
	if ((st = iso_fixed_sum(&s->acc, op->ctx, st))) return st;
	st = em_sums_get(stat, &w->sums, op->ctx);
	return iso_em_stat_sum(stat, op->ctx, st);
}

static int strip_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                         const struct iso_em_data *d, struct iso_em_stat *stat)
{
	struct strip_step s = ISO_ZERO;
	int st;

	s.x = x;
	if ((st = step(&s, op, sub, d, stat))) return st;
	return iso_fixed_end(acc, &s.acc, op->ctx);
}

static int strip_ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep,
                            const iso_real *x, const iso_real *u, const struct iso_em_data *d,
                            struct iso_ratio_stat *stat)
{
	struct strip_cuda_work *w = (struct strip_cuda_work *)op->work;
	struct strip_step s = ISO_ZERO;
	int st = iso_cuda_check("clear", cudaMemsetAsync(w->cut, 0, sizeof *w->cut, iso_stream(op->ctx)));

	s.x = x;
	s.u = u;
	s.ratio = { rho, keep };
	st = iso_comm_agree(op->ctx, st);
	if (st || (st = step(&s, op, sub, d, &stat->em)) || (st = iso_fixed_end_over(z, &s.acc, op->ctx, u)))
		return st;
	st = op->ctx->vec->download(op->ctx, &stat->cut, w->cut, sizeof stat->cut);
	return iso_comm_sum(op->ctx, st, &stat->cut, 1);
}

static int strip_open(iso_op *op)
{
	struct strip_cuda_work *w = (struct strip_cuda_work *)op->work;

	iso_fixed_open(&w->acc, &op->room, op->n_in);
	ISO_DEVICE(&op->room, w->cut, 1);
	return em_sums_open(&w->sums, &op->room, STRIP_BLOCKS);
}

static const struct iso_op_fn strip_fn_cuda = {
	strip_forward,
	strip_adjoint,
	strip_em_step,
	strip_ratio_step,
	iso_strip_rows,
	iso_strip_file_row,
	strip_open,
	NULL,
	NULL,
	NULL,
	sizeof(struct strip_cuda_work),
	NULL,
	NULL,
	NULL,
};

/* The events move to the device; the host's copy goes. */
extern "C" int iso_strip_to_cuda(iso_op *op)
{
	struct strip_model *m = (struct strip_model *)op->data;

	ISO_MOVE(&op->shared->room, m->e, m->n);
	op->fn = &strip_fn_cuda;
	return op->shared->room.status;
}
