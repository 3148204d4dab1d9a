/* SPDX-License-Identifier: BSD-3-Clause */
/* The two photons of an annihilation between two panels: where they interact, what each head reads.

   A head is a box of pitch cells. A photon's place in it is x and z of the scanner, mm, and the
   depth w behind the inner face; dir[1] is its direction along w, so positive means away from the
   object in either head. Delta tracking (Woodcock 1965): flights are drawn with the crystal's total
   attenuation everywhere, and points that fall between crystals count for nothing.

   Random numbers: Philox keyed by the seed; the counter is (history, stream, draw), and every
   purpose has draws of its own, so that a photon given up early changes nothing else. */
#ifndef ISO_TRANSPORT_KERN_H
#define ISO_TRANSPORT_KERN_H

#include "core/philox.h"
#include "material.h"

enum {
	TRANSPORT_ENERGIES = 64, /* intervals of 8 keV of the Compton table */
	TRANSPORT_SHARES = 128,  /* intervals of its random number */
	TRANSPORT_DEPOSITS = 12, /* places kept of one photon; it ends at the last of them */
	TRANSPORT_OUTCOMES = 16, /* of a photon, at most */
	TRANSPORT_AXIS = 8192,   /* crystals an axis, at most, and */
	TRANSPORT_LAYERS = 32,   /* layers: the key of a crystal has 32 bits */
};

/* First draw of each purpose; draw 0 is the caller's, for the place of the decay. */
#define TRANSPORT_LINE 1u
#define TRANSPORT_RANGE 2u           /* positron range */
#define TRANSPORT_ANGLE 3u           /* acollinearity */
#define TRANSPORT_OBJECT 4u          /* first flights in an object between the heads */
#define TRANSPORT_PHOTON 0x40000000u /* + photon << 28 | outcome << 20 | trial << 16 | step */
#define TRANSPORT_BLUR 0x80000000u   /* + combination << 8 | unit */

/* Tables that the host makes once, plain data that goes to any device. */
struct transport_table {
	struct iso_material material;
	/* cos(theta) of a photon of 8 i keV where Klein-Nishina's distribution is j / TRANSPORT_SHARES */
	float compton[TRANSPORT_ENERGIES + 1][TRANSPORT_SHARES + 1];
};

/* Made by iso_transport_make. To move it to a device, copy the table there and set `table`. */
struct transport {
	const struct transport_table *table;
	uint64_t seed;
	int first[2], cells[2];     /* of a head, x and z: number of the first, how many */
	float per_mm[2], offset[2]; /* cell number, from 0, = x per_mm + offset */
	float fill[2];              /* half a crystal, in pitches */
	bool gaps;
	float depth, gap; /* mm: of a head, face to face */
	int layers;
	float layers_per_mm;
	int block; /* crystals an axis; 0 unless the readout is by blocks */
	enum iso_readout readout;
	float mu[3];     /* 1/mm at 511 keV; running sums as in the material */
	int last;        /* entry of mu that is the total: 2, or 1 without Rayleigh */
	float blur;      /* sigma(E) = blur sqrt(E), keV */
	float window[2]; /* keV */
	float least;     /* keV: a sum below can't be blurred into the window */
	bool reentry, centroid, first_layer;
	float angle;                      /* sigma of the acollinearity an axis; 0: none */
	float range_share, range_rate[2]; /* of a positron, see transport_range; 0: none */
};

/* A crystal, counted from the first of the true head (extended heads: maybe negative); blurred energy. */
struct transport_hit {
	int16_t x, z, layer;
	float kev;
};

/* What one photon left in the two heads. */
struct transport_track {
	float sum[2]; /* keV a head */
	int n;
	uint32_t key[TRANSPORT_DEPOSITS]; /* head << 31 | layer << 26 | cell x << 13 | cell z */
	float kev[TRANSPORT_DEPOSITS];
};

/* Both photons as they reach the faces. reach[i]: photon i, which flies to head[i], meets it. */
struct transport_line {
	bool reach[2];
	int head[2];               /* 0, 1 but after a scatter on the way */
	float at[2][3], dir[2][3]; /* x, w, z */
	float kev[2];
	uint32_t word[2]; /* for the first flight of outcome 0 */
};

