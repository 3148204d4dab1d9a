/* SPDX-License-Identifier: BSD-3-Clause */
/* Slice-based ray tracing (Gao 2012; Van Gendt 2021 section 3), exact: the chord of a LOR in each
   voxel, or the share of a TOF Gaussian over each chord.

   Index coordinates: voxel i of an axis is [i, i+1). The main axis is the one along which the ray
   crosses most voxels; x is its index coordinate, and the other two, b and c, are straight lines
   in x. In one slice k <= x < k+1 the ray meets at most three voxels. The lines are set up in
   double and rounded once; positions are evaluated from x, never accumulated. */
#ifndef ISO_RAY_KERN_H
#define ISO_RAY_KERN_H

#include "core/hd.h"

#define RAY_C_MM_PER_PS 0.299792458
#define RAY_SQRT2 1.4142135623730951
#define RAY_FAR 1e9	/* voxels: an end so far away that nothing is left of its direction */

struct ray_grid {
	int n[3];
	int64_t stride[3];
	double voxel[3], low[3];	/* size and low corner, mm */
};

struct ray_tof {
	double sigma;		/* mm along the LOR; 0: no TOF */
	double half;		/* half width of the window, mm; INFINITY: not truncated */
	iso_real norm;		/* 1 / (2 erf(k / sqrt 2)): the sum over TOF stays the chord */
};

struct ray {
	int k0, k1;		/* slices k0 <= k < k1; none if k0 >= k1 */
	int nb, nc;
	int64_t sk, sb, sc;	/* strides of main axis, b, c */
	iso_real x0, x1;	/* where the ray enters and leaves, x0 < x1 */
	iso_real b0, bx, c0, cx;	/* b = b0 + bx x, c = c0 + cx x */
	iso_real len;		/* mm of ray per unit of x */
	iso_real u0, ux;	/* TOF: (s - s_c) / (sqrt2 sigma) = u0 + ux x */
};

/* A piece of ray inside one voxel. */
struct ray_piece {
	int64_t voxel;
	iso_real w;
};

/* [t0, t1] of the segment p + t d, 0 <= t <= 1, inside the box; false if it misses. Index units. */
ISO_HD bool ray_clip(const struct ray_grid *g, const double p[3], const double d[3], double *t0,
		     double *t1)
{
	*t0 = 0;
	*t1 = 1;
	for (int a = 0; a < 3; a++) {
		if (d[a] == 0) {	/* half-open: the upper border face is outside */
			if (!(p[a] >= 0 && p[a] < g->n[a]))
				return false;
			continue;
		}
		double lo = -p[a] / d[a], hi = (g->n[a] - p[a]) / d[a];

		*t0 = fmax(*t0, fmin(lo, hi));
		*t1 = fmin(*t1, fmax(lo, hi));
	}
	return *t1 > *t0;
}

/* Narrows [t0, t1] to the TOF window and sets the line u(x); the window's centre lies s_c from p1,
   s_c = (L + c dt)/2 with dt = t1 - t2. t = (x - p) / d along the main axis. */
ISO_HD bool ray_window(struct ray *r, const struct ray_tof *tof, double length, double dt_ps,
		       double p, double d, double *t0, double *t1)
{
	double centre = .5 * (length + RAY_C_MM_PER_PS * dt_ps);
	double scale = 1 / (RAY_SQRT2 * tof->sigma), slope = d < 0 ? -scale : scale;

	*t0 = fmax(*t0, (centre - tof->half) / length);
	*t1 = fmin(*t1, (centre + tof->half) / length);
	r->ux = (iso_real)(slope * length / d);
	r->u0 = (iso_real)(-slope * (length * p / d + centre));
	return *t1 > *t0;
}

/* The ray from p1 to p2 (mm) through the grid; tof NULL: chords. A ray that misses, and one with
   an end that is not finite, has no slices. */
