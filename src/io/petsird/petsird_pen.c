/* SPDX-License-Identifier: BSD-3-Clause */
/* What a PETSIRD file is written of: numbers, texts and lists. */
#include "petsird_pen.h"

#include <string.h>

int64_t pen_varint(uint8_t *to, uint64_t v)
{
	int64_t n = 0;

	for (; v > 127; v >>= 7) to[n++] = (uint8_t)(v | 128);
	to[n++] = (uint8_t)v;
	return n;
}

void pen_bytes(struct pen *p, const void *v, int64_t n)
{
	if (!p->st) p->st = iso_out_write(p->out, v, n);
}

void pen_count(struct pen *p, uint64_t v)
{
	uint8_t bytes[10];

	pen_bytes(p, bytes, pen_varint(bytes, v));
}

void pen_zeros(struct pen *p, int n)
{
	for (int i = 0; i < n; i++) pen_count(p, 0);
}

void pen_text(struct pen *p, const char *text)
{
	pen_count(p, strlen(text));
	pen_bytes(p, text, (int64_t)strlen(text));
}

void pen_floats(struct pen *p, const double *v, int n)
{
	for (int i = 0; i < n; i++) pen_bytes(p, &(float){ (float)v[i] }, sizeof(float));
}

void pen_pair(struct pen *p)
{
	pen_count(p, 1);
	pen_count(p, 1);
}
