/* SPDX-License-Identifier: BSD-3-Clause */
/* Sound that goes through tissue: what both backends compute for a point s of a transducer and a voxel r.

   A delay is d/c0 + late, d = |r - s|; `late` is what the tissue does. On a straight ray it is
   l (1/c1 - 1/c0), l the length of the ray in the tissue. */
#ifndef ISO_SOUND_KERN_H
#define ISO_SOUND_KERN_H

#include "core/hd.h"

struct sound {
	int shape, path;        /* enum iso_tissue_shape, enum iso_sound_path */
	bool spread;            /* amplitudes by the spread of rays */
	double c0, c1;          /* c1 of a map: the mean of its voxels */
	double more;            /* 1/c1 - 1/c0 */
	double c_least, c_most; /* of all places */
	/* ellipsoid: |wr (x - centre)| < 1, rows of wr are axes over their half lengths */
	double centre[3], wr[9];
	double radius; /* of a sphere or circle; 0: another shape */
	int across;    /* the axis that a bent ray of a circle does not leave its plane along; -1: none */
	double normal[3], offset;
	/* mask or map: its image, x fastest; thin axes have one voxel and go on without end */
	const iso_real *image;
	int64_t image_n[3];
	double image_first[3], image_voxel[3];
	/* tables: late / unit of each transducer at nodes; NULL: computed a pair at a time */
	const int16_t *table;
	int64_t nodes[3];
	double h, node_first[3], unit;
	const iso_real *ratio; /* c1/c of each voxel of the grid */
	/* bounds of late, us; between places x mm apart it differs by up to steep x + root sqrt(x) + jump, and by
	   most - least */
	double least, most;
	double steep, root, jump;
};

ISO_HD double sound_dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

ISO_HD double sound_length(const double a[3], const double b[3])
{
	double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };

	return sqrt(sound_dot(d, d));
}

/* wr times (a - b) */
ISO_HD void sound_scaled(double e[3], const struct sound *m, const double a[3], const double b[3])
{
	double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };

	for (int i = 0; i < 3; i++) e[i] = sound_dot(m->wr + 3 * i, d);
}

/* ---- speeds ---- */

/* Place x in voxels of the image; false: outside. */
ISO_HD bool sound_in_image(double at[3], const struct sound *m, const double x[3])
{
	for (int a = 0; a < 3; a++) {
		double n = (double)m->image_n[a];

		at[a] = n > 1 ? (x[a] - m->image_first[a]) / m->image_voxel[a] : 0;
		if (!(at[a] >= -.5 && at[a] < n - .5)) return false;
	}
	return true;
}

ISO_HD double sound_trilinear_slowness(const struct sound *m, const double at[3])
{
	int64_t low[3], step[3] = { 1, m->image_n[0], m->image_n[0] * m->image_n[1] }, first = 0;
	double f[3], sum = 0;

	for (int a = 0; a < 3; a++) {
		double most = (double)(m->image_n[a] - 1), x = at[a] < 0 ? 0 : at[a] > most ? most : at[a];

		low[a] = (int64_t)x;
		if (low[a] == m->image_n[a] - 1 && low[a] > 0) low[a]--;
		f[a] = x - (double)low[a];
		first += low[a] * step[a];
	}
	for (int k = 0; k < 8; k++) {
		double w = 1;
		int64_t i = first;

		for (int a = 0; a < 3; a++) {
			w *= k >> a & 1 ? f[a] : 1 - f[a];
			i += k >> a & 1 ? step[a] : 0;
		}
		if (w > 0) sum += w / (double)m->image[i];
	}
	return sum;
}

ISO_HD bool sound_in_tissue(const struct sound *m, const double x[3])
{
	double e[3], at[3];

	if (m->shape == ISO_TISSUE_ELLIPSOID) {
		sound_scaled(e, m, x, m->centre);
		return sound_dot(e, e) < 1;
	}
	if (m->shape == ISO_TISSUE_PLANE) return sound_dot(m->normal, x) < m->offset;
	if (!sound_in_image(at, m, x)) return false;
	int64_t i = 0;

	for (int a = 2; a >= 0; a--) i = i * m->image_n[a] + (int64_t)floor(at[a] + .5);
	return m->image[i] > (iso_real).5;
}

