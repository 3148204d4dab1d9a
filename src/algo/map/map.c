/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalised likelihood: the interface, the checks, the loop and its checkpoints. */
#include "state.h"

#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"
#include "core/sized.h"

#include <math.h>
#include <string.h>

#define MOST_UPDATES 10000000
#define STEP 1. /* alpha */

extern const struct map_method map_svrg, map_saga, map_bsrem, map_lbfgs, map_depierro;

static const struct map_method *const methods[] = {
	[ISO_MAP_SVRG] = &map_svrg,   [ISO_MAP_SAGA] = &map_saga,         [ISO_MAP_BSREM] = &map_bsrem,
	[ISO_MAP_LBFGS] = &map_lbfgs, [ISO_MAP_DEPIERRO] = &map_depierro,
};

enum { METHODS = sizeof methods / sizeof *methods };

const struct map_method *map_method(enum iso_map_method method)
{
	return (unsigned)method < METHODS ? methods[method] : NULL;
}

/* ---- checkpoints ---- */

_Static_assert(sizeof(struct map_numbers) % sizeof(double) == 0, "it has nothing but doubles");
_Static_assert(sizeof(struct map_counters) % sizeof(int64_t) == 0, "it has nothing but 64-bit integers");

enum { LOOK_NUMBERS = sizeof(struct iso_map_look) / sizeof(double) };
enum { VISIT_NUMBERS = sizeof(struct map_visit) / sizeof(double) };

_Static_assert(sizeof(int64_t) == sizeof(double),
               "looks are saved as doubles, with one integer in their bits");

static int items(struct iso_loop *l, struct iso_item item[LOOP_ITEMS])
{
	iso_map_state *m = (iso_map_state *)l;
	int n = 0;

	m->tally.done = l->done;
	item[n++] = (struct iso_item){ "image", ISO_ITEM_REAL, l->n, l->x };
	if (m->kappa) item[n++] = (struct iso_item){ "kappa", ISO_ITEM_REAL, l->n, m->kappa };
	item[n++] = (struct iso_item){ "numbers", ISO_ITEM_DOUBLE, sizeof m->num / sizeof(double), &m->num };
	item[n++] = (struct iso_item){ "subsets", ISO_ITEM_DOUBLE, VISIT_NUMBERS * m->subsets, m->visit };
	item[n++] = (struct iso_item){ "looks", ISO_ITEM_INT64, LOOK_NUMBERS * m->most_looks, m->look };
	item[n++] =
		(struct iso_item){ "counters", ISO_ITEM_INT64, sizeof m->tally / sizeof(int64_t), &m->tally };
	return m->method->items(m, item, n);
}

static bool sound(const iso_map_state *m)
{
	const struct map_counters *c = &m->tally;

	return c->done >= 0 && c->done <= m->l.total && c->used >= 0 && c->looks >= 0 &&
	       c->looks <= m->most_looks && c->pairs >= 0 && c->pairs <= MAP_PAIRS && c->next_pair >= 0 &&
	       c->next_pair <= MAP_PAIRS && isfinite(m->num.beta) && m->num.step > 0 && m->num.off > 0;
}

static void give_up_start(iso_map_state *m)
{
	iso_room_drop(&m->l.room, m->seen_by);
	m->seen_by = NULL;
	iso_room_free(&m->l.taken);
}

static int restored(struct iso_loop *l, const char *path)
{
	iso_map_state *m = (iso_map_state *)l;
	int st;

	if (!sound(m))
		return iso_fail(ISO_EINPUT,
		                "%s: checkpoint after update %" PRId64 " of %" PRId64
		                ", step %g, beta %g, %" PRId64 " looks",
		                path, m->tally.done, l->total, m->num.step, m->num.beta, m->tally.looks);
	l->done = m->tally.done;
	st = map_make_prior(m);
	give_up_start(m);
	return st || !m->method->restored ? st : m->method->restored(m);
}

/* ---- the loop ---- */

/* Passes that the next update takes, in parts of 1/subsets. */
static int64_t cost(const iso_map_state *m)
{
	if (!m->method->by_subsets) return m->subsets;
	if (m->method->anchors && map_at_anchor(m)) return m->subsets;
	return m->tally.stale ? m->subsets + 1 : 1;
}

/* No update is left. */
static bool ended(const iso_map_state *m)
{
	return m->l.done >= m->l.total || m->tally.converged || m->l.ended ||
	       m->tally.used + cost(m) > m->budget;
}

