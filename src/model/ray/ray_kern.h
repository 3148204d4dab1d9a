/* SPDX-License-Identifier: BSD-3-Clause */
/* Rays through a grid of voxels (Gao 2012; Van Gendt 2021 section 3): which voxels, with which
   weight. Two projectors: exact chords through box voxels, and one bilinear sample a slice (Joseph
   1982). With time of flight a chord becomes the share of a Gaussian over it.

   Index coordinates: voxel i of an axis is [i, i+1). The main axis is the one along which the ray
   crosses most voxels; x is its index coordinate, and the other two, b and c, are straight lines
   in x. In one slice k <= x < k+1 the ray meets at most three voxels. The lines are set up in
   double and rounded once; positions are evaluated from x, never accumulated.

   Nothing after the set-up branches on data, so that compilers vectorise loops over slices. */
#ifndef ISO_RAY_KERN_H
#define ISO_RAY_KERN_H

#include "core/loop/box.h"
#include "base/constants.h"

#define RAY_SQRT2 1.4142135623730951
#define RAY_FAR 1e9  /* voxels: an end so far away that nothing is left of its direction */
#define RAY_PIECES 4 /* of a slice, at most: 3 chords, or 4 voxels around a sample */

struct ray_grid {
	int n[3];
	int stride[3];
	double voxel[3], low[3]; /* size and low corner, mm */
};

ISO_HD int64_t ray_voxels(const struct ray_grid *g)
{
	return (int64_t)g->n[0] * g->n[1] * g->n[2];
}

/* What a stretch of ray weighs. */
enum ray_measure {
	RAY_LENGTH,  /* mm */
	RAY_TOF,     /* share of the Gaussian around the measured time */
	RAY_TOF_BIN, /* that share, integrated over the bin of the measured time: mm */
};

/* u = (s - s_c) / (sqrt2 sigma) is the distance from the window's centre. The Gaussian ends at
   |u| = cut; its integral from the centre to u is C(u) = norm erf(u), and +-1/2 beyond the cut. */
struct ray_tof {
	enum ray_measure measure;
	double sigma;  /* mm along the LOR */
	double half;   /* half width of the window, mm; INFINITY: not truncated */
	double bin;    /* width of a bin, mm; 0: not binned */
	bool centred;  /* times are centres of bins */
	iso_real norm; /* 1 / (2 erf(cut)): the sum over TOF stays the chord */
	iso_real cut;
	iso_real scale; /* mm per unit of u */
	iso_real shift; /* half a bin, in u */
	int parts;      /* pieces are this many stretches of at most sigma/2 */
	bool each;      /* events have resolutions of their own, shares of fwhm_ps */
	double fwhm_ps; /* of sigma */
};

struct ray {
	int axis;   /* the main axis */
	int k0, k1; /* slices k0 <= k < k1; none if k0 >= k1 */
	int nb, nc;
	int sk, sb, sc;          /* strides of main axis, b, c */
	iso_real x0, x1;         /* where the ray enters and leaves, x0 < x1: grid and TOF window */
	iso_real g0, g1;         /* the same of the grid alone */
	iso_real b0, bx, c0, cx; /* b = b0 + bx x, c = c0 + cx x */
	iso_real ib, ic;         /* 1 / bx, 1 / cx; 0 if they are */
	iso_real b_up, c_up;     /* 1 if b, c grow with x, else 0 */
	iso_real len;            /* mm of ray per unit of x */
	iso_real u0, ux;         /* TOF: u = u0 + ux x, ux > 0 */
};

/* A piece of ray inside one voxel. */
struct ray_piece {
	int voxel;
	iso_real w;
};

/* Least and greatest by one instruction; where the functions that mind NaN have none of their own,
   by a comparison. */
#if defined(__CUDACC__) || defined(__aarch64__)
#	define ray_min iso_fmin
#	define ray_max iso_fmax
#else
ISO_HD iso_real ray_min(iso_real a, iso_real b)
{
	return a < b ? a : b;
}

ISO_HD iso_real ray_max(iso_real a, iso_real b)
{
	return a > b ? a : b;
}
#endif