/* 1/c at a place. */
ISO_HD double sound_slowness(const struct sound *m, const double x[3])
{
	double at[3];

	if (m->shape != ISO_TISSUE_MAP) return 1 / (sound_in_tissue(m, x) ? m->c1 : m->c0);
	return sound_in_image(at, m, x) ? sound_trilinear_slowness(m, at) : 1 / m->c0;
}

/* ---- straight rays ---- */

/* Parts of the ray from s to r, 0 to 1, at which it enters and leaves an ellipsoid; false: it misses. e, g: scaled
   s - centre and r - s. */
ISO_HD bool sound_crossings(double u[2], const double e[3], const double g[3])
{
	double a = sound_dot(g, g), b = sound_dot(e, g), c = sound_dot(e, e) - 1, disc = b * b - a * c;

	if (!(disc > 0) || !(a > 0)) {
		u[0] = 0;
		u[1] = !(a > 0) && c < 0 ? 1 : 0; /* along a cylinder */
		return u[1] > 0;
	}
	double root = sqrt(disc), low = (-b - root) / a, high = (-b + root) / a;

	u[0] = low < 0 ? 0 : low > 1 ? 1 : low;
	u[1] = high < 0 ? 0 : high > 1 ? 1 : high;
	return u[1] > u[0];
}

/* The part of a ray below a plane; a and b: how far its ends are above. */
ISO_HD double sound_below(double a, double b)
{
	if (a < 0 && b < 0) return 1;
	if (a >= 0 && b < 0) return b / (b - a);
	if (a < 0) return a / (a - b);
	return 0;
}

ISO_HD double sound_straight(const struct sound *m, const double s[3], const double r[3], double d)
{
	double e[3], g[3], u[2];

	if (m->shape == ISO_TISSUE_PLANE)
		return m->more * d *
		       sound_below(sound_dot(m->normal, s) - m->offset, sound_dot(m->normal, r) - m->offset);
	sound_scaled(e, m, s, m->centre);
	sound_scaled(g, m, r, s);
	return sound_crossings(u, e, g) ? m->more * d * (u[1] - u[0]) : 0;
}

/* ---- bent rays ---- */

/* A ray in its plane, from s over a crossing point to r. */
struct sound_bent {
	double t;      /* us */
	double spread; /* 1/mm */
};

enum { SOUND_STEPS = 60 };

#define SOUND_ENOUGH 1e-13 /* us: a last step of Newton changes the delay by less */

/* The zero of t' in [low, high], where t' rises from below 0: Newton, kept inside by halving. A step that changes the delay
   by next to nothing is the last; halving there would leave the zero again. */
#define SOUND_SOLVE(x, low, high, slope, curve)                                 \
	for (int step_ = 0; step_ < SOUND_STEPS; step_++) {                     \
		double t1_ = slope, t2_ = curve, next_ = x - t1_ / t2_;         \
		bool last_ = t2_ > 0 && fabs(t1_ * (next_ - x)) < SOUND_ENOUGH; \
                                                                                \
		if (t1_ > 0)                                                    \
			high = x;                                               \
		else                                                            \
			low = x;                                                \
		if (next_ > low && next_ < high)                                \
			x = next_;                                              \
		else if (!last_)                                                \
			x = (low + high) / 2;                                   \
		if (last_) break;                                               \
	}