/* Whether Phi of the present image is known. */
static bool told(const iso_map_state *m)
{
	const struct iso_map_look *last = m->look + m->tally.looks - 1;

	return m->tally.looks > 0 && last->updates == m->l.done && isfinite(last->objective);
}

static bool finished(const struct iso_loop *l)
{
	const iso_map_state *m = (const iso_map_state *)l;

	return ended(m) && told(m);
}

static int begin(struct iso_loop *l)
{
	iso_map_state *m = (iso_map_state *)l;
	int st = map_begin(m);

	give_up_start(m);
	return st;
}

/* Phi of the last image, by a pass that is not one of the budget. */
static int last_look(struct iso_loop *l)
{
	iso_map_state *m = (iso_map_state *)l;

	return told(m) ? ISO_OK : map_look(m);
}

/* An update, and behind the last one its look; that alone, where the look was interrupted. */
static int step(struct iso_loop *l)
{
	iso_map_state *m = (iso_map_state *)l;
	int st = ended(m) ? ISO_OK : m->method->update(m);

	return st || !ended(m) ? st : last_look(l);
}

static double now(const struct iso_loop *l)
{
	const iso_map_state *m = (const iso_map_state *)l;

	return m->tally.looks > 0 ? m->look[m->tally.looks - 1].objective : NAN;
}

static const struct iso_loop_fn map_fn = {
	.name = "map",
	.unit = "updates",
	.figure = "Phi",
	.now = now,
	.begin = begin,
	.step = step,
	.finished = finished,
	.cut = last_look,
	.items = items,
	.restored = restored,
};

/* ---- checks ---- */

static bool penalised(const struct iso_map *p)
{
	return p->beta > 0 || p->relative > 0;
}

static int check_numbers(const struct iso_map *p)
{
	const struct {
		const char *name;
		double v;
	} all[] = { { "beta", p->beta },
		    { "relative", p->relative },
		    { "tolerance", p->tolerance },
		    { "step", p->step } };

	for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
		if (!(all[i].v >= 0) || !isfinite(all[i].v))
			return iso_fail(ISO_EARG, "map: %s is %g, must be finite and not negative",
			                all[i].name, all[i].v);
	if (!isfinite(p->relax)) return iso_fail(ISO_EARG, "map: relax is %g, must be finite", p->relax);
	if (p->beta > 0 && p->relative > 0)
		return iso_fail(ISO_EARG,
		                "map: beta %g and relative strength %g are given, must be one of them",
		                p->beta, p->relative);
	if (!p->prior && (p->beta > 0 || p->relative > 0))
		return iso_fail(ISO_EARG, "map: there is a strength and no prior");
	return ISO_OK;
}

static int check(const struct iso_map *p, const iso_real *x)
{
	const char *lacks = !p->op ? "operator" : !x ? "start image" : p->sens.image ? NULL : "sensitivity";

	if (lacks) return iso_fail(ISO_EARG, "map: there is no %s", lacks);
	int n_sub = iso_op_n_sub(p->op);

	if (!map_method(p->method))
		return iso_fail(ISO_EARG, "map: method is %d, must be 0 to %d", (int)p->method, METHODS - 1);
	if ((unsigned)p->guard > ISO_MAP_NO_GUARDS)
		return iso_fail(ISO_EARG, "map: guard is %d, must be 0 or 1", (int)p->guard);
	if (p->passes < 1) return iso_fail(ISO_EARG, "map: %d passes, must be at least 1", p->passes);
	if (p->sens.n_sub != n_sub || (p->sens.n_images != 1 && p->sens.n_images != n_sub))
		return iso_fail(ISO_EARG, "map: %d sensitivity images of %d subsets for an operator with %d",
		                p->sens.n_images, p->sens.n_sub, n_sub);
	return check_numbers(p);
}

/* Updates that so many passes leave room for, if no guard acts. */
static int64_t updates_of(const struct map_method *a, int64_t subsets, int64_t units)
{
	int64_t pair = 3 * subsets - 1, rest = units % pair; /* two epochs of svrg */

	if (!a->by_subsets) return units / subsets;
	if (!a->anchors) return units;
	return units / pair * 2 * subsets + (rest >= subsets ? rest - subsets + 1 : 0);
}

