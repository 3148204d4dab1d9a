/* SPDX-License-Identifier: BSD-3-Clause */
/* The points of the surface from which sound reaches a transducer at one time, through tissue: for both backends. */
#ifndef ISO_SRADON_TISSUE_H
#define ISO_SRADON_TISSUE_H

#include "sradon.h"
#include "tissue/bend_kern.h"

/* A transducer whose rays bend, as the middle of the image sees it. */
struct sradon_ear {
	struct bend bend;
	struct bend_place place;
	struct bend_view view;
	double from[3];
};

ISO_HD struct sradon_ear sradon_ear(const struct sradon *s, int64_t q)
{
	struct sradon_ear e = ISO_ZERO;

	if (s->sound.table || s->sound.path != ISO_SOUND_SNELL) return e;
	for (int a = 0; a < 3; a++) e.from[a] = s->p.first[a] + (double)(s->p.n[a] - 1) / 2 * s->p.ds;
	e.bend = bend_of(&s->sound);
	e.place = bend_place(&s->sound, e.from);
	e.view = bend_view(&s->sound, s->sound.across < 0 ? s->frame[q].pos : s->stands + q / s->points * 3,
	                   e.from);
	return e;
}

/* Of transducer and sample: the sphere that gives the directions, and its rings. */
struct sradon_shell {
	double t, rho; /* us; mm */
	int rings;
};

struct sradon_point {
	double at[3], weight; /* mm; of the image's value there */
};

ISO_HD struct sradon_shell sradon_shell(const struct sradon *s, int64_t q, int64_t k)
{
	double d = s->frame[q].distance, out = d * d - s->p.support * s->p.support, rho;
	struct sradon_shell r;

	r.t = s->p.first_us + (double)k * s->p.dt_us;
	r.rho = s->sound.c_most * r.t;
	r.rings = 0;
	if (!(r.t > 0)) return r;
	/* the widest cone of the radii that the surface can have */
	rho = out > 0 ? sqrt(out) : 0;
	rho = rho < s->sound.c_least * r.t ? s->sound.c_least * r.t : rho > r.rho ? r.rho : rho;
	r.rings = sradon_n_rings(&s->p, r.rho, sradon_theta_max(&s->p, d, rho));
	return r;
}

/* Its weight is a solid angle. */
ISO_HD struct sradon_ring sradon_shell_ring(const struct sradon *s, const struct sradon_shell *shell, int i)
{
	struct sradon_ring r = sradon_ring(&s->p, shell->rho, sradon_theta(&s->p, shell->rho, 0, i));

	r.weight /= shell->rho * shell->rho;
	return r;
}

#define SRADON_LOUDEST 16. /* of a bent ray over a straight one */
#define SRADON_STEEPEST 4. /* 1/c over the time that a way along w takes */

/* The most that one surface weighs at one voxel: that of the points no further from it than sqrt(3) voxels, and a patch,
   with room to spare. */
ISO_HD double sradon_shell_most(const struct sradon *s, int64_t k)
{
	const struct sound *m = &s->sound;
	double t = s->p.first_us + (double)k * s->p.dt_us;
	double angle = (2 * s->p.ds + 2 * s->p.h) / (m->c_least * t), part = angle * angle; /* of 4 pi */

	if (!(t > 0)) return 0;
	return (part < 1 ? part : 1) * SRADON_STEEPEST * m->c_most / m->c_least * t *
	       (m->spread ? SRADON_LOUDEST : 1);
}

/* Straight rays through one region in closed form. *c: the speed there. No place lies further than `reach`, and where all
   of the way is tissue, that place lies so far: what is looked at ends a little behind it. */
ISO_HD double sradon_straight(double *c, const struct sound *m, const double pos[3], const double w[3],
                              double t, double reach)
{
	const double far = reach * (1 + 1e-9);
	double d1 = 0, d2 = 0, e[3], g[3], u[2], end[3];

	for (int a = 0; a < 3; a++) end[a] = pos[a] + far * w[a];
	if (m->shape == ISO_TISSUE_PLANE) {
		double a = sound_dot(m->normal, pos) - m->offset, b = sound_dot(m->normal, end) - m->offset;

		d1 = a < 0 ? 0 : b < 0 ? far * a / (a - b) : far;
		d2 = b < 0 ? far : a < 0 ? far * a / (a - b) : far;
	} else {
		sound_scaled(e, m, pos, m->centre);
		sound_scaled(g, m, end, pos);
		if (sound_crossings(u, e, g)) {
			d1 = u[0] * far;
			d2 = u[1] * far;
		}
	}
	double t1 = d1 / m->c0, t2 = t1 + (d2 - d1) / m->c1;
	bool in = t > t1 && t <= t2 && d2 > d1;

	*c = in ? m->c1 : m->c0;
	if (d2 <= d1 || t <= t1) return m->c0 * t;
	return in ? d1 + m->c1 * (t - t1) : d2 + m->c0 * (t - t2);
}

