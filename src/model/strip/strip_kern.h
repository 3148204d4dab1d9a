/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-strip J-PET: from an event to the rows of its ellipse, and to the weight of each pixel.

   Bialas et al., Acta Phys. Pol. A 127 (2015) 1500, with its misprints put right: a_3 of (9) has a
   factor 2, and the constant of (7) is det(C^-1)^(1/2) / (2 pi^2).

   An event (z_up, z_down, dl) most likely came from (y~, z~) along tan(theta~) = t, eq. (2). For a
   pixel at (y, z), with Dy = y - y~, v = z - (z~ + Dy t) and s = sqrt(1 + t^2),

	b = (v, v, -2 Dy s)

   is the event seen from the pixel less the event, at theta~. a and o are its first and half its
   second derivative in theta (kernel tan: in tan theta). Along an image row all of a, o and b_3
   are constant, so with C^-1 of eq. (12)

	bb = q0 + q1 v^2,   ab = p0 + p1 v,   N = aa + 2 ob = n0 + n1 v

   and a weight is det(C^-1)^(1/2) / (2 pi^2) times

	eq7	exp(-(bb - ab^2 / N) / 2) / sqrt(N)
	tan	the same, over 1 + tau*^2, tau* = t - ab / N; n1 = 0
	gauss	exp(-bb / 2) / sqrt(aa)

   A pixel takes part if its centre has bb <= 9. */
#ifndef ISO_STRIP_KERN_H
#define ISO_STRIP_KERN_H

#include "scanner/strips_kern.h"

#include <string.h>

/* C^-1 of eq. (12), sigma_z being that of either measured hit:

	( up     0      gamma )
	( 0      down  -gamma )
	( gamma -gamma  dl    )

   and factor = det(C^-1)^(1/2) / (2 pi^2). As b_1 = b_2, gamma drops out of bb. */
struct strip_inverse {
	double up, down, dl, gamma, factor;
};

struct strip_params {
	struct iso_strips strips;
	int ny, nz;
	double pixel;
	enum iso_strip_kernel kernel;
	bool edge;
	struct strip_inverse middle; /* of hits at z = 0; of all, if sigma_z does not grow */
};

#define STRIP_REACH2 9     /* the ellipse: bb <= 9, 3 sigma */
#define STRIP_STEEPEST 1e6 /* |t|: beyond it a line runs along the strips, not across */

/* ---- the event ---- */

/* Eq. (2): where it most likely came from. */
struct strip_origin {
	double y, z, t, s;
};

ISO_HD struct strip_origin strip_origin(double radius, double z_up, double z_down, double dl)
{
	struct strip_origin o;

	o.t = (z_up - z_down) / (2 * radius);
	o.s = sqrt(1 + o.t * o.t);
	o.y = -dl / (2 * o.s);
	o.z = (z_up + z_down) / 2 + o.y * o.t;
	return o;
}

ISO_HD struct strip_inverse strip_inverse(const struct iso_strips *s, double z_up, double z_down)
{
	double su = strips_sigma_z(s, z_up), sd = strips_sigma_z(s, z_down), g = s->gamma;
	struct strip_inverse c = { 1 / (su * su), 1 / (sd * sd), 1 / (s->sigma_dl * s->sigma_dl), g, 0 };

	c.factor = sqrt(c.up * c.down * c.dl - g * g * (c.up + c.down)) / (2 * M_PI * M_PI);
	return c;
}

/* An event ready for its rows. Places are kept as a pixel and a rest, so that float has the
   accuracy of a pixel's fraction everywhere in the image. */
struct strip_line {
	int low, high;   /* rows of the ellipse in the image; none: low > high */
	int iy, iz;      /* the pixel whose centre lies at or below (y~, z~) */
	iso_real fy, fz; /* (y~, z~) above that centre, in pixels */
	iso_real t, s;
	iso_real up, down, dl, gamma; /* of C^-1 */
	iso_real factor;
};

