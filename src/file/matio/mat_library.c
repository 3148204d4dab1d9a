/* SPDX-License-Identifier: BSD-3-Clause */
/* MATLAB files by the library matio. */
#include "core/size.h"
#include "file/mat.h"

#include <matio.h>
#include <stdio.h>
#include <string.h>

#define MOST_BYTES ((int64_t)4 << 30) /* of a variable */
#define PACKED 1100                   /* bytes that one byte of a packed file can hold */

static const struct {
	enum matio_classes class;
	const char *name;
	int bytes; /* of a number; 0: none */
} classes[] = {
	{ MAT_C_DOUBLE, "double", 8 }, { MAT_C_SINGLE, "single", 4 }, { MAT_C_INT8, "int8", 1 },
	{ MAT_C_UINT8, "uint8", 1 },   { MAT_C_INT16, "int16", 2 },   { MAT_C_UINT16, "uint16", 2 },
	{ MAT_C_INT32, "int32", 4 },   { MAT_C_UINT32, "uint32", 4 }, { MAT_C_INT64, "int64", 8 },
	{ MAT_C_UINT64, "uint64", 8 }, { MAT_C_CHAR, "text", 0 },     { MAT_C_CELL, "cell", 0 },
	{ MAT_C_STRUCT, "struct", 0 }, { MAT_C_SPARSE, "sparse", 0 }, { MAT_C_OBJECT, "object", 0 },
};
enum { CLASSES = sizeof classes / sizeof *classes };

static int class_of(const matvar_t *v)
{
	int k = 0;

	while (k < CLASSES && classes[k].class != v->class_type) k++;
	return k;
}

static const char *class_name(const matvar_t *v)
{
	return class_of(v) < CLASSES ? classes[class_of(v)].name : "of an unknown class";
}

static bool is_numeric(const matvar_t *v)
{
	return class_of(v) < CLASSES && classes[class_of(v)].bytes > 0;
}

/* "5 x 12"; empty: too long. */
static void sizes(char *to, size_t room, const matvar_t *v)
{
	size_t n = 0;

	*to = '\0';
	for (int i = 0; i < v->rank && n < room; i++)
		n += (size_t)snprintf(to + n, room - n, "%s%zu", i ? " x " : "", v->dims[i]);
}

static void add_to_list(struct iso_mat *m, const matvar_t *v)
{
	size_t n = strlen(m->list);
	char size[64];

	sizes(size, sizeof size, v);
	if (n + strlen(v->name) + 100 < sizeof m->list)
		snprintf(m->list + n, sizeof m->list - n, "%s%s (%s %s%s)", n ? ", " : "", v->name, size,
		         v->isComplex ? "complex " : "", class_name(v));
	else if (n > 4 && strcmp(m->list + n - 3, "...") != 0)
		snprintf(m->list + n, sizeof m->list - n, ", ...");
}

static bool is_table(const matvar_t *v)
{
	int wide = 0;

	for (int i = 0; i < v->rank; i++) wide += v->dims[i] > 1;
	return is_numeric(v) && wide > 1;
}

static int take(struct iso_mat *m, const matvar_t *v, int64_t file_bytes)
{
	int64_t n = 1, bytes;

	if (!is_numeric(v))
		return iso_refuse(m->file, "variable %s is %s, must be numbers", v->name, class_name(v));
	if (v->rank < 1 || v->rank > MAT_DIMS - 1)
		return iso_refuse(m->file, "variable %s has %d axes, at most %d are read", v->name, v->rank,
		                  MAT_DIMS - 1);
	m->n_dim = v->rank;
	m->complex = v->isComplex;
	for (int i = 0; i < v->rank; i++) {
		m->dim[i] = v->dims[i] <= INT64_MAX ? (int64_t)v->dims[i] : INT64_MAX;
		if (m->dim[i] < 1) return iso_refuse(m->file, "variable %s is empty", v->name);
	}
	if (!size_product(&n, m->n_dim, m->dim) || !size_mul(&m->n, n, m->complex ? 2 : 1) ||
	    !size_mul(&bytes, m->n, classes[class_of(v)].bytes) || bytes > MOST_BYTES)
		return iso_refuse(m->file, "variable %s is above %g GB", v->name, (double)MOST_BYTES * 1e-9);
	if (bytes / PACKED > file_bytes)
		return iso_refuse(m->file,
		                  "variable %s says %" PRId64 " bytes, the file has %" PRId64
		                  ": a damaged file",
		                  v->name, bytes, file_bytes);
	m->bytes = m->n * (int64_t)sizeof(double);
	snprintf(m->variable, sizeof m->variable, "%s", v->name);
	return ISO_OK;
}

enum { LEAD = 128, TAG = 8 }; /* bytes before the first element of level 5, and of an element's tag */

