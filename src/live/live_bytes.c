/* SPDX-License-Identifier: BSD-3-Clause */
/* Planes as bytes for the page: a head, then 16 bits a pixel, all with the lowest byte first. */
#include "live.h"

#include "image/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD = 100,
	HEAD_PLANE = 32,
	MOST = 65534, /* the greatest value */
	NOT_FINITE = 65535,
};

struct writer {
	unsigned char *at;
};

static void put(struct writer *w, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++) *w->at++ = (unsigned char)(v >> (8 * i));
}

static void put_double(struct writer *w, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	put(w, bits, 8);
}

static void put_float(struct writer *w, double v)
{
	float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, sizeof bits);
	put(w, bits, 4);
}

struct range {
	double min, max, last; /* the value of the last colour */
};

/* 0 belongs to the window, whatever the values are. */
static struct range range_of(const struct live_image *im)
{
	struct range r = { 0 };

	for (int k = 0; k < im->n; k++)
		for (int64_t i = 0; i < im->plane[k].n[0] * im->plane[k].n[1]; i++) {
			double v = im->plane[k].v[i];

			if (!isfinite(v)) continue;
			if (v < r.min) r.min = v;
			if (v > r.max) r.max = v;
		}
	return r;
}

/* The last colour by the rule of all pictures, each plane an image of its own; the widest of them. */
static bool choose_last(struct range *r, const struct live_image *im)
{
	enum iso_window_kind kind = r->min < 0 ? ISO_WINDOW_LEAST : ISO_WINDOW_PLAIN;
	bool chosen = true;

	for (int k = 0; chosen && k < im->n; k++) {
		const struct live_plane *p = &im->plane[k];
		int64_t n = p->n[0] * p->n[1];
		iso_real *v = malloc((size_t)n * sizeof *v);
		const struct iso_shown plane = {
			.v = v, .grid = { .n = { p->n[0], p->n[1], 1 }, .voxel = { 1, 1, 1 } }
		};
		double window[2];

		for (int64_t i = 0; v && i < n; i++) v[i] = (iso_real)p->v[i];
		chosen = v && !iso_window_choose(window, NULL, &plane, kind);
		const struct iso_range values = chosen ? iso_shown_range(&plane) : (struct iso_range){ 0 };

		if (chosen && !iso_window_empty(&values, kind)) r->last = fmax(r->last, window[1]);
		free(v);
	}
	r->last = r->max > r->min ? fmin(r->last, r->max) : r->max;
	return chosen;
}

static void put_head(struct writer *w, const struct live_image *im, struct range r)
{
	memcpy(w->at, "ISOLIVE2", 8);
	w->at += 8;
	put(w, im->version, 8);
	put(w, (uint64_t)im->n, 4);
	for (int a = 0; a < 3; a++) put(w, (uint64_t)im->at[a], 4);
	for (int a = 0; a < 3; a++) put(w, (uint64_t)im->size[a], 4);
	for (int a = 0; a < 3; a++) put_double(w, im->place[a]);
	put_double(w, im->value);
	put_double(w, r.min);
	put_double(w, r.max);
	put_double(w, r.last);
}

static void put_plane_head(struct writer *w, const struct live_plane *p)
{
	put(w, (uint64_t)p->axis, 4);
	put(w, (uint64_t)p->n[0], 4);
	put(w, (uint64_t)p->n[1], 4);
	put(w, (uint64_t)p->step, 4);
	put(w, (uint64_t)p->cross[0], 4);
	put(w, (uint64_t)p->cross[1], 4);
	put_float(w, p->pixel_mm[0]);
	put_float(w, p->pixel_mm[1]);
}

static void put_pixels(struct writer *w, const struct live_plane *p, struct range r)
{
	double scale = r.max > r.min ? MOST / (r.max - r.min) : 0;

	for (int64_t i = 0; i < p->n[0] * p->n[1]; i++)
		put(w, isfinite(p->v[i]) ? (uint64_t)lround((p->v[i] - r.min) * scale) : NOT_FINITE, 2);
}

unsigned char *iso_live_image_bytes(const struct live_image *im, size_t *size)
{
	struct range r = range_of(im);
	struct writer w;
	unsigned char *bytes;

	*size = HEAD;
	for (int k = 0; k < im->n; k++)
		*size += HEAD_PLANE + 2 * (size_t)(im->plane[k].n[0] * im->plane[k].n[1]);
	if (!choose_last(&r, im) || !(bytes = malloc(*size))) return NULL;
	w.at = bytes;
	put_head(&w, im, r);
	for (int k = 0; k < im->n; k++) put_plane_head(&w, &im->plane[k]);
	for (int k = 0; k < im->n; k++) put_pixels(&w, &im->plane[k], r);
	return bytes;
}
