/* SPDX-License-Identifier: BSD-3-Clause */
/* L-BFGS for x >= 0, all data at once: the reference that the others are measured against.

   Directions come of the two loops of Nocedal (1980) with the last 20 pairs, restricted to the voxels that are free to
   move; all others step along their own gradient (the two metrics of Bertsekas 1982), and the step is searched for along
   [x + t d]+. The first metric is p^2 = 1/(k^2 + beta H(x)), k of `kappa auto` (Tsai et al. 2018): that is L-BFGS of
   z = x/p. After 200 evaluations it begins anew, once, with p at the image reached. */
#include "state.h"

#include "core/op.h"

#include <float.h>
#include <math.h>

enum {
	SLOTS = MAP_PAIRS + 1, /* one is always free, for the pair of the step that is tried */
	RESTART = 200,         /* evaluations */
	TRIALS = 30,           /* steps along a direction */
};
#define RISE 1e-4 /* Armijo: share of the rise that the slope promises */
#define WOLFE \
	.8 /* where Phi does not tell any more: -slope at the end over slope at the beginning, at most */
#define FLAT_BITS 64 /* units in the last place of Phi within which it does not tell */

/* What an evaluation finds. */
struct value {
	double phi; /* of `look`, or -infinity */
	struct iso_map_look look;
	struct iso_em_stat em;
};

static int take(iso_map_state *m)
{
	struct iso_loop *l = &m->l;

	ISO_DEVICE(&l->room, m->rho, l->n_data); /* zeros */
	ISO_DEVICE(&l->room, m->b.s, SLOTS * l->n);
	ISO_DEVICE(&l->room, m->b.y, SLOTS * l->n);
	ISO_DEVICE(&l->room, m->b.slope, l->n);
	ISO_DEVICE(&l->room, m->b.next_slope, l->n);
	ISO_DEVICE(&l->room, m->b.scale, l->n);
	ISO_DEVICE(&l->room, m->b.free, l->n);
	ISO_DEVICE(&l->room, m->b.step, l->n);
	return l->room.status;
}

/* ---- evaluations ---- */

/* Phi and its gradient at x. Phi is -infinity where a row that had counts at the start has no activity left. */
static int evaluate(iso_map_state *m, struct value *v, iso_real *slope, const iso_real *x)
{
	struct iso_loop *l = &m->l;
	struct iso_ratio_stat s = { 0 };
	int st;

	if ((st = m->v->shift(l->ctx, l->n, m->u, x, m->num.off))) return st;
	if ((st = iso_op_ratio_step(slope, m->rho, &s, l->op, ISO_ALL, true, x, m->u, &m->p.data))) return st;
	if ((st = l->v->axpy(l->ctx, l->n, slope, -1, m->sens))) return st;
	m->tally.used += m->subsets;
	m->tally.cut += s.cut;
	v->em = s.em;
	if ((st = map_phi(m, &v->look, s.em.loglik, m->prior ? m->z : NULL, x))) return st;
	v->phi = s.em.skipped > m->tally.skipped ? -INFINITY : v->look.objective;
	return m->prior ? l->v->axpy(l->ctx, l->n, slope, -m->num.beta, m->z) : ISO_OK;
}

/* The image is one that has been evaluated. */
static int accept(iso_map_state *m, const struct value *v)
{
	struct iso_loop *l = &m->l;
	int st;

	if (!isfinite(v->phi))
		return iso_fail(ISO_EINPUT,
		                "lbfgs: the objective is %g: start image, sensitivity or factors are too "
		                "small or too large",
		                v->phi);
	map_visited(m, 0, &v->em);
	m->num.phi = v->phi;
	if ((st = m->v->largest(l->ctx, l->n, &m->num.kkt, l->x, m->b.slope, m->sens))) return st;
	m->tally.converged = m->p.tolerance > 0 && m->num.kkt <= m->p.tolerance;
	if (m->tally.looks >= m->most_looks) return ISO_OK;
	m->look[m->tally.looks] = v->look;
	m->look[m->tally.looks].updates = l->done;
	m->look[m->tally.looks++].gradient = m->num.kkt;
	return ISO_OK;
}

/* p^2 at the image, and no pairs. */
static int rescale(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	int st;

	if ((st = map_curvature(m, m->b.scale, l->x))) return st;
	if (m->prior && (st = map_penalty(m, NULL, NULL, NULL, m->z, l->x))) return st;
	if ((st = m->v->shift(l->ctx, l->n, m->u, l->x, m->num.off))) return st;
	m->tally.pairs = m->tally.next_pair = 0;
	m->num.scale = 1;
	return m->v->scale(l->ctx, l->n, m->b.scale, m->b.scale, m->prior ? m->z : NULL, m->u, m->sens,
	                   m->num.beta);
}

