/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation of a ring from a scan of a known source: efficiencies of crystals and factors of pairs, by maximum
   likelihood, with an error of each. Two panels have iso_panel_norm (isotome/panels.h). Lengths are mm.

   The expected counts of crystals a and b are
     eps_a eps_b t_k z_l q + r,   q = alpha W (A f) + h,
   t is the transaxial factor of the pair's class k, z the axial factor of its two rings, alpha the attenuation of the line. W
   is the weight `solid-angle`, A f the line integral of the source, h its scatter (isotome/scatter.h), 0 if none is asked
   for, and r the randoms. The product m = eps_a eps_b t_k z_l multiplies expected counts, here and in reconstruction.

   Threads: a norm is not written after it was made; any number of threads may use it. */
#ifndef ISOTOME_NORM_H
#define ISOTOME_NORM_H

#include "isotome/array.h"
#include "isotome/events.h"
#include "isotome/memory.h"
#include "isotome/scatter.h"

ISO_BEGIN_C

typedef struct iso_norm iso_norm;

/* One scan of a source. */
struct iso_norm_scan {
	size_t size;                     /* size of this struct */
	const struct iso_events *events; /* crystals, or ends that lie near crystals; NULL: */
	const iso_event_file *file;      /* read piece by piece */
	const char *shape; /* cylinder:X,Y,Z,R,LENGTH[,AXIS], plane:X,Y,Z,WIDTH,HEIGHT,THICK,ANGLE or
					   orbit:RADIUS,ROD_RADIUS,LENGTH, of one count per mm; NULL: */
	const struct iso_array *image; /* counts/mm, with a grid */
	const struct iso_array *mu;    /* attenuation, 1/mm, on a grid of its own; NULL: none */
	const double *rate; /* randoms of a pair are rate[a] rate[b] (isotome/physics.h); NULL: none */
	double factor;      /* multiplies the source that shape or image tell: decay, live time; 0: 1 */
	/* How the scatter of the source is estimated; its scanner, image, map and time of flight are those of the scan, which
	   needs `mu`. It is estimated again where the place that was found is another and more than 5 % is scatter. NULL:
	   none. */
	const struct iso_scatter *scatter;
};

enum {
	ISO_NORM_CRYSTAL = 1,
	ISO_NORM_TRANSAXIAL = 2,
	ISO_NORM_AXIAL = 4,
};

struct iso_norm_fit {
	size_t size; /* size of this struct */
	const iso_scanner *scanner;
	const struct iso_norm_scan *scan;
	int scans;              /* one likelihood of all: common eps, t, z; each its own place and scale */
	int components;         /* ISO_NORM_..., added; the first is always there */
	bool no_mirror;         /* classes of t are not joined with their mirror images */
	bool relative;          /* eps are divided by their mean over living crystals */
	bool place_given;       /* the source lies at its given place; else the place is fitted, */
	double place_sd_mm;     /* with a Gaussian prior of this width, mm; 0: 3 */
	int rays;               /* lines of a pair; 0: 5 */
	const iso_real *mask;   /* 0 leaves a crystal out; NULL: none */
	double tolerance;       /* of the logarithms; 0: 1e-3 of the least error */
	double pair_share;      /* this share of the pairs is looked at, chosen by a hash; 0: all of them */
	const char *checkpoint; /* a file written after each step of the fit; NULL: none */
	uint64_t key; /* anything that tells this run from others: a checkpoint of another key, or of other
					 events or options, is refused */
	bool resume;  /* from the checkpoint, if there is one */
	/* For short memory: expected counts are made again in every pass over the pairs, and the counts of a pair are a byte, so
	   at most 255. One scan of a shape without attenuation, at a place that is given, on the CPU. The same bits. */
	bool no_tables;
};

enum { ISO_NORM_HARMONICS = 6 };

