/* SPDX-License-Identifier: BSD-3-Clause */
/* The spherical Radon transform on CUDA, brick by brick (sradon_brick.h). A block keeps a brick of
   the image in shared memory and goes through the transducers; a warp takes a sphere at a time. Its
   lanes set up 32 rings side by side, then take the points of all their arcs in one row, 32 pairs at
   once. Whatever two blocks or warps add to is an integer, so that no order matters.

   A pair costs some 150 instructions, a sphere and 32 of its rings some 400, so bricks are as large as
   shared memory allows: of 32 cells along an axis a sphere has 620 points on average (Wang's array),
   of 16 it has 157. */
#ifndef ISO_SRADON_BRICK_CUH
#define ISO_SRADON_BRICK_CUH

#include "sradon.h"
#include "sradon_brick.h"

#include "core/loop/fixed.cuh"

struct sradon_cuda {
	struct sradon_params p;
	struct sradon_row *row; /* rings of midpoint sampling, counted in voxels */
	struct sradon_axes *axes;
	int64_t *start;
	double weight; /* the largest of a point, mm^2 */
	int edge;      /* the most cells of a brick along an axis: 16 or 32 */
	int group;     /* transducers between two times that a brick is drained */
	double most;   /* the largest term of a brick's sums */
	struct sradon *host;
};

/* A sphere: its radius, theta_max (algorithm 4), its number of rings. TABLE: midpoint sampling,
   whose rings lie in a table; those of algorithm 4 are made on the way. */
struct sphere {
	double rho, top;
	int64_t k;
	int n;
};

template <bool TABLE>
static __device__ inline struct sphere sphere_of(const struct sradon_cuda &m, const struct sradon_axes &x,
                                                 int64_t k)
{
	struct sphere s = { sradon_radius(&m.p, k), 0, k, 0 };

	if (TABLE) {
		s.n = (int)(m.start[k + 1] - m.start[k]);
	} else {
		s.top = sradon_theta_max(&m.p, x.distance, s.rho);
		s.n = sradon_n_rings(&m.p, s.rho, s.top);
	}
	return s;
}

template <bool TABLE>
static __device__ inline struct sradon_row row_of(const struct sradon_cuda &m, const struct sphere &s, int i)
{
	if (TABLE) return m.row[m.start[s.k] + i];
	struct sradon_ring r = sradon_ring(&m.p, s.rho, sradon_theta(&m.p, s.rho, s.top, i));

	return sradon_row(&m.p, s.rho, &r);
}

enum { GROUP = ISO_WARP }; /* transducers, at most: a lane each */

/* A brick's voxels, one more than its cells along each axis, and its threads. The strides keep voxels
   next to each other in any direction in different banks. */
template <int EDGE> struct brick_shape;

template <> struct brick_shape<16> {
	static const int THREADS = 256, BLOCKS = 4, ROW = 18, PLANE = 309;
};

template <> struct brick_shape<32> {
	static const int THREADS = 1024, BLOCKS = 1, ROW = 35, PLANE = 1161;
};

/* Rings of one warp, those without points left out. */
struct warp_rings {
	float4 place[ISO_WARP]; /* centre, half_cos */
	float4 steps[ISO_WARP]; /* turn, turn_low, value of a point, half_sin */
	int2 from[ISO_WARP];    /* number of the ring's first pair, less its place in the row; points */
};

template <class T, int EDGE> struct brick_room {
	typedef brick_shape<EDGE> shape;
	T voxel[(EDGE + 1) * shape::PLANE];
	struct sradon_brick brick;
	struct sradon_sight sight[GROUP];
	int before[GROUP], spheres, taken; /* spheres of the transducers before; of all; taken by warps */
	struct warp_rings rings[shape::THREADS / ISO_WARP];
};

/* ---- a point ---- */

/* The image at a point, times its value; a lane whose point is not the brick's reads voxel 0, times 0. */
template <int EDGE>
static __device__ inline void brick_visit(const float *voxel, int index, bool own, const float high[3],
                                          float value, float &sum)
{
	const float *v = voxel + (own ? index : 0);
	float part[4], low;

	for (int k = 0; k < 4; k++) {
		const float *w = v + (k & 1) * brick_shape<EDGE>::ROW + (k >> 1) * brick_shape<EDGE>::PLANE;

		part[k] = fmaf(high[0], w[1] - w[0], w[0]);
	}
	low = fmaf(high[1], part[1] - part[0], part[0]);
	sum = fmaf(own ? value : 0, fmaf(high[2], fmaf(high[1], part[3] - part[2], part[2]) - low, low), sum);
}

