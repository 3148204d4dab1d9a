/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray on CUDA: one warp an event, its lanes along the slices of the main axis. Weights are
   computed again on the way back; that costs less than keeping them. */
#include "core/fixed.cuh"
#include "ray.h"

#include <stdlib.h>

#define WARPS (ISO_THREADS / ISO_WARP)	/* of a block */
#define BLOCKS 4096			/* fixed, so that sums over blocks have a fixed order */

struct ray_cuda_work {
	struct iso_fixed_cuda acc;
	struct iso_em_stat *stat, *host;	/* one per block: device, and its copy */
};

/* Warps take events in turn: for (j = this warp's first; j < end; j += all warps) */
#define WARP_LOOP(j, rows)                                                                   \
	for (int64_t j = (rows).first + blockIdx.x * (int64_t)WARPS + threadIdx.x / ISO_WARP; \
	     j < (rows).first + (rows).n; j += (int64_t)gridDim.x * WARPS)

/* Sum of weight x image along the ray, in every lane. */
static __device__ float sum_along(const struct ray *r, float norm, const iso_real *x)
{
	struct ray_piece piece[3];
	float q = 0;

	for (int k = r->k0 + threadIdx.x % ISO_WARP; k < r->k1; k += ISO_WARP) {
		ray_slice(piece, r, norm, k);
		for (int i = 0; i < 3; i++)
			q += piece[i].w * x[piece[i].voxel];
	}
	return iso_warp_sum(q);
}

/* acc += factor * weight (* x, if given) along the ray. */
static __device__ void add_along(struct iso_fixed_cuda acc, const struct ray *r, float norm,
				 const iso_real *x, double factor)
{
	struct ray_piece piece[3];

	for (int k = r->k0 + threadIdx.x % ISO_WARP; k < r->k1; k += ISO_WARP) {
		ray_slice(piece, r, norm, k);
		for (int i = 0; i < 3; i++) {
			float term = piece[i].w * (x ? x[piece[i].voxel] : 1);

			if (term != 0)
				iso_fixed_add(acc, piece[i].voxel, term * factor);
		}
	}
}

static __global__ void forward(struct ray_model m, struct iso_rows rows, iso_real *y,
			       const iso_real *x)
{
	WARP_LOOP(j, rows) {
		struct ray r = ray_of_event(&m, m.e + j);
		float q = sum_along(&r, m.tof.norm, x);

		if (threadIdx.x % ISO_WARP == 0)
			y[j] = q;
	}
}

static __global__ void adjoint(struct ray_model m, struct iso_rows rows, struct iso_fixed_cuda acc,
			       const iso_real *y)
{
	WARP_LOOP(j, rows) {
		struct ray r = ray_of_event(&m, m.e + j);

		add_along(acc, &r, m.tof.norm, NULL, y[j] * acc.scale);
	}
}

/* acc = x A*(y / (A x + a)), one pass; each block leaves its sums in stat. */
static __global__ void em_step(struct ray_model m, struct iso_rows rows, struct iso_fixed_cuda acc,
			       const iso_real *x, struct iso_em_data d, struct iso_em_stat *stat)
{
	double loglik = 0, counts = 0;
	long long used = 0, skipped = 0;
	bool first_lane = threadIdx.x % ISO_WARP == 0;

	WARP_LOOP(j, rows) {
		double mult = d.mult ? d.mult[j] : 1, count = d.y ? d.y[j] : 1;
		struct ray r = ray_of_event(&m, m.e + j);
		float ax = sum_along(&r, m.tof.norm, x);
		double q = (double)ax + (d.add ? d.add[j] : 0);

		if (!(mult > 0) || !(q > 0)) {
			skipped += first_lane;
			continue;
		}
		if (first_lane) {
			used++;
			counts += ax > 0 ? count : 0;
			loglik += count * log(mult * q);
		}
		if (ax > 0)
			add_along(acc, &r, m.tof.norm, x, count / q * acc.scale);
	}
	struct iso_em_stat s = { iso_block_sum(loglik), iso_block_sum(counts),
				 (int64_t)iso_block_sum(used), (int64_t)iso_block_sum(skipped) };

	if (threadIdx.x == 0)
		stat[blockIdx.x] = s;
}