ISO_HD iso_real ray_clamp(iso_real v, iso_real lo, iso_real hi)
{
	return ray_min(ray_max(v, lo), hi);
}

/* ---- set-up ---- */

/* [t0, t1] of the segment p + t d, 0 <= t <= 1, inside the box; false if it misses. Index units. */
ISO_HD bool ray_clip(const struct ray_grid *g, const double p[3], const double d[3], double *t0, double *t1)
{
	*t0 = 0;
	*t1 = 1;
	for (int a = 0; a < 3; a++)
		if (!box_narrow(t0, t1, -p[a], g->n[a] - p[a], d[a])) return false;
	return *t1 > *t0;
}

/* Centre of the TOF window, mm from p1: s_c = (L + c dt)/2 with dt = t1 - t2, or the centre
   L/2 + b w of its bin b = floor((s_c - L/2)/w + 1/2). */
ISO_HD double ray_tof_centre(const struct ray_tof *tof, double length, double dt_ps)
{
	double from_middle = .5 * ISO_C_MM_PER_PS * dt_ps;

	if (tof->measure == RAY_TOF_BIN && !tof->centred)
		from_middle = tof->bin * floor(from_middle / tof->bin + .5);
	return .5 * length + from_middle;
}

/* Narrows [t0, t1] to the TOF window and sets the line u(x), of a Gaussian `wide` times as wide as sigma. t = (x - p) / d along
   the main axis. */
ISO_HD bool ray_window(struct ray *r, const struct ray_tof *tof, double length, double dt_ps, double wide,
                       double p, double d, double *t0, double *t1)
{
	double centre = ray_tof_centre(tof, length, dt_ps), half = tof->half * wide;
	double scale = 1 / (RAY_SQRT2 * tof->sigma * wide), slope = d < 0 ? -scale : scale;

	*t0 = fmax(*t0, (centre - half) / length);
	*t1 = fmin(*t1, (centre + half) / length);
	r->ux = (iso_real)(slope * length / d);
	r->u0 = (iso_real)(-slope * (length * p / d + centre));
	return *t1 > *t0;
}

/* x at the two ends of [t0, t1], the lower one first. */
ISO_HD void ray_ends(iso_real *x0, iso_real *x1, double p, double d, double t0, double t1)
{
	double a = p + t0 * d, b = p + t1 * d;

	*x0 = (iso_real)fmin(a, b);
	*x1 = (iso_real)fmax(a, b);
}

/* What follows from the main axis, where the ray enters and leaves, and its slopes. */
ISO_HD void ray_complete(struct ray *r, const struct ray_grid *g, int axis)
{
	int b = axis == 0 ? 1 : 0, c = axis == 2 ? 1 : 2;

	r->axis = axis;
	r->k0 = (int)ray_max(0, iso_floor(r->x0));
	r->k1 = (int)ray_min((iso_real)g->n[axis], -iso_floor(-r->x1));
	r->ib = r->bx != 0 ? 1 / r->bx : 0;
	r->ic = r->cx != 0 ? 1 / r->cx : 0;
	r->b_up = r->bx > 0;
	r->c_up = r->cx > 0;
	r->nb = g->n[b];
	r->nc = g->n[c];
	r->sk = g->stride[axis];
	r->sb = g->stride[b];
	r->sc = g->stride[c];
}

/* The ray from p1 to p2 (mm) through the grid; tof NULL: lengths. A ray that misses, and one with
   an end that is not finite, has no slices. wide: of its Gaussian, in sigma of `tof`. */
