/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalties on CUDA: pairs by columns of voxels (prior_tile.cuh); tv, and the Hessian, which few calls want, a thread a
   voxel. The value is a sum of doubles in a fixed order. */
#include "core/cuda.cuh"
#include "prior_tile.cuh"

/* ---- pairs by columns ---- */

/* Rows of a column; with Bowsher's weights registers suffice for one. */
template <int DEPTH, int EXTRA> static constexpr int rows = EXTRA == PRIOR_WEIGHTS ? 1 : 2;

static __host__ __device__ int64_t blocks_x(const int n[3])
{
	return (n[0] + PRIOR_WIDE * PRIOR_X - 1) / (PRIOR_WIDE * PRIOR_X);
}

static __host__ __device__ int64_t blocks_y(const int n[3], int each)
{
	const int high = PRIOR_THREADS / PRIOR_WIDE * each;

	return (n[1] + high - 1) / high;
}

static int64_t blocks_z(const int n[3], int planes)
{
	return (n[2] + planes - 1) / planes;
}

/* Blocks that a multiprocessor holds. */
template <int DEPTH, int EXTRA> static constexpr int resident = DEPTH || EXTRA ? 3 : 4;

template <int KIND, int DEPTH, int EXTRA, bool WHOLE>
static __global__ void __launch_bounds__(PRIOR_THREADS, resident<DEPTH, EXTRA>)
	columns(const __grid_constant__ prior_job j)
{
	constexpr int R = rows<DEPTH, EXTRA>;
	const int64_t block = blockIdx.x, gx = blocks_x(j.n), gy = blocks_y(j.n, R);
	const int tx = threadIdx.x % PRIOR_WIDE, ty = threadIdx.x / PRIOR_WIDE;
	const int x0 = ((int)(block % gx) * PRIOR_WIDE + tx) * PRIOR_X;
	const int y0 = ((int)(block / gx % gy) * (PRIOR_THREADS / PRIOR_WIDE) + ty) * R;
	const int z0 = (int)(block / gx / gy) * j.planes;
	double value = 0;

	if (x0 < j.n[0] && y0 < j.n[1]) value = prior_column<KIND, DEPTH, EXTRA, WHOLE, R>(j, x0, y0, z0);
	if (!DEPTH) return;
	value = iso_block_sum(value);
	if (threadIdx.x == 0) j.partial[block] = value;
}

/* Chooses the planes of a column. Long columns compute fewer planes twice; short ones leave fewer multiprocessors without
   work at the end. The choice has the least sum of both costs on a card of PROCESSORS multiprocessors. It is the same on
   every card, so that the value is summed in the same order everywhere. */
static int64_t choose_planes(prior_job *j, int each, int held)
{
	enum { PROCESSORS = 132, FEWEST = 4 };
	const double again = .7; /* of a plane: what of the plane before the first is computed again */
	const int64_t plane = blocks_x(j->n) * blocks_y(j->n, each), at_once = (int64_t)held * PROCESSORS;
	double least = INFINITY;
	int best = 1;

	for (int64_t parts = 1; parts == 1 || j->n[2] / parts >= FEWEST; parts++) {
		const int planes = (int)((j->n[2] + parts - 1) / parts);
		const int64_t rounds = (plane * blocks_z(j->n, planes) + at_once - 1) / at_once;
		const double cost = (double)rounds * (planes + again);

		if (cost < least) least = cost, best = planes;
	}
	j->planes = best;
	return plane * blocks_z(j->n, best);
}

template <int KIND, int DEPTH, int EXTRA, bool WHOLE> static int64_t launch(prior_job *j, cudaStream_t stream)
{
	const int64_t blocks = choose_planes(j, rows<DEPTH, EXTRA>, resident<DEPTH, EXTRA>);

	columns<KIND, DEPTH, EXTRA, WHOLE><<<(unsigned)blocks, PRIOR_THREADS, 0, stream>>>(*j);
	return blocks;
}

