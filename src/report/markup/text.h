/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that grows: HTML and SVG are put together in one, and what comes from files is escaped. */
#ifndef ISO_TEXT_H
#define ISO_TEXT_H

#include "core/status.h"

/* Zero-initialised is empty. Once memory has failed, `failed` stays set and nothing is added. */
struct iso_text {
	char *v;
	size_t n, room;
	bool failed;
};

/* As printf; for markup and numbers of our own. */
void iso_text_add(struct iso_text *t, const char *fmt, ...) ISO_PRINTF(2, 3);

/* Any bytes, as text content or attribute value: & < > " ' become entities, and what is not UTF-8
   or not printable, or would turn the text around it, becomes U+FFFD. */
void iso_text_escaped(struct iso_text *t, const char *any);

/* The same of the first `most` characters; an ellipsis stands for the rest. */
void iso_text_cut(struct iso_text *t, const char *any, size_t most);

/* Markup of our own, in which %s is such text and %.60s the first 60 characters of it. */
void iso_text_html(struct iso_text *t, const char *markup, ...) ISO_PRINTF(2, 3);

/* `part` between such markup, or nothing if it is empty; frees it. */
void iso_text_part(struct iso_text *t, const char *before, struct iso_text *part, const char *after);

/* Any bytes as a string of JSON, its quotes included, that may stand in a script element: neither < nor &, nor
   what ends a line, is in it; what is not UTF-8 becomes U+FFFD. */
void iso_text_json(struct iso_text *t, const char *any);

void iso_text_base64(struct iso_text *t, const void *bytes, size_t n);

void iso_text_free(struct iso_text *t);

#endif
