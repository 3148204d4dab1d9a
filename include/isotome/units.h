/* SPDX-License-Identifier: BSD-3-Clause */
/* Units of PET images: from counts per mm to Bq/ml and SUV (docs/units.md has the formulas).

   Clock times are texts: [YYYY-MM-DD]THH:MM[:SS[.sss]][Z|+HH:MM|-HH:MM], the date and the zone may be left out.

   Threads: any number at a time; a calibration is not written after it was made. */
#ifndef ISOTOME_UNITS_H
#define ISOTOME_UNITS_H

#include "isotome/array.h"

ISO_BEGIN_C

/* Seconds from one clock time to another, negative where the other is earlier. Where one of them has no date, the
   nearest of that clock time is meant: from 23:30 to 00:10 are 40 minutes. Two times of which one has a zone alone
   are refused. */
ISO_CHECKED int iso_seconds_between(double *seconds, const char *from, const char *to);

/* ---- standardised uptake values ---- */

struct iso_suv {
	size_t size; /* size of this struct */
	double weight_kg;
	double dose_mbq, residual_mbq; /* in the syringe before and after, both as of injected_at */
	const char *injected_at;
	const char *reference_at; /* to which the image is decay corrected: the start of the scan */
	double half_life_s;       /* 0: no decay */
};

/* SUV by body weight, in g/ml, of 1 Bq/ml. */
ISO_CHECKED int iso_suv_factor(double *factor, const struct iso_suv *p);

/* ---- calibrations ---- */

/* K of a scanner: A [Bq/ml] = K f / (T b), with f the image in counts/mm, T the length of the frame in s, b the
   branching fraction of the isotope. */
typedef struct iso_calibration iso_calibration;

struct iso_calibrate {
	size_t size;       /* size of this struct */
	const char *image; /* image of a uniform phantom, in counts/mm, with its record beside it */
	const char *roi;   /* as iso_roi_parse has it; or an image of the same grid: voxels that are not 0 */
	double concentration;   /* in the phantom, Bq/ml, above 0 */
	const char *at;         /* time of this concentration; NULL: the start of the scan */
	const char *started_at; /* the scan; NULL: 'started-at' of the record */
};

/* K = A T b / mean of f in the region; the standard error is that of the means of up to 8 slabs of the region.
   Length of the frame, isotope, scanner and options come from the record. */
ISO_CHECKED int iso_calibrate(iso_calibration **c, const struct iso_calibrate *p);

/* JSON. An existing file is replaced with `force` alone. */
ISO_CHECKED int iso_calibration_read(iso_calibration **c, const char *path);
ISO_CHECKED int iso_calibration_write(const char *path, const iso_calibration *c, bool force);
void iso_calibration_free(iso_calibration *c);

double iso_calibration_k(const iso_calibration *c);            /* K, see above */
double iso_calibration_error(const iso_calibration *c);        /* standard error of K; 0: not known */
const char *iso_calibration_scanner(const iso_calibration *c); /* its name; "": not said */

/* ---- PET-BIDS ---- */

/* A key that PET-BIDS asks of an image's sidecar and no record of a run has by itself. */
struct iso_bids_key {
	const char *key;  /* "TracerName" */
	const char *name; /* the same as a parameter: "tracer-name" */
	const char *help;
};

const struct iso_bids_key *iso_bids_key(int k); /* NULL beyond the last */

struct iso_bids {
	size_t size; /* size of this struct */
	const char
		*image; /* in Bq/mL, or in g/mL (SUV: goes under derivatives/), with its record beside it */
	const char *folder; /* folder of the data set; made, with its description, if it does not exist */
	/* labels of letters and digits: sub-, ses-, trc-, rec-, run-; NULL: none, but `subject` is required */
	const char *subject, *session, *tracer, *reconstruction, *run;
	const char *const *
		value; /* a text for each iso_bids_key, NULL where the record or `with` says it; NULL: none */
	const char *with; /* JSON file of further keys of the sidecar; NULL: none */
	bool force;       /* replace an existing image */
};

/* Image and sidecar as files of a PET-BIDS data set; the name of the image into `path`, `bytes` of room, cut to that.
   ISO_EARG that names all keys which are still missing. */
ISO_CHECKED int iso_bids_write(char *path, size_t bytes, const struct iso_bids *p);

ISO_END_C
#endif
