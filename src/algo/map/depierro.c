/* SPDX-License-Identifier: BSD-3-Clause */
/* De Pierro's EM for penalised likelihood (1995), by separable surrogates: each update is the maximum of

	sum_n e_n log t_n - S_n t_n - beta (g_n t_n + C_n (t_n - x_n)^2),   e = x A*(y / (A x + a)),

   with the gradient g of R at x and its curvature C, which bounds R from above where the weights of pairs fall with their
   difference (quadratic, logcosh, huber): with one subset Phi never falls. No step has to be chosen. */
#include "state.h"

static int update(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	struct iso_em_stat s = { 0 };
	int b = map_subset(m, l->done), st;
	double sum;

	if ((st = iso_op_em_step(m->z, &s, l->op, b, l->x, &m->p.data))) return st;
	map_visited(m, b, &s);
	m->tally.used++;
	if (m->subsets > 1 && (st = l->v->axpy(l->ctx, l->n, m->z, m->subsets - 1, m->z))) return st;
	if (m->prior && (st = map_penalty(m, NULL, m->next, m->u, NULL, l->x))) return st;
	/* a subset without a single event used leaves the image as it is */
	if (s.used > 0 && (st = m->v->solve(l->ctx, l->n, l->x, m->z, m->sens, m->prior ? m->next : NULL,
	                                    m->prior ? m->u : NULL, m->num.beta)))
		return st;
	if ((st = map_expected(m, &sum))) return st;
	if ((st = map_end(m, true))) return st;
	return l->done % m->subsets ? ISO_OK : map_glance(m);
}

static int items(iso_map_state *m, struct iso_item *item, int n)
{
	item[n++] = (struct iso_item){ "two epochs before", ISO_ITEM_REAL, m->l.n, m->anchor };
	return n;
}

const struct map_method map_depierro = {
	.name = "depierro",
	.saved = 2,
	.by_subsets = true,
	.update = update,
	.items = items,
};
