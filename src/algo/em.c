/* SPDX-License-Identifier: BSD-3-Clause */
/* Expectation maximisation: MLEM (Shepp and Vardi 1982; list mode: Parra and Barrett 1998), and
   OSEM (Hudson and Larkin 1994), which is MLEM with subsets taken in turn:

	x <- x / S_b * A_b*( y / (A_b x + r/m) )

   with S_b the sensitivity of subset b, an input. A filter may smooth x between iterations. */
#include "image_filter.h"
#include "loop.h"

#include "core/ctx.h"
#include "text/number.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/vec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_UPDATES 10000000 /* each keeps its log-likelihood, also in the checkpoint */

struct em {
	const struct iso_em *p;
	iso_ctx *ctx;
	const struct iso_vec *v;
	int64_t n, n_data;
	int n_sub, updates;
	int64_t done;             /* updates behind us */
	iso_real *x, *acc, *sens; /* on the device */
	iso_real *seen;           /* the same: 1 where a subset sees the voxel; for the filter */
	bool due;                 /* the filter, before anything else */
	struct iso_em_data data;  /* on the device, operator's order, add over mult */
	iso_real *host;           /* the image, for checkpoints and callbacks */
	double *loglik;
	int64_t used, skipped; /* of the iteration under way */
	double lost;
	double start_s;
};

const iso_real *iso_sens_get(const struct iso_sens *s, int64_t n, int sub, double *scale)
{
	*scale = s->n_images == 1 ? 1. / s->n_sub : 1;
	return s->image + (s->n_images == 1 ? 0 : sub * n);
}

static int check_values(const char *what, int64_t n, const iso_real *v)
{
	for (int64_t i = 0; v && i < n; i++)
		if (!(v[i] >= 0) || !isfinite(v[i]))
			return iso_fail(ISO_EINPUT,
			                "em: %s holds %g at %" PRId64 ", must be finite and "
			                "not negative",
			                what, (double)v[i], i);
	return ISO_OK;
}

static int check(const struct em *e, const iso_real *x)
{
	const struct iso_em *p = e->p;
	int st;

	if (p->iterations < 1)
		return iso_fail(ISO_EARG, "em: %d iterations, must be at least 1", p->iterations);
	if (p->sens.n_sub != e->n_sub || (p->sens.n_images != 1 && p->sens.n_images != e->n_sub))
		return iso_fail(ISO_EARG,
		                "em: %d sensitivity images of %d subsets for an operator with "
		                "%d",
		                p->sens.n_images, p->sens.n_sub, e->n_sub);
	if (p->filter && (st = iso_filter_check(p->filter))) return st;
	if (p->filter && p->filter_every < 1)
		return iso_fail(ISO_EARG, "em: filter after every %d iterations, must be at least 1",
		                p->filter_every);
	if (p->filter && iso_grid_voxels(&p->grid) != e->n)
		return iso_fail(ISO_EARG, "em: the filter's grid has %" PRId64 " voxels, the image %" PRId64,
		                iso_grid_voxels(&p->grid), e->n);
	if ((st = check_values("start image", e->n, x))) return st;
	if ((st = check_values("sensitivity", e->n * p->sens.n_images, p->sens.image))) return st;
	if ((st = check_values("counts", e->n_data, p->data.y))) return st;
	if ((st = check_values("additive term", e->n_data, p->data.add))) return st;
	return check_values("multiplicative factor", e->n_data, p->data.mult);
}

/* Voxels that no subset sees are 0. */
static void mask(const struct em *e, iso_real *x)
{
	const struct iso_sens *s = &e->p->sens;

	for (int64_t i = 0; i < e->n; i++) {
		bool seen = false;

		for (int k = 0; k < s->n_images; k++) seen |= s->image[k * e->n + i] > 0;
		if (!seen) x[i] = 0;
	}
}

