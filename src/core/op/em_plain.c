/* SPDX-License-Identifier: BSD-3-Clause */
/* The EM step spelled out: forward, ratio, adjoint, one after the other. The reference for every
   fused step, and what operators without one use. */
#include "core/loop/em_kern.h"
#include "core/op.h"

/* Host copy of the rows r of a data vector; NULL where that stands for a constant. */
static iso_real *fetch(struct iso_room *room, struct iso_rows r, const iso_real *v)
{
	iso_real *host = NULL;

	if (v && ISO_HOST(room, host, r.n))
		room->status =
			room->ctx->vec->download(room->ctx, host, v + r.first, r.n * (int64_t)sizeof *v);
	return host;
}

int iso_em_step_plain(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                      const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct iso_vec *v = op->ctx->vec;
	struct iso_rows r = iso_op_rows(op, sub);
	struct iso_room room = iso_room_of(op->ctx, "em step");
	struct iso_em_data rows;
	iso_real *q, *h;
	int st;

	if (!op->fn->forward || !op->fn->adjoint) return iso_fail(ISO_EARG, "%s", op->fn->cannot);
	ISO_DEVICE(&room, q, op->n_out);
	if ((st = room.status) || (st = op->fn->forward(op, sub, q, x))) goto done;
	h = fetch(&room, r, q);
	rows = (struct iso_em_data){ fetch(&room, r, d->y), fetch(&room, r, d->add),
		                     fetch(&room, r, d->mult) };
	if ((st = room.status)) goto done;
	*s = (struct iso_em_stat){ 0 };
	for (int64_t j = 0; j < r.n; j++) h[j] = (iso_real)em_respond(s, &rows, j, h[j]); /* y / (A x + a) */
	if (!(st = v->upload(op->ctx, q + r.first, h, r.n * (int64_t)sizeof *h)) &&
	    !(st = op->fn->adjoint(op, sub, acc, q)))
		st = v->mul(op->ctx, op->n_in, acc, acc, x);
done:
	iso_room_free(&room);
	return st;
}

int iso_em_step_each(const iso_op *op, int sub, int images, iso_real *acc, const iso_real *x,
                     const iso_real *y, const struct iso_em_data *d, struct iso_em_stat *s)
{
	int st = ISO_OK;

	for (int e = 0; e < images && !st; e++) {
		const struct iso_em_data own = { y + e * op->n_out, d->add, d->mult };

		st = (op->fn->em_step ? op->fn->em_step : iso_em_step_plain)(op, sub, acc + e * op->n_in,
		                                                             x + e * op->n_in, &own, s + e);
	}
	return st;
}

int iso_em_steps_each(const iso_op *op, int first, int n, iso_real *acc, const iso_real *x,
                      const struct iso_em_data *d, struct iso_em_stat *s)
{
	int st = ISO_OK;

	for (int i = 0; i < n && !st; i++)
		st = (op->fn->em_step ? op->fn->em_step : iso_em_step_plain)(
			op, first + i, acc + i * op->n_in, x + i * op->n_in, d, s + i);
	return st;
}
