/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip on the CPU: the ellipse of each event is worked out once (strip_ellipse.h), which serves the forward
   sum and the way back.

   A chunk of events adds to an image of its own, in float, which is then rounded to fixed point:
   the sums are short, and the same for every number of threads. No chunk has rows of two subsets, also where a pass
   takes all subsets: ranks are dealt whole chunks of each subset, so that sums are the same for every number of ranks. */
#include "core/loop/em_sum.h"
#include "core/size.h"
#include "strip_ellipse.h"

/* ---- to the image and back ---- */

static void add(iso_real *block, const struct patch *patch, const struct strip_work *w, iso_real factor)
{
	const struct patch p = *patch;
	const int64_t stride = w->stride;
	const iso_real *t = p.t;

	for (int i = 0; i < p.tiles; i++) {
		const struct tile tile = p.tile[i];
		iso_real *to = block + tile.first * stride + tile.row;

		for (int j = 0; j < tile.n; j += 2)
			for (int k = 0; k < 2; k++, to += stride, t += LANES)
				store(to, fused(load(t), all(factor), load(to)));
	}
}

/* The same where terms may exceed `limit`: they are cut to it, and counted. */
static void add_cut(iso_real *block, const struct patch *p, const struct strip_work *w, double factor,
                    double limit, int64_t *cut)
{
	const iso_real *t = p->t;

	for (int i = 0; i < p->tiles; i++)
		for (int j = 0; j < p->tile[i].n; j++)
			for (int k = 0; k < LANES; k++, t++)
				if (*t != 0)
					block[(p->tile[i].first + j) * (int64_t)w->stride + p->tile[i].row +
					      k] += (iso_real)ratio_cut(*t * factor, limit, cut);
}

/* Elements of an image of columns: any band is whole, and there is a column more than the image has. */
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

/* The padded copy of an image, over the power of two that brings its largest value near 1, which is returned: no
   product of weight and pixel leaves the range of float. NULL: of ones, with which terms are weights. */
static double pad_image(iso_real *to, int64_t stride, const struct strip_params *p, const iso_real *x)
{
	iso_real most = 0;

	for (int64_t i = 0; x && i < (int64_t)p->ny * p->nz; i++)
		most = most < x[i] ? x[i] : most < -x[i] ? -x[i] : most;
	double scale = most > 0 && isfinite(most) ? ldexp(1, ilogb(most)) : 1;

	for (int iy = 0; iy < p->ny; iy++)
		for (int iz = 0; iz < p->nz; iz++)
			to[(int64_t)iz * stride + iy] =
				x ? (iso_real)(x[(int64_t)iy * p->nz + iz] / scale) : 1;
	return scale;
}

static void take_image(struct strip_work *w, const struct strip_params *p, const iso_real *x)
{
	w->x_scale = pad_image(w->x, w->stride, p, x);
}

/* ---- the operator ---- */

/* A pass over the events of a subset. */
struct pass {
	enum { FORWARD, BOUND, ADJOINT, EM, RATIO } what;
	iso_real *to;                /* FORWARD */
	const iso_real *y;           /* BOUND, ADJOINT */
	double unit;                 /* ADJOINT: blocks are times it */
	const struct iso_em_data *d; /* EM: acc = x A*(y / (A x + a)), RATIO: acc = u A*(new - rho) */
	struct ratio_rows ratio;     /* RATIO */
	double most;                 /* RATIO: bound of a term */
};

/* What the terms of event i go back to the image with, in an EM step the terms w x of the forward sum over
   that sum; 0: nothing does. */
static double respond(const struct pass *a, const struct strip_work *w, int64_t i, double factor, double sum,
                      struct iso_em_stat *s)
{
	double unit = factor * w->x_scale;

	switch (a->what) {
	case FORWARD:
		a->to[i] = (iso_real)(unit * sum);
		return 0;
	case BOUND:
		s->counts += fabs((double)a->y[i]) * factor * sum;
		return 0;
	case ADJOINT:
		return a->y[i] * factor * a->unit;
	case EM:
		return em_respond(s, a->d, i, unit * sum) * unit;
	case RATIO:
		return ratio_respond(s, &a->ratio, i, a->d, i, unit * sum) * factor * w->u_scale;
	}
	return 0;
}