static int count_updates(const struct iso_map *p, int64_t *updates)
{
	const struct map_method *a = methods[p->method];
	int64_t subsets = iso_op_n_sub(p->op), passes = p->passes - !p->as_given - a->start - p->kappa_auto;

	*updates = 0;
	if (passes > 0 &&
	    (passes > MOST_UPDATES || (*updates = updates_of(a, subsets, passes * subsets)) > MOST_UPDATES))
		return iso_fail(ISO_EARG, "map: %d passes of %" PRId64 " subsets are more than %d updates",
		                p->passes, subsets, MOST_UPDATES);
	if (*updates < 1)
		return iso_fail(ISO_EARG,
		                "map: %d passes, of which the start of %s takes %" PRId64
		                ", must leave one for an update",
		                p->passes, a->name, p->passes - passes);
	return ISO_OK;
}

/* ---- the state ---- */

/* x, and the sensitivity of all subsets together; x is 0 in voxels that no subset sees. */
static int load_images(iso_map_state *m, const iso_real *x)
{
	struct iso_loop *l = &m->l;
	struct iso_sens *s = &m->p.sens;
	iso_real *sum;
	int st;

	if ((st = iso_loop_take(l, "start image", l->n, &x, true))) return st;
	if ((st = iso_loop_take(l, "sensitivity", l->n * s->n_images, &s->image, true))) return st;
	if (!ISO_HOST(&l->taken, sum, l->n)) return l->taken.status;
	for (int64_t i = 0; i < l->n; i++) {
		double all = 0;

		for (int k = 0; k < s->n_images; k++) all += s->image[k * l->n + i];
		sum[i] = (iso_real)all;
		l->host[i] = all > 0 ? x[i] : 0;
		m->unseen += !(all > 0);
	}
	if (m->unseen == l->n) return iso_fail(ISO_EINPUT, "map: the sensitivity is 0 in every voxel");
	ISO_UPLOAD(&l->room, m->sens, sum, l->n);
	ISO_UPLOAD(&l->room, l->x, l->host, l->n);
	if (s->n_images > 1 && !m->p.as_given) ISO_UPLOAD(&l->room, m->seen_by, s->image, l->n * s->n_images);
	s->image = NULL;
	return l->room.status;
}

static int load_prior(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	int st;

	if (!m->p.prior) return ISO_OK;
	if ((st = iso_sized_take(&m->spec, "iso_prior_spec", sizeof m->spec, m->p.prior))) return st;
	m->p.prior = &m->spec;
	if (iso_grid_voxels(&m->spec.grid) != l->n)
		return iso_fail(ISO_EARG, "map: the prior's grid has %" PRId64 " voxels, the image %" PRId64,
		                iso_grid_voxels(&m->spec.grid), l->n);
	if (m->p.kappa_auto && m->spec.kappa)
		return iso_fail(ISO_EARG,
		                "map: kappa is given, and to be made of the data: must be one of them");
	if ((st = iso_loop_take(l, "kappa", l->n, &m->spec.kappa, true))) return st;
	if ((st = iso_loop_take(l, "anatomy", l->n, &m->spec.anatomy, false))) return st;
	if (m->p.kappa_auto) ISO_DEVICE(&l->room, m->kappa, l->n);
	if (!penalised(&m->p)) m->p.prior = NULL;
	return l->room.status;
}

static int take_arrays(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	struct iso_room *r = &l->room;

	ISO_DEVICE(r, m->next, l->n);
	ISO_DEVICE(r, m->z, l->n);
	ISO_DEVICE(r, m->anchor, l->n);
	ISO_DEVICE(r, m->u, l->n);
	if (m->method->rates) {
		ISO_DEVICE(r, m->gradient, l->n);
		ISO_DEVICE(r, m->precond, l->n);
		ISO_DEVICE(r, m->balance, l->n);
		ISO_DEVICE(r, m->rho, l->n_data);
	}
	ISO_HOST(r, m->visit, m->subsets);
	ISO_HOST(r, m->look, m->most_looks);
	return r->status || !m->method->take ? r->status : m->method->take(m);
}

static int load(iso_map_state *m, const iso_real *x)
{
	int st;

	if ((st = iso_map_vec(&m->v, m->l.ctx))) return st;
	if ((st = load_images(m, x))) return st;
	if ((st = iso_loop_em_data(&m->l, &m->p.data, &m->counts))) return st;
	if ((st = load_prior(m))) return st;
	return take_arrays(m);
}