/* Terms below 2^22 are rounded by the addition of MAGIC. */
template <int EDGE>
static __device__ inline void brick_visit(int *voxel, int index, bool own, const float high[3], float value,
                                          float &)
{
	float up = value * high[2], down = value - up;

	if (!own) return;
	for (int k = 0; k < 4; k++) {
		float z = k & 2 ? up : down, y = k & 1 ? z * high[1] : z - z * high[1];
		int *w = voxel + index + (k & 1) * brick_shape<EDGE>::ROW +
		         (k >> 1) * brick_shape<EDGE>::PLANE;

		atomicAdd(w, sradon_unmagic(fmaf(y, 1 - high[0], SRADON_MAGIC)));
		atomicAdd(w + 1, sradon_unmagic(fmaf(y, high[0], SRADON_MAGIC)));
	}
}

template <int EDGE, class T>
static __device__ inline void visit_point(T *voxel, const struct sradon_brick &b, const float at[3],
                                          bool there, float value, float &sum)
{
	float high[3];
	int cell[3];

	for (int a = 0; a < 3; a++) cell[a] = sradon_cell(at[a], &high[a]);
	brick_visit<EDGE>(voxel,
	                  (cell[2] - b.first[2]) * brick_shape<EDGE>::PLANE +
	                          (cell[1] - b.first[1]) * brick_shape<EDGE>::ROW + (cell[0] - b.first[0]),
	                  there & sradon_owns(&b, cell), high, value, sum);
}

/* ---- rings of a warp ---- */

static __device__ inline unsigned warp_or(unsigned v)
{
#if __CUDA_ARCH__ >= 800
	return __reduce_or_sync(ISO_FULL_WARP, v);
#else
	for (int step = ISO_WARP / 2; step > 0; step /= 2) v |= __shfl_xor_sync(ISO_FULL_WARP, v, step);
	return v;
#endif
}

/* The sum of v over the lanes before this one. */
static __device__ inline int warp_before(int v, int lane)
{
	int sum = v;

	for (int step = 1; step < ISO_WARP; step *= 2) {
		int other = __shfl_up_sync(ISO_FULL_WARP, sum, step);

		sum += lane >= step ? other : 0;
	}
	return sum - v;
}

/* The lane's ring, number i, into the warp's; `begin` is its place in the row of all pairs, -1
   without points. Returns the number of pairs of all rings. */
template <bool TABLE>
static __device__ inline int set_up(struct warp_rings &to, const struct sradon_cuda &m,
                                    const struct sradon_axes &x, const struct sradon_sight &sight,
                                    const struct sphere &s, int i, int last, float value, int lane,
                                    int &begin)
{
	struct sradon_arc arc = { 0, 0 };
	struct sradon_row w;

	if (i <= last) {
		w = row_of<TABLE>(m, s, i);
		arc = sradon_pairs(sradon_arc(&sight, &w, (float)sradon_shift(&m.p)), w.n);
	}
	bool full = arc.n > 0;
	int before = warp_before(arc.n, lane);
	unsigned all = __ballot_sync(ISO_FULL_WARP, full);

	__syncwarp(); /* the rings before these are done with */
	if (full) {
		int slot = __popc(all & ((1u << lane) - 1));
		float c[3];

		sradon_row_centre(c, &x, &w);
		to.place[slot] = make_float4(c[0], c[1], c[2], w.half_cos);
		to.steps[slot] = make_float4(w.turn, w.turn_low, value * w.weight, w.half_sin);
		to.from[slot] = make_int2(arc.first - before, w.n);
	}
	__syncwarp();
	begin = full ? before : -1;
	return __shfl_sync(ISO_FULL_WARP, before + arc.n, ISO_WARP - 1);
}

/* ---- a warp and a sphere ---- */

/* The pairs of 32 rings in one row. The ring of a pair is the last one to begin at it or before:
   bits of `begins` mark where rings begin among 32 pairs. */
template <int EDGE, class T>
static __device__ inline void take_pairs(T *voxel, const struct warp_rings &rings,
                                         const struct sradon_brick &b, const float ex[3], const float ey[3],
                                         float shift, int pairs, int begin, int lane, float &sum)
{
	unsigned up_to = 0xffffffffu >> (31 - lane);
	int seen = -1;

#pragma unroll 1
	for (int base = 0; base < pairs; base += ISO_WARP) {
		unsigned at_lane = (unsigned)(begin - base);
		unsigned begins = warp_or(at_lane < ISO_WARP ? 1u << at_lane : 0);
		int slot = seen + __popc(begins & up_to);

		seen += __popc(begins);
		if (base + lane >= pairs) continue;
		float4 place = rings.place[slot], steps = rings.steps[slot];
		int2 from = rings.from[slot];
		int n = from.y, j = 2 * (from.x + base + lane);
		float c[3] = { place.x, place.y, place.z }, at[2][3];

		j -= j < n ? 0 : (n + 1) & ~1;
		sradon_pair(at, c, place.w, steps.w, ex, ey, (float)j + shift, steps.x, steps.y);
		visit_point<EDGE>(voxel, b, at[0], true, steps.z, sum);
		visit_point<EDGE>(voxel, b, at[1], j + 1 < n, steps.z, sum);
	}
}

