/* SPDX-License-Identifier: BSD-3-Clause */
/* One decay from its photons to at most one coincidence: transport, pulses, energies, window, a pair of exactly two
   singles. Without rates: no decay knows of another. */
#ifndef ISO_CRYSTAL_SCAN_KERN_H
#define ISO_CRYSTAL_SCAN_KERN_H

#include "physics/readout/pulse_kern.h"
#include "physics/transport/source_kern.h"

/* What is counted; energies are kept apart. */
enum crystal_count {
	CRYSTAL_MET,          /* photons of the pair that met a module */
	CRYSTAL_INTERACTED,   /* and interacted in one */
	CRYSTAL_SINGLES,      /* in the window, of all photons */
	CRYSTAL_SEVERAL,      /* of them with deposits in several crystals */
	CRYSTAL_NOT_FIRST,    /* of them in another crystal than that of the first deposit */
	CRYSTAL_OUTSIDE,      /* pulses outside of the window */
	CRYSTAL_PAIRS,        /* coincidences */
	CRYSTAL_SCATTERED,    /* of them with Compton scatter in the object */
	CRYSTAL_RAYLEIGH,     /* of those without, with Rayleigh scatter there */
	CRYSTAL_MANY,         /* decays with three or more singles */
	CRYSTAL_ONE_MODULE,   /* two singles of one module */
	CRYSTAL_TOO_NEAR,     /* two singles that make no pair otherwise */
	CRYSTAL_PAIR_SEVERAL, /* pairs with deposits in several crystals at an end */
	CRYSTAL_PAIR_NOT_FIRST,
	CRYSTAL_PROMPT, /* pairs with a prompt photon in them: not among the coincidences */
	CRYSTAL_ORDERS, /* coincidences by scatters in the object: 0, 1, 2, 3, 4 or more */
	CRYSTAL_FATE_LEFT = CRYSTAL_ORDERS + 5, /* photons by fate */
	CRYSTAL_FATE_CRYSTAL,
	CRYSTAL_FATE_PASSIVE,
	CRYSTAL_FATE_OBJECT,
	CRYSTAL_FULL, /* photons with more deposits than are kept */
	CRYSTAL_COUNTS
};

enum crystal_kind { CRYSTAL_TRUE, CRYSTAL_BENT, CRYSTAL_RANDOM, CRYSTAL_WITH_PROMPT, CRYSTAL_PILED };

/* A coincidence: end 1 has the smaller crystal. */
struct crystal_event {
	uint64_t decay;
	uint32_t crystal[2];
	float dt_ps, kev[2], at[3], z[2]; /* at: of the decay; z: of the largest deposit of each end: mm */
	uint8_t kind, object_compton, object_rayleigh, crystal_compton;
	uint8_t first; /* bit k: end k has the crystal of its first deposit */
	uint8_t photons[2], spare;
};

struct crystal_scan {
	struct crystal_world w;
	struct crystal_source source;
	struct pulse_map map;
	struct pulse_blur blur;
	const struct iso_modules *modules; /* of the device */
	double window[2], trigger, prompt[2];
	bool lazy; /* a decay whose first photon leaves nothing has no pair */
};

/* The photons of a decay through everything. */
ISO_HD int crystal_decay(struct crystal_trace *t, struct crystal_photon p[3], const struct crystal_scan *s,
                         uint64_t history, bool lazy)
{
	int n = source_photons(p, &s->source, s->w.seed, history);

	crystal_begin(t, history);
	for (int k = 0; k < n; k++) {
		if (lazy && k == 1 && t->n == 0) break;
		crystal_follow(t, &s->w, p + k, k);
	}
	return n;
}

ISO_HD void crystal_count_photons(uint32_t *count, const struct crystal_trace *t, int n)
{
	count[CRYSTAL_MET] += (t->met & 1) + (t->met >> 1 & 1);
	count[CRYSTAL_INTERACTED] += (t->hit & 1) + (t->hit >> 1 & 1);
	for (int k = 0; k < n; k++) {
		count[CRYSTAL_FATE_LEFT] += t->fate[k] == CRYSTAL_LEFT;
		count[CRYSTAL_FATE_CRYSTAL] += t->fate[k] == CRYSTAL_IN_CRYSTAL;
		count[CRYSTAL_FATE_PASSIVE] += t->fate[k] == CRYSTAL_IN_PASSIVE;
		count[CRYSTAL_FATE_OBJECT] += t->fate[k] == CRYSTAL_IN_OBJECT;
		count[CRYSTAL_FULL] += t->full >> k & 1;
	}
}

/* The singles of a decay; the first two are kept. Returns how many there are. */
ISO_HD int crystal_singles(struct pulse single[2], uint32_t *count, const struct crystal_scan *s,
                           const struct crystal_trace *t)
{
	struct pulse p[CRYSTAL_MOST];
	int n = pulses_of_decay(p, t->d, t->n, &s->map), found = 0;

	for (int k = 0; k < n; k++) {
		pulse_blur(p + k, &s->blur);
		if (p[k].kev < s->trigger) continue;
		if (!(p[k].kev >= s->window[0] && p[k].kev < s->window[1])) {
			count[CRYSTAL_OUTSIDE]++;
			continue;
		}
		if (p[k].kev >= s->prompt[0] && p[k].kev < s->prompt[1]) continue;
		count[CRYSTAL_SINGLES]++;
		count[CRYSTAL_SEVERAL] += p[k].crystals > 1;
		count[CRYSTAL_NOT_FIRST] += !p[k].first;
		if (found < 2) single[found] = p[k];
		found++;
	}
	return found;
}

