/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray on the CPU: each event is traced once into a short list of voxels and weights, which
   serves the forward sum and the way back. */
#include "core/em_kern.h"
#include "core/fixed.h"
#include "core/size.h"
#include "ray_near.h"
#include "ray_trace.h"

#include <omp.h>

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

static double sum_along(const struct ray_list *l, const iso_real *restrict x)
{
	double q = 0;

	for (int i = 0; i < l->n; i++) q += (double)l->w[i] * x[l->voxel[i]];
	return q;
}

/* Weights become terms w x, whose sum is returned. The voxels of acc are on their way to the cache
   meanwhile. */
static double multiply_along(const struct ray_list *l, const iso_real *restrict x,
                             const int64_t *restrict acc)
{
	const int *restrict voxel = l->voxel;
	iso_real *restrict w = l->w;
	double q = 0;

	for (int i = 0; i < l->n; i++) {
		__builtin_prefetch(acc + voxel[i], 1);
		w[i] *= x[voxel[i]];
		q += w[i];
	}
	return q;
}

/* acc += factor * weight along the ray. Where all is very small the factor exceeds a float. */
static void add_along(const struct iso_fixed *acc, const struct ray_list *l, double factor)
{
	const int *restrict voxel = l->voxel;
	const iso_real *restrict w = l->w;
	int64_t *restrict v = iso_fixed_of(acc, omp_get_thread_num());

	if (acc->atomic)
		for (int i = 0; i < l->n; i++)
			__atomic_fetch_add(v + voxel[i], llrint(w[i] * factor), __ATOMIC_RELAXED);
	else
		for (int i = 0; i < l->n; i++) v[voxel[i]] += llrint(w[i] * factor);
}

/* ---- over the events of a subset ---- */

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
	double total = 0;
	int st = own_sum(op, &sum);

	if (st || (st = op->ctx->vec->asum(op->ctx, r.n, &total, y + r.first))) return st;
	if (!isfinite(total)) return iso_fail(ISO_EARG, "ray: a value to back project is not finite");
	iso_fixed_begin(&sum->acc, op->ctx, total * iso_ray_largest_weight(&m->grid, &m->tof));
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < order_chunks(r); c++) {
		struct ray_list l = thread_list(op);
		struct iso_rows rows = order_chunk(r, c);

		for (int64_t i = rows.first; !iso_stopped(op->ctx) && i < rows.first + rows.n; i++) {
			iso_ray_trace(&l, m, m->e + i);
			add_along(&sum->acc, &l, y[m->row[i]] * sum->acc.scale);
		}
	}
	if (!(st = iso_ctx_poll(op->ctx))) iso_fixed_end(x, &sum->acc, op->ctx);
	return st;
}

/* ---- the EM step ---- */

/* Event i of acc = x A*(y / (A x + a)): the weights become terms w x of the forward sum, and the
   same terms, over that sum, go back. */
static void em_event(const struct ray_sum *sum, const struct ray_model *m, int64_t i, struct ray_list *l,
                     const iso_real *x, const struct iso_em_data *d, struct em_tally *tally)
{
	struct iso_em_stat row = { 0 };
	int64_t j = m->row[i];

	l->n = 0;
	if (!d->mult || d->mult[j] > 0) iso_ray_trace(l, m, m->e + i);
	double ax = multiply_along(l, x, iso_fixed_of(&sum->acc, omp_get_thread_num()));
	double send = em_respond(&row, d, j, ax);

	em_tally_row(tally, sum->scales, &row);
	if (send > 0) add_along(&sum->acc, l, send * sum->acc.scale);
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

#pragma omp for schedule(dynamic)
		for (int64_t c = 0; c < order_chunks(r); c++) {
			struct iso_rows rows = order_chunk(r, c);

			for (int64_t i = rows.first; !iso_stopped(op->ctx) && i < rows.first + rows.n; i++)
				em_event(sum, m, i, &l, x, d, &tally);
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

static int sum_end(iso_real *acc, struct iso_em_stat *s, void *arg)
{
	struct ray_sum *sum = arg;

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
	if (st || (st = sum_begin(sum, &c)) || (st = sum_add(sum, op, sub, x, d))) return st;
	return sum_end(acc, s, sum);
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