/* Through a plane: z0 above it, z1 below, x apart. Amplitude: `docs/optoacoustic-tissue.md`. */
ISO_HD struct sound_bent sound_plane(double c0, double c1, double z0, double z1, double x)
{
	double low = 0, high = x, q = x * z0 / (z0 + z1);
	struct sound_bent b;

#define L0 sqrt(q *q + z0 * z0)
#define L1 sqrt((x - q) * (x - q) + z1 * z1)
	SOUND_SOLVE(q, low, high, q / (c0 * L0) - (x - q) / (c1 * L1),
	            z0 * z0 / (c0 * L0 * L0 * L0) + z1 * z1 / (c1 * L1 * L1 * L1))
	double l0 = L0, l1 = L1, n = c1 / c0, i0 = z0 / l0, i1 = z1 / l1; /* cosines */
#undef L0
#undef L1
	double j = (l0 / i0 + l1 * n * i0 / (i1 * i1)) * i1 * (l0 + l1 * n);

	b.t = l0 / c0 + l1 / c1;
	b.spread = 2 * c1 * i0 / (c1 * i0 + c0 * i1) * sqrt(i1 / i0) / sqrt(j);
	return b;
}

/* On the axis of a sphere: psi near 0 or pi. */
ISO_HD double sound_axis_spread(double c0, double c1, double a, double R, double along)
{
	double l0 = R - a, l1 = a - along, n = c1 / c0, bend = n / l0 + (n - 1) / a; /* 1/R1 */

	return 2 * c1 / (c1 + c0) / (l0 * fabs(1 + l1 * bend));
}

/* From the crossing at angle th, seen from the sphere's middle. */
ISO_HD double sound_sphere_spread(double c0, double c1, double a, double R, double rho, double psi, double th,
                                  double l0, double l1)
{
	double si = sin(psi);

	if (rho < 1e-3 * a || si < 1e-4) return sound_axis_spread(c0, c1, a, R, rho * cos(psi));
	double i0 = (R * cos(th) - a) / l0, i1 = (a - rho * cos(psi - th)) / l1; /* cosines */
	double sin_g = a * sin(th) / l0, cos_g = (R - a * cos(th)) / l0, left = a * i1 - l1;

	if (!(i0 > 1e-9)) return 0; /* a grazing ray: none comes */
	double slope = R * cos_g / c0 * (left * (c0 / (a * i0) - c0 / (R * cos_g) - c1 / (a * i1)) + c1);
	double j = rho * si * fabs(slope) / sin_g;

	return 2 * c1 * i0 / (c1 * i0 + c0 * i1) * sqrt(i1 / i0) / sqrt(j);
}

/* Into a sphere of radius a: R > a and rho < a from its middle, psi between them. */
ISO_HD struct sound_bent sound_sphere(double c0, double c1, double a, double R, double rho, double psi)
{
	double edge = acos(a / R), end = psi < edge ? psi : edge, low = 0, high = end, th;
	/* the straight crossing first */
	double vx = rho * cos(psi) - R, vy = rho * sin(psi), vv = vx * vx + vy * vy, b = R * vx;
	double u = (-b - sqrt(fmax(b * b - vv * (R * R - a * a), 0.))) / vv;
	struct sound_bent ray;

	th = atan2(u * vy, R + u * vx);
	if (!(th < end)) th = end;
#define L0 sqrt(R *R + a * a - 2 * R * a * cos(th))
#define L1 sqrt(fmax(rho *rho + a * a - 2 * rho * a * cos(psi - th), 1e-30))
#define SLOPE (R * a * sin(th) / (c0 * L0) - rho * a * sin(psi - th) / (c1 * L1))
	double start = th;

	th = end;
	bool grazing = end == edge && psi > edge && SLOPE < 0;

	if (!grazing) {
		th = start;
		SOUND_SOLVE(th, low, high, SLOPE,
		            (R * a * cos(th) - pow(R * a * sin(th) / L0, 2)) / (c0 * L0) +
		                    (rho * a * cos(psi - th) - pow(rho * a * sin(psi - th) / L1, 2)) /
		                            (c1 * L1))
	}
	double l0 = L0, l1 = L1;

#undef L0
#undef L1
#undef SLOPE
	ray.t = l0 / c0 + l1 / c1;
	ray.spread = grazing ? 0 : sound_sphere_spread(c0, c1, a, R, rho, psi, th, l0, l1);
	return ray;
}

