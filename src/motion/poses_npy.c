/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of poses as NumPy's files: rows of 8 or 13 numbers, or records with the names of columns. */
#include "poses.h"
#include "core/size.h"
#include "file/npy.h"

#include <string.h>

/* Numbers of a row of the file: where each stands within the row, and what it is. */
struct layout {
	int n;
	int64_t at[POSES_COLUMNS], row; /* bytes; row: from one to the next */
	struct iso_element element[POSES_COLUMNS];
	enum poses_column is[POSES_COLUMNS];
};

static int of_fields(struct layout *l, struct poses_make *m, const struct iso_npy *h)
{
	if (h->n_dim != 1)
		return iso_refuse(m->name, "records along %d axes, a table of poses has one", h->n_dim);
	for (int i = 0; i < h->n_fields; i++) {
		const struct iso_npy_field *f = &h->field[i];
		enum poses_column c = poses_column_of(f->name, strlen(f->name));

		if (c == POSES_COLUMNS)
			return iso_refuse(
				m->name,
				"'%s' is no field of a table of poses: time_s, qw, qx, qy, qz (or r00 to "
				"r22, or angle_deg), x_mm, y_mm, z_mm",
				f->name);
		if (f->n != 1 || !iso_element_known(f->element))
			return iso_refuse(m->name, "field '%s' is not one number", f->name);
		if (m->at[c] >= 0) return iso_refuse(m->name, "field '%s' stands again", f->name);
		m->at[c] = i;
		l->is[l->n] = c;
		l->at[l->n] = f->at;
		l->element[l->n++] = f->element;
	}
	l->row = h->element.size;
	return ISO_OK;
}

static int of_columns(struct layout *l, struct poses_make *m, const struct iso_npy *h)
{
	int columns = h->n_dim == 2 && h->dim[1] <= 13 ? (int)h->dim[1] : 0;
	const enum poses_column *is = poses_columns_of(columns);

	if (!is)
		return iso_refuse(m->name,
		                  "an array of %d axes, the last of %" PRId64
		                  " values: poses are (n, 8), (n, 13) or records",
		                  h->n_dim, h->dim[h->n_dim - 1]);
	l->n = columns;
	l->row = h->fortran ? h->element.size : (int64_t)columns * h->element.size;
	for (int k = 0; k < columns; k++) {
		m->at[is[k]] = k;
		l->is[k] = is[k];
		l->at[k] = (h->fortran ? k * h->dim[0] : k) * h->element.size;
		l->element[k] = h->element;
	}
	return ISO_OK;
}

static int add_rows(struct poses_make *m, const struct layout *l, const uint8_t *raw, int64_t n)
{
	double v[POSES_COLUMNS];
	int st = ISO_OK;

	for (int64_t i = 0; i < n && !st; i++) {
		for (int k = 0; k < l->n; k++)
			v[l->is[k]] = iso_element_get(raw + i * l->row + l->at[k], l->element[k]);
		st = poses_make_row(m, i, v);
	}
	return st;
}

int poses_npy_read(struct poses_make *m, const char *path)
{
	struct layout l = { 0 };
	struct iso_npy h;
	struct iso_in in;
	uint8_t *raw = NULL;
	int st = iso_npy_open_records(&h, &in, path);

	if (st) return st;
	if (!(st = h.n_fields ? of_fields(&l, m, &h) : of_columns(&l, m, &h)) &&
	    !(st = poses_make_columns(m))) {
		raw = size_alloc(h.bytes, 1);
		if (!raw) st = iso_fail_memory(path, h.bytes);
	}
	if (!st && !(st = iso_in_read(&in, raw, h.bytes))) st = add_rows(m, &l, raw, h.dim[0]);
	iso_in_close(&in);
	free(raw);
	return st;
}
