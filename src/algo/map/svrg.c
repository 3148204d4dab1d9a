/* SPDX-License-Identifier: BSD-3-Clause */
/* Stochastic variance reduced gradients (Johnson and Zhang 2013; for PET: Twyman et al. 2023, Ehrhardt et al. 2025), with
   one ratio a row in place of an image a subset. Every second epoch begins with an anchor, an update with all data:

	rho = y / (A x + a),   G = A* rho,   x <- [x + alpha P (G - S - beta grad R(x))]+

   All other updates take one subset b of B, and leave rho as it is:

	x <- [x + alpha P (B A_b*(y / (A_b x + a) - rho_b) + G - S - beta grad R(x))]+ */
#include "state.h"

static int with_subset(iso_map_state *m)
{
	int st;

	if ((st = map_renew(m, m->l.done, m->balance))) return st;
	if ((st = map_ratio(m, map_subset(m, m->l.done), true))) return st;
	m->tally.used++;
	return map_move(m, m->subsets, m->num.step);
}

static int update(iso_map_state *m)
{
	int st = map_at_anchor(m) ? map_anchored(m) : with_subset(m);

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
	int64_t cut = m->tally.cut;
	struct map_visit *visit = NULL;
	struct iso_room room = iso_room_of(l->ctx, "svrg");
	int st;

	if (map_at_anchor(m)) return ISO_OK;
	if (!ISO_HOST(&room, visit, m->subsets)) return room.status;
	for (int b = 0; b < m->subsets; b++) visit[b] = m->visit[b];
	if (!(st = m->v->shift(l->ctx, l->n, m->next, m->anchor, m->num.off)))
		st = map_pass(m, m->anchor, m->next);
	for (int b = 0; b < m->subsets; b++) m->visit[b] = visit[b];
	m->tally.cut = cut;
	iso_room_free(&room);
	return st;
}

const struct map_method map_svrg = {
	.name = "svrg",
	.images = 3, /* gradient, preconditioner, balance */
	.saved = 4,
	.by_subsets = true,
	.anchors = true,
	.rates = true,
	.update = update,
	.items = items,
	.restored = restored,
};
