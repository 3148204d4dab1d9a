/* SPDX-License-Identifier: BSD-3-Clause */
/* The spherical Radon transform on CUDA, brick by brick (sradon_brick.cuh). The adjoint can also gather:
   a thread a voxel looks up the points around it, as sradon_gather.c does. A rank has its share of the groups of
   transducers, and gathering, of the voxels. */
#include "sradon_brick.cuh"
#include "sradon_gather.cuh"

enum { MANY_BLOCKS = 8192 };

struct sradon_cuda_work {
	struct iso_fixed_cuda acc; /* samples or voxels */
	int *exponent;             /* of the scale, for each group of transducers */
};

static int64_t groups(const struct sradon_cuda *m)
{
	return (m->p.n_trans + m->group - 1) / m->group;
}

static int64_t bricks(const struct sradon_params *p, int edge)
{
	return (int64_t)sradon_bricks(p, edge, 0) * sradon_bricks(p, edge, 1) * sradon_bricks(p, edge, 2);
}

/* A kernel of bricks for `most` groups: some blocks for each brick, so that there are enough to fill any
   card many times over. */
struct launch {
	dim3 blocks;
	unsigned threads;
	int bytes; /* of shared memory */
};

static struct launch launch_of(const struct sradon_cuda *m, int64_t most)
{
	int64_t n = bricks(&m->p, m->edge), shares = (MANY_BLOCKS + n - 1) / n;
	bool large = m->edge == 32;

	return { dim3((unsigned)n, (unsigned)(shares < most ? shares : most)),
		 (unsigned)(large ? brick_shape<32>::THREADS : brick_shape<16>::THREADS),
		 large ? (int)sizeof(struct brick_room<int, 32>) : (int)sizeof(struct brick_room<int, 16>) };
}

template <class F> static int shared_memory(F kernel, int bytes)
{
	return iso_cuda_check(
		"sradon shared memory",
		cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

/* Large bricks where a block may have the shared memory, and where an image in all directions larger than
   one of them leaves enough blocks: of the whole problem, whatever a rank's share of it. */
static int choose_edge(const iso_ctx *ctx, const struct sradon_cuda *m)
{
	const struct sradon_params *p = &m->p;
	int most = 0;
	bool wide = p->n[0] > 32 && p->n[1] > 32 && p->n[2] > 32;

	if (cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx->cuda_device))
		return 16;
	return wide && most >= (int)sizeof(struct brick_room<int, 32>) &&
	                       bricks(p, 32) * groups(m) >= MANY_BLOCKS / 16
	               ? 32
	               : 16;
}

/* Clears sums of n values, each at most 64 weights of the |v| added up, or more with finer patches: a
   voxel has far less than 64 points of a sphere within reach. */
static int begin_sums(const iso_op *op, int64_t n, int64_t n_from, const iso_real *v)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)op->work;
	double sum;
	int st;

	if ((st = op->ctx->vec->asum(op->ctx, n_from, &sum, v))) return st;
	if (!isfinite(sum))
		return iso_fail(ISO_EINPUT, "sradon: values are not finite, or too large to add up");
	w->acc.n = n;
	return iso_fixed_begin(&w->acc, op->ctx, sum > 0 ? 64 * sradon_dense(&m->p) * m->weight * sum : 1);
}

/* The integrals of this rank's groups; those of the others are 0. */
static int forward_own(const iso_op *op, struct iso_rows own, iso_real *y, const iso_real *x)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)op->work;
	bool table = m->p.sampling == ISO_SRADON_MIDPOINT;
	auto small = table ? forward_bricks<true, 16> : forward_bricks<false, 16>;
	auto large = table ? forward_bricks<true, 32> : forward_bricks<false, 32>;
	auto kernel = m->edge == 32 ? large : small;
	struct launch l = launch_of(m, own.n);
	int st;

	if (own.n == 0) return ISO_OK;
	if ((st = begin_sums(op, op->n_out, op->n_in, x)) || (st = shared_memory(kernel, l.bytes))) return st;
	kernel<<<l.blocks, l.threads, l.bytes, iso_stream(op->ctx)>>>(*m, own, w->acc, x);
	if ((st = iso_cuda_launched("sradon forward"))) return st;
	return iso_fixed_end(y, &w->acc, op->ctx);
}

static int forward(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	int64_t n = groups(m), trace = m->p.samples * (int64_t)sizeof *y; /* bytes */
	int st = forward_own(op, iso_share(op->ctx, n), y, x);

	return iso_comm_gather_cut(op->ctx, st, y, n, m->group * trace, m->p.n_trans * trace);
}

/* What this rank's groups give to the image, in fixed point. */
static int scatter_own(const iso_op *op, const iso_real *y)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)op->work;
	const struct iso_rows own = iso_share(op->ctx, groups(m));
	cudaStream_t stream = iso_stream(op->ctx);
	int st = begin_sums(op, op->n_in, op->n_out, y);

	if (st || own.n == 0) return st;
	bool table = m->p.sampling == ISO_SRADON_MIDPOINT;
	auto small = table ? adjoint_bricks<true, 16> : adjoint_bricks<false, 16>;
	auto large = table ? adjoint_bricks<true, 32> : adjoint_bricks<false, 32>;
	auto kernel = m->edge == 32 ? large : small;
	struct launch l = launch_of(m, own.n);
	int finest = ilogb(w->acc.scale);

	group_exponents<<<(unsigned)groups(m), ISO_THREADS, 0, stream>>>(*m, finest, w->exponent, y);
	if ((st = iso_cuda_launched("sradon scales")) || (st = shared_memory(kernel, l.bytes))) return st;
	kernel<<<l.blocks, l.threads, l.bytes, stream>>>(*m, own, finest, w->acc, w->exponent, y);
	return iso_cuda_launched("sradon adjoint");
}