static int make(iso_map_state **out, const struct iso_map *given, const iso_real *x)
{
	struct iso_map p;
	int64_t updates = 0;
	iso_map_state *m;
	int st = iso_sized_take(&p, "iso_map", sizeof p, given);

	if (st) return st;
	p.kappa_auto = p.kappa_auto && p.prior && penalised(&p);
	if ((st = check(&p, x)) || (st = count_updates(&p, &updates))) return st;
	if (!(m = iso_loop_make(sizeof *m, &map_fn, p.op, p.place, updates)))
		return iso_comm_agree(iso_op_ctx(p.op), ISO_ENOMEM);
	*out = m;
	m->p = p;
	m->method = methods[p.method];
	m->subsets = iso_op_n_sub(p.op);
	m->budget = (int64_t)p.passes * m->subsets;
	m->l.per = m->method->by_subsets ? m->subsets : 1;
	m->l.stage = m->method->name;
	m->most_looks = (int64_t)p.passes + 4; /* no method has more than one a pass */
	m->num = (struct map_numbers){ .step = p.step > 0 ? p.step : STEP, .change = NAN, .kkt = NAN };
	st = load(m, x);
	if (!m->l.op->rows_split) return iso_comm_agree(m->l.ctx, st);
	return iso_comm_sum_real(m->l.ctx, st, &m->counts, 1);
}

/* ---- the interface ---- */

int iso_map_create(iso_map_state **out, const struct iso_map *p, const iso_real *x)
{
	iso_map_state *m = NULL;
	int st = out ? make(&m, p, x) : iso_fail_null(__func__);

	if (!st) st = iso_comm_agree(m->l.ctx, begin(&m->l));
	if (st)
		iso_map_free(m);
	else
		*out = m;
	return st;
}

int iso_map_step(iso_map_state *m)
{
	if (!m) return iso_fail_null(__func__);
	if (finished(&m->l)) return iso_fail(ISO_EARG, "map: all %" PRId64 " updates are done", m->l.done);
	return step(&m->l);
}

bool iso_map_finished(const iso_map_state *m)
{
	return !m || finished(&m->l);
}

double iso_map_passes(const iso_map_state *m)
{
	return m ? (double)m->tally.used / (double)m->subsets : 0;
}

int iso_map_image(iso_real *x, const iso_map_state *m)
{
	return x && m ? iso_loop_image(x, &m->l) : iso_fail_null(__func__);
}

const struct iso_map_look *iso_map_looks(int *n, const iso_map_state *m)
{
	if (!n || !m) return NULL;
	*n = (int)m->tally.looks;
	return m->look;
}

void iso_map_free(iso_map_state *m)
{
	if (!m) return;
	iso_prior_free(m->prior);
	iso_loop_free(&m->l);
}

static struct iso_map_result result_of(const iso_map_state *m)
{
	struct iso_map_result r = {
		.n = (int)m->tally.looks,
		.updates = m->l.done,
		.passes = (double)m->tally.used / m->subsets,
		.beta = m->num.beta,
		.relative = m->num.relative,
		.step = m->num.step,
		.went_back = (int)m->tally.went_back,
		.cut = m->tally.cut,
		.unseen = m->unseen,
		.kkt = m->num.kkt,
		.converged = m->tally.converged != 0,
		.stopped = m->l.stopped,
		.resumed_from = m->l.resumed_from,
		.unsaved = m->l.unsaved,
	};

	memcpy(r.parameter, m->num.parameter, sizeof r.parameter);
	for (int b = 0; b < m->subsets; b++) {
		r.lost += m->visit[b].lost;
		r.used += (int64_t)m->visit[b].used;
		r.skipped += (int64_t)m->visit[b].skipped;
	}
	return r;
}

static int give_looks(struct iso_map_result *r, const iso_map_state *m)
{
	int64_t bytes = r->n * (int64_t)sizeof *r->look;

	if (!(r->look = size_alloc(r->n, sizeof *r->look))) return iso_fail_memory("map", bytes);
	memcpy(r->look, m->look, (size_t)bytes);
	return ISO_OK;
}

int iso_map_run(iso_real *x, struct iso_map_result *r, const struct iso_map *p, const struct iso_run *run)
{
	iso_map_state *m = NULL;
	struct iso_map_result own = { 0 };
	int st = iso_sized_clear(r, "iso_map_result", sizeof *r);

	if (!st) st = make(&m, p, x);
	if (!st && run && run->checkpoint && m->method == &map_saga && m->l.op->rows_split)
		st = iso_fail(ISO_EARG, "saga: %d ranks with rows of their own have no checkpoint; svrg has",
		              iso_ranks(m->l.ctx));
	if (!st) st = iso_loop_run(&m->l, x, run);
	if (!st && r) {
		own = result_of(m);
		st = give_looks(&own, m);
		iso_sized_give(r, sizeof own, &own);
	}
	iso_map_free(m);
	return st;
}

void iso_map_result_free(struct iso_map_result *r)
{
	if (!r) return;
	free(r->look);
	r->look = NULL;
}
