/* SPDX-License-Identifier: BSD-3-Clause */
/* Pair penalties on CUDA: a thread has a column of 4 x R voxels (x, y) and goes along z, with two planes of it and of the
   voxels around it in registers. No thread waits for another.

   A pair within the column is computed once, and gives to both voxels; one with a voxel beside the column gives to the own
   voxel alone, and is computed by the neighbouring thread again: of 13 pairs a voxel that makes 19 in place of 26, at R = 2.
   What reciprocals and sums cost decides, not memory.

   Voxels outside the image: without kappa their terms are times a flag, one for each side of the column; with kappa they
   are voxels of kappa 0. */
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
	bool whole;       /* rows begin at multiples of 16 bytes, and end with a whole column */
	const float *x, *kappa;
	const uint32_t *bits;
	float *gradient, *curvature; /* NULL: not wanted */
	double *partial;             /* sum of the value, a block each */
	struct prior_update u;       /* z: the gradient becomes the step's result */
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

/* 4 values from `from`, and one before and behind them; what is outside the image is 0. */
template <class T, class T4>
static __device__ __forceinline__ void prior_row(T to[PRIOR_X + 2], const T *from, int x0, int nx, bool in,
                                                 bool whole)
{
#pragma unroll
	for (int c = 0; c < PRIOR_X + 2; c++) to[c] = 0;
	if (!in) return;
	if (whole) {
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

template <int EXTRA, int R>
static __device__ __forceinline__ void prior_load(prior_plane<EXTRA, R> &s, const prior_job &j, int x0,
                                                  int y0, int z)
{
#pragma unroll
	for (int r = 0; r < R + 2; r++) {
		const int y = y0 + r - 1;
		const bool in = y >= 0 && y < j.n[1];
		const int64_t at = ((int64_t)z * j.n[1] + y) * j.n[0] + x0;

		prior_row<float, float4>(s.v[r], j.x + at, x0, j.n[0], in, j.whole);
		if (EXTRA && j.kappa) prior_row<float, float4>(s.k[r], j.kappa + at, x0, j.n[0], in, j.whole);
		if (EXTRA && !j.kappa)
#pragma unroll
			for (int c = 0; c < PRIOR_X + 2; c++)
				s.k[r][c] = in && x0 + c >= 1 && x0 + c <= j.n[0] ? 1.f : 0.f;
		if (EXTRA == PRIOR_WEIGHTS)
			prior_row<uint32_t, uint4>(s.b[r], j.bits + at, x0, j.n[0], in, j.whole);
	}
}

/* ---- pairs ---- */

template <int KIND>
static __device__ __forceinline__ prior_pair prior_at(const prior_par &p, float x, float y)
{
	if (KIND == ISO_PRIOR_RDP)
		return prior_rdp_of(&p, x, y, iso_over(fmaf(p.gamma, fabsf(x - y), (x + p.least) + y)));
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

/* Own voxel (r, c) of plane `a` with the voxels beside the column in plane `b`, dz away, which may be `a`: the terms of its
   own. v has twice that of the value, once for each voxel. */
template <int KIND, int DEPTH, int EXTRA, int R>
static __device__ __forceinline__ void prior_beside(prior_sums &to, float &value, const prior_job &j,
                                                    const prior_plane<EXTRA, R> &a,
                                                    const prior_plane<EXTRA, R> &b, int r, int c, int dz,
                                                    const float flag[3][3])
{
	prior_sums t[3][3];

#pragma unroll
	for (int s = 0; s < 9; s++) t[s / 3][s % 3] = prior_sums{ 0, 0, 0 };
#pragma unroll
	for (int d = 0; d < 9; d++) {
		const int dy = d / 3 - 1, dx = d % 3 - 1, y = r + dy, x = c + dx;
		const int sy = y < 0 ? 0 : y < R ? 1 : 2, sx = x < 0 ? 0 : x < PRIOR_X ? 1 : 2;

		if (sy == 1 && sx == 1) continue;
		prior_sums &s = EXTRA ? t[1][1] : t[sy][sx];
		const prior_pair q = prior_at<KIND>(j.p, a.v[r + 1][c + 1], b.v[y + 1][x + 1]);
		float w = prior_weight<EXTRA>(j.p, dx, dy, dz, EXTRA == PRIOR_WEIGHTS ? a.b[r + 1][c + 1] : 0,
		                              EXTRA == PRIOR_WEIGHTS ? b.b[y + 1][x + 1] : 0);

		if (EXTRA) w *= b.k[y + 1][x + 1];
		s.g = fmaf(w, q.f1, s.g);
		if (DEPTH) s.c = fmaf(w, q.c1, s.c);
		if (DEPTH) s.v = fmaf(w, q.f, s.v);
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
static __device__ __forceinline__ void prior_within(prior_sums &to, prior_sums &other, float &value,
                                                    const prior_job &j, const prior_plane<EXTRA, R> &a,
                                                    const prior_plane<EXTRA, R> &b, int r, int c, int dx,
                                                    int dy, int dz)
{
	const int y = r + dy + 1, x = c + dx + 1;
	const prior_pair q = prior_at<KIND>(j.p, a.v[r + 1][c + 1], b.v[y][x]);
	const float w = prior_weight<EXTRA>(j.p, dx, dy, dz, EXTRA == PRIOR_WEIGHTS ? a.b[r + 1][c + 1] : 0,
	                                    EXTRA == PRIOR_WEIGHTS ? b.b[y][x] : 0);
	const float w1 = EXTRA ? w * b.k[y][x] : w, w2 = EXTRA ? w * a.k[r + 1][c + 1] : w;

	to.g = fmaf(w1, q.f1, to.g);
	other.g = fmaf(w2, q.f2, other.g);
	if (!DEPTH) return;
	to.c = fmaf(w1, q.c1, to.c);
	other.c = fmaf(w2, q.c2, other.c);
	value = fmaf(EXTRA ? w1 * a.k[r + 1][c + 1] : w, q.f, value);
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
				prior_within<KIND, DEPTH>(to[r][c], to[r + dy][c + dx], value, j, a, a, r, c,
				                          dx, dy, 0);
		}
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
				prior_within<KIND, DEPTH>(to[r][c], next[y][x], value, j, a, b, r, c, dx, dy,
				                          1);
		}
		prior_beside<KIND, DEPTH>(to[r][c], value, j, a, b, r, c, 1, flag);
		prior_beside<KIND, DEPTH>(next[r][c], value, j, b, a, r, c, -1, flag);
	}
}

/* ---- results ---- */

static __device__ __forceinline__ void prior_put(float *to, const float v[PRIOR_X], int x0, int nx,
                                                 bool whole)
{
	if (whole) {
		*(float4 *)to = float4{ v[0], v[1], v[2], v[3] };
		return;
	}
#pragma unroll
	for (int c = 0; c < PRIOR_X; c++)
		if (x0 + c < nx) to[c] = v[c];
}

/* A row of a column; not by __ldg: the kernel writes z. */
static __device__ __forceinline__ void prior_get(float v[PRIOR_X], const float *from, int x0, int nx,
                                                 bool whole)
{
	if (whole) {
		const float4 q = *(const float4 *)from;

		v[0] = q.x;
		v[1] = q.y;
		v[2] = q.z;
		v[3] = q.w;
		return;
	}
#pragma unroll
	for (int c = 0; c < PRIOR_X; c++) v[c] = x0 + c < nx ? from[c] : 0;
}

/* v, a row of the gradient at x, becomes that of the step. */
static __device__ __forceinline__ void prior_step_row(float v[PRIOR_X], const prior_job &j,
                                                      const float x[PRIOR_X + 2], int64_t at, int x0)
{
	const float none[PRIOR_X] = { 0, 0, 0, 0 };
	float z[PRIOR_X], g[PRIOR_X], p[PRIOR_X];

	prior_get(z, j.u.z + at, x0, j.n[0], j.whole);
	prior_get(g, j.u.g + at, x0, j.n[0], j.whole);
	prior_get(p, j.u.p + at, x0, j.n[0], j.whole);
#pragma unroll
	for (int c = 0; c < PRIOR_X; c++) v[c] = prior_updated(&j.u, x[c + 1], z[c], g[c], p[c], v[c]);
	prior_put(j.u.z + at, none, x0, j.n[0], j.whole);
}

template <int DEPTH, int EXTRA, int R>
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
			g[i] = EXTRA ? fmaf(a.k[r + 1][i + 1], of[r][i].g, 0.f) : of[r][i].g;
			c[i] = EXTRA ? a.k[r + 1][i + 1] * of[r][i].c : of[r][i].c;
		}
		if (!DEPTH && j.u.z) prior_step_row(g, j, a.v[r + 1], at, x0);
		if (j.gradient) prior_put(j.gradient + at, g, x0, j.n[0], j.whole);
		if (DEPTH && j.curvature) prior_put(j.curvature + at, c, x0, j.n[0], j.whole);
	}
}

/* ---- a column ---- */

template <int KIND, int DEPTH, int EXTRA, int R>
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
	prior_load(a, j, x0, y0, first);
#pragma unroll 1
	for (int z = first; z < z1; z++) { /* plane z0 - 1 only for what it gives to z0 */
		float v = 0;

#pragma unroll
		for (int i = 0; i < R * PRIOR_X; i++) next[i / PRIOR_X][i % PRIOR_X] = prior_sums{ 0, 0, 0 };
		if (z + 1 < j.n[2]) prior_load(b, j, x0, y0, z + 1);
		if (z >= z0) prior_in_plane<KIND, DEPTH>(to, v, j, a, flag);
		if (z + 1 < j.n[2]) prior_between<KIND, DEPTH>(to, next, v, j, a, b, flag);
		if (z >= z0) {
			prior_store<DEPTH>(to, j, a, x0, y0, z);
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
