/* SPDX-License-Identifier: BSD-3-Clause */
/* A decay: branch, energy and range of the positron, the two photons of its annihilation and those of the nucleus.

   Random numbers: Philox keyed by the seed; the counter is (decay, draw). Only sums, products, quotients, roots, tables and
   the series of photon_kern.h, so that every device has the same decays, bit by bit. */
#ifndef ISO_DECAY_KERN_H
#define ISO_DECAY_KERN_H

#include "physics/photon_kern.h"

enum {
	DECAY_BRANCHES = 8,
	DECAY_LINES = 3,   /* photons of the nucleus, at most */
	DECAY_PHOTONS = 5, /* of a decay: two and those */
	DECAY_STEPS = 1024,
};

/* First draws of each purpose; the line of the pair is draw PHOTON_LINE. */
#define DECAY_DRAW 0x3f000000u
#define DECAY_TURN (DECAY_DRAW + 1) /* third component of the range; acollinearity */
#define DECAY_LINE (DECAY_DRAW + 2) /* two directions a draw */

/* A decay of this number is a photon of an isomer, at a time of its own. */
#define DECAY_LATER (1ull << 62)

/* Range of a positron in water (Palmer and Brownell 1992): R = b1 T^2 / (b2 + T) mm, T in MeV, b1 = 4.569 A / Z^1.209,
   b2 = 1 / (2.873 - 0.02309 Z) with mean Z = 7.2167 and A = 14.3219; a Gaussian of R / 2 an axis. */
#define DECAY_B1 5.99913906f
#define DECAY_B2 .36949916f

/* Made by iso_decay_make: plain data that goes to any device. */
struct decay_table {
	int32_t branches;
	float until[DECAY_BRANCHES]; /* running sum of shares */
	bool positron[DECAY_BRANCHES];
	int32_t lines[DECAY_BRANCHES];
	float line_kev[DECAY_BRANCHES][DECAY_LINES];
	float energy[DECAY_BRANCHES]
		    [DECAY_STEPS + 1]; /* MeV below which k / DECAY_STEPS of the positrons are */
	float later_share, later_kev;
	bool range, table;             /* positrons travel; by the table instead of the law */
	float within[DECAY_STEPS + 1]; /* mm in water within which k / DECAY_STEPS end */
	float angle;                   /* sigma of the acollinearity an axis, rad; 0: none */
};

/* Density of the object where positrons travel; pointers are of the device that follows them. */
struct decay_map {
	const uint16_t *cell; /* x fastest; NULL: water everywhere */
	const float *density; /* over that of water, by what a cell holds; NULL: cell x scale */
	float scale;
	int32_t n[3];
	float low[3], voxel[3]; /* mm */
};

struct decay_photon {
	float at[3], dir[3], kev;
};

struct decay {
	uint64_t number;
	float at[3], end[3];    /* of the decay; of the annihilation, where there is one */
	float kev;              /* of the positron */
	int32_t branch;         /* -1: nothing is emitted */
	bool positron, escaped; /* escaped: the positron left the object */
	bool is[DECAY_PHOTONS]; /* which photons there are: 0 and 1 the pair, then those of the nucleus */
	struct decay_photon photon[DECAY_PHOTONS];
};

/* Linear between the entries of a table of equal shares. */
ISO_HD float decay_quantile(const float *table, uint32_t word)
{
	float at = philox_unit(word) * DECAY_STEPS;
	int k = (int)at;

	return table[k] + (at - (float)k) * (table[k + 1] - table[k]);
}

/* An even direction. */
ISO_HD void decay_direction(float dir[3], uint32_t u, uint32_t v)
{
	float up = 2 * philox_unit(u) - 1, flat = sqrtf(1 - up * up), c, s;

	transport_turn(&c, &s, v);
	dir[0] = flat * c;
	dir[1] = flat * s;
	dir[2] = up;
}

/* Enters the box of the map. false: the line misses it. */
ISO_HD bool decay_enter(float at[3], const float dir[3], const struct decay_map *m)
{
	float from = 0, to = 1e30f;

	for (int a = 0; a < 3; a++) {
		float over = 1 / dir[a], high = m->low[a] + (float)m->n[a] * m->voxel[a];
		float p = (m->low[a] - at[a]) * over, q = (high - at[a]) * over;

		from = fmaxf(from, fminf(p, q)); /* dir[a] = 0: infinite, or NaN, which both ignore */
		to = fminf(to, fmaxf(p, q));
	}
	if (!(from < to)) return false;
	for (int a = 0; from > 0 && a < 3; a++) at[a] += from * dir[a];
	return true;
}

/* Goes on along dir until the integral of the density is r, by exact chords of voxels. false: the object ends before. */
ISO_HD bool decay_walk(float at[3], const float dir[3], float r, const struct decay_map *m)
{
	int32_t i[3];
	float s = 0;

	if (!m->cell) {
		for (int a = 0; a < 3; a++) at[a] += r * dir[a];
		return true;
	}
	if (!decay_enter(at, dir, m)) return false;
	for (int a = 0; a < 3; a++) {
		i[a] = (int32_t)floorf((at[a] - m->low[a]) / m->voxel[a]);
		i[a] = i[a] < 0 ? 0 : i[a] < m->n[a] ? i[a] : m->n[a] - 1;
	}
	for (;;) {
		float out = 1e30f;
		int axis = 0;

		for (int a = 0; a < 3; a++) {
			float wall = m->low[a] + (float)(i[a] + (dir[a] > 0)) * m->voxel[a];
			float way = dir[a] > 0 || dir[a] < 0 ? (wall - at[a]) / dir[a] : 1e30f;

			if (way < out) {
				out = way;
				axis = a;
			}
		}
		uint16_t cell = m->cell[((int64_t)i[2] * m->n[1] + i[1]) * m->n[0] + i[0]];
		float q = m->density ? m->density[cell] : m->scale * (float)cell;
		float chord = fmaxf(0, out - s);

		if (q * chord >= r) {
			s += r / q;
			break;
		}
		r -= q * chord;
		s = fmaxf(s, out);
		i[axis] += dir[axis] > 0 ? 1 : -1;
		if (i[axis] < 0 || i[axis] >= m->n[axis]) return false;
	}
	for (int a = 0; a < 3; a++) at[a] += s * dir[a];
	return true;
}

