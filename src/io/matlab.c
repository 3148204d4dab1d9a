/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in MATLAB files, one variable of each; read alone. */
#include "file/mat.h"
#include "core/size.h"
#include "format.h"

#include <stdlib.h>

static int open_array(struct iso_array *a, struct iso_stored *s, const char *path, bool pairs)
{
	struct iso_mat *m = size_alloc(1, sizeof *m);
	int st;

	if (!m) return iso_fail_memory(path, sizeof *m);
	s->own = m;
	s->release = free;
	if ((st = iso_mat_open(m, path))) return st;
	if (m->complex && !pairs)
		return iso_refuse(m->file, "variable %s is complex, must be real numbers", m->variable);
	if (m->complex) m->dim[m->n_dim++] = 2;
	st = iso_array_make(a, path, m->n_dim, m->dim, false);
	a->pairs = m->complex;
	if (m->complex) m->n_dim--;
	return st;
}

static int fill(struct iso_array *a, struct iso_stored *s, const iso_ctx *ctx, const char *path)
{
	const struct iso_mat *m = s->own;
	double *v = size_alloc(m->n, sizeof *v);
	int st = v ? iso_mat_read(v, m, ctx) : iso_fail_memory(path, m->n * (int64_t)sizeof *v);

	for (int64_t i = 0; i < m->n && !st; i++) a->v[i] = (iso_real)v[i];
	free(v);
	return st;
}

const struct iso_format iso_mat_format = { .open = open_array, .fill = fill };
