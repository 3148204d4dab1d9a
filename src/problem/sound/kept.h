/* SPDX-License-Identifier: BSD-3-Clause */
/* Images that are appended to a .npy file (images, nz, ny, nx) of float32 as they come. Its head has a fixed length and is
   written again behind every image: a run that is killed leaves a file that reads. */
#ifndef ISO_KEPT_H
#define ISO_KEPT_H

#include "problem/record/record.h"

struct kept;

/* The file is made with the first image. */
int kept_create(struct kept **k, const char *path, const struct iso_grid *g);
int kept_add(struct kept *k, const iso_real *images, int n);
int kept_record(const struct kept *k, struct record *r); /* beside the file, as it is now */
void kept_free(struct kept *k);

#endif
