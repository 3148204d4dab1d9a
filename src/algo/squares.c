/* SPDX-License-Identifier: BSD-3-Clause */
/* The data and the quadratic penalty of least squares. */
#include "squares.h"

#include "core/op.h"
#include "core/sized.h"

#include <math.h>

#define MOST_ITERATIONS 1000000 /* each keeps its cost, also in the checkpoint */

int iso_squares_check(const char *name, const struct iso_cg *p, const iso_real *x)
{
	const char *lacks = !p->op ? "operator" : !x ? "start image" : p->y ? NULL : "data";

	if (lacks) return iso_fail(ISO_EARG, "%s: there is no %s", name, lacks);
	int64_t n = iso_op_n_in(p->op);

	if (p->iterations < 1 || p->iterations > MOST_ITERATIONS)
		return iso_fail(ISO_EARG, "%s: %d iterations, must be 1 to %d", name, p->iterations,
		                MOST_ITERATIONS);
	if (!(p->mu >= 0) || !isfinite(p->mu))
		return iso_fail(ISO_EARG, "%s: mu is %g, must be finite and not negative", name, p->mu);
	if (p->mu > 0 && !p->penalty)
		return iso_fail(ISO_EARG, "%s: mu is %g, but there is no penalty", name, p->mu);
	if (p->mu > 0 && iso_op_n_in(p->penalty) != n)
		return iso_fail(ISO_EARG, "%s: the penalty takes %" PRId64 " voxels, the image has %" PRId64,
		                name, iso_op_n_in(p->penalty), n);
	return ISO_OK;
}

int iso_squares_load(struct iso_squares *s, const struct iso_cg *p, const iso_real *x, iso_real **y)
{
	struct iso_loop *l = &s->l;
	const iso_real *data = p->y;
	int st;

	s->mu = p->mu;
	if (p->mu > 0) s->penalty = iso_op_keep(p->penalty);
	if ((st = iso_loop_take(l, "start image", l->n, &x, false))) return st;
	if ((st = iso_loop_take(l, "data", l->n_data, &data, false))) return st;
	if (p->mu > 0) ISO_DEVICE(&l->room, s->lap, l->n);
	ISO_UPLOAD(&l->room, l->x, x, l->n);
	*y = iso_loop_rows(l, data);
	iso_room_free(&l->taken);
	return l->room.status;
}

void iso_squares_free(struct iso_squares *s)
{
	if (s) iso_op_free(s->penalty);
	iso_loop_free((struct iso_loop *)s);
}

_Static_assert(sizeof(struct iso_cg_result) == sizeof(struct iso_fista_result), "one struct serves both");

int iso_squares_run(struct iso_squares *s, int st, iso_real *x, void *result, const struct iso_run *run)
{
	struct iso_cg_result own = { 0 };

	if (!st) st = iso_loop_run(&s->l, x, run);
	if (!st && result)
		own = (struct iso_cg_result){
			.n = (int)s->l.done,
			.resumed_from = s->l.resumed_from,
			.unsaved = s->l.unsaved,
			.cost = iso_loop_hand_over(&s->l, 0),
			.gradient = iso_loop_hand_over(&s->l, 1),
		};
	if (result) iso_sized_give(result, sizeof own, &own);
	iso_squares_free(s);
	return st;
}

int iso_squares_add(struct iso_squares *s, iso_real *z, double mu, const iso_real *x)
{
	int st;

	if (!s->lap) return ISO_OK;
	if ((st = iso_forward(s->penalty, ISO_ALL, s->lap, x))) return st;
	return s->l.v->axpy(s->l.ctx, s->l.n, z, mu, s->lap);
}

int iso_squares_smoothness(struct iso_squares *s, double *f, const iso_real *x)
{
	int st;

	*f = 0;
	if (!s->lap) return ISO_OK;
	if ((st = iso_forward(s->penalty, ISO_ALL, s->lap, x))) return st;
	if ((st = s->l.v->dot(s->l.ctx, s->l.n, f, x, s->lap))) return st;
	*f *= s->mu;
	return ISO_OK;
}
