/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays of a scan to pulses of readout units: when a decay happens, what it emits, and what its photons leave. */
#ifndef ISO_ACTIVITY_SCAN_KERN_H
#define ISO_ACTIVITY_SCAN_KERN_H

#include "physics/decay/decay_kern.h"
#include "physics/readout/pulse_kern.h"
#include "physics/transport/source_kern.h"

#define RATES_TIME 0x3e000000u /* draw of the time of a decay in its cell */

/* A piece of the scan: the number of its decays is Poisson's, and each has a time of its own in it. */
struct rates_cell {
	int64_t from, width; /* ticks */
	uint64_t first;      /* number of its first decay */
	int64_t decays;
};

/* Pointers are of the device that follows the decays. */
struct rates_world {
	struct crystal_world crystals;
	struct crystal_source source;
	const struct decay_table *decay; /* NULL: pairs back to back */
	struct decay_map map;
	struct pulse_map pulses;
	float fall; /* of the activity over a cell, as a share: at most .01 */
	bool later; /* each decay has a second history, of the isomer that it leaves */
};

struct rates_counts {
	int64_t decays, positrons, escaped, photons, met, hit;
	int64_t fate[CRYSTAL_FATES];
	int64_t deposits_full; /* photons with more deposits than are kept apart */
};

/* Place in its cell of a time that falls by a small share f: the inverse of its integral, to f^2 / 12. */
ISO_HD int64_t rates_time(const struct rates_cell *c, float fall, struct philox draw)
{
	double u = philox_unit_double(draw.w[0], draw.w[1]), s = u - .5 * (double)fall * u * (1 - u);

	return c->from + (int64_t)(s * (double)c->width);
}

/* Histories of a cell. */
ISO_HD int64_t rates_histories(const struct rates_world *r, const struct rates_cell *c)
{
	return r->later ? 2 * c->decays : c->decays;
}

ISO_HD void rates_count(struct rates_counts *n, const struct decay *d, const struct crystal_trace *t)
{
	n->decays += !(d->number & DECAY_LATER);
	n->positrons += d->positron;
	n->escaped += d->escaped;
	for (int k = 0; k < DECAY_PHOTONS; k++) {
		if (!d->is[k]) continue;
		n->photons++;
		n->met += t->met >> k & 1;
		n->hit += t->hit >> k & 1;
		n->deposits_full += t->full >> k & 1;
		n->fate[t->fate[k]]++;
	}
}

/* Decay `number` as it happens at its place, with all that it emits. */
ISO_HD void rates_emit(struct decay *d, const struct rates_world *r, uint64_t number)
{
	float at[3];

	source_place(at, &r->source, r->crystals.seed, number);
	decay_make(d, r->decay, &r->map, r->crystals.seed, number, at);
}

/* Pulses of history i of a cell, with times since the start of the scan; *t: what its photons did. Returns how many. */
ISO_HD int rates_pulses(struct pulse p[PULSE_MOST], struct crystal_trace *t, struct decay *d,
                        const struct rates_world *r, const struct rates_cell *c, int64_t i)
{
	bool later = i >= c->decays;
	uint64_t number = c->first + (uint64_t)(later ? i - c->decays : i);

	rates_emit(d, r, later ? number | DECAY_LATER : number);
	crystal_begin(t, d->number);
	for (int k = 0; k < DECAY_PHOTONS; k++) {
		struct crystal_photon photon;

		if (!d->is[k]) continue;
		for (int a = 0; a < 3; a++) {
			photon.at[a] = d->photon[k].at[a];
			photon.dir[a] = d->photon[k].dir[a];
		}
		photon.kev = d->photon[k].kev;
		photon.ticks = 0;
		crystal_follow(t, &r->crystals, &photon, k);
	}
	if (t->n == 0) return 0;
	int n = pulses_of_decay(p, t->d, t->n, &r->pulses);
	int64_t start = rates_time(c, r->fall, philox_draw(r->crystals.seed, d->number, RATES_TIME));

	for (int k = 0; k < n; k++) p[k].time += start;
	return n;
}

#endif
