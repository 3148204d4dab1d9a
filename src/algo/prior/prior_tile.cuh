/* SPDX-License-Identifier: BSD-3-Clause */
/* Pair penalties on CUDA: a thread has a column of 4 x R voxels (x, y) and goes along z, with two planes of it and of the
   voxels around it in registers. No thread waits for another.

   A pair within the column is computed once, and its terms are added to both voxels. A pair with a voxel beside the column
   is computed twice: here for the voxel of this column, and by the neighbouring thread for the other one. With R = 2 that
   makes 19 pairs a voxel; 13 is the least, and 26 if each voxel computed all of its own. The kernels are bound by
   arithmetic, not by memory, so that fewer pairs are worth the registers.

   Voxels outside the image add nothing: without kappa their terms are multiplied by a flag of 0, one flag for each side of
   the column; with kappa they count as voxels of kappa 0. */
#ifndef ISO_PRIOR_TILE_CUH
#define ISO_PRIOR_TILE_CUH

#include "prior_in.h"

#define PRIOR_THREADS 128
#define PRIOR_WIDE 8 /* threads side by side along x: 32 voxels, a line of memory */
#define PRIOR_X 4    /* voxels of a column along x: one load of 16 bytes */

enum {
	PRIOR_PLAIN,
	PRIOR_KAPPA,
	PRIOR_WEIGHTS
}; /* what pairs are times: nothing; kappa; kappa and Bowsher's weights */

struct prior_job {
	struct prior_par p;
	int n[3], planes; /* planes of a column */
	const float *x, *kappa;
	const uint32_t *bits;
	float *gradient, *curvature; /* NULL: not wanted */
	double *partial;             /* sum of the value, a block each */
};

/* The plane of a column, with the voxels around it: [1][1] is the first of its own. */
template <int EXTRA, int R> struct prior_plane {
	float v[R + 2][PRIOR_X + 2], k[EXTRA ? R + 2 : 1][PRIOR_X + 2];
	uint32_t b[EXTRA == PRIOR_WEIGHTS ? R + 2 : 1][PRIOR_X + 2];
};

struct prior_sums {
	float g, c, v;
};

/* ---- loads ---- */

/* 4 values from `from`, and one before and behind them; what is outside the image is 0. WHOLE: rows begin at multiples of
   16 bytes, and end with a whole column. It is a template parameter because a branch took up to a quarter of the time. */
template <bool WHOLE, class T, class T4>
static __device__ __forceinline__ void prior_row(T to[PRIOR_X + 2], const T *from, int x0, int nx, bool in)
{
#pragma unroll
	for (int c = 0; c < PRIOR_X + 2; c++) to[c] = 0;
	if (!in) return;
	if (WHOLE) {
		const T4 q = __ldg((const T4 *)from);

		to[1] = q.x;
		to[2] = q.y;
		to[3] = q.z;
		to[4] = q.w;
	} else {
#pragma unroll
		for (int c = 0; c < PRIOR_X; c++)
			if (x0 + c < nx) to[c + 1] = __ldg(from + c);
	}
	if (x0 > 0) to[0] = __ldg(from - 1);
	if (x0 + PRIOR_X < nx) to[PRIOR_X + 1] = __ldg(from + PRIOR_X);
}

/* Relative differences have x + epsilon / 2 in the place of x (prior_add). */
template <int KIND, bool WHOLE, int EXTRA, int R>
static __device__ __forceinline__ void prior_load(prior_plane<EXTRA, R> &s, const prior_job &j, int x0,
                                                  int y0, int z)
{
#pragma unroll
	for (int r = 0; r < R + 2; r++) {
		const int y = y0 + r - 1;
		const bool in = y >= 0 && y < j.n[1];
		const int64_t at = ((int64_t)z * j.n[1] + y) * j.n[0] + x0;

		prior_row<WHOLE, float, float4>(s.v[r], j.x + at, x0, j.n[0], in);
		if (KIND == ISO_PRIOR_RDP)
#pragma unroll
			for (int c = 0; c < PRIOR_X + 2; c++) s.v[r][c] += .5f * j.p.rdp.epsilon;
		if (EXTRA && j.kappa) prior_row<WHOLE, float, float4>(s.k[r], j.kappa + at, x0, j.n[0], in);
		if (EXTRA && !j.kappa)
#pragma unroll
			for (int c = 0; c < PRIOR_X + 2; c++)
				s.k[r][c] = in && x0 + c >= 1 && x0 + c <= j.n[0] ? 1.f : 0.f;
		if (EXTRA == PRIOR_WEIGHTS)
			prior_row<WHOLE, uint32_t, uint4>(s.b[r], j.bits + at, x0, j.n[0], in);
	}
}

