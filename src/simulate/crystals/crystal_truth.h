/* SPDX-License-Identifier: BSD-3-Clause */
/* What the events of a scan of crystals are, as records of a .npy file that grows. */
#ifndef ISO_CRYSTAL_TRUTH_H
#define ISO_CRYSTAL_TRUTH_H

#include "crystal_scan.h"
#include "file/out.h"

struct iso_crystal_truth {
	struct iso_out out;
	int64_t n;
	bool open;
};

int iso_crystal_truth_open(struct iso_crystal_truth *t, const char *path);

/* An iso_crystal_truth_fn, whose argument is a struct iso_crystal_truth. */
int iso_crystal_truth_add(void *truth, const struct crystal_event *e, int64_t n);

/* The file appears whole, or not at all. */
int iso_crystal_truth_close(struct iso_crystal_truth *t);
void iso_crystal_truth_free(struct iso_crystal_truth *t);

#endif