struct transport_photon {
	float at[3], dir[3]; /* x, w, z; the direction has length 1 */
	float kev;
	int head, number; /* where it is; which of the two it is */
};

ISO_HD struct philox transport_draw(const struct transport *t, uint32_t stream, uint64_t history,
                                    uint32_t draw)
{
	struct philox c = { { (uint32_t)history, (uint32_t)(history >> 32), stream, draw } };

	return philox4x32(c, t->seed);
}

/* ---- directions ---- */

/* cos and sin of a random angle: two bits choose the quadrant, the rest an angle within pi/4 of its
   middle; Taylor's series are then exact to 3e-8 (cos) and 3e-7 (sin). */
ISO_HD void transport_turn(float *c, float *s, uint32_t word)
{
	float a = ((float)(int32_t)(word << 2) * 0x1p-32f) * (float)(M_PI / 2), q = a * a;
	float sine = a * (1 + q * (-1 / 6.f + q * (1 / 120.f - q * (1 / 5040.f))));
	float cosine = 1 + q * (-.5f + q * (1 / 24.f + q * (-1 / 720.f + q * (1 / 40320.f))));
	float u = word >> 30 & 1 ? sine : cosine, v = word >> 30 & 1 ? -cosine : sine;

	*c = word >> 31 ? -u : u;
	*s = word >> 31 ? -v : v;
}

/* Turns a direction by theta, about itself by a random angle. The basis is that of Duff et al. 2017
   (J. Comp. Graph. Tech. 6), continuous but for one plane. */
ISO_HD void transport_deflect(float d[3], float cosine, uint32_t word)
{
	float sign = d[2] < 0 ? -1.f : 1.f, a = -1 / (sign + d[2]), b = d[0] * d[1] * a;
	float sine = sqrtf(fmaxf(0, 1 - cosine * cosine)), u, v;

	transport_turn(&u, &v, word);
	u *= sine;
	v *= sine;
	float x = cosine * d[0] + u * (1 + sign * d[0] * d[0] * a) + v * b;
	float y = cosine * d[1] + u * sign * b + v * (sign + d[1] * d[1] * a);
	float z = cosine * d[2] - u * sign * d[0] - v * d[1];

	d[0] = x;
	d[1] = y;
	d[2] = z;
}

/* -ln u of a uniform u, never 0. */
ISO_HD float transport_exponential(uint32_t word)
{
	return -logf(philox_unit(word));
}

/* ---- the line ---- */

/* Whether x, z lies over the cells of a head. */
ISO_HD bool transport_over(const struct transport *t, float x, float z)
{
	float u = x * t->per_mm[0] + t->offset[0], v = z * t->per_mm[1] + t->offset[1];

	return u >= 0 && u < (float)t->cells[0] && v >= 0 && v < (float)t->cells[1];
}

/* A photon from outside the cells may come in through a side: moves it there. */
ISO_HD bool transport_side(float at[3], const float d[3], const struct transport *t)
{
	float from = 0, to = t->depth / d[1];

	for (int a = 0; a < 2; a++) {
		float u = at[2 * a] * t->per_mm[a] + t->offset[a], v = d[2 * a] * t->per_mm[a];
		float p = -u / v, q = ((float)t->cells[a] - u) / v;

		from = fmaxf(from, fminf(p, q)); /* v = 0: infinite, or NaN, which both ignore */
		to = fminf(to, fmaxf(p, q));
	}
	if (!(from < to)) return false;
	for (int a = 0; a < 3; a++) at[a] += from * d[a];
	return true;
}

/* Whether photon i from `point`, x, y and z, along d reaches head h, and where it does. */
ISO_HD bool transport_reach(struct transport_line *l, const struct transport *t, int i, int h,
                            const float point[3], const float d[3])
{
	float way = .5f * t->gap - (h == 0 ? point[1] : -point[1]), s = way / d[1];
	float x = point[0] + s * d[0], z = point[2] + s * d[2];

	l->head[i] = h;
	l->at[i][0] = x;
	l->at[i][1] = 0;
	l->at[i][2] = z;
	for (int a = 0; a < 3; a++) l->dir[i][a] = d[a];
	if (!(s > 0)) return false;
	if (transport_over(t, x, z)) return true;
	return !transport_over(t, point[0], point[2]) && transport_side(l->at[i], d, t);
}

