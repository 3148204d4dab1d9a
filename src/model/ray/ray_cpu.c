/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray on the CPU: each event is traced once into a short list of voxels and weights, which
   serves the forward sum and the way back. */
#include "core/loop/em_sum.h"
#include "core/op/entries.h"
#include "core/size.h"
#include "ray_along.h"
#include "ray_many.h"
#include "ray_near.h"

#include <omp.h>

#define AHEAD 4 /* events */

/* The sums of a step. */
struct ray_sum {
	iso_ctx *ctx;
	struct iso_fixed acc;
	struct em_scales scales;
	struct em_tally tally;
	const iso_real *u; /* of a step of ratios; NULL: one of EM */
	iso_real *
		pair; /* its x and u, voxel by voxel: one place in memory for both; made by the first such step */
	double most;  /* its bound of a term */
	double times; /* that a row adds to a voxel */
};

struct ray_work {
	struct ray_sum *sum;   /* of this operator's own steps; made by the first */
	struct ray_many *many; /* the same of steps of several images */
	char *list;            /* `list_bytes` for each thread */
	int64_t list_bytes;
};

static struct ray_list thread_list(const iso_op *op)
{
	const struct ray_model *m = op->data;
	struct ray_work *w = op->work;

	return iso_ray_list(w->list + omp_get_thread_num() * w->list_bytes, &m->grid, &m->spread);
}

/* ---- over the events of a subset ---- */

/* Values of n rows, in the order of events. Rows are in the order of the file, so each value comes from a place
   of its own: asked for one after the other, they come as fast as they can. */
static const iso_real *take_rows(iso_real *dst, const iso_real *v, const int64_t *row, int64_t n)
{
	for (int64_t i = 0; v && i < n; i++) dst[i] = v[row[i]];
	return v ? dst : NULL;
}

static int ray_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct ray_model *m = op->data;
	struct iso_rows r = iso_op_rows(op, sub);

	iso_op_counts(op, "project", "events", r.n);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < order_chunks(r); c++) {
		struct ray_list l = thread_list(op);
		struct iso_rows rows = order_chunk(r, c);

		for (int64_t i = rows.first; !iso_stopped(op->ctx) && i < rows.first + rows.n; i++) {
			iso_ray_trace(&l, m, m->e + ray_stored(m) * i);
			y[m->row[i]] = (iso_real)sum_along(&l, x);
		}
		iso_op_count(op, rows.n);
	}
	return iso_ctx_poll(op->ctx);
}

int iso_ray_cpu_sums(iso_real *y, iso_ctx *ctx, const struct ray_model *m, const struct iso_events *e,
                     const iso_real *x)
{
	struct iso_rows all = { 0, e->n };
	int64_t bytes = iso_ray_list_bytes(&m->grid, &m->spread);
	struct iso_room room = { .ctx = ctx, .what = "ray sums" };
	char *list = iso_room_host(&room, ctx->threads, bytes);
	struct iso_clock clock = iso_clock_brief(ctx, "project", "events", e->n, NULL);

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < (list ? order_chunks(all) : 0); c++) {
		struct ray_list l = iso_ray_list(list + omp_get_thread_num() * bytes, &m->grid, &m->spread);
		struct iso_rows rows = order_chunk(all, c);

		for (int64_t j = rows.first; !iso_stopped(ctx) && j < rows.first + rows.n; j++) {
			struct iso_event v = iso_ray_event(e->v + j);

			iso_ray_trace(&l, m, &v);
			y[j] = (iso_real)sum_along(&l, x);
		}
		iso_clock_add(&clock, rows.n);
	}
	int st = iso_room_free(&room);

	iso_clock_end(&clock);

	return st ? st : iso_ctx_poll(ctx);
}

/* This operator's own sums. */
static int own_sum(const iso_op *op, struct ray_sum **sum)
{
	struct ray_work *w = op->work;
	void *made = NULL;
	int st = w->sum ? ISO_OK : iso_ray_cpu_sum.create(&made, op->ctx, op->data);

	if (made) w->sum = made;
	*sum = w->sum;
	return st;
}

