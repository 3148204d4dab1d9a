/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pages of all papers are made of. */
#ifndef ISO_REPRODUCE_PAGE_H
#define ISO_REPRODUCE_PAGE_H

#include "reproduce.h"

#include <jansson.h>

void page_table_open(struct iso_text *t, int n, const char *const *heads);
void page_table_close(struct iso_text *t);

/* "12.3 ms", "4.56 s"; a dash for NaN. As a cell of its own, or as plain text. */
void page_time_cell(struct iso_text *t, double s);
void page_time(struct iso_text *t, double s);

/* "%.*g"; a dash for NaN. */
void page_number_cell(struct iso_text *t, double v, int digits);

/* "1.5e6", for counts; returns `text`. */
enum { PAGE_COUNT = 24 };

const char *page_count(char text[PAGE_COUNT], double v);

/* A picture with its name below; `alt` says what is seen, `note` may be "". */
int page_picture(struct iso_text *t, const struct iso_pixels *p, const char *name, const char *alt,
                 const char *note);

/* A plane of values: pixel (i, j) from the lower left corner is v[i step_right + j step_up], from
   black at 0 to the last colour at `top`; zoom x zoom pixels each, or `stretch` times as high. */
struct page_plane {
	int64_t right, up, step_right, step_up, zoom;
	int64_t stretch; /* 0: 1 */
	const iso_real *v;
	double top;
};

int page_paint(struct iso_pixels *p, const struct page_plane *s);

void page_machine(struct iso_text *t, const char *scale, const struct reproduce_devices *d);

#endif