/* The ray from s to r, if it goes from water into a sphere, circle or half space; false: it is straight. */
ISO_HD bool sound_bends(struct sound_bent *b, const struct sound *m, const double s[3], const double r[3])
{
	double R = 0, rho = 0, dot = 0, cross = 0, v[3], w[3];

	if (m->shape == ISO_TISSUE_PLANE) {
		double z0 = sound_dot(m->normal, s) - m->offset, z1 = m->offset - sound_dot(m->normal, r);
		double d = sound_length(s, r), x2 = d * d - (z0 + z1) * (z0 + z1);

		if (!(z0 > 0 && z1 > 0)) return false;
		*b = sound_plane(m->c0, m->c1, z0, z1, x2 > 0 ? sqrt(x2) : 0);
		return true;
	}
	for (int a = 0; a < 3; a++) {
		v[a] = a == m->across ? 0 : s[a] - m->centre[a];
		w[a] = a == m->across ? 0 : r[a] - m->centre[a];
		R += v[a] * v[a];
		rho += w[a] * w[a];
		dot += v[a] * w[a];
	}
	for (int a = 0; a < 3; a++) {
		double c = v[a] * w[(a + 1) % 3] - v[(a + 1) % 3] * w[a];

		cross += c * c;
	}
	R = sqrt(R);
	rho = sqrt(rho);
	if (!(R > m->radius && rho < m->radius)) return false;
	*b = sound_sphere(m->c0, m->c1, m->radius, R, rho, atan2(sqrt(cross), dot));
	return true;
}

/* ---- tables ---- */

ISO_HD double sound_table(const struct sound *m, int64_t q, const double r[3])
{
	const int64_t step[3] = { 1, m->nodes[0], m->nodes[0] * m->nodes[1] };
	const int16_t *v = m->table + q * step[2] * m->nodes[2];
	double f[3], sum = 0;
	int64_t across[3];

	for (int a = 0; a < 3; a++) {
		double x = m->nodes[a] > 1 ? (r[a] - m->node_first[a]) / m->h : 0;
		int64_t low, last = m->nodes[a] - 2;

		x = x > 0 ? x : 0;
		low = (int64_t)x;
		low = low > last ? last < 0 ? 0 : last : low;
		f[a] = x - (double)low;
		if (f[a] > 1) f[a] = 1;
		across[a] = m->nodes[a] > 1 ? step[a] : 0;
		v += low * step[a];
	}
	for (int k = 0; k < 8; k++) {
		const int16_t *at = v;
		double w = 1;

		for (int a = 0; a < 3; a++) {
			w *= k >> a & 1 ? f[a] : 1 - f[a];
			at += k >> a & 1 ? across[a] : 0;
		}
		sum += w * *at;
	}
	return sum * m->unit;
}

/* ---- any ---- */

/* By how much late may differ between places so far apart, us. */
ISO_HD double sound_differs(const struct sound *m, double apart)
{
	return fmin(m->most - m->least, m->steep * apart + m->root * sqrt(apart) + m->jump);
}

/* `late` of point s of transducer q, which stands at apex, and of voxel r; *loud is the amplitude times d. */
ISO_HD double sound_late(double *loud, const struct sound *m, int64_t q, const double apex[3],
                         const double s[3], const double r[3])
{
	double d = sound_length(s, r);
	struct sound_bent b;

	*loud = 1;
	if (m->table) return sound_table(m, q, r);
	if (m->path != ISO_SOUND_SNELL) return sound_straight(m, s, r, d);
	if (m->across < 0) {
		if (!sound_bends(&b, m, s, r)) return sound_straight(m, s, r, d);
		if (m->spread) *loud = b.spread * d;
		return b.t - d / m->c0;
	}
	double from = sound_length(apex, r), straight = sound_straight(m, s, r, d);

	if (!sound_bends(&b, m, apex, r)) return straight;
	return straight + (b.t - from / m->c0 - sound_straight(m, apex, r, from));
}

#endif