/* (y~, z~) in pixels, and half the ellipse's box: false if it misses the image, also if it is NaN. */
ISO_HD bool strip_box(double *uy, double *uz, double *half, const struct strip_params *p,
                      const struct strip_origin *o, const struct strip_inverse *c)
{
	double over = sqrt((double)STRIP_REACH2) / p->pixel;
	double half_z = over * sqrt(1 / (c->up + c->down) + o->t * o->t / (4 * o->s * o->s * c->dl));

	*half = over / (2 * o->s * sqrt(c->dl));
	*uy = o->y / p->pixel + .5 * (p->ny - 1);
	*uz = o->z / p->pixel + .5 * (p->nz - 1);
	return (*uy >= -*half) & (*uy <= p->ny - 1 + *half) & (*uz >= -half_z) & (*uz <= p->nz - 1 + half_z) &
	       (fabs(o->t) <= STRIP_STEEPEST);
}

/* With C^-1 of its hits. Without branches: on the CPU a loop over it becomes vector code. */
ISO_HD struct strip_line strip_line_with(const struct strip_params *p, const struct iso_strip_event *e,
                                         const struct strip_inverse *c)
{
	struct strip_origin o = strip_origin(p->strips.radius, e->z_up, e->z_down, e->dl);
	struct strip_line l;
	double uy, uz, half;
	const bool inside = strip_box(&uy, &uz, &half, p, &o, c);

	uy = inside ? uy : 0;
	uz = inside ? uz : 0;
	half = inside ? half : 0;
	l.iy = (int)floor(uy);
	l.iz = (int)floor(uz);
	l.fy = (iso_real)(uy - floor(uy));
	l.fz = (iso_real)(uz - floor(uz));
	l.low = (int)ceil(uy - half);
	l.low = l.low > 0 ? l.low : 0;
	l.high = (int)floor(uy + half);
	l.high = l.high < p->ny - 1 ? l.high : p->ny - 1;
	l.high = inside ? l.high : -1;
	l.t = (iso_real)(inside ? o.t : 0);
	l.s = (iso_real)(inside ? o.s : 1);
	l.up = (iso_real)(inside ? c->up : 1);
	l.down = (iso_real)(inside ? c->down : 1);
	l.dl = (iso_real)c->dl;
	l.gamma = (iso_real)c->gamma;
	l.factor = (iso_real)(inside ? c->factor : 0);
	return l;
}

ISO_HD struct strip_line strip_line(const struct strip_params *p, const struct iso_strip_event *e)
{
	struct strip_inverse c =
		p->strips.sigma_z_growth == 0 ? p->middle : strip_inverse(&p->strips, e->z_up, e->z_down);

	return strip_line_with(p, e, &c);
}

/* ---- a row ---- */

#define STRIP_LOG2E 1.4426950408889634
#define STRIP_UNIT_ROOT .849321800288019 /* sqrt(log2(e) / 2): the unit of p */

/* bb, ab and N along a row as above, in units that make exp(-x/2) into 2^-x: q and p^2 carry the
   factor log2(e) / 2. tan: tau* = tau0 + tau1 v. root = 1/sqrt(n0). */
struct strip_row {
	iso_real q0, q1, p0, p1, n0, n1, tau0, tau1, root;
};

/* N <= 0, possible far from the paper's set-up only, counts as infinite: the weight is 0. */
ISO_HD iso_real strip_positive(iso_real n)
{
	return n > 0 ? n : (iso_real)INFINITY;
}

/* y of the row, and Dy, mm. */
ISO_HD struct strip_row strip_row(enum iso_strip_kernel kernel, iso_real radius, const struct strip_line *l,
                                  iso_real y, iso_real dy)
{
	const iso_real unit = (iso_real)(STRIP_LOG2E / 2), unit_root = (iso_real)STRIP_UNIT_ROOT;
	iso_real t = l->t, s = l->s, s2 = s * s, b3 = -2 * dy * s;
	iso_real angle = kernel == ISO_STRIP_TAN ? 1 : s2; /* d tan(theta) / d theta */
	iso_real a1 = (radius - y) * angle, a2 = -(radius + y) * angle, a3 = y * (-2 * t / s * angle);
	iso_real o3 = kernel == ISO_STRIP_TAN ? y * (-1 / (s2 * s)) : y * (-s * (1 + 2 * t * t));
	iso_real couple = l->gamma * (2 * radius * angle); /* gamma (a1 - a2) */
	iso_real slope = iso_fma(l->up, a1, l->down * a2), third = iso_fma(l->dl, a3, couple);
	iso_real level = b3 * third;
	iso_real aa = iso_fma(l->up * a1, a1, iso_fma(l->down * a2, a2, a3 * (third + couple)));
	struct strip_row r;

	r.q0 = unit * l->dl * b3 * b3;
	r.q1 = unit * (l->up + l->down);
	r.n0 = aa;
	r.n1 = 0;
	if (kernel == ISO_STRIP_TAN) /* o1 = o2 = 0 */
		r.n0 = iso_fma(2 * b3, l->dl * o3, aa);
	if (kernel == ISO_STRIP_EQ7) { /* o1 = a1 t, o2 = a2 t */
		r.n0 = iso_fma(2 * b3, iso_fma(l->dl, o3, couple * t), aa);
		r.n1 = 2 * t * slope;
	}
	r.p0 = unit_root * level;
	r.p1 = unit_root * slope;
	r.root = 1 / iso_sqrt(strip_positive(r.n0));
	r.tau0 = t - level * r.root * r.root;
	r.tau1 = -slope * r.root * r.root;
	return r;
}

