/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulses of readout units: the deposits of a decay pooled, and the blur of energy and time. Only sums, products, roots
   and the series of photon_kern.h, so that every device has the same pulses, bit by bit. */
#ifndef ISO_PULSE_KERN_H
#define ISO_PULSE_KERN_H

#include "physics/photon_kern.h"
#include "physics/transport/deposit.h"

#define PULSE_FWHM 2.35482 /* of a Gaussian of unit width */

enum {
	PULSE_TICKS_PER_NS = 64000,      /* times of the readout are whole ticks of 1/64 ps */
	PULSE_POOL = PULSE_TICKS_PER_NS, /* deposits of one decay up to this after the first are one pulse */
	PULSE_PHOTONS = 5,               /* of a decay, at most: 0, 1 the pair, 2 to 4 prompt */
	PULSE_MOST = DEPOSIT_MOST * PULSE_PHOTONS,
};

#define PULSE_TICKS_PER_S 64e12

/* First word of the draws of a pulse; the second is its crystal. */
#define PULSE_BLUR 0x50000000u

/* A pulse on its way to a single. */
struct pulse {
	int64_t time;   /* ticks since the start of the scan */
	uint64_t decay; /* the first pulse's, where several are piled up */
	double kev;
	uint32_t unit, crystal;
	uint8_t pulses;   /* piled up in it, itself included; 255 stands for more, too */
	uint8_t photons;  /* bit k: photon k of a decay has a deposit in it */
	uint8_t crystals; /* with deposits */
	uint8_t first;    /* its crystal is that of the earliest deposit */
	/* sums over its photons */
	uint8_t object_compton, object_rayleigh, crystal_compton;
	uint8_t line; /* its energy lies in the window of the prompt line */
};

/* Who reads which crystal. Pointers are of the device that makes the pulses. */
struct pulse_map {
	const uint32_t *unit; /* of each crystal */
	/* for the centroid; NULL: a pulse has the crystal of the largest energy */
	const float (*place)[3];      /* middles of the crystals, mm */
	const uint32_t *first, *many; /* crystals of unit u: many[first[u]] to many[first[u + 1] - 1] */
};

ISO_HD uint8_t pulse_cap(int n)
{
	return (uint8_t)(n < 255 ? n : 255);
}

/* The crystal of the unit whose middle is nearest to the mean of the middles, weighted by energy: crystals of a unit
   form a grid, so that this is the cell that holds the mean. */
ISO_HD uint32_t pulse_centroid(const struct pulse_map *m, uint32_t unit, const double sum[3], double kev)
{
	uint32_t best = m->many[m->first[unit]];
	double least = 1e300;

	for (uint32_t k = m->first[unit]; k < m->first[unit + 1]; k++) {
		const float *at = m->place[m->many[k]];
		double d2 = 0;

		for (int a = 0; a < 3; a++) d2 += (at[a] - sum[a] / kev) * (at[a] - sum[a] / kev);
		if (d2 < least) {
			least = d2;
			best = m->many[k];
		}
	}
	return best;
}

/* Scatters of the photons of a pulse: of each photon the most that one of its deposits knows. */
ISO_HD void pulse_history(struct pulse *p, const struct deposit *d, const uint8_t *pool, int n)
{
	int sum[3] = { 0, 0, 0 };

	for (int k = 0; k < PULSE_PHOTONS; k++) {
		int most[3] = { 0, 0, 0 };

		for (int i = 0; i < n; i++) {
			const struct deposit *q = d + pool[i];

			if (q->photon != k) continue;
			p->photons |= (uint8_t)(1 << k);
			most[0] = q->object_compton > most[0] ? q->object_compton : most[0];
			most[1] = q->object_rayleigh > most[1] ? q->object_rayleigh : most[1];
			most[2] = q->crystal_compton > most[2] ? q->crystal_compton : most[2];
		}
		for (int j = 0; j < 3; j++) sum[j] += most[j];
	}
	p->object_compton = pulse_cap(sum[0]);
	p->object_rayleigh = pulse_cap(sum[1]);
	p->crystal_compton = pulse_cap(sum[2]);
}