static bool aligned(const void *p)
{
	return (uintptr_t)p % sizeof(float4) == 0;
}

/* Rows begin at multiples of 16 bytes, and end with a whole column. */
static bool whole_rows(const prior_job *j)
{
	return j->n[0] % PRIOR_X == 0 && aligned(j->x) && aligned(j->gradient) && aligned(j->curvature) &&
	       aligned(j->kappa) && aligned(j->bits);
}

/* Without kappa only relative differences have a kernel of their own; the others read 1 in its place. */
template <int KIND, int DEPTH> static int64_t launch_with(prior_job *j, cudaStream_t stream)
{
	const bool whole = whole_rows(j),
		   plain = whole && j->n[1] % rows<DEPTH, PRIOR_PLAIN> == 0 && !j->kappa;

	if (j->bits && whole) return launch<KIND, DEPTH, PRIOR_WEIGHTS, true>(j, stream);
	if (j->bits) return launch<KIND, DEPTH, PRIOR_WEIGHTS, false>(j, stream);
	if (KIND == ISO_PRIOR_RDP && plain) return launch<ISO_PRIOR_RDP, DEPTH, PRIOR_PLAIN, true>(j, stream);
	if (whole) return launch<KIND, DEPTH, PRIOR_KAPPA, true>(j, stream);
	return launch<KIND, DEPTH, PRIOR_KAPPA, false>(j, stream);
}

template <int DEPTH> static int64_t launch_kind(prior_job *j, cudaStream_t stream)
{
	switch (j->p.kind) {
#define CASE(KIND, word)       \
	case ISO_PRIOR_##KIND: \
		return launch_with<ISO_PRIOR_##KIND, DEPTH>(j, stream);
		PRIOR_EACH(CASE)
#undef CASE
	default:
		return 0;
	}
}

/* ---- the Hessian's diagonal ---- */

/* The Hessian's diagonal at voxel v; or, with an image u, the Hessian times u there: f_12 = -sqrt(f_11 f_22) in every kind of
   pairs. */
template <int KIND, bool PRODUCT>
static __device__ float hessian_at(const prior_job &j, const int at[3], int64_t v, const float *u)
{
	float sum = 0;

	for (int dz = -1; dz <= 1; dz++)
		for (int dy = -1; dy <= 1; dy++)
			for (int dx = -1; dx <= 1; dx++) {
				const int x = at[0] + dx, y = at[1] + dy, z = at[2] + dz;
				const int64_t m = ((int64_t)z * j.n[1] + y) * j.n[0] + x;

				if (dz * 9 + dy * 3 + dx == 0 || x < 0 || x >= j.n[0] || y < 0 ||
				    y >= j.n[1] || z < 0 || z >= j.n[2])
					continue;
				float w = j.p.w[prior_number(dx, dy, dz)];

				if (j.bits)
					w = prior_weight<PRIOR_WEIGHTS>(j.p, dx, dy, dz, j.bits[v],
					                                j.bits[m]);
				if (j.kappa) w *= j.kappa[v] * j.kappa[m];
				if (PRODUCT) {
					prior_pair q = prior_pair_of((enum iso_prior_kind)KIND, &j.p, j.x[v],
					                             j.x[m]);

					sum = fmaf(w, q.h1 * u[v] - sqrtf(q.h1 * q.h2) * u[m], sum);
				} else {
					sum = fmaf(w, prior_at<KIND>(j.p, j.x[v], j.x[m]).h1, sum);
				}
			}
	return sum;
}

template <int KIND, bool PRODUCT>
static __global__ void hessians(const __grid_constant__ prior_job j, int64_t voxels, float *to,
                                const float *u)
{
	ISO_GRID_LOOP (v, voxels) {
		const int at[3] = { (int)(v % j.n[0]), (int)(v / j.n[0] % j.n[1]),
			            (int)(v / j.n[0] / j.n[1]) };

		to[v] = hessian_at<KIND, PRODUCT>(j, at, v, u);
	}
}

