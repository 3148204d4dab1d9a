/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of primal-dual hybrid gradients: pdhg.c has its steps and looks, pdhg_start.c makes it. */
#ifndef ISO_PDHG_STATE_H
#define ISO_PDHG_STATE_H

#include "loop.h"
#include "pdhg_kern.h"

struct iso_pdhg_state {
	struct iso_loop l;
	struct iso_pdhg p;
	struct pdhg c;              /* its arrays are on the device; c.x is l.x */
	bool moved;                 /* x and w of the step under way are made */
	bool due;                   /* a look, before the next step */
	struct iso_pdhg_look *look; /* iterations + 1 of them */
	int64_t n_looks, unseen;
	double counts, lost; /* used, skipped; counts of least squares is |y|^2 */
	double extra;        /* passes besides those of the steps */
	int64_t counter[4];  /* for checkpoints */
	double scalar[3];
};

extern const struct iso_loop_fn iso_pdhg_fn;

/* Checks, takes memory and copies the caller's arrays; *out is made also where it then fails. */
int iso_pdhg_make(iso_pdhg_state **out, const struct iso_pdhg *given, const iso_real *x);

/* The steps' lengths and the dual, from the start image. */
int iso_pdhg_begin(struct iso_loop *l);

#endif