/* One pulse of the n deposits d[pool[0]], ..., the earliest first. */
ISO_HD void pulse_of_pool(struct pulse *p, const struct deposit *d, const uint8_t *pool, int n,
                          const struct pulse_map *m)
{
	struct pulse made = ISO_ZERO;
	double largest = -1, sum[3] = { 0, 0, 0 };

	made.decay = d[pool[0]].decay;
	made.time = d[pool[0]].ticks;
	made.unit = m->unit[d[pool[0]].crystal];
	made.pulses = 1;
	for (int i = 0; i < n; i++) {
		uint32_t c = d[pool[i]].crystal;
		double here = 0;
		bool seen = false;

		made.kev += d[pool[i]].kev;
		for (int j = 0; j < n; j++) {
			if (d[pool[j]].crystal != c) continue;
			here += d[pool[j]].kev;
			seen = seen || j < i;
		}
		if (!seen) made.crystals++;
		if (here > largest || (!(here < largest) && c < made.crystal)) {
			largest = here;
			made.crystal = c;
		}
		for (int a = 0; m->place && a < 3; a++) sum[a] += (double)d[pool[i]].kev * m->place[c][a];
	}
	if (m->place) made.crystal = pulse_centroid(m, made.unit, sum, made.kev);
	made.first = made.crystal == d[pool[0]].crystal;
	pulse_history(&made, d, pool, n);
	*p = made;
}

/* The pulses of a decay's n deposits, in order of their first ones, at most n; returns their number. Times are those
   since the decay. */
ISO_HD int pulses_of_decay(struct pulse *p, const struct deposit *d, int n, const struct pulse_map *m)
{
	uint8_t left[PULSE_MOST], pool[PULSE_MOST];
	int pulses = 0, rest = n < PULSE_MOST ? n : PULSE_MOST;

	for (int i = 0; i < rest; i++) left[i] = (uint8_t)i;
	while (rest > 0) {
		int early = 0, in = 1, kept = 0;

		for (int i = 1; i < rest; i++)
			if (d[left[i]].ticks < d[left[early]].ticks) early = i;
		const struct deposit *first = d + left[early];

		pool[0] = left[early];
		for (int i = 0; i < rest; i++) {
			const struct deposit *q = d + left[i];

			if (i == early) continue;
			if (m->unit[q->crystal] == m->unit[first->crystal] &&
			    (int64_t)q->ticks - first->ticks <= PULSE_POOL)
				pool[in++] = left[i];
			else
				left[kept++] = left[i];
		}
		rest = kept;
		pulse_of_pool(p + pulses++, d, pool, in, m);
	}
	return pulses;
}

/* Resolution of energy, share of 511 keV (FWHM), and of a single's time, ticks (standard deviation). */
struct pulse_blur {
	uint64_t seed;
	double resolution, sigma_ticks;
};

/* Random numbers of a pulse, and its energy and time blurred by them. w[2] and w[3] are left for others. */
ISO_HD struct philox pulse_draw(const struct pulse *p, uint64_t seed)
{
	return philox_draw(seed, p->decay, (uint64_t)PULSE_BLUR << 32 | p->crystal);
}

ISO_HD struct philox pulse_blur(struct pulse *p, const struct pulse_blur *b)
{
	struct philox draw = pulse_draw(p, b->seed);
	float g[2];

	photon_gauss(g, draw.w[0], draw.w[1]);
	p->kev = (float)(p->kev + b->resolution / PULSE_FWHM * sqrt(WATER_E0 * p->kev) * g[0]);
	p->time += (int64_t)floor(b->sigma_ticks * g[1] + .5);
	return draw;
}

/* The order of all lists: time, decay, crystal; energy tells apart what is left. */
ISO_HD bool pulse_before(const struct pulse *a, const struct pulse *b)
{
	if (a->time != b->time) return a->time < b->time;
	if (a->decay != b->decay) return a->decay < b->decay;
	if (a->crystal != b->crystal) return a->crystal < b->crystal;
	return a->kev < b->kev;
}

#endif
