/* SPDX-License-Identifier: BSD-3-Clause */
/* Model sradon through tissue on CUDA, by the points of sradon_tissue.h, in double. A block has the surface of one
   transducer and sample; its warps take rings in turn, the threads of a warp neighbouring points. Forward, a block
   adds up its own sample; the adjoint adds whole numbers. A rank has its share of the transducers. */
#include "core/loop/fixed.cuh"
#include "sradon_tissue.h"
#include "tissue/tissue_view.cuh"

enum { THREADS = 128, WARPS = THREADS / ISO_WARP };

struct sradon_tissue_cuda {
	struct sradon s;           /* its tables on the device */
	const struct sradon *host; /* as made on the host */
};

struct sradon_tissue_work {
	struct iso_fixed_cuda acc; /* voxels */
};

/* What a point reads, or adds to. */
struct visit {
	const float *x;
	struct iso_fixed_cuda to;
	double value; /* times the scale of whole numbers */
};

/* A direction whose points at any time that tissue allows lie beside the image has none: `middle` of them, and so many
   voxels on both sides. */
static __device__ bool passes(const struct sradon &s, const struct sradon_frame &f, const double w[3],
                              double middle, double off)
{
	for (int a = 0; a < 3; a++) {
		double at = (f.pos[a] + middle * w[a] - s.p.first[a]) / s.p.ds;

		if (!(at > -1 - off && at < (double)s.p.n[a] + off)) return false;
	}
	return true;
}

static __device__ double look(const struct visit &v, const struct sradon &s, const struct sradon_point &p)
{
	double part[3], w, sum = 0;
	int64_t low[3];

	if (!sradon_cell(low, part, &s, p.at)) return 0;
	for (int k = 0; k < 8; k++) {
		int64_t voxel = sradon_corner(&w, &s, low, part, k);

		if (voxel < 0) continue;
		if (v.x)
			sum += p.weight * w * (double)v.x[voxel];
		else
			iso_fixed_add(v.to, voxel, p.weight * w * v.value);
	}
	return sum;
}

/* The part of one thread of the surface of transducer q and sample k. */
static __device__ double surface(const struct visit &v, const struct sradon &s, int64_t q, int64_t k)
{
	const struct sradon_shell shell = sradon_shell(&s, q, k);
	const struct sradon_ear e = sradon_ear(&s, q);
	const struct sradon_frame &f = s.frame[q];
	const struct sound &m = s.sound;
	const double off = m.c0 * (m.most - m.least) / 2 / s.p.ds + 1,
		     middle = m.c0 * (shell.t - (m.least + m.most) / 2);
	double sum = 0;

	for (int i = threadIdx.x / ISO_WARP; i < shell.rings; i += WARPS) {
		const struct sradon_ring r = sradon_shell_ring(&s, &shell, i);

		for (int j = threadIdx.x % ISO_WARP; j < r.n; j += ISO_WARP) {
			struct sradon_point p;
			double w[3];

			sradon_direction(w, &s, &f, &r, j);
			if (passes(s, f, w, middle, off) &&
			    sradon_shell_point(&p, &s, &e, q, &shell, w, r.weight))
				sum += look(v, s, p);
		}
	}
	return sum;
}

static __global__ void __launch_bounds__(THREADS)
	forward_surfaces(struct sradon_tissue_cuda m, struct iso_rows own, float *y, const float *x)
{
	const int64_t samples = m.s.p.samples;
	const struct visit v = { x, {}, 0 };

	for (int64_t i = blockIdx.x; i < own.n * samples; i += gridDim.x) {
		int64_t at = own.first * samples + i;
		double sum = iso_block_sum(surface(v, m.s, at / samples, at % samples));

		if (threadIdx.x == 0) y[at] = (float)sum;
	}
}

