/* SPDX-License-Identifier: BSD-3-Clause */
/* The two photons of an annihilation in an object inside a ring: where they meet the ring's cylinder, with what energy,
   after what way and how many scatters.

   The object is water of a density that differs from voxel to voxel. Delta tracking (Woodcock 1965): flights are drawn
   with the attenuation of the densest voxel, and a photon that arrives interacts with the share that the density there
   is of the densest. Outside the box of matter it flies straight.

   Random numbers: Philox keyed by the seed; the counter is (history, draw). Draws of a photon are its own, so a photon
   that is not followed changes nothing else. Only sums, products, quotients, roots and tables are used, all in float,
   and the CUDA files that include this are compiled without fusing: every device has the same histories, bit by bit. */
#ifndef ISO_PHOTON_KERN_H
#define ISO_PHOTON_KERN_H

#include "emission.h"
#include "transport_kern.h"
#include "water.h"

enum {
	PHOTON_ENERGIES = 512,      /* entry k of a table over energy is k keV */
	PHOTON_FULL = 65535,        /* density of the densest voxel */
	PHOTON_MOST_SCATTERS = 250, /* of one photon; it is lost after more */
};

#define PHOTON_KEV ((float)WATER_E0)

/* First draw of each purpose. */
#define PHOTON_PLACE 0u
#define PHOTON_LINE 1u
#define PHOTON_OWN 2u             /* for the caller: 2 to 255 */
#define PHOTON_FLIGHT 0x40000000u /* + photon << 28 | outcome << 20 | step */

/* By energy; interactions are drawn by 16 bits. */
struct photon_water {
	float path;     /* mean flight, mm, in the densest voxel */
	float photo;    /* 65536 x the share of photoelectric effect */
	float rayleigh; /* the same with that of Rayleigh scatter added */
};

/* Tables that the host makes once, plain data that goes to any device. */
struct photon_table {
	struct photon_water water[PHOTON_ENERGIES];
	float compton[TRANSPORT_ENERGIES + 1][TRANSPORT_SHARES + 1]; /* iso_compton_rows */
	struct iso_material material; /* water, where Rayleigh scatter is asked for */
};

/* Object and ring, made by iso_photon_make. Pointers are of the device that follows the photons. */
struct photon_world {
	uint64_t seed;
	const struct photon_table *table;
	/* decays: image's voxels, x fastest */
	const struct iso_emission_slot *slot;
	uint32_t voxels, nx, ny;
	float image_low[3], image_voxel[3]; /* mm */
	/* matter: the box of voxels that have some */
	const uint16_t *density; /* PHOTON_FULL x density / greatest density, x fastest */
	int32_t n[3];
	float low[3], high[3], per_mm[3];
	/* ring */
	float rho2, half; /* square of the radius, half the axial length: mm^2, mm */
	float least_kev;  /* a photon below is lost */
};

struct photon_decay {
	uint64_t history;
	float at[3], dir[3]; /* photon 0 flies along dir, photon 1 against it */
	uint32_t word[2];    /* for the first flight of outcome 0 */
};

struct photon_end {
	float at[3];               /* on the cylinder, mm */
	float kev, way;            /* mm, from the decay to there */
	uint8_t compton, rayleigh; /* scatters */
	float across, along;       /* how it lands: t / (t + n) of its way across the axis, |sine| along it */
};

/* -ln u of a uniform u, 6e-8 to 16.6; to 2e-7 of itself or of 1. ln m = 2 artanh((m - 1) / (m + 1)). */
ISO_HD float photon_exponential(uint32_t word)
{
	float u = philox_unit(word);
	uint32_t bits;

	memcpy(&bits, &u, sizeof bits);
	int power = (int)(bits >> 23) - 127;

	bits = (bits & 0x7fffffu) | 127u << 23; /* u = m 2^power, 1 <= m < 2 */
	float m;

	memcpy(&m, &bits, sizeof m);
	if (m > 1.41421356f) {
		m *= .5f;
		power++;
	}
	float s = (m - 1) / (m + 1), q = s * s;
	float log = 2 * s * (1 + q * (1 / 3.f + q * (1 / 5.f + q * (1 / 7.f + q * (1 / 9.f)))));

	return -(log + (float)power * .693147181f);
}

