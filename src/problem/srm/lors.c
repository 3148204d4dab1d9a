/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a histogram of LORs. */
#include "lors.h"

#include "core/status.h"

#include <stdio.h>
#include <string.h>

int lors_shape(int64_t dim[8], const struct iso_panels *p)
{
	const int64_t x = p->crystals[0], z = p->crystals[1], l = p->layers;
	const int64_t all[6] = { l, l, x, z, x, z };
	int n = l > 1 ? 6 : 4;

	memcpy(dim, all + 6 - n, (size_t)n * sizeof *dim);
	return n;
}

/* "(2, 2, 26, 52, 26, 52)" */
static void print_shape(char *text, size_t size, int n, const int64_t *dim)
{
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, i ? ", " : "(", dim[i]);
	if (at < size) snprintf(text + at, size - at, ")");
}

int lors_read(struct record *record, struct iso_array *a, const char *path, const struct iso_panels *p)
{
	int64_t dim[8];
	int n = lors_shape(dim, p), st;
	char got[256], want[256];
	struct iso_array head;

	if ((st = record_peek(record, &head, path))) return st;
	if (head.n_dim == n && memcmp(head.dim, dim, (size_t)n * sizeof *dim) == 0)
		return (st = record_read(record, a, path, ISO_NONNEGATIVE)) ? st : record_input(record, path);
	print_shape(got, sizeof got, head.n_dim, head.dim);
	print_shape(want, sizeof want, n, dim);
	return iso_fail(ISO_EINPUT, "%s: shape %s, a histogram of LORs %s was expected", path, got, want);
}
