/* SPDX-License-Identifier: BSD-3-Clause */
/* The study of Bialas 2015: the set-up, and what the paper does not have. */
#ifndef ISO_BIALAS_H
#define ISO_BIALAS_H

#include "papers/study/study.h"

struct bialas {
	struct study s;
	struct iso_strip strip; /* the paper's set-up, kernel eq7 */
};

/* Events of a phantom, by name or file, on these strips; e->v is made. */
int bialas_events(struct iso_strip_events *e, const struct bialas *b, const char *phantom, uint64_t seed,
                  int64_t n);

int bialas_kernels(struct bialas *b, int64_t events); /* how close each kernel is to simulated events */

#endif
