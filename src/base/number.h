/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as text, read and written with a decimal point whatever locale the process is in: a
   library has no say in that. No other file may convert between floating point and text by the
   functions of the C library. */
#ifndef ISO_NUMBER_H
#define ISO_NUMBER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define ISO_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* All of text[0..length-1] as a finite decimal number, rounded to nearest. */
bool iso_number(double *v, const char *text, size_t length);

/* v[0..n-1] = the numbers of a text such as "1,2.5,3", n at most `most`. Returns n; 0 where the text is
   anything else. */
int iso_numbers(double *v, int most, const char *text);

/* snprintf and vsnprintf. */
int iso_snprintf(char *text, size_t size, const char *fmt, ...) ISO_PRINTF(3, 4);
int iso_vsnprintf(char *text, size_t size, const char *fmt, va_list ap) ISO_PRINTF(3, 0);

/* For libraries that convert numbers themselves: the calling thread is in the C locale until
   iso_number_locale_back gets what iso_number_locale returned. */
void *iso_number_locale(void);
void iso_number_locale_back(void *was);

#endif
