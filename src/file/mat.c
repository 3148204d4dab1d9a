/* SPDX-License-Identifier: BSD-3-Clause */
/* MATLAB files: what their names say, and the library that reads them, in a process of its own. */
#include "mat.h"
#include "apart.h"
#include "core/size.h"
#include "suffix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int split(struct iso_mat *m, const char *path)
{
	const char *variable = iso_variable(path);
	size_t n = variable ? (size_t)(variable - 1 - path) : strlen(path);
	struct stat info;

	*m = (struct iso_mat){ 0 };
	if (n >= sizeof m->file || (variable && strlen(variable) >= sizeof m->variable))
		return iso_refuse(path, "the name is too long");
	memcpy(m->file, path, n);
	if (variable) strcpy(m->variable, variable);
	if (stat(m->file, &info) != 0) return iso_fail(ISO_EINPUT, "%s: %s", m->file, strerror(errno));
	m->bytes = info.st_size;
	return ISO_OK;
}

#ifdef ISO_MATIO

static int pass_found(void *arg, struct iso_pipe p)
{
	struct iso_mat *m = arg;

	return iso_apart_pass(p, m, sizeof *m) ? ISO_OK : iso_refuse(m->file, "a damaged file");
}

int iso_mat_open(struct iso_mat *m, const char *path)
{
	int st = split(m, path);
	const struct iso_apart a = { iso_mat_find_here, pass_found, m, m->bytes, NULL, "matio" };

	return st ? st : iso_apart(m->file, &a, m->bytes);
}

static int pass_values(void *arg, struct iso_pipe p)
{
	struct iso_mat *m = arg;

	return iso_apart_pass(p, m->values, m->n * (int64_t)sizeof *m->values)
	               ? ISO_OK
	               : iso_refuse(m->file, "a damaged file");
}

int iso_mat_read(double *v, const struct iso_mat *m, const iso_ctx *ctx)
{
	struct iso_mat there = *m;
	const struct iso_apart a = { iso_mat_read_here, pass_values, &there, 4 * m->bytes, ctx, "matio" };

	there.values = v;
	return iso_apart(m->file, &a, m->bytes);
}

#else

int iso_mat_open(struct iso_mat *m, const char *path)
{
	int st = split(m, path);

	return st ? st
	          : iso_refuse(m->file, "this build has no matio, which .mat files need; install the library "
	                                "(with HDF5) and build Isotome from source");
}

int iso_mat_read(double *v, const struct iso_mat *m, const iso_ctx *ctx)
{
	(void)v, (void)ctx;
	return iso_refuse(m->file, "this build has no matio");
}

#endif

int iso_mat_table(double **v, int64_t *rows, int columns, const char *path)
{
	struct iso_mat m;
	int st = iso_mat_open(&m, path);

	if (st) return st;
	if (columns == 1 && m.n_dim == 2 && m.dim[0] == 1) {
		m.dim[0] = m.dim[1];
		m.dim[1] = 1;
	}
	if (m.complex || m.n_dim != 2 || m.dim[1] != columns)
		return iso_refuse(
			m.file,
			"variable %s has %d axes, the last of %" PRId64 " %s; must be (n, %d), real numbers",
			m.variable, m.n_dim, m.dim[m.n_dim - 1], m.complex ? "complex" : "values", columns);
	double *table = size_alloc(m.n, sizeof *table);

	st = table ? iso_mat_read(table, &m, NULL) : iso_fail_memory(path, m.n * (int64_t)sizeof *table);
	for (int64_t k = 0; k < m.n && !st; k++)
		if (!isfinite(table[k]))
			st = iso_refuse(m.file, "%s: value %d of row %" PRId64 " is not finite", m.variable,
			                (int)(k % columns), k / columns);
	if (st) {
		free(table);
		return st;
	}
	*v = table;
	*rows = m.dim[0];
	return ISO_OK;
}