/* Whether event i has anything to do: in steps rows whose factor is 0 have not, unless they sent something before. */
static bool takes_part(const struct pass *a, int64_t i)
{
	bool step = a->what == EM || a->what == RATIO;

	return !step || !a->d->mult || a->d->mult[i] > 0 || (a->what == RATIO && a->ratio.rho[i] != 0);
}

/* Where the sum of an event's terms is within the bound of one of them, none is cut. */
INLINE void send_back(const struct pass *a, struct strip_work *w, const struct patch *p, iso_real *block,
                      double send, bool ratio)
{
	int64_t cut = 0;

	if (send == 0) return;
	if (!ratio || p->terms * fabs(send) <= a->most) {
		add(block, p, w, (iso_real)send);
		return;
	}
	add_cut(block, p, w, send, a->most, &cut);
	__atomic_fetch_add(&w->cut, cut, __ATOMIC_RELAXED);
}

/* Events of rows r. */
INLINE void pass_rows(const struct pass *a, const iso_op *op, struct iso_rows r, struct scratch *v,
                      iso_real *block, struct iso_em_stat *s, enum iso_strip_kernel kernel, bool ratio)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;

	for (int64_t i = r.first; !iso_stopped(op->ctx) && i < r.first + r.n; i += LANES) {
		const int n = (int)(r.first + r.n - i < LANES ? r.first + r.n - i : LANES);

		set_group(&v->g, &m->p, m->e + i, n, kernel);
		set_bands(v, m->p.nz);
		for (int k = 0; k < n; k++) {
			v->p.sum = v->p.terms = v->p.tiles = 0;
			if (v->g.rows[k] > 0 && takes_part(a, i + k))
				project(v, k, m->e + i + k, &m->p, w, kernel, ratio);
			send_back(a, w, &v->p, block, respond(a, w, i + k, v->g.factor[k], v->p.sum, s),
			          ratio);
		}
	}
}

static void pass_ratios(const struct pass *a, const iso_op *op, struct iso_rows r, struct scratch *v,
                        iso_real *block, struct iso_em_stat *s)
{
	const enum iso_strip_kernel kernel = ((const struct strip_model *)op->data)->p.kernel;

	if (kernel == ISO_STRIP_EQ7)
		pass_rows(a, op, r, v, block, s, ISO_STRIP_EQ7, true);
	else if (kernel == ISO_STRIP_TAN)
		pass_rows(a, op, r, v, block, s, ISO_STRIP_TAN, true);
	else
		pass_rows(a, op, r, v, block, s, ISO_STRIP_GAUSS, true);
}

/* Chunks of the rows of `sub`, which may be ISO_ALL. */
static int64_t count_chunks(const iso_op *op, int sub)
{
	const int64_t *first = ((const struct strip_work *)op->work)->chunk;

	return sub == ISO_ALL ? first[op->n_sub] : first[sub + 1] - first[sub];
}

/* Number c of them. */
static struct iso_rows find_chunk(const iso_op *op, int sub, int64_t c)
{
	const int64_t *first = ((const struct strip_work *)op->work)->chunk;

	if (sub != ISO_ALL) return order_chunk(iso_op_rows(op, sub), c);
	int low = 0, high = op->n_sub; /* first[low] <= c < first[high] */

	while (high - low > 1) {
		int middle = low + (high - low) / 2;

		*(first[middle] <= c ? &low : &high) = middle;
	}
	return order_chunk(iso_op_rows(op, low), c - first[low]);
}

