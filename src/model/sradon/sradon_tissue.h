/* SPDX-License-Identifier: BSD-3-Clause */
/* The points of the surface from which sound reaches a transducer at one time, through tissue: for both backends. */
#ifndef ISO_SRADON_TISSUE_H
#define ISO_SRADON_TISSUE_H

#include "sradon.h"

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

/* Straight rays through one region in closed form. *c: the speed there. */
ISO_HD double sradon_straight(double *c, const struct sound *m, const double pos[3], const double w[3],
                              double t, double far)
{
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

/* The time of sound from node `rho` along w. */
ISO_HD double sradon_time_along(const struct sradon *s, int64_t q, const double w[3], double rho)
{
	const double *pos = s->frame[q].pos;
	double r[3], loud;

	for (int a = 0; a < 3; a++) r[a] = pos[a] + rho * w[a];
	return rho > 0 ? rho / s->sound.c0 + sound_late(&loud, &s->sound, q, pos, pos, r) : 0;
}

/* Any other: the time along w is linear between nodes ds apart; the two round t are found by halving. *slope: us/mm. */
ISO_HD double sradon_search(double *slope, const struct sradon *s, int64_t q, const double w[3], double t,
                            double far)
{
	const double ds = s->p.ds;
	int low = 0, high = (int)(far / ds) + 2;

	while (high - low > 1) {
		int mid = (low + high) / 2;

		if (sradon_time_along(s, q, w, mid * ds) <= t)
			low = mid;
		else
			high = mid;
	}
	double before = sradon_time_along(s, q, w, low * ds), behind = sradon_time_along(s, q, w, high * ds);

	*slope = (behind - before) / ds;
	return (low + (behind > before ? (t - before) / (behind - before) : 0)) * ds;
}

/* Point j of a ring; false: it does not exist, or has no weight. */
ISO_HD bool sradon_shell_point(struct sradon_point *p, const struct sradon *s, int64_t q,
                               const struct sradon_shell *shell, const struct sradon_ring *r, int j)
{
	const struct sradon_frame *f = &s->frame[q];
	const struct sound *m = &s->sound;
	double phi = (j + sradon_shift(&s->p)) * r->step, co = cos(phi), si = sin(phi), w[3], rho, c;
	double far = shell->rho;

	for (int a = 0; a < 3; a++)
		w[a] = r->cos_theta * f->n[a] + r->sin_theta * (co * f->ex[a] + si * f->ey[a]);
	if (!m->table && m->path != ISO_SOUND_SNELL) {
		rho = sradon_straight(&c, m, f->pos, w, shell->t, far);
		p->weight = r->weight * rho / (4 * SRADON_PI * c);
	} else {
		double slope, loud, own;

		rho = sradon_search(&slope, s, q, w, shell->t, far);
		for (int a = 0; a < 3; a++) p->at[a] = f->pos[a] + rho * w[a];
		own = sound_slowness(m, p->at);
		slope = fmax(slope, own / SRADON_STEEPEST);
		sound_late(&loud, m, q, f->pos, f->pos, p->at);
		loud = fmin(loud, SRADON_LOUDEST);
		p->weight = r->weight * rho * loud * own * own / (4 * SRADON_PI * slope);
	}
	for (int a = 0; a < 3; a++) p->at[a] = f->pos[a] + rho * w[a];
	return rho > 0;
}

ISO_C void iso_sradon_free(iso_op *op);

#endif
