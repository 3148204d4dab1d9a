/* SPDX-License-Identifier: BSD-3-Clause */
/* Sinograms by single-slice rebinning (Daube-Witherspoon and Muehllehner 1987): a line of two crystals counts in the slice
   of the mean of their heights, at its angle and its distance from the axis. */
#ifndef ISO_SSRB_H
#define ISO_SSRB_H

#include "core/ctx.h"

#include "isotome/events.h"

/* Cell i of the angle lies about phi_i = (i + turn) pi / angles; bin k of the distance about
   s_k = (k - (bins - 1) / 2) bin_mm; slice j about z = (first + j) pitch_mm / 2. */
struct ssrb {
	int64_t slices, angles, bins; /* bins is odd */
	int64_t first;
	double bin_mm, pitch_mm; /* pitch: of rings, two slices */
	double turn;
};

/* What the scanner does not say, or what is to be otherwise; 0: as the scanner says. */
struct ssrb_choice {
	int64_t angles;
	double bin_mm, pitch_mm;
	double length_mm; /* slices farther from the middle than half of this are left out */
};

/* Angles: n / 2 of a ring of n crystals; bins of pi R / n; slices half a ring's pitch apart. `turn` is 0.75, so that no
   line of two crystals lies on the edge of a cell, which is 0.5 wide on both sides: their angles are (c1 + c2 + 1) pi / n. */
int iso_ssrb_of(struct ssrb *g, const iso_scanner *s, const struct ssrb_choice *c);

int64_t iso_ssrb_cells(const struct ssrb *g);
double iso_ssrb_s(const struct ssrb *g, int64_t bin);     /* mm */
double iso_ssrb_phi(const struct ssrb *g, int64_t angle); /* rad */
double iso_ssrb_z(const struct ssrb *g, int64_t slice);   /* mm */

/* Place of a line in (slices, angles, bins); -1: none, as it lies outside or along the axis. */
int64_t iso_ssrb_cell(const struct ssrb *g, const double p1[3], const double p2[3]);

/* Events of a file, all of them or those from_s <= t < to_s. */
struct ssrb_file {
	const char *path;
	struct iso_events_options read;
	bool timed;
	double from_s, to_s;
};

struct ssrb_told {
	int64_t used, outside, bad, untimed; /* counts: in a cell, in none, unusable; outside the frame */
	double tof_fwhm_ps, tof_bin_ps;
	bool has_dt;
};

/* Blocks of the file one after the other; `block` may keep nothing of them. */
int iso_ssrb_each(const struct ssrb_file *f, int (*block)(void *arg, const struct iso_events *e), void *arg);

/* Whether event j belongs to the frame. ISO_EINPUT is for the caller, where events have no times. */
bool iso_ssrb_in_frame(const struct ssrb_file *f, const struct iso_events *e, int64_t j);

/* cells += sign x counts of events in memory; adds to *told. */
int iso_ssrb_add(int32_t *cells, struct ssrb_told *told, const struct ssrb *g, const struct iso_events *e,
                 const struct ssrb_file *f, int sign);

/* cells += sign x counts of the file, whole numbers: the same bits for any number of threads. */
int iso_ssrb_count(int32_t *cells, struct ssrb_told *told, const struct ssrb *g, const struct ssrb_file *f,
                   int sign);

#endif
