/* SPDX-License-Identifier: BSD-3-Clause */
/* How much later or sooner sound comes through a shape, and by how much this differs between neighbouring places: what
   traces and windows of delays are made for. */
#include "tissue_delays.h"

#define BEND_ERROR 2e-3 /* us: bent rays in single precision, and more */
#define INSIDE .999     /* of an ellipsoid's axes: voxels up to there are inside */
#define CLEAR 1.01      /* transducers this much farther out than a shape see it from outside */

/* The nearest and the farthest voxel centre of a box from any transducer, along all axes but one (-1: all). */
static void reach(double *near, double *far, const struct iso_delays *d, int but)
{
	*near = INFINITY;
	*far = 0;
	for (int64_t q = 0; q < d->n; q++) {
		double least = 0, most = 0;

		for (int a = 0; a < 3; a++) {
			double half = .5 * (double)(d->grid.n[a] - 1) * d->grid.voxel[a];
			double off = fabs(d->pos[3 * q + a] - d->grid.centre[a]), below = fmax(0, off - half);

			if (a == but) continue;
			least += below * below;
			most += (off + half) * (off + half);
		}
		*near = fmin(*near, sqrt(least));
		*far = fmax(*far, sqrt(most));
	}
}

/* ---- straight rays between neighbouring places ---- */

/* The part of a path in an ellipsoid is that of the path in the unit ball which it is scaled to, where the line's
   distance from the middle changes by up to f times what r moves, and half the chord by the root of 2 f of that.
   `stretch`: of a path over its part across a cylinder. */
static void smooth_ellipsoid(struct sound *m, const struct iso_delays *d, double longest, double shortest,
                             double near, double stretch)
{
	double R = INFINITY, f = 1 + 2 * longest / near, more = fabs(m->more) * longest * stretch;

	for (int64_t q = 0; q < d->n; q++) {
		double e[3];

		sound_scaled(e, m, d->pos + 3 * q, m->centre);
		R = fmin(R, sqrt(sound_dot(e, e)));
	}
	if (!(R > CLEAR)) return;
	double steep = 1 + 2 * f * (1 + 1 / sqrt(R * R - 1));

	m->steep = fabs(m->more) + more * (steep + 1) / shortest;
	m->root = more * 2 * sqrt(2 * f / shortest);
}

/* How far from the middle the voxels of an ellipsoid reach, as a part of its axes: farthest at a corner. */
static double depth(const struct iso_delays *d)
{
	double most = 0;

	for (int k = 0; k < 8; k++) {
		double x[3], e[3];

		for (int a = 0; a < 3; a++)
			x[a] = d->grid.centre[a] +
			       (k >> a & 1 ? .5 : -.5) * (double)(d->grid.n[a] - 1) * d->grid.voxel[a];
		sound_scaled(e, &d->m, x, d->m.centre);
		most = fmax(most, sqrt(sound_dot(e, e)));
	}
	return most;
}

/* All voxels lie in the ellipsoid, so no ray to them touches its border: what goes through it is the distance from the
   crossing, which changes by tan i across the ray, i the angle with the normal there. Bent rays to a ball come from a
   direction up to |i0 - i1| from the straight one's. */
static void smooth_inside(struct sound *m, double in, double longest, double shortest)
{
	const double across = in / sqrt(1 - in * in), out = in * m->c0 / m->c1;

	m->root = m->jump = 0;
	if (m->path != ISO_SOUND_SNELL) {
		m->steep = fabs(m->more) * (longest > shortest ? 1 + longest / shortest * (1 + across)
		                                               : sqrt(1 + across * across));
		return;
	}
	const double turn = asin(out) - asin(in);

	m->steep = sqrt(m->more * m->more + turn * turn / (m->c0 * m->c1));
	m->jump = BEND_ERROR;
}

/* l = d b/(a + b) of a ray from a above the plane to b below it: no steeper than 1 + d/a. */
static void smooth_plane(struct sound *m, const struct iso_delays *d, double far)
{
	double near = INFINITY;

	for (int64_t q = 0; q < d->n; q++)
		near = fmin(near, fabs(sound_dot(m->normal, d->pos + 3 * q) - m->offset));
	if (near > 0) m->steep = fabs(m->more) * (1 + far / near);
}

/* ---- what bending gains ---- */

enum { LOOKS = 6, ANGLES = 180 };

#define MARGIN 1.25 /* over what was looked at */

