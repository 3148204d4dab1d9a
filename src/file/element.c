/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as files store them, turned into arrays of iso_real. */
#include "element.h"
#include "core/size.h"
#include "core/status.h"

#include <string.h>

/* DO(kind, bytes, type) for every type of number. */
#define UNSIGNED(DO) DO('u', 1, uint8_t) DO('u', 2, uint16_t) DO('u', 4, uint32_t) DO('u', 8, uint64_t)
#define SIGNED(DO) DO('i', 1, int8_t) DO('i', 2, int16_t) DO('i', 4, int32_t) DO('i', 8, int64_t)
#define EACH_TYPE(DO) UNSIGNED(DO) SIGNED(DO) DO('f', 4, float) DO('f', 8, double)

bool iso_element_known(struct iso_element e)
{
	bool wide = e.size == 4 || e.size == 8;

	return e.kind == 'f' ? wide
	                     : (e.kind == 'u' || e.kind == 'i') && (wide || e.size == 1 || e.size == 2);
}

static void swap_bytes(unsigned char *p, int64_t n, int size)
{
	for (int64_t i = 0; i < n; i++, p += size)
		for (int a = 0, b = size - 1; a < b; a++, b--) {
			unsigned char t = p[a];

			p[a] = p[b];
			p[b] = t;
		}
}

#define GET(kind, bytes, type)           \
	case (kind) << 8 | (bytes): {    \
		type v;                  \
		memcpy(&v, p, sizeof v); \
		return (double)v;        \
	}

double iso_element_get(const unsigned char *src, struct iso_element e)
{
	unsigned char copy[8];
	const unsigned char *p = src;

	if (e.big_endian) {
		memcpy(copy, src, (size_t)e.size);
		swap_bytes(copy, 1, e.size);
		p = copy;
	}
	switch (e.kind << 8 | e.size) {
		EACH_TYPE(GET)
	}
	return 0;
}

#define CONVERT(kind, bytes, type)                                         \
	case (kind) << 8 | (bytes):                                        \
		for (int64_t i = 0; i < n; i++) {                          \
			type v;                                            \
			memcpy(&v, src + i * (int64_t)sizeof v, sizeof v); \
			dst[i] = (iso_real)v;                              \
		}                                                          \
		break;

static void convert(iso_real *dst, const unsigned char *src, int64_t n, struct iso_element e)
{
	switch (e.kind << 8 | e.size) {
		EACH_TYPE(CONVERT)
	}
}

int iso_elements_read(iso_real *dst, int64_t n, struct iso_in *in, struct iso_element e)
{
	unsigned char block[1 << 16];
	int64_t most = (int64_t)sizeof block / e.size;

	if (e.kind == 'f' && e.size == (int)sizeof *dst && !e.big_endian)
		return iso_in_read(in, dst, n * e.size);
	for (int64_t i = 0; i < n; i += most) {
		int64_t m = n - i < most ? n - i : most;
		int st = iso_in_read(in, block, m * e.size);

		if (st) return st;
		if (e.big_endian) swap_bytes(block, m, e.size);
		convert(dst + i, block, m, e);
	}
	return ISO_OK;
}

void iso_layout_c(struct iso_layout *l, const struct iso_array *a)
{
	int64_t stride = 1;

	l->first = 0;
	for (int i = a->n_dim - 1; i >= 0; stride *= a->dim[i--]) l->stride[i] = stride;
}

/* Counts through the indices like an odometer, whose last wheel is the inner loop. */
static void gather(struct iso_array *a, const iso_real *src, const struct iso_layout *l)
{
	int last = a->n_dim - 1;
	int64_t row = a->dim[last], step = l->stride[last], at = l->first, index[8] = { 0 };

	for (iso_real *dst = a->v; dst < a->v + a->n; dst += row) {
		for (int64_t i = 0; i < row; i++) dst[i] = src[at + i * step];
		for (int k = last - 1; k >= 0; k--) {
			at += l->stride[k];
			if (++index[k] < a->dim[k]) break;
			at -= a->dim[k] * l->stride[k];
			index[k] = 0;
		}
	}
}

bool iso_layout_in_order(const struct iso_layout *l, const struct iso_array *a)
{
	struct iso_layout c;
	bool in_order = true;

	iso_layout_c(&c, a);
	for (int i = 0; i < a->n_dim; i++)
		in_order = in_order && (a->dim[i] == 1 || l->stride[i] == c.stride[i]);
	return in_order;
}

int iso_layout_read(struct iso_array *a, struct iso_in *in, const struct iso_layout *l)
{
	iso_real *stored;
	int st;

	if (iso_layout_in_order(l, a)) return iso_elements_read(a->v, a->n, in, l->element);
	stored = size_alloc(a->n, sizeof *stored);
	if (!stored) return iso_fail_memory(in->path, a->n * (int64_t)sizeof *stored);
	st = iso_elements_read(stored, a->n, in, l->element);
	if (!st) gather(a, stored, l);
	free(stored);
	return st;
}
