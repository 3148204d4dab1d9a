/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of figures after NEMA, from the results that 'isotome nema --json' prints. */
#ifndef ISO_NEMA_PAGE_H
#define ISO_NEMA_PAGE_H

#include "report/markup/text.h"

#include <jansson.h>

/* A section a figure. Each of the n objects is a record, or the results of one. ISO_EINPUT where one has no figure. */
int iso_nema_page(struct iso_text *t, const char *title, const json_t *const *records, int n);

#endif
