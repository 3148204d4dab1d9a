/* SPDX-License-Identifier: BSD-3-Clause */
/* What a header of Interfile projection data says of their bins. */
#ifndef ISO_INTERFILE_LINES_H
#define ISO_INTERFILE_LINES_H

#include "text/interfile.h"

enum { INTERFILE_SEGMENTS = 1024 };

/* In the order of the file: TOF bins are slowest, then segments, then views and axial positions in the order that the
   labels say, tangential positions fastest. */
struct interfile_bins {
	struct interfile_segment {
		int64_t first;       /* bin, of those of one TOF bin */
		int64_t planes;      /* axial positions */
		int64_t least, most; /* ring differences */
	} segment[INTERFILE_SEGMENTS];
	int64_t segments, views, tangential, tof_bins;
	int64_t each;   /* bins of one TOF bin */
	int64_t n;      /* of all */
	bool view_slow; /* segment, view, axial, tangential; else segment, axial, view, tangential */
};

int iso_interfile_bins(struct interfile_bins *b, const struct iso_interfile *h);

/* Whether two files have the same bins in the same order; but for TOF bins, of which `a` may have one alone. */
bool iso_interfile_bins_same(const struct interfile_bins *a, const struct interfile_bins *b);

/* The file of values, which must have just as many bytes as its header says; *slope: times what is stored. */
int iso_interfile_values_of(struct iso_interfile_data *d, double *slope, const struct interfile_bins *b,
                            const struct iso_interfile *h);

/* What the values of projection data are, from a look at them all; of more than 2^26, at rows here and there. */
struct interfile_survey {
	int64_t looked, negative; /* values */
	double sum, below;        /* of those above 0, and of those below, which is negative */
	bool whole;               /* all are whole numbers */
	double rough, rough_each; /* see iso_interfile_meaning */
	int64_t least, most;      /* crystal pairs of a bin */
};

/* pairs[plane]: crystal pairs of the bins of a plane, planes counted segment by segment. Values that are not finite are
   refused. */
int iso_interfile_survey(struct interfile_survey *s, const struct interfile_bins *b, const int64_t *pairs,
                         const struct iso_interfile_data *d, double slope);

/* The one rule of what values are. Whole numbers are counts. Others are counts if the means of neighbouring planes
   follow each other more smoothly once each is divided by the number of its crystal pairs (rough_each, the sum of the
   second differences of their logarithms) than as they are (rough), and line integrals if it is the other way round. */
enum interfile_meaning {
	INTERFILE_COUNTS,
	INTERFILE_GROWING,   /* counts, though not whole numbers: they grow with the pairs */
	INTERFILE_INTEGRALS, /* line integrals: they do not */
	INTERFILE_UNCLEAR,   /* neither is seen */
};
enum interfile_meaning iso_interfile_meaning(const struct interfile_survey *s);

/* The one rule of values below 0: 0 is taken for them where their sum is at most this share of that of the others. */
#define INTERFILE_SMALL .01

#endif
