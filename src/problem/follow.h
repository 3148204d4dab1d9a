/* SPDX-License-Identifier: BSD-3-Clause */
/* What 'follow' of several models shares: when it ends, and when image and picture are written. */
#ifndef ISO_FOLLOW_H
#define ISO_FOLLOW_H

#include "problem.h"

struct following {
	double waited_s, idle_s; /* for data, since the last came; when that ends it, 0: never */
	double saved_s;          /* the last image was written, number `saved` */
	int64_t saved;
	bool asked;        /* to save, by the live page */
	const char *ended; /* NULL: goes on */
};

/* The names of image and picture, before data are read. */
int follow_check(iso_problem *problem);

/* Notes whether it has ended: on a signal, with the data, or because none came; both in words. */
void follow_look(struct following *f, const struct recon *r, bool end, const char *with_data,
                 const char *none_came);

/* Whether image and picture are to be written now, the image being number `n`; and once they were, with status st. */
bool follow_is_due(struct following *f, const struct recon *r, int64_t n);
int follow_saved(struct following *f, const struct recon *r, int st);
int follow_picture(const struct recon *r, const char *title);

#endif
