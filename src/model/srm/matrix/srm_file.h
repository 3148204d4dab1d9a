/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a system matrix's file: scanner, physics, pairs, bound. */
#ifndef ISO_SRM_FILE_H
#define ISO_SRM_FILE_H

#include "srm_matrix.h"

#include <jansson.h>

/* NULL without memory; `command` may be NULL. */
json_t *iso_srm_header(const iso_srm *m, const char *command);

/* A matrix of this scanner and these ranges of pairs, without table and counts. ISO_EINPUT unless it
   has so many folded columns. */
int iso_srm_from_header(iso_srm **m, json_t *root, const char *path, int64_t columns);

#endif
