/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray on the CPU: each event is traced once into a short list of voxels and weights, which
   serves the forward sum and the way back. */
#include "core/em_kern.h"
#include "core/fixed.h"
#include "core/plan.h"
#include "core/size.h"
#include "ray_near.h"
#include "ray_trace.h"

#include <omp.h>

#define CHUNK 1024	/* events between two looks at the cancel flag; sums are kept per chunk */

struct ray_work {
	struct iso_fixed acc;
	char *list;			/* `list_bytes` for each thread */
	int64_t list_bytes;
	struct iso_em_stat *stat;	/* one per chunk */
};

static struct ray_list thread_list(const iso_op *op)
{
	const struct ray_model *m = op->data;
	struct ray_work *w = op->work;

	return iso_ray_list(w->list + omp_get_thread_num() * w->list_bytes, &m->grid, &m->spread);
}

static double sum_along(const struct ray_list *l, const iso_real *restrict x)
{
	double q = 0;

	for (int i = 0; i < l->n; i++)
		q += (double)l->w[i] * x[l->voxel[i]];
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
		for (int i = 0; i < l->n; i++)
			v[voxel[i]] += llrint(w[i] * factor);
}

/* Events of one subset in chunks that the data alone decide. */
#define CHUNKS(rows) (((rows).n + CHUNK - 1) / CHUNK)

static struct iso_rows chunk_rows(struct iso_rows r, int64_t chunk)
{
	int64_t first = r.first + chunk * CHUNK, left = r.first + r.n - first;
	struct iso_rows c = { first, left < CHUNK ? left : CHUNK };

	return c;
}

static int ray_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct ray_model *m = op->data;
	struct iso_rows r = iso_op_rows(op, sub);

#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < CHUNKS(r); c++) {
		struct ray_list l = thread_list(op);
		struct iso_rows rows = chunk_rows(r, c);

		for (int64_t i = rows.first; !op->ctx->cancel && i < rows.first + rows.n; i++) {
			iso_ray_trace(&l, m, m->e + i);
			y[m->row[i]] = (iso_real)sum_along(&l, x);
		}
	}
	return iso_ctx_poll(op->ctx);
}

static int ray_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct ray_model *m = op->data;
	struct ray_work *w = op->work;
	struct iso_rows r = iso_op_rows(op, sub);
	double total = 0;
	int st = op->ctx->vec->asum(op->ctx, r.n, &total, y + r.first);

	if (st)
		return st;
	if (!isfinite(total))
		return iso_fail(ISO_EARG, "ray: a value to back project is not finite");
	iso_fixed_begin(&w->acc, op->ctx, total * iso_ray_largest_weight(&m->grid, &m->tof));
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < CHUNKS(r); c++) {
		struct ray_list l = thread_list(op);
		struct iso_rows rows = chunk_rows(r, c);

		for (int64_t i = rows.first; !op->ctx->cancel && i < rows.first + rows.n; i++) {
			iso_ray_trace(&l, m, m->e + i);
			add_along(&w->acc, &l, y[m->row[i]] * w->acc.scale);
		}
	}
	st = iso_ctx_poll(op->ctx);
	return st ? st : iso_fixed_end(x, &w->acc, op->ctx);
}

/* Event i of acc = x A*(y / (A x + a)): the weights become terms w x of the forward sum, and the
   same terms, over that sum, go back. */
static void em_event(const iso_op *op, int64_t i, struct ray_list *l, const iso_real *x,
		     const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct ray_model *m = op->data;
	struct ray_work *w = op->work;
	int64_t j = m->row[i];

	l->n = 0;
	if (!d->mult || d->mult[j] > 0)
		iso_ray_trace(l, m, m->e + i);
	double ax = multiply_along(l, x, iso_fixed_of(&w->acc, omp_get_thread_num()));
	double send = em_respond(s, d, j, ax);

	if (send > 0)
		add_along(&w->acc, l, send * w->acc.scale);
}

static int ray_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
		       const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct ray_work *w = op->work;
	struct iso_rows r = iso_op_rows(op, sub);
	double bound = (double)r.n;	/* x w / q <= 1 for every event */
	int st = d->y ? op->ctx->vec->asum(op->ctx, r.n, &bound, d->y + r.first) : ISO_OK;

	if (st)
		return st;
	iso_fixed_begin(&w->acc, op->ctx, bound);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < CHUNKS(r); c++) {
		struct ray_list l = thread_list(op);
		struct iso_rows rows = chunk_rows(r, c);
		struct iso_em_stat part = { 0 };

		for (int64_t i = rows.first; !op->ctx->cancel && i < rows.first + rows.n; i++)
			em_event(op, i, &l, x, d, &part);
		w->stat[c] = part;
	}
	if ((st = iso_ctx_poll(op->ctx)))
		return st;
	*s = em_stat_sum(CHUNKS(r), w->stat);
	return iso_fixed_end(acc, &w->acc, op->ctx);
}

static void ray_close(iso_op *op)
{
	struct ray_work *w = op->work;

	iso_fixed_free(&w->acc);
	free(w->list);
	free(w->stat);
	free(w);
}

/* Of one step: a subset is the least that an image is made from. */
static double additions(const struct ray_model *m)
{
	return iso_ray_visits(&m->grid, &m->tof, m->projector) * m->spread.lines *
	       (double)order_rows(&m->order, 0).n;
}

static int ray_open(iso_op *op)
{
	const struct ray_model *m = op->data;
	struct ray_work *w = size_alloc(1, sizeof *w);
	int64_t chunks = op->n_out / CHUNK + 1;

	if (!w)
		return iso_fail_memory("ray", sizeof *w);
	op->work = w;	/* from here ray_close cleans up */
	w->list_bytes = iso_ray_list_bytes(&m->grid, &m->spread);
	w->list = size_alloc(w->list_bytes, op->ctx->threads);
	w->stat = size_alloc(chunks, sizeof *w->stat);
	if (!w->list || !w->stat)
		return iso_fail_memory("ray", w->list_bytes * op->ctx->threads +
				       chunks * (int64_t)sizeof *w->stat);
	return iso_fixed_create(&w->acc, op->ctx, op->n_in, additions(m));
}

static void ray_free(iso_op *op)
{
	struct ray_model *m = op->data;

	free(m->e);
	free(m->row);
	free(m);
}

const struct iso_op_fn iso_ray_cpu_fn = {
	.forward = ray_forward,
	.adjoint = ray_adjoint,
	.em_step = ray_em_step,
	.rows = iso_ray_rows,
	.file_row = iso_ray_file_row,
	.open = ray_open,
	.close = ray_close,
	.free = ray_free,
	.to_cuda = "iso_ray_to_cuda",
};

void iso_ray_cpu_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct ray_model *m)
{
	int64_t voxels = (int64_t)m->grid.n[0] * m->grid.n[1] * m->grid.n[2];

	iso_plan_add(plan, "rows of the events", m->n, sizeof *m->row, false);
	iso_plan_add(plan, "ordering the events, for a while", order_rows(&m->order, 0).n,
		     ISO_RAY_NEAR_BYTES, false);
	iso_plan_add(plan, "fixed-point image", voxels,
		     (int64_t)sizeof(int64_t) * iso_fixed_copies(ctx, voxels, additions(m)), false);
}
