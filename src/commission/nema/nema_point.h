/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity after NEMA NU 4: a point of known activity that steps along the axis. */
#ifndef ISO_NEMA_POINT_H
#define ISO_NEMA_POINT_H

#include "nema_run.h"

/* Sinograms of one step: of the source, and of the scanner without it. */
enum { POINT_PROMPTS, POINT_DELAYED, POINT_EMPTY, POINT_EMPTY_DELAYED, POINT_KINDS };

/* Every row keeps the bins within half_mm of the largest one of its prompts; a row without prompts keeps none.
   sum[k]: those bins of cells[k]. Returns the slice with the most prompts. */
int64_t iso_nema_keep(double sum[POINT_KINDS], int32_t *const cells[POINT_KINDS], const struct ssrb *g,
                      double half_mm);

int iso_nema_point_sensitivity(struct nema_job *j);

#endif
