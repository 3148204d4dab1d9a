/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in .npy files, read in C and Fortran order and written in C order. */
#include "file/npy.h"
#include "format.h"

static void fortran_order(struct iso_layout *l, const struct iso_array *a, bool complex)
{
	int64_t stride = complex ? 2 : 1;

	l->first = 0;
	for (int i = 0; i < a->n_dim - complex; stride *= a->dim[i++]) l->stride[i] = stride;
	if (complex) l->stride[a->n_dim - 1] = 1;
}

static int read_elements(struct iso_array *a, struct iso_in *in, const struct iso_npy *h)
{
	struct iso_layout l = { .element = h->element };
	int st = iso_array_make(a, in->path, h->n_dim, h->dim, true);

	if (st) return st;
	if (h->fortran)
		fortran_order(&l, a, h->complex);
	else
		iso_layout_c(&l, a);
	st = iso_layout_read(a, in, &l);
	if (st) iso_array_free(a);
	return st;
}

static int read_array(struct iso_array *a, const char *path, bool values, bool pairs)
{
	struct iso_npy h;
	struct iso_in in;
	int st = iso_npy_open(&h, &in, path, pairs);

	if (st) return st;
	st = values ? read_elements(a, &in, &h) : iso_array_make(a, path, h.n_dim, h.dim, false);
	iso_in_close(&in);
	if (!st) a->pairs = h.complex;
	return st;
}

static int begin(struct iso_out *o, const struct iso_array *a, const iso_real range[2])
{
	char head[ISO_NPY_LEAD];

	(void)range;
	return iso_out_write(o, head, iso_npy_lead(head, sizeof *a->v, a->n_dim, a->dim));
}

const struct iso_format iso_npy_format = { .read = read_array, .lead = begin };
