/* SPDX-License-Identifier: BSD-3-Clause */
/* The chords of a ray, those of ray_cut_between (ray_kern.h) to the bit, but four slices at a time.

   Every slice has a first piece, about half of them have a last one in another voxel, few one between. First
   pieces are written as they come; last pieces, and those between, are packed, so that nothing is written
   of those that are not there. Nothing branches on data but three pieces in a slice. */
#include "ray_cut.h"

/* ---- memory ---- */

/* Four are written at a time, and may be read: behind the slices there is room for them. */
static int64_t room(int slices)
{
	return ((int64_t)slices + 3) / 4 * 4 + 8;
}

int64_t iso_ray_cut_room(int slices)
{
	return 3 * room(slices);
}

int64_t iso_ray_cuts_bytes(int slices)
{
	return room(slices) * (int64_t)(7 * sizeof(iso_real) + 2 * sizeof(int) + 1);
}

struct ray_cuts iso_ray_cuts(void *memory, int slices)
{
	int64_t n = room(slices);
	iso_real *v = memory;
	int *i = (int *)(v + 7 * n);

	return (struct ray_cuts){ v,         v + 3 * n, v + 4 * n, v + 5 * n,
		                  v + 6 * n, i,         i + n,     (unsigned char *)(i + 2 * n) };
}

/* ---- weights ---- */

#define NEAR 2.2f /* 3.1 sigma */

/* ray_erf, to 2.4e-7, for Gaussians that end at |u| = far <= NEAR: u P(u^2) with P of degree 9 on [0, NEAR^2],
   fitted for the least greatest error of the product. */
static float erf_near(float u, float far)
{
	float v = fminf(fabsf(u), far), z = iso_fma(v * .41322314f, v, -1.f), q = z * z;
	float even = 0.000256225117f, odd = -5.42054404e-05f;

	even = iso_fma(even, q, 0.00308876066f);
	odd = iso_fma(odd, q, -0.000894101628f);
	even = iso_fma(even, q, 0.0267197173f);
	odd = iso_fma(odd, q, -0.00969795417f);
	even = iso_fma(even, q, 0.136024699f);
	odd = iso_fma(odd, q, -0.0643878952f);
	even = iso_fma(even, q, 0.624949396f);
	odd = iso_fma(odd, q, -0.262305975f);
	return copysignf(v * iso_fma(odd, z, even), u);
}

void iso_ray_shares(iso_real *restrict x, int n, const struct ray *ray, const struct ray_tof *tof)
{
	const struct ray r = *ray;
	const struct ray_tof t = *tof;

	if (t.measure != RAY_TOF) return;
	if (sizeof *x == sizeof(float) && t.cut <= NEAR)
		for (int i = 0; i < n; i++) x[i] = t.norm * erf_near(iso_fma(r.ux, x[i], r.u0), t.cut);
	else
		for (int i = 0; i < n; i++) x[i] = ray_tof_share(&r, &t, x[i]);
}

void iso_ray_weigh(iso_real *restrict w, const iso_real *a, const iso_real *b, int n, const struct ray *ray,
                   const struct ray_tof *tof)
{
	const struct ray r = *ray;
	const struct ray_tof t = *tof;

	if (t.measure == RAY_LENGTH)
		for (int i = 0; i < n; i++) w[i] = (b[i] - a[i]) * r.len;
	else if (t.measure == RAY_TOF)
		for (int i = 0; i < n; i++) w[i] = ray_max(b[i] - a[i], 0);
	else
		for (int i = 0; i < n; i++) w[i] = ray_weight(&r, &t, a[i], b[i]);
}

#ifdef ISO_DOUBLE

int iso_ray_cut(int *voxel, iso_real *w, struct ray_cuts *c, const struct ray *r, const struct ray_tof *tof)
{
	int n = 0;

	(void)c;
	for (int k = r->k0; k < r->k1; k++) {
		struct ray_piece piece[3];

		ray_slice(piece, r, tof, k);
		for (int i = 0; i < 3; i++, n++) {
			voxel[n] = piece[i].voxel;
			w[n] = piece[i].w;
		}
	}
	return n;
}

#else

#	include "core/loop/four.h"

