/* SPDX-License-Identifier: BSD-3-Clause */
/* Decay of positron emitters, and randoms of crystal pairs. Times are s or ns as named. */
#ifndef ISOTOME_PHYSICS_H
#define ISOTOME_PHYSICS_H

#include "isotome/events.h"

ISO_BEGIN_C

/* Half-life of a positron emitter by name, such as F-18. */
ISO_CHECKED int iso_half_life(double *half_life_s, const char *isotope);
const char *iso_isotope(const char *isotope); /* "F-18" of f-18; NULL: not known */

/* Positrons a decay, above 0, at most 1. */
ISO_CHECKED int iso_branching(double *branching, const char *isotope);

/* Mean of exp(-ln 2 t / half_life) over from <= t <= to; a half-life of 0 stands for none: 1. */
double iso_decay_mean(double half_life_s, double from_s, double to_s);

/* Expected randoms of a pair of crystals a, b are rate[a] x rate[b] (rate: one value per crystal).
   From delayed coincidences, by maximum likelihood over the scanner's pairs (each fan sum is met);
   `bad` counts delayed coincidences that lie on no pair. */
ISO_CHECKED int iso_randoms_from_delayed(double *rate, int64_t *bad, iso_ctx *ctx, const iso_scanner *s,
                                         const struct iso_events *delayed);

/* From singles per crystal (counts over duration_s): 2 tau s_a s_b duration. */
ISO_CHECKED int iso_randoms_from_singles(double *rate, const iso_scanner *s, const iso_real *singles,
                                         double duration_s, double coincidence_ns);

ISO_END_C
#endif
