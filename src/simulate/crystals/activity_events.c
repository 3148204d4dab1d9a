/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of singles as events, and records of what they are. */
#include "activity_events.h"
#include "core/size.h"
#include "core/status.h"

#include <stdlib.h>

#define TICKS_PER_MS 64000000000ll

const char iso_rates_truth_fields[] = "('decay1', '<u8'), ('decay2', '<u8'), ('kind', '|u1'), "
				      "('object_compton', '|u1'), ('object_rayleigh', '|u1'), "
				      "('crystal_scatter', '|u1'), ('first', '|u1'), ('energy1', '<f4'), "
				      "('energy2', '<f4'), ('emission', '<f4', (3,)), "
				      "('annihilation', '<f4', (3,))";
const char iso_rates_single_fields[] = "('ticks', '<i8'), ('decay', '<u8'), ('crystal', '<u4'), ('energy', "
				       "'<f4'), ('pulses', '|u1'), ('photons', '|u1'), "
				       "('object_compton', '|u1'), ('crystal_compton', '|u1')";
const char iso_rates_triple_fields[] =
	"('ticks', '<i8', (3,)), ('decay', '<u8', (3,)), ('crystal', '<u4', (3,)), ('energy', '<f4', (3,))";
const char iso_rates_hit_fields[] =
	"('decay', '<u8'), ('crystal', '<u4'), ('energy', '<f4'), ('ticks', '<i4'), ('photon', '|u1'), "
	"('object_compton', '|u1'), ('object_rayleigh', '|u1'), ('crystal_compton', '|u1')";

float (*iso_rates_places(const struct iso_modules *m))[3]
{
	int64_t n = modules_crystals(m);
	float(*place)[3] = size_alloc(n, sizeof *place);

	for (int64_t c = 0; place && c < n; c++) {
		double p[3];

		modules_point(p, m, (int32_t)c);
		for (int a = 0; a < 3; a++) place[c][a] = (float)p[a];
	}
	return place;
}

int iso_rates_events(struct iso_events *e, const struct iso_sorted_pairs *l, const struct pulse *single,
                     const float (*place)[3], int64_t delay)
{
	const struct iso_event_arrays wanted = { { true, true, false, false, false, true, false } };

	*e = (struct iso_events){ .n = l->n };
	if (!iso_event_arrays_make(e, l->n, wanted))
		return iso_fail_memory("simulate", l->n * iso_event_arrays_bytes(wanted));
	for (int64_t i = 0; i < l->n; i++) {
		const struct pulse *one = single + l->v[i].one, *two = single + l->v[i].two;
		int64_t early = one->time < two->time ? one->time : two->time;
		int64_t dt = one->time - two->time + (one->time < two->time ? delay : -delay);

		if (one->time == two->time) dt = 0;
		for (int a = 0; a < 3; a++) {
			e->v[i].p1[a] = place[one->crystal][a];
			e->v[i].p2[a] = place[two->crystal][a];
		}
		e->v[i].dt_ps = (float)((double)dt / DEPOSIT_TICKS);
		e->time_ms[i] = early > 0 ? (uint32_t)(early / TICKS_PER_MS) : 0;
		e->crystal[2 * i] = one->crystal;
		e->crystal[2 * i + 1] = two->crystal;
	}
	return ISO_OK;
}

void iso_rates_truth(struct rates_truth *t, const struct rates *r, const struct pulse *one,
                     const struct pulse *two)
{
	struct decay d;

	iso_rates_decay(&d, r, one->decay);
	*t = (struct rates_truth){
		.decay1 = one->decay,
		.decay2 = two->decay,
		.kind = (uint8_t)iso_rates_kind(one, two),
		.object_compton = pulse_cap(one->object_compton + two->object_compton),
		.object_rayleigh = pulse_cap(one->object_rayleigh + two->object_rayleigh),
		.crystal_scatter = pulse_cap(one->crystal_compton + two->crystal_compton),
		.first = (uint8_t)(one->first | two->first << 1),
		.energy1 = (float)one->kev,
		.energy2 = (float)two->kev,
	};
	memcpy(t->emission, d.at, sizeof d.at);
	memcpy(t->annihilation, d.end, sizeof d.end);
}

void iso_rates_single(struct rates_single *s, const struct pulse *p)
{
	*s = (struct rates_single){ p->time,   p->decay,   (uint32_t)p->crystal, (float)p->kev,
		                    p->pulses, p->photons, p->object_compton,    p->crystal_compton };
}
