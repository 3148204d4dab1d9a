/* SPDX-License-Identifier: BSD-3-Clause */
/* The spherical Radon transform on CUDA: brick by brick (sradon_brick.cuh), or forward, for
   comparison, a block a sphere: a warp has a ring, first its lanes look at 32 points apart to find
   the stretches of the ring that meet the image, then they take those, a point a lane. The adjoint
   can also gather: a thread a voxel looks up the points around it, as sradon_gather.c does. */
#include "sradon_brick.cuh"
#include "sradon_gather.cuh"

#include <stdlib.h>
#include <string.h>

enum { SPHERE_THREADS = 128, MANY_BLOCKS = 8192 };

struct sradon_cuda_work {
	float *image;			/* with zeros around: cell (i + 1, j + 1, k + 1) is a voxel */
	struct iso_fixed_cuda acc;	/* samples or voxels */
	int *exponent;			/* of the scale, for each group of transducers */
};

/* ---- along a ring ---- */

struct circle {
	float c[3], a[3], b[3];
};

static __device__ struct circle circle_of(const struct sradon_params &p,
					  const struct sradon_frame &f, double rho,
					  const struct sradon_ring &r)
{
	struct sradon_circle z = sradon_circle(&p, &f, rho, &r);
	struct circle c;

	for (int i = 0; i < 3; i++) {
		c.c[i] = (float)z.c[i];
		c.a[i] = (float)z.a[i];
		c.b[i] = (float)z.b[i];
	}
	return c;
}

/* Azimuth `steps` times r.step, as a fraction of a turn in [-1/2, 1/2]: exact before float. */
static __device__ void point_at(float at[3], const struct circle &c, double steps, double turn)
{
	double t = steps * turn;
	float co, si;

	sincospif(2 * (float)(t - rint(t)), &si, &co);
	for (int i = 0; i < 3; i++)
		at[i] = fmaf(c.b[i], si, fmaf(c.a[i], co, c.c[i]));
}

/* Distance from the box [-1, n]; inside it is 0 or less. */
static __device__ float outside(const struct sradon_params &p, const float at[3])
{
	float most = -1;

	for (int i = 0; i < 3; i++)
		most = fmaxf(most, fmaxf(-1 - at[i], at[i] - (float)p.n[i]));
	return most;
}

/* Cell of the first of the eight voxels around a point, and the fractions. */
static __device__ int64_t corner_of(float f[3], const struct sradon_params &p, const float at[3])
{
	int64_t i[3];

	for (int a = 0; a < 3; a++) {
		float low = floorf(at[a]);

		f[a] = at[a] - low;
		i[a] = (int64_t)low + 1;
	}
	return (i[2] * (p.n[1] + 3) + i[1]) * (p.n[0] + 3) + i[0];
}

static __device__ float mix(float a, float b, float f)
{
	return fmaf(f, b - a, a);
}

static __device__ float take(const float *image, const struct sradon_params &p, const float at[3])
{
	float f[3];
	const float *v = image + corner_of(f, p, at);
	int64_t row = p.n[0] + 3;
	const float *u = v + row * (p.n[1] + 3);
	float low = mix(mix(v[0], v[1], f[0]), mix(v[row], v[row + 1], f[0]), f[1]);
	float high = mix(mix(u[0], u[1], f[0]), mix(u[row], u[row + 1], f[0]), f[1]);

	return mix(low, high, f[2]);
}

/* A warp walks a ring; each lane returns its share of the sum. Stretches are 32 points; one whose
   middle lies more than 16 steps outside has no point inside. */
static __device__ float walk(const struct sradon_params &p, const struct circle &c,
			     const struct sradon_ring &r, float radius, const float *image)
{
	int lane = threadIdx.x % ISO_WARP, stretches = (r.n + ISO_WARP - 1) / ISO_WARP;
	double turn = r.step / 6.283185307179586477, shift = sradon_shift(&p);
	float half = 16.01f * radius * (float)r.step + 1e-3f, at[3], sum = 0;

	for (int first = 0; first < stretches; first += ISO_WARP) {
		bool meets = false;

		if (first + lane < stretches) {
			point_at(at, c, (first + lane) * 32. + 15.5 + shift, turn);
			meets = outside(p, at) <= half;
		}
		for (unsigned left = __ballot_sync(ISO_FULL_WARP, meets); left; left &= left - 1) {
			int j = (first + __ffs(left) - 1) * ISO_WARP + lane;

			if (j >= r.n)
				continue;
			point_at(at, c, j + shift, turn);
			if (outside(p, at) <= 0)
				sum += take(image, p, at);
		}
	}
	return sum;
}

