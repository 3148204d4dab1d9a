/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Bialas et al. 2015, "GPU accelerated image reconstruction in a two-strip J-PET
   tomograph", measured with Isotome: Figure 3 (the phantom, reconstructed), the benchmark of
   section 5, and, which the paper does not have, how close each kernel is to simulated events. */
#ifndef ISO_BIALAS_H
#define ISO_BIALAS_H

#include "papers/study/study.h"

struct bialas {
	struct study s;
	struct iso_strip strip; /* the paper's set-up, kernel eq7 */
};

int bialas_figure(struct bialas *b, int64_t events);  /* Figure 3; writes images into the current folder */
int bialas_kernels(struct bialas *b, int64_t events); /* kernels against simulation */

/* Events of a phantom on these strips; *v is made. */
int bialas_events(struct iso_strip_events *e, const struct bialas *b, const iso_phantom *phantom,
                  uint64_t seed, int64_t n);

#endif
