/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables, pictures and cards of the pages of all papers. */
#include "reproduce_page.h"

#include "core/size.h"
#include "image/colormap.h"
#include "io/png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void page_table_open(struct iso_text *t, int n, const char *const *heads)
{
	iso_text_add(t, "<div class='scroll'><table class='measured'>\n<thead><tr>");
	for (int i = 0; i < n; i++) iso_text_add(t, "<th scope='col'>%s</th>", heads[i]);
	iso_text_add(t, "</tr></thead>\n<tbody>\n");
}

void page_table_close(struct iso_text *t)
{
	iso_text_add(t, "</tbody></table></div>\n");
}

void page_time(struct iso_text *t, double s)
{
	if (isnan(s))
		iso_text_add(t, "\u2013");
	else if (s < 1)
		iso_text_add(t, "%.3g\u202fms", 1e3 * s);
	else
		iso_text_add(t, s < 1000 ? "%.3g\u202fs" : "%.0f\u202fs", s);
}

void page_time_cell(struct iso_text *t, double s)
{
	iso_text_add(t, "<td>");
	page_time(t, s);
	iso_text_add(t, "</td>");
}

void page_number_cell(struct iso_text *t, double v, int digits)
{
	if (isnan(v))
		iso_text_add(t, "<td>\u2013</td>");
	else
		iso_text_add(t, "<td>%.*g</td>", digits, v);
}

const char *page_count(char text[PAGE_COUNT], double v)
{
	char *from, *to;

	snprintf(text, PAGE_COUNT, "%.3g", v);
	if ((to = strstr(text, "e+"))) {
		for (from = to + 2; *from == '0'; from++)
			;
		memmove(to + 1, from, strlen(from) + 1);
	}
	return text;
}

int page_picture(struct iso_text *t, const struct iso_pixels *p, const char *name, const char *alt,
                 const char *note)
{
	void *png = NULL;
	size_t bytes = 0;
	int st = iso_png_encode(&png, &bytes, p);

	if (st) return st;
	iso_text_add(t,
	             "<figure><div class='picture'><img alt='%s: %s' "
	             "src='data:image/png;base64,",
	             name, alt);
	iso_text_base64(t, png, bytes);
	iso_text_add(t, "'></div><figcaption><b>%s</b>", name);
	if (note[0]) iso_text_add(t, "<span>%s</span>", note);
	iso_text_add(t, "</figcaption></figure>\n");
	free(png);
	return ISO_OK;
}

int page_paint(struct iso_pixels *p, const struct page_plane *s)
{
	const int64_t tall = s->zoom * (s->stretch ? s->stretch : 1);
	struct iso_colormap map;
	int st = iso_colormap_make(&map, "ember");

	if (st) return st;
	*p = (struct iso_pixels){ .width = s->zoom * s->right, .height = tall * s->up };
	if (!(p->rgb = size_alloc(p->width * p->height, 3)))
		return iso_fail_memory("reproduce", p->width * p->height * 3);
	for (int64_t i = 0; i < p->width * p->height; i++) {
		int64_t right = i % p->width / s->zoom, up = s->up - 1 - i / p->width / tall;
		double v = s->v[right * s->step_right + up * s->step_up];
		struct iso_colour c = iso_colormap_at(&map, s->top > 0 ? v / s->top : 0);

		memcpy(p->rgb + 3 * i, (unsigned char[]){ c.r, c.g, c.b }, 3);
	}
	return ISO_OK;
}

void page_machine(struct iso_text *t, const char *scale, const struct reproduce_devices *d)
{
	iso_text_add(t,
	             "<section aria-label='Machine'>\n<dl class='cards'>\n<div><dt>Scale</dt><dd>%s"
	             "</dd></div>\n<div><dt>CPU</dt><dd>%s</dd></div>\n<div><dt>CUDA</dt><dd>",
	             scale, iso_ctx_device_name(d->cpu));
	iso_text_escaped(t, d->cuda ? iso_ctx_device_name(d->cuda) : "none");
	iso_text_add(t, "</dd></div>\n</dl>\n</section>\n");
}
