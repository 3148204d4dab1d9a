/* SPDX-License-Identifier: BSD-3-Clause */
/* Which scanner a file of commissioning belongs to: the number of crystals, and the places of up to 64 of them. */
#ifndef ISO_OF_SCANNER_H
#define ISO_OF_SCANNER_H

#include "isotome/scanner.h"

#include <jansson.h>

/* {"name", "crystals", "sample_mm"}: the places of crystals floor(j N/64), j = 0 to 63. */
json_t *of_scanner_json(const iso_scanner *s);

/* ISO_EINPUT if `o`, of the file `path`, is none such, or of another scanner than s: another number of crystals, or one of
   these places more than 0.1 mm off. */
int of_scanner_check(const json_t *o, const char *path, const iso_scanner *s);

#endif
