/* SPDX-License-Identifier: BSD-3-Clause */
/* The points of the spherical Radon transform brick by brick: which spheres, rings and arcs meet a
   brick of voxels, and where their points lie. Lengths are voxels. A point is computed from its
   transducer, sphere, ring and number alone, never from the brick, so that all bricks agree, to the
   bit, to which of them it belongs.

   A point has the cell whose low corner is the first of the eight voxels around it. Cells are
   counted from 0, whose low corner lies one voxel before the image: along an axis of n voxels there
   are n + 1. Cell i spans i to i + 1, so the centre of the first voxel lies at 1.

   Points go in pairs, 2 j and 2 j + 1 of a ring, which share what is expensive: the sine and cosine
   of the azimuth between them. The last pair of a ring of an odd number has one point. */
#ifndef ISO_SRADON_BRICK_H
#define ISO_SRADON_BRICK_H

#include "sradon_kern.h"

#include <string.h>

#define SRADON_TURN 6.283185307179586477 /* radians */

/* ---- bricks ---- */

struct sradon_brick {
	int first[3], size[3]; /* cells */
	float centre[3], half[3];
};

/* Bricks along an axis; `edge` is the most cells that one may have. */
ISO_HD int sradon_bricks(const struct sradon_params *p, int edge, int axis)
{
	return (int)((p->n[axis] + edge) / edge);
}

/* Brick number b, x fastest; an axis is divided as evenly as whole cells allow. */
ISO_HD struct sradon_brick sradon_brick(const struct sradon_params *p, int edge, int64_t b)
{
	struct sradon_brick k;

	for (int a = 0; a < 3; a++) {
		int64_t n = sradon_bricks(p, edge, a), i = b % n;

		b /= n;
		k.first[a] = (int)(i * (p->n[a] + 1) / n);
		k.size[a] = (int)((i + 1) * (p->n[a] + 1) / n) - k.first[a];
		k.half[a] = .5f * (float)k.size[a];
		k.centre[a] = (float)k.first[a] + k.half[a];
	}
	return k;
}

/* ---- transducers and rings, counted in voxels ---- */

struct sradon_axes {
	double pos[3], n[3]; /* its place among the cells, and the direction of its axis */
	float ex[3], ey[3];
	double distance; /* mm */
};

ISO_HD struct sradon_axes sradon_axes(const struct sradon_params *p, const struct sradon_frame *f)
{
	struct sradon_axes x;

	for (int a = 0; a < 3; a++) {
		x.pos[a] = (f->pos[a] - p->first[a]) / p->ds + 1;
		x.n[a] = f->n[a];
		x.ex[a] = (float)f->ex[a];
		x.ey[a] = (float)f->ey[a];
	}
	x.distance = f->distance;
	return x;
}

/* A ring: its plane's distance from the transducer along the axis, its radius, the step between
   points in turns as the sum of two floats. For pairs: the radius times cosine and sine of half a step. */
struct sradon_row {
	double along;
	float across, turn, turn_low, weight, half_cos, half_sin;
	int n;
};

ISO_HD struct sradon_row sradon_row(const struct sradon_params *p, double rho, const struct sradon_ring *r)
{
	double turn = r->step / SRADON_TURN, across = rho * r->sin_theta / p->ds;
	struct sradon_row w;

	w.along = rho * r->cos_theta / p->ds;
	w.across = (float)across;
	w.turn = (float)turn;
	w.turn_low = (float)(turn - w.turn);
	w.weight = (float)r->weight;
	w.half_cos = (float)(across * cos(r->step / 2));
	w.half_sin = (float)(across * sin(r->step / 2));
	w.n = r->n;
	return w;
}

/* ---- points ---- */

ISO_HD void sradon_row_centre(float c[3], const struct sradon_axes *x, const struct sradon_row *w)
{
	for (int a = 0; a < 3; a++) c[a] = (float)(x->pos[a] + w->along * x->n[a]);
}

#define SRADON_MAGIC 12582912.f /* 1.5 * 2^23: a float sum with it is rounded to an integer */
#define SRADON_MAGIC_BITS 0x4b400000

