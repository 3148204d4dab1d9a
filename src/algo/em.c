/* SPDX-License-Identifier: BSD-3-Clause */
/* Expectation maximisation: MLEM (Shepp and Vardi 1982; list mode: Parra and Barrett 1998), and
   OSEM (Hudson and Larkin 1994), which is MLEM with subsets taken in turn:

	x <- x / S_b * A_b*( y / (A_b x + r/m) )

   with S_b the sensitivity of subset b, an input. A filter may smooth x between iterations. */
#include "image_filter.h"
#include "loop.h"

#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"
#include "core/sized.h"

#define MOST_UPDATES 10000000 /* each keeps its log-likelihood, also in the checkpoint */

struct iso_em_state {
	struct iso_loop l;
	struct iso_em p; /* arrays: ours, on the device, data in the operator's order, add over mult */
	struct iso_filter filter;
	iso_real *acc;
	iso_real *seen;        /* 1 where a subset sees the voxel; for the filter */
	bool due;              /* the filter, before anything else */
	int64_t rows;          /* of the data, of all ranks */
	int64_t used, skipped; /* of the iteration under way */
	double lost;
	int64_t counter[4]; /* for checkpoints */
};

const iso_real *iso_sens_get(double *scale, const struct iso_sens *s, int64_t n, int sub)
{
	if (!scale || !s) return NULL;
	*scale = s->n_images == 1 ? 1. / s->n_sub : 1;
	return s->image + (s->n_images == 1 ? 0 : sub * n);
}

/* ---- steps ---- */

static int update(iso_em_state *e)
{
	struct iso_loop *l = &e->l;
	int sub = (int)(l->done % l->per);
	struct iso_em_stat s = { 0 };
	double scale, expected, *loglik = &l->curve[0][l->done];
	const iso_real *sens = iso_sens_get(&scale, &e->p.sens, l->n, sub);
	int st;

	if ((st = iso_op_em_step(e->acc, &s, l->op, sub, l->x, &e->p.data))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &expected, sens, l->x))) return st;
	/* a subset without a single event used leaves the image as it is */
	if (s.used > 0 && (st = l->v->update(l->ctx, l->n, l->x, e->acc, sens, scale))) return st;
	*loglik = s.loglik - scale * expected;
	if (!isfinite(*loglik))
		return iso_fail(ISO_EINPUT,
		                "em: the log-likelihood of update %" PRId64
		                " is %g: start image, sensitivity or factors are too small or too large",
		                l->done + 1, *loglik);
	e->used = (sub ? e->used : 0) + s.used;
	e->skipped = (sub ? e->skipped : 0) + s.skipped;
	e->lost = (sub ? e->lost : 0) + s.lost;
	l->done++;
	e->due = e->p.filter && l->done % ((int64_t)l->per * e->p.filter_every) == 0;
	return ISO_OK;
}

/* Voxels that no subset sees are 0 again behind the filter; x is as it was if that fails. */
static int filter(iso_em_state *e)
{
	struct iso_loop *l = &e->l;
	int st = iso_filter_apply(e->acc, l->ctx, e->p.filter, &e->p.grid, l->x);

	return st ? st : l->v->mul(l->ctx, l->n, l->x, e->acc, e->seen);
}

/* One update, and the filter that is due behind it or was left over by an interruption. */
static int step(struct iso_loop *l)
{
	iso_em_state *e = (iso_em_state *)l;
	int st = e->due ? ISO_OK : update(e);

	if (st || !e->due) return st;
	st = filter(e);
	e->due = st != ISO_OK;
	return st;
}

/* A filter that was for the last iteration alone is for the one that was the last. */
static int cut(struct iso_loop *l)
{
	iso_em_state *e = (iso_em_state *)l;

	return e->p.filter && e->p.filter_every == e->p.iterations ? filter(e) : ISO_OK;
}

static bool finished(const struct iso_loop *l)
{
	return l->done == l->total && !((const iso_em_state *)l)->due;
}

/* ---- checkpoints: the state between two updates, or between an update and its filter ---- */