ISO_HD struct ray ray_setup_wide(const struct ray_grid *g, const double p1[3], const double p2[3],
                                 const struct ray_tof *tof, double dt_ps, double wide)
{
	struct ray r = ISO_ZERO;
	double p[3], d[3], t0, t1, length = 0;
	int a = 0;

	for (int i = 0; i < 3; i++) {
		p[i] = (p1[i] - g->low[i]) / g->voxel[i];
		d[i] = (p2[i] - p1[i]) / g->voxel[i];
		length += (p2[i] - p1[i]) * (p2[i] - p1[i]);
		if (fabs(d[i]) > fabs(d[a])) /* in voxels, not mm; ties: the lowest axis */
			a = i;
	}
	length = sqrt(length);
	if (!(length > 0) || !(length < 1e300) || !ray_clip(g, p, d, &t0, &t1)) return r;
	ray_ends(&r.g0, &r.g1, p[a], d[a], t0, t1);
	if (tof && tof->measure != RAY_LENGTH &&
	    !ray_window(&r, tof, length, dt_ps, wide, p[a], d[a], &t0, &t1))
		return r;

	int b = a == 0 ? 1 : 0, c = a == 2 ? 1 : 2;
	double bx = d[b] / d[a], cx = d[c] / d[a], b0 = p[b] - p[a] * bx, c0 = p[c] - p[a] * cx;

	if (!(fabs(b0) < RAY_FAR) || !(fabs(c0) < RAY_FAR)) return r;
	ray_ends(&r.x0, &r.x1, p[a], d[a], t0, t1);
	r.b0 = (iso_real)b0;
	r.bx = (iso_real)bx;
	r.c0 = (iso_real)c0;
	r.cx = (iso_real)cx;
	r.len = (iso_real)(length / fabs(d[a]));
	ray_complete(&r, g, a);
	return r;
}

ISO_HD struct ray ray_setup(const struct ray_grid *g, const double p1[3], const double p2[3],
                            const struct ray_tof *tof, double dt_ps)
{
	return ray_setup_wide(g, p1, p2, tof, dt_ps, 1);
}

/* ---- the weight of a stretch ---- */

/* erf to 4e-7, constant beyond +-far, which is at most 4 in float: u P(u^2) with P of degree 15 on
   [0, 16], fitted for the least greatest error of the product. */
ISO_HD iso_real ray_erf(iso_real u, iso_real far)
{
#ifdef ISO_DOUBLE
	return copysign(erf(fmin(fabs(u), far)), u);
#else
	float v = ray_min(fabsf(u), far), z = iso_fma(v * .125f, v, -1.f), q = z * z;
	float even = 0.00290751853f, odd = -0.00115937099f; /* two short chains, not a long one */

	even = iso_fma(even, q, 0.00201416807f);
	odd = iso_fma(odd, q, -0.00183564727f);
	even = iso_fma(even, q, 0.0167835318f);
	odd = iso_fma(odd, q, -0.0090129599f);
	even = iso_fma(even, q, 0.0319367833f);
	odd = iso_fma(odd, q, -0.0224304646f);
	even = iso_fma(even, q, 0.0601641014f);
	odd = iso_fma(odd, q, -0.0457221046f);
	even = iso_fma(even, q, 0.0901758149f);
	odd = iso_fma(odd, q, -0.0747441202f);
	even = iso_fma(even, q, 0.131676614f);
	odd = iso_fma(odd, q, -0.107708581f);
	even = iso_fma(even, q, 0.353530973f);
	odd = iso_fma(odd, q, -0.176576287f);
	return copysignf(v * iso_fma(odd, z, even), u);
#endif
}

/* Integral of erf from a to b, inside the cut. In double u erf u + exp(-u^2)/sqrt(pi), in float,
   where that cancels, Gauss and Legendre's rule of three points on each stretch. */
ISO_HD iso_real ray_erf_integral(const struct ray_tof *t, iso_real a, iso_real b)
{
#ifdef ISO_DOUBLE
	(void)t;
	return b * erf(b) - a * erf(a) + (exp(-b * b) - exp(-a * a)) * 0.56418958354775629;
#else
	float h = (b - a) / (float)t->parts, sum = 0;

	for (int i = 0; i < t->parts; i++) {
		float mid = iso_fma((float)i + .5f, h, a), off = .387298335f * h;

		sum += 5 * (ray_erf(mid - off, t->cut) + ray_erf(mid + off, t->cut)) +
		       8 * ray_erf(mid, t->cut);
	}
	return sum * h / 18;
#endif
}