/* ---- pairs ---- */

template <int KIND>
static __device__ __forceinline__ prior_pair prior_at(const prior_par &p, float x, float y)
{
	if (KIND == ISO_PRIOR_RDP)
		return prior_rdp_of(
			&p, x, y,
			iso_over(fmaf(p.rdp.gamma, fabsf(x - y), (x + y + p.rdp.epsilon) + p.rdp.least)));
	return prior_pair_of((enum iso_prior_kind)KIND, &p, x, y);
}

/* Of the offset or the one opposite to it, whichever points to the front: its number. */
static __device__ constexpr int prior_number(int dx, int dy, int dz)
{
	return (dz * 9 + dy * 3 + dx > 0 ? 1 : -1) * (dz * 9 + dy * 3 + dx) - 1;
}

/* Weight of a pair without either kappa. The word of the voxel behind has the bits. */
template <int EXTRA>
static __device__ __forceinline__ float prior_weight(const prior_par &p, int dx, int dy, int dz, uint32_t own,
                                                     uint32_t other)
{
	const int i = prior_number(dx, dy, dz);
	const uint32_t word = dz * 9 + dy * 3 + dx > 0 ? own : other;

	return EXTRA == PRIOR_WEIGHTS ? p.w[i] * .5f * (float)(word >> 2 * i & 3) : p.w[i];
}

/* What a pair adds: to the sums of its first voxel, x, and with BOTH to those of the other, y; w: its weight without
   kappa, kx and ky: kappa of its voxels, of which each sum lacks its own voxel's.

   Relative differences in few operations: a = x + epsilon / 2, b = y + epsilon / 2, D = a + b + gamma |a - b|, q = 1 / D,
   t = (a - b) q:

	f = (a - b) t,  f_1 = 2 t (1/2 + b q),  f_11 = 8 q (b q)^2,

   of which 2 and 8 are left for the end (prior_store). Where D is 0, all is 0. */
template <int KIND, int DEPTH, bool BOTH>
static __device__ __forceinline__ void prior_add(prior_sums &of_x, prior_sums &of_y, const prior_par &p,
                                                 float x, float y, float w, float kx, float ky)
{
	if (KIND == ISO_PRIOR_RDP) {
		const float d = x - y, q = iso_over(fmaf(p.rdp.gamma, fabsf(d), (x + p.rdp.least) + y));
		const float px = y * q, py = x * q, qw = w * q, qx = qw * ky, qy = qw * kx, tx = d * qx;

		of_x.g = fmaf(tx, px + .5f, of_x.g);
		if (BOTH) of_y.g = fmaf(-d * qy, py + .5f, of_y.g);
		if (!DEPTH) return;
		of_x.v = fmaf(tx, d, of_x.v);
		of_x.c = fmaf(qx * px, px, of_x.c);
		if (BOTH) of_y.c = fmaf(qy * py, py, of_y.c);
	} else {
		const prior_pair f = prior_pair_of((enum iso_prior_kind)KIND, &p, x, y);
		const float wx = w * ky, wy = w * kx;

		of_x.g = fmaf(wx, f.f1, of_x.g);
		if (BOTH) of_y.g = fmaf(wy, f.f2, of_y.g);
		if (!DEPTH) return;
		of_x.v = fmaf(wx, f.f, of_x.v);
		of_x.c = fmaf(wx, f.c1, of_x.c);
		if (BOTH) of_y.c = fmaf(wy, f.c2, of_y.c);
	}
}

/* Own voxel (r, c) of plane `a` with the voxels beside the column in plane `b`, dz away, which may be `a`: the terms of its
   own. The value gets half of each, the rest comes from the other voxel. */
