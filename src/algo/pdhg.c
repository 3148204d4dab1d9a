/* SPDX-License-Identifier: BSD-3-Clause */
/* Primal-dual hybrid gradients (PDHG: Chambolle and Pock 2011), and with random subsets of the data (SPDHG: Chambolle,
   Ehrhardt, Richtarik and Schoenlieb 2018), of which PDHG is the case of one. A step:

	x   <- [x - tau (S + z')]+
	w   <- (w + reach D x), cut to |w_n| <= tv
	p_b <- prox of sigma f*, at p_b + sigma A_b x, for a random subset b of B
	z   <- A* p + D* w, z' = z + B (its change by p) + (its change by w)

   One A_b and one A_b* a step. Looks tell the duality gap. */
#include "pdhg.h"

#include "core/philox.h"
#include "core/sized.h"

#include <stdlib.h>

/* ---- loops over voxels and rows ---- */

int iso_pdhg_loop(iso_ctx *ctx, enum pdhg_do what, const struct pdhg *c, struct iso_rows range)
{
	void *cuda = NULL;
	int st;

	if (iso_ctx_is_cuda(ctx)) {
		st = iso_cuda_symbol(&cuda, "iso_pdhg_loop_cuda");
		return st ? st : ((typeof(&iso_pdhg_loop))cuda)(ctx, what, c, range);
	}
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = range.first; i < range.first + range.n; i++) pdhg_at(what, c, i);
	return ISO_OK;
}

int iso_pdhg_most(iso_ctx *ctx, double *most, const struct pdhg *c)
{
	void *cuda = NULL;
	double largest = 0;
	int st;

	if (iso_ctx_is_cuda(ctx)) {
		st = iso_cuda_symbol(&cuda, "iso_pdhg_most_cuda");
		return st ? st : ((typeof(&iso_pdhg_most))cuda)(ctx, most, c);
	}
#pragma omp parallel for num_threads(ctx->threads) reduction(max : largest)
	for (int64_t v = 0; v < prox_voxels(&c->box); v++) largest = fmax(largest, (double)pdhg_lack(c, v));
	*most = largest;
	return ISO_OK;
}

static int voxels(iso_pdhg_state *s, enum pdhg_do what)
{
	return iso_pdhg_loop(s->l.ctx, what, &s->c, (struct iso_rows){ 0, s->l.n });
}

static int rows(iso_pdhg_state *s, enum pdhg_do what, int sub)
{
	return iso_pdhg_loop(s->l.ctx, what, &s->c, iso_op_rows(s->l.op, sub));
}

/* ---- steps ---- */

/* The subset of a step: uniform, the same on every device. */
static int subset(const iso_pdhg_state *s)
{
	if (s->c.whole) return ISO_ALL;
	uint32_t word = philox_draw(s->p.seed, (uint64_t)s->l.done, 0).w[0];

	return (int)((uint64_t)word * (uint64_t)s->l.per >> 32);
}

/* Interrupted, it goes on behind x and w: until the adjoint is there p, za, zw and ahead are as they were. */
static int update(iso_pdhg_state *s)
{
	struct iso_loop *l = &s->l;
	struct pdhg *c = &s->c;
	int sub = subset(s), st;
	struct iso_rows r = iso_op_rows(l->op, sub);

	if (!s->moved) {
		if ((st = voxels(s, PDHG_IMAGE))) return st;
		if (c->w && (st = voxels(s, PDHG_FIELD))) return st;
		s->moved = true;
	}
	if ((st = iso_forward(c->q, l->op, sub, l->x))) return st;
	if ((st = rows(s, PDHG_ROWS, sub))) return st;
	if ((st = iso_adjoint(c->back, l->op, sub, c->d))) return st;
	if ((st = l->v->copy(l->ctx, r.n, c->p + r.first, (c->whole ? c->d : c->q) + r.first))) return st;
	if ((st = voxels(s, PDHG_COLLECT))) return st;
	s->moved = false;
	l->done++;
	return ISO_OK;
}

/* ---- looks ---- */

/* q = A x and za = A* p, which single steps have changed by pieces. */
static int refresh(iso_pdhg_state *s)
{
	struct iso_loop *l = &s->l;
	int st;

	if (s->c.whole) return ISO_OK; /* both are left by the step */
	if ((st = iso_forward(s->c.q, l->op, ISO_ALL, l->x))) return st;
	if ((st = iso_adjoint(s->c.back, l->op, ISO_ALL, s->c.p))) return st;
	s->extra++;
	return l->v->copy(l->ctx, l->n, s->c.za, s->c.back);
}