/* All events of `sub`, a chunk a thread; blocks go to the fixed-point image times `scale`, but not if it is 0. */
static int pass_events(const struct pass *a, const iso_op *op, int sub, double scale)
{
	const struct strip_model *m = op->data;
	struct strip_work *w = op->work;

	iso_op_counts(op, "update", "events", iso_op_rows(op, sub).n);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < count_chunks(op, sub); c++) {
		const struct iso_rows r = find_chunk(op, sub, c);
		struct iso_em_stat part = { 0 };
		struct scratch v;
		iso_real *block = w->block + omp_get_thread_num() * padded(w, &m->p);

		take_scratch(&v, w);
		if (a->what == RATIO)
			pass_ratios(a, op, r, &v, block, &part);
		else if (m->p.kernel == ISO_STRIP_EQ7)
			pass_rows(a, op, r, &v, block, &part, ISO_STRIP_EQ7, false);
		else if (m->p.kernel == ISO_STRIP_TAN)
			pass_rows(a, op, r, &v, block, &part, ISO_STRIP_TAN, false);
		else
			pass_rows(a, op, r, &v, block, &part, ISO_STRIP_GAUSS, false);
		if (scale > 0) flush(w, &m->p, block, scale);
		w->stat[c] = part;
		iso_op_count(op, r.n);
	}
	return iso_ctx_poll(op->ctx);
}

static int strip_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	take_image(op->work, &((const struct strip_model *)op->data)->p, x);
	return pass_events(&(struct pass){ FORWARD, .to = y }, op, sub, 0);
}

static int strip_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	struct strip_work *w = op->work;
	int st;

	take_image(w, &((const struct strip_model *)op->data)->p, NULL);
	st = pass_events(&(struct pass){ BOUND, .y = y }, op, sub, 0);
	/* no pixel of A* y exceeds the sum of |A* y| over all pixels */
	double bound = st ? 0 : em_stat_sum(count_chunks(op, sub), w->stat).counts;

	if ((st = iso_comm_sum_real(op->ctx, st, &bound, 1))) return st;
	if (!isfinite(bound)) return iso_fail(ISO_EARG, "strip: a value to back project is not finite");
	/* so that a chunk's sums are of the order of 1 at most, whatever the unit of y */
	double unit = bound > 0 ? ldexp(1, -ilogb(bound)) : 1;

	iso_fixed_begin(&w->acc, op->ctx, bound);
	st = pass_events(&(struct pass){ ADJOINT, .y = y, .unit = unit }, op, sub, w->acc.scale / unit);
	if (!(st = iso_fixed_sum(&w->acc, op->ctx, st))) iso_fixed_end(x, &w->acc, op->ctx);
	return st;
}

/* Sums over chunks become integers: the same for any number of ranks. */
static struct em_tally tally(const struct iso_em_stat *stat, int64_t chunks, struct em_scales scales)
{
	struct em_tally t = { 0 };

	for (int64_t c = 0; c < chunks; c++) em_tally_row(&t, scales, stat + c);
	return t;
}

/* A step over the rows of `sub`, whose sums stay within `bound`; the sums of all ranks. `counts`: of all y. */
static int step(const struct pass *a, const iso_op *op, int sub, double bound, double counts,
                struct iso_ratio_stat *s)
{
	struct strip_work *w = op->work;
	struct em_scales scales = em_scales(counts);
	int st;

	w->cut = 0;
	iso_fixed_begin(&w->acc, op->ctx, bound);
	st = pass_events(a, op, sub, w->acc.scale);
	struct em_tally t = tally(w->stat, st ? 0 : count_chunks(op, sub), scales);

	t.cut = w->cut;
	if ((st = iso_fixed_sum(&w->acc, op->ctx, st)) || (st = iso_em_tally_sum(&t, op->ctx, st))) return st;
	*s = ratio_stat(&t, scales);
	return ISO_OK;
}

static int strip_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                         const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct strip_work *w = op->work;
	struct iso_rows r = iso_op_rows(op, sub);
	struct iso_ratio_stat all;
	double bound = (double)r.n; /* x w / q <= 1 for every event */
	int st = d->y ? op->ctx->vec->asum(op->ctx, r.n, &bound, d->y + r.first) : ISO_OK;

	if ((st = iso_comm_sum_real(op->ctx, st, &bound, 1))) return st;
	take_image(w, &((const struct strip_model *)op->data)->p, x);
	if ((st = step(&(struct pass){ EM, .d = d }, op, sub, bound, bound, &all))) return st;
	*s = all.em;
	iso_fixed_end(acc, &w->acc, op->ctx);
	return ISO_OK;
}