#	include <float.h>

#	define INLINE static inline __attribute__((always_inline))

/* ---- cutting ---- */

/* Four of struct ray_face. */
struct faces {
	float4 x, b, c, in_b, in_c;
};

/* Four slices: pieces from x to change, to second, to end; what is not there has length 0. */
struct pieces {
	float4 x, change, second, end;
	int4 voxel, between, last;
	int4 is_three;
	unsigned several, three; /* bits: slices with more than one piece, with three */
};

/* A ray on its way: the slices in hand, their lower faces, and where what is found goes. */
struct cutting {
	struct ray r;
	float4 k;
	struct faces f;
	struct ray_cuts to;
	int *first, *last;       /* voxels */
	float *first_w, *last_w; /* weights, of lengths */
	float *x, *changes;      /* places, of others */
	int several, three;      /* slices so far */
};

/* `inside`: no coordinate is rounded out of the grid. None is below -1, and trunc is floor, or 0. */
INLINE struct faces find_faces(const struct ray *r, float4 k, bool inside)
{
	struct faces f;

	f.x = four_min(four_max(k, four_of(r->x0)), four_of(r->x1));
	f.b = four_fma(four_of(r->bx), f.x, four_of(r->b0));
	f.c = four_fma(four_of(r->cx), f.x, four_of(r->c0));
	f.in_b = four_trunc(f.b);
	f.in_c = four_trunc(f.c);
	if (!inside) {
		f.in_b = four_min(f.in_b, four_of((float)(r->nb - 1)));
		f.in_c = four_min(f.in_c, four_of((float)(r->nc - 1)));
	}
	return f;
}

/* The first voxel of each slice along b or c, `next` being the last: one of them, or its neighbour. */
INLINE float4 first_of(float4 in, float4 next, bool inside)
{
	return inside ? in : next - four_min(four_max(next - in, four_of(-1)), four_of(1));
}

/* Where a coordinate `at` leaves voxel `in`, at most `end`. */
INLINE float4 leave(float4 in, float4 at, float up, float slope, float4 x, float4 end, bool inside)
{
	float4 v = four_fma(in + four_of(up) - at, four_of(slope), x);

	return four_min(inside ? v : four_max(v, x), end);
}

/* Voxel numbers; by floats, which are exact to 2^24, where they are smaller. */
INLINE int4 number(const struct ray *r, float4 k, float4 in_b, float4 in_c, bool inside)
{
	if (inside) {
		float4 row = four_fma(in_b, four_of((float)r->sb), k * four_of((float)r->sk));

		return __builtin_convertvector(four_fma(in_c, four_of((float)r->sc), row), int4);
	}
	int4 slice = __builtin_convertvector(four_min(k, four_of((float)(r->k1 - 1))), int4);

	return slice * four_ints(r->sk) + __builtin_convertvector(in_b, int4) * four_ints(r->sb) +
	       __builtin_convertvector(in_c, int4) * four_ints(r->sc);
}

INLINE struct pieces cut_four(struct cutting *s, bool inside)
{
	const struct ray *r = &s->r;
	const struct faces f = s->f, g = find_faces(r, s->k + four_of(4), inside);
	float4 end = four_next(f.x, g.x), to_b = four_next(f.in_b, g.in_b), to_c = four_next(f.in_c, g.in_c);
	float4 in_b = first_of(f.in_b, to_b, inside), in_c = first_of(f.in_c, to_c, inside);
	float4 xb = leave(in_b, f.b, r->b_up, r->ib, f.x, end, inside);
	float4 xc = leave(in_c, f.c, r->c_up, r->ic, f.x, end, inside);
	int4 leaves_b = xb < end, leaves_c = xc < end;
	int4 step_b = leaves_b & (to_b != in_b) & four_ints(r->b_up > 0 ? r->sb : -r->sb);
	int4 step_c = leaves_c & (to_c != in_c) & four_ints(r->c_up > 0 ? r->sc : -r->sc);
	unsigned bits = four_bits(leaves_b, leaves_c);
	struct pieces p = { .x = f.x,
		            .change = four_min(xb, xc),
		            .second = four_max(xb, xc),
		            .end = end,
		            .voxel = number(r, s->k, in_b, in_c, inside),
		            .is_three = leaves_b & leaves_c,
		            .several = (bits | bits >> 4) & 15,
		            .three = bits & bits >> 4 };

	p.between = p.voxel + four_choose_ints(xb < xc, step_b, step_c);
	p.last = p.voxel + step_b + step_c;
	s->k += four_of(4);
	s->f = g;
	return p;
}

