/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and values of records as they stand on a page. */
#ifndef ISO_VALUE_H
#define ISO_VALUE_H

#include "text.h"

#include <jansson.h>

/* Any value: lists as their elements, long ones and long texts cut, nothing for NULL. */
void iso_value_put(struct iso_text *t, const json_t *v);
void iso_value_in(struct iso_text *t, const char *before, const json_t *v,
                  const char *after); /* between markup */

/* A finite number or a text of an object; NAN, NULL where there is none. */
double iso_value_number(const json_t *object, const char *key);
const char *iso_value_text(const json_t *object, const char *key);

/* 5002139 in groups of three digits; any finite number from 0 to 2^53. */
void iso_value_count(struct iso_text *t, double n);

/* "12.3 s", "3 min 05 s", "2 h 07 min" */
void iso_value_time(struct iso_text *t, double seconds);

/* The name of a file without its folder. */
const char *iso_value_base(const char *path);

#endif
