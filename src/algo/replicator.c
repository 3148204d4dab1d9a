/* SPDX-License-Identifier: BSD-3-Clause */
/* Replicates of EM: the loop of em.c around steps of several images at once, each with counts of its own. Data and
   sensitivity are on the device once for all of them. */
#include "image_filter.h"
#include "loop.h"

#include "core/comm.h"
#include "core/op.h"
#include "core/sized.h"
#include "dynamic/weights.h"

#include <string.h>

enum { BATCH = 4, MOST_BATCH = 64 };

struct iso_replicator {
	struct iso_loop l; /* of one image: the start */
	struct iso_em p;   /* arrays: ours, on the device, data in the operator's order, add over mult */
	struct iso_filter filter;
	struct iso_replicates w;
	iso_real *x, *acc, *y; /* of all images of a batch: images and counts, on the device */
	iso_real *start;       /* on the device */
	iso_real *seen;        /* 1 where a subset sees the voxel; for the filter */
	iso_real *drawn;       /* counts of a replicate on the host, in the operator's order */
	iso_real *counts;      /* of the data, of a histogram, likewise; NULL: events */
	iso_weights_fn *draw;  /* of the device; NULL: the host draws */
	int64_t *number;       /* of each event, in the operator's order, on the device */
	int64_t empty;
};

static const struct iso_loop_fn replicator_fn = { .name = "replicates", .unit = "updates", .figure = "logL" };

/* ---- the start ---- */

static int check(const struct iso_em *p, const iso_real *x, const struct iso_replicates *w)
{
	if (!p->op || !x || !p->sens.image)
		return iso_fail(ISO_EARG, "replicates: there is no %s",
		                !p->op ? "operator"
		                : !x   ? "start image"
		                       : "sensitivity");
	if (p->place != ISO_HOST) return iso_fail(ISO_EARG, "replicates: arrays must be on the host");
	if (p->iterations < 1)
		return iso_fail(ISO_EARG, "replicates: %d iterations, must be at least 1", p->iterations);
	if (p->sens.n_sub != iso_op_n_sub(p->op) ||
	    (p->sens.n_images != 1 && p->sens.n_images != p->sens.n_sub))
		return iso_fail(ISO_EARG,
		                "replicates: %d sensitivity images of %d subsets for an operator with %d",
		                p->sens.n_images, p->sens.n_sub, iso_op_n_sub(p->op));
	if (w->batch < 0 || w->batch > MOST_BATCH)
		return iso_fail(ISO_EARG, "replicates: %d images a pass, must be 1 to %d", w->batch,
		                MOST_BATCH);
	if (!p->filter) return ISO_OK;
	if (p->filter_every < 1)
		return iso_fail(ISO_EARG, "replicates: filter after every %d iterations, must be at least 1",
		                p->filter_every);
	if (iso_grid_voxels(&p->grid) != iso_op_n_in(p->op))
		return iso_fail(ISO_EARG,
		                "replicates: the filter's grid has %" PRId64 " voxels, the image %" PRId64,
		                iso_grid_voxels(&p->grid), iso_op_n_in(p->op));
	return iso_filter_check(p->filter);
}

/* The start, 0 in voxels that no subset sees; and 1 in the others. */
static int take_start(iso_replicator *r, const iso_real *x)
{
	const struct iso_sens *s = &r->p.sens;
	struct iso_loop *l = &r->l;
	iso_real *start;

	if (!ISO_HOST(&l->taken, start, l->n)) return l->taken.status;
	for (int64_t i = 0; i < l->n; i++) {
		bool seen = false;

		for (int k = 0; k < s->n_images; k++) seen |= s->image[k * l->n + i] > 0;
		start[i] = seen ? x[i] : 0;
		l->host[i] = seen;
	}
	ISO_UPLOAD(&l->room, r->start, start, l->n);
	if (r->p.filter) ISO_UPLOAD(&l->room, r->seen, l->host, l->n);
	return l->room.status;
}

