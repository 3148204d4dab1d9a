/* SPDX-License-Identifier: BSD-3-Clause */
/* The EM step of model srm on CUDA, acc = x A*(y / (A x + a)), by the operator's own forward and
   adjoint; the quotients and the sums over the rows stay on the device. */
#include "srm_cuda.cuh"

#define BLOCKS 1024 /* fixed, so that sums over blocks have a fixed order */

static __global__ void quotients(struct iso_rows rows, float *q, struct iso_em_data d,
                                 struct iso_em_stat *stat)
{
	struct iso_em_stat s = ISO_ZERO;

	ISO_GRID_LOOP (i, rows.n)
		q[rows.first + i] = (float)em_respond(&s, &d, rows.first + i, q[rows.first + i]);
	em_leave_sums(stat, s);
}

int iso_srm_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x, const struct iso_em_data *d,
                 struct iso_em_stat *stat, const struct srm_step_work *w)
{
	const struct iso_vec *v = op->ctx->vec;
	int st = em_sums_clear(&w->sums, op->ctx);

	if (st || (st = op->fn->forward(op, sub, w->q, x))) return st;
	quotients<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(iso_op_rows(op, sub), w->q, *d,
	                                                           w->sums.stat);
	if ((st = iso_cuda_launched("srm quotients")) || (st = op->fn->adjoint(op, sub, acc, w->q)) ||
	    (st = v->mul(op->ctx, op->n_in, acc, acc, x)))
		return st;
	return em_sums_get(stat, &w->sums, op->ctx);
}

int iso_srm_step_open(struct srm_step_work *w, iso_op *op)
{
	ISO_DEVICE(&op->room, w->q, op->n_out);
	return em_sums_open(&w->sums, &op->room, BLOCKS);
}