static int gather_own(const iso_op *op, iso_real *x, const iso_real *y)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	const struct iso_rows own = iso_share(op->ctx, op->n_in);
	int64_t blocks = (own.n + GATHER_THREADS - 1) / GATHER_THREADS;
	auto kernel = m->p.sampling == ISO_SRADON_MIDPOINT ? gather_voxels<true> : gather_voxels<false>;

	if (own.n == 0) return ISO_OK;
	kernel<<<(unsigned)(blocks < 1 << 30 ? blocks : 1 << 30), GATHER_THREADS, 0, iso_stream(op->ctx)>>>(
		*m, own, x, y);
	return iso_cuda_launched("sradon gather");
}

static int adjoint(const iso_op *op, int, iso_real *x, const iso_real *y)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)op->work;
	int st;

	if (m->host->adjoint == ISO_SRADON_GATHER)
		return iso_comm_gather(op->ctx, gather_own(op, x, y), x, op->n_in, sizeof *x);
	st = iso_fixed_sum(&w->acc, op->ctx, scatter_own(op, y));
	return st ? st : iso_fixed_end(x, &w->acc, op->ctx);
}

static int open_work(iso_op *op)
{
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)op->work;

	ISO_DEVICE(&op->room, w->exponent, groups((const struct sradon_cuda *)op->data));
	iso_fixed_open(&w->acc, &op->room, op->n_in > op->n_out ? op->n_in : op->n_out);
	return op->room.status;
}

static const struct iso_op_fn sradon_fn_cuda = {
	forward,
	adjoint,
	NULL,
	NULL,
	NULL,
	NULL,
	open_work,
	NULL,
	NULL,
	NULL,
	sizeof(struct sradon_cuda_work),
	NULL,
	NULL,
	NULL,
};

extern "C" int iso_sradon_to_cuda(iso_op *op)
{
	struct sradon *s = (struct sradon *)op->data;
	struct iso_room *room = &op->shared->room;
	int64_t rows = s->start[s->p.samples];
	double load = sradon_load(&s->p);
	struct sradon_cuda *m;
	struct sradon_row *row;
	struct sradon_axes *axes;

	if (op->n_out > INT32_MAX)
		return iso_fail(ISO_EARG, "sradon: %lld samples in all, most on CUDA are %d",
		                (long long)op->n_out, INT32_MAX);
	if (!ISO_HOST(room, m, 1)) return room->status;
	m->p = s->p;
	m->host = s;
	m->weight = s->p.h * s->p.h; /* of algorithm 4 */
	for (int64_t i = 0; i < rows; i++) m->weight = fmax(m->weight, s->ring[i].weight);
	/* bounds for the sums of a brick: group * load * most <= 2^31 */
	m->group = (int)fmin(fmax(0x1p31 / (load * 0x1p22), 1), GROUP);
	m->most = fmin(0x1p22, 0x1p31 / (load * m->group));
	m->edge = choose_edge(op->ctx, m);
	op->data = m;
	op->fn = &sradon_fn_cuda;
	/* rings and transducers as the bricks need them */
	ISO_HOST(room, row, rows);
	ISO_HOST(room, axes, s->p.n_trans);
	for (int64_t q = 0; axes && q < s->p.n_trans; q++) axes[q] = sradon_axes(&s->p, &s->frame[q]);
	for (int64_t k = 0; axes && k < s->p.samples; k++)
		for (int64_t i = s->start[k]; i < s->start[k + 1]; i++)
			row[i] = sradon_row(&s->p, sradon_radius(&s->p, k), &s->ring[i]);
	m->row = ISO_MOVE(room, row, rows);
	m->axes = ISO_MOVE(room, axes, s->p.n_trans);
	ISO_UPLOAD(room, m->start, s->start, s->p.samples + 1);
	return room->status;
}

/* ---- operators on traces: a thread a sample ---- */

template <bool ADJOINT>
static __global__ void every_sample(struct sradon_time p, int64_t n, float *y, const float *x)
{
	ISO_GRID_LOOP (j, n) {
		int64_t k = j % p.samples;

		y[j] = (float)sradon_time(&p, ADJOINT, x + (j - k), k);
	}
}

template <bool ADJOINT> static int apply(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct sradon_time *p = (const struct sradon_time *)op->data;

	every_sample<ADJOINT>
		<<<iso_blocks(op->n_in), ISO_THREADS, 0, iso_stream(op->ctx)>>>(*p, op->n_in, y, x);
	return iso_cuda_launched("traces");
}

static const struct iso_op_fn time_fn_cuda = {
	apply<false>, apply<true>, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL,
};

/* The response moves to the device; the host's copy goes. */
extern "C" int iso_sradon_time_to_cuda(iso_op *op)
{
	struct sradon_time *p = (struct sradon_time *)op->data;

	ISO_MOVE(&op->shared->room, p->eir, p->n_eir);
	op->fn = &time_fn_cuda;
	return op->shared->room.status;
}
