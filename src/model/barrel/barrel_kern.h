/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel `moment`: the density of an event for an emission at a voxel, 1/mm^3. Along a column of voxels its exponent is
   a parabola. With tau = dz over the way across, s = sqrt(1 + tau^2), a point (u, z) gives

	z_a = z + r_A tau      z_b = z - r_B tau      dl = (r_A - r_B) s

   r_A, r_B: ways across to the hits, whose means and variances over the directions barrel_hits.h has. */
#ifndef ISO_BARREL_KERN_H
#define ISO_BARREL_KERN_H

#include "barrel_hits.h"
#include "isotome/barrel.h"

#define BARREL_C_MM_PER_PS 0.299792458
#define BARREL_FWHM 2.354820 /* 2 sqrt(2 log 2) */
#define BARREL_FAR 4         /* arguments of erf beyond which it is 1 (8e-9 off) */

/* What all events of a list share. */
struct barrel_params {
	const struct barrel_place *place; /* of each strip */
	double mu, end_sigma, light_speed, attenuation, sigma_z,
		sigma_dl; /* as struct iso_barrel; sigma_dl: mm */
	enum iso_barrel_kernel kernel;
	bool edge;
	iso_real cut2;                   /* K^2 */
	int n[3];                        /* of the image: x, y, z */
	iso_real pixel, plane, first[3]; /* mm; centre of voxel 0 */
};

/* Covariance of z_a, z_b, dl. */
struct barrel_cov {
	iso_real aa, bb, dd, ab, ad, bd;
};

/* An event, ready to be met with pixels. */
struct barrel_line {
	struct barrel_pair pair;
	iso_real t, s; /* tilt, and how much longer ways are by it */
	iso_real y, z; /* the likeliest place on the line */
	struct barrel_cov c;
	iso_real end[2][2];     /* ends of strips a and b: low, high */
	iso_real reach, across; /* of columns that may matter, from (y, 0) along and across the line */
	iso_real factor;        /* of all values: strips in the shadow of others */
};

/* A column of voxels: P(z) = factor (1 + tau^2)^(-3/2) exp(-(least + al (z - zc)^2) / 2). */
struct barrel_column {
	iso_real factor, al, zc, least;
	iso_real tau, slope;      /* tau* = tau - slope (z - zc) */
	iso_real r_a, r_b, sharp; /* sharp: sqrt(N / 2) */
};

/* ---- an event ---- */

/* Light that went farther is weaker: the error of an end's time grows with its way. z: from the middles of the strips. */
ISO_HD struct barrel_cov barrel_covariance(const struct barrel_params *p, double z_a, double z_b)
{
	struct barrel_cov c = ISO_ZERO;

	if (!(p->end_sigma > 0)) {
		c.aa = c.bb = (iso_real)(p->sigma_z * p->sigma_z);
		c.dd = (iso_real)(p->sigma_dl * p->sigma_dl);
		return c;
	}
	const double v = p->light_speed, half = p->end_sigma * p->end_sigma / 2, way = BARREL_C_MM_PER_PS;
	const double over = p->attenuation > 0 ? 1 / p->attenuation : 0;

	const iso_real a = (iso_real)(z_a * over), b = (iso_real)(z_b * over);

	c.aa = (iso_real)(v * v * half) * ISO_MATH(cosh)(a);
	c.bb = (iso_real)(v * v * half) * ISO_MATH(cosh)(b);
	c.dd = (iso_real)(way * way * half) * (ISO_MATH(cosh)(a) + ISO_MATH(cosh)(b));
	c.ad = (iso_real)(way * v * half) * ISO_MATH(sinh)(a);
	c.bd = (iso_real)(-way * v * half) * ISO_MATH(sinh)(b);
	return c;
}

/* Variance of a constant depth: of the box along the line. */
ISO_HD iso_real barrel_box_variance(const struct barrel_box *b)
{
	iso_real d = 2 * b->half[0] * b->c, w = 2 * b->half[1] * b->s;

	return (d * d + w * w) / 12;
}