template <int KIND, int DEPTH, int EXTRA, int R>
static __device__ __forceinline__ void prior_beside(prior_sums &to, float &value, const prior_job &j,
                                                    const prior_plane<EXTRA, R> &a,
                                                    const prior_plane<EXTRA, R> &b, int r, int c, int dz,
                                                    const float flag[3][3])
{
	prior_sums t[3][3], none;

#pragma unroll
	for (int s = 0; s < 9; s++) t[s / 3][s % 3] = prior_sums{ 0, 0, 0 };
#pragma unroll
	for (int d = 0; d < 9; d++) {
		const int dy = d / 3 - 1, dx = d % 3 - 1, y = r + dy, x = c + dx;
		const int sy = y < 0 ? 0 : y < R ? 1 : 2, sx = x < 0 ? 0 : x < PRIOR_X ? 1 : 2;

		if (sy == 1 && sx == 1) continue;
		prior_add<KIND, DEPTH, false>(
			EXTRA ? t[1][1] : t[sy][sx], none, j.p, a.v[r + 1][c + 1], b.v[y + 1][x + 1],
			prior_weight<EXTRA>(j.p, dx, dy, dz, EXTRA == PRIOR_WEIGHTS ? a.b[r + 1][c + 1] : 0,
		                            EXTRA == PRIOR_WEIGHTS ? b.b[y + 1][x + 1] : 0),
			1, EXTRA ? b.k[y + 1][x + 1] : 1);
	}
#pragma unroll
	for (int s = 0; s < 9; s++) {
		const int sy = s / 3, sx = s % 3;
		const bool any = EXTRA ? sy == 1 && sx == 1
		                       : (sy != 1 || sx != 1) && (sy != 0 || r == 0) &&
		                                 (sy != 2 || r == R - 1) && (sx != 0 || c == 0) &&
		                                 (sx != 2 || c == PRIOR_X - 1);

		if (!any) continue;
		const float f = EXTRA ? 1.f : flag[sy][sx];

		to.g = fmaf(f, t[sy][sx].g, to.g);
		if (DEPTH) to.c = fmaf(f, t[sy][sx].c, to.c);
		if (DEPTH) value = fmaf(EXTRA ? .5f * a.k[r + 1][c + 1] : .5f * f, t[sy][sx].v, value);
	}
}

/* A pair within the column: voxel (r, c) of plane `a`, and the one at the offset, in plane `b`. */
template <int KIND, int DEPTH, int EXTRA, int R>
static __device__ __forceinline__ void prior_within(prior_sums &to, prior_sums &other, const prior_job &j,
                                                    const prior_plane<EXTRA, R> &a,
                                                    const prior_plane<EXTRA, R> &b, int r, int c, int dx,
                                                    int dy, int dz)
{
	const int y = r + dy + 1, x = c + dx + 1;

	prior_add<KIND, DEPTH, true>(to, other, j.p, a.v[r + 1][c + 1], b.v[y][x],
	                             prior_weight<EXTRA>(j.p, dx, dy, dz,
	                                                 EXTRA == PRIOR_WEIGHTS ? a.b[r + 1][c + 1] : 0,
	                                                 EXTRA == PRIOR_WEIGHTS ? b.b[y][x] : 0),
	                             EXTRA ? a.k[r + 1][c + 1] : 1, EXTRA ? b.k[y][x] : 1);
}

/* The value of the pairs within the column of voxel (r, c), whose sum prior_within has in to.v, joins the plane's. */
template <int DEPTH, int EXTRA, int R>
static __device__ __forceinline__ void prior_value(float &value, prior_sums &to,
                                                   const prior_plane<EXTRA, R> &a, int r, int c)
{
	if (DEPTH) value = EXTRA ? fmaf(a.k[r + 1][c + 1], to.v, value) : value + to.v;
	to.v = 0;
}

/* All pairs within a plane. */
template <int KIND, int DEPTH, int EXTRA, int R>
static __device__ __forceinline__ void prior_in_plane(prior_sums to[R][PRIOR_X], float &value,
                                                      const prior_job &j, const prior_plane<EXTRA, R> &a,
                                                      const float flag[3][3])
{
#pragma unroll
	for (int i = 0; i < R * PRIOR_X; i++) {
		const int r = i / PRIOR_X, c = i % PRIOR_X;

#pragma unroll
		for (int d = 5; d < 9; d++) { /* (1,0), (-1,1), (0,1), (1,1) */
			const int dy = d / 3 - 1, dx = d % 3 - 1;

			if (r + dy < R && c + dx >= 0 && c + dx < PRIOR_X)
				prior_within<KIND, DEPTH>(to[r][c], to[r + dy][c + dx], j, a, a, r, c, dx, dy,
				                          0);
		}
		prior_value<DEPTH>(value, to[r][c], a, r, c);
		prior_beside<KIND, DEPTH>(to[r][c], value, j, a, a, r, c, 0, flag);
	}
}

/* All pairs between a plane and the next. */
template <int KIND, int DEPTH, int EXTRA, int R>
static __device__ __forceinline__ void prior_between(prior_sums to[R][PRIOR_X], prior_sums next[R][PRIOR_X],
                                                     float &value, const prior_job &j,
                                                     const prior_plane<EXTRA, R> &a,
                                                     const prior_plane<EXTRA, R> &b, const float flag[3][3])
{
#pragma unroll
	for (int i = 0; i < R * PRIOR_X; i++) {
		const int r = i / PRIOR_X, c = i % PRIOR_X;

#pragma unroll
		for (int d = 0; d < 9; d++) {
			const int dy = d / 3 - 1, dx = d % 3 - 1, y = r + dy, x = c + dx;

			if (y >= 0 && y < R && x >= 0 && x < PRIOR_X)
				prior_within<KIND, DEPTH>(to[r][c], next[y][x], j, a, b, r, c, dx, dy, 1);
		}
		prior_value<DEPTH>(value, to[r][c], a, r, c);
		prior_beside<KIND, DEPTH>(to[r][c], value, j, a, b, r, c, 1, flag);
		prior_beside<KIND, DEPTH>(next[r][c], value, j, b, a, r, c, -1, flag);
	}
}

