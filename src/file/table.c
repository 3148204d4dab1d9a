/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of a description, from .npy files of any number type. */
#include "table.h"

#include "core/size.h"
#include "core/status.h"
#include "npy.h"

#include <math.h>

static int check_shape(const struct iso_npy *h, int columns, const char *path)
{
	bool flat = columns == 1 && h->n_dim == 1;

	if (!flat && (h->n_dim != 2 || h->dim[1] != columns))
		return iso_fail(ISO_EINPUT,
		                "%s: an array of %d axes, the last of %" PRId64 " values; must be (n, %d)",
		                path, h->n_dim, h->dim[h->n_dim - 1], columns);
	return ISO_OK;
}

/* Element (i, j), which Fortran order stores at j rows + i. */
static int convert(double *v, const unsigned char *raw, const struct iso_npy *h, int columns,
                   const char *path)
{
	int64_t rows = h->dim[0];

	for (int64_t i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++) {
			int64_t at = h->fortran ? j * rows + i : i * columns + j;
			double x = iso_element_get(raw + at * h->element.size, h->element);

			if (!isfinite(x))
				return iso_fail(ISO_EINPUT, "%s: value %d of row %" PRId64 " is not finite",
				                path, j, i);
			v[i * columns + j] = x;
		}
	return ISO_OK;
}

static int read_table(double **v, int64_t *rows, int columns, struct iso_in *in)
{
	struct iso_npy h;
	unsigned char *raw = NULL;
	double *table = NULL;
	int st = iso_npy_head(&h, in, false);

	if (st || (st = check_shape(&h, columns, in->path))) return st;
	raw = size_alloc(h.bytes, 1);
	table = size_alloc(h.dim[0], columns * (int64_t)sizeof *table);
	if (!raw || !table)
		st = iso_fail_memory(in->path, h.bytes);
	else if (!(st = iso_in_read(in, raw, h.bytes)))
		st = convert(table, raw, &h, columns, in->path);
	free(raw);
	if (st) {
		free(table);
	} else {
		*v = table;
		*rows = h.dim[0];
	}
	return st;
}

int iso_table_read(double **v, int64_t *rows, int columns, const char *path)
{
	struct iso_in in;
	int st = iso_in_open(&in, path, false);

	if (st) return st;
	st = read_table(v, rows, columns, &in);
	iso_in_close(&in);
	return st;
}