/* Moves the point by the range of a positron. Its projection on an axis has the density
   C exp(-k1 |x|) + (1-C) exp(-k2 |x|) (Derenzo 1979; Levin and Hoffman 1999, Phys. Med. Biol. 44);
   for an isotropic one -2 r p'(r) is then the density of the distance, a mixture of
   k^2 r exp(-k r), and -ln(u v)/k a draw from each. */
ISO_HD void transport_range(float q[3], const struct transport *t, uint32_t stream, uint64_t history)
{
	struct philox w = transport_draw(t, stream, history, TRANSPORT_RANGE);
	struct philox v = transport_draw(t, stream, history, TRANSPORT_RANGE | 0x10000u);
	float r = transport_exponential(w.w[0]) + transport_exponential(w.w[1]);
	float up = 2 * philox_unit(w.w[2]) - 1, flat = sqrtf(1 - up * up), c, s;

	r /= t->range_rate[philox_unit(v.w[0]) < t->range_share ? 0 : 1];
	transport_turn(&c, &s, w.w[3]);
	q[0] += r * flat * c;
	q[1] += r * up;
	q[2] += r * flat * s;
}

/* Two independent Gaussian numbers of unit width from a draw (Box and Muller); none beyond 5.8. */
ISO_HD void transport_gauss(float g[2], const struct transport *t, uint32_t stream, uint64_t history,
                            uint32_t draw)
{
	struct philox w = transport_draw(t, stream, history, draw);
	float r = sqrtf(2 * transport_exponential(w.w[0])), c, s;

	transport_turn(&c, &s, w.w[1]);
	g[0] = r * c;
	g[1] = r * s;
}

/* An isotropic line; photon 0 flies up. p: where the annihilation is; d and e: directions of photons 0 and 1, each away
   from the object. false: the point is not between the heads. */
ISO_HD bool transport_aim(struct transport_line *l, float p[3], float d[3], float e[3],
                          const struct transport *t, const float point[3], uint32_t stream, uint64_t history)
{
	struct philox w = transport_draw(t, stream, history, TRANSPORT_LINE);
	float up = philox_unit(w.w[0]), flat = sqrtf(1 - up * up), c, s;

	for (int a = 0; a < 3; a++) p[a] = point[a];
	if (t->range_share > 0) transport_range(p, t, stream, history);
	if (!(fabsf(p[1]) < .5f * t->gap)) return false;
	transport_turn(&c, &s, w.w[1]);
	d[0] = flat * c;
	d[1] = e[1] = up;
	d[2] = flat * s;
	e[0] = -d[0];
	e[2] = -d[2];
	if (t->angle > 0) { /* Gaussian angles about two axes across e */
		struct philox v = transport_draw(t, stream, history, TRANSPORT_ANGLE);

		transport_deflect(e, cosf(t->angle * sqrtf(2 * transport_exponential(v.w[0]))), v.w[1]);
	}
	l->word[0] = w.w[2];
	l->word[1] = w.w[3];
	l->kev[0] = l->kev[1] = 511;
	l->head[0] = 0;
	l->head[1] = 1;
	return true;
}

/* The line as it reaches the heads. false: it meets neither, or the point is not between them. */
ISO_HD bool transport_line(struct transport_line *l, const struct transport *t, const float point[3],
                           uint32_t stream, uint64_t history)
{
	float p[3], d[3], e[3];

	if (!transport_aim(l, p, d, e, t, point, stream, history)) return false;
	l->reach[0] = transport_reach(l, t, 0, 0, p, d);
	l->reach[1] = transport_reach(l, t, 1, 1, p, e);
	return l->reach[0] || l->reach[1];
}

/* ---- one photon ---- */

/* The draw before the first of a photon's interactions; of outcome 0 it is not used. */
ISO_HD uint32_t transport_steps(int h, uint32_t outcome)
{
	return TRANSPORT_PHOTON | (uint32_t)h << 28 | outcome << 20;
}