/* A data vector in the operator's order, on the device. `over`, if given, divides it. */
static int upload_data(struct em *e, const iso_real **dst, const iso_real *src, const iso_real *over)
{
	if (!src) return ISO_OK;
	iso_real *sorted = size_alloc(e->n_data, sizeof *sorted), *device = NULL;
	iso_real *ratio = over ? size_alloc(e->n_data, sizeof *ratio) : NULL;
	int st = ISO_OK;

	if (!sorted || (over && !ratio)) {
		st = iso_fail_memory("em data", e->n_data * (int64_t)sizeof *sorted);
		goto done;
	}
	for (int64_t j = 0; over && j < e->n_data; j++) {
		ratio[j] = over[j] > 0 ? src[j] / over[j] : 0;
		if (!isfinite(ratio[j])) {
			st = iso_fail(ISO_EINPUT,
			              "em: additive term %g over factor %g, of event %" PRId64
			              ", is too large to hold",
			              (double)src[j], (double)over[j], j);
			goto done;
		}
	}
	iso_op_sort(e->p->op, sorted, over ? ratio : src);
	if ((st = iso_vec_alloc(e->ctx, &device, e->n_data))) goto done;
	*dst = device;
	st = e->v->upload(e->ctx, device, sorted, e->n_data * (int64_t)sizeof *sorted);
done:
	free(sorted);
	free(ratio);
	return st;
}

static int allocate_seen(struct em *e)
{
	int st = iso_vec_alloc(e->ctx, &e->seen, e->n);

	for (int64_t i = 0; i < e->n; i++) e->host[i] = 1;
	mask(e, e->host);
	return st ? st : e->v->upload(e->ctx, e->seen, e->host, e->n * (int64_t)sizeof *e->host);
}

static int allocate(struct em *e)
{
	const struct iso_em *p = e->p;
	int st;

	e->host = size_alloc(e->n, sizeof *e->host);
	e->loglik = size_alloc(e->updates, sizeof *e->loglik);
	if (!e->host || !e->loglik) return iso_fail_memory("em", e->n * (int64_t)sizeof *e->host);
	if ((st = iso_vec_alloc(e->ctx, &e->x, e->n))) return st;
	if ((st = iso_vec_alloc(e->ctx, &e->acc, e->n))) return st;
	if ((st = iso_vec_alloc(e->ctx, &e->sens, e->n * p->sens.n_images))) return st;
	if (p->filter && (st = allocate_seen(e))) return st;
	if ((st = upload_data(e, &e->data.y, p->data.y, NULL))) return st;
	if ((st = upload_data(e, &e->data.mult, p->data.mult, NULL))) return st;
	if ((st = upload_data(e, &e->data.add, p->data.add, p->data.mult))) return st;
	return e->v->upload(e->ctx, e->sens, p->sens.image,
	                    e->n * p->sens.n_images * (int64_t)sizeof *e->sens);
}

static void release(struct em *e)
{
	e->v->free(e->ctx, e->x);
	e->v->free(e->ctx, e->acc);
	e->v->free(e->ctx, e->sens);
	e->v->free(e->ctx, e->seen);
	e->v->free(e->ctx, (void *)e->data.y);
	e->v->free(e->ctx, (void *)e->data.mult);
	e->v->free(e->ctx, (void *)e->data.add);
	free(e->host);
	free(e->loglik);
}

enum { N_ITEMS = 4, N_COUNTERS = 4 };

/* The state between two updates, or between an update and its filter. */
static void items(struct em *e, int64_t counter[N_COUNTERS], struct iso_item item[N_ITEMS])
{
	item[0] = (struct iso_item){ "image", ISO_ITEM_REAL, e->n, e->host };
	item[1] = (struct iso_item){ "loglik", ISO_ITEM_DOUBLE, e->updates, e->loglik };
	item[2] = (struct iso_item){ "updates, used, skipped, filter due", ISO_ITEM_INT64, N_COUNTERS,
		                     counter };
	item[3] = (struct iso_item){ "counts lost", ISO_ITEM_DOUBLE, 1, &e->lost };
}

