/* SPDX-License-Identifier: BSD-3-Clause */
/* What tissue does to the delays of a row of voxels. Straight rays through a shape go as vectors in the storage type,
   whose coefficients are made in double; what bending adds to them comes voxel by voxel. */
#include "bend_kern.h"
#include "tissue_delays.h"

#define REAL(x) ((iso_real)(x))

/* A quadratic in the number of the voxel: c[0] + i (c[1] + i c[2]). */
static inline iso_real quadratic(const iso_real c[3], iso_real i)
{
	return c[0] + i * (c[1] + i * c[2]);
}

/* |g + i step|^2 */
static void square(iso_real c[3], const double g[3], const double step[3])
{
	c[0] = REAL(sound_dot(g, g));
	c[1] = REAL(2 * sound_dot(g, step));
	c[2] = REAL(sound_dot(step, step));
}

static inline iso_real part(iso_real u)
{
	return u < 0 ? 0 : u > 1 ? 1 : u;
}

static void through_ellipsoid(iso_real *late, const struct sound *m, const double s[3], const double first[3],
                              double ds, int n)
{
	double e[3], g[3], step[3], r[3];
	iso_real a[3], b0, b1, c, dd[3], more = REAL(m->more);

	sound_scaled(e, m, s, m->centre);
	sound_scaled(g, m, first, s);
	for (int i = 0; i < 3; i++) {
		step[i] = m->wr[3 * i] * ds;
		r[i] = first[i] - s[i];
	}
	square(a, g, step);
	square(dd, r, (const double[]){ ds, 0, 0 });
	b0 = REAL(sound_dot(e, g));
	b1 = REAL(sound_dot(e, step));
	c = REAL(sound_dot(e, e) - 1);
#pragma omp simd
	for (int i = 0; i < n; i++) {
		iso_real k = REAL(i), aa = quadratic(a, k), b = b0 + k * b1, disc = b * b - aa * c;
		iso_real root = iso_sqrt(disc > 0 ? disc : 0), over = 1 / (aa > 0 ? aa : 1);
		iso_real in = part((-b - root) * over), out = part((root - b) * over);
		iso_real along = aa > 0 ? (disc > 0 ? out - in : 0) : REAL(c < 0);

		late[i] = more * iso_sqrt(quadratic(dd, k)) * along;
	}
}

static void through_plane(iso_real *late, const struct sound *m, const double s[3], const double first[3],
                          double ds, int n)
{
	double r[3] = { first[0] - s[0], first[1] - s[1], first[2] - s[2] };
	iso_real a = REAL(sound_dot(m->normal, s) - m->offset),
		 b0 = REAL(sound_dot(m->normal, first) - m->offset);
	iso_real b1 = REAL(m->normal[0] * ds), dd[3], more = REAL(m->more);

	square(dd, r, (const double[]){ ds, 0, 0 });
	for (int i = 0; i < n; i++) {
		iso_real b = b0 + REAL(i) * b1, below = 0;

		if (a < 0 && b < 0)
			below = 1;
		else if (a < 0 || b < 0)
			below = (b < 0 ? b : a) / (b < 0 ? b - a : a - b);
		late[i] = more * iso_sqrt(quadratic(dd, REAL(i))) * below;
	}
}

static void by_table(iso_real *late, const struct sound *m, int64_t q, const double first[3], double ds,
                     int n)
{
	for (int i = 0; i < n; i++) {
		const double r[3] = { first[0] + i * ds, first[1], first[2] };

		late[i] = REAL(sound_table(m, q, r));
	}
}

/* To rows of straight rays. */
static void bend_row(iso_real *late, iso_real *loud, const struct sound *m, const double apex[3],
                     const double s[3], const double first[3], double ds, int n)
{
	const struct bend k = bend_of(m);
	const struct bend_place p = bend_place(m, first);
	const struct bend_view v = bend_view(m, m->across < 0 ? s : apex, first);
	const double r[3] = { first[0] - s[0], first[1] - s[1], first[2] - s[2] };
	iso_real dd[3], least = REAL(m->least), most = REAL(m->most);

	square(dd, r, (const double[]){ ds, 0, 0 });
	for (int i = 0; i < n; i++) {
		iso_real by = 1, o = REAL(i * ds);
		iso_real sum = late[i] + bend_sooner(&by, &k, &p, &v, o, 0, 0, quadratic(dd, REAL(i)));

		late[i] = iso_fmin(iso_fmax(sum, least), most);
		if (loud) loud[i] = by;
	}
}

void iso_sound_row(iso_real *late, iso_real *loud, const struct sound *m, int64_t q, const double apex[3],
                   const double s[3], const double first[3], double ds, int n)
{
	for (int i = 0; loud && i < n; i++) loud[i] = 1;
	if (m->table)
		by_table(late, m, q, first, ds, n);
	else
		(m->shape == ISO_TISSUE_PLANE ? through_plane : through_ellipsoid)(late, m, s, first, ds, n);
	if (!m->table && m->path == ISO_SOUND_SNELL) bend_row(late, loud, m, apex, s, first, ds, n);
}