/* The lane's share of the sum over a sphere's points in the brick, or 0 where they are given
   `value` times their weight. */
template <bool TABLE, int EDGE, class T>
static __device__ float walk_sphere(T *voxel, struct warp_rings &rings, const struct sradon_cuda &m,
                                    const struct sradon_axes &x, const struct sradon_brick &b,
                                    const struct sradon_sight &sight, int64_t k, float value)
{
	int lane = threadIdx.x % ISO_WARP, first, last, begin;
	struct sphere s = sphere_of<TABLE>(m, x, k);
	float ex[3], ey[3], shift = TABLE ? 1 : .5f, sum = 0; /* half a step more, to the middle of a pair */
	struct sradon_brick mine = b;

	for (int a = 0; a < 3; a++) {
		ex[a] = x.ex[a];
		ey[a] = x.ey[a];
	}
	sradon_sight_rings(&sight, &m.p, (float)s.rho / (float)m.p.ds, (float)s.top, s.n, &first, &last);
	for (int i = first; i <= last; i += ISO_WARP) {
		int pairs = set_up<TABLE>(rings, m, x, sight, s, i + lane, last, value, lane, begin);

		take_pairs<EDGE>(voxel, rings, mine, ex, ey, shift, pairs, begin, lane, sum);
	}
	return sum;
}

/* ---- a block and a brick ---- */

/* A group's transducers look at the brick, each by a lane of the first warp. */
template <class R>
static __device__ inline void look(R &room, const struct sradon_cuda &m, int64_t first, int64_t n)
{
	int lane = threadIdx.x, some = 0;

	__syncthreads(); /* the group before is done with */
	if (lane < GROUP) {
		if (lane < n) {
			room.sight[lane] = sradon_sight(&m.p, &m.axes[first + lane], &room.brick);
			some = max(room.sight[lane].last - room.sight[lane].first + 1, 0);
		}
		room.before[lane] = warp_before(some, lane);
		if (lane == GROUP - 1) room.spheres = room.before[lane] + some;
		if (lane == 0) room.taken = 0;
	}
	__syncthreads();
}

/* A sphere of the group that no warp has taken yet: transducer t, sample k. Spheres differ in size, so a
   warp that is done takes the next; whichever takes it, its sum is the same. */
template <class R> static __device__ inline bool next_sphere(R &room, int &t, int &k)
{
	int lane = threadIdx.x % ISO_WARP, i = 0;

	if (lane == 0) i = atomicAdd(&room.taken, 1);
	i = __shfl_sync(ISO_FULL_WARP, i, 0);
	if (i >= room.spheres) return false;
	t = __popc(__ballot_sync(ISO_FULL_WARP, room.before[lane] <= i)) - 1;
	k = room.sight[t].first + i - room.before[t];
	return true;
}

/* Voxel v of a brick's (EDGE + 1)^3, x fastest: where it is in shared memory and in the image; false
   outside of the image. Cell i has voxels i - 1 and i. */
template <int EDGE>
static __device__ inline bool voxel_of(const struct sradon_params &p, const struct sradon_brick &b, int v,
                                       int &at, int64_t &image)
{
	const int n = EDGE + 1;
	int i[3] = { v % n, v / n % n, v / (n * n) };
	bool inside = true;

	for (int a = 0; a < 3; a++)
		inside = inside && i[a] <= b.size[a] && b.first[a] + i[a] >= 1 && b.first[a] + i[a] <= p.n[a];
	at = i[2] * brick_shape<EDGE>::PLANE + i[1] * brick_shape<EDGE>::ROW + i[0];
	image = ((int64_t)(b.first[2] + i[2] - 1) * p.n[1] + (b.first[1] + i[1] - 1)) * p.n[0] +
	        (b.first[0] + i[0] - 1);
	return inside;
}

#define BRICK_LOOP(v) for (int v = threadIdx.x; v < (EDGE + 1) * (EDGE + 1) * (EDGE + 1); v += blockDim.x)

/* g += sums over the brick, in fixed point: a sphere's points in the brick are one addition. Blocks
   (b, 0), (b, 1), ... share the groups of transducers, which are this rank's, of brick b. */