static int save(void *state)
{
	struct em *e = state;
	int64_t counter[N_COUNTERS] = { e->done, e->used, e->skipped, e->due };
	struct iso_item item[N_ITEMS];
	int st = e->v->download(e->ctx, e->host, e->x, e->n * (int64_t)sizeof *e->x);

	if (st) return st;
	items(e, counter, item);
	return iso_checkpoint_write(e->p->checkpoint, e->p->key, N_ITEMS, item);
}

static int restore(struct em *e)
{
	int64_t counter[N_COUNTERS];
	struct iso_item item[N_ITEMS];
	int st;

	items(e, counter, item);
	if ((st = iso_checkpoint_read(e->p->checkpoint, e->p->key, N_ITEMS, item))) return st;
	if (counter[0] < 0 || counter[0] > e->updates || counter[1] < 0 || counter[2] < 0 ||
	    counter[1] > e->n_data || counter[2] > e->n_data)
		return iso_fail(ISO_EINPUT,
		                "%s: checkpoint after update %" PRId64 " of %d, with %" PRId64 " and %" PRId64
		                " of %" PRId64 " events",
		                e->p->checkpoint, counter[0], e->updates, counter[1], counter[2], e->n_data);
	e->done = counter[0];
	e->used = counter[1];
	e->skipped = counter[2];
	e->due = counter[3] != 0 && e->done > 0 && e->p->filter;
	return ISO_OK;
}

static int start(struct em *e, const iso_real *x)
{
	int st;

	if (e->p->resume && access(e->p->checkpoint, F_OK) == 0) {
		if ((st = restore(e))) return st;
	} else {
		memcpy(e->host, x, (size_t)e->n * sizeof *x);
		mask(e, e->host);
	}
	return e->v->upload(e->ctx, e->x, e->host, e->n * (int64_t)sizeof *e->host);
}

static int update(struct em *e)
{
	int sub = (int)(e->done % e->n_sub);
	struct iso_sens on_device = e->p->sens;
	struct iso_em_stat s = { 0 };
	double scale, expected;
	int st;

	on_device.image = e->sens;
	const iso_real *sens = iso_sens_get(&on_device, e->n, sub, &scale);

	if ((st = iso_em_step(e->p->op, sub, e->acc, e->x, &e->data, &s))) return st;
	if ((st = e->v->dot(e->ctx, e->n, &expected, sens, e->x))) return st;
	double sums[4] = { s.loglik, (double)s.used, (double)s.skipped, s.lost };

	if ((st = e->ctx->comm->sum_doubles(e->ctx->comm, 4, sums))) return st;
	/* a subset without a single event used leaves the image as it is */
	if (sums[1] > 0 && (st = e->v->update(e->ctx, e->n, e->x, e->acc, sens, scale))) return st;
	e->loglik[e->done] = sums[0] - scale * expected;
	if (!isfinite(e->loglik[e->done]))
		return iso_fail(ISO_EINPUT,
		                "em: the log-likelihood of update %" PRId64 " is %g: the start "
		                "image, the sensitivity or the factors hold values too small or too large",
		                e->done + 1, e->loglik[e->done]);
	e->used = (sub ? e->used : 0) + (int64_t)sums[1];
	e->skipped = (sub ? e->skipped : 0) + (int64_t)sums[2];
	e->lost = (sub ? e->lost : 0) + sums[3];
	e->done++;
	e->due = e->p->filter && e->done % ((int64_t)e->n_sub * e->p->filter_every) == 0;
	return ISO_OK;
}

/* Voxels that no subset sees are 0 again afterwards. x is as it was if this fails. */
static int smooth(struct em *e)
{
	int st = iso_filter_apply(e->acc, e->ctx, e->p->filter, &e->p->grid, e->x);

	if (!st) st = e->v->mul(e->ctx, e->n, e->x, e->acc, e->seen);
	e->due = st != ISO_OK;
	return st;
}