/* Two independent Gaussian numbers of unit width (Box and Muller); none beyond 5.8. */
ISO_HD void photon_gauss(float g[2], uint32_t u, uint32_t v)
{
	float r = sqrtf(2 * photon_exponential(u)), c, s;

	transport_turn(&c, &s, v);
	g[0] = r * c;
	g[1] = r * s;
}

/* Decay number `history`, by its draws PHOTON_PLACE and PHOTON_LINE: a voxel in proportion to its activity, a point in it,
   an isotropic line. */
ISO_HD void photon_decay_by(struct photon_decay *d, const struct photon_world *w, uint64_t history,
                            struct philox a, struct philox b)
{
	uint32_t i = emission_voxel(w->slot, w->voxels, (uint64_t)a.w[0] << 32 | a.w[1], NULL);
	uint32_t row = i / w->nx, plane = row / w->ny;
	uint32_t at[3] = { i - row * w->nx, row - plane * w->ny, plane };
	uint64_t bits = (uint64_t)a.w[2] << 32 | a.w[3];
	float up = 2 * philox_unit(b.w[0]) - 1, flat = sqrtf(1 - up * up), c, s;

	for (int k = 0; k < 3; k++, bits >>= 21) /* 21 bits an axis */
		d->at[k] = w->image_low[k] +
		           w->image_voxel[k] * ((float)at[k] + ((float)(bits & 0x1fffff) + .5f) * 0x1p-21f);
	transport_turn(&c, &s, b.w[1]);
	d->dir[0] = flat * c;
	d->dir[1] = flat * s;
	d->dir[2] = up;
	d->word[0] = b.w[2];
	d->word[1] = b.w[3];
	d->history = history;
}

ISO_HD void photon_decay(struct photon_decay *d, const struct photon_world *w, uint64_t history)
{
	photon_decay_by(d, w, history, philox_draw(w->seed, history, PHOTON_PLACE),
	                philox_draw(w->seed, history, PHOTON_LINE));
}

/* The part of the way along dir from `at` on that lies in the box of matter: from *in to the value returned, mm, which
   is below *in where it misses the box. */
ISO_HD float photon_box(float *in, const struct photon_world *w, const float at[3], const float dir[3])
{
	float from = 0, to = 1e30f;

	for (int a = 0; a < 3; a++) {
		float over = 1 / dir[a], p = (w->low[a] - at[a]) * over, q = (w->high[a] - at[a]) * over;

		from = fmaxf(from, fminf(p, q)); /* dir[a] = 0: infinite, or NaN, which both ignore */
		to = fminf(to, fmaxf(p, q));
	}
	*in = from;
	return to;
}

/* Density at `at`, which lies in the box but for rounding. */
ISO_HD uint32_t photon_density(const struct photon_world *w, const float at[3])
{
	int32_t i[3];

	for (int a = 0; a < 3; a++) {
		i[a] = (int32_t)((at[a] - w->low[a]) * w->per_mm[a]);
		i[a] = i[a] < 0 ? 0 : i[a] < w->n[a] ? i[a] : w->n[a] - 1;
	}
	return w->density[((int64_t)i[2] * w->n[1] + i[1]) * w->n[0] + i[0]];
}

/* Water at an energy, linear between the entries of the table. */
ISO_HD struct photon_water photon_water(const struct photon_table *t, float kev)
{
	int i = (int)kev < PHOTON_ENERGIES - 2 ? (int)kev : PHOTON_ENERGIES - 2;
	struct photon_water a = t->water[i], b = t->water[i + 1];
	float share = kev - (float)i;

	a.path += share * (b.path - a.path);
	a.photo += share * (b.photo - a.photo);
	a.rayleigh += share * (b.rayleigh - a.rayleigh);
	return a;
}

/* Straight on from e->at to the cylinder. false: past its ends, or from outside it. */
ISO_HD bool photon_land(struct photon_end *e, const struct photon_world *w, const float dir[3])
{
	float a = dir[0] * dir[0] + dir[1] * dir[1], b = e->at[0] * dir[0] + e->at[1] * dir[1];
	float c = w->rho2 - (e->at[0] * e->at[0] + e->at[1] * e->at[1]);
	float s = (sqrtf(b * b + a * c) - b) / a, z = e->at[2] + s * dir[2];

	if (!(c > 0) || !(fabsf(z) < w->half)) return false;
	e->at[0] += s * dir[0];
	e->at[1] += s * dir[1];
	e->at[2] = z;
	e->way += s;
	float n = fabsf(e->at[0] * dir[0] + e->at[1] * dir[1]),
	      t = fabsf(e->at[0] * dir[1] - e->at[1] * dir[0]);

	e->across = n + t > 0 ? t / (n + t) : 0;
	e->along = fabsf(dir[2]) < 1 ? fabsf(dir[2]) : 1;
	return true;
}