template <bool TABLE, int EDGE>
static __global__ void __launch_bounds__(brick_shape<EDGE>::THREADS, brick_shape<EDGE>::BLOCKS)
	forward_bricks(struct sradon_cuda m, struct iso_rows groups, struct iso_fixed_cuda acc,
                       const float *x)
{
	extern __shared__ float4 shared[];
	struct brick_room<float, EDGE> &room = *(struct brick_room<float, EDGE> *)shared;
	const struct sradon_brick &b = room.brick;
	bool empty = true;

	if (threadIdx.x == 0) room.brick = sradon_brick(&m.p, EDGE, blockIdx.x);
	__syncthreads();
	BRICK_LOOP(v)
	{
		int64_t image;
		int at;
		bool inside = voxel_of<EDGE>(m.p, b, v, at, image);

		room.voxel[at] = inside ? x[image] : 0;
		empty = empty && room.voxel[at] == 0;
	}
	if (__syncthreads_and(empty)) return;
	for (int64_t g = groups.first + blockIdx.y; g - groups.first < groups.n; g += gridDim.y) {
		int64_t first = g * m.group;
		int n = (int)min((int64_t)m.group, m.p.n_trans - first);

		look(room, m, first, n);
		for (int t, k; next_sphere(room, t, k);) {
			float sum = walk_sphere<TABLE, EDGE>(room.voxel, room.rings[threadIdx.x / ISO_WARP],
			                                     m, m.axes[first + t], b, room.sight[t], k, 1.f);

			sum = iso_warp_sum(sum);
			if (threadIdx.x % ISO_WARP == 0 && sum != 0)
				iso_fixed_add(acc, (first + t) * m.p.samples + k, acc.scale * sum);
		}
	}
}

/* The exponent of a group's scale: its largest term is below m.most, but its quantum is no finer
   than the image's. A group of zeros has INT_MIN. */
static __global__ void group_exponents(struct sradon_cuda m, int finest, int *exponent, const float *y)
{
	__shared__ float part[ISO_THREADS];
	int64_t first = blockIdx.x * (int64_t)m.group, n = min((int64_t)m.group, m.p.n_trans - first);
	float most = 0;

	for (int64_t j = threadIdx.x; j < n * m.p.samples; j += ISO_THREADS)
		most = fmaxf(most, fabsf(y[first * m.p.samples + j]));
	part[threadIdx.x] = most;
	for (int half = ISO_THREADS / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
	}
	if (threadIdx.x == 0)
		exponent[blockIdx.x] =
			part[0] > 0 ? min(finest, ilogb(m.most) - 1 - ilogb(part[0] * m.weight)) : INT_MIN;
}

/* Adds the brick's sums to the image, `shift` bits finer, and clears them. */
template <int EDGE>
static __device__ void drain(int *voxel, const struct sradon_params &p, const struct sradon_brick &b,
                             struct iso_fixed_cuda acc, int shift)
{
	__syncthreads();
	BRICK_LOOP(v)
	{
		int64_t image;
		int at;

		if (voxel_of<EDGE>(p, b, v, at, image) && voxel[at])
			atomicAdd(acc.v + image, (unsigned long long)(long long)voxel[at] << shift);
		voxel[at] = 0;
	}
}

/* Sums of a brick are 32 bits wide. A voxel gets parts of at most sradon_load of a transducer, so
   those of a group stay below group * load * m.most <= 2^31; then they go to the image, in 64 bits.
   A term is rounded to 2^-21 of the group's largest possible, or finer. */
template <bool TABLE, int EDGE>
static __global__ void __launch_bounds__(brick_shape<EDGE>::THREADS, brick_shape<EDGE>::BLOCKS)
	adjoint_bricks(struct sradon_cuda m, struct iso_rows groups, int finest, struct iso_fixed_cuda acc,
                       const int *exponent, const float *y)
{
	extern __shared__ float4 shared[];
	struct brick_room<int, EDGE> &room = *(struct brick_room<int, EDGE> *)shared;
	const struct sradon_brick &b = room.brick;

	if (threadIdx.x == 0) room.brick = sradon_brick(&m.p, EDGE, blockIdx.x);
	for (int v = threadIdx.x; v < (EDGE + 1) * brick_shape<EDGE>::PLANE; v += blockDim.x)
		room.voxel[v] = 0;
	for (int64_t g = groups.first + blockIdx.y; g - groups.first < groups.n; g += gridDim.y) {
		int64_t first = g * m.group;
		int n = (int)min((int64_t)m.group, m.p.n_trans - first);

		if (exponent[g] == INT_MIN) continue;
		double scale = ldexp(1., exponent[g]);

		look(room, m, first, n);
		for (int t, k; next_sphere(room, t, k);) {
			float v = y[(first + t) * m.p.samples + k];

			if (v != 0)
				walk_sphere<TABLE, EDGE>(room.voxel, room.rings[threadIdx.x / ISO_WARP], m,
				                         m.axes[first + t], b, room.sight[t], k,
				                         (float)(scale * v));
		}
		drain<EDGE>(room.voxel, m.p, b, acc, finest - exponent[g]);
	}
}

#endif
