/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of options by which events are read. */
#include "events.h"

const char *const iso_bins_words[] = { "counts", "line-integrals", NULL };
const char *const iso_negative_words[] = { "clip", "keep", "refuse", NULL };