INLINE void keep_voxels(struct cutting *s, const struct pieces *p)
{
	four_store_ints(s->first, p->voxel);
	four_store_ints(s->last, four_pack_ints(p->last, p->several));
	s->first += 4;
	s->last += four_count[p->several];
}

/* Pieces and their lengths. */
INLINE void keep_lengths(struct cutting *s, struct pieces p)
{
	const float4 len = four_of(s->r.len);
	float4 from = p.change;

	if (p.three) {
		four_store_ints(s->to.between + s->three, four_pack_ints(p.between, p.three));
		four_store(s->to.low + s->three, four_pack((p.second - p.change) * len, p.three));
		s->three += four_count[p.three];
		from = four_choose(p.is_three, p.second, p.change);
	}
	four_store(s->first_w, (p.change - p.x) * len);
	four_store(s->last_w, four_pack((p.end - from) * len, p.several));
	s->first_w += 4;
	s->last_w += four_count[p.several];
	keep_voxels(s, &p);
}

/* Pieces and where they are. */
INLINE void keep_places(struct cutting *s, struct pieces p)
{
	if (p.three) {
		four_store_ints(s->to.between + s->three, four_pack_ints(p.between, p.three));
		four_store(s->to.high + s->three, four_pack(p.second, p.three));
		for (unsigned i = 0; i < 4; i++)
			if (p.three >> i & 1)
				s->to.at[s->three++] = s->several + four_count[p.several & ((1u << i) - 1)];
	}
	four_store(s->x, p.x);
	four_store(s->changes + s->several, four_pack(p.change, p.several));
	*s->to.several++ = (unsigned char)p.several;
	s->x += 4;
	s->several += four_count[p.several];
	keep_voxels(s, &p);
}

/* ---- a ray ---- */

static bool is_between(float at, int n)
{
	return at >= 0 && at < (float)n;
}

static bool is_inside(const struct ray *r, float x)
{
	return is_between(iso_fma(r->bx, x, r->b0), r->nb) && is_between(iso_fma(r->cx, x, r->c0), r->nc);
}

/* Whether a coordinate changes by less than 1 from face to face, rounding errors and all. */
static bool is_flat(float slope, int n)
{
	return fabsf(slope) + 4 * FLT_EPSILON * (float)n < 1;
}

static bool is_plain(const struct ray *r)
{
	double voxels = (double)r->sk * r->k1 + (double)r->sb * r->nb + (double)r->sc * r->nc;

	return is_flat(r->bx, r->nb) && is_flat(r->cx, r->nc) && voxels < 1 << FLT_MANT_DIG;
}

/* The slices below this one are between faces that are `inside`, in fours; but for the first face, which may be
   rounded out of the grid if the ray goes inwards from there. Coordinates only grow or only fall: what is inside
   at both ends, or at the faces next to them, is so between. */
static int inside_to(const struct ray *r)
{
	bool low = is_inside(r, r->x0) || is_inside(r, (float)(r->k0 + 1)), high = is_inside(r, r->x1);

	if (!is_plain(r) || !low || !(high || is_inside(r, (float)(r->k1 - 1)))) return 0;
	return high ? r->k1 : r->k1 - 7;
}

static int fours(int n)
{
	return (n + 3) / 4 * 4;
}

INLINE struct cutting start(int *voxel, float *w, const struct ray_cuts *c, const struct ray *r)
{
	const int slices = fours(r->k1 - r->k0);
	const float4 ramp = { 0, 1, 2, 3 };
	struct cutting s = { *r,
		             .k = four_of((float)r->k0) + ramp,
		             .to = *c,
		             .first = voxel,
		             .last = voxel + slices,
		             .first_w = w,
		             .last_w = w + slices,
		             .x = c->x,
		             .changes = c->x + slices + 1 };

	s.f = find_faces(r, s.k, false);
	return s;
}

