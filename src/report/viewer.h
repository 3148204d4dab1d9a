/* SPDX-License-Identifier: BSD-3-Clause */
/* The viewer of a page: its images, packed, and the script that shows them. Without scripts, and on paper,
   nothing of it is seen. */
#ifndef ISO_VIEWER_H
#define ISO_VIEWER_H

#include "page.h"

#define ISO_VIEWER_FRAMES 1000  /* of an image: further ones are left out, which the page says */
#define ISO_VIEWER_RECORD 65536 /* characters of a record that can be saved from the page */

/* Sources of the policy: the script, and the style of the viewer. */
void iso_viewer_policy(struct iso_text *t);

void iso_viewer_style(struct iso_text *t);

/* The section with data and script, which comes once and after all that it hides. */
int iso_viewer_section(struct iso_text *t, const struct iso_report *r);

/* "'sha256-...'" of a text, as a policy names it. */
void iso_viewer_hash(struct iso_text *t, const char *text);

#endif