/* The time of sound from rho along w; *loud is times the amplitude. */
ISO_HD double sradon_time_along(iso_real *loud, const struct sradon *s, const struct sradon_ear *e, int64_t q,
                                const double w[3], double rho)
{
	const double *pos = s->frame[q].pos;
	const struct sound *m = &s->sound;
	double r[3], late;

	for (int a = 0; a < 3; a++) r[a] = pos[a] + rho * w[a];
	if (!(rho > 0)) return 0;
	if (m->table) return rho / m->c0 + sound_table(m, q / s->points, r);
	late = sound_straight(m, pos, r, rho) +
	       (double)bend_sooner(loud, &e->bend, &e->place, &e->view, (iso_real)(r[0] - e->from[0]),
	                           (iso_real)(r[1] - e->from[1]), (iso_real)(r[2] - e->from[2]),
	                           (iso_real)(rho * rho));
	return rho / m->c0 + late;
}

enum { SRADON_TRIES = 12 };

/* Any other: the time along w is linear between nodes ds apart. The two round t are looked for where sound would be in
   water, then where the time there says; if that finds none, by halving. *slope: us/mm. */
ISO_HD double sradon_search(double *slope, const struct sradon *s, const struct sradon_ear *e, int64_t q,
                            const double w[3], double t, double far)
{
	const double ds = s->p.ds, c = s->sound.c0;
	int low = 0, high = (int)(far / ds) + 2,
	    at = (int)(c * (t - (s->sound.least + s->sound.most) / 2) / ds);
	double before = 0, behind = INFINITY;
	iso_real loud = 1;

	for (int i = 0; high - low > 1; i++) {
		if (i >= SRADON_TRIES || at <= low || at >= high) {
			/* a step beside a node that is known, where the guess lies beyond it */
			at = i >= SRADON_TRIES ? (low + high) / 2 : at <= low ? low + 1 : high - 1;
		}
		double found = sradon_time_along(&loud, s, e, q, w, at * ds);

		if (found <= t) {
			low = at;
			before = found;
		} else {
			high = at;
			behind = found;
		}
		at = (int)floor(at + c * (t - found) / ds);
	}
	if (behind > 1e300) behind = sradon_time_along(&loud, s, e, q, w, high * ds);
	*slope = (behind - before) / ds;
	return (low + (behind > before ? (t - before) / (behind - before) : 0)) * ds;
}

/* Point j of a ring; false: it does not exist, or has no weight. */
ISO_HD bool sradon_shell_point(struct sradon_point *p, const struct sradon *s, const struct sradon_ear *e,
                               int64_t q, const struct sradon_shell *shell, const double w[3], double weight)
{
	const struct sradon_frame *f = &s->frame[q];
	const struct sound *m = &s->sound;
	double rho, c;

	if (!m->table && m->path != ISO_SOUND_SNELL) {
		rho = sradon_straight(&c, m, f->pos, w, shell->t, shell->rho);
		p->weight = weight * rho / (4 * SRADON_PI * c);
	} else {
		double slope, own;
		iso_real loud = 1;

		rho = sradon_search(&slope, s, e, q, w, shell->t, shell->rho);
		for (int a = 0; a < 3; a++) p->at[a] = f->pos[a] + rho * w[a];
		own = sound_slowness(m, p->at);
		slope = fmax(slope, own / SRADON_STEEPEST);
		if (m->spread) sradon_time_along(&loud, s, e, q, w, rho);
		p->weight = weight * rho * fmin((double)loud, SRADON_LOUDEST) * own * own /
		            (4 * SRADON_PI * slope);
	}
	for (int a = 0; a < 3; a++) p->at[a] = f->pos[a] + rho * w[a];
	return rho > 0;
}

/* The direction of point j of a ring. */
ISO_HD void sradon_direction(double w[3], const struct sradon *s, const struct sradon_frame *f,
                             const struct sradon_ring *r, int j)
{
	double phi = (j + sradon_shift(&s->p)) * r->step, co = cos(phi), si = sin(phi);

	for (int a = 0; a < 3; a++)
		w[a] = r->cos_theta * f->n[a] + r->sin_theta * (co * f->ex[a] + si * f->ey[a]);
}

/* The voxels round a point: the first, which may lie one outside, and the place between them; false: it is outside. */
ISO_HD bool sradon_cell(int64_t low[3], double part[3], const struct sradon *s, const double x[3])
{
	for (int a = 0; a < 3; a++) {
		double at = (x[a] - s->p.first[a]) / s->p.ds, down = floor(at);

		if (!(at > -1 && at < (double)s->p.n[a])) return false;
		low[a] = (int64_t)down;
		part[a] = at - down;
	}
	return true;
}

/* Corner k of a cell: its weight, and its voxel; -1: outside. */
ISO_HD int64_t sradon_corner(double *w, const struct sradon *s, const int64_t low[3], const double part[3],
                             int k)
{
	int64_t i[3];

	*w = 1;
	for (int a = 0; a < 3; a++) {
		i[a] = low[a] + (k >> a & 1);
		*w *= k >> a & 1 ? part[a] : 1 - part[a];
		if (i[a] < 0 || i[a] >= s->p.n[a]) return -1;
	}
	return (i[2] * s->p.n[1] + i[1]) * s->p.n[0] + i[0];
}

ISO_C void iso_sradon_free(iso_op *op);

#endif
