/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation files of CASToR (.Cdh with .Cdf), read as efficiencies of crystal pairs. */
#ifndef ISO_NORM_CASTOR_H
#define ISO_NORM_CASTOR_H

#include "scanner/scanner.h"

/* Whether a norm is such a file, by its name. */
bool norm_castor_is(const char *path);

/* The scanner's efficiencies of pairs become m = 1/(attenuation x normalisation) of the file's lines, and 0 of all others.
   *attenuated: the file has attenuation in it. A table of crystals x crystals. */
int norm_castor_to_scanner(bool *attenuated, iso_scanner *s, const char *path);

#endif