/* The data's parts: gap of q and p, cost. */
static int look_at_rows(iso_pdhg_state *s, double *gap, double *cost)
{
	struct iso_loop *l = &s->l;
	struct pdhg *c = &s->c;
	double seen;
	int st;

	if ((st = rows(s, PDHG_ROW_GAP, ISO_ALL))) return st;
	if (c->squares) {
		st = l->v->dot(l->ctx, l->n_data, gap, c->d, c->d);
		return st ? st : l->v->dot(l->ctx, l->n_data, cost, c->q, c->q);
	}
	if ((st = l->v->asum(l->ctx, l->n_data, gap, c->d))) return st;
	if ((st = rows(s, PDHG_COUNTS, ISO_ALL))) return st;
	if ((st = l->v->dot(l->ctx, l->n_data, cost, c->q, c->d))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &seen, c->sens, l->x))) return st;
	*cost = seen - *cost;
	return ISO_OK;
}

/* Without an additive term an image on the way may leave a row that has counts without activity: its cost and gap are
   infinite then, and x goes on to where they are not. Only an image that is not finite is an error. */
static int check_look(const iso_pdhg_state *s, const struct iso_pdhg_look *k, double size)
{
	bool dark = !s->c.squares && k->cost == INFINITY && k->gap == INFINITY;

	if (isfinite(size) && isfinite(k->penalty) && (dark || (isfinite(k->cost) && isfinite(k->gap))))
		return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "pdhg: after iteration %g the cost is %g, the gap %g, the sum of the image %g: data, "
	                "start image or tv are too large",
	                k->iterations, k->cost, k->gap, size);
}

/* p and w times `scale` are feasible, A* p + D* w >= -S; of least squares x is taken to stay within `limit`. */
static int look(iso_pdhg_state *s)
{
	struct iso_loop *l = &s->l;
	struct pdhg *c = &s->c;
	struct iso_pdhg_look k = { .size = sizeof k, .iterations = (double)l->done / l->per };
	double most, gap, slope, size;
	int st;

	if ((st = refresh(s))) return st;
	if ((st = iso_pdhg_most(l->ctx, &most, c))) return st;
	c->scale = c->squares || most < 1 ? 1 : 1 / most;
	c->limit = 2 * most;
	if ((st = look_at_rows(s, &gap, &k.cost))) return st;
	if ((st = voxels(s, PDHG_VOXEL_GAP))) return st;
	if ((st = l->v->asum(l->ctx, l->n, &k.gap, c->back))) return st;
	if ((st = l->v->asum(l->ctx, l->n, &slope, c->slope))) return st;
	k.gap += gap;
	k.penalty = c->tv * slope;
	k.cost += k.penalty;
	k.relative = s->counts > 0 ? k.gap / s->counts : k.gap;
	k.passes = s->extra + k.iterations;
	if ((st = l->v->asum(l->ctx, l->n, &size, l->x)) || (st = check_look(s, &k, size))) return st;
	s->look[s->n_looks++] = k;
	return ISO_OK;
}

static bool look_due(const iso_pdhg_state *s)
{
	int64_t iteration = s->l.done / s->l.per;

	if (s->l.done % s->l.per) return false;
	return iteration == 1 || iteration % s->p.look_every == 0 || s->l.done == s->l.total;
}

static int step(struct iso_loop *l)
{
	iso_pdhg_state *s = (iso_pdhg_state *)l;
	int st = s->due ? ISO_OK : update(s);

	if (st) return st;
	s->due = s->due || look_due(s);
	if (s->due && (st = look(s))) return st;
	s->due = false;
	if (l->done % l->per == 0) l->curve[0][l->done - 1] = s->look[s->n_looks - 1].cost;
	return ISO_OK;
}

static bool converged(const iso_pdhg_state *s)
{
	return s->n_looks > 0 && s->look[s->n_looks - 1].relative <= s->p.tolerance && s->p.tolerance > 0;
}

static bool finished(const struct iso_loop *l)
{
	const iso_pdhg_state *s = (const iso_pdhg_state *)l;

	return !s->due && (l->done == l->total || (converged(s) && l->done % l->per == 0));
}

/* ---- checkpoints: the whole state, also in the middle of a step ---- */

enum { LOOK_DOUBLES = sizeof(struct iso_pdhg_look) / sizeof(double) };

