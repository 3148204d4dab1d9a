/* SPDX-License-Identifier: BSD-3-Clause */
/* Rays bent at a sphere, circle or plane, in the storage type: how much sooner sound comes than by the straight ray.

   The ray's own delays are large and nearly those of the straight one, so that only their difference is computed. Where the
   straight ray meets a ball steeply enough, a series at its crossing says what bending gains; elsewhere, and for amplitudes,
   Newton's method does, from the straight crossing on, kept inside its bracket. A crossing is a place (c, s) of the unit
   circle, so that no angle is needed. sound_kern.h has the same in double, from the formulas as they are printed. */
#ifndef ISO_BEND_KERN_H
#define ISO_BEND_KERN_H

#include "sound_kern.h"

enum { BEND_STEPS = 24 };

#ifdef __CUDA_ARCH__
#	define bend_over_root(x) rsqrtf(x)
#	define bend_over(x) __fdividef(1, x)
#	define bend_root(x) ((x)*rsqrtf(fmaxf(x, 1e-30f)))
#else
#	define bend_over_root(x) (1 / iso_sqrt(x))
#	define bend_over(x) (1 / (x))
#	define bend_root(x) iso_sqrt(x)
#endif

/* What rays are bent by. */
struct bend {
	bool plane, spread;
	iso_real a, c0, c1, slow0, slow1; /* radius; speeds, and 1 over them */
	iso_real more;                    /* slow1 - slow0 */
	iso_real enough;                  /* us: a step that gains less is the last */
	iso_real steep; /* mm^2: the series holds where the square of half the chord is above */
};

/* The series errs by less than 0.4 ns in a ball of 10 mm where tan^2 of the straight ray's angle with the normal, times the
   contrast of the speeds, is below these: in quick tissue, and in slow tissue, where rays may graze. */
#define BEND_QUICK .2
#define BEND_SLOW .08
#define BEND_CONTRAST .15 /* above: no series */
#define BEND_NEAR 1e-5    /* mm: nothing is nearer to the border */

/* The square of the distance from a ball's middle of the place o from a reference: rr + o . (twice + keep o). */
struct bend_place {
	iso_real rr, twice[3], keep[3];
};

/* A transducer: how far it is from a ball's middle, or above a plane; 0: its rays are straight. The place o is x0 + x . o
   along the line from the middle to the transducer, or so far below the plane. */
struct bend_view {
	iso_real far, x0, x[3];
};

/* Half a chord h of a ball of radius a stands for tan^2 = (a^2 - h^2)/h^2. */
ISO_HD iso_real bend_steep(const struct sound *m)
{
	const double a2 = m->radius * m->radius, most = m->c1 > m->c0 ? BEND_QUICK : BEND_SLOW;
	double contrast = fmax(m->c1 / m->c0, m->c0 / m->c1) - 1;

	if (sizeof(iso_real) > sizeof(float) || m->spread || contrast > BEND_CONTRAST) return (iso_real)a2;
	return (iso_real)(a2 * contrast / (contrast + most));
}

ISO_HD struct bend bend_of(const struct sound *m)
{
	struct bend k = ISO_ZERO;

	k.plane = m->shape == ISO_TISSUE_PLANE;
	k.spread = m->spread;
	k.a = (iso_real)m->radius;
	k.c0 = (iso_real)m->c0;
	k.c1 = (iso_real)m->c1;
	k.slow0 = (iso_real)(1 / m->c0);
	k.slow1 = (iso_real)(1 / m->c1);
	k.more = (iso_real)m->more;
	k.enough = (iso_real)(m->spread ? 1e-11 : 1e-7);
	k.steep = bend_steep(m);
	return k;
}

ISO_HD struct bend_place bend_place(const struct sound *m, const double from[3])
{
	struct bend_place p = ISO_ZERO;
	double rr = 0;

	for (int a = 0; a < 3; a++) {
		double w = a == m->across ? 0 : from[a] - m->centre[a];

		rr += w * w;
		p.twice[a] = (iso_real)(2 * w);
		p.keep[a] = (iso_real)(a != m->across);
	}
	p.rr = (iso_real)rr;
	return p;
}

