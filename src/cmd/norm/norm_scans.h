/* SPDX-License-Identifier: BSD-3-Clause */
/* The scans of isotome norm of a ring: lists of files and sources, and what they hold. */
#ifndef ISO_NORM_SCANS_H
#define ISO_NORM_SCANS_H

#include "norm_ring.h"

#include "isotome/norm.h"

#include <limits.h>

enum { NORM_SCANS = 64 };

/* The words of one scan; "": not given. */
struct norm_words {
	char events[PATH_MAX], source[PATH_MAX], mu[PATH_MAX], delayed[PATH_MAX], singles[PATH_MAX];
};

struct norm_inputs {
	struct norm_words *words; /* of each scan */
	struct iso_norm_scan *scan;
	struct norm_files *files; /* what they hold */
	int scans;
	iso_scanner *scanner;
	struct iso_array mask;
	struct iso_scatter scatter;
	double duration_s; /* of all scans together; 0: not known */
	bool in_pieces;    /* events are not read whole */
};

/* Whether `source` names a shape; else an image. */
bool norm_is_shape(const char *source);

/* The words of each scan: as many files as sources, and of the other lists as many or one for all. */
int norm_scans_split(struct norm_inputs *in, const struct norm_ring *s);

/* Bytes of the events that files hold, as they are in memory; 0: not known. Whether all files can be read in pieces. */
int64_t norm_scans_bytes(const struct norm_inputs *in, const struct norm_ring *s);
bool norm_scans_in_pieces(const struct norm_inputs *in);

/* What the words name, into in->scan. */
int norm_scans_read(struct cmd *c, struct norm_inputs *in, const struct norm_ring *s);
void norm_scans_free(struct norm_inputs *in);

#endif
