/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of LORs as files. */
#include "problem/inputs.h"

#include <stdio.h>

int lors_shape(int64_t dim[8], const struct iso_panels *p)
{
	const int64_t x = p->crystals[0], z = p->crystals[1], l = p->layers;
	const int64_t all[6] = { l, l, x, z, x, z };
	int n = l > 1 ? 6 : 4;

	memcpy(dim, all + 6 - n, (size_t)n * sizeof *dim);
	return n;
}

/* "(2, 2, 26, 52, 26, 52)": at most 8 axes of 21 characters. */
static void print_shape(char text[256], int n, const int64_t *dim)
{
	int at = snprintf(text, 256, "(");

	for (int i = 0; i < n; i++)
		at += snprintf(text + at, (size_t)(256 - at), "%" PRId64 "%s", dim[i],
		               i < n - 1 ? ", " : ")");
}

int lors_read(struct record *record, struct iso_array *a, const char *path, const struct iso_panels *p)
{
	int64_t dim[8];
	int n = lors_shape(dim, p), st;
	char got[256], want[256];
	struct iso_array head;

	if ((st = record_peek(record, &head, path, ISO_ANY))) return st;
	if (head.n_dim == n && memcmp(head.dim, dim, (size_t)n * sizeof *dim) == 0)
		return (st = record_read(record, a, path, ISO_NONNEGATIVE)) ? st : record_input(record, path);
	print_shape(got, head.n_dim, head.dim);
	print_shape(want, n, dim);
	return iso_fail(ISO_EINPUT, "%s: shape %s, a histogram of LORs %s was expected", path, got, want);
}
