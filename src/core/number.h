/* SPDX-License-Identifier: BSD-3-Clause */
/* Decimal numbers in text files. */
#ifndef ISO_NUMBER_H
#define ISO_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* All of text[0..length-1] as a finite decimal number, rounded to nearest. The caller's thread must
   be in the C locale (iso_number_locale) if the program may be in another. */
bool iso_number(double *v, const char *text, size_t length);

/* The C locale for this thread, and back to `was`; false without memory. */
bool iso_number_locale(void **was);
void iso_number_locale_back(void *was);

#endif