/* ---- results ---- */

template <bool WHOLE>
static __device__ __forceinline__ void prior_put(float *to, const float v[PRIOR_X], int x0, int nx)
{
	if (WHOLE)
		*(float4 *)to = float4{ v[0], v[1], v[2], v[3] };
	else
#pragma unroll
		for (int c = 0; c < PRIOR_X; c++)
			if (x0 + c < nx) to[c] = v[c];
}

/* The factors that prior_add left out of the sums. */
template <int KIND> static constexpr float prior_times_g = KIND == ISO_PRIOR_RDP ? 2.f : 1.f;
template <int KIND> static constexpr float prior_times_c = KIND == ISO_PRIOR_RDP ? 8.f : 1.f;

template <int KIND, int DEPTH, bool WHOLE, int EXTRA, int R>
static __device__ __forceinline__ void prior_store(const prior_sums of[R][PRIOR_X], const prior_job &j,
                                                   const prior_plane<EXTRA, R> &a, int x0, int y0, int z)
{
#pragma unroll
	for (int r = 0; r < R; r++) {
		const int64_t at = ((int64_t)z * j.n[1] + y0 + r) * j.n[0] + x0;
		float g[PRIOR_X], c[PRIOR_X];

		if (y0 + r >= j.n[1]) continue;
#pragma unroll
		for (int i = 0; i < PRIOR_X; i++) { /* + 0: never -0 */
			const float k = EXTRA ? a.k[r + 1][i + 1] : 1.f;

			g[i] = fmaf(prior_times_g<KIND> * k, of[r][i].g, 0.f);
			c[i] = prior_times_c<KIND> * k * of[r][i].c;
		}
		if (j.gradient) prior_put<WHOLE>(j.gradient + at, g, x0, j.n[0]);
		if (DEPTH && j.curvature) prior_put<WHOLE>(j.curvature + at, c, x0, j.n[0]);
	}
}

/* ---- a column ---- */

template <int KIND, int DEPTH, int EXTRA, bool WHOLE, int R>
static __device__ __forceinline__ double prior_column(const prior_job &j, int x0, int y0, int z0)
{
	const float left = x0 > 0, right = x0 + PRIOR_X<j.n[0], below = y0> 0, above = y0 + R < j.n[1];
	const float flag[3][3] = { { below * left, below, below * right },
		                   { left, 1, right },
		                   { above * left, above, above * right } };
	const int z1 = z0 + j.planes < j.n[2] ? z0 + j.planes : j.n[2], first = z0 > 0 ? z0 - 1 : 0;
	prior_plane<EXTRA, R> a, b;
	prior_sums to[R][PRIOR_X], next[R][PRIOR_X];
	double value = 0;

#pragma unroll
	for (int i = 0; i < R * PRIOR_X; i++) to[i / PRIOR_X][i % PRIOR_X] = prior_sums{ 0, 0, 0 };
	prior_load<KIND, WHOLE>(a, j, x0, y0, first);
#pragma unroll 1
	for (int z = first; z < z1; z++) { /* plane z0 - 1 only for what it gives to z0 */
		float v = 0;

#pragma unroll
		for (int i = 0; i < R * PRIOR_X; i++) next[i / PRIOR_X][i % PRIOR_X] = prior_sums{ 0, 0, 0 };
		if (z + 1 < j.n[2]) prior_load<KIND, WHOLE>(b, j, x0, y0, z + 1);
		if (z >= z0) prior_in_plane<KIND, DEPTH>(to, v, j, a, flag);
		if (z + 1 < j.n[2]) prior_between<KIND, DEPTH>(to, next, v, j, a, b, flag);
		if (z >= z0) {
			prior_store<KIND, DEPTH, WHOLE>(to, j, a, x0, y0, z);
			value += v;
		}
		a = b;
#pragma unroll
		for (int i = 0; i < R * PRIOR_X; i++)
			to[i / PRIOR_X][i % PRIOR_X] = next[i / PRIOR_X][i % PRIOR_X];
	}
	return value;
}

#endif