static int ray_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct ray_model *m = (const struct ray_model *)op->data;

	forward<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, iso_op_rows(op, sub), y, x);
	return iso_cuda_launched("ray forward");
}

static int ray_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct ray_model *m = (const struct ray_model *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct iso_rows rows = iso_op_rows(op, sub);
	double total = 0;
	int st = op->ctx->vec->asum(op->ctx, rows.n, &total, y + rows.first);

	if (st)
		return st;
	if (!isfinite(total))
		return iso_fail(ISO_EARG, "ray: a value to back project is not finite");
	if ((st = iso_fixed_begin(&w->acc, op->ctx,
				  total * iso_ray_largest_weight(&m->grid, &m->tof))))
		return st;
	adjoint<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, rows, w->acc, y);
	if ((st = iso_cuda_launched("ray adjoint")))
		return st;
	return iso_fixed_end(x, &w->acc, op->ctx);
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

static int ray_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
		       const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct ray_model *m = (const struct ray_model *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct iso_rows rows = iso_op_rows(op, sub);
	double bound = (double)rows.n;	/* x w / q <= 1 for every event */
	int st = d->y ? op->ctx->vec->asum(op->ctx, rows.n, &bound, d->y + rows.first) : ISO_OK;

	if (st || (st = iso_fixed_begin(&w->acc, op->ctx, bound)))
		return st;
	em_step<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*m, rows, w->acc, x, *d, w->stat);
	if ((st = iso_cuda_launched("ray em step")) || (st = iso_fixed_end(acc, &w->acc, op->ctx)))
		return st;
	if ((st = op->ctx->vec->download(op->ctx, w->host, w->stat, BLOCKS * sizeof *w->stat)))
		return st;
	*s = sum_stats(w->host);
	return ISO_OK;
}

static void ray_close(iso_op *op)
{
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;

	cudaFree(w->acc.v);
	cudaFree(w->stat);
	free(w->host);
	free(w);
}

static int ray_open(iso_op *op)
{
	struct ray_cuda_work *w = (struct ray_cuda_work *)calloc(1, sizeof *w);
	const struct iso_vec *v = op->ctx->vec;
	int st;

	if (!w)
		return iso_fail_memory("ray", sizeof *w);
	op->work = w;	/* from here ray_close cleans up */
	w->acc.n = op->n_in;
	w->host = (struct iso_em_stat *)calloc(BLOCKS, sizeof *w->host);
	if (!w->host)
		return iso_fail_memory("ray", BLOCKS * sizeof *w->host);
	if ((st = v->alloc(op->ctx, (void **)&w->acc.v, op->n_in * (int64_t)sizeof *w->acc.v)))
		return st;
	return v->alloc(op->ctx, (void **)&w->stat, BLOCKS * sizeof *w->stat);
}

static void ray_free(iso_op *op)
{
	struct ray_model *m = (struct ray_model *)op->data;

	cudaFree(m->e);
	free(m);
}

static const struct iso_op_fn ray_fn_cuda = {
	ray_forward, ray_adjoint, ray_em_step, iso_ray_rows, iso_ray_file_row, ray_open, ray_close,
	ray_free, NULL,
};

/* The events move to the device; the host's copy goes. */
extern "C" int iso_ray_to_cuda(iso_op *op)
{
	struct ray_model *m = (struct ray_model *)op->data;
	int64_t bytes = m->n * (int64_t)sizeof *m->e;
	void *e = NULL;
	int st = op->ctx->vec->alloc(op->ctx, &e, bytes);

	if (st || (st = op->ctx->vec->upload(op->ctx, e, m->e, bytes))) {
		cudaFree(e);
		return st;
	}
	free(m->e);
	m->e = (struct iso_event *)e;
	op->fn = &ray_fn_cuda;
	return ISO_OK;
}