/* The same for all rows of an event: polynomials of d = Dy,

	p0 = d (l0 + l1 d),  p1 = s0 + s1 d,  n0 = m0 + m1 d + m2 d^2,  n1 = turn p1,  q0 = rise d^2

   as y = y~ + d, b_3 = -2 s d, and for eq7 and gauss a = s^2 (R - y, -R - y, -2 y t / s),
   o = (a_1 t, a_2 t, -y s (1 + 2 t^2)); for tan a is without s^2 and o = (0, 0, -y / s^3). */
struct strip_powers {
	iso_real m0, m1, m2, turn, s0, s1, l0, l1, rise, q1;
};

ISO_HD struct strip_powers strip_powers(const struct strip_params *p, const struct strip_line *l,
                                        enum iso_strip_kernel kernel)
{
	const bool tan = kernel == ISO_STRIP_TAN;
	const iso_real unit = (iso_real)(STRIP_LOG2E / 2), root = (iso_real)STRIP_UNIT_ROOT;
	iso_real t = l->t, s = l->s, k = tan ? 1 : s * s, over_s = 1 / s, R = (iso_real)p->strips.radius;
	iso_real up = l->up, down = l->down, dl = l->dl, g = l->gamma;
	iso_real y = (((iso_real)l->iy - (iso_real).5 * (iso_real)(p->ny - 1)) + l->fy) * (iso_real)p->pixel;
	iso_real a3 = -2 * t * over_s * k, o3 = tan ? -over_s * over_s * over_s : -s * (1 + 2 * t * t);
	iso_real o12 = tan ? 0 : 2 * R * k * t; /* o_1 - o_2 */
	iso_real sum = (up + down) * k * k, odd = 2 * R * (down - up) * k * k;
	iso_real square = sum + dl * a3 * a3, linear = odd + 4 * g * R * k * a3;
	iso_real cross = kernel == ISO_STRIP_GAUSS ? 0 : -4 * s; /* 2 b_3 / d */
	struct strip_powers e;

	e.m0 = sum * R * R + linear * y + square * y * y;
	e.m1 = linear + 2 * square * y + cross * (dl * o3 * y + g * o12);
	e.m2 = square + cross * dl * o3;
	e.s0 = root * k * (up * (R - y) - down * (R + y));
	e.s1 = -root * k * (up + down);
	e.l0 = root * -2 * s * (dl * a3 * y + 2 * g * R * k);
	e.l1 = root * -2 * s * dl * a3;
	e.turn = kernel == ISO_STRIP_EQ7 ? 2 * t * (iso_real)(1 / STRIP_UNIT_ROOT) : 0;
	e.rise = unit * 4 * s * s * dl;
	e.q1 = unit * (up + down);
	return e;
}

/* Where row `iy`, which may be any, has bb <= 9: columns within `half` of `middle`, which counts
   from column iz; nowhere if half2 < 0. */
struct strip_reach {
	iso_real dy;                  /* mm */
	iso_real middle, half, half2; /* columns */
};