/* `at`: the point whose rays bend; of a circle the middle of the transducer. */
ISO_HD struct bend_view bend_view(const struct sound *m, const double at[3], const double from[3])
{
	struct bend_view v = ISO_ZERO;
	double e[3], R = 0, along = 0;

	if (m->shape == ISO_TISSUE_PLANE) {
		v.far = (iso_real)(sound_dot(m->normal, at) - m->offset);
		v.x0 = (iso_real)(m->offset - sound_dot(m->normal, from));
		for (int a = 0; a < 3; a++) v.x[a] = (iso_real)-m->normal[a];
		return v;
	}
	for (int a = 0; a < 3; a++) {
		e[a] = a == m->across ? 0 : at[a] - m->centre[a];
		R += e[a] * e[a];
	}
	R = sqrt(R);
	if (!(R > m->radius)) return v;
	for (int a = 0; a < 3; a++) {
		along += e[a] / R * (from[a] - m->centre[a]);
		v.x[a] = (iso_real)(e[a] / R);
	}
	v.far = (iso_real)R;
	v.x0 = (iso_real)along;
	return v;
}

/* ---- balls ---- */

/* The ways on both sides of a crossing, and the first and second derivatives of the delay by its angle. */
struct bend_at {
	iso_real l0, l1, slope, curve;
};

ISO_HD struct bend_at bend_look(const struct bend *k, iso_real R, iso_real x, iso_real y, iso_real c,
                                iso_real s)
{
	const iso_real tiny = (iso_real)1e-12;
	iso_real fx = R - k->a * c, fy = k->a * s, ex = x - k->a * c, ey = y - k->a * s;
	iso_real ff = fx * fx + fy * fy, ee = iso_fmax(ex * ex + ey * ey, tiny);
	iso_real q0 = bend_over_root(ff), q1 = bend_over_root(ee);
	iso_real sin0 = R * s * q0, sin1 = (y * c - x * s) * q1;
	struct bend_at at;

	at.l0 = ff * q0;
	at.l1 = ee * q1;
	at.slope = k->a * (sin0 * k->slow0 - sin1 * k->slow1);
	at.curve = k->a * ((R * c - k->a * sin0 * sin0) * q0 * k->slow0 +
	                   (x * c + y * s - k->a * sin1 * sin1) * q1 * k->slow1);
	return at;
}

/* Amplitude: docs/optoacoustic-tissue.md; in double sound_sphere_spread. */
ISO_HD iso_real bend_ball_spread(const struct bend *k, iso_real R, iso_real x, iso_real y, iso_real rr,
                                 iso_real c, iso_real s, const struct bend_at *at)
{
	const iso_real one = 1, small = (iso_real)1e-6;
	iso_real a = k->a, n = k->c1 * k->slow0;

	if (rr < small * a * a || y * y < small * rr) {
		iso_real l0 = R - a, l1 = a - x, turn = n / l0 + (n - 1) / a;
		iso_real way = l0 * (1 + l1 * turn);

		return 2 * k->c1 / (k->c1 + k->c0) / (way < 0 ? -way : way);
	}
	iso_real i0 = (R * c - a) / at->l0, i1 = (a - (x * c + y * s)) / at->l1; /* cosines */
	iso_real cos_g = (R - a * c) / at->l0, left;

	if (!(i0 > small)) return 0; /* a grazing ray: none comes */
	i1 = iso_fmin(iso_fmax(i1, small), one);
	left = a * i1 - at->l1;
	iso_real slope = R * cos_g * k->slow0 *
	                 (left * (k->c0 / (a * i0) - k->c0 / (R * cos_g) - k->c1 / (a * i1)) + k->c1);
	iso_real tube = y * (slope < 0 ? -slope : slope) * at->l0 / (a * s);

	return 2 * k->c1 * i0 / (k->c1 * i0 + k->c0 * i1) * bend_root(i1 / i0 / tube);
}

