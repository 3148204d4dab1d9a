/* SPDX-License-Identifier: BSD-3-Clause */
/* SAGA (Defazio, Bach and Lacoste-Julien 2014), with one ratio a row in place of an image a subset. Every
   second epoch begins with an anchor (anchor.c), which makes rho = y / (A x + a) and G = A* rho. All other updates take one
   subset b of B, and renew its ratios:

	t = A_b*(y / (A_b x + a) - rho_b),   x <- [x + alpha P (B t + G - S - beta grad R(x))]+,   G <- G + t

   Without anchors after the first, ratios of images an epoch old and M of the start did not let it settle: where one subset
   has all that tells of a voxel, the others carry it 1.5 times too far along the old gradient before that subset is seen
   again, and each turn goes 1.75 times as far as the one before. */
#include "state.h"

static int64_t most_rows(const iso_map_state *m)
{
	int64_t most = 0;

	for (int b = 0; b < m->subsets; b++) {
		struct iso_rows r = iso_op_rows(m->l.op, b);

		most = r.n > most ? r.n : most;
	}
	return most;
}

static int take(iso_map_state *m)
{
	struct iso_loop *l = &m->l;

	ISO_DEVICE(&l->room, m->old, most_rows(m));
	return l->room.status;
}

/* Ratios, G and M at the image, by a pass. Interrupted, they belong together no more, and it begins anew. */
static int take_all(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	int st;

	m->tally.stale = 1;
	if ((st = m->v->shift(l->ctx, l->n, m->u, l->x, m->num.off))) return st;
	if ((st = map_pass(m, l->x, m->u))) return st;
	m->tally.used += m->subsets;
	m->tally.stale = 0;
	return ISO_OK;
}

/* z and the ratios of subset b, which are as they were if that is interrupted. */
static int renew_ratios(iso_map_state *m, int b)
{
	struct iso_loop *l = &m->l;
	struct iso_rows r = iso_op_rows(l->op, b);
	int st = l->v->copy(l->ctx, r.n, m->old, m->rho + r.first);

	if (st) return st;
	if ((st = map_ratio(m, b, false))) l->v->copy(l->ctx, r.n, m->rho + r.first, m->old);
	return st;
}

/* A term that was cut is in rho and not in G, which would be wrong by it for good: then all anew before the next update. */
static int with_subset(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	int64_t cut;
	int st;

	if (m->tally.stale && (st = take_all(m))) return st;
	cut = m->tally.cut;
	if ((st = map_renew(m, l->done, m->balance))) return st;
	if ((st = renew_ratios(m, map_subset(m, l->done)))) return st;
	m->tally.used++;
	m->tally.stale = m->tally.cut > cut;
	/* G + t first: B t + G = (B - 1) t + (G + t) */
	if ((st = l->v->axpy(l->ctx, l->n, m->gradient, 1, m->z))) return st;
	return map_move(m, m->subsets - 1, m->num.step);
}

static int update(iso_map_state *m)
{
	int st = map_at_anchor(m) ? map_anchored(m) : with_subset(m);

	if (st || (st = map_guard(m, m->anchor))) return st;
	return map_end(m, false);
}

static int items(iso_map_state *m, struct iso_item *item, int n)
{
	struct iso_loop *l = &m->l;

	item[n++] = (struct iso_item){ "anchor", ISO_ITEM_REAL, l->n, m->anchor };
	item[n++] = (struct iso_item){ "preconditioner", ISO_ITEM_REAL, l->n, m->precond };
	item[n++] = (struct iso_item){ "scale of ratios", ISO_ITEM_REAL, l->n, m->u };
	item[n++] = (struct iso_item){ "gradient", ISO_ITEM_REAL, l->n, m->gradient };
	item[n++] = (struct iso_item){ "balance", ISO_ITEM_REAL, l->n, m->balance };
	item[n++] = (struct iso_item){ "ratios", ISO_ITEM_REAL, l->n_data, m->rho };
	return n;
}

const struct map_method map_saga = {
	.name = "saga",
	.images = 3, /* gradient, preconditioner, balance */
	.saved = 6,
	.by_subsets = true,
	.anchors = true,
	.rates = true,
	.take = take,
	.update = update,
	.items = items,
};