/* How far columns may lie from (y, 0): the spread of dl, and the shift by the depth of hits. */
ISO_HD void barrel_set_reach(struct barrel_line *l, iso_real cut)
{
	const struct barrel_pair *p = &l->pair;
	iso_real a3 = -2 * l->y * l->t / l->s, length = 2 * p->half;
	iso_real diagonal[2], v[2], n2;

	for (int k = 0; k < 2; k++) {
		const struct barrel_box *b = k ? &p->b : &p->a;

		diagonal[k] = 2 * iso_sqrt(b->half[0] * b->half[0] + b->half[1] * b->half[1]);
		v[k] = diagonal[k] * diagonal[k] / 12;
	}
	iso_real at_a = a3 * l->t - length * l->s, at_b = a3 * l->t + length * l->s; /* n p and n q */

	n2 = a3 * a3 * (l->c.aa + l->c.bb) + length * length * l->c.dd +
	     2 * (-a3 * a3 * l->c.ab - a3 * length * l->c.ad + a3 * length * l->c.bd);
	n2 += v[0] * at_a * at_a + v[1] * at_b * at_b;
	l->reach =
		(cut + (iso_real).2) * iso_sqrt(n2) / (2 * length * l->s) + (diagonal[0] + diagonal[1]) / 4;
	l->across = p->widest;
}

/* False: the event tells nothing, as its strips are one, or a value is not finite. */
ISO_HD bool barrel_line(struct barrel_line *l, const struct barrel_params *p,
                        const struct iso_barrel_event *e, iso_real factor)
{
	if (e->a < 0 || e->a == e->b) return false;
	const struct barrel_place *a = p->place + e->a, *b = p->place + e->b;
	double z_a = (double)e->z_a, z_b = (double)e->z_b, dl = (double)e->dl;

	l->pair = barrel_pair(a, b, p->mu);
	double t = (z_a - z_b) / (2 * (double)l->pair.half), s = sqrt(1 + t * t), y = -dl / (2 * s);

	l->t = (iso_real)t;
	l->s = (iso_real)s;
	l->y = (iso_real)y;
	l->z = (iso_real)((z_a + z_b) / 2 + y * t);
	l->c = barrel_covariance(p, z_a - a->z, z_b - b->z);
	l->end[0][0] = (iso_real)(a->z - a->length / 2);
	l->end[0][1] = (iso_real)(a->z + a->length / 2);
	l->end[1][0] = (iso_real)(b->z - b->length / 2);
	l->end[1][1] = (iso_real)(b->z + b->length / 2);
	l->factor = factor;
	barrel_set_reach(l, iso_sqrt(p->cut2));
	return true;
}

/* 1 / x and 1 / sqrt(x), on CUDA to 2 units of the last place. */
#ifdef __CUDA_ARCH__
#	define barrel_inv(x) __fdividef(1, x)
#	define barrel_inv_root(x) rsqrtf(x)
#else
#	define barrel_inv(x) (1 / (x))
#	define barrel_inv_root(x) (1 / iso_sqrt(x))
#endif

/* ---- a column ---- */

/* What a kernel makes of the hits: `depth` and `thin` leave their places out. */
ISO_HD void barrel_simplify(struct barrel_hits *h, const struct barrel_line *l, enum iso_barrel_kernel kernel)
{
	if (kernel == ISO_BARREL_MOMENT) return;
	bool depth = kernel == ISO_BARREL_DEPTH;

	h->m_a = h->m_b = h->v_ab = 0;
	h->v_a = depth ? barrel_box_variance(&l->pair.a) : 0;
	h->v_b = depth ? barrel_box_variance(&l->pair.b) : 0;
}

/* A symmetric 3 x 3 matrix. */
struct barrel_three {
	iso_real aa, bb, dd, ab, ad, bd;
};

ISO_HD iso_real barrel_dot(const struct barrel_three *m, const iso_real u[3], const iso_real v[3])
{
	return u[0] * (m->aa * v[0] + m->ab * v[1] + m->ad * v[2]) +
	       u[1] * (m->ab * v[0] + m->bb * v[1] + m->bd * v[2]) +
	       u[2] * (m->ad * v[0] + m->bd * v[1] + m->dd * v[2]);
}

/* Inverse of the covariance with the depth of hits in it, and the root of its determinant. p = (t, 0, s), q = (0, -t, -s). */
ISO_HD struct barrel_three barrel_inverse(iso_real *root, const struct barrel_line *l,
                                          const struct barrel_hits *h)
{
	const iso_real t = l->t, s = l->s;
	struct barrel_three c = { l->c.aa + h->v_a * t * t,
		                  l->c.bb + h->v_b * t * t,
		                  l->c.dd + (h->v_a + h->v_b - 2 * h->v_ab) * s * s,
		                  l->c.ab - h->v_ab * t * t,
		                  l->c.ad + (h->v_a - h->v_ab) * s * t,
		                  l->c.bd + (h->v_b - h->v_ab) * s * t };
	struct barrel_three i = { c.bb * c.dd - c.bd * c.bd, c.aa * c.dd - c.ad * c.ad,
		                  c.aa * c.bb - c.ab * c.ab, c.ad * c.bd - c.ab * c.dd,
		                  c.ab * c.bd - c.ad * c.bb, c.ab * c.ad - c.aa * c.bd };
	iso_real det = c.aa * i.aa + c.ab * i.ab + c.ad * i.ad, over = barrel_inv(det);

	i.aa *= over;
	i.bb *= over;
	i.dd *= over;
	i.ab *= over;
	i.ad *= over;
	i.bd *= over;
	*root = barrel_inv_root(det);
	return i;
}

