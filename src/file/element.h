/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as files store them: of any width and byte order, with axes in any order and direction. */
#ifndef ISO_ELEMENT_H
#define ISO_ELEMENT_H

#include "in.h"

struct iso_element {
	char kind; /* 'u', 'i' or 'f', as NumPy names them */
	int size;  /* bytes */
	bool big_endian;
};

/* 'u' and 'i' of 1, 2, 4, 8 bytes, 'f' of 4 and 8. */
bool iso_element_known(struct iso_element e);

/* The number at src. */
double iso_element_get(const unsigned char *src, struct iso_element e);

/* Array element (i0, i1, ...) is number first + i0 stride[0] + i1 stride[1] + ... of the file. */
struct iso_layout {
	struct iso_element element;
	int64_t first, stride[8];
};

/* C order: last axis fastest. */
void iso_layout_c(struct iso_layout *l, const struct iso_array *a);
bool iso_layout_in_order(const struct iso_layout *l, const struct iso_array *a); /* whether it is that */

/* Reads n elements in the order of the file. */
int iso_elements_read(iso_real *dst, int64_t n, struct iso_in *in, struct iso_element e);

/* Reads the a->n elements that come next into a->v. */
int iso_layout_read(struct iso_array *a, struct iso_in *in, const struct iso_layout *l);

#endif
