/* SPDX-License-Identifier: BSD-3-Clause */
/* Dead time of a scanner from a decaying source. Rates are 1/s: n is what would be counted without dead time, m what is
   counted,
     non-paralysable  m = n/(1 + n tau)        paralysable  m = n exp(-n tau)        n(t) = n0 exp(-k t) + b. */
#ifndef ISOTOME_RATES_H
#define ISOTOME_RATES_H

#include "isotome/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

ISO_BEGIN_C

enum iso_dead_time { ISO_NONPARALYSABLE, ISO_PARALYSABLE, ISO_DEAD_TIMES };

/* Mean of m over from_s <= t <= to_s; NaN if a number is negative or the times are not in order. A half-life of 0: no
   decay. */
double iso_rates_mean(enum iso_dead_time model, double n0, double tau_s, double b, double half_life_s,
                      double from_s, double to_s);

/* Counts of frames. All arrays are borrowed. */
struct iso_rates_series {
	size_t size; /* size of this struct */
	int64_t n;
	const double *start_s, *length_s, *counts;
	const double *
		randoms; /* delayed coincidences of each frame, whose randoms are among the counts; NULL: none */
	double half_life_s;
	bool background; /* also fit b, which does not decay; else it is 0 */
};

struct iso_rates_fit {
	double n0, tau_s, b;          /* 1/s at t = 0, s, 1/s */
	double n0_sd, tau_sd_s, b_sd; /* errors; upper bounds, as counts of a dead system scatter less */
	double deviance;              /* of counts that are Poisson; with randoms: sum of (N - E)^2/v */
	double highest_n_tau;         /* over the frames */
};

struct iso_rates {
	size_t size;              /* size of this struct, set by the caller */
	enum iso_dead_time model; /* of the lesser deviance */
	struct iso_rates_fit fit[ISO_DEAD_TIMES];
	bool with_randoms;
	double half_life_s;
};

/* Both models, by maximum likelihood. With randoms, whose rate falls with 2 k and which share the dead time, N = counts -
   randoms is fitted. ISO_EINPUT if a frame has no counts besides randoms, or the frames do not tell the dead time. */
ISO_CHECKED int iso_rates_fit(struct iso_rates *r, const struct iso_rates_series *s);

/* Share of the events of a frame that are counted, from the rate that is counted in it: n(t) = n_1 exp(-k (t - from)), with
   n_1 on the lower branch so that its mean is `rate`. ISO_EINPUT if no n has that rate. */
ISO_CHECKED int iso_rates_live(double *live, enum iso_dead_time model, double tau_s, double half_life_s,
                               double from_s, double to_s, double rate);

/* JSON: `record` is the text of a JSON object whose keys come first, or NULL; singles: the fit of singles, or NULL. */
ISO_CHECKED int iso_rates_write(const char *path, const struct iso_rates *r, const struct iso_rates *singles,
                                const struct iso_rates_series *s, const char *record, bool force);
ISO_CHECKED int iso_rates_read(struct iso_rates *r, const char *path);

ISO_END_C
#endif
