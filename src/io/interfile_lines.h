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

#endif
