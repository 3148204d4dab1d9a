/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a PET-BIDS data set. */
#ifndef ISO_BIDS_H
#define ISO_BIDS_H

#include "isotome.h"

#include <limits.h>

/* ISO_EARG if a label is no word of letters and digits. */
int bids_check_labels(const struct iso_bids *p);

/* The name of the image, whose folders are made, with what describes the data set; `derived`: under its derivatives.
   ISO_EARG if the image is there and not to be replaced. */
int bids_place(char path[PATH_MAX], const struct iso_bids *p, bool derived);

#endif