/* One update, and the filter that is due behind it or was left over by an interruption. */
static int step(void *state)
{
	struct em *e = state;
	int st = e->due ? ISO_OK : update(e);

	return !st && e->due ? smooth(e) : st;
}

static bool finished(const void *state)
{
	const struct em *e = state;

	return e->done == e->updates && !e->due;
}

/* End of an iteration: the caller may look at the image. */
static int show(void *state)
{
	struct em *e = state;
	const struct iso_em *p = e->p;
	int iteration = (int)(e->done / e->n_sub), st;

	if (e->done % e->n_sub || !p->each || (p->wants && !p->wants(p->arg, iteration))) return ISO_OK;
	if ((st = e->v->download(e->ctx, e->host, e->x, e->n * (int64_t)sizeof *e->x))) return st;
	return p->each(p->arg, iteration, e->host);
}

static const char *note(char *text, size_t size, const void *state)
{
	const struct em *e = state;

	iso_snprintf(text, size, "logL %.9g", e->loglik[e->done - 1]);
	return e->done % e->n_sub ? NULL : text;
}

static int run(struct em *e, iso_real *x, struct iso_em_result *r)
{
	const struct iso_em *p = e->p;
	struct iso_loop loop = {
		.state = e,
		.ctx = e->ctx,
		.name = e->n_sub > 1 ? "osem" : "mlem",
		.unit = "updates",
		.done = &e->done,
		.total = e->updates,
		.checkpoint = p->checkpoint,
		.checkpoint_minutes = p->checkpoint_minutes,
		.stop_after_minutes = p->stop_after_minutes,
		.start_s = e->start_s,
		.step = step,
		.finished = finished,
		.show = show,
		.save = save,
		.note = note,
	};
	int st;

	if ((st = check(e, x))) return st;
	if ((st = allocate(e))) return st;
	if ((st = start(e, x))) return st;
	r->resumed_from = (int)e->done;
	if ((st = iso_loop_run(&loop))) return st;
	if ((st = e->v->download(e->ctx, x, e->x, e->n * (int64_t)sizeof *x))) return st;
	r->used = e->used;
	r->skipped = e->skipped;
	r->lost = e->lost;
	r->n = e->updates;
	r->unsaved = loop.unsaved;
	r->loglik = e->loglik;
	e->loglik = NULL;
	return ISO_OK;
}

int iso_em_run(iso_real *x, struct iso_em_result *r, const struct iso_em *p)
{
	struct em e = { .p = p,
		        .ctx = iso_op_ctx(p->op),
		        .n = iso_op_n_in(p->op),
		        .n_data = iso_op_n_out(p->op),
		        .n_sub = iso_op_n_sub(p->op) };
	int64_t updates;

	if (!size_mul(&updates, p->iterations > 0 ? p->iterations : 0, e.n_sub) || updates > MOST_UPDATES)
		return iso_fail(ISO_EARG, "em: %d iterations of %d subsets are more than %d updates",
		                p->iterations, e.n_sub, MOST_UPDATES);
	e.updates = (int)updates;
	e.v = e.ctx->vec;
	e.start_s = iso_now_s();
	*r = (struct iso_em_result){ 0 };
	int st = run(&e, x, r);

	release(&e);
	return st;
}

void iso_em_result_free(struct iso_em_result *r)
{
	free(r->loglik);
	*r = (struct iso_em_result){ 0 };
}

void iso_em_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, int n_images,
                 int n_vectors)
{
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "image, its update, a copy on the host", n,
	             (cuda ? 2 : 3) * (int64_t)sizeof(iso_real), cuda);
	iso_plan_add(plan, "sensitivity", n, n_images * (int64_t)sizeof(iso_real), cuda);
	iso_plan_add(plan, "data vectors", n_data, n_vectors * (int64_t)sizeof(iso_real), cuda);
}
