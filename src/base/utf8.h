/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of files, and their names, may hold any bytes; only printable characters may reach people. */
#ifndef ISO_UTF8_H
#define ISO_UTF8_H

/* Bytes of the UTF-8 sequence at s, 0 if it is none: no overlong forms, surrogates, or values past
   U+10FFFF (RFC 3629, section 4). */
int iso_utf8_length(const char *s);

/* The same, and 0 for control characters too (U+0000 to U+001F, U+007F to U+009F): they steer a
   terminal. */
int iso_utf8_printable(const char *s);

/* Each byte that is no part of a printable character becomes '?', in place; returns text. */
char *iso_utf8_clean(char *text);

#endif
