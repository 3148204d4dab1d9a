/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray on the CPU: each event is traced once into a short list of voxels and weights, which
   serves the forward sum and the way back. */
#include "core/em_sum.h"
#include "core/fixed.h"
#include "core/four.h"
#include "core/size.h"
#include "ray_near.h"
#include "ray_trace.h"

#include <omp.h>

#define AHEAD 4 /* events */
#define FOURS(n) (((n) + 3) / 4 * 4)

/* The sums of a step. */
struct ray_sum {
	iso_ctx *ctx;
	struct iso_fixed acc;
	struct em_scales scales;
	struct em_tally tally;
};

struct ray_work {
	struct ray_sum *sum; /* of this operator's own steps; made by the first */
	char *list;          /* `list_bytes` for each thread */
	int64_t list_bytes;
};

/* ---- along a ray ---- */

static struct ray_list thread_list(const iso_op *op)
{
	const struct ray_model *m = op->data;
	struct ray_work *w = op->work;

	return iso_ray_list(w->list + omp_get_thread_num() * w->list_bytes, &m->grid, &m->spread);
}

/* The terms of a forward sum: of doubles, as they are added, or of floats. */
#ifdef ISO_DOUBLE

static double sum_along(const struct ray_list *l, const iso_real *restrict x)
{
	double q = 0;

	for (int i = 0; i < l->n; i++) q += l->w[i] * x[l->voxel[i]];
	return q;
}

static double multiply_along(const struct ray_list *l, const iso_real *restrict x)
{
	for (int i = 0; i < FOURS(l->n); i++) l->term[i] = l->w[i] * x[l->voxel[i]];
	return sum_along(l, x);
}

#else

static inline float4 gather(const float *x, const int *voxel)
{
	return (float4){ x[voxel[0]], x[voxel[1]], x[voxel[2]], x[voxel[3]] };
}

static double sum_along(const struct ray_list *l, const float *restrict x)
{
	const int *restrict voxel = l->voxel;
	const float *restrict w = l->w;
	double2 low = { 0 }, high = { 0 };

	for (int i = 0; i < l->n; i += 4) {
		float4 v = gather(x, voxel + i), f = four_load(w + i);

		low += four_low(f) * four_low(v);
		high += four_high(f) * four_high(v);
	}
	low += high;
	return low[0] + low[1];
}

/* term = w x along the ray; their sum. */
static double multiply_along(const struct ray_list *l, const float *restrict x)
{
	const int *restrict voxel = l->voxel;
	const float *restrict w = l->w;
	double2 *restrict term = (double2 *)l->term, low = { 0 }, high = { 0 };
	const int n = l->n;

	for (int i = 0; i < n; i += 4) {
		float4 t = gather(x, voxel + i) * four_load(w + i);
		double2 a = four_low(t), b = four_high(t);

		*term++ = a;
		*term++ = b;
		low += a;
		high += b;
	}
	low += high;
	return low[0] + low[1];
}

#endif

/* Adding this to a double |v| < 2^51 rounds v as llrint does, and leaves it in the lower bits. */
#define ROUND 0x1.8p52

/* v += factor * term along the ray, where no product reaches 2^51. */
static void add_small(int64_t *restrict v, const struct ray_list *l, double factor)
{
	const double2 *restrict term = (const double2 *)l->term, round = { ROUND, ROUND },
				f = { factor, factor };
	const int *restrict voxel = l->voxel;
	const int n = l->n;

	for (int i = 0; i < n; i += 4, voxel += 4) {
		long2 a = (long2)(*term++ * f + round) - (long2)round;
		long2 b = (long2)(*term++ * f + round) - (long2)round;

		v[voxel[0]] += a[0];
		v[voxel[1]] += a[1];
		v[voxel[2]] += b[0];
		v[voxel[3]] += b[1];
	}
}

/* acc += factor * term along the ray; no term exceeds `most`. Where all is very small the factor exceeds a
   float. */
