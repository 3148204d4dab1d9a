/* SPDX-License-Identifier: BSD-3-Clause */
/* Stochastic variance reduced gradients (Johnson and Zhang 2013; for PET: Twyman et al. 2023, Ehrhardt et al. 2025), with
   one ratio a row in place of an image a subset. Every second epoch begins with an anchor, an update with all data:

	rho = y / (A x + a),   G = A* rho,   x <- [x + alpha P (G - S - beta grad R(x))]+

   All other updates take one subset b of B, and leave rho as it is:

	x <- [x + alpha P (B A_b*(y / (A_b x + a) - rho_b) + G - S - beta grad R(x))]+ */
#include "state.h"

#include <math.h>

#define FALL 1e-6 /* of the rise so far: a smaller fall of Phi is rounding */

/* Whether Phi has fallen since the anchor before. */
static bool fell(const iso_map_state *m, double phi)
{
	double rise = m->f.best - m->f.first;

	return m->l.done > 0 && m->p.guard == ISO_MAP_GUARDS && phi < m->f.phi - FALL * (rise > 0 ? rise : 0);
}

/* Ratios, G and M at the image; where Phi has fallen, at that of the anchor before, with half the step. Interrupted, it
   begins anew: the image is all it needs. */
static int take_anchor(iso_map_state *m, struct iso_map_look *look)
{
	struct iso_loop *l = &m->l;
	int st;

	for (;;) {
		if ((st = m->v->shift(l->ctx, l->n, m->u, l->x, m->f.off))) return st;
		if ((st = map_pass(m, l->x, m->u))) return st;
		m->c.used += m->subsets;
		if ((st = map_objective(m, look))) return st;
		if (!fell(m, look->objective)) break;
		if ((st = l->v->copy(l->ctx, l->n, l->x, m->anchor))) return st;
		m->f.step /= 2;
		m->c.went_back++;
	}
	if (l->done == 0) m->f.first = m->f.best = look->objective;
	m->f.best = fmax(m->f.best, look->objective);
	m->f.phi = look->objective;
	return l->v->copy(l->ctx, l->n, m->anchor, l->x);
}

static int anchored(iso_map_state *m)
{
	struct iso_map_look look;
	int st;

	if ((st = take_anchor(m, &look))) return st;
	if ((st = map_renew(m, m->l.done, m->balance))) return st;
	if ((st = map_move(m, 0, m->f.step))) return st;
	if ((st = map_difference(m, &look.gradient, m->l.x, m->anchor))) return st;
	look.gradient /= m->f.step;
	if (m->c.looks < m->most_looks) m->look[m->c.looks++] = look;
	return ISO_OK;
}

static int with_subset(iso_map_state *m)
{
	int st;

	if ((st = map_renew(m, m->l.done, m->balance))) return st;
	if ((st = map_ratio(m, map_subset(m, m->l.done), true))) return st;
	m->c.used++;
	return map_move(m, m->subsets, m->f.step);
}

static bool at_anchor(const iso_map_state *m)
{
	return m->l.done % (2 * (int64_t)m->subsets) == 0;
}

static int update(iso_map_state *m)
{
	int st = at_anchor(m) ? anchored(m) : with_subset(m);

	if (st || (st = map_guard(m, m->anchor))) return st;
	return map_end(m, false);
}

static int items(iso_map_state *m, struct iso_item *item, int n)
{
	item[n++] = (struct iso_item){ "anchor", ISO_ITEM_REAL, m->l.n, m->anchor };
	item[n++] = (struct iso_item){ "preconditioner", ISO_ITEM_REAL, m->l.n, m->precond };
	item[n++] = (struct iso_item){ "scale of ratios", ISO_ITEM_REAL, m->l.n, m->u };
	return n;
}

/* Ratios, G and M again: the anchor's image gives the same bits. Of the pass before an anchor none is needed. The parts
   of the log-likelihood and the terms cut were saved. */
static int restored(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	int64_t cut = m->c.cut;
	double *part = NULL;
	struct iso_room room = iso_room_of(l->ctx, "svrg");
	int64_t parts = (int64_t)MAP_PARTS * m->subsets;
	int st;

	if (at_anchor(m)) return ISO_OK;
	if (!ISO_HOST(&room, part, parts)) return room.status;
	for (int64_t i = 0; i < parts; i++) part[i] = m->part[i];
	if (!(st = m->v->shift(l->ctx, l->n, m->next, m->anchor, m->f.off)))
		st = map_pass(m, m->anchor, m->next);
	for (int64_t i = 0; i < parts; i++) m->part[i] = part[i];
	m->c.cut = cut;
	iso_room_free(&room);
	return st;
}

const struct map_method map_svrg = {
	.name = "svrg",
	.by_subsets = true,
	.anchors = true,
	.rates = true,
	.update = update,
	.items = items,
	.restored = restored,
};