/* How much sooner the bent ray comes: of a straight ray the parts l0 before and l1 in the ball, and h, half its chord.

   The delay over the angle of the crossing has the derivatives T1 to T4 there, since those of l0 follow from one another:
   the first is p, the ray's distance from the middle, the second (h^2 + h l0)/l0, and the third -p (1 + 3 second/l0). With
   -p and -l1 these are those of l1. The least delay is below that of the straight ray by T1^2/(2 T2), over
   1 + k/3 - 5 k^2/36 + T1^2 T4/(12 T2^3) with k = -T1 T3/T2^2: the series in T1, as a fraction. */
ISO_HD iso_real bend_gain(const struct bend *k, iso_real l0, iso_real l1, iso_real h)
{
	const iso_real third = (iso_real)(1 / 3.), fifth = (iso_real)(-5 / 36.), last = (iso_real)(1 / 12.);
	iso_real hh = h * h, pp = k->a * k->a - hh, q = bend_over(l0 * l1), i0 = l1 * q, i1 = l0 * q;
	iso_real u0 = hh * i0 + h, u1 = hh * i1 - h, v0 = u0 * i0, v1 = u1 * i1;
	iso_real r = bend_over(u0 * k->slow0 + u1 * k->slow1), b = k->more * r, turn = pp * b;
	iso_real t3 = (1 + 3 * v1) * k->slow1 - (1 + 3 * v0) * k->slow0;
	iso_real t4 = (3 * pp * i0 * (1 + 4 * v0) - u0 * (1 + 3 * v0)) * k->slow0 +
	              (3 * pp * i1 * (1 + 4 * v1) - u1 * (1 + 3 * v1)) * k->slow1;
	iso_real bent = turn * t3 * r, under = 1 + bent * (third + fifth * bent) + last * turn * b * r * t4;

	return k->more * turn / 2 * bend_over(under);
}

/* From a transducer R from the middle to a voxel x along that line and the root of rr from the middle. */
ISO_HD iso_real bend_ball(iso_real *spread, const struct bend *k, iso_real R, iso_real x, iso_real rr)
{
	const iso_real zero = 0, tiny = (iso_real)1e-12, a = k->a;
	iso_real y = bend_root(iso_fmax(rr - x * x, zero)), vx = x - R, vv = vx * vx + y * y;
	iso_real over = bend_over_root(vv), past = iso_fmin(R * y * over, a); /* the line passes the middle */
	iso_real hh = (a - past) * (a + past), h = bend_root(hh);
	iso_real l0 = bend_root((R - past) * (R + past)) - h, l1 = vv * over - l0;

	if (hh > k->steep) return -bend_gain(k, l0, iso_fmax(l1, (iso_real)BEND_NEAR), h);
	iso_real cs = R + l0 * over * vx, ss = l0 * over * y, q = bend_over_root(cs * cs + ss * ss);
	iso_real c = cs *= q, s = ss *= q, gain = 0, q_rr = bend_over_root(iso_fmax(rr, tiny)), by, less;
	/* between the line to the transducer, and that to the voxel or the last place that the transducer sees */
	iso_real low_c = 1, low_s = 0, high_c = x * q_rr, high_s = y * q_rr, edge = a * bend_over(R);
	bool hidden = !(high_c > edge);
	struct bend_at at = bend_look(k, R, x, y, c, s);

	l0 = at.l0;
	l1 = at.l1;
	if (hidden) {
		high_c = edge;
		high_s = bend_root(1 - edge * edge);
	}
	if (hidden && k->slow1 > k->slow0) {
		struct bend_at last = bend_look(k, R, x, y, high_c, high_s);

		if (last.slope < 0) { /* a grazing ray */
			at = last;
			c = high_c;
			s = high_s;
			goto done;
		}
	}
	for (int step = 0; step < BEND_STEPS; step++) {
		iso_real turn = at.slope * bend_over(at.curve), nc = c + turn * s, ns = s - turn * c;

		gain = at.curve > 0 ? at.slope * turn / 2 : 0;
		if (at.curve > 0 && gain < k->enough) break;
		gain = 0;
		if (at.slope > 0) {
			high_c = c;
			high_s = s;
		} else {
			low_c = c;
			low_s = s;
		}
		if (!(at.curve > 0 && low_c * ns > low_s * nc && nc * high_s > ns * high_c)) {
			nc = low_c + high_c;
			ns = low_s + high_s;
		}
		q = bend_over_root(nc * nc + ns * ns);
		c = nc * q;
		s = ns * q;
		at = bend_look(k, R, x, y, c, s);
	}
	if (k->spread) *spread = bend_ball_spread(k, R, x, y, rr, c, s, &at);
done:
	/* by the angle turned through, whose sine is by: products of it with what is small where the way is short */
	by = cs * s - ss * c;
	less = by * by / (1 + (cs * c + ss * s));

	return -2 * a *
	               (-R * (less * cs + by * ss) * bend_over(at.l0 + l0) * k->slow0 +
	                (by * (y * cs - x * ss) - less * (x * cs + y * ss)) * bend_over(at.l1 + l1) *
	                        k->slow1) -
	       gain;
}

