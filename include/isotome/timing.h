/* SPDX-License-Identifier: BSD-3-Clause */
/* Time offsets and time resolution of crystals, from events of a source whose place is known. Times are ps: event j of
   crystals a and b has dt_j = t1 - t2 = 2 u/c + o_a - o_b + noise, o_a how late the stamps of crystal a are. The corrected
   time difference is dt_j - (o_a - o_b). */
#ifndef ISOTOME_TIMING_H
#define ISOTOME_TIMING_H

#include "isotome/array.h"
#include "isotome/context.h"
#include "isotome/events.h"
#include "isotome/scanner.h"

ISO_BEGIN_C

/* A stretch of a line: where it begins and ends, as 2 u/c with u the distance from the middle of the line towards
   its end 2, and how much activity is there, on any scale. */
struct iso_timing_piece {
	double lo_ps, hi_ps, weight;
};

enum { ISO_TIMING_PIECES = 64 }; /* most pieces of a line */

/* Events of known lines. All arrays are borrowed. */
struct iso_timing_data {
	size_t size; /* size of this struct */
	int64_t n, crystals;
	const uint32_t *crystal; /* (n, 2): ends 1 and 2 */
	const float *dt_ps;
	/* The source on each line from lo_ps to hi_ps, evenly. Or, if lo_ps is NULL, the pieces of event j: the function
	   returns how many there are, threads call it at the same time. */
	const float *lo_ps, *hi_ps;
	int (*pieces)(void *arg, struct iso_timing_piece piece[ISO_TIMING_PIECES], int64_t j);
	void *arg;
	const float
		*randoms; /* share of randoms on the line of each event, 0 to 1; NULL: `share` of them all */
};

struct iso_timing_options {
	size_t size;        /* size of this struct */
	double window_ps;   /* |t1 - t2| is at most this: randoms are even in it */
	double share;       /* share of randoms of all events, where data.randoms is NULL; 0: fitted too */
	double bin_ps;      /* times are centres of bins of this width; 0: not binned */
	double sigma_ps;    /* to begin with; 0: found from the events */
	bool per_crystal;   /* also a sigma of each crystal */
	bool least_squares; /* plain least squares alone, which randoms shrink by their share: the start */
};

struct iso_timing_info {
	size_t size; /* size of this struct, set by the caller */
	double sigma_ps, sigma_sd_ps;
	double share;   /* share of randoms, the mean of what was given, or fitted */
	double loglik;  /* sum of ln p over the events */
	int64_t parts;  /* of the graph of crystals and events: offsets of two parts can't be compared */
	int64_t unseen; /* crystals without events: offset 0 */
	int steps;
};

/* Maximum of the likelihood with randoms in it: (1 - rho) b(dt - (o_a - o_b)) + rho/(2 window), b the source on the line
   blurred by a Gaussian. offset_ps and sd_ps, its error, of each crystal, mean 0 in each part. crystal_sigma_ps, with
   per_crystal: the variance of an event is the sum of those of its two crystals; may be NULL otherwise. The same bits
   for any number of threads. */
ISO_CHECKED int iso_timing_fit(double *offset_ps, double *sd_ps, double *crystal_sigma_ps,
                               struct iso_timing_info *info, iso_ctx *ctx, const struct iso_timing_data *data,
                               const struct iso_timing_options *options);

/* ---- offsets of a scanner, and their file ---- */

typedef struct iso_times iso_times;

/* A scan of a known source. */
struct iso_timing_scan {
	size_t size; /* size of this struct */
	const iso_scanner *scanner;
	const struct iso_events *events; /* with crystals (iso_events_crystals) */
	const char *source; /* a shape: "cylinder:X,Y,Z,R,LENGTH[,AXIS]", "plane:...", "orbit:..." */
	const struct iso_array *image; /* in place of the shape */
	/* The expected randoms of a pair are rate[a] x rate[b] (iso_randoms_from_delayed), so many in all; with them the share
	   of randoms of each line is found. NULL: one share of all, see the options. */
	const double *rate;
	double randoms;
	const iso_real *eff;        /* efficiencies of crystals, for that share; NULL: 1 */
	const struct iso_array *mu; /* attenuation, for that share; NULL: none */
};

struct iso_timing_scan_info {
	size_t size;    /* size of this struct, set by the caller */
	int64_t used;   /* events whose lines meet the source */
	int64_t beside; /* events whose lines miss the source: they are left out */
	double window_ps;
	struct iso_timing_info fit;
};

/* iso_timing_fit of the events. window_ps 0: the scanner's coincidence window. */
ISO_CHECKED int iso_times_fit(iso_times **times, struct iso_timing_scan_info *info, iso_ctx *ctx,
                              const struct iso_timing_scan *scan, const struct iso_timing_options *options);

/* Offsets, their errors and the FWHM of two crystals, all in ps, as arrays of the scanner's crystals; crystal_sigma_ps may be
   NULL: one sigma for all. Copies them. */
ISO_CHECKED int iso_times_create(iso_times **times, const iso_scanner *scanner, const double *offset_ps,
                                 const double *sd_ps, const double *crystal_sigma_ps,
                                 const struct iso_timing_info *info);
void iso_times_free(iso_times *times);

/* JSON: `record` is the text of a JSON object whose keys come first, or NULL. ISO_EARG if the file stands there, unless
   `force`. */
ISO_CHECKED int iso_times_write(const char *path, const iso_times *times, const char *record, bool force);

/* ISO_EINPUT if the file is of another scanner: another number of crystals, or a crystal more than 0.1 mm away. A NULL scanner
   is not compared. */
ISO_CHECKED int iso_times_read(iso_times **times, const char *path, const iso_scanner *scanner);

int64_t iso_times_crystals(const iso_times *times);      /* how many */
const double *iso_times_offsets(const iso_times *times); /* ps */
const double *iso_times_sd(const iso_times *times);      /* errors of the offsets, ps */
const double *iso_times_sigma(const iso_times *times);   /* sigma of each crystal, ps; NULL: not fitted */
double iso_times_fwhm(const iso_times *times);           /* resolution of two crystals, ps */
double iso_times_fwhm_sd(const iso_times *times);        /* error of that resolution, ps */

/* dt_ps of events with crystals less o_1 - o_2; ISO_EARG if they have none, or one is not of the scanner. */
ISO_CHECKED int iso_times_correct(struct iso_events *e, const iso_times *times);

ISO_END_C
#endif