/* v + MAGIC as the integer that v was rounded to; |v| < 2^22. */
ISO_HD int sradon_unmagic(float sum)
{
	int bits;

	memcpy(&bits, &sum, sizeof bits);
	return bits - SRADON_MAGIC_BITS;
}

/* j times a step of turn + turn_low turns, for j = 0, 1/2, 1, ...: the angle is first
   reduced to within an eighth of a turn of a quarter's end, without loss, and then rounded. The
   polynomials (interpolation at the nodes of Chebyshev) are good to 3e-9. */
ISO_HD void sradon_sincos(float j, float turn, float turn_low, float *si, float *co)
{
	float t = j * turn, sum = fmaf(t, 4, SRADON_MAGIC);
	float r = fmaf(sum - SRADON_MAGIC, -.25f, t) + fmaf(j, turn_low, fmaf(j, turn, -t)), u = r * r;
	float s = r * fmaf(fmaf(fmaf(-75.4016127f, u, 81.5925429f), u, -41.3416626f), u, 6.28318529f);
	float c = fmaf(fmaf(fmaf(fmaf(59.2201690f, u, -85.4428447f), u, 64.9393161f), u, -19.7392087f), u, 1);
	int quarter = sradon_unmagic(sum);
	float along = quarter & 1 ? s : c, across = quarter & 1 ? c : s;

	*co = (quarter + 1) & 2 ? -along : along;
	*si = quarter & 2 ? -across : across;
}

/* Point j of a ring, plus the shift. */
ISO_HD void sradon_point(float at[3], const float c[3], float across, const float ex[3], const float ey[3],
                         float j, float turn, float turn_low)
{
	float si, co;

	sradon_sincos(j, turn, turn_low, &si, &co);
	si *= across;
	co *= across;
	for (int a = 0; a < 3; a++) at[a] = fmaf(ey[a], si, fmaf(ex[a], co, c[a]));
}

/* Points 2 j and 2 j + 1 of a ring; `middle` is 2 j + 1/2 plus the shift. They lie beside the point
   between them, which is c + half_cos (ex cos + ey sin), by half_sin of the tangent. */
ISO_HD void sradon_pair(float at[2][3], const float c[3], float half_cos, float half_sin, const float ex[3],
                        const float ey[3], float middle, float turn, float turn_low)
{
	float si, co;

	sradon_sincos(middle, turn, turn_low, &si, &co);
	for (int a = 0; a < 3; a++) {
		float between = fmaf(ey[a], si * half_cos, fmaf(ex[a], co * half_cos, c[a]));
		float beside = fmaf(ey[a], co * half_sin, -(ex[a] * (si * half_sin)));

		at[0][a] = between - beside;
		at[1][a] = between + beside;
	}
}

/* Number of the cell along one axis; `high` is the part of the voxel above, the one below has
   1 - high. */
ISO_HD int sradon_cell(float at, float *high)
{
#ifdef __CUDA_ARCH__
	float sum = __fadd_rd(at, SRADON_MAGIC);

	*high = at - (sum - SRADON_MAGIC);
	return sradon_unmagic(sum);
#else
	float low = floorf(at);

	*high = at - low;
	return (int)low;
#endif
}

ISO_HD bool sradon_owns(const struct sradon_brick *k, const int cell[3])
{
	return (unsigned)(cell[0] - k->first[0]) < (unsigned)k->size[0] &&
	       (unsigned)(cell[1] - k->first[1]) < (unsigned)k->size[1] &&
	       (unsigned)(cell[2] - k->first[2]) < (unsigned)k->size[2];
}

/* ---- which spheres, rings and arcs meet a brick ---- */

/* Mathematics to choose points by: on the device, the quick forms. */
ISO_HD float sradon_over(float a, float b)
{
#ifdef __CUDA_ARCH__
	return __fdividef(a, b);
#else
	return a / b;
#endif
}

ISO_HD float sradon_root(float x)
{
#ifdef __CUDA_ARCH__
	return x * rsqrtf(fmaxf(x, 1e-30f));
#else
	return sqrtf(x);
#endif
}

/* Arc sine for |x| < 0.87: its series, the last term large enough for those that are left out; from
   0.5 on 1e-4 to 2e-3 too large, on rings where that is 0.03 voxels. */