/* u: as above; NULL: the diagonal. */
static void launch_hessian(const prior_job *j, int64_t n, float *to, const float *u, cudaStream_t stream)
{
	const int blocks = iso_blocks(n);

	switch (j->p.kind) {
#define CASE(KIND, word)                                                                                     \
	case ISO_PRIOR_##KIND:                                                                               \
		if (u)                                                                                       \
			hessians<ISO_PRIOR_##KIND, true><<<blocks, ISO_THREADS, 0, stream>>>(*j, n, to, u);  \
		else                                                                                         \
			hessians<ISO_PRIOR_##KIND, false><<<blocks, ISO_THREADS, 0, stream>>>(*j, n, to, u); \
		return;
		PRIOR_EACH(CASE)
#undef CASE
	default:
		return;
	}
}

/* ---- tv ---- */

/* The term of voxel v, at `at`. */
static __device__ prior_tv tv_at(const prior_job &j, const int at[3], int64_t v)
{
	const int64_t step[3] = { 1, j.n[0], (int64_t)j.n[0] * j.n[1] };
	float next[3], there[3];

	for (int a = 0; a < 3; a++) {
		const bool in = at[a] + 1 < j.n[a];

		next[a] = in ? j.x[v + step[a]] : 0;
		there[a] = in && (!j.kappa || j.kappa[v + step[a]] > 0);
	}
	return prior_tv_of(&j.p, j.kappa ? j.kappa[v] : 1, j.x[v], next, there);
}

/* A voxel has its own term, and a part of the terms of the voxels before it along each axis. */
static __global__ void tv_voxels(const __grid_constant__ prior_job j, int64_t voxels, float *hessian)
{
	const int64_t step[3] = { 1, j.n[0], (int64_t)j.n[0] * j.n[1] };
	double value = 0;

	ISO_GRID_LOOP (v, voxels) {
		const int at[3] = { (int)(v % j.n[0]), (int)(v / j.n[0] % j.n[1]),
			            (int)(v / j.n[0] / j.n[1]) };
		const prior_tv own = tv_at(j, at, v);
		const bool seen = !j.kappa || j.kappa[v] > 0;
		float g = own.g, c = own.c, h = own.h;

		for (int a = 0; a < 3; a++) {
			const int before[3] = { at[0] - (a == 0), at[1] - (a == 1), at[2] - (a == 2) };

			if (before[a] < 0 || !seen) continue;
			const prior_tv t = tv_at(j, before, v - step[a]);

			g += t.ga[a];
			c += t.ca[a];
			h += t.ha[a];
		}
		value += own.f;
		if (j.gradient) j.gradient[v] = g;
		if (j.curvature) j.curvature[v] = c;
		if (hessian) hessian[v] = h;
	}
	value = iso_block_sum(value);
	if (threadIdx.x == 0) j.partial[blockIdx.x] = value;
}

/* ---- a prior ---- */

static prior_job job_of(const iso_prior *r, const float *x, const prior_want *want)
{
	prior_job j = ISO_ZERO;

	j.p = r->par;
	for (int a = 0; a < 3; a++) j.n[a] = (int)r->par.n[a];
	j.x = x;
	j.kappa = r->kappa;
	j.bits = r->bits;
	j.gradient = want->gradient;
	j.curvature = want->curvature;
	j.partial = r->partial;
	return j;
}

/* The sum of `blocks` partial sums, in their order. */
static int sum_up(double *value, iso_prior *r, int64_t blocks)
{
	struct iso_room room = iso_room_of(r->ctx, "prior");
	double *part;

	if (ISO_HOST(&room, part, blocks))
		room.status = r->ctx->vec->download(r->ctx, part, r->partial, blocks * (int64_t)sizeof *part);
	if (!room.status) *value = 0;
	for (int64_t i = 0; i < blocks && !room.status; i++) *value += part[i];
	return iso_room_free(&room);
}

