/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators of the caller's own functions. */
#include "core/op.h"
#include "core/size.h"
#include "core/sized.h"

#include <string.h>

struct custom {
	struct iso_custom p;
	struct iso_rows rows[]; /* n_sub */
};

/* The status that the caller's `function` returned, with a message where it failed and left none: `enter`
   emptied the message before the call. */
static int outcome(const char *function, int st)
{
	if (st < ISO_ECANCEL || st > ISO_OK)
		return iso_fail(ISO_EARG, "custom operator: %s returned %d, which is no code", function, st);
	if (st && !*iso_message()) iso_fail(st, "custom operator: %s returned %d", function, st);
	return st;
}

static const struct iso_custom *enter(const iso_op *op)
{
	iso_fail(ISO_OK, "%s", "");
	return &((const struct custom *)op->data)->p;
}

static int custom_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct iso_custom *p = enter(op);

	return outcome("forward", p->forward(p->arg, sub, y, x));
}

static int custom_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct iso_custom *p = enter(op);

	return outcome("adjoint", p->adjoint(p->arg, sub, x, y));
}

static int custom_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                          const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct iso_custom *p = enter(op);

	if (!p->em_step) return iso_em_step_plain(op, sub, acc, x, d, s);
	return outcome("em_step", p->em_step(p->arg, sub, acc, x, d, s));
}

static struct iso_rows custom_rows(const iso_op *op, int sub)
{
	return ((const struct custom *)op->data)->rows[sub];
}

static void custom_free(iso_op *op)
{
	struct custom *c = op->data;

	if (c->p.free) c->p.free(c->p.arg);
}

static const struct iso_op_fn custom_fn = {
	.forward = custom_forward,
	.adjoint = custom_adjoint,
	.em_step = custom_em_step,
	.rows = custom_rows,
	.free = custom_free,
};

static int check(const struct iso_custom *p)
{
	int64_t next = 0;

	if (p->n_in < 1 || p->n_out < 1)
		return iso_fail(ISO_EARG,
		                "custom operator: from %" PRId64 " to %" PRId64 " values, must be at least 1",
		                p->n_in, p->n_out);
	if (!p->forward || !p->adjoint)
		return iso_fail(ISO_EARG, "custom operator: there is no %s",
		                p->forward ? "adjoint" : "forward");
	if (p->n_sub < 1 || (p->n_sub > 1 && !p->rows))
		return iso_fail(ISO_EARG, "custom operator: %d subsets %s", p->n_sub,
		                p->n_sub < 1 ? "must be at least 1" : "without their rows");
	for (int k = 0; p->rows && k < p->n_sub; next += p->rows[k++].n)
		if (p->rows[k].first != next || p->rows[k].n < 0 || p->rows[k].n > p->n_out - next)
			return iso_fail(ISO_EARG,
			                "custom operator: subset %d has %" PRId64 " rows from row %" PRId64
			                ", must begin at row %" PRId64 " and end within %" PRId64,
			                k, p->rows[k].n, p->rows[k].first, next, p->n_out);
	if (p->rows && next != p->n_out)
		return iso_fail(ISO_EARG, "custom operator: the subsets have %" PRId64 " of %" PRId64 " rows",
		                next, p->n_out);
	return ISO_OK;
}

static int make(iso_op **op, iso_ctx *ctx, const struct iso_custom *p)
{
	struct custom *c = size_alloc(1, (int64_t)(sizeof *c + (size_t)p->n_sub * sizeof *c->rows));

	if (!c) return iso_fail_memory("custom operator", p->n_sub * (int64_t)sizeof *c->rows);
	c->p = *p;
	c->p.free = NULL; /* after a failure, also another rank's, the argument is still the caller's */
	if (p->rows)
		memcpy(c->rows, p->rows, (size_t)p->n_sub * sizeof *c->rows);
	else
		c->rows[0] = (struct iso_rows){ 0, p->n_out };
	return iso_op_create(op, ctx, &custom_fn, p->n_in, p->n_out, p->n_sub, c);
}

int iso_custom_create(iso_op **op, iso_ctx *ctx, const struct iso_custom *given)
{
	if (!op || !ctx || !given) return iso_fail_null(__func__);
	struct iso_custom p;
	iso_op *made = NULL;
	int st = iso_sized_take(&p, "iso_custom", sizeof p, given);

	if (!st && !(st = check(&p))) st = make(&made, ctx, &p);
	if (!(st = iso_op_agree(op, made, ctx, st))) ((struct custom *)made->data)->p.free = p.free;
	return st;
}