/* The column at (y, d) of the pair's frame, of what hits there. False: no voxel of it can be meant. */
ISO_HD bool barrel_column(struct barrel_column *k, const struct barrel_line *l, iso_real y,
                          const struct barrel_hits *h)
{
	const iso_real t = l->t, s = l->s, over_s = barrel_inv(s), off = y - l->y;
	const iso_real r_a = l->pair.half - y + h->m_a, r_b = l->pair.half + y + h->m_b, r = r_a - r_b;
	iso_real root;
	const struct barrel_three i = barrel_inverse(&root, l, h);
	const iso_real a[3] = { r_a, -r_b, r * t * over_s }, o[3] = { 1, 1, 0 };
	/* what is measured less what (u, z0) gives with the tilt t */
	const iso_real g[3] = { h->m_a * t, -h->m_b * t, s * (h->m_a - h->m_b - 2 * off) };
	iso_real aa = barrel_dot(&i, a, a), ao = barrel_dot(&i, a, o), ag = barrel_dot(&i, a, g);
	iso_real n = aa + i.dd * r * g[2] * over_s * over_s * over_s, over = barrel_inv(n);
	iso_real al = barrel_dot(&i, o, o) - ao * ao * over, be = barrel_dot(&i, o, g) - ao * ag * over;
	iso_real ga = barrel_dot(&i, g, g) - ag * ag * over, middle = -be * barrel_inv(al); /* from z0 */

	if (!(h->t > 0) || !(n > 0) || !(al > 0)) return false;
	const iso_real over_root = barrel_inv_root(n);

	k->al = al;
	k->zc = l->z + off * t + middle;
	k->least = ga + be * middle;
	k->slope = ao * over;
	k->tau = t - (middle * ao + ag) * over;
	k->factor = l->factor * h->t * root * over_root * (iso_real)(.5 / M_PI);
	k->r_a = r_a;
	k->r_b = r_b;
	k->sharp = n * over_root * (iso_real)M_SQRT1_2;
	return true;
}

/* The column of the pixel of edge h around (u, v), mm of the image. */
ISO_HD bool barrel_column_at(struct barrel_column *k, const struct barrel_line *l,
                             enum iso_barrel_kernel kernel, iso_real u, iso_real v, iso_real h)
{
	const struct barrel_pair *p = &l->pair;
	iso_real x = u - p->middle[0], w = v - p->middle[1];
	iso_real y = x * p->e[0] + w * p->e[1], d = w * p->e[0] - x * p->e[1];

	if (!(y < p->half && y > -p->half)) return false;
	struct barrel_hits hits = barrel_hits(p, y, d, h, l->s);

	barrel_simplify(&hits, l, kernel);
	return barrel_column(k, l, y, &hits);
}

/* ---- a voxel ---- */

/* Tilts from (u, z) at which both hits lie on their strips. */
ISO_HD void barrel_tilts(iso_real *low, iso_real *high, const iso_real end[2][2], iso_real r_a, iso_real r_b,
                         iso_real z)
{
	*high = iso_fmin((end[0][1] - z) / r_a, (z - end[1][0]) / r_b);
	*low = iso_fmax((end[0][0] - z) / r_a, (z - end[1][1]) / r_b);
}

/* Whether the ends of the strips matter between heights z0 and z1: their distance in tilt is largest within. */
ISO_HD bool barrel_near_end(const struct barrel_line *l, const struct barrel_column *k, iso_real z0,
                            iso_real z1)
{
	for (int i = 0; i < 2; i++) {
		iso_real z = i ? z1 : z0, tau = k->tau - k->slope * (z - k->zc), low, high;

		barrel_tilts(&low, &high, l->end, k->r_a, k->r_b, z);
		if (!((high - tau) * k->sharp > BARREL_FAR && (tau - low) * k->sharp > BARREL_FAR))
			return true;
	}
	return false;
}