static int begin(iso_map_state *m)
{
	struct value v;
	int st;

	m->tally.skipped = INT64_MAX;
	if ((st = rescale(m))) return st;
	if ((st = evaluate(m, &v, m->b.slope, m->l.x))) return st;
	m->tally.skipped = v.em.skipped;
	return accept(m, &v);
}

/* ---- directions ---- */

/* Slot of the pair that came i-th before the one to come. */
static int64_t slot(const iso_map_state *m, int64_t i)
{
	return (m->tally.next_pair - i + SLOTS) % SLOTS;
}

/* d = scale p^2 d */
static int apply_scale(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	iso_real *d = m->b.step;
	int st;

	if ((st = l->v->mul(l->ctx, l->n, m->z, d, m->b.scale))) return st;
	if ((st = l->v->fill(l->ctx, l->n, d, 0))) return st;
	return l->v->axpy(l->ctx, l->n, d, m->num.scale, m->z);
}

/* The first loop, from the last pair back: a and sy of each, with vectors cut to the free voxels; sy 0: left out. */
static int loop_back(iso_map_state *m, double *a, double *sy)
{
	struct iso_loop *l = &m->l;
	double yy, sq;
	bool scaled = false;
	int st;

	for (int64_t i = 1; i <= m->tally.pairs; i++) {
		const iso_real *s = m->b.s + slot(m, i) * l->n;

		if ((st = l->v->mul(l->ctx, l->n, m->z, m->b.free, m->b.y + slot(m, i) * l->n))) return st;
		if ((st = l->v->dot(l->ctx, l->n, &sy[i], s, m->z))) return st;
		if ((st = l->v->dot(l->ctx, l->n, &sq, s, m->b.step))) return st;
		if (!(sy[i] > 0)) continue;
		a[i] = sq / sy[i];
		if ((st = l->v->axpy(l->ctx, l->n, m->b.step, -a[i], m->z))) return st;
		if (scaled) continue;
		/* <s, y> / <y, p^2 y> of the last pair */
		if ((st = l->v->mul(l->ctx, l->n, m->next, m->z, m->b.scale))) return st;
		if ((st = l->v->dot(l->ctx, l->n, &yy, m->next, m->z))) return st;
		scaled = yy > 0;
		if (scaled) m->num.scale = sy[i] / yy;
	}
	return ISO_OK;
}

static int loop_forth(iso_map_state *m, const double *a, const double *sy)
{
	struct iso_loop *l = &m->l;
	double yq;
	int st;

	for (int64_t i = m->tally.pairs; i > 0; i--) {
		if (!(sy[i] > 0)) continue;
		if ((st = l->v->dot(l->ctx, l->n, &yq, m->b.y + slot(m, i) * l->n, m->b.step))) return st;
		if ((st = l->v->mul(l->ctx, l->n, m->z, m->b.free, m->b.s + slot(m, i) * l->n))) return st;
		if ((st = l->v->axpy(l->ctx, l->n, m->b.step, a[i] - yq / sy[i], m->z))) return st;
	}
	return ISO_OK;
}

/* b.step, uphill. */
static int find_direction(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	struct map_lbfgs *b = &m->b;
	double a[SLOTS], sy[SLOTS];
	int st;

	if ((st = m->v->find_free(l->ctx, l->n, b->free, l->x, b->slope, b->scale, m->sens, m->num.scale)))
		return st;
	if ((st = l->v->mul(l->ctx, l->n, b->step, b->slope, b->free))) return st;
	if ((st = loop_back(m, a, sy))) return st;
	if ((st = apply_scale(m))) return st;
	if ((st = loop_forth(m, a, sy))) return st;
	return m->v->join(l->ctx, l->n, b->step, b->free, b->scale, b->slope, m->num.scale);
}

/* ---- steps ---- */

/* Whether the step to `next`, from slope `gs` at its beginning to `end` at its end, both times the step, will do. Phi
   is concave: it has risen where `end` is not negative. */
static bool will_do(const iso_map_state *m, double phi, double gs, double end)
{
	double unit = FLAT_BITS * (sizeof(iso_real) == sizeof(float) ? FLT_EPSILON / 16 : DBL_EPSILON);

	if (!isfinite(phi) || !(gs > 0)) return false;
	if (phi >= m->num.phi + RISE * gs || end >= 0) return true;
	return fabs(phi - m->num.phi) <= unit * fabs(m->num.phi) && -end <= WOLFE * gs;
}