/* From a transducer R from the middle of the ball. */
static double ball_gain(const struct sound *m, double R)
{
	static const double parts[] = { .5, .8, .9, .95, .98, 1 - 1e-9 };
	double most = 0, a = m->radius, s[3] = { R, 0, 0 }, to[3] = { 0 };
	struct sound one = *m;

	memset(one.centre, 0, sizeof one.centre);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++) one.wr[3 * i + k] = i == k && i < 2 ? 1 / a : 0;
	}
	for (int i = 0; i < LOOKS; i++)
		for (int k = 0; k <= ANGLES; k++) {
			double rho = parts[i] * a, psi = M_PI * k / ANGLES;

			to[0] = rho * cos(psi);
			to[1] = rho * sin(psi);
			double way = sound_length(s, to);

			double straight = way / m->c0 + sound_straight(&one, s, to, way);

			most = fmax(most, fabs(straight - sound_sphere(m->c0, m->c1, a, R, rho, psi).t));
		}
	return most;
}

static double plane_gain(const struct sound *m, double above, double far)
{
	double most = 0;

	for (int i = 0; i < LOOKS * LOOKS; i++)
		for (int k = 0; k <= ANGLES; k++) {
			double below = far * pow(1e-4, (double)i / (LOOKS * LOOKS - 1)), x = far * k / ANGLES;
			double way = hypot(x, above + below), part = below / (above + below);

			most = fmax(most, way / m->c0 + m->more * way * part -
			                          sound_plane(m->c0, m->c1, above, below, x).t);
		}
	return most;
}

/* The most that bent rays gain over straight ones, from the nearest and the farthest transducers and between. */
static double gain(const struct sound *m, const struct iso_delays *d, double far)
{
	double low = INFINITY, high = 0, most = 0;
	bool plane = m->shape == ISO_TISSUE_PLANE;

	for (int64_t q = 0; q < d->n; q++) {
		double sum = 0, above = sound_dot(m->normal, d->pos + 3 * q) - m->offset;

		for (int a = 0; a < 3; a++)
			if (a != m->across) sum += pow(d->pos[3 * q + a] - m->centre[a], 2);
		double at = plane ? above : sqrt(sum);

		if (!(at > (plane ? 0 : m->radius))) continue; /* its rays are straight */
		low = fmin(low, at);
		high = fmax(high, at);
	}
	for (int i = 0; i < LOOKS && high > 0; i++) {
		double at = low * pow(high / low, (double)i / (LOOKS - 1));

		most = fmax(most, plane ? plane_gain(m, at, far) : ball_gain(m, at));
	}
	return MARGIN * most;
}

/* ---- all ---- */

/* The tissue's part of a path is no longer than its longest chord, or than the path. */
void iso_sound_bounds(struct iso_delays *d)
{
	struct sound *m = &d->m;
	double near, far, flat_near, flat_far, longest = 0, shortest = INFINITY, stretch = 1, chord;
	bool plane = m->shape == ISO_TISSUE_PLANE;
	int endless = -1;

	reach(&near, &far, d, -1);
	double path = far * fmax(1, fmax(m->c1 / m->c0, m->c0 / m->c1));

	for (int i = 0; i < 3 && !plane; i++) {
		double over = sqrt(sound_dot(m->wr + 3 * i, m->wr + 3 * i));

		if (over > 0) {
			longest = fmax(longest, 1 / over);
			shortest = fmin(shortest, 1 / over);
		} else {
			endless = i;
		}
	}
	flat_near = near;
	if (endless >= 0) {
		reach(&flat_near, &flat_far, d, endless);
		stretch = flat_near > 0 ? path / flat_near : INFINITY;
	}
	chord = plane ? path : fmin(path, 2 * longest * stretch);
	double most = chord * fabs(m->more) * (1 + 1e-6), more = m->more;

	m->least = more < 0 ? -most : 0;
	m->most = more > 0 ? most : 0;
	if (m->path == ISO_SOUND_SNELL && m->across >= 0) m->least -= most;
	m->steep = INFINITY;
	if (plane)
		smooth_plane(m, d, far);
	else if (flat_near > 0 && isfinite(stretch))
		smooth_ellipsoid(m, d, longest, shortest, flat_near, stretch);
	const double in = plane ? 1 : depth(d);

	if (in < INSIDE && (m->path != ISO_SOUND_SNELL || in * m->c0 / m->c1 < INSIDE))
		smooth_inside(m, in, longest, shortest);
	else if (m->path == ISO_SOUND_SNELL)
		m->jump = gain(m, d, far);
}
