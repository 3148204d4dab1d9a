/* SPDX-License-Identifier: BSD-3-Clause */
/* One step late (Green 1990), with subsets: the baseline. It does not converge to the maximum.

	x <- x B A_b*(y / (A_b x + a)) / max(S + beta grad R(x), S/10) */
#include "state.h"

static int update(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	struct iso_em_stat s = { 0 };
	int b = map_subset(m, l->done), st;
	double sum;

	if ((st = iso_op_em_step(m->z, &s, l->op, b, l->x, &m->p.data))) return st;
	map_part(m, b, &s);
	m->c.used++;
	if (m->prior && (st = map_penalty(m, NULL, m->next, NULL, NULL, l->x))) return st;
	/* a subset without a single event used leaves the image as it is */
	if (s.used > 0 && (st = m->v->late(l->ctx, l->n, l->x, m->z, m->sens, m->prior ? m->next : NULL,
	                                   m->f.beta, m->subsets)))
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

const struct map_method map_osl = {
	.name = "osl",
	.by_subsets = true,
	.update = update,
	.items = items,
};