static int ray_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct ray_model *m = op->data;
	struct iso_rows r = iso_op_rows(op, sub);
	struct ray_sum *sum;
	double total = 0, most = iso_ray_largest_weight(&m->grid, &m->tof);
	int st = own_sum(op, &sum);

	if (!st) st = op->ctx->vec->asum(op->ctx, r.n, &total, y + r.first);
	if ((st = iso_comm_sum_real(op->ctx, st, &total, 1))) return st;
	if (!isfinite(total)) return iso_fail(ISO_EARG, "ray: a value to back project is not finite");
	iso_fixed_begin(&sum->acc, op->ctx, total * most);
	iso_op_counts(op, "backproject", "events", r.n);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < order_chunks(r); c++) {
		struct ray_list l = thread_list(op);
		struct iso_rows rows = order_chunk(r, c);
		iso_real value[ORDER_CHUNK];

		take_rows(value, y, m->row + rows.first, rows.n);
		for (int64_t i = 0; !iso_stopped(op->ctx) && i < rows.n; i++) {
			iso_ray_trace(&l, m, m->e + ray_stored(m) * (rows.first + i));
			for (int k = 0; k < FOURS(l.n); k++) l.term[k] = l.w[k];
			add_along(&sum->acc, &l, value[i] * sum->acc.scale, most);
		}
		iso_op_count(op, rows.n);
	}
	if (!(st = iso_fixed_sum(&sum->acc, op->ctx, iso_ctx_poll(op->ctx))))
		iso_fixed_end(x, &sum->acc, op->ctx);
	return st;
}

/* ---- the EM step, and the step of ratios ---- */

/* The data of a chunk's events. */
struct chunk_data {
	iso_real y[ORDER_CHUNK], add[ORDER_CHUNK], mult[ORDER_CHUNK], rho[ORDER_CHUNK];
};

static struct iso_em_data take_data(struct chunk_data *c, const struct iso_em_data *d, const int64_t *row,
                                    int64_t n)
{
	return (struct iso_em_data){ .y = take_rows(c->y, d->y, row, n),
		                     .add = take_rows(c->add, d->add, row, n),
		                     .mult = take_rows(c->mult, d->mult, row, n) };
}

/* Event e of acc = x A*(y / (A x + a)), whose data are d[j]: the weights become terms w x of the forward sum,
   and the same terms, over that sum, go back. */
static void em_event(const struct ray_sum *sum, const struct ray_model *m, const struct iso_event *e,
                     struct ray_list *l, const iso_real *x, const struct iso_em_data *d, int64_t j,
                     struct em_tally *tally)
{
	struct iso_em_stat row = { 0 };

	l->n = 0;
	if (!d->mult || d->mult[j] > 0) iso_ray_trace(l, m, e);
	double ax = multiply_along(l, x);
	double send = em_respond(&row, d, j, ax);

	em_tally_row(tally, sum->scales, &row);
	if (send > 0) add_along(&sum->acc, l, send * sum->acc.scale, ax);
}

/* Event e of u A*(new - rho): terms w u go back. Where their sum is within the bound of one of them, none is cut. */
static void ratio_event(const struct ray_sum *sum, const struct ray_model *m, const struct iso_event *e,
                        struct ray_list *l, const struct ratio_rows *ratio, const struct iso_em_data *d,
                        int64_t j, struct em_tally *tally)
{
	struct iso_em_stat row = { 0 };
	double all;

	l->n = 0;
	if (!d->mult || d->mult[j] > 0 || ratio->rho[j] != 0) iso_ray_trace(l, m, e);
	double ax = multiply_pairs(l, sum->pair, &all);
	double send = ratio_respond(&row, ratio, j, d, j, ax);

	em_tally_row(tally, sum->scales, &row);
	if (send == 0) return;
	if (all * fabs(send) <= sum->most)
		add_along(&sum->acc, l, send * sum->acc.scale, all);
	else
		add_cut(&sum->acc, l, send, sum->most, &tally->cut);
}

/* A chunk of events, whose rows are `row`. */
static void add_chunk(const struct ray_sum *sum, const iso_op *op, struct iso_rows rows, struct ray_list *l,
                      const struct ray_step *p, const struct iso_em_data *d, struct chunk_data *data,
                      struct em_tally *tally)
{
	const struct ray_model *m = op->data;
	const int64_t each = ray_stored(m);
	const struct iso_event *e = m->e + each * rows.first;
	const int64_t *row = m->row + rows.first;
	struct iso_em_data here = take_data(data, d, row, rows.n);
	struct ratio_rows ratio = { data->rho, false };

