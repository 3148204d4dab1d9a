/* SPDX-License-Identifier: BSD-3-Clause */
/* Events, truth and singles of a scan at a given activity, in the forms that files hold. */
#ifndef ISO_ACTIVITY_EVENTS_H
#define ISO_ACTIVITY_EVENTS_H

#include "data/arrays.h"
#include "activity_scan.h"

/* Ends of the lines of all crystals, mm; to be freed. NULL: no memory. */
float (*iso_rates_places(const struct iso_modules *m))[3];

/* Pairs of singles as events with crystals and times; those of the delayed window with their delay (else 0) added to the
   earlier one's time. To be freed. */
int iso_rates_events(struct iso_events *e, const struct iso_sorted_pairs *l, const struct pulse *single,
                     const float (*place)[3], int64_t delay);

#pragma pack(push, 1)
/* What an event is. Places are of the decay of end 1. */
struct rates_truth {
	uint64_t decay1, decay2;
	uint8_t kind;                                             /* enum rates_kind */
	uint8_t object_compton, object_rayleigh, crystal_scatter; /* of both ends */
	uint8_t first; /* bit k: the crystal of end k is that of its first deposit */
	float energy1, energy2;
	float emission[3], annihilation[3];
};

/* A single. */
struct rates_single {
	int64_t ticks; /* of 1/64 ps, since the start of the scan */
	uint64_t decay;
	uint32_t crystal;
	float energy;
	uint8_t pulses, photons, object_compton, crystal_compton;
};

/* Three singles that came together. */
struct rates_triple {
	int64_t ticks[3];
	uint64_t decay[3];
	uint32_t crystal[3];
	float energy[3];
};

/* What a photon left in a crystal. */
struct rates_hit {
	uint64_t decay;
	uint32_t crystal;
	float energy;
	int32_t ticks; /* of 1/64 ps, since the decay */
	uint8_t photon, object_compton, object_rayleigh, crystal_compton;
};
#pragma pack(pop)

/* Fields of these records, for iso_npy_records_end. */
extern const char iso_rates_truth_fields[], iso_rates_single_fields[], iso_rates_triple_fields[],
	iso_rates_hit_fields[];

void iso_rates_truth(struct rates_truth *t, const struct rates *r, const struct pulse *one,
                     const struct pulse *two);
void iso_rates_single(struct rates_single *s, const struct pulse *p);

#endif