/* Moves the end of the positron; false: it left the object. */
ISO_HD bool decay_range(struct decay *d, const struct decay_table *t, const struct decay_map *m,
                        struct philox draw, struct philox turn)
{
	float g[4], dir[3], r;

	if (t->table) {
		r = decay_quantile(t->within, draw.w[2]);
		decay_direction(dir, draw.w[3], turn.w[0]);
	} else {
		float mev = d->kev * 1e-3f, sigma = .5f * DECAY_B1 * mev * mev / (DECAY_B2 + mev);

		photon_gauss(g, draw.w[2], draw.w[3]);
		photon_gauss(g + 2, turn.w[0], turn.w[1]);
		float norm = sqrtf(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);

		r = sigma * norm;
		for (int a = 0; a < 3; a++) dir[a] = norm > 0 ? g[a] / norm : (float)(a == 2);
	}
	return decay_walk(d->end, dir, r, m);
}

/* The second photon flies against the first but for small angles about two axes across it. */
ISO_HD void decay_bend(float e[3], float sigma, struct philox turn)
{
	float sign = e[2] < 0 ? -1.f : 1.f, a = -1 / (sign + e[2]), b = e[0] * e[1] * a, g[2];
	float u[3] = { 1 + sign * e[0] * e[0] * a, sign * b, -sign * e[0] };
	float v[3] = { b, sign + e[1] * e[1] * a, -e[1] }, norm = 0;

	photon_gauss(g, turn.w[2], turn.w[3]);
	for (int k = 0; k < 3; k++) {
		e[k] += sigma * (g[0] * u[k] + g[1] * v[k]);
		norm += e[k] * e[k];
	}
	norm = sqrtf(norm);
	for (int k = 0; k < 3; k++) e[k] /= norm;
}

ISO_HD void decay_emit(struct decay *d, int k, const float at[3], const float dir[3], float kev)
{
	struct decay_photon *p = d->photon + k;

	for (int a = 0; a < 3; a++) {
		p->at[a] = at[a];
		p->dir[a] = dir[a];
	}
	p->kev = kev;
	d->is[k] = true;
}

/* The pair, from the end of the positron. */
ISO_HD void decay_pair(struct decay *d, const struct decay_table *t, uint64_t seed, struct philox turn)
{
	struct philox line = philox_draw(seed, d->number, PHOTON_LINE);
	float dir[3], back[3];

	decay_direction(dir, line.w[0], line.w[1]);
	for (int a = 0; a < 3; a++) back[a] = -dir[a];
	if (t && t->angle > 0) decay_bend(back, t->angle, turn);
	decay_emit(d, 0, d->end, dir, PHOTON_KEV);
	decay_emit(d, 1, d->end, back, PHOTON_KEV);
}

/* Decay `number` at a place. t NULL: two photons back to back from there, and nothing else. */
ISO_HD void decay_make(struct decay *d, const struct decay_table *t, const struct decay_map *m, uint64_t seed,
                       uint64_t number, const float at[3])
{
	struct philox draw = ISO_ZERO, turn = ISO_ZERO, line = ISO_ZERO;
	float dir[3];

	d->number = number;
	d->branch = 0;
	d->kev = 0;
	d->positron = !t;
	d->escaped = false;
	for (int k = 0; k < DECAY_PHOTONS; k++) d->is[k] = false;
	for (int a = 0; a < 3; a++) d->at[a] = d->end[a] = at[a];
	if (!t) {
		decay_pair(d, t, seed, turn);
		return;
	}
	draw = philox_draw(seed, number, DECAY_DRAW);
	float u = philox_unit(draw.w[0]);

	if (number & DECAY_LATER) {
		d->branch = -1;
		if (!(u < t->later_share)) return;
		line = philox_draw(seed, number, DECAY_LINE);
		decay_direction(dir, line.w[0], line.w[1]);
		decay_emit(d, 2, at, dir, t->later_kev);
		return;
	}
	while (d->branch < t->branches && !(u < t->until[d->branch])) d->branch++;
	if (d->branch == t->branches) {
		d->branch = -1;
		return;
	}
	d->positron = t->positron[d->branch];
	if (d->positron && (t->range || t->angle > 0)) turn = philox_draw(seed, number, DECAY_TURN);
	if (d->positron) {
		d->kev = 1e3f * decay_quantile(t->energy[d->branch], draw.w[1]);
		if (t->range) d->escaped = !decay_range(d, t, m, draw, turn);
		if (!d->escaped) decay_pair(d, t, seed, turn);
	}
	for (int k = 0; k < t->lines[d->branch]; k++) {
		if (k % 2 == 0) line = philox_draw(seed, number, DECAY_LINE + (uint32_t)k / 2);
		decay_direction(dir, line.w[2 * (k % 2)], line.w[2 * (k % 2) + 1]);
		decay_emit(d, 2 + k, at, dir, t->line_kev[d->branch][k]);
	}
}

#endif