/* ---- a block a sphere ---- */

static __device__ struct sradon_ring ring_of(const struct sradon_cuda &m, int64_t k, double rho,
					     double top, int i)
{
	return m.p.sampling == ISO_SRADON_MIDPOINT ? m.ring[m.start[k] + i]
		: sradon_ring(&m.p, rho, sradon_theta(&m.p, rho, top, i));
}

static __device__ bool meets_box(const struct sradon_params &p, const struct circle &c)
{
	for (int i = 0; i < 3; i++) {
		float reach = sqrtf(c.a[i] * c.a[i] + c.b[i] * c.b[i]) + 1e-3f;

		if (c.c[i] + reach < -1 || c.c[i] - reach > (float)p.n[i])
			return false;
	}
	return true;
}

/* The thread's share of the sum over the sphere of sample k. */
static __device__ double sphere(const struct sradon_cuda &m, int64_t q, int64_t k,
				const float *image)
{
	const struct sradon_frame &f = m.frame[q];
	double rho = sradon_radius(&m.p, k), sum = 0;
	double top = rho > 0 ? sradon_theta_max(&m.p, f.distance, rho) : -1;
	int n = sradon_n_rings(&m.p, rho, top), warps = (int)blockDim.x / ISO_WARP;

	for (int i = (int)threadIdx.x / ISO_WARP; i < n; i += warps) {
		struct sradon_ring r = ring_of(m, k, rho, top, i);
		struct circle c = circle_of(m.p, f, rho, r);

		if (meets_box(m.p, c))
			sum += r.weight * walk(m.p, c, r, (float)(rho * r.sin_theta / m.p.ds), image);
	}
	return sum;
}

static __global__ void forward_spheres(struct sradon_cuda m, float *y, const float *image)
{
	int64_t j = blockIdx.x;
	double sum = iso_block_sum(sphere(m, j / m.p.samples, j % m.p.samples, image));

	if (threadIdx.x == 0)
		y[j] = (float)sum;
}

/* ---- launches ---- */

static int64_t cells(const struct sradon_params *p)
{
	return (p->n[0] + 3) * (p->n[1] + 3) * (p->n[2] + 3);
}

static __device__ int64_t cell_of(const struct sradon_params &p, int64_t v)
{
	int64_t ix = v % p.n[0], iy = v / p.n[0] % p.n[1], iz = v / p.n[0] / p.n[1];

	return ((iz + 1) * (p.n[1] + 3) + iy + 1) * (p.n[0] + 3) + ix + 1;
}

static __global__ void pad(struct sradon_params p, int64_t voxels, float *image, const float *x)
{
	ISO_GRID_LOOP(v, voxels)
		image[cell_of(p, v)] = x[v];
}

/* The zeros around the image were set when the work space was made. */
static int forward_by_spheres(const iso_op *op, iso_real *y, const iso_real *x)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)op->work;
	cudaStream_t stream = iso_stream(op->ctx);
	int st;

	pad<<<iso_blocks(op->n_in), ISO_THREADS, 0, stream>>>(m->p, op->n_in, w->image, x);
	if ((st = iso_cuda_launched("sradon image")))
		return st;
	forward_spheres<<<(unsigned)op->n_out, SPHERE_THREADS, 0, stream>>>(*m, y, w->image);
	return iso_cuda_launched("sradon forward");
}

static int64_t groups(const struct sradon_cuda *m)
{
	return (m->p.n_trans + m->group - 1) / m->group;
}

/* Blocks: some for each brick, so that there are enough to fill any card many times over. */
static dim3 blocks_of(const struct sradon_cuda *m)
{
	const struct sradon_params *p = &m->p;
	int64_t bricks = (int64_t)sradon_bricks(p, 0) * sradon_bricks(p, 1) * sradon_bricks(p, 2);
	int64_t shares = (MANY_BLOCKS + bricks - 1) / bricks, most = groups(m);

	return dim3((unsigned)bricks, (unsigned)(shares < most ? shares : most));
}

