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

static int open_array(struct iso_array *a, struct iso_stored *s, const char *path, bool pairs)
{
	struct iso_npy h;
	int st;

	if ((st = iso_npy_open(&h, &s->in, path, pairs)) ||
	    (st = iso_array_make(a, path, h.n_dim, h.dim, false)))
		return st;
	a->pairs = h.complex;
	s->layout.element = h.element;
	if (h.fortran)
		fortran_order(&s->layout, a, h.complex);
	else
		iso_layout_c(&s->layout, a);
	return ISO_OK;
}

static int begin(struct iso_out *o, const struct iso_array *a, const iso_real range[2])
{
	char head[ISO_NPY_LEAD];

	(void)range;
	return iso_out_write(o, head, iso_npy_lead(head, 'f', sizeof *a->v, a->n_dim, a->dim));
}

const struct iso_format iso_npy_format = { .open = open_array, .lead = begin };
