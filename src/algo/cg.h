/* SPDX-License-Identifier: BSD-3-Clause */
/* What conjugate gradients with and without a sign share: cg.c and cg_nonneg.c. */
#ifndef ISO_CG_H
#define ISO_CG_H

#include "cg_kern.h"
#include "squares.h"

enum { CG_COST, CG_GRADIENT }; /* curves */

#define CG_TOO_LARGE ": the data, the start image or mu are too large"

struct iso_cg_state {
	struct iso_squares s;
	double tolerance;
	double rr
		[3]; /* <r, r> now, and at the start; nonneg: how far a step reaches, 0: as far as it likes */
	iso_real *r, *d, *z; /* on the device: residual, direction, its product */
	iso_real *e, *w;     /* data side: y - A x, and A d */
	/* nonneg: <r, r> is <slope, r> */
	bool by_image;
	const struct cg_vec *v;
	iso_real *step; /* on the device, whose products are z and w: from x to where no voxel is below 0 */
};

/* e = y - A x and r = A* e - mu L x, of e that holds y; whether x is 0 everywhere. */
int iso_cg_residuals(iso_cg_state *c, bool *zero);

/* F, and the gradient over its first. */
int iso_cg_note_cost(iso_cg_state *c);

bool iso_cg_is_finished(const struct iso_loop *l);

/* The image, the residuals, the direction and both curves, as items of a checkpoint; how many. */
int iso_cg_items(iso_cg_state *c, struct iso_item *item);
int iso_cg_restored(struct iso_loop *l, const char *path);

extern const struct iso_loop_fn iso_cg_nonneg_fn;

#endif