/* Clears sums of n values, each at most 64 weights of the |v| added up: a voxel has far less than 64
   points of a sphere within reach. */
static int begin_sums(const iso_op *op, int64_t n, int64_t n_from, const iso_real *v)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)op->work;
	double sum;
	int st;

	if ((st = op->ctx->vec->asum(op->ctx, n_from, &sum, v))) return st;
	w->acc.n = n;
	return iso_fixed_begin(&w->acc, op->ctx, sum > 0 ? 64 * m->weight * sum : 1);
}

static int forward(const iso_op *op, int, iso_real *y, const iso_real *x)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)op->work;
	const char *way = getenv("ISO_SRADON_FORWARD");
	int st;

	if (way && strcmp(way, "spheres") == 0)
		return forward_by_spheres(op, y, x);
	if ((st = begin_sums(op, op->n_out, op->n_in, x))) return st;
	auto kernel = m->p.sampling == ISO_SRADON_MIDPOINT ? forward_bricks<true> : forward_bricks<false>;

	kernel<<<blocks_of(m), BRICK_THREADS, 0, iso_stream(op->ctx)>>>(*m, w->acc, x);
	if ((st = iso_cuda_launched("sradon forward"))) return st;
	return iso_fixed_end(y, &w->acc, op->ctx);
}

static int scatter(const iso_op *op, iso_real *x, const iso_real *y)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)op->work;
	cudaStream_t stream = iso_stream(op->ctx);
	int st = begin_sums(op, op->n_in, op->n_out, y);

	if (st)
		return st;
	auto kernel = m->p.sampling == ISO_SRADON_MIDPOINT ? adjoint_bricks<true> : adjoint_bricks<false>;
	int finest = ilogb(w->acc.scale);

	group_exponents<<<(unsigned)groups(m), BRICK_THREADS, 0, stream>>>(*m, finest, w->exponent, y);
	if ((st = iso_cuda_launched("sradon scales"))) return st;
	kernel<<<blocks_of(m), BRICK_THREADS, 0, stream>>>(*m, finest, w->acc, w->exponent, y);
	if ((st = iso_cuda_launched("sradon adjoint"))) return st;
	return iso_fixed_end(x, &w->acc, op->ctx);
}

static int gather(const iso_op *op, iso_real *x, const iso_real *y)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	int64_t blocks = (op->n_in + GATHER_THREADS - 1) / GATHER_THREADS;
	auto kernel = m->p.sampling == ISO_SRADON_MIDPOINT ? gather_voxels<true> : gather_voxels<false>;

	kernel<<<(unsigned)(blocks < 1 << 30 ? blocks : 1 << 30), GATHER_THREADS, 0,
		 iso_stream(op->ctx)>>>(*m, op->n_in, x, y);
	return iso_cuda_launched("sradon gather");
}

static int adjoint(const iso_op *op, int, iso_real *x, const iso_real *y)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;

	return m->host->adjoint == ISO_SRADON_GATHER ? gather(op, x, y) : scatter(op, x, y);
}

/* ---- memory ---- */

static void close_work(iso_op *op)
{
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)op->work;

	cudaFree(w->image);
	cudaFree(w->acc.v);
	cudaFree(w->exponent);
	free(w);
}

static int open_work(iso_op *op)
{
	const struct sradon_cuda *m = (const struct sradon_cuda *)op->data;
	struct sradon_cuda_work *w = (struct sradon_cuda_work *)calloc(1, sizeof *w);
	const struct iso_vec *v = op->ctx->vec;
	int64_t sums = op->n_in > op->n_out ? op->n_in : op->n_out;
	int st;

	if (!w)
		return iso_fail_memory("sradon", sizeof *w);
	op->work = w;	/* from here close_work cleans up */
	if ((st = v->alloc(op->ctx, (void **)&w->image, cells(&m->p) * (int64_t)sizeof *w->image)))
		return st;
	if ((st = v->alloc(op->ctx, (void **)&w->exponent, groups(m) * (int64_t)sizeof *w->exponent)))
		return st;
	return v->alloc(op->ctx, (void **)&w->acc.v, sums * (int64_t)sizeof *w->acc.v);
}

