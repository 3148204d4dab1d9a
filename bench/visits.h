/* SPDX-License-Identifier: BSD-3-Clause */
/* The work that an event means for the model ray. */
#ifndef ISO_VISITS_H
#define ISO_VISITS_H

#include "isotome.h"

/* Mean number of voxels that a line of n events reads and adds to, inside its TOF window: the
   chord tracer's pieces, or four voxels for each slice of Joseph's. */
double iso_bench_visits(const struct iso_ray *p, const struct iso_event *e, int64_t n);

#endif