static void add_along(const struct iso_fixed *acc, const struct ray_list *l, double factor, double most)
{
	int64_t *restrict v = iso_fixed_of(acc, omp_get_thread_num());

	if (acc->atomic)
		for (int i = 0; i < l->n; i++)
			__atomic_fetch_add(v + l->voxel[i], llrint(l->term[i] * factor), __ATOMIC_RELAXED);
	else if (most * fabs(factor) < 0x1p50)
		add_small(v, l, factor);
	else
		for (int i = 0; i < l->n; i++) v[l->voxel[i]] += llrint(l->term[i] * factor);
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

#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < order_chunks(r); c++) {
		struct ray_list l = thread_list(op);
		struct iso_rows rows = order_chunk(r, c);

		for (int64_t i = rows.first; !iso_stopped(op->ctx) && i < rows.first + rows.n; i++) {
			iso_ray_trace(&l, m, m->e + i);
			y[m->row[i]] = (iso_real)sum_along(&l, x);
		}
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

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < (list ? order_chunks(all) : 0); c++) {
		struct ray_list l = iso_ray_list(list + omp_get_thread_num() * bytes, &m->grid, &m->spread);
		struct iso_rows rows = order_chunk(all, c);

		for (int64_t j = rows.first; !iso_stopped(ctx) && j < rows.first + rows.n; j++) {
			struct iso_event v = iso_ray_event(e->v + j);

			iso_ray_trace(&l, m, &v);
			y[j] = (iso_real)sum_along(&l, x);
		}
	}
	int st = iso_room_free(&room);

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
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < order_chunks(r); c++) {
		struct ray_list l = thread_list(op);
		struct iso_rows rows = order_chunk(r, c);
		iso_real value[ORDER_CHUNK];

		take_rows(value, y, m->row + rows.first, rows.n);
		for (int64_t i = 0; !iso_stopped(op->ctx) && i < rows.n; i++) {
			iso_ray_trace(&l, m, m->e + rows.first + i);
			for (int k = 0; k < FOURS(l.n); k++) l.term[k] = l.w[k];
			add_along(&sum->acc, &l, value[i] * sum->acc.scale, most);
		}
	}
	if (!(st = iso_fixed_sum(&sum->acc, op->ctx, iso_ctx_poll(op->ctx))))
		iso_fixed_end(x, &sum->acc, op->ctx);
	return st;
}

/* ---- the EM step ---- */

/* The data of a chunk's events. */
struct chunk_data {
	iso_real y[ORDER_CHUNK], add[ORDER_CHUNK], mult[ORDER_CHUNK];
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

static int sum_add(void *arg, const iso_op *op, int sub, const iso_real *x, const struct iso_em_data *d)
{
	const struct ray_model *m = op->data;
	struct iso_rows r = iso_op_rows(op, sub);
	struct ray_sum *sum = arg;

#pragma omp parallel num_threads(op->ctx->threads)
	{
		struct ray_list l = thread_list(op);
		struct em_tally tally = { 0 };
		struct chunk_data data;

#pragma omp for schedule(dynamic)
		for (int64_t c = 0; c < order_chunks(r); c++) {
			struct iso_rows rows = order_chunk(r, c);
			struct iso_em_data here = take_data(&data, d, m->row + rows.first, rows.n);
			const struct iso_event *e = m->e + rows.first;

			for (int64_t i = 0; !iso_stopped(op->ctx) && i < rows.n; i++) {
				__builtin_prefetch(e + i + AHEAD);
				em_event(sum, m, e + i, &l, x, &here, i, &tally);
			}
		}
#pragma omp critical(ray_tally)
		em_tally_add(&sum->tally, &tally);
	}
	return iso_ctx_poll(op->ctx);
}

static int sum_begin(void *arg, const struct ray_counts *c)
{
	struct ray_sum *sum = arg;

	iso_fixed_begin(&sum->acc, sum->ctx, c->sum); /* x w / q <= 1 for every count */
	sum->scales = em_scales(c->sum);
	sum->tally = (struct em_tally){ 0 };
	return ISO_OK;
}

static int sum_end(iso_real *acc, struct iso_em_stat *s, void *arg, int st)
{
	struct ray_sum *sum = arg;

	if ((st = iso_fixed_sum(&sum->acc, sum->ctx, st)) ||
	    (st = iso_em_tally_sum(&sum->tally, sum->ctx, st)))
		return st;
	*s = em_tally_stat(&sum->tally, sum->scales);
	iso_fixed_end(acc, &sum->acc, sum->ctx);
	return ISO_OK;
}

static void sum_free(void *arg)
{
	struct ray_sum *sum = arg;

	if (sum) iso_fixed_free(&sum->acc);
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

static int ray_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                       const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct iso_rows r = iso_op_rows(op, sub);
	struct ray_counts c = { .sum = (double)r.n, .most = 1 };
	struct ray_sum *sum;
	int st = own_sum(op, &sum);

	if (!st && d->y) st = op->ctx->vec->asum(op->ctx, r.n, &c.sum, d->y + r.first);
	if ((st = iso_ray_counts(&c, op->ctx, st)) || (st = sum_begin(sum, &c))) return st;
	return sum_end(acc, s, sum, sum_add(sum, op, sub, x, d));
}

/* ---- memory ---- */

static void ray_close(iso_op *op)
{
	sum_free(((struct ray_work *)op->work)->sum);
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
	.rows = iso_ray_rows,
	.file_row = iso_ray_file_row,
	.open = ray_open,
	.close = ray_close,
	.to_cuda = "iso_ray_to_cuda",
	.work = sizeof(struct ray_work),
};