/* Counts of a histogram, in the operator's order. */
static int take_counts(iso_replicator *r, const iso_real *y)
{
	struct iso_loop *l = &r->l;

	if (y) {
		ISO_HOST(&l->room, r->counts, l->n_data);
		for (int64_t i = 0; i < l->n_data; i++)
			if (y[i] != floor(y[i]))
				return iso_fail(
					ISO_EINPUT,
					"replicates: the count of row %" PRId64
					" is %g; replicates are of whole counts, not of weights or factors",
					i, (double)y[i]);
		if (r->counts) iso_op_sort(r->counts, l->op, y);
	}
	r->p.data.y = NULL;
	return l->room.status;
}

static uint64_t number(const iso_replicator *r, int64_t i)
{
	const iso_op *op = r->l.op;
	int64_t row = op->fn->file_row ? op->fn->file_row(op, i) : i;

	return (uint64_t)(r->w.number ? r->w.number[row] : row);
}

/* The device draws weights of events; counts of lines are Poisson numbers of any mean, which the host draws. */
static int find_draw(iso_replicator *r)
{
	struct iso_loop *l = &r->l;
	void *cuda = NULL;
	int64_t *event;
	int st = iso_cuda_symbol(&cuda, ISO_WEIGHTS_CUDA);

	if (st || !ISO_HOST(&l->taken, event, l->n_data)) return st ? st : l->taken.status;
	*(void **)&r->draw = cuda;
#pragma omp parallel for num_threads(l->ctx->threads)
	for (int64_t i = 0; i < l->n_data; i++) event[i] = (int64_t)number(r, i);
	ISO_UPLOAD(&l->room, r->number, event, l->n_data);
	return l->room.status;
}

static int load(iso_replicator *r, const iso_real *x)
{
	struct iso_loop *l = &r->l;
	struct iso_sens *s = &r->p.sens;
	const iso_real *y = r->p.data.y;
	int64_t all = l->n * s->n_images;
	int st;

	if ((st = iso_loop_take(l, "start image", l->n, &x, true)) ||
	    (st = iso_loop_take(l, "sensitivity", all, &s->image, true)) ||
	    (st = iso_loop_take(l, "counts", l->n_data, &y, true)) || (st = take_counts(r, y)) ||
	    (st = iso_loop_em_data(l, &r->p.data, NULL)) || (st = take_start(r, x)))
		return st;
	ISO_DEVICE(&l->room, r->x, r->w.batch * l->n);
	ISO_DEVICE(&l->room, r->acc, r->w.batch * l->n);
	ISO_DEVICE(&l->room, r->y, r->w.batch * l->n_data);
	if (iso_ctx_is_cuda(l->ctx) && !r->counts) st = find_draw(r);
	if (!r->draw) ISO_HOST(&l->room, r->drawn, l->n_data);
	if (st) return st;
	ISO_UPLOAD(&l->room, s->image, s->image, all);
	iso_room_free(&l->taken);
	return l->room.status;
}

int iso_replicator_create(iso_replicator **out, const struct iso_em *given, const iso_real *x,
                          const struct iso_replicates *which)
{
	struct iso_replicates w;
	iso_replicator *r;
	struct iso_em p;

	if (!out) return iso_fail_null(__func__);
	int st = iso_sized_take(&p, "iso_em", sizeof p, given);

	if (!st) st = iso_sized_take(&w, "iso_replicates", sizeof w, which);
	if (st || (st = check(&p, x, &w))) return st;
	if (!(r = iso_loop_make(sizeof *r, &replicator_fn, p.op, p.place, 0)))
		return iso_comm_agree(iso_op_ctx(p.op), ISO_ENOMEM);
	r->p = p;
	r->w = w;
	r->w.batch = w.batch ? w.batch : BATCH;
	if (p.filter) {
		r->filter = *p.filter;
		r->p.filter = &r->filter;
	}
	if ((st = iso_comm_agree(r->l.ctx, load(r, x))))
		iso_replicator_free(r);
	else
		*out = r;
	return st;
}

/* ---- counts ---- */