ISO_HD float sradon_asin(float x)
{
	float u = x * x;

	return x * fmaf(fmaf(fmaf(fmaf(.08f, u, 15.f / 336), u, .075f), u, 1.f / 6), u, 1);
}

/* A brick as a transducer sees it. Its centre lies `along` the axis and `across` from it, in the
   direction `out`; `side` is at right angles to both axis and out. Good enough to choose points
   from: what is chosen too much fails sradon_owns. Bounds have room for rounding. */
struct sradon_sight {
	float n[3], out[3], side[3], over_side[3]; /* over_side = 1/side */
	float reach[3];                            /* half of the brick's edges */
	float along, across, d, theta;
	float azimuth;   /* turns */
	float radius;    /* of the sphere around the brick */
	int first, last; /* samples */
};

/* The samples are those whose spheres can meet the brick. A point w from the centre, which lies at d, has
   rho^2 = d^2 + 2 d (w along the sight) + w^2, so d - h <= rho <= d + h + radius^2/(2 d), where h is the most
   that the brick extends along the sight. */
ISO_HD struct sradon_sight sradon_sight(const struct sradon_params *p, const struct sradon_axes *x,
                                        const struct sradon_brick *k)
{
	double w[3], u = 0, v = 0, z = 0;
	float h = 0, square = 0;
	struct sradon_sight s;

	for (int a = 0; a < 3; a++) {
		w[a] = k->centre[a] - x->pos[a];
		u += w[a] * x->ex[a];
		v += w[a] * x->ey[a];
		z += w[a] * x->n[a];
	}
	double r = sqrt(u * u + v * v), co = r > 1e-3 ? u / r : 1, si = r > 1e-3 ? v / r : 0;

	for (int a = 0; a < 3; a++) {
		s.n[a] = (float)x->n[a];
		s.out[a] = (float)(co * x->ex[a] + si * x->ey[a]);
		s.side[a] = (float)(co * x->ey[a] - si * x->ex[a]);
		s.over_side[a] = 1 / (fabsf(s.side[a]) > 1e-5f ? s.side[a] : 1e-5f);
	}
	s.across = (float)r;
	s.azimuth = (float)(atan2(si, co) / SRADON_TURN);
	s.d = (float)sqrt(u * u + v * v + z * z);
	s.theta = (float)atan2(sqrt(u * u + v * v), z);
	s.along = (float)z;
	float room = .02f + 1e-6f * s.d;

	for (int a = 0; a < 3; a++) {
		s.reach[a] = k->half[a] + room;
		h += s.reach[a] * (float)fabs(w[a]) / s.d;
		square += s.reach[a] * s.reach[a];
	}
	s.radius = sqrtf(square);
	double per_voxel = p->ds / (p->speed * p->dt_us), before = p->first_us / p->dt_us;
	double first = ceil((s.d - h) * per_voxel - before);
	double last = floor((s.d + h + s.radius * s.radius / (2 * s.d)) * per_voxel - before);

	s.first = first > 0 ? first < 2e9 ? (int)first : 2000000000 : 0;
	s.last = last < (double)(p->samples - 1) ? last > -1 ? (int)last : -1 : (int)(p->samples - 1);
	while (s.first <= s.last && sradon_radius(p, s.first) <= 0) s.first++;
	return s;
}

/* Rings of the sphere of radius rho voxels within the sphere around the brick:
   4 rho d sin^2((theta - theta_b)/2) <= radius^2 - (rho - d)^2. `top` is theta_max (algorithm 4),
   `n` the number of rings; first > last: none. */
ISO_HD void sradon_sight_rings(const struct sradon_sight *s, const struct sradon_params *p, float rho,
                               float top, int n, int *first, int *last)
{
	float off = rho - s->d, left = s->radius * s->radius - off * off, rd4 = 4 * rho * s->d;
	float square = sradon_over(fmaxf(left, 0), rd4);
	float rings = rho * (float)(p->ds / p->h); /* of a radian */
	float half = square < .75f ? 2 * sradon_asin(sradon_root(square)) * rings + .02f : 4 * rings;
	float at = p->sampling == ISO_SRADON_ALG4 ? (top - s->theta) * rings : s->theta * rings - .5f;

	*first = (int)fmaxf(ceilf(at - half), 0);
	*last = left < 0 ? -1 : (int)fminf(floorf(at + half), (float)(n - 1));
}

