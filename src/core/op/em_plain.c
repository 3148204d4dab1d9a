/* SPDX-License-Identifier: BSD-3-Clause */
/* The EM step spelled out: forward, ratio, adjoint, one after the other. The reference for every
   fused step, and what operators without one use. */
#include "core/em_kern.h"
#include "core/op.h"
#include "core/size.h"
#include "core/vec.h"

/* Host copy of a data vector's rows, or NULL where it stands for a constant. */
static int fetch(const iso_op *op, struct iso_rows r, iso_real **host, const iso_real *v)
{
	if (!v) return ISO_OK;
	int64_t bytes = r.n * (int64_t)sizeof *v;
	iso_real *h = size_alloc(r.n, sizeof *v);

	if (!h) return iso_fail_memory("em step", bytes);
	*host = h;
	return op->ctx->vec->download(op->ctx, h, v + r.first, bytes);
}

/* q = y / (q + a), and the sums over the rows used. */
static void ratio(int64_t n, iso_real *q, const struct iso_em_data *d, struct iso_em_stat *s)
{
	*s = (struct iso_em_stat){ 0 };
	for (int64_t j = 0; j < n; j++) q[j] = (iso_real)em_respond(s, d, j, q[j]);
}

int iso_em_step_plain(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                      const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct iso_vec *v = op->ctx->vec;
	struct iso_rows r = iso_op_rows(op, sub);
	iso_real *q = NULL, *h = NULL, *y = NULL, *a = NULL, *m = NULL;
	int st;

	if (!op->fn->forward || !op->fn->adjoint) return iso_fail(ISO_EARG, "%s", op->fn->cannot);
	if ((st = iso_vec_alloc(op->ctx, &q, op->n_out))) goto done;
	if ((st = op->fn->forward(op, sub, q, x))) goto done;
	if ((st = fetch(op, r, &h, q)) || (st = fetch(op, r, &y, d->y)) || (st = fetch(op, r, &a, d->add)) ||
	    (st = fetch(op, r, &m, d->mult)))
		goto done;
	ratio(r.n, h, &(struct iso_em_data){ y, a, m }, s);
	if ((st = v->upload(op->ctx, q + r.first, h, r.n * (int64_t)sizeof *h))) goto done;
	if ((st = op->fn->adjoint(op, sub, acc, q))) goto done;
	st = v->mul(op->ctx, op->n_in, acc, acc, x);
done:
	v->free(op->ctx, q);
	free(h);
	free(y);
	free(a);
	free(m);
	return st;
}