/* What the fit found besides factors. */
struct iso_norm_found {
	size_t size;               /* size of this struct, set by the caller */
	double counts, randoms;    /* on pairs that were used, and randoms that are expected among them */
	double all_counts, astray; /* of the files; on no pair of the scanner */
	double edges;  /* counts on pairs that are left out: the source misses some of their lines */
	double loglik; /* without ln y! */
	int steps, products;
	int64_t pairs, parameters; /* used, fitted */
	int64_t dead, weak, unreached_t, unreached_z, zero_t, zero_z, parts;
	bool exact;     /* errors are those of the inverse of the Fisher information; else of its diagonal */
	double mean_sd; /* mean of the errors of ln eps of living crystals */
	double place_mm[4],
		place_sd[4]; /* how far the first source lies from its given place: x, y in mm, two tilts in rad */
	int places;          /* how many of these were fitted */
	double gain
		[ISO_NORM_HARMONICS]; /* variance of harmonic m round the ring over that of as many crystals by themselves */
	double error[ISO_NORM_HARMONICS];    /* standard error of its amplitude */
	int harmonics;                       /* how many of them; 0: no rings */
	double chi2, chi2_expected, chi2_sd; /* mean of (y - ybar)^2/ybar; 0, 0, 0: too few counts */
	double worst_class; /* largest deviation of a class's counts that has no factor, in sd; 0: all have */
	double scattered;   /* expected among the counts that were used */
	int resumed_from;   /* steps that the checkpoint had, of those above */
	/* With place_given: how far in x and y the source rather lies from its given place, and the errors, by a share of the
	   pairs. off_scan: the scan, from 0, whose source is off by most errors. off_sd 0: nothing was looked at. */
	double off_mm[2], off_sd[2];
	int off_scan;
};

/* Fits the factors of one or several scans, all at once. found: NULL if it is not wanted. */
ISO_CHECKED int iso_norm_make(iso_norm **norm, struct iso_norm_found *found, iso_ctx *ctx,
                              const struct iso_norm_fit *p);
void iso_norm_free(iso_norm *norm); /* and its factors */
/* The memory that it takes. */
void iso_norm_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_norm_fit *p);

/* eps of each crystal, and the errors of ln eps; 0: dead. Valid as long as the norm. */
int64_t iso_norm_crystals(const iso_norm *norm);
const double *iso_norm_efficiency(const iso_norm *norm);
const double *iso_norm_sd(const iso_norm *norm);

/* t and z: factors, their classes' keys, and how many; 0: not in the model. */
int64_t iso_norm_transaxial(const double **factor, const int64_t **key, const iso_norm *norm);
int64_t iso_norm_axial(const double **factor, const int64_t **key, const iso_norm *norm);

/* m of two crystals. */
double iso_norm_pair(const iso_norm *norm, int64_t a, int64_t b);
/* Its efficiencies and its factors of pairs, for a simulation or a file of events; valid as long as the norm. */
struct iso_pair_factors iso_norm_factors(const iso_norm *norm);

/* NAME.norm.json, with NAME.crystals.npy and NAME.sd.npy beside it. Factors of pairs are in NAME.transaxial.npy and
   NAME.axial.npy. `record`: a JSON object whose keys the file gets too, or NULL. */
ISO_CHECKED int iso_norm_write(const char *path, const iso_norm *norm, const char *record, bool force);

/* NAME.Cdh and NAME.Cdf, a normalisation file of CASToR: a line for each pair of the scanner with m > 0, of factor 1/m. */
ISO_CHECKED int iso_norm_write_castor(const char *path, const iso_norm *norm, const iso_scanner *s,
                                      bool force);

/* ISO_EINPUT if it is no norm, or one of another scanner: another number of crystals, or one of 64 of them more than 0.1 mm
   off. */
ISO_CHECKED int iso_norm_read(iso_norm **norm, const char *path, const iso_scanner *s);
bool iso_norm_is(const char *path); /* by its name */

ISO_END_C
#endif