ISO_HD struct strip_reach strip_reach(const struct strip_line *l, iso_real pixel, int iy)
{
	iso_real steps = (iso_real)(iy - l->iy) - l->fy;
	struct strip_reach r;

	r.dy = steps * pixel;
	r.middle = l->fz + steps * l->t;
	r.half2 = (STRIP_REACH2 - 4 * l->s * l->s * l->dl * r.dy * r.dy) *
	          (1 / ((l->up + l->down) * pixel * pixel));
	r.half = iso_sqrt(r.half2 > 0 ? r.half2 : 0);
	return r;
}

/* The pixels there, clipped to the image: columns first .. first + n - 1, v that of the first. All
   is 0 where the ellipse does not reach. */
struct strip_span {
	int first, n;
	iso_real v, dy; /* mm */
};

ISO_HD struct strip_span strip_span(const struct strip_line *l, int nz, iso_real pixel, int iy)
{
	struct strip_reach r = strip_reach(l, pixel, iy);
	int first = (int)iso_ceil(r.middle - r.half) + l->iz;
	int last = (int)iso_floor(r.middle + r.half) + l->iz;
	struct strip_span span;

	first = first > 0 ? first : 0;
	last = last < nz - 1 ? last : nz - 1;
	span.n = ((r.half2 >= 0) & (last >= first)) ? last - first + 1 : 0;
	span.first = span.n > 0 ? first : 0;
	span.v = span.n > 0 ? ((iso_real)(first - l->iz) - r.middle) * pixel : 0;
	span.dy = r.dy;
	return span;
}

/* ---- a pixel: weights over the event's factor ---- */

/* 2^x. On the CPU a loop over it becomes vector code: x is split into the nearest integer, which
   goes into the exponent's bits, and a rest in [-1/2, 1/2], where a polynomial (minimax, 2e-9) is
   as good as float: 1e-7 relative. |x| is 126 at most. */
#if defined(__CUDACC__)
#	define strip_exp2 exp2f
#elif defined(ISO_DOUBLE)
#	define strip_exp2 exp2
#else
ISO_HD float strip_exp2(float x)
{
	const float shift = 0x1.8p23f + 127; /* of the exponent's bits */
	float shifted = x + shift, f = x - (shifted - shift), f2 = f * f, power;
	float low = iso_fma(.69314718f, f, 1.f), middle = iso_fma(5.5503286e-2f, f, .24022646f);
	float high = iso_fma(1.5345812e-4f, f2, iso_fma(1.3399931e-3f, f, 9.6184891e-3f));
	uint32_t bits;

	memcpy(&bits, &shifted, sizeof bits);
	bits <<= 23;
	memcpy(&power, &bits, sizeof power);
	return iso_fma(iso_fma(high, f2, middle), f2, low) * power;
}
#endif

ISO_HD iso_real strip_weight(enum iso_strip_kernel kernel, const struct strip_row *r, iso_real v)
{
	iso_real bb = iso_fma(r->q1 * v, v, r->q0), ab = iso_fma(r->p1, v, r->p0);

	if (kernel == ISO_STRIP_EQ7) {
		iso_real over_n = 1 / strip_positive(iso_fma(r->n1, v, r->n0)),
			 x = iso_fma(ab * ab, over_n, -bb);

		return strip_exp2(x < 40 ? x : 40) *
		       iso_sqrt(over_n); /* N next to 0: within the range of float */
	}
	if (kernel == ISO_STRIP_GAUSS) return strip_exp2(-bb) * r->root;
	iso_real tau = iso_fma(r->tau1, v, r->tau0);

	ab *= r->root;
	return strip_exp2(iso_fma(ab, ab, -bb)) * r->root / iso_fma(tau, tau, 1);
}

/* The share of the directions around tau* that meet both strips, for the kernel tan at (y, z):
   1/2 [erf((tau_max - tau*) sqrt(N/2)) - erf((tau_min - tau*) sqrt(N/2))]. */
ISO_HD iso_real strip_edge(const struct iso_strips *s, const struct strip_row *r, iso_real v, double y,
                           double z)
{
	struct strips_range a = strips_accepted(s, y, z);
	iso_real tau = iso_fma(r->tau1, v, r->tau0), scale = iso_sqrt(r->n0 / 2);

	if (!(fabs(y) <= s->radius) || a.max <= a.min) return 0;
	return (iso_erf(((iso_real)a.max - tau) * scale) - iso_erf(((iso_real)a.min - tau) * scale)) / 2;
}

#endif
