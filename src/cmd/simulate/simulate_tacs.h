/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings whose activity follows curves: --tacs, --basis. */
#ifndef ISO_SIMULATE_TACS_H
#define ISO_SIMULATE_TACS_H

#include "simulate.h"

#include "simulate/curves_simulate.h"

struct tacs {
	int n; /* components; 0: the activity decays, and that is all */
	struct simulate_component *c;
	int *label; /* of --tacs */
	iso_curve **curve;
	int curves;
	struct simulate_bins bins;
	double *edge;
};

bool simulate_has_tacs(const struct simulate *s);

/* What does not go together; before anything is read. */
int simulate_check_tacs(const struct simulate *s);

/* Components of the image, which is of labels, or with --basis of coefficients. */
int simulate_read_tacs(struct tacs *t, struct cmd *c, const struct simulate *s,
                       const struct iso_array *image);

/* The table of --truth-tacs, and what the pilots found in the record. */
int simulate_tell_tacs(const struct tacs *t, struct cmd *c, const struct simulate *s);
void simulate_free_tacs(struct tacs *t);

#endif