/* Through the inner face to the other head, with `s` mm of flight left behind that face. */
ISO_HD bool transport_cross(struct transport_photon *p, const struct transport *t, float *s)
{
	float out = p->at[1] / -p->dir[1], way = (p->at[1] + t->gap) / -p->dir[1];

	if (!t->reentry || !transport_over(t, p->at[0] + out * p->dir[0], p->at[2] + out * p->dir[2]))
		return false;
	p->at[0] += way * p->dir[0];
	p->at[2] += way * p->dir[2];
	p->at[1] = 0;
	p->dir[1] = -p->dir[1];
	p->head ^= 1;
	*s -= out;
	return transport_over(t, p->at[0], p->at[2]);
}

/* Flies s mm inside the heads. false: the photon is lost. */
ISO_HD bool transport_fly(struct transport_photon *p, const struct transport *t, float s)
{
	if (p->at[1] + s * p->dir[1] < 0 && !transport_cross(p, t, &s)) return false;
	for (int a = 0; a < 3; a++) p->at[a] += s * p->dir[a];
	return p->at[1] < t->depth && transport_over(t, p->at[0], p->at[2]);
}

/* Key of the crystal where the photon is; false: it is between crystals. */
ISO_HD bool transport_crystal(uint32_t *key, const struct transport *t, const struct transport_photon *p)
{
	float u = p->at[0] * t->per_mm[0] + t->offset[0], v = p->at[2] * t->per_mm[1] + t->offset[1];
	int x = (int)u, z = (int)v, layer = 0;

	if (t->gaps && (fabsf(u - (float)x - .5f) > t->fill[0] || fabsf(v - (float)z - .5f) > t->fill[1]))
		return false;
	if (t->layers > 1) {
		layer = (int)(p->at[1] * t->layers_per_mm);
		layer = layer < t->layers ? layer : t->layers - 1;
	}
	*key = (uint32_t)p->head << 31 | (uint32_t)layer << 26 | (uint32_t)x << 13 | (uint32_t)z;
	return true;
}

ISO_HD void transport_deposit(struct transport_track *k, uint32_t key, float kev)
{
	k->sum[key >> 31] += kev;
	if (k->n > 0 && k->key[k->n - 1] == key) {
		k->kev[k->n - 1] += kev;
		return;
	}
	k->key[k->n] = key;
	k->kev[k->n++] = kev;
}

/* cos(theta) after Klein and Nishina, from the table: linear in energy and in the number. */
ISO_HD float transport_compton(const float rows[][TRANSPORT_SHARES + 1], float kev, float unit)
{
	float e = kev * (1 / 8.f), u = unit * TRANSPORT_SHARES;
	int i = (int)e, j = (int)u;
	const float *a = rows[i] + j, *b = rows[i + 1] + j;
	float f = e - (float)i, g = u - (float)j;
	float low = a[0] + g * (a[1] - a[0]), high = b[0] + g * (b[1] - b[0]);

	return low + f * (high - low);
}

/* cos(theta) of Rayleigh scattering: F^2 d(q^2) from the material, accepted with (1+cos^2)/2. */
ISO_HD float transport_rayleigh(const struct transport *t, float kev, float unit, float accept,
                                uint32_t stream, uint64_t history, uint32_t draw)
{
	float c = material_rayleigh(&t->table->material, kev, unit);

	for (uint32_t k = 1; 2 * accept > 1 + c * c && k < 16; k++) {
		struct philox w = transport_draw(t, stream, history, draw | k << 16);

		accept = philox_unit(w.w[1]);
		c = material_rayleigh(&t->table->material, kev, philox_unit(w.w[0]));
	}
	return c;
}

/* What one interaction does, with four random words: type, angle, azimuth; the fourth is the next
   flight's. mu: running sums at the photon's energy. false: the photon ended here. */
