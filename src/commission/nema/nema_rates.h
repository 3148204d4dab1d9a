/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates of a phantom with a line source: scatter fraction and noise-equivalent counts (NECR), by acquisition. */
#ifndef ISO_NEMA_RATES_H
#define ISO_NEMA_RATES_H

#include "nema_strip.h"

/* An acquisition: slice[i] of its slices; activity: its mean over the duration. */
struct nema_acquisition {
	double duration_s, activity_mbq;
	bool low; /* one of those from which the scatter fraction is, where there are no delayeds */
	bool has_delayed;
	struct nema_slice *slice;
};

/* Counts a second, sums over slices; _err: standard deviations from counting statistics. */
struct nema_rates {
	double total, trues, randoms, scatter, sf, necr, necr2;
	double total_err, trues_err, randoms_err, scatter_err, sf_err, necr_err, necr2_err;
};

/* With delayeds: r[j] of each acquisition by itself. */
void iso_nema_rates_delayed(struct nema_rates *r, const struct nema_acquisition *a, int n, int64_t slices);

/* Without: the scatter fraction is that of the low acquisitions, slice by slice. */
void iso_nema_rates_plain(struct nema_rates *r, const struct nema_acquisition *a, int n, int64_t slices);

/* The top of a curve: parabola through its highest point and the neighbours; inside: it has two. */
struct nema_peak {
	double x, y;
	bool inside;
};

struct nema_peak iso_nema_peak(const double *x, const double *y, int n);

/* Value of the curve at x by straight lines between points, which may stand in any order; NaN outside. */
double iso_nema_at(const double *x, const double *y, int n, double at);

#endif