static int items(struct iso_loop *l, struct iso_item item[LOOP_ITEMS])
{
	iso_em_state *e = (iso_em_state *)l;
	const int64_t now[4] = { l->done, e->used, e->skipped, e->due };

	memcpy(e->counter, now, sizeof now);
	item[0] = (struct iso_item){ "image", ISO_ITEM_REAL, l->n, l->x };
	item[1] = (struct iso_item){ "loglik", ISO_ITEM_DOUBLE, l->total, l->curve[0] };
	item[2] = (struct iso_item){ "updates, used, skipped, filter due", ISO_ITEM_INT64, 4, e->counter };
	item[3] = (struct iso_item){ "counts lost", ISO_ITEM_DOUBLE, 1, &e->lost };
	return 4;
}

static int restored(struct iso_loop *l, const char *path)
{
	iso_em_state *e = (iso_em_state *)l;
	const int64_t *counter = e->counter;

	if (counter[0] < 0 || counter[0] > l->total || counter[1] < 0 || counter[2] < 0 ||
	    counter[1] > e->rows || counter[2] > e->rows)
		return iso_fail(ISO_EINPUT,
		                "%s: checkpoint after update %" PRId64 " of %" PRId64 ", with %" PRId64
		                " and %" PRId64 " of %" PRId64 " events",
		                path, counter[0], l->total, counter[1], counter[2], e->rows);
	l->done = counter[0];
	e->used = counter[1];
	e->skipped = counter[2];
	e->due = counter[3] != 0 && l->done > 0 && e->p.filter;
	return ISO_OK;
}

static const struct iso_loop_fn em_fn = {
	.name = "em",
	.unit = "updates",
	.figure = "logL",
	.curves = 1,
	.step = step,
	.finished = finished,
	.cut = cut,
	.items = items,
	.restored = restored,
};

/* ---- the start ---- */

static int check(const struct iso_em *p, const iso_real *x, int64_t *updates)
{
	const char *lacks = !p->op ? "operator" : !x ? "start image" : p->sens.image ? NULL : "sensitivity";
	int st;

	if (lacks) return iso_fail(ISO_EARG, "em: there is no %s", lacks);
	int n_sub = iso_op_n_sub(p->op);
	int64_t n = iso_op_n_in(p->op);

	if (!size_mul(updates, p->iterations > 0 ? p->iterations : 0, n_sub) || *updates > MOST_UPDATES)
		return iso_fail(ISO_EARG, "em: %d iterations of %d subsets are more than %d updates",
		                p->iterations, n_sub, MOST_UPDATES);
	if (p->iterations < 1)
		return iso_fail(ISO_EARG, "em: %d iterations, must be at least 1", p->iterations);
	if (p->sens.n_sub != n_sub || (p->sens.n_images != 1 && p->sens.n_images != n_sub))
		return iso_fail(ISO_EARG, "em: %d sensitivity images of %d subsets for an operator with %d",
		                p->sens.n_images, p->sens.n_sub, n_sub);
	if (!p->filter) return ISO_OK;
	if ((st = iso_filter_check(p->filter))) return st;
	if (p->filter_every < 1)
		return iso_fail(ISO_EARG, "em: filter after every %d iterations, must be at least 1",
		                p->filter_every);
	if (iso_grid_voxels(&p->grid) != n)
		return iso_fail(ISO_EARG, "em: the filter's grid has %" PRId64 " voxels, the image %" PRId64,
		                iso_grid_voxels(&p->grid), n);
	return ISO_OK;
}

/* x, or 1 without one, and 0 in voxels that no subset sees; on the device. */
static iso_real *upload_seen(iso_em_state *e, const iso_real *x)
{
	const struct iso_sens *s = &e->p.sens;
	struct iso_loop *l = &e->l;
	iso_real *there;

	for (int64_t i = 0; i < l->n; i++) {
		bool seen = false;

		for (int k = 0; k < s->n_images; k++) seen |= s->image[k * l->n + i] > 0;
		l->host[i] = !seen ? 0 : x ? x[i] : 1;
	}
	return ISO_UPLOAD(&l->room, there, l->host, l->n);
}