ISO_HD bool transport_interact(struct transport_track *k, struct transport_photon *p,
                               const struct transport *t, const float mu[3], uint32_t key, struct philox w,
                               uint32_t stream, uint64_t history, uint32_t draw)
{
	float u = philox_unit(w.w[0]) * mu[t->last], cosine;

	if (u < mu[0]) {
		transport_deposit(k, key, p->kev);
		return false;
	}
	if (u < mu[1]) {
		cosine = transport_compton(t->table->compton, p->kev, philox_unit(w.w[1]));
		float kev = p->kev / (1 + p->kev * (1 / 510.99895f) * (1 - cosine));
		bool ends = kev < MATERIAL_LOW || k->n >= TRANSPORT_DEPOSITS - 1;

		transport_deposit(k, key, ends ? p->kev : p->kev - kev);
		if (ends) return false;
		p->kev = kev;
	} else {
		cosine = transport_rayleigh(t, p->kev, philox_unit(w.w[1]), (u - mu[1]) / (mu[2] - mu[1]),
		                            stream, history, draw);
	}
	transport_deflect(p->dir, cosine, w.w[2]);
	return true;
}

/* 1/mm at an energy, running sums; that of 511 keV is at hand. */
ISO_HD void transport_mu(float mu[3], const struct transport *t, float kev)
{
	if (kev < 511)
		material_mu(mu, &t->table->material, kev);
	else
		for (int i = 0; i < 3; i++) mu[i] = t->mu[i];
}

/* Outcome number `outcome` of photon h, after its first flight. false: it missed the head or flew through. */
ISO_HD bool transport_start(struct transport_photon *p, const struct transport *t,
                            const struct transport_line *l, int h, uint32_t outcome, uint32_t stream,
                            uint64_t history)
{
	uint32_t word = l->word[h];
	float mu[3];

	if (!l->reach[h]) return false;
	if (outcome > 0) word = transport_draw(t, stream, history, transport_steps(h, outcome)).w[0];
	for (int a = 0; a < 3; a++) {
		p->at[a] = l->at[h][a];
		p->dir[a] = l->dir[h][a];
	}
	p->kev = l->kev[h];
	p->head = l->head[h];
	p->number = h;
	transport_mu(mu, t, p->kev);
	return transport_fly(p, t, transport_exponential(word) / mu[t->last]);
}

/* Follows a started photon to its end. room[i]: energy that the other photon may add to head i. false: a head
   can't reach the window any more, and the photon was given up. */
ISO_HD bool transport_follow(struct transport_track *k, const struct transport *t, struct transport_photon p,
                             uint32_t outcome, uint32_t stream, uint64_t history, const float room[2])
{
	uint32_t draw = transport_steps(p.number, outcome), key;
	float mu[3];
	uint32_t word;

	transport_mu(mu, t, p.kev);
	do {
		struct philox w = transport_draw(t, stream, history, ++draw);

		word = w.w[3];
		if (!transport_crystal(&key, t, &p)) continue;
		float before = p.kev;

		if (!transport_interact(k, &p, t, mu, key, w, stream, history, draw)) break;
		if (k->sum[0] + room[0] + p.kev < t->least || k->sum[1] + room[1] + p.kev < t->least)
			return false;
		if (p.kev != before) material_mu(mu, &t->table->material, p.kev);
	} while (transport_fly(&p, t, transport_exponential(word) / mu[t->last]));
	return k->sum[0] + room[0] >= t->least && k->sum[1] + room[1] >= t->least;
}

ISO_HD void transport_clear(struct transport_track *k)
{
	k->sum[0] = k->sum[1] = 0;
	k->n = 0;
}

/* Outcome number `outcome` of photon h. Any of photon 0 may be combined with any of photon 1. */
ISO_HD void transport_outcome(struct transport_track *k, const struct transport *t,
                              const struct transport_line *l, int h, uint32_t outcome, uint32_t stream,
                              uint64_t history)
{
	float other = l->reach[1 - h] ? 511 : 0, room[2] = { other, other };
	struct transport_photon p;

	transport_clear(k);
	if (transport_start(&p, t, l, h, outcome, stream, history))
		transport_follow(k, t, p, outcome, stream, history, room);
}

/* ---- what the heads read ---- */

/* Deposits of both photons, a's first, as one list of a->n + b->n. */
ISO_HD uint32_t transport_key(const struct transport_track *a, const struct transport_track *b, int i)
{
	return i < a->n ? a->key[i] : b->key[i - a->n];
}

