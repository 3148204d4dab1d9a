/* SPDX-License-Identifier: BSD-3-Clause */
/* A history of a decay in an object that moves or changes its shape: attenuated in the object's axes, seen in the scanner's.
   What the devices share; every device has the same histories, bit by bit, as those of history_kern.h. */
#ifndef ISO_MOVING_KERN_H
#define ISO_MOVING_KERN_H

#include "history_kern.h"
#include "isotome/motion.h"

/* The object in a gate. Plain data; pointers are of the device that runs the histories. */
struct moving_state {
	struct iso_emission emission[2];
	struct iso_woodcock matter;
	double keep; /* activity over that of the gate with most */
};

struct moving_object {
	const struct moving_state *state; /* NULL: it keeps its shape, that of struct iso_histories */
	struct iso_woodcock fixed;        /* in lab axes */
};

/* Where the object is. */
struct moving_place {
	struct iso_pose z;  /* from the object's axes to those of the crystals' description */
	struct iso_pose bp; /* to the lab's, in which the gantry turns */
	int64_t state;      /* in which it is */
};

/* A place and two directions by a pose. */
ISO_HD void moving_photons(struct history_photons *to, const struct history_photons *from,
                           const struct iso_pose *p)
{
	*to = *from;
	for (int i = 0; i < 3; i++) {
		const double *r = p->m + 4 * i, *x = from->from;

		to->from[i] = r[0] * x[0] + r[1] * x[1] + r[2] * x[2] + r[3];
		for (int k = 0; k < 2; k++) {
			const double *d = from->dir[k];

			to->dir[k][i] = r[0] * d[0] + r[1] * d[1] + r[2] * d[2];
		}
	}
}

/* Whether both photons pass a map, by draws of their own. */
ISO_HD bool moving_pass(struct history_photons *p, const struct iso_woodcock *w, uint64_t seed,
                        enum iso_history_kind kind, uint64_t first, uint64_t second)
{
	if (!w->mu) return true;
	history_enter(p, w, kind);
	for (int i = 0; i < 2; i++) {
		const uint64_t draw = i ? second : first;

		if (!woodcock_passes(w, p->from, p->dir[i], p->box[i][0], p->box[i][1], seed, p->history,
		                     draw, philox_draw(seed, p->history, draw)))
			return false;
	}
	return true;
}

/* One history of a kind that is a decay. true: it has an event. */
ISO_HD bool moving_run(struct iso_hit *hit, const struct iso_histories *h, const struct moving_object *m,
                       const struct moving_place *at, enum iso_history_kind kind, uint64_t history)
{
	const uint64_t draw = history_draw(kind);
	const struct iso_emission *emission = &h->emission[kind];
	const struct iso_woodcock *matter = &h->mu;
	struct history_photons p, seen, lab;

	if (m->state) {
		const struct moving_state *s = m->state + at->state;
		struct philox thin = philox_draw(h->seed, history, draw + HISTORY_TIME);

		if (!((double)thin.w[2] * 0x1p-32 < s->keep)) return false;
		emission = &s->emission[kind];
		matter = &s->matter;
	}
	history_emit_of(&p, emission, h->seed, kind, history,
	                philox_draw(h->seed, history, draw + HISTORY_PLACE),
	                philox_draw(h->seed, history, draw + HISTORY_DIRECTION));
	moving_photons(&seen, &p, &at->z);
	if (!history_reaches(h, &seen, 0) || !history_reaches(h, &seen, 1)) return false;
	if (!moving_pass(&p, matter, h->seed, kind, history_paths(kind, 0), history_paths(kind, 1)))
		return false;
	if (m->fixed.mu) {
		moving_photons(&lab, &p, &at->bp);
		if (!moving_pass(&lab, &m->fixed, h->seed, kind, draw + HISTORY_FIXED_1,
		                 draw + HISTORY_FIXED_2))
			return false;
	}
	return history_detect(hit, h, &seen, kind);
}

#endif