/* Slices behind the last weigh nothing, but their voxels are none. */
static void forget_padding(int *voxel, const struct ray *r)
{
	for (int i = r->k1 - r->k0; i % 4 != 0; i++) voxel[i] = voxel[0];
}

static int cut_lengths(int *voxel, float *w, const struct ray_cuts *c, const struct ray *r)
{
	struct cutting s = start(voxel, w, c, r);
	int k = r->k0, inside = inside_to(r);

#	pragma GCC unroll 2
	for (; k < inside; k += 4) keep_lengths(&s, cut_four(&s, true));
	for (; k < r->k1; k += 4) keep_lengths(&s, cut_four(&s, false));
	forget_padding(voxel, r);
	memcpy(s.last, c->between, (size_t)s.three * sizeof *s.last);
	memcpy(s.last_w, c->low, (size_t)s.three * sizeof *s.last_w);
	return (int)(s.last - voxel) + s.three;
}

/* First pieces end at the change of voxel, or else the next face; last pieces begin at the one and end at
   the other. Weights of both by shares; and places where they end. */
static void weigh_ends(float *restrict w, float *restrict last_w, const struct ray_cuts *c,
                       const float *changes, int slices)
{
	float *end = c->end;

	for (int i = 0; i < slices; i += 4) {
		unsigned several = c->several[i / 4];
		float4 next = four_load(c->x + i + 1), change = four_load(changes), none = four_of(0);
		float4 to = four_spread(change, several, next), last = four_pack(next, several);

		four_store(c->to + i, to);
		four_store(end, last);
		four_store(w + i, four_max(to - four_load(c->x + i), none));
		four_store(last_w, four_max(last - change, none));
		changes += four_count[several];
		end += four_count[several];
		last_w += four_count[several];
	}
}

static float weigh_one(float a, float b, const struct ray *r, const struct ray_tof *tof)
{
	return tof->measure == RAY_TOF ? ray_max(b - a, 0) : ray_weight(r, tof, a, b);
}

/* From places to weights. All places are in a row, and vectors whole: what is behind them is not kept. */
static void weigh_places(float *w, const struct ray_cuts *c, int slices, int several, int three,
                         const struct ray *r, const struct ray_tof *tof)
{
	float *changes = c->x + slices + 1, *high = changes + several, *last_w = w + slices;

	memcpy(high, c->high, (size_t)three * sizeof *high);
	iso_ray_shares(c->x, fours(slices + 1 + several + three), r, tof);
	weigh_ends(w, last_w, c, changes, slices);
	if (tof->measure != RAY_TOF) {
		iso_ray_weigh(w, c->x, c->to, slices, r, tof);
		iso_ray_weigh(last_w, changes, c->end, several, r, tof);
	}
	for (int i = 0; i < three; i++) { /* of three pieces the last one begins where the one between ends */
		int last = c->at[i];

		last_w[several + i] = weigh_one(changes[last], high[i], r, tof);
		last_w[last] = weigh_one(high[i], c->end[last], r, tof);
	}
}

static int cut_places(int *voxel, float *w, const struct ray_cuts *c, const struct ray *r,
                      const struct ray_tof *tof)
{
	struct cutting s = start(voxel, w, c, r);
	int k = r->k0, inside = inside_to(r);

#	pragma GCC unroll 2
	for (; k < inside; k += 4) keep_places(&s, cut_four(&s, true));
	for (; k < r->k1; k += 4) keep_places(&s, cut_four(&s, false));
	*s.x = r->x1;
	forget_padding(voxel, r);
	memcpy(s.last, c->between, (size_t)s.three * sizeof *s.last);
	weigh_places(w, c, fours(r->k1 - r->k0), s.several, s.three, r, tof);
	return (int)(s.last - voxel) + s.three;
}

int iso_ray_cut(int *voxel, iso_real *w, struct ray_cuts *c, const struct ray *r, const struct ray_tof *tof)
{
	return tof->measure == RAY_LENGTH ? cut_lengths(voxel, w, c, r) : cut_places(voxel, w, c, r, tof);
}

#endif