/* One interaction where the photon is, by the words of its draw. false: it ends. */
ISO_HD bool photon_interact(struct photon_end *e, float dir[3], struct photon_water *water,
                            const struct photon_world *w, struct philox draw, uint64_t history, uint32_t step)
{
	float type = (float)(draw.w[0] & 0xffff) + .5f, cosine = 1;

	if (type < water->photo || e->compton + e->rayleigh >= PHOTON_MOST_SCATTERS) return false;
	if (type < water->rayleigh) { /* F^2 d(q^2), accepted with (1 + cos^2) / 2 */
		struct philox again;

		for (uint64_t k = 1; k <= 16; k++) {
			again = philox_draw(w->seed, history, k << 32 | step);
			cosine = material_rayleigh(&w->table->material, e->kev, philox_unit(again.w[0]));
			if (2 * philox_unit(again.w[1]) <= 1 + cosine * cosine) break;
		}
		e->rayleigh++;
	} else {
		cosine = transport_compton(w->table->compton, e->kev, philox_unit(draw.w[1]));
		e->kev /= 1 + e->kev * (1 / PHOTON_KEV) * (1 - cosine);
		e->compton++;
		if (e->kev < w->least_kev) return false;
		*water = photon_water(w->table, e->kev);
	}
	transport_deflect(dir, cosine, draw.w[2]);
	return true;
}

/* Photon h of a decay, outcome number `outcome` of those that one line may have, until nothing but a straight flight
   along `dir` is left, from e->at on. false: it is absorbed, or falls below least_kev. */
ISO_HD bool photon_leave(struct photon_end *e, float dir[3], const struct photon_world *w,
                         const struct photon_decay *d, int h, uint32_t outcome)
{
	struct photon_water water = w->table->water[PHOTON_ENERGIES - 1];
	uint32_t step = PHOTON_FLIGHT | (uint32_t)h << 28 | outcome << 20, word = d->word[h];
	float in, sign = h ? -1.f : 1.f;

	for (int a = 0; a < 3; a++) {
		e->at[a] = d->at[a];
		dir[a] = sign * d->dir[a];
	}
	e->kev = PHOTON_KEV;
	e->way = 0;
	e->compton = e->rayleigh = 0;
	if (outcome > 0) word = philox_draw(w->seed, d->history, step).w[0];
	float out = photon_box(&in, w, e->at, dir), s = in;

	while ((s += photon_exponential(word) * water.path) < out) {
		struct philox draw = philox_draw(w->seed, d->history, ++step);
		float there[3] = { e->at[0] + s * dir[0], e->at[1] + s * dir[1], e->at[2] + s * dir[2] };

		word = draw.w[3];
		if (draw.w[0] >> 16 >= photon_density(w, there)) continue;
		for (int a = 0; a < 3; a++) e->at[a] = there[a];
		e->way += s;
		if (!photon_interact(e, dir, &water, w, draw, d->history, step)) return false;
		out = photon_box(&in, w, e->at, dir);
		s = 0;
	}
	return true;
}

/* The same, and on to the cylinder. false also: past an end of the ring. */
ISO_HD bool photon_follow(struct photon_end *e, const struct photon_world *w, const struct photon_decay *d,
                          int h, uint32_t outcome)
{
	float dir[3];

	return photon_leave(e, dir, w, d, h, outcome) && photon_land(e, w, dir);
}

/* Both photons of a decay. false: one of them is lost, and the other maybe not followed. */
ISO_HD bool photon_pair(struct photon_end e[2], const struct photon_world *w, uint64_t history)
{
	struct photon_decay d;

	photon_decay(&d, w, history);
	return photon_follow(e, w, &d, 0, 0) && photon_follow(e + 1, w, &d, 1, 0);
}

#endif
