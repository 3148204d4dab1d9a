/* SPDX-License-Identifier: BSD-3-Clause */
/* One ray through a brick: where it goes, what its stretches and samples weigh, and where lists of a brick name it. The passes
   for one image (ray_brick.cu) and for several (ray_many.cu) share it. */
#ifndef ISO_RAY_WALK_CUH
#define ISO_RAY_WALK_CUH

#include "ray_cell.cuh"

static __device__ float power_of_2(float v)
{
	float r;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

/* ---- one ray through a brick ---- */

/* Follows the ray from face to face: t is where it is, in slices from the brick's first; next[a]
   where it meets the next face across axis a. at: byte offset of its voxel in the brick. */
template <int K> struct walk {
	float t, end;
	float next_k, next_b, next_c, every_b, every_c;
	int at, to_k, to_b, to_c;

	__device__ walk(const struct ray_line *l, const brick<K> *u, enum ray_crossing how)
	{
		if (how == RAY_INSIDE) {
			t = fmaxf(l->x0 - u->cell.k0, 0);
			end = fminf(l->x1, u->cell.k1) - u->cell.k0;
		} else {
			clip<K>(l, &u->cell, &t, &end);
		}
		end = how == RAY_ABSENT ? t : end;
		float k0 = u->cell.k0, b0 = fmaf(l->bx, k0, l->b0), c0 = fmaf(l->cx, k0, l->c0);
		float k = floorf(t), b = floorf(fmaf(l->bx, t, b0)), c = floorf(fmaf(l->cx, t, c0));
		float rb = reciprocal(l->bx), rc = reciprocal(l->cx);

		next_k = k + 1;
		next_b = fabsf(l->bx) > 1e-9f ? (b + (l->bx > 0) - b0) * rb : 1e30f;
		next_c = fabsf(l->cx) > 1e-9f ? (c + (l->cx > 0) - c0) * rc : 1e30f;
		every_b = fabsf(rb);
		every_c = fabsf(rc);
		to_k = u->plane * 4;
		to_b = l->bx > 0 ? 4 : -4;
		to_c = l->cx > 0 ? u->nb * 4 : -u->nb * 4;
		at = (((int)k * u->nc + (int)c - u->c0) * u->nb + (int)b - u->b0) * 4;
	}

	__device__ float face() const
	{
		return fminf(fminf(next_b, next_c), fminf(next_k, end));
	}

	/* Into the voxel behind the face at x. */
	__device__ void cross(float x)
	{
		if (next_b <= x) {
			next_b += every_b;
			at += to_b;
		}
		if (next_c <= x) {
			next_c += every_c;
			at += to_c;
		}
		if (next_k <= x) {
			next_k += 1;
			at += to_k;
		}
		t = x;
	}
};

/* What weights need besides the ray. */
struct rule_data {
	float cut;            /* of TOF */
	struct ray_bins bins; /* its cells in shared memory */
};

/* Weight of a stretch over the ray's factor. */
template <enum ray_rule RULE> struct measure {
	float u0, ux, bend, far, before;
	const struct ray_bins *bins;

	/* By the middle m of a stretch of d: d exp(-m^2) (1 + (2 m^2 - 1) d^2 ux^2 / 12), u in units of
	   1/sqrt(log2 e) so that exp is exp2. */
	__device__ measure(const struct ray_line *l, float k0, float start, const struct rule_data *r)
	{
		const float root = RULE == RAY_RULE_MIDDLE ? 1.2011224087864498f : 1;

		u0 = fmaf(l->ux, k0, l->u0) * root;
		ux = (RULE == RAY_RULE_MIDDLE ? .5f : 1.f) * l->ux * root;
		bend = l->ux * l->ux / 12;
		far = r->cut;
		bins = &r->bins;
		if (RULE == RAY_RULE_ERF) before = ray_erf(fmaf(ux, start, u0), far);
		if (RULE == RAY_RULE_BIN) before = tail(start);
	}

	/* T at x, with the sign of u. */
	__device__ float tail(float x) const
	{
		float u = fmaf(ux, x, u0), at = fmaxf((bins->edge - fabsf(u)) * bins->per_u, 0),
		      k = floorf(at);
		float4 c = bins->cell[min((int)k, bins->cells - 1)];
		float d = at - k;

		return copysignf(fmaf(fmaf(fmaf(c.w, d, c.z), d, c.y), d, c.x), u);
	}

	/* In a bin: what lies between two tails. */
	__device__ float in_bin(float to)
	{
		float a = before, b = before = tail(to);

		return signbit(a) == signbit(b) ? fabsf(b - a) : bins->total - fabsf(a) - fabsf(b);
	}

	__device__ float operator()(float from, float to)
	{
		if (RULE == RAY_RULE_LENGTH) return to - from;
		if (RULE == RAY_RULE_BIN) return in_bin(to);
		if (RULE == RAY_RULE_ERF) {
			float last = before;

			before = ray_erf(fmaf(ux, to, u0), far);
			return before - last;
		}
		const float two_ln2 = 1.3862943611f;
		float d = to - from, m = fmaf(ux, from + to, u0), mm = m * m;

		return d * power_of_2(-mm) * fmaf(d * d, bend * fmaf(two_ln2, mm, -1), 1);
	}
};

template <class T> static __device__ T *at_byte(T *p, int offset)
{
	return (T *)((char *)p + offset);
}

/* Adds to the image itself, by the place in a brick. */
template <int K>
static __device__ void add_beyond(const brick<K> *u, int at, unsigned long long value,
                                  unsigned long long *acc)
{
	int i = at / 4, k = i / u->plane, c = i / u->nb % u->nc, b = i % u->nb;

	if (u->in_grid(u->k0 + k, u->b0 + b, u->c0 + c))
		atomicAdd(acc + u->voxel(u->k0 + k, u->b0 + b, u->c0 + c), value);
}

/* ---- the same by Joseph's samples ---- */

/* Follows a ray from slice to slice, from k to before `end`, for the samples that lie in the brick. A
   sample has its place from the ray and the slice alone, so each is in one brick. What it is between
   may lie one voxel outside: in the halo. */
template <int K> struct josephs {
	const brick<K> *u;
	struct ray_line l;
	struct ray_reach r;
	float k, end;
	float b_lo, b_hi, c_lo, c_hi; /* of the brick; none at the borders of the grid */

	__device__ josephs(const struct ray_line *line, const struct ray_reach *reach, const brick<K> *brick,
	                   enum ray_crossing how)
	    : u(brick), l(*line), r(*reach)
	{
		const struct cell *c = &u->cell;
		float t0, t1;

		k = fmaxf(l.x0, c->k0);
		end = fminf(l.x1, c->k1);
		if (how ==
		    RAY_SOMEWHERE) { /* samples are half a slice away from where the ray crosses faces */
			struct cell wide = c->wider(.01f);

			clip<K>(line, &wide, &t0, &t1);
			k = fmaxf(k, floorf(c->k0 + t0 - .01f));
			end = fminf(end, ceilf(c->k0 + t1 + .01f));
		}
		end = how == RAY_ABSENT ? k : end;
		b_lo = c->b0 > 0 ? c->b0 : -NOWHERE;
		c_lo = c->c0 > 0 ? c->c0 : -NOWHERE;
		b_hi = c->b1 < u->g->n[1] ? c->b1 : NOWHERE;
		c_hi = c->c1 < u->g->n[2] ? c->c1 : NOWHERE;
	}

	/* Where the ray's weight in the slice begins and ends, from the brick's first slice on. */
	__device__ float from() const
	{
		return fmaxf(k, r.x0) - u->cell.k0;
	}

	__device__ float to() const
	{
		return fmaxf(fminf(k + 1, r.x1), fmaxf(k, r.x0)) - u->cell.k0;
	}

	/* Byte offset of the lowest of the four voxels, and the shares of the upper ones; false if the
	   sample lies in another brick. */
	__device__ bool sample(int *at, float *up_b, float *up_c) const
	{
		float x = .5f * (fmaxf(k, r.g0) + fminf(k + 1, r.g1));
		float b = fmaf(l.bx, x, l.b0), c = fmaf(l.cx, x, l.c0);
		float vb = fminf(fmaxf(b - .5f, 0), (float)(u->g->n[1] - 1)), low_b = floorf(vb);
		float vc = fminf(fmaxf(c - .5f, 0), (float)(u->g->n[2] - 1)), low_c = floorf(vc);

		*up_b = vb - low_b;
		*up_c = vc - low_c;
		*at = (((int)(k - u->cell.k0) * u->nc + (int)low_c - u->c0) * u->nb + (int)low_b - u->b0) * 4;
		return b >= b_lo && b < b_hi && c >= c_lo && c < c_hi;
	}
};

/* ---- what a lane has in a chunk ---- */

/* What a lane has in a chunk: the ray, its slot, and how it crosses the brick. */
struct listed {
	struct ray_line line;
	unsigned slot;
	enum ray_crossing how;
};

/* p: of a pass, which has the lines of a pack. */
template <class PASS> static __device__ struct listed fetch(const PASS *p, unsigned listed)
{
	struct listed r;

	r.how = listed == RAY_NO_SLOT ? RAY_ABSENT : listed & RAY_MARK ? RAY_INSIDE : RAY_SOMEWHERE;
	r.slot = r.how == RAY_ABSENT ? 0 : listed & ~RAY_MARK;
	r.line = p->line[r.slot];
	return r;
}

/* What this lane has in chunk i of a unit. APART: each lane in another chunk, so that over all i it has the same rays, but those
   of a warp are not neighbours, which would add to the same voxels at the same time. */
template <bool APART = false>
static __device__ unsigned listed_at(const struct ray_lists *l, struct ray_unit unit, int i)
{
	if (i >= unit.n) return RAY_NO_SLOT;
	unsigned lane = threadIdx.x % ISO_WARP;
	unsigned chunk = l->order[unit.first + (APART ? (i + lane) % (unsigned)unit.n : i)];

	if (chunk & RAY_MARK) return ((chunk & ~RAY_MARK) * RAY_PACKET + lane) | RAY_MARK;
	unsigned off = l->part.off[(size_t)chunk * RAY_PACKET + lane];
	uint2 base = l->part.base[chunk];

	return off == RAY_NO_OFF ? RAY_NO_SLOT : (off & RAY_OFF_Y ? base.y : base.x) + (off & ~RAY_OFF_Y);
}

#endif
