/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages from templates: HTML with tags in the manner of Mustache.

     {{path}}           a value, escaped; a dash for null and for what is not there
     {{path|format}}    a number by printf's format; "-%.2f" has a true minus sign. Or by name:
                        time (12.3 ms), seconds (12.3 s), count (12 345 678), short (1.5e6),
                        ratio (x 2.5)
     {{path*100|%.1f}}  a number times a whole one
     {{{path}}}         HTML as it is
     {{#path}} {{/}}    once for each element of a list; once for any other value but null and false
     {{^path}} {{/}}    if there is none
     {{table|A|B}}      a table with these heads, up to {{end}}

   A path names keys of objects and numbers of elements, a.b.2; "." is the element at hand. The first
   name is looked for in the element at hand, then outwards. */
#ifndef ISO_TEMPLATE_H
#define ISO_TEMPLATE_H

#include "report/text.h"

#include <jansson.h>

/* 1.5e6, for counts; returns `text`. */
enum { TEMPLATE_SHORT = 24 };

const char *template_short(char text[TEMPLATE_SHORT], double v);

/* `inner` is searched before `outer`. */
void template_put(struct iso_text *t, const char *template, const json_t *inner, const json_t *outer);

#endif