static void free_tables(iso_op *op)
{
	struct sradon_cuda *m = (struct sradon_cuda *)op->data;
	iso_op on_host = *op;

	cudaFree(m->frame);
	cudaFree(m->ring);
	cudaFree(m->row);
	cudaFree(m->axes);
	cudaFree(m->start);
	on_host.data = m->host;
	iso_sradon_free(&on_host);
	free(m);
}

static const struct iso_op_fn sradon_fn_cuda = {
	forward, adjoint, NULL, NULL, NULL, open_work, close_work, free_tables, NULL,
};

static int upload(iso_ctx *ctx, void *to, const void *from, int64_t bytes)
{
	void **p = (void **)to;
	int st = ctx->vec->alloc(ctx, p, bytes > 0 ? bytes : 1);

	return st || bytes == 0 ? st : ctx->vec->upload(ctx, *p, from, bytes);
}

static double largest_weight(const struct sradon *s)
{
	double most = s->p.ds * s->p.ds;	/* of algorithm 4 */

	for (int64_t i = 0; i < s->start[s->p.samples]; i++)
		most = fmax(most, s->ring[i].weight);
	return most;
}

static void fill_tables(struct sradon_row *row, struct sradon_axes *axes, const struct sradon *s)
{
	for (int64_t q = 0; q < s->p.n_trans; q++)
		axes[q] = sradon_axes(&s->p, &s->frame[q]);
	for (int64_t k = 0; k < s->p.samples; k++)
		for (int64_t i = s->start[k]; i < s->start[k + 1]; i++)
			row[i] = sradon_row(&s->p, sradon_radius(&s->p, k), &s->ring[i]);
}

/* Rings and transducers as the bricks need them. */
static int upload_tables(iso_ctx *ctx, struct sradon_cuda *m)
{
	const struct sradon *s = m->host;
	int64_t rows = s->start[s->p.samples] * (int64_t)sizeof *m->row;
	int64_t axes = s->p.n_trans * (int64_t)sizeof *m->axes;
	struct sradon_row *row = (struct sradon_row *)malloc((size_t)rows + 1);
	struct sradon_axes *axis = (struct sradon_axes *)malloc((size_t)axes + 1);
	int st = row && axis ? ISO_OK : iso_fail_memory("rings", rows + axes);

	if (!st) {
		fill_tables(row, axis, s);
		st = upload(ctx, &m->row, row, rows);
	}
	if (!st)
		st = upload(ctx, &m->axes, axis, axes);
	free(row);
	free(axis);
	return st;
}

/* Bounds for the sums of a brick: group * load * most <= 2^31. */
static void bound_sums(struct sradon_cuda *m)
{
	double load = sradon_load(&m->p), fit = 0x1p31 / (load * 0x1p22);

	m->group = (int)fmin(fmax(fit, 1), GROUP);
	m->most = fmin(0x1p22, 0x1p31 / (load * m->group));
}

extern "C" int iso_sradon_to_cuda(iso_op *op)
{
	struct sradon *s = (struct sradon *)op->data;
	struct sradon_cuda *m = (struct sradon_cuda *)calloc(1, sizeof *m);
	int64_t rings = s->start[s->p.samples];
	int st;

	if (!m)
		return iso_fail_memory("sradon", sizeof *m);
	if (op->n_out > INT32_MAX) {
		free(m);
		return iso_fail(ISO_EARG, "sradon: %lld samples in all, most on CUDA are %d",
				(long long)op->n_out, INT32_MAX);
	}
	m->p = s->p;
	m->host = s;
	m->weight = largest_weight(s);
	bound_sums(m);
	op->data = m;	/* from here free_tables cleans up */
	op->fn = &sradon_fn_cuda;
	if ((st = upload(op->ctx, &m->frame, s->frame, s->p.n_trans * (int64_t)sizeof *s->frame)))
		return st;
	if ((st = upload(op->ctx, &m->ring, s->ring, rings * (int64_t)sizeof *s->ring))) return st;
	if ((st = upload_tables(op->ctx, m))) return st;
	return upload(op->ctx, &m->start, s->start, (s->p.samples + 1) * (int64_t)sizeof *s->start);
}
