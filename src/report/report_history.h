/* SPDX-License-Identifier: BSD-3-Clause */
/* How an image was made: the record beside it, and those beside what it was made from. */
#ifndef ISO_HISTORY_H
#define ISO_HISTORY_H

#include "core/status.h"

#include <jansson.h>

#define ISO_MOST_STEPS 32

struct iso_step {
	char *file;     /* the output that the record lies beside */
	json_t *record; /* an object with a "verb"; all else in it may be anything */
	int order;      /* of the files: those it was made from come before it */
};

struct iso_history {
	int n;
	struct iso_step step[ISO_MOST_STEPS]; /* the oldest first, the image's own last */
	char problem[512]; /* why the image's own record could not be used; "" if it could, or
				   if there is none */
};

/* Never fails for what it finds: no record and a damaged one give no steps. ISO_ENOMEM alone. */
int iso_history_read(struct iso_history *h, const char *path);
void iso_history_free(struct iso_history *h);

/* The record of the image itself, and of its last reconstruction; NULL if there is none. */
const json_t *iso_history_own(const struct iso_history *h);
const json_t *iso_history_recon(const struct iso_history *h);

#endif