/* Integral of C(u) from a to b, which may reach beyond the cut. */
ISO_HD iso_real ray_tof_integral(const struct ray_tof *t, iso_real a, iso_real b)
{
	iso_real above = ray_max(b, t->cut) - ray_max(a, t->cut);
	iso_real below = ray_min(b, -t->cut) - ray_min(a, -t->cut);
	iso_real inside = ray_erf_integral(t, ray_clamp(a, -t->cut, t->cut), ray_clamp(b, -t->cut, t->cut));

	return t->norm * inside + (iso_real).5 * (above - below);
}

/* C(u) at x. */
ISO_HD iso_real ray_tof_share(const struct ray *r, const struct ray_tof *t, iso_real x)
{
	return t->norm * ray_erf(iso_fma(r->ux, x, r->u0), t->cut);
}

/* In a bin: the integral over [xa, xb] of C(u + shift) - C(u - shift). */
ISO_HD iso_real ray_tof_binned(const struct ray *r, const struct ray_tof *t, iso_real xa, iso_real xb)
{
	iso_real a = iso_fma(r->ux, xa, r->u0), b = iso_fma(r->ux, xb, r->u0);

	return t->scale * (ray_tof_integral(t, a + t->shift, b + t->shift) -
	                   ray_tof_integral(t, a - t->shift, b - t->shift));
}

/* Weight of the ray over [xa, xb], inside its window. */
ISO_HD iso_real ray_weight(const struct ray *r, const struct ray_tof *t, iso_real xa, iso_real xb)
{
	if (t->measure == RAY_LENGTH) return (xb - xa) * r->len;
	iso_real w = t->measure == RAY_TOF ? ray_tof_share(r, t, xb) - ray_tof_share(r, t, xa)
	                                   : ray_tof_binned(r, t, xa, xb);

	return ray_max(w, 0); /* far out, rounding errors are all there is */
}

/* ---- exact chords ---- */

/* Where the ray crosses face k, or begins or ends before it: x, the coordinates b and c, and the
   voxels they lie in. Rounding must not leave the grid. */
struct ray_face {
	iso_real x, b, c, in_b, in_c;
};

ISO_HD struct ray_face ray_face(const struct ray *r, int k)
{
	struct ray_face f;

	f.x = ray_clamp((iso_real)k, r->x0, r->x1);
	f.b = iso_fma(r->bx, f.x, r->b0);
	f.c = iso_fma(r->cx, f.x, r->c0);
	f.in_b = ray_clamp(iso_floor(f.b), 0, (iso_real)(r->nb - 1));
	f.in_c = ray_clamp(iso_floor(f.c), 0, (iso_real)(r->nc - 1));
	return f;
}

/* Slice k: three pieces, [x[i], x[i+1]] in voxel[i]: from the entry to the first change of voxel,
   between the two changes, from the second to the exit. Those that do not exist have length 0. */
struct ray_cut {
	iso_real x[4];
	int voxel[3];
};

/* From the faces p, q of slice k. A coordinate leaves its first voxel through the face above that
   if it grows, else through the one below; if it stays inside, it does not matter where we think
   it left. On an exact diagonal rounding may seem to pass two voxels: the first one is left out. */
ISO_HD struct ray_cut ray_cut_between(const struct ray *r, int k, struct ray_face p, struct ray_face q)
{
	iso_real step_b = ray_clamp(q.in_b - p.in_b, -1, 1), step_c = ray_clamp(q.in_c - p.in_c, -1, 1);
	iso_real first_b = q.in_b - step_b, first_c = q.in_c - step_c;
	iso_real xb = ray_clamp(iso_fma(first_b + r->b_up - p.b, r->ib, p.x), p.x, q.x);
	iso_real xc = ray_clamp(iso_fma(first_c + r->c_up - p.c, r->ic, p.x), p.x, q.x);
	int voxel = k * r->sk + (int)first_b * r->sb + (int)first_c * r->sc;
	int to_b = (int)step_b * r->sb, to_c = (int)step_c * r->sc;
	struct ray_cut cut = { { p.x, ray_min(xb, xc), ray_max(xb, xc), q.x },
		               { voxel, voxel + (xb < xc ? to_b : to_c), voxel + to_b + to_c } };

	return cut;
}