static uint32_t number_of(const uint8_t *b, bool big)
{
	return big ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]
	           : (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

/* matio takes what is behind the end of a file of level 5 for zeros. */
static int check_complete(const struct iso_mat *m)
{
	uint8_t lead[LEAD], tag[TAG];
	FILE *f = fopen(m->file, "rbe");
	int64_t at = LEAD, size = 0;
	bool whole = f && fread(lead, LEAD, 1, f) == 1;

	if (whole && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
	while (whole && at < size) {
		whole = fseek(f, at, SEEK_SET) == 0 && fread(tag, TAG, 1, f) == 1;
		at += TAG + (int64_t)(whole ? number_of(tag + 4, lead[LEAD - 2] == 'M') : 0);
	}
	if (f) fclose(f);
	return whole && at == size ? ISO_OK
	                           : iso_refuse(m->file, "a damaged file: it ends within a variable");
}

static int open_file(mat_t **mat, const struct iso_mat *m)
{
	if (!(*mat = Mat_Open(m->file, MAT_ACC_RDONLY)))
		return iso_refuse(m->file, "no MATLAB file of level 5 or 7.3, or a damaged one");
	const enum mat_ft level = Mat_GetVersion(*mat);
	const int st = level == MAT_FT_MAT5 ? check_complete(m) : ISO_OK;

	if (!st && (level == MAT_FT_MAT5 || level == MAT_FT_MAT73)) return ISO_OK;
	Mat_Close(*mat);
	if (st) return st;
	return iso_refuse(m->file, "a MATLAB file of level 4; levels 5 and 7.3 are read (save -v7)");
}

/* Level 7.3: where matio does not see a class in the way that another program wrote it, HDF5 makes doubles of any
   numbers. */
static void tell_class(mat_t *file, matvar_t *v)
{
	if (Mat_GetVersion(file) != MAT_FT_MAT73 || v->class_type != MAT_C_EMPTY) return;
	v->class_type = MAT_C_DOUBLE;
	v->data_type = MAT_T_DOUBLE;
}

static int nothing_found(const struct iso_mat *m, bool asked, int tables)
{
	if (asked)
		return iso_refuse(m->file, "has no variable %s; it has %s", m->variable,
		                  m->list[0] ? m->list : "none");
	return iso_refuse(m->file,
	                  "%s array of numbers with rows and columns; FILE.mat:NAME chooses one of %s",
	                  tables ? "more than one" : "no", m->list[0] ? m->list : "none that are there");
}

int iso_mat_find_here(void *mat)
{
	struct iso_mat *m = mat;
	const int64_t file_bytes = m->bytes;
	const bool asked = m->variable[0];
	int found = 0, st;
	mat_t *file;
	matvar_t *v;

	if ((st = open_file(&file, m))) return st;
	while ((v = Mat_VarReadNextInfo(file))) {
		if (!v->name) {
			Mat_VarFree(v);
			continue;
		}
		tell_class(file, v);
		add_to_list(m, v);
		if (!st && (asked ? strcmp(v->name, m->variable) == 0 : is_table(v)) && found++ == 0)
			st = take(m, v, file_bytes);
		Mat_VarFree(v);
	}
	Mat_Close(file);
	return st || found == 1 || (asked && found) ? st : nothing_found(m, asked, found);
}

/* ---- values ---- */

static double value(const void *v, enum matio_classes class, int64_t i)
{
	switch (class) {
	case MAT_C_DOUBLE:
		return ((const double *)v)[i];
	case MAT_C_SINGLE:
		return ((const float *)v)[i];
	case MAT_C_INT8:
		return ((const int8_t *)v)[i];
	case MAT_C_UINT8:
		return ((const uint8_t *)v)[i];
	case MAT_C_INT16:
		return ((const int16_t *)v)[i];
	case MAT_C_UINT16:
		return ((const uint16_t *)v)[i];
	case MAT_C_INT32:
		return ((const int32_t *)v)[i];
	case MAT_C_UINT32:
		return ((const uint32_t *)v)[i];
	case MAT_C_INT64:
		return (double)((const int64_t *)v)[i];
	default:
		return (double)((const uint64_t *)v)[i];
	}
}

/* MATLAB's first axis is fastest, ours the last. */
static void turn(const struct iso_mat *m, const matvar_t *v)
{
	const mat_complex_split_t *z = v->data;
	const int64_t n = m->complex ? m->n / 2 : m->n;
	int64_t at[MAT_DIMS] = { 0 };

	for (int64_t i = 0; i < n; i++) {
		int64_t from = 0;

		for (int a = m->n_dim - 1; a >= 0; a--) from = from * m->dim[a] + at[a];
		if (m->complex) {
			m->values[2 * i] = value(z->Re, v->class_type, from);
			m->values[2 * i + 1] = value(z->Im, v->class_type, from);
		} else {
			m->values[i] = value(v->data, v->class_type, from);
		}
		for (int a = m->n_dim - 1; a >= 0 && ++at[a] == m->dim[a]; a--) at[a] = 0;
	}
}

/* The file may have changed since it was looked at. */
static bool same(const struct iso_mat *m, const matvar_t *v)
{
	bool good = is_numeric(v) && v->rank == m->n_dim && v->isComplex == (int)m->complex && v->data;

	for (int i = 0; i < m->n_dim && good; i++) good = v->dims[i] == (size_t)m->dim[i];
	return good;
}

int iso_mat_read_here(void *mat)
{
	const struct iso_mat *m = mat;
	mat_t *file;
	matvar_t *v;
	int st = open_file(&file, m);

	if (st) return st;
	v = Mat_VarReadInfo(file, m->variable);
	if (v) tell_class(file, v);
	if (v && Mat_VarReadDataAll(file, v) == 0 && same(m, v))
		turn(m, v);
	else
		st = iso_refuse(m->file, "variable %s can't be read: a damaged file", m->variable);
	Mat_VarFree(v);
	Mat_Close(file);
	return st;
}
