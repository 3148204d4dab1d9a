/* SPDX-License-Identifier: BSD-3-Clause */
/* BSREM (Ahn and Fessler 2003), with the preconditioner of the others: update k takes one subset b of B,

	x <- [x + alpha_k P (B A_b*(y / (A_b x + a)) - S - beta grad R(x))]+

   alpha_k = alpha/50^(k/K) falls to a fiftieth at the last update K; with `relax` alpha_k = alpha / (1 + relax k / B). */
#include "state.h"

#include <math.h>

#define LEAST .02 /* of alpha, at the end. 0.01 and 0.05 came less near on scans of 4 and 13 counts a voxel */

static double step_now(const iso_map_state *m)
{
	const struct iso_loop *l = &m->l;

	if (m->p.relax != 0) return m->num.step / (1 + fmax(m->p.relax, 0) * (double)l->done / m->subsets);
	return m->num.step * pow(LEAST, (double)l->done / (double)l->total);
}

/* The ratios stay 0, and the gradient -S. */
static int begin(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	int st = l->v->fill(l->ctx, l->n, m->gradient, 0);

	if (!st) st = l->v->fill(l->ctx, l->n_data, m->rho, 0);
	return st ? st : l->v->axpy(l->ctx, l->n, m->gradient, -1, m->sens);
}

/* No voxel goes beyond 100 times the largest of the start. */
static int bound(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	double sum, most;
	int st = map_expected(m, &sum);

	if (st || m->p.guard == ISO_MAP_NO_GUARDS) return st;
	if ((st = m->v->largest(l->ctx, l->n, &most, l->x, NULL, NULL)) || !(most > m->num.most)) return st;
	m->tally.went_back++;
	return m->v->limit(l->ctx, l->n, l->x, m->num.most);
}

/* z of the subset, and M of the epoch so far: no pass of its own is needed for it. The next epoch's P has it. */
static int take_subset(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	int st;

	if ((st = map_renew(m, l->done, m->p.guard == ISO_MAP_GUARDS ? m->balance : NULL))) return st;
	if (l->done % m->subsets == 0 && (st = l->v->fill(l->ctx, l->n, m->balance, 0))) return st;
	if ((st = map_ratio(m, map_subset(m, l->done), true))) return st;
	m->tally.used++;
	/* m->next, which gathers the sum, is written anew by the move */
	return m->v->gather(l->ctx, l->n, m->next, m->balance, m->z, m->subsets);
}

static int update(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	int st;

	if ((st = take_subset(m))) return st;
	if ((st = map_move(m, m->subsets, step_now(m)))) return st;
	if ((st = bound(m))) return st;
	if ((st = map_end(m, true))) return st;
	return l->done % m->subsets ? ISO_OK : map_glance(m);
}

static int items(iso_map_state *m, struct iso_item *item, int n)
{
	item[n++] = (struct iso_item){ "two epochs before", ISO_ITEM_REAL, m->l.n, m->anchor };
	item[n++] = (struct iso_item){ "preconditioner", ISO_ITEM_REAL, m->l.n, m->precond };
	item[n++] = (struct iso_item){ "scale of ratios", ISO_ITEM_REAL, m->l.n, m->u };
	item[n++] = (struct iso_item){ "balance", ISO_ITEM_REAL, m->l.n, m->balance };
	return n;
}

const struct map_method map_bsrem = {
	.name = "bsrem",
	.images = 3, /* gradient, preconditioner, balance */
	.saved = 5,
	.by_subsets = true,
	.fresh = true,
	.rates = true,
	.begin = begin,
	.update = update,
	.items = items,
	.restored = begin,
};