static __global__ void __launch_bounds__(THREADS)
	adjoint_surfaces(struct sradon_tissue_cuda m, struct iso_rows own, struct iso_fixed_cuda to,
                         const float *y)
{
	const int64_t samples = m.s.p.samples;

	for (int64_t i = blockIdx.x; i < own.n * samples; i += gridDim.x) {
		int64_t at = own.first * samples + i;
		const struct visit v = { NULL, to, to.scale * (double)y[at] };

		if (v.value != 0) surface(v, m.s, at / samples, at % samples);
	}
}

static unsigned blocks(int64_t n)
{
	return (unsigned)(n < 1 << 30 ? n : 1 << 30);
}

static int forward(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct sradon_tissue_cuda *m = (const struct sradon_tissue_cuda *)op->data;
	const struct iso_rows own = iso_share(op->ctx, m->s.p.n_trans);
	int64_t n = own.n * m->s.p.samples;
	int st = ISO_OK;

	if (n > 0) {
		forward_surfaces<<<blocks(n), THREADS, 0, iso_stream(op->ctx)>>>(*m, own, y, x);
		st = iso_cuda_launched("sradon forward through tissue");
	}
	return iso_comm_gather(op->ctx, st, y, m->s.p.n_trans, m->s.p.samples * (int64_t)sizeof *y);
}

/* What this rank's transducers give to the image, in fixed point. No voxel can get more than what a surface weighs at
   one, times all of |y|. */
static int scatter_own(const iso_op *op, const iso_real *y)
{
	const struct sradon_tissue_cuda *m = (const struct sradon_tissue_cuda *)op->data;
	struct sradon_tissue_work *w = (struct sradon_tissue_work *)op->work;
	const struct iso_rows own = iso_share(op->ctx, m->s.p.n_trans);
	int64_t n = own.n * m->s.p.samples;
	double sum, most = 0;
	int st;

	if ((st = op->ctx->vec->asum(op->ctx, op->n_out, &sum, y))) return st;
	if (!isfinite(sum))
		return iso_fail(ISO_EINPUT, "sradon: values are not finite, or too large to add up");
	for (int64_t k = 0; k < m->s.p.samples; k++) most = fmax(most, sradon_shell_most(m->host, k));
	if ((st = iso_fixed_begin(&w->acc, op->ctx, most * sum)) || n == 0) return st;
	adjoint_surfaces<<<blocks(n), THREADS, 0, iso_stream(op->ctx)>>>(*m, own, w->acc, y);
	return iso_cuda_launched("sradon adjoint through tissue");
}

static int adjoint(const iso_op *op, int, iso_real *x, const iso_real *y)
{
	struct sradon_tissue_work *w = (struct sradon_tissue_work *)op->work;
	int st = iso_fixed_sum(&w->acc, op->ctx, scatter_own(op, y));

	return st ? st : iso_fixed_end(x, &w->acc, op->ctx);
}

static int open_work(iso_op *op)
{
	iso_fixed_open(&((struct sradon_tissue_work *)op->work)->acc, &op->room, op->n_in);
	return op->room.status;
}

static void free_kept(iso_op *op)
{
	iso_delays_free(((const struct sradon_tissue_cuda *)op->data)->host->delays);
}

static const struct iso_op_fn tissue_fn_cuda = {
	forward,
	adjoint,
	NULL,
	NULL,
	NULL,
	NULL,
	open_work,
	NULL,
	free_kept,
	NULL,
	sizeof(struct sradon_tissue_work),
	NULL,
	NULL,
	NULL,
};

extern "C" int iso_sradon_tissue_to_cuda(iso_op *op)
{
	const struct sradon *host = (const struct sradon *)op->data;
	struct iso_room *room = &op->shared->room;
	struct sradon_tissue_cuda *m;

	if (!ISO_HOST(room, m, 1)) return room->status;
	m->host = host;
	m->s = *host;
	ISO_UPLOAD(room, m->s.frame, host->frame, host->p.n_trans);
	ISO_UPLOAD(room, m->s.stands, host->stands, 3 * (host->p.n_trans / host->points));
	tissue_upload(room, &m->s.sound, host->delays);
	op->data = m;
	op->fn = &tissue_fn_cuda;
	return room->status;
}