	take_rows(data->rho, p->u ? p->ratio.rho : NULL, row, rows.n);
	for (int64_t i = 0; !iso_stopped(op->ctx) && i < rows.n; i++) {
		__builtin_prefetch(e + each * (i + AHEAD));
		if (p->u)
			ratio_event(sum, m, e + each * i, l, &ratio, &here, i, tally);
		else
			em_event(sum, m, e + each * i, l, p->x, &here, i, tally);
	}
	for (int64_t i = 0; p->u && !p->ratio.keep && i < rows.n; i++) p->ratio.rho[row[i]] = data->rho[i];
}

static int sum_add(void *arg, const iso_op *op, int sub, const struct ray_step *p,
                   const struct iso_em_data *d)
{
	struct iso_rows r = iso_op_rows(op, sub);
	struct ray_sum *sum = arg;

	iso_op_counts(op, "update", "events", r.n);
#pragma omp parallel num_threads(op->ctx->threads)
	{
		struct ray_list l = thread_list(op);
		struct em_tally tally = { 0 };
		struct chunk_data data;

#pragma omp for schedule(dynamic)
		for (int64_t c = 0; c < order_chunks(r); c++) {
			add_chunk(sum, op, order_chunk(r, c), &l, p, d, &data, &tally);
			iso_op_count(op, order_chunk(r, c).n);
		}
#pragma omp critical(ray_tally)
		em_tally_add(&sum->tally, &tally);
	}
	return iso_ctx_poll(op->ctx);
}

static int make_pairs(struct ray_sum *sum, const struct ray_step *p)
{
	int64_t n = sum->acc.n;

	if (!sum->pair && !(sum->pair = size_alloc(n, 2 * sizeof *sum->pair)))
		return iso_fail_memory("ray", 2 * n * (int64_t)sizeof *sum->pair);
#pragma omp parallel for num_threads(sum->ctx->threads)
	for (int64_t i = 0; i < n; i++) {
		sum->pair[2 * i] = p->x[i];
		sum->pair[2 * i + 1] = p->u[i];
	}
	return ISO_OK;
}

static int sum_begin(void *arg, const struct ray_counts *c, const struct ray_step *p)
{
	struct ray_sum *sum = arg;
	double most = c->most > 0 ? c->most : 1;

	/* x w / q <= 1 for every count */
	iso_fixed_begin(&sum->acc, sum->ctx, p->u ? ratio_bound(c->rows, most, sum->times) : c->sum);
	sum->scales = em_scales(c->sum);
	sum->tally = (struct em_tally){ 0 };
	sum->u = p->u;
	sum->most = RATIO_MOST * most;
	return p->u ? make_pairs(sum, p) : ISO_OK;
}

static int sum_end(iso_real *acc, struct iso_ratio_stat *s, void *arg, int st)
{
	struct ray_sum *sum = arg;

	if ((st = iso_fixed_sum(&sum->acc, sum->ctx, st)) ||
	    (st = iso_em_tally_sum(&sum->tally, sum->ctx, st)))
		return st;
	*s = ratio_stat(&sum->tally, sum->scales);
	if (sum->u)
		iso_fixed_end_over(acc, &sum->acc, sum->ctx, sum->u);
	else
		iso_fixed_end(acc, &sum->acc, sum->ctx);
	return ISO_OK;
}

static void sum_free(void *arg)
{
	struct ray_sum *sum = arg;

	if (!sum) return;
	iso_fixed_free(&sum->acc);
	free(sum->pair);
	free(sum);
}

static int sum_create(void **out, iso_ctx *ctx, const struct ray_model *m)
{
	struct ray_sum *sum = size_alloc(1, sizeof *sum);
	int st = sum ? iso_fixed_create(&sum->acc, ctx, ray_voxels(&m->grid), iso_ray_additions(m))
	             : iso_fail_memory("ray", sizeof *sum);

	if (st) {
		free(sum);
		return st;
	}
	sum->ctx = ctx;
	sum->times = iso_ray_times(m);
	*out = sum;
	return ISO_OK;
}

const struct ray_sum_fn iso_ray_cpu_sum = {
	.create = sum_create,
	.free = sum_free,
	.begin = sum_begin,
	.add = sum_add,
	.end = sum_end,
};

