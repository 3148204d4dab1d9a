/* SPDX-License-Identifier: BSD-3-Clause */
/* Model srm on CUDA: the EM step, and what moves an operator to the device. */
#include "srm_cuda.cuh"

#include "core/op/ratio_plain.h"
#include "srm_share.h"

#include <limits.h>

/* ---- the EM step, acc = x A*(y / (A x + a)), by the operator's own forward and adjoint ---- */

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
                 struct iso_em_stat *stat)
{
	const struct srm_step_work *w = (const struct srm_step_work *)op->work;
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

int iso_srm_ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                       const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *stat)
{
	struct ratio_rows r = { rho, keep };

	(void)u; /* the adjoint has its own scale */
	return iso_ratio_step_in(op, sub, z, &r, x, d, stat, ((const struct srm_step_work *)op->work)->q);
}

int iso_srm_step_open(iso_op *op)
{
	struct srm_step_work *w = (struct srm_step_work *)op->work;

	ISO_DEVICE(&op->room, w->q, op->n_out);
	if (iso_ranks(op->ctx) > 1) ISO_DEVICE(&op->room, w->packed, iso_srm_share_packed(op));
	return em_sums_open(&w->sums, &op->room, BLOCKS);
}

/* The kernels number voxels with 32 bits. */
extern "C" int iso_srm_to_cuda(iso_op *op)
{
	struct srm_op *m = (struct srm_op *)op->data;
	void *move = NULL;

	if (op->n_in > INT_MAX)
		return iso_fail(ISO_EARG, "srm: %lld voxels, CUDA takes at most %d", (long long)op->n_in,
		                INT_MAX);
	m->room = &op->shared->room;
	if (!m->way->cuda[0]) return iso_srm_correlate_cuda(op);
	int st = iso_cuda_symbol_in(&move, m->way->cuda[0], m->way->cuda[1]);

	return st ? st : ((int (*)(iso_op *))move)(op);
}