ISO_HD float transport_kev(const struct transport_track *a, const struct transport_track *b, int i)
{
	return i < a->n ? a->kev[i] : b->kev[i - a->n];
}

/* The unit that a crystal is read out in, as a number: its head's, its block's, its own. */
ISO_HD uint32_t transport_unit(const struct transport *t, uint32_t key)
{
	uint32_t x = key >> 13 & 8191, z = key & 8191, block = (uint32_t)t->block;

	if (t->readout == ISO_READ_HEAD) return key >> 31;
	if (t->readout == ISO_READ_BLOCK) return (key >> 31) << 31 | x / block << 13 | z / block;
	return key;
}

/* Sum of the deposits in a unit; 0 unless deposit i is the first in it. */
ISO_HD float transport_unit_sum(const struct transport *t, const struct transport_track *a,
                                const struct transport_track *b, int i)
{
	uint32_t unit = transport_unit(t, transport_key(a, b, i));
	float sum = 0;

	for (int j = 0; j < a->n + b->n; j++) {
		if (transport_unit(t, transport_key(a, b, j)) != unit) continue;
		if (j < i) return 0;
		sum += transport_kev(a, b, j);
	}
	return sum;
}

/* Key of the crystal with the largest deposit of the unit. */
ISO_HD uint32_t transport_largest(const struct transport *t, const struct transport_track *a,
                                  const struct transport_track *b, uint32_t unit)
{
	uint32_t best = 0;
	float most = 0;

	for (int i = 0; i < a->n + b->n; i++) {
		uint32_t key = transport_key(a, b, i);
		float sum = 0;

		if (transport_unit(t, key) != unit) continue;
		for (int j = 0; j < a->n + b->n; j++)
			if (transport_key(a, b, j) == key) sum += transport_kev(a, b, j);
		if (sum > most) {
			most = sum;
			best = key;
		}
	}
	return best;
}

/* Key of the crystal that holds the mean of the unit's crystal centres, weighted by energy. */
ISO_HD uint32_t transport_centroid(const struct transport *t, const struct transport_track *a,
                                   const struct transport_track *b, uint32_t unit)
{
	float sum = 0, x = 0, z = 0, layer = 0;
	uint32_t head = 0;

	for (int i = 0; i < a->n + b->n; i++) {
		uint32_t key = transport_key(a, b, i);
		float kev = transport_kev(a, b, i);

		if (transport_unit(t, key) != unit) continue;
		head = key >> 31;
		sum += kev;
		x += kev * (float)(key >> 13 & 8191);
		z += kev * (float)(key & 8191);
		layer += kev * (float)(key >> 26 & 31);
	}
	return head << 31 | (uint32_t)(layer / sum + .5f) << 26 | (uint32_t)(x / sum + .5f) << 13 |
	       (uint32_t)(z / sum + .5f);
}

/* Layer of the first interaction in the unit: of the head's own photon, else of the other. */
ISO_HD uint32_t transport_first_layer(const struct transport *t, const struct transport_track *a,
                                      const struct transport_track *b, uint32_t unit)
{
	const struct transport_track *own = unit >> 31 || unit == 1 ? b : a, *other = own == a ? b : a;

	for (int i = 0; i < own->n + other->n; i++)
		if (transport_unit(t, transport_key(own, other, i)) == unit)
			return transport_key(own, other, i) >> 26 & 31;
	return 0;
}

/* One head: each unit's sum is blurred once; of those in the window the largest is the hit. g: two Gaussian
   numbers for the first unit of either head. */