static int ray_step(const iso_op *op, int sub, iso_real *acc, const struct ray_step *p,
                    const struct iso_em_data *d, struct iso_ratio_stat *s)
{
	struct iso_rows r = iso_op_rows(op, sub);
	struct ray_counts c = { .sum = (double)r.n, .most = 1, .rows = (double)r.n };
	struct ray_sum *sum;
	int st = own_sum(op, &sum);

	if (!st && d->y) st = op->ctx->vec->asum(op->ctx, r.n, &c.sum, d->y + r.first);
	if (d->y && p->u) c.most = iso_largest(op->ctx, r.n, d->y + r.first);
	if ((st = iso_ray_counts(&c, op->ctx, st))) return st;
	if (!(st = sum_begin(sum, &c, p))) st = sum_add(sum, op, sub, p, d);
	return sum_end(acc, s, sum, st);
}

static int ray_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                       const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct ray_step p = { .x = x };
	struct iso_ratio_stat all;
	int st = ray_step(op, sub, acc, &p, d, &all);

	if (!st) *s = all.em;
	return st;
}

static int ray_ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                          const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *s)
{
	struct ray_step p = { x, u, { rho, keep } };

	return ray_step(op, sub, z, &p, d, s);
}

/* One image alone takes less time by a step of its own. */
static int ray_em_step_many(const iso_op *op, int sub, int images, iso_real *acc, const iso_real *x,
                            const iso_real *y, const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct ray_work *w = op->work;

	if (images == 1) return iso_em_step_each(op, sub, 1, acc, x, y, d, s);
	return iso_ray_many_step(&w->many, op, w->list, w->list_bytes, sub, images, acc, x, y, d, s);
}

/* Images of a traversal, at most: so many that tracing costs each of them little, and so few that the sums of a batch take
   no more memory than those of so many images. */
#define IMAGES 8

/* Sizes of groups differ by one at most. */
static int next_group(int left)
{
	int groups = (left + IMAGES - 1) / IMAGES;

	return (left + groups - 1) / groups;
}

static int ray_forward_many(const iso_op *op, int sub, int images, iso_real *y, const iso_real *x)
{
	struct ray_work *w = op->work;
	int st = ISO_OK;

	for (int k = 0, n; k < images && !st; k += n) {
		n = next_group(images - k);
		st = n == 1 ? ray_forward(op, sub, y + k * op->n_out, x + k * op->n_in)
		            : iso_ray_many_forward(&w->many, op, w->list, w->list_bytes, sub, n,
		                                   y + k * op->n_out, x + k * op->n_in);
	}
	return st;
}

static int ray_adjoint_many(const iso_op *op, int sub, int images, iso_real *x, const iso_real *y)
{
	struct ray_work *w = op->work;
	int st = ISO_OK;

	for (int k = 0, n; k < images && !st; k += n) {
		n = next_group(images - k);
		st = n == 1 ? ray_adjoint(op, sub, x + k * op->n_in, y + k * op->n_out)
		            : iso_ray_many_adjoint(&w->many, op, w->list, w->list_bytes, sub, n,
		                                   x + k * op->n_in, y + k * op->n_out);
	}
	return st;
}

/* ---- rows one by one ---- */

static int64_t ray_entries(const iso_op *op, struct iso_entries *to, int64_t i)
{
	const struct ray_model *m = op->data;
	struct ray_list l = thread_list(op);

	iso_ray_trace(&l, m, m->e + ray_stored(m) * i);
	for (int k = 0; k < l.n; k++) iso_entries_add(to, l.voxel[k], l.w[k]);
	return m->row[i];
}

/* ---- memory ---- */

static void ray_close(iso_op *op)
{
	struct ray_work *w = op->work;

	sum_free(w->sum);
	iso_ray_many_free(w->many);
}

static int ray_open(iso_op *op)
{
	const struct ray_model *m = op->data;
	struct ray_work *w = op->work;

	w->list_bytes = iso_ray_list_bytes(&m->grid, &m->spread);
	w->list = iso_room_host(&op->room, op->ctx->threads, w->list_bytes);
	return op->room.status;
}

const struct iso_op_fn iso_ray_cpu_fn = {
	.forward = ray_forward,
	.adjoint = ray_adjoint,
	.em_step = ray_em_step,
	.em_step_many = ray_em_step_many,
	.forward_many = ray_forward_many,
	.adjoint_many = ray_adjoint_many,
	.ratio_step = ray_ratio_step,
	.rows = iso_ray_rows,
	.file_row = iso_ray_file_row,
	.entries = ray_entries,
	.open = ray_open,
	.close = ray_close,
	.to_cuda = "iso_ray_to_cuda",
	.work = sizeof(struct ray_work),
};
