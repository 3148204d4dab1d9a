/* SPDX-License-Identifier: BSD-3-Clause */
/* The EM step of model srm on CUDA, acc = x A*(y / (A x + a)), by the operator's own forward and
   adjoint; the quotients and the sums over the rows stay on the device. */
#include "srm_cuda.cuh"

#include <stdlib.h>

#define BLOCKS 1024	/* fixed, so that sums over blocks have a fixed order */

/* A row without counts sends 0; its logarithm does not count. */
static __device__ float respond(struct iso_em_stat *s, const struct iso_em_data *d, int64_t row,
				float ax)
{
	double mult = d->mult ? d->mult[row] : 1, count = d->y ? d->y[row] : 1;
	double q = (double)ax + (d->add ? d->add[row] : 0);

	if (mult == 0 || !(q > 0)) {
		s->skipped++;
		return 0;
	}
	s->used++;
	s->counts += ax > 0 ? count : 0;
	s->loglik += count != 0 ? count * log(mult * q) : 0;
	return (float)(count / q);
}

static __global__ void quotients(struct iso_rows rows, float *q, struct iso_em_data d,
				 struct iso_em_stat *stat)
{
	struct iso_em_stat s = ISO_ZERO;

	ISO_GRID_LOOP(i, rows.n)
		q[rows.first + i] = respond(&s, &d, rows.first + i, q[rows.first + i]);
	struct iso_em_stat all = { iso_block_sum(s.loglik), iso_block_sum(s.counts),
				   (int64_t)iso_block_sum((long long)s.used),
				   (int64_t)iso_block_sum((long long)s.skipped) };

	if (threadIdx.x == 0)
		stat[blockIdx.x] = all;
}

static struct iso_em_stat sum_stats(const struct iso_em_stat *part)
{
	struct iso_em_stat s = ISO_ZERO;

	for (int b = 0; b < BLOCKS; b++) {
		s.loglik += part[b].loglik;
		s.counts += part[b].counts;
		s.used += part[b].used;
		s.skipped += part[b].skipped;
	}
	return s;
}

int iso_srm_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
		 const struct iso_em_data *d, struct iso_em_stat *stat, const struct srm_step_work *w)
{
	const struct iso_vec *v = op->ctx->vec;
	int st = op->fn->forward(op, sub, w->q, x);

	if (st)
		return st;
	quotients<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(iso_op_rows(op, sub), w->q, *d,
								   w->stat);
	if ((st = iso_cuda_launched("srm quotients")) ||
	    (st = op->fn->adjoint(op, sub, acc, w->q)) ||
	    (st = v->mul(op->ctx, op->n_in, acc, acc, x)) ||
	    (st = v->download(op->ctx, w->host, w->stat, BLOCKS * sizeof *w->stat)))
		return st;
	*stat = sum_stats(w->host);
	return ISO_OK;
}

int iso_srm_step_open(struct srm_step_work *w, const iso_op *op)
{
	const struct iso_vec *v = op->ctx->vec;
	int st;

	w->host = (struct iso_em_stat *)calloc(BLOCKS, sizeof *w->host);
	if (!w->host)
		return iso_fail_memory("srm", BLOCKS * sizeof *w->host);
	if ((st = v->alloc(op->ctx, (void **)&w->q, op->n_out * (int64_t)sizeof *w->q)))
		return st;
	return v->alloc(op->ctx, (void **)&w->stat, BLOCKS * sizeof *w->stat);
}

void iso_srm_step_close(struct srm_step_work *w)
{
	free(w->host);
	cudaFree(w->q);
	cudaFree(w->stat);
}