ISO_HD bool transport_read(struct transport_hit *hit, const struct transport *t,
                           const struct transport_track *a, const struct transport_track *b, int h,
                           uint32_t combination, uint32_t stream, uint64_t history, const float g[2])
{
	uint32_t best = 0, units = 0;
	float most = 0, gauss[2] = { g[0], g[1] };

	for (int i = 0; i < a->n + b->n; i++) {
		uint32_t key = transport_key(a, b, i);
		float sum = key >> 31 == (uint32_t)h ? transport_unit_sum(t, a, b, i) : 0;

		if (!(sum >= t->least)) continue;
		if (units > 0)
			transport_gauss(gauss, t, stream, history, TRANSPORT_BLUR | combination << 8 | units);
		units++;
		float kev = sum + t->blur * sqrtf(sum) * gauss[h];

		if (kev >= t->window[0] && kev <= t->window[1] && kev > most) {
			most = kev;
			best = transport_unit(t, key);
		}
	}
	if (!(most > 0)) return false;
	uint32_t key = t->centroid ? transport_centroid(t, a, b, best) : transport_largest(t, a, b, best);

	hit->x = (int16_t)((int)(key >> 13 & 8191) + t->first[0]);
	hit->z = (int16_t)((int)(key & 8191) + t->first[1]);
	hit->layer = (int16_t)(t->first_layer ? transport_first_layer(t, a, b, best) : key >> 26 & 31);
	hit->kev = most;
	return true;
}

/* The pair read out from an outcome of each photon. true: a coincidence. */
ISO_HD bool transport_combine(struct transport_hit hit[2], const struct transport *t,
                              const struct transport_track *a, const struct transport_track *b,
                              uint32_t combination, uint32_t stream, uint64_t history)
{
	float g[2];

	if (a->sum[0] + b->sum[0] < t->least || a->sum[1] + b->sum[1] < t->least) return false;
	transport_gauss(g, t, stream, history, TRANSPORT_BLUR | combination << 8);
	return transport_read(hit, t, a, b, 0, combination, stream, history, g) &&
	       transport_read(hit + 1, t, a, b, 1, combination, stream, history, g);
}

/* ---- pairs ---- */

/* Both photons of a line. false: no coincidence can come of it. */
ISO_HD bool transport_tracks_of(struct transport_track k[2], const struct transport *t,
                                const struct transport_line *l, uint32_t stream, uint64_t history)
{
	struct transport_photon p[2];

	transport_clear(k);
	transport_clear(k + 1);
	bool in0 = transport_start(p, t, l, 0, 0, stream, history);
	bool in1 = transport_start(p + 1, t, l, 1, 0, stream, history);
	float other = in1 ? 511 : 0;
	float room[2] = { t->reentry || l->head[1] == 0 ? other : 0,
		          t->reentry || l->head[1] == 1 ? other : 0 };

	if (in0 && !transport_follow(k, t, p[0], 0, stream, history, room)) return false;
	return in1 ? transport_follow(k + 1, t, p[1], 0, stream, history, k[0].sum) : in0;
}

/* Of a decay at the point (mm). */
ISO_HD bool transport_tracks(struct transport_track k[2], const struct transport *t, const float point[3],
                             uint32_t stream, uint64_t history)
{
	struct transport_line l;

	return transport_line(&l, t, point, stream, history) &&
	       transport_tracks_of(k, t, &l, stream, history);
}

/* One line, head h alone, whatever the other reads. true: it has a hit. */
ISO_HD bool transport_single(struct transport_hit *hit, const struct transport *t,
                             const struct transport_line *l, int h, uint32_t stream, uint64_t history)
{
	const float room[2] = { 2044, 2044 }; /* no photon is given up */
	struct transport_track k[2];
	float g[2];

	for (int i = 0; i < 2; i++) {
		struct transport_photon p;

		transport_clear(k + i);
		if (transport_start(&p, t, l, i, 0, stream, history))
			transport_follow(k + i, t, p, 0, stream, history, room);
	}
	if (k[0].sum[h] + k[1].sum[h] < t->least) return false;
	transport_gauss(g, t, stream, history, TRANSPORT_BLUR);
	return transport_read(hit, t, k, k + 1, h, 0, stream, history, g);
}

/* One decay: hit[0] upper, hit[1] lower. true: a coincidence. */
ISO_HD bool transport_pair(struct transport_hit hit[2], const struct transport *t, const float point[3],
                           uint32_t stream, uint64_t history)
{
	struct transport_track k[2];

	return transport_tracks(k, t, point, stream, history) &&
	       transport_combine(hit, t, k, k + 1, 0, stream, history);
}

#endif