static int eval(iso_prior *r, const prior_want *want, const iso_real *x)
{
	const int64_t n = r->par.n[0] * r->par.n[1] * r->par.n[2];
	prior_job j = job_of(r, x, want);
	cudaStream_t stream = iso_stream(r->ctx);
	int64_t blocks = 0;
	int st = iso_cuda_use(r->ctx);

	if (st) return st;
	if (!r->pairs) {
		blocks = iso_blocks(n);
		tv_voxels<<<(unsigned)blocks, ISO_THREADS, 0, stream>>>(j, n, want->hessian);
	} else {
		if (want->value || want->curvature)
			blocks = launch_kind<1>(&j, stream);
		else if (want->gradient)
			launch_kind<0>(&j, stream);
		if (want->hessian) launch_hessian(&j, n, want->hessian, NULL, stream);
	}
	if ((st = iso_cuda_launched("prior"))) return st;
	return want->value ? sum_up(want->value, r, blocks) : ISO_OK;
}

/* ---- the step of an update ---- */

/* The update, after the gradient of the prior has been written to `to` (`prior`: there is one). It is a kernel of its own:
   as a part of the gradient's kernel it took almost three times as long as the two kernels together. */
static __global__ void update_voxels(int64_t n, float *to, const float *x, prior_update u, bool prior)
{
	ISO_GRID_LOOP (i, n) {
		to[i] = prior_updated(&u, x[i], u.z[i], u.g[i], u.p[i], prior ? to[i] : 0);
		u.z[i] = 0;
	}
}

static int step(iso_prior *r, iso_real *to, const iso_real *x, const prior_update *u)
{
	const int64_t n = r->par.n[0] * r->par.n[1] * r->par.n[2];
	const prior_want want = { NULL, to, NULL, NULL };
	int st = eval(r, &want, x);

	if (st) return st;
	update_voxels<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(r->ctx)>>>(n, to, x, *u, true);
	return iso_cuda_launched("prior step");
}

static int product(iso_prior *r, iso_real *to, const iso_real *x, const iso_real *v)
{
	const prior_want want = ISO_ZERO;
	const prior_job j = job_of(r, x, &want);
	int st = iso_cuda_use(r->ctx);

	if (st) return st;
	launch_hessian(&j, r->par.n[0] * r->par.n[1] * r->par.n[2], to, v, iso_stream(r->ctx));
	return iso_cuda_launched("Hessian of the prior");
}

/* ---- opening ---- */

extern "C" int iso_prior_open_cuda(iso_prior *r)
{
	prior_job j = ISO_ZERO;
	int64_t blocks;

	for (int a = 0; a < 3; a++) {
		if (r->par.n[a] > INT32_MAX / 2)
			return iso_fail(ISO_EARG, "prior: size %c is %" PRId64 ", on CUDA at most %d",
			                "xyz"[a], r -> par.n[a], INT32_MAX / 2);
		j.n[a] = (int)r->par.n[a];
	}
	blocks = 0;
	for (int i = 0; i < 4; i++) { /* rows<>, resident<> */
		const int64_t some = choose_planes(&j, 1 + i % 2, 3 + i / 2);

		if (blocks < some) blocks = some;
	}
	if (blocks > INT32_MAX)
		return iso_fail(ISO_EARG, "prior: the image is larger than a grid of CUDA blocks");
	r->eval_cuda = eval;
	r->step_cuda = step;
	r->product_cuda = product;
	ISO_DEVICE(&r->room, r->partial, blocks > 2048 ? blocks : 2048); /* iso_blocks: at most 2048 */
	return r->room.status;
}

/* ---- without a prior ---- */

extern "C" int iso_prior_plain_step_cuda(iso_ctx *ctx, int64_t n, iso_real *to, const iso_real *x,
                                         const prior_update *u)
{
	int st = iso_cuda_use(ctx);

	if (st) return st;
	update_voxels<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(n, to, x, *u, false);
	return iso_cuda_launched("step");
}