/* t of the next trial: the top of the parabola through Phi here, its slope, and Phi there. */
static double shorten(double t, double gs, double rise)
{
	double by = isfinite(rise) ? gs / (2 * (gs - rise)) : .1;

	return t * (by < .1 ? .1 : by > .5 ? .5 : by);
}

/* Along b.step to m->next, which has been evaluated; *found: it will do. */
static int search(iso_map_state *m, struct value *v, bool *found)
{
	struct iso_loop *l = &m->l;
	iso_real *s = m->b.s + m->tally.next_pair * l->n;
	double t = 1, gs, end;
	int st;

	*found = false;
	for (int i = 0; i < TRIALS && m->tally.used + m->subsets <= m->budget; i++) {
		if ((st = m->v->along(l->ctx, l->n, m->next, l->x, t, m->b.step))) return st;
		if ((st = l->v->copy(l->ctx, l->n, s, m->next))) return st;
		if ((st = l->v->axpy(l->ctx, l->n, s, -1, l->x))) return st;
		if ((st = l->v->dot(l->ctx, l->n, &gs, m->b.slope, s))) return st;
		if (!(gs > 0)) return ISO_OK;
		if ((st = evaluate(m, v, m->b.next_slope, m->next))) return st;
		if ((st = l->v->dot(l->ctx, l->n, &end, m->b.next_slope, s))) return st;
		if ((*found = will_do(m, v->phi, gs, end))) return ISO_OK;
		t = shorten(t, gs, v->phi - m->num.phi);
	}
	return ISO_OK;
}

/* m->next becomes the image; s is in its slot, y = slope before - slope after. */
static int move(iso_map_state *m, const struct value *v)
{
	struct iso_loop *l = &m->l;
	struct map_lbfgs *b = &m->b;
	iso_real *y = b->y + m->tally.next_pair * l->n, *image = l->x, *slope = b->slope;
	double sy;
	int st;

	if ((st = l->v->copy(l->ctx, l->n, y, b->slope))) return st;
	if ((st = l->v->axpy(l->ctx, l->n, y, -1, b->next_slope))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &sy, b->s + m->tally.next_pair * l->n, y))) return st;
	if (sy > 0) {
		m->tally.next_pair = (m->tally.next_pair + 1) % SLOTS;
		if (m->tally.pairs < MAP_PAIRS) m->tally.pairs++;
	}
	l->x = m->next;
	m->next = image;
	b->slope = b->next_slope;
	b->next_slope = slope;
	l->done++;
	return accept(m, v);
}

/* One step. Where the pairs lead nowhere, along the gradient; where that leads nowhere too, rounding is all that is
   left. Interrupted, it begins anew: image, slope and pairs are as they were. */
static int try_update(iso_map_state *m)
{
	struct value v = { 0 };
	bool found;
	int st;

	if (!m->tally.restarted && m->tally.used >= (int64_t)RESTART * m->subsets) {
		if ((st = rescale(m))) return st;
		m->tally.restarted = 1;
	}
	for (;;) {
		if ((st = find_direction(m))) return st;
		if ((st = search(m, &v, &found))) return st;
		if (found) return move(m, &v);
		if (m->tally.pairs == 0 || m->tally.used + m->subsets > m->budget) break;
		m->tally.pairs = m->tally.next_pair = 0;
		m->num.scale = 1;
	}
	m->l.ended = true;
	return ISO_OK;
}

static int update(iso_map_state *m)
{
	const struct map_counters before = m->tally;
	double scale = m->num.scale;
	int st = try_update(m);

	if (st == ISO_ECANCEL) {
		m->tally = before;
		m->num.scale = scale;
	}
	return st;
}

static int items(iso_map_state *m, struct iso_item *item, int n)
{
	struct iso_loop *l = &m->l;

	item[n++] = (struct iso_item){ "slope", ISO_ITEM_REAL, l->n, m->b.slope };
	item[n++] = (struct iso_item){ "scale", ISO_ITEM_REAL, l->n, m->b.scale };
	item[n++] = (struct iso_item){ "steps", ISO_ITEM_REAL, SLOTS * l->n, m->b.s };
	item[n++] = (struct iso_item){ "their slopes", ISO_ITEM_REAL, SLOTS * l->n, m->b.y };
	return n;
}

const struct map_method map_lbfgs = {
	.name = "lbfgs",
	.images = 5 + 2 * (MAP_PAIRS + 1), /* two gradients, scale, free voxels, direction; pairs */
	.saved = 3 + 2 * (MAP_PAIRS + 1),
	.start = 2,
	.take = take,
	.begin = begin,
	.update = update,
	.items = items,
};