ISO_HD iso_real barrel_edge(const struct barrel_line *l, const struct barrel_column *k, iso_real z)
{
	iso_real tau = k->tau - k->slope * (z - k->zc), low, high;

	barrel_tilts(&low, &high, l->end, k->r_a, k->r_b, z);
	if (!(high > low)) return 0;
	return (iso_real).5 * (iso_erf((high - tau) * k->sharp) - iso_erf((low - tau) * k->sharp));
}

/* Without the ends of the strips. */
ISO_HD iso_real barrel_value(const struct barrel_column *k, iso_real z)
{
	iso_real zz = z - k->zc, tau = k->tau - k->slope * zz, cosine = barrel_inv_root(1 + tau * tau);

#ifdef __CUDA_ARCH__
	iso_real e = __expf((iso_real)-.5 * (k->least + k->al * zz * zz));
#else
	iso_real e = ISO_MATH(exp)((iso_real)-.5 * (k->least + k->al * zz * zz));
#endif
	return k->factor * cosine * cosine * cosine * e;
}

/* ---- the columns of an event ---- */

/* Pixels that may matter: along the axis of the image that the line is nearest to, `wide` pixels each. */
struct barrel_tube {
	int along, first, n, wide; /* along: 0 for x, 1 for y */
	iso_real over_wide;
	iso_real low, rise; /* first pixel across at the first along, and how it moves from one to the next */
};

ISO_HD struct barrel_tube barrel_tube(const struct barrel_params *p, const struct barrel_line *l)
{
	const struct barrel_pair *pair = &l->pair;
	const iso_real ex = pair->e[0], ey = pair->e[1], ax = ex < 0 ? -ex : ex, ay = ey < 0 ? -ey : ey;
	const iso_real across = l->across + p->pixel * (iso_real).29 * (ax + ay);
	const int a = ax >= ay ? 0 : 1;
	const iso_real e = a ? ey : ex, c = a ? ex : ey, size = a ? ay : ax, other = a ? ax : ay;
	const iso_real middle = pair->middle[a] + l->y * e, span = l->reach * size + across * other;
	const iso_real over = 1 / p->pixel;
	struct barrel_tube t;
	int last = (int)iso_floor(iso_fmin((middle + span - p->first[a]) * over, (iso_real)p->n[a]));

	t.along = a;
	t.first = (int)iso_ceil(iso_fmax((middle - span - p->first[a]) * over, 0));
	last = last < p->n[a] - 1 ? last : p->n[a] - 1;
	t.n = last >= t.first ? last - t.first + 1 : 0;
	/* |d| <= across at a place along: an interval around the line, `across / size` to either side */
	iso_real at = p->first[a] + (iso_real)t.first * p->pixel - pair->middle[a];

	t.rise = c / e;
	t.low = (pair->middle[1 - a] + at * t.rise - across / size - p->first[1 - a]) * over;
	t.wide = (int)iso_floor(2 * across / size * over) + 1;
	t.over_wide = 1 / (iso_real)t.wide;
	return t;
}

/* Candidate number i of t.n * t.wide: its pixel; false: it lies outside of the image. */
ISO_HD bool barrel_candidate(int *ix, int *iy, const struct barrel_params *p, const struct barrel_tube *t,
                             int i)
{
	int step = (int)(((iso_real)i + (iso_real).5) * t->over_wide); /* i / wide */
	int at = t->first + step;
	int other = (int)iso_ceil(t->low + (iso_real)step * t->rise) + i - step * t->wide;

	*ix = t->along ? other : at;
	*iy = t->along ? at : other;
	return other >= 0 && other < p->n[1 - t->along];
}

/* Planes of a column with E <= K^2; false: there are none. */
ISO_HD bool barrel_planes(int *first, int *n, const struct barrel_params *p, const struct barrel_column *k)
{
	iso_real room = p->cut2 - k->least;

	if (!(room >= 0)) return false;
	iso_real half = room * barrel_inv_root(room * k->al + (iso_real)1e-30), over = barrel_inv(p->plane);
	iso_real most = (iso_real)p->n[2];
	iso_real low = iso_fmax((k->zc - half - p->first[2]) * over, 0);
	iso_real high = iso_fmin((k->zc + half - p->first[2]) * over, most);
	int last = (int)iso_floor(high);

	last = last < p->n[2] - 1 ? last : p->n[2] - 1;
	*first = (int)iso_ceil(iso_fmin(low, most));
	*n = last - *first + 1;
	return *n > 0;
}

#endif