ISO_HD struct ray ray_setup(const struct ray_grid *g, const double p1[3], const double p2[3],
			    const struct ray_tof *tof, double dt_ps)
{
	struct ray r = ISO_ZERO;
	double p[3], d[3], t0, t1, length = 0;
	int a = 0;

	for (int i = 0; i < 3; i++) {
		p[i] = (p1[i] - g->low[i]) / g->voxel[i];
		d[i] = (p2[i] - p1[i]) / g->voxel[i];
		length += (p2[i] - p1[i]) * (p2[i] - p1[i]);
		if (fabs(d[i]) > fabs(d[a]))	/* in voxels, not mm; ties: the lowest axis */
			a = i;
	}
	length = sqrt(length);
	if (!(length > 0) || !(length < 1e300) || !ray_clip(g, p, d, &t0, &t1))
		return r;
	if (tof && !ray_window(&r, tof, length, dt_ps, p[a], d[a], &t0, &t1))
		return r;

	int b = a == 0 ? 1 : 0, c = a == 2 ? 1 : 2;
	double xa = p[a] + t0 * d[a], xb = p[a] + t1 * d[a];
	double x0 = fmin(xa, xb), x1 = fmax(xa, xb);

	double b0 = p[b] - p[a] * (d[b] / d[a]), c0 = p[c] - p[a] * (d[c] / d[a]);

	if (!(fabs(b0) < RAY_FAR) || !(fabs(c0) < RAY_FAR))
		return r;
	r.x0 = (iso_real)x0;
	r.x1 = (iso_real)x1;
	r.k0 = (int)fmax(0., floor(x0));
	r.k1 = (int)fmin((double)g->n[a], ceil(x1));
	r.bx = (iso_real)(d[b] / d[a]);
	r.cx = (iso_real)(d[c] / d[a]);
	r.b0 = (iso_real)b0;
	r.c0 = (iso_real)c0;
	r.len = (iso_real)(length / fabs(d[a]));
	r.nb = g->n[b];
	r.nc = g->n[c];
	r.sk = g->stride[a];
	r.sb = g->stride[b];
	r.sc = g->stride[c];
	return r;
}

/* Voxel index at both ends of a slice, and the fraction of the slice at which it changes. */
struct ray_cross {
	int first, last;
	iso_real f;
};

ISO_HD struct ray_cross ray_crossing(iso_real from, iso_real to)
{
	struct ray_cross c = { (int)iso_floor(from), (int)iso_floor(to), 1 };

	if (c.first == c.last)
		return c;
	if (c.last - c.first > 1)	/* rounding on an exact diagonal */
		c.first = c.last - 1;
	if (c.first - c.last > 1)
		c.first = c.last + 1;
	iso_real face = (iso_real)(c.first > c.last ? c.first : c.last);

	c.f = iso_fmin(1, iso_fmax(0, (face - from) / (to - from)));
	return c;
}

/* Weight of [f, g] of a slice that runs over [xa, xb]. */
ISO_HD iso_real ray_weight(const struct ray *r, iso_real tof_norm, iso_real xa, iso_real xb,
			   iso_real f, iso_real g)
{
	iso_real dx = xb - xa;

	if (!(g > f))
		return 0;
	if (tof_norm == 0)
		return (g - f) * dx * r->len;
	iso_real from = iso_fma(r->ux, iso_fma(f, dx, xa), r->u0);
	iso_real to = iso_fma(r->ux, iso_fma(g, dx, xa), r->u0);

	return tof_norm * (iso_erf(to) - iso_erf(from));
}

/* The piece in voxel (k, b, c); nothing if that is outside the grid. */
ISO_HD struct ray_piece ray_in_voxel(const struct ray *r, int k, int b, int c, iso_real w)
{
	bool inside = b >= 0 && b < r->nb && c >= 0 && c < r->nc && w > 0;
	struct ray_piece p = { inside ? k * r->sk + b * r->sb + c * r->sc : 0, inside ? w : 0 };

	return p;
}

/* The three pieces of slice k: from the entry to the first change of voxel, between the two
   changes, and from the second to the exit. Those that do not exist have weight 0. tof_norm 0:
   chords. */
ISO_HD void ray_slice(struct ray_piece piece[3], const struct ray *r, iso_real tof_norm, int k)
{
	iso_real xa = iso_fmax((iso_real)k, r->x0);
	iso_real xb = iso_fmax(xa, iso_fmin((iso_real)(k + 1), r->x1));
	struct ray_cross b = ray_crossing(iso_fma(r->bx, xa, r->b0), iso_fma(r->bx, xb, r->b0));
	struct ray_cross c = ray_crossing(iso_fma(r->cx, xa, r->c0), iso_fma(r->cx, xb, r->c0));
	bool b_first = b.f < c.f;
	iso_real f = b_first ? b.f : c.f, g = b_first ? c.f : b.f;

	piece[0] = ray_in_voxel(r, k, b.first, c.first, ray_weight(r, tof_norm, xa, xb, 0, f));
	piece[1] = ray_in_voxel(r, k, b_first ? b.last : b.first, b_first ? c.first : c.last,
				ray_weight(r, tof_norm, xa, xb, f, g));
	piece[2] = ray_in_voxel(r, k, b.last, c.last, ray_weight(r, tof_norm, xa, xb, g, 1));
}

/* Sum of chord x value along a ray; for the CPU, a ray a thread. */
ISO_HD double ray_integral(const struct ray *r, const iso_real *x)
{
	double sum = 0;

	for (int k = r->k0; k < r->k1; k++) {
		struct ray_piece piece[3];

		ray_slice(piece, r, 0, k);
		for (int i = 0; i < 3; i++)
			sum += (double)piece[i].w * x[piece[i].voxel];
	}
	return sum;
}

#endif