/* ---- planes ---- */

/* From z0 above to z1 below, xx the square of how far apart they are beside. */
ISO_HD iso_real bend_plane(iso_real *spread, const struct bend *k, iso_real z0, iso_real z1, iso_real xx)
{
	const iso_real zero = 0, part = bend_over(z0 + z1);
	iso_real x = bend_root(iso_fmax(xx, zero)), q = x * z0 * part, p = x * z1 * part, low = 0, high = x;
	iso_real gain = 0, qs = q, ps = p, o0, o1, l0s = 0, l1s = 0, l0, l1;

	for (int step = 0;; step++) {
		iso_real ff = q * q + z0 * z0, ee = p * p + z1 * z1, slope, curve, by;

		o0 = bend_over_root(ff);
		o1 = bend_over_root(ee);
		l0 = ff * o0;
		l1 = ee * o1;
		if (step == 0) {
			l0s = l0;
			l1s = l1;
		}
		slope = q * o0 * k->slow0 - p * o1 * k->slow1;
		curve = z0 * z0 * o0 * o0 * o0 * k->slow0 + z1 * z1 * o1 * o1 * o1 * k->slow1;
		by = slope * bend_over(curve);
		gain = slope * by / 2;
		if (gain < k->enough || step == BEND_STEPS) break;
		if (slope > 0)
			high = q;
		else
			low = q;
		if (q - by > low && q - by < high) {
			q -= by;
			p += by;
		} else {
			q = (low + high) / 2;
			p = x - q;
		}
	}
	if (k->spread) {
		iso_real n = k->c1 * k->slow0, i0 = z0 * o0, i1 = z1 * o1; /* cosines */
		iso_real tube = (l0 / i0 + l1 * n * i0 / (i1 * i1)) * i1 * (l0 + l1 * n);

		*spread = 2 * k->c1 * i0 / (k->c1 * i0 + k->c0 * i1) * bend_root(i1 / i0 / tube);
	}
	return (q - qs) * (q + qs) * bend_over(l0 + l0s) * k->slow0 +
	       (p - ps) * (p + ps) * bend_over(l1 + l1s) * k->slow1 - gain;
}

/* ---- both ---- */

/* What bending adds to the delay of the straight ray, us: above 0 only for grazing rays. The voxel is at o from the reference, and the root
   of dd from the point. *loud is times the amplitude and the distance, where there is a spread. */
ISO_HD iso_real bend_sooner(iso_real *loud, const struct bend *k, const struct bend_place *p,
                            const struct bend_view *v, iso_real ox, iso_real oy, iso_real oz, iso_real dd)
{
	iso_real x = v->x0 + v->x[0] * ox + v->x[1] * oy + v->x[2] * oz, spread = 0, sooner;

	if (!(v->far > 0)) return 0;
	if (k->plane) {
		if (!(x > 0)) return 0;
		sooner = bend_plane(&spread, k, v->far, x, dd - (v->far + x) * (v->far + x));
	} else {
		iso_real rr = p->rr + ox * (p->twice[0] + p->keep[0] * ox) +
		              oy * (p->twice[1] + p->keep[1] * oy) + oz * (p->twice[2] + p->keep[2] * oz);

		if (!(rr < k->a * k->a)) return 0;
		sooner = bend_ball(&spread, k, v->far, x, rr);
	}
	if (k->spread) *loud *= spread * bend_root(dd);
	return sooner;
}

#endif