static int items(struct iso_loop *l, struct iso_item item[LOOP_ITEMS])
{
	iso_pdhg_state *s = (iso_pdhg_state *)l;
	struct pdhg *c = &s->c;
	int n = 0;

	memcpy(s->counter, (int64_t[]){ l->done, s->n_looks, s->moved, s->due }, sizeof s->counter);
	memcpy(s->scalar, (double[]){ s->counts, s->lost, s->extra }, sizeof s->scalar);
	item[n++] = (struct iso_item){ "image", ISO_ITEM_REAL, l->n, c->x };
	item[n++] = (struct iso_item){ "its steps", ISO_ITEM_REAL, l->n, c->tau };
	item[n++] = (struct iso_item){ "dual image of data", ISO_ITEM_REAL, l->n, c->za };
	item[n++] = (struct iso_item){ "dual image of variation", ISO_ITEM_REAL, l->n, c->zw };
	item[n++] = (struct iso_item){ "dual image ahead", ISO_ITEM_REAL, l->n, c->ahead };
	item[n++] = (struct iso_item){ "dual", ISO_ITEM_REAL, l->n_data, c->p };
	if (c->sigma)
		item[n++] = (struct iso_item){ "its steps in data", ISO_ITEM_REAL, l->n_data, c->sigma };
	if (c->w) item[n++] = (struct iso_item){ "fields", ISO_ITEM_REAL, 3 * l->n, c->w };
	if (c->w) item[n++] = (struct iso_item){ "their steps", ISO_ITEM_REAL, l->n, c->reach };
	item[n++] =
		(struct iso_item){ "looks", ISO_ITEM_DOUBLE, LOOK_DOUBLES * (s->p.iterations + 1), s->look };
	item[n++] = (struct iso_item){ "counts, lost, passes", ISO_ITEM_DOUBLE, 3, s->scalar };
	item[n++] = (struct iso_item){ "steps, looks, moved, due", ISO_ITEM_INT64, 4, s->counter };
	return n;
}

static int restored(struct iso_loop *l, const char *path)
{
	iso_pdhg_state *s = (iso_pdhg_state *)l;
	const int64_t *c = s->counter;

	if (c[0] < 0 || c[0] > l->total || c[1] < 0 || c[1] > s->p.iterations ||
	    (c[0] >= l->per && !c[3] && !c[1]))
		return iso_fail(ISO_EINPUT,
		                "%s: checkpoint after step %" PRId64 " of %" PRId64 ", with %" PRId64
		                " looks",
		                path, c[0], l->total, c[1]);
	l->done = c[0];
	s->n_looks = c[1];
	s->moved = c[2] != 0;
	s->due = c[3] != 0;
	s->counts = s->scalar[0];
	s->lost = s->scalar[1];
	s->extra = s->scalar[2];
	return ISO_OK;
}

const struct iso_loop_fn iso_pdhg_fn = {
	.name = "pdhg",
	.unit = "steps",
	.figure = "cost",
	.curves = 1,
	.begin = iso_pdhg_begin,
	.step = step,
	.finished = finished,
	.items = items,
	.restored = restored,
};

/* ---- the interface ---- */

int iso_pdhg_create(iso_pdhg_state **out, const struct iso_pdhg *p, const iso_real *x)
{
	iso_pdhg_state *s = NULL;
	int st = out ? iso_pdhg_make(&s, p, x) : iso_fail_null(__func__);

	if (st || (st = iso_pdhg_begin(&s->l)))
		iso_pdhg_free(s);
	else
		*out = s;
	return st;
}

int iso_pdhg_step(iso_pdhg_state *s)
{
	return s ? iso_loop_step(&s->l) : iso_fail_null(__func__);
}

bool iso_pdhg_finished(const iso_pdhg_state *s)
{
	return !s || iso_loop_finished(&s->l);
}

int iso_pdhg_image(iso_real *x, const iso_pdhg_state *s)
{
	return x && s ? iso_loop_image(x, &s->l) : iso_fail_null(__func__);
}

const struct iso_pdhg_look *iso_pdhg_looks(int *n, const iso_pdhg_state *s)
{
	if (!n || !s) return NULL;
	*n = (int)s->n_looks;
	return s->look;
}

void iso_pdhg_free(iso_pdhg_state *s)
{
	if (s) free(s->look);
	iso_loop_free((struct iso_loop *)s);
}

int iso_pdhg_run(iso_real *x, struct iso_pdhg_result *r, const struct iso_pdhg *p, const struct iso_run *run)
{
	iso_pdhg_state *s = NULL;
	struct iso_pdhg_result own = { 0 };
	int st = iso_sized_clear(r, "iso_pdhg_result", sizeof *r);

	if (!st) st = iso_pdhg_make(&s, p, x);
	if (!st) st = iso_loop_run(&s->l, x, run);
	if (!st && r)
		own = (struct iso_pdhg_result){
			.n = (int)(s->l.done / s->l.per),
			.n_looks = (int)s->n_looks,
			.look = s->look,
			.counts = s->counts,
			.lost = s->lost,
			.unseen = s->unseen,
			.converged = converged(s),
			.stopped = s->l.stopped,
			.resumed_from = s->l.resumed_from,
			.unsaved = s->l.unsaved,
		};
	if (own.look) s->look = NULL; /* they are the caller's now */
	if (r) iso_sized_give(r, sizeof own, &own);
	iso_pdhg_free(s);
	return st;
}

void iso_pdhg_result_free(struct iso_pdhg_result *r)
{
	if (!r) return;
	free(r->look);
	r->look = NULL;
}