/* Of a replicate, in the operator's order: the weight of each event, or counts of each line. */
static void draw(iso_replicator *r, int64_t replicate)
{
	const uint64_t key = r->w.seed ^ WEIGHTS_OF_EVENTS,
		       of_lines = key + ((uint64_t)replicate << WEIGHT_BITS);

#pragma omp parallel for num_threads(r->l.ctx->threads)
	for (int64_t i = 0; i < r->l.n_data; i++)
		r->drawn[i] = r->counts ? (iso_real)iso_poisson(r->counts[i], of_lines, number(r, i))
		                        : (iso_real)weight_of_event(key, number(r, i), replicate);
}

/* ---- a batch ---- */

static int begin(iso_replicator *r, int64_t first, int n)
{
	struct iso_loop *l = &r->l;
	int st = ISO_OK;

	if (r->draw)
		st = r->draw(l->ctx, r->y, l->n_data, r->number, r->w.seed ^ WEIGHTS_OF_EVENTS, first, n);
	for (int e = 0; e < n && !st; e++) {
		if (!r->draw) {
			draw(r, first + e);
			st = l->v->upload(l->ctx, r->y + e * l->n_data, r->drawn,
			                  l->n_data * (int64_t)sizeof *r->y);
		}
		if (!st) st = l->v->copy(l->ctx, l->n, r->x + e * l->n, r->start);
		if (!st) st = iso_ctx_poll(l->ctx);
	}
	return iso_comm_agree(l->ctx, st);
}

static int update(iso_replicator *r, int sub, int n)
{
	struct iso_em_stat s[MOST_BATCH];
	struct iso_loop *l = &r->l;
	double scale;
	const iso_real *sens = iso_sens_get(&scale, &r->p.sens, l->n, sub);
	int st = iso_op_em_step_many(r->acc, s, l->op, sub, n, r->x, r->y, &r->p.data);

	for (int e = 0; e < n && !st; e++) {
		if (s[e].counts > 0)
			st = l->v->update(l->ctx, l->n, r->x + e * l->n, r->acc + e * l->n, sens, scale);
		else
			r->empty++;
	}
	return st;
}

static int filter(iso_replicator *r, int n)
{
	struct iso_loop *l = &r->l;
	int st = ISO_OK;

	for (int e = 0; e < n && !st; e++) {
		iso_real *x = r->x + e * l->n;

		st = iso_filter_apply(r->acc, l->ctx, r->p.filter, &r->p.grid, x);
		if (!st) st = l->v->mul(l->ctx, l->n, x, r->acc, r->seen);
	}
	return st;
}

static int check_images(const iso_real *x, int64_t values, int64_t n, int64_t first)
{
	for (int64_t i = 0; i < values; i++)
		if (!isfinite(x[i]))
			return iso_fail(
				ISO_EINPUT,
				"replicate %" PRId64
				": a voxel is not finite: start image, sensitivity or factors are too "
				"small or too large",
				first + i / n);
	return ISO_OK;
}

int iso_replicator_run(iso_real *x, iso_replicator *r, int64_t first, int n)
{
	if (!x || !r) return iso_fail_null(__func__);
	struct iso_loop *l = &r->l;
	int per = iso_op_n_sub(l->op), st;

	if (n < 1 || n > r->w.batch || first < 0 || first + n > ISO_REPLICATES_MOST)
		return iso_fail(ISO_EARG, "replicates: %d from %" PRId64 " on, must be 1 to %d of 0 to %d", n,
		                first, r->w.batch, ISO_REPLICATES_MOST - 1);
	st = begin(r, first, n);
	for (int it = 1; it <= r->p.iterations && !st; it++) {
		for (int sub = 0; sub < per && !st; sub++) st = update(r, sub, n);
		if (!st && r->p.filter && it % r->p.filter_every == 0) st = filter(r, n);
	}
	if (!st) st = l->v->download(l->ctx, x, r->x, n * l->n * (int64_t)sizeof *x);
	return st ? st : check_images(x, n * l->n, l->n, first);
}

int iso_replicator_batch(const iso_replicator *r)
{
	return r ? r->w.batch : 0;
}

int64_t iso_replicator_empty(const iso_replicator *r)
{
	return r ? r->empty : 0;
}

void iso_replicator_free(iso_replicator *r)
{
	iso_loop_free((struct iso_loop *)r);
}