/* The caller's arrays, checked, to the device. */
static int load(iso_em_state *e, const iso_real *x)
{
	struct iso_loop *l = &e->l;
	struct iso_sens *s = &e->p.sens;
	int64_t all = l->n * s->n_images;
	int st;

	if ((st = iso_loop_take(l, "start image", l->n, &x, true))) return st;
	if ((st = iso_loop_take(l, "sensitivity", all, &s->image, true))) return st;
	if ((st = iso_loop_em_data(l, &e->p.data, NULL))) return st;
	ISO_DEVICE(&l->room, e->acc, l->n);
	l->x = upload_seen(e, x);
	if (e->p.filter) e->seen = upload_seen(e, NULL);
	ISO_UPLOAD(&l->room, s->image, s->image, all);
	iso_room_free(&l->taken);
	return l->room.status;
}

/* ---- the interface ---- */

int iso_em_create(iso_em_state **out, const struct iso_em *given, const iso_real *x)
{
	struct iso_em p;
	int64_t updates = 0;
	iso_em_state *e;
	int st = out ? iso_sized_take(&p, "iso_em", sizeof p, given) : iso_fail_null(__func__);

	if (st || (st = check(&p, x, &updates))) return st;
	if (!(e = iso_loop_make(sizeof *e, &em_fn, p.op, p.place, updates)))
		return iso_comm_agree(iso_op_ctx(p.op), ISO_ENOMEM);
	e->p = p;
	e->l.per = iso_op_n_sub(p.op);
	e->l.stage = e->l.per > 1 ? "osem" : "mlem";
	if (p.filter) {
		e->filter = *p.filter;
		e->p.filter = &e->filter;
	}
	e->rows = e->l.n_data;
	st = load(e, x);
	st = e->l.op->rows_split ? iso_comm_sum(e->l.ctx, st, &e->rows, 1) : iso_comm_agree(e->l.ctx, st);
	if (st)
		iso_em_free(e);
	else
		*out = e;
	return st;
}

int iso_em_step(iso_em_state *e)
{
	return e ? iso_loop_step(&e->l) : iso_fail_null(__func__);
}

bool iso_em_finished(const iso_em_state *e)
{
	return !e || iso_loop_finished(&e->l);
}

int iso_em_image(iso_real *x, const iso_em_state *e)
{
	return x && e ? iso_loop_image(x, &e->l) : iso_fail_null(__func__);
}

const double *iso_em_loglik(int *n, const iso_em_state *e)
{
	return n && e ? iso_loop_curve(&e->l, 0, n) : NULL;
}

void iso_em_events(int64_t *used, int64_t *skipped, double *lost, const iso_em_state *e)
{
	if (!used || !skipped || !lost || !e) return;
	*used = e->used;
	*skipped = e->skipped;
	*lost = e->lost;
}

void iso_em_free(iso_em_state *e)
{
	iso_loop_free((struct iso_loop *)e);
}

int iso_em_run(iso_real *x, struct iso_em_result *r, const struct iso_em *p, const struct iso_run *run)
{
	iso_em_state *e = NULL;
	struct iso_em_result own = { 0 };
	int st = iso_sized_clear(r, "iso_em_result", sizeof *r);

	if (!st) st = iso_em_create(&e, p, x);
	if (!st) st = iso_loop_run(&e->l, x, run);
	if (!st && r)
		own = (struct iso_em_result){
			.used = e->used,
			.skipped = e->skipped,
			.lost = e->lost,
			.resumed_from = e->l.resumed_from,
			.unsaved = e->l.unsaved,
			.n = (int)e->l.done,
			.loglik = e->l.curve[0],
			.stopped = e->l.stopped,
		};
	if (own.loglik) e->l.curve[0] = NULL; /* it is the caller's now */
	if (r) iso_sized_give(r, sizeof own, &own);
	iso_em_free(e);
	return st;
}

void iso_em_result_free(struct iso_em_result *r)
{
	if (!r) return;
	free(r->loglik);
	r->loglik = NULL;
}

void iso_em_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, int n_images,
                 int n_vectors)
{
	int64_t real = sizeof(iso_real);
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "image, its update, a copy on the host", n, (cuda ? 2 : 3) * real, cuda);
	iso_plan_add(plan, "sensitivity", n, n_images * real, cuda);
	iso_plan_add(plan, "data vectors", n_data, n_vectors * real, cuda);
}
