/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Bialas et al. 2015, "GPU accelerated image reconstruction in a two-strip J-PET
   tomograph", measured with Isotome: Figure 3 (the phantom, reconstructed), the benchmark of
   section 5, and, which the paper does not have, how close each kernel is to simulated events. */
#ifndef ISO_BIALAS_H
#define ISO_BIALAS_H

#include "papers/reproduce.h"

enum {
	BIALAS_SHOWN = 4,   /* images of a form: after 1, 5, 10, 25 iterations */
	BIALAS_FORMS = 2,   /* raw eq7, the paper's; ml with the kernel tan */
	BIALAS_KERNELS = 3, /* of the benchmark */
	BIALAS_WAYS = 4,    /* CPU, and on CUDA thread, warp, fast */
	BIALAS_MODELS = 4,  /* kernels held against simulation: tan also with the ends */
	BIALAS_POINTS = 5,
};

struct bialas_scale {
	const char *name;
	double events, bench_events, point_events;
	int repeats;
};

struct bialas_picture {
	struct iso_pixels pixels;
	double nrmse; /* against the phantom (raw: times s), where it has activity */
};

struct bialas_form {
	const char *name, *what;
	struct bialas_picture image[BIALAS_SHOWN];
	double seconds; /* of an iteration */
};

/* Emissions from one point: half the sum over bins of |share of events - share predicted|. */
struct bialas_point {
	double y, z;
	double all[BIALAS_MODELS], interior[BIALAS_MODELS]; /* interior: per event there */
	double noise_all, noise_interior;                   /* expected of a model that is exact */
};

struct bialas {
	struct cmd *c;
	const struct bialas_scale *scale;
	struct reproduce_devices devices;
	struct iso_strip strip; /* the paper's set-up, kernel eq7 */
	struct iso_pixels phantom, direct;
	double direct_nrmse;
	struct bialas_form form[BIALAS_FORMS];
	double bench_s[BIALAS_KERNELS][BIALAS_WAYS]; /* NAN: no such device */
	double pixels;                               /* of an event, mean */
	struct bialas_point point[BIALAS_POINTS];
};

extern const int bialas_shown[BIALAS_SHOWN]; /* iterations */
extern const char *const bialas_models[BIALAS_MODELS];

int bialas_figure(struct bialas *b);  /* Figure 3; writes images into the current folder */
int bialas_bench(struct bialas *b);   /* section 5 */
int bialas_kernels(struct bialas *b); /* kernels against simulation */
int bialas_page(struct iso_text *t, const struct bialas *b);
int bialas_record(const struct bialas *b);

#endif
