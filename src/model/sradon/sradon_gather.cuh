/* SPDX-License-Identifier: BSD-3-Clause */
/* The adjoint of the spherical Radon transform on CUDA, a thread a voxel: the bounds of
   sradon_gather.c, points as in sradon_brick.h but relative to the voxel. */
#ifndef ISO_SRADON_GATHER_CUH
#define ISO_SRADON_GATHER_CUH

#include "sradon_brick.cuh"

enum { GATHER_THREADS = 128 };

/* A voxel as a transducer sees it; angles are good enough to choose the points to look at. */
struct voxel_sight {
	float d, theta, sin_theta;
	float azimuth;  /* turns */
	double from[3]; /* the voxel to the transducer */
};

static __device__ struct voxel_sight voxel_sight(const struct sradon_axes &x, const double voxel[3])
{
	float u = 0, v = 0, z = 0;
	struct voxel_sight s;

	for (int a = 0; a < 3; a++) {
		s.from[a] = x.pos[a] - (voxel[a] + 1);
		u -= (float)s.from[a] * x.ex[a];
		v -= (float)s.from[a] * x.ey[a];
		z -= (float)(s.from[a] * x.n[a]);
	}
	float across = sqrtf(u * u + v * v);

	s.d = sqrtf(across * across + z * z);
	s.theta = atan2f(across, z);
	s.sin_theta = across / s.d;
	s.azimuth = atan2f(v, u) * (float)(1 / SRADON_TURN);
	return s;
}

/* Twice the angle whose sine squared is `s`, with room for rounding. */
static __device__ float twice_asin(float s)
{
	return s < 1 ? 2 * asinf(sqrtf(s)) * 1.0001f + 1e-6f : 3.2f;
}

/* Trilinear parts of an arc's points at the voxel. */
static __device__ float hats(const struct sradon_axes &x, const struct voxel_sight &s,
                             const struct sradon_row &w, struct sradon_arc arc, float shift)
{
	float c[3], at[3], sum = 0;

	for (int a = 0; a < 3; a++) c[a] = (float)(s.from[a] + w.along * x.n[a]);
	for (int m = 0; m < arc.n; m++) {
		int j = arc.first + m - (arc.first + m < w.n ? 0 : w.n);
		float hat = 1;

		sradon_point(at, c, w.across, x.ex, x.ey, (float)j + shift, w.turn, w.turn_low);
		for (int a = 0; a < 3; a++) hat *= fmaxf(0, 1 - fabsf(at[a]));
		sum += hat;
	}
	return sum;
}

/* What a ring's points weigh at the voxel, at most the root of `left` from it. */
static __device__ float ring_at(const struct sradon_axes &x, const struct voxel_sight &s,
                                const struct sradon_row &w, float rd4, float rho, float left, float shift)
{
	float wide = rd4 * w.across / rho * s.sin_theta;
	float half = wide > left ? twice_asin(left / wide) * (float)(1 / SRADON_TURN) : 1;
	struct sradon_arc arc = { 0, w.n };

	if (half < .48f)
		arc = sradon_arc_between(&w, shift, s.azimuth - half - .02f * w.turn,
		                         2 * half + .04f * w.turn);
	return w.weight * hats(x, s, w, arc, shift);
}

/* What a sphere's points weigh at the voxel; `rings` are those of a radian. */
template <bool TABLE>
static __device__ float sphere_at(const struct sradon_cuda &m, const struct sradon_axes &x,
                                  const struct voxel_sight &v, int64_t k)
{
	float rho = (float)(sradon_radius(&m.p, k) / m.p.ds), off = rho - v.d, sum = 0;
	float budget = 3.001f - off * off, rd4 = 4 * rho * v.d, shift = TABLE ? .5f : 0;
	float rings = (float)(sradon_radius(&m.p, k) / m.p.h);

	if (budget < 0 || rho <= 0) return 0;
	struct sphere s = sphere_of<TABLE>(m, x, k);
	float half = twice_asin(budget / rd4) * rings;
	float at = TABLE ? v.theta * rings - .5f : ((float)s.top - v.theta) * rings;

	for (int i = max(0, (int)ceilf(at - half)); i < s.n && (float)i <= at + half; i++) {
		struct sradon_row w = row_of<TABLE>(m, s, i);
		float si = sinf(((float)i - at) / rings / 2), left = budget - rd4 * (si * si);

		if (left >= 0) sum += ring_at(x, v, w, rd4, rho, left, shift);
	}
	return sum;
}

template <bool TABLE>
static __global__ void gather_voxels(struct sradon_cuda m, struct iso_rows voxels, float *x, const float *y)
{
	const struct sradon_params &p = m.p;
	float per_voxel = (float)(p.ds / (p.speed * p.dt_us)), before = (float)(p.first_us / p.dt_us);

	ISO_GRID_LOOP (i, voxels.n) {
		int64_t n = voxels.first + i;
		double voxel[3] = { (double)(n % p.n[0]), (double)(n / p.n[0] % p.n[1]),
			            (double)(n / p.n[0] / p.n[1]) };
		double sum = 0;

		for (int64_t q = 0; q < p.n_trans; q++) {
			struct voxel_sight s = voxel_sight(m.axes[q], voxel);
			int64_t first = (int64_t)floorf((s.d - 1.7321f) * per_voxel - before);
			int64_t last = (int64_t)ceilf((s.d + 1.7321f) * per_voxel - before);

			for (int64_t k = max((int64_t)0, first); k < p.samples && k <= last; k++)
				sum += y[q * p.samples + k] * sphere_at<TABLE>(m, m.axes[q], s, k);
		}
		x[n] = (float)sum;
	}
}

#endif