/* Points at azimuths from `low` on, as far as `width`, in turns; numbers from w->n on are meant less w->n. The gap before point 0 is shorter than
   the others with algorithm 4: numbers start again there. */
ISO_HD struct sradon_arc sradon_arc_between(const struct sradon_row *w, float shift, float low, float width)
{
	float per_turn = sradon_over(1, w->turn), from = low - floorf(low), to = from + width;
	int first = (int)ceilf(from * per_turn - shift);
	struct sradon_arc c;

	c.first = first < 0 ? 0 : first < w->n ? first : w->n;
	if (to < 1) {
		int last = (int)floorf(to * per_turn - shift);

		c.n = (last < w->n ? last : w->n - 1) - c.first + 1;
	} else {
		c.n = w->n - c.first + (int)floorf((to - 1) * per_turn - shift) + 1;
	}
	c.n = c.n < 0 ? 0 : c.n < w->n ? c.n : w->n;
	return c;
}

/* The points of a ring that can lie in the brick. Seen from the brick's centre, the point `delta`
   beyond its azimuth is

	(along - along_b) n + (across cos(delta) - across_b) out + across sin(delta) side.

   The sphere around the brick bounds delta: 2 across across_b (1 - cos(delta)) <= left; beyond 60
   degrees the whole ring is taken. Otherwise the slabs of the brick bound s = across sin(delta),
   with cos(delta) anywhere between its least and 1. */
ISO_HD struct sradon_arc sradon_arc(const struct sradon_sight *s, const struct sradon_row *w, float shift)
{
	float dz = (float)w->along - s->along, dr = w->across - s->across;
	float left = s->radius * s->radius - dz * dz - dr * dr, rr = w->across * s->across;
	struct sradon_arc whole = { 0, w->n }, none = { 0, 0 };

	if (left < 0) return none;
	if (left >= rr) return whole;
	float x = sradon_over(left, rr), sag = w->across * x / 2;
	float high = w->across * sradon_root(x - x * x / 4), low = -high;

	for (int a = 0; a < 3; a++) {
		float u = dz * s->n[a] + dr * s->out[a], bend = s->out[a] * sag;
		float one = (fminf(bend, 0) - s->reach[a] - u) * s->over_side[a];
		float two = (fmaxf(bend, 0) + s->reach[a] - u) * s->over_side[a];

		low = fmaxf(low, fminf(one, two));
		high = fminf(high, fmaxf(one, two));
	}
	if (low > high) return none;
	float over = sradon_over(1, w->across), room = .05f * w->turn;
	float begin = sradon_asin(low * over) * (float)(1 / SRADON_TURN) - room;
	float end = sradon_asin(high * over) * (float)(1 / SRADON_TURN) + room;

	return sradon_arc_between(w, shift, s->azimuth + begin, end - begin);
}

/* The pairs of an arc's points; numbers from those of the ring on are meant less that. */
ISO_HD struct sradon_arc sradon_pairs(struct sradon_arc arc, int n)
{
	int pairs = (n + 1) / 2, end = arc.first + arc.n, first = arc.first / 2;
	int last = end <= n ? (end + 1) / 2 : pairs + (end - n + 1) / 2;
	struct sradon_arc c = { first, last - first < pairs ? last - first : pairs };

	if (arc.n <= 0) c.n = 0;
	return c;
}

/* Points of a sphere for each ds^2 of it, or 1 where they are fewer. */
ISO_HD double sradon_dense(const struct sradon_params *p)
{
	return p->h < p->ds ? p->ds * p->ds / (p->h * p->h) : 1;
}

/* What a voxel gets of one transducer, as a sum of trilinear parts, stays below this. On average
   there is a point for each h^2 c dt of volume, ds/(c dt) a voxel if h is ds, which is also the sum of
   their parts; lattices in step with the grid, and the short gap of algorithm 4, come to less than four
   times that; few spheres, to a few points. */
ISO_HD double sradon_load(const struct sradon_params *p)
{
	return (8 + 4 * p->ds / (p->speed * p->dt_us)) * sradon_dense(p);
}

#endif
