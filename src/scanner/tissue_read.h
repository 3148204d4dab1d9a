/* SPDX-License-Identifier: BSD-3-Clause */
/* Tissue that a description of transducers speaks of. */
#ifndef ISO_TISSUE_READ_H
#define ISO_TISSUE_READ_H

#include "text/conf.h"

struct scanner_tissue {
	char shape[200];    /* as option 'tissue' has it; "": none */
	double rotation[9]; /* of an ellipsoid; all 0: not turned */
	double speed;
};

/* Of key `tissue` of the description, if it is there. */
int iso_tissue_read(struct scanner_tissue *t, const struct conf_node *root);

#endif