/* Place along z of the largest deposit in a crystal. */
ISO_HD float crystal_z(const struct crystal_trace *t, uint32_t crystal)
{
	float most = -1, z = 0;

	for (int k = 0; k < t->n; k++)
		if (t->d[k].crystal == crystal && t->d[k].kev > most) {
			most = t->d[k].kev;
			z = t->z[k];
		}
	return z;
}

ISO_HD bool crystal_pair(struct crystal_event *e, uint32_t *count, const struct crystal_scan *s,
                         const struct crystal_trace *t, const struct pulse single[2], const float at[3])
{
	int one = single[0].crystal > single[1].crystal;
	const struct pulse *a = single + one, *b = single + 1 - one;
	uint8_t prompt = (a->photons | b->photons) >> 2;

	if (!modules_good(s->modules, (int32_t)a->crystal, (int32_t)b->crystal)) {
		struct modules_place p, q;

		modules_place(&p, s->modules, (int32_t)a->crystal);
		modules_place(&q, s->modules, (int32_t)b->crystal);
		count[p.module == q.module ? CRYSTAL_ONE_MODULE : CRYSTAL_TOO_NEAR]++;
		return false;
	}
	e->decay = a->decay;
	e->crystal[0] = a->crystal;
	e->crystal[1] = b->crystal;
	e->dt_ps = (float)((double)(a->time - b->time) * (1 / DEPOSIT_TICKS));
	e->kev[0] = (float)a->kev;
	e->kev[1] = (float)b->kev;
	e->z[0] = crystal_z(t, a->crystal);
	e->z[1] = crystal_z(t, b->crystal);
	for (int k = 0; k < 3; k++) e->at[k] = at[k];
	e->object_compton = pulse_cap(a->object_compton + b->object_compton);
	e->object_rayleigh = pulse_cap(a->object_rayleigh + b->object_rayleigh);
	e->crystal_compton = pulse_cap(a->crystal_compton + b->crystal_compton);
	e->first = (uint8_t)(a->first | b->first << 1);
	e->photons[0] = a->photons;
	e->photons[1] = b->photons;
	e->spare = 0;
	e->kind = prompt ? CRYSTAL_WITH_PROMPT : e->object_compton ? CRYSTAL_BENT : CRYSTAL_TRUE;
	if (prompt) {
		count[CRYSTAL_PROMPT]++;
		return true;
	}
	int order = e->object_compton < 4 ? e->object_compton : 4;

	count[CRYSTAL_PAIRS]++;
	for (int k = 0; k < 5; k++) count[CRYSTAL_ORDERS + k] += k == order;
	count[CRYSTAL_SCATTERED] += order > 0;
	count[CRYSTAL_RAYLEIGH] += order == 0 && e->object_rayleigh > 0;
	count[CRYSTAL_PAIR_SEVERAL] += a->crystals > 1 || b->crystals > 1;
	count[CRYSTAL_PAIR_NOT_FIRST] += e->first != 3;
	return true;
}

/* A photon of a beam that left energy: photons[0]: how many singles; of the first of them the crystal, the energy with
   and without blur, and photons[1]: how many crystals; dt_ps: depth of the first deposit. */
ISO_HD void crystal_record(struct crystal_event *e, const struct crystal_scan *s,
                           const struct crystal_trace *t, const struct pulse *single,
                           const struct crystal_photon *p, int found)
{
	struct crystal_event made = ISO_ZERO;

	made.decay = t->history;
	made.dt_ps = t->depth;
	made.photons[0] = (uint8_t)found;
	for (int k = 0; k < 3; k++) made.at[k] = p->at[k];
	if (found > 0) {
		made.crystal[0] = made.crystal[1] = single->crystal;
		made.kev[0] = (float)single->kev;
		for (int k = 0; k < t->n; k++)
			if (s->map.unit[t->d[k].crystal] == single->unit) made.kev[1] += t->d[k].kev;
		made.first = single->first;
		made.crystal_compton = single->crystal_compton;
		made.photons[1] = single->crystals;
	}
	*e = made;
}

/* Of a lazy scan: whether decay number `history` may have a coincidence, by its first photon: in air by whether it meets a
   module at all, else by whether it leaves energy. */
ISO_HD bool crystal_may(const struct crystal_scan *s, uint64_t history)
{
	struct crystal_photon p[3];
	struct crystal_trace t;
	struct crystal_entry e;

	source_photons(p, &s->source, s->w.seed, history);
	if (!s->w.object.cell) return crystal_next(&e, &s->w, p[0].at, p[0].dir, -1);
	crystal_begin(&t, history);
	crystal_follow(&t, &s->w, p, 0);
	return t.n > 0;
}

/* Decay number `history`. true: it has a coincidence. count (CRYSTAL_COUNTS) is added to. */
ISO_HD bool crystal_run(struct crystal_event *e, uint32_t *count, const struct crystal_scan *s,
                        uint64_t history)
{
	struct crystal_photon p[3];
	struct crystal_trace t;
	struct pulse single[2];
	int n = crystal_decay(&t, p, s, history, s->lazy), found;

	crystal_count_photons(count, &t, n);
	if (t.n == 0) return false;
	found = crystal_singles(single, count, s, &t);
	if (s->source.beam_kev > 0) {
		crystal_record(e, s, &t, single, p, found);
		return true;
	}
	count[CRYSTAL_MANY] += found > 2;
	return found == 2 && crystal_pair(e, count, s, &t, single, p[0].at);
}

#endif