static int strip_ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep,
                            const iso_real *x, const iso_real *u, const struct iso_em_data *d,
                            struct iso_ratio_stat *s)
{
	const struct strip_params *p = &((const struct strip_model *)op->data)->p;
	struct strip_work *w = op->work;
	struct ratio_counts c;
	int st = iso_ratio_counts(&c, op->ctx, iso_op_rows(op, sub), d->y);

	if (st) return st;
	struct pass a = { RATIO, .d = d, .ratio = { rho, keep }, .most = RATIO_MOST * c.most };

	take_image(w, p, x);
	w->u_scale = pad_image(w->u, w->stride, p, u);
	if ((st = step(&a, op, sub, ratio_bound(c.rows, c.most, 1), c.sum, s))) return st;
	iso_fixed_end_over(z, &w->acc, op->ctx, u);
	return ISO_OK;
}

/* The largest ellipse is 3 sigma_dl high; how wide a band is depends on its slant. */
static void set_sizes(struct strip_work *w, const struct strip_params *p)
{
	w->bands = (int)(fmin(3 * p->strips.sigma_dl / p->pixel + 1, p->ny) / LANES) + 1;
	w->stride = p->ny + LANES - 1;
	w->tiles = w->bands * ((p->nz - 1) / TILE + 1);
	w->powers = round_up(w->tiles) + (int64_t)(POWERS * w->tiles + 1) * LANES;
	w->terms = (int64_t)(p->nz + 1) * w->bands * LANES;
}

/* Of a thread's scratch. */
static int64_t ellipse_bytes(const struct strip_work *w)
{
	return (int64_t)sizeof(iso_real) * (w->powers + w->terms) +
	       (int64_t)(sizeof(struct start) + sizeof(struct tile)) * w->tiles +
	       (int64_t)sizeof(int) * 2 * LANES * w->bands;
}

static double additions(const struct strip_model *m)
{
	return (double)((order_most_rows(&m->order) / ORDER_CHUNK + 1) * m->p.ny * m->p.nz);
}

static void number_chunks(int64_t *first, const iso_op *op)
{
	for (int sub = 0; sub < op->n_sub; sub++)
		first[sub + 1] = first[sub] + order_chunks(iso_op_rows(op, sub));
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
	ISO_HOST(&op->room, w->u, padded(w, &m->p));
	ISO_HOST(&op->room, w->block, padded(w, &m->p) * threads);
	ISO_HOST(&op->room, w->band, 2 * LANES * (int64_t)w->bands * threads);
	ISO_HOST(&op->room, w->start, (int64_t)w->tiles * threads);
	ISO_HOST(&op->room, w->power, w->powers * threads);
	ISO_HOST(&op->room, w->tile, (int64_t)w->tiles * threads);
	ISO_HOST(&op->room, w->t, w->terms * threads);
	if (ISO_HOST(&op->room, w->chunk, (int64_t)op->n_sub + 1)) {
		number_chunks(w->chunk, op);
		ISO_HOST(&op->room, w->stat, w->chunk[op->n_sub] + 1);
	}
	if (op->room.status) return op->room.status;
	return iso_fixed_create(&w->acc, op->ctx, op->n_in, additions(m));
}

const struct iso_op_fn iso_strip_cpu_fn = {
	.forward = strip_forward,
	.adjoint = strip_adjoint,
	.em_step = strip_em_step,
	.ratio_step = strip_ratio_step,
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
	iso_plan_add(plan, "padded images", padded(&w, &m->p), (int64_t)sizeof(iso_real) * (ctx->threads + 2),
	             false);
	iso_plan_add(plan, "ellipses", ctx->threads, ellipse_bytes(&w), false);
	iso_plan_add(plan, "fixed-point image", pixels,
	             (int64_t)sizeof(int64_t) * iso_fixed_copies(ctx, pixels, additions(m)), false);
}
