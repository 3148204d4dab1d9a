/* SPDX-License-Identifier: BSD-3-Clause */
/* Anchors of svrg and saga: every second epoch begins with a pass over all data, whose ratios, gradient G and balance image M
   belong to one image, as does its Phi, and with an update of that gradient:

	rho = y / (A x + a),   G = A* rho,   x <- [x + alpha P (G - S - beta grad R(x))]+ */
#include "state.h"

#include <math.h>

#define FALL 1e-6 /* of the rise so far: a smaller fall of Phi is rounding */

/* Whether Phi has fallen since the anchor before. */
static bool fell(const iso_map_state *m, double phi)
{
	double rise = m->num.best - m->num.first;

	return m->l.done > 0 && m->p.guard == ISO_MAP_GUARDS &&
	       phi < m->num.phi - FALL * (rise > 0 ? rise : 0);
}

/* Ratios, G and M at the image; where Phi has fallen, at that of the anchor before, with half the step. Interrupted, it
   begins anew: the image is all it needs. */
static int take_anchor(iso_map_state *m, struct iso_map_look *look)
{
	struct iso_loop *l = &m->l;
	int st;

	for (;;) {
		if ((st = m->v->shift(l->ctx, l->n, m->u, l->x, m->num.off))) return st;
		if ((st = map_pass(m, l->x, m->u))) return st;
		m->tally.used += m->subsets;
		if ((st = map_objective(m, look))) return st;
		if (!fell(m, look->objective)) break;
		if ((st = l->v->copy(l->ctx, l->n, l->x, m->anchor))) return st;
		m->num.step /= 2;
		m->tally.went_back++;
	}
	if (l->done == 0) m->num.first = m->num.best = look->objective;
	m->num.best = fmax(m->num.best, look->objective);
	m->num.phi = look->objective;
	return l->v->copy(l->ctx, l->n, m->anchor, l->x);
}

int map_anchored(iso_map_state *m)
{
	struct iso_map_look look;
	int st;

	if ((st = take_anchor(m, &look))) return st;
	m->tally.stale = 0;
	if ((st = map_renew(m, m->l.done, m->balance))) return st;
	if ((st = map_move(m, 0, m->num.step))) return st;
	if ((st = map_difference(m, &look.gradient, m->l.x, m->anchor))) return st;
	look.gradient /= m->num.step;
	if (m->tally.looks < m->most_looks) m->look[m->tally.looks++] = look;
	return ISO_OK;
}

bool map_at_anchor(const iso_map_state *m)
{
	return m->l.done % (2 * (int64_t)m->subsets) == 0;
}
