/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans of crystals at a given activity: options. */
#ifndef ISO_SIMULATE_RATES_H
#define ISO_SIMULATE_RATES_H

#include "cmd/cmd.h"

struct simulate_rates {
	double activity_bq, dead_ns, pileup_ns, coincidence_ns, delay_ns, trigger_kev, single_fwhm_ps,
		prompt_kev[2];
	const char *dead, *multiples, *sorter, *range_table, *singles_list, *triples, *hits;
	bool range;
};

enum { SIMULATE_RATES_OPTIONS = 17 };

void simulate_rates_options(struct opt o[SIMULATE_RATES_OPTIONS], struct simulate_rates *s);

#endif