ISO_HD struct ray_cut ray_cut_slice(const struct ray *r, int k)
{
	return ray_cut_between(r, k, ray_face(r, k), ray_face(r, k + 1));
}

/* The three weighted pieces of slice k. */
ISO_HD void ray_slice(struct ray_piece piece[3], const struct ray *r, const struct ray_tof *tof, int k)
{
	struct ray_cut c = ray_cut_slice(r, k);

	for (int i = 0; i < 3; i++) {
		piece[i].voxel = c.voxel[i];
		piece[i].w = ray_weight(r, tof, c.x[i], c.x[i + 1]);
	}
}

/* ---- Joseph: bilinear between the voxel centres of a slice ---- */

/* The voxels on both sides of a coordinate and the share of the upper one. The outer half voxel
   repeats the border voxel: an image of ones projects to the exact chord. */
struct ray_between {
	int low, high;
	iso_real upper;
};

ISO_HD struct ray_between ray_interpolate(iso_real at, int n)
{
	iso_real v = ray_clamp(at - (iso_real).5, 0, (iso_real)(n - 1)), low = iso_floor(v);
	struct ray_between s = { (int)low, (int)ray_min(low + 1, (iso_real)(n - 1)), v - low };

	return s;
}

/* Where the sample of slice k lies: between which voxels, with which shares. It is taken in the
   middle of the ray's way through the slice, whatever the TOF window leaves of that. */
struct ray_sample {
	int voxel[4];
	iso_real share[4];
};

ISO_HD struct ray_sample ray_sample_slice(const struct ray *r, int k)
{
	iso_real xa = ray_max((iso_real)k, r->g0), xb = ray_min((iso_real)(k + 1), r->g1);
	iso_real x = (iso_real).5 * (xa + xb);
	struct ray_between b = ray_interpolate(iso_fma(r->bx, x, r->b0), r->nb);
	struct ray_between c = ray_interpolate(iso_fma(r->cx, x, r->c0), r->nc);
	int low = k * r->sk + c.low * r->sc, high = k * r->sk + c.high * r->sc;
	struct ray_sample s = { { low + b.low * r->sb, low + b.high * r->sb, high + b.low * r->sb,
		                  high + b.high * r->sb },
		                { (1 - b.upper) * (1 - c.upper), b.upper * (1 - c.upper),
		                  (1 - b.upper) * c.upper, b.upper * c.upper } };

	return s;
}

ISO_HD void ray_joseph(struct ray_piece piece[4], const struct ray *r, const struct ray_tof *tof, int k)
{
	struct ray_sample s = ray_sample_slice(r, k);
	iso_real xa = ray_max((iso_real)k, r->x0);
	iso_real w = ray_weight(r, tof, xa, ray_max(xa, ray_min((iso_real)(k + 1), r->x1)));

	for (int i = 0; i < 4; i++) {
		piece[i].voxel = s.voxel[i];
		piece[i].w = w * s.share[i];
	}
}

/* ---- either ---- */

/* The pieces of slice k; how many. Some may have weight 0. */
ISO_HD int ray_pieces(struct ray_piece piece[RAY_PIECES], enum iso_projector projector, const struct ray *r,
                      const struct ray_tof *tof, int k)
{
	if (projector == ISO_JOSEPH) {
		ray_joseph(piece, r, tof, k);
		return 4;
	}
	ray_slice(piece, r, tof, k);
	return 3;
}

/* Sum of chord x value along a ray; for the CPU, a ray a thread. */
ISO_HD double ray_integral(const struct ray *r, const iso_real *x)
{
	const struct ray_tof none = ISO_ZERO;
	double sum = 0;

	for (int k = r->k0; k < r->k1; k++) {
		struct ray_piece piece[3];

		ray_slice(piece, r, &none, k);
		for (int i = 0; i < 3; i++) sum += (double)piece[i].w * x[piece[i].voxel];
	}
	return sum;
}

#endif
