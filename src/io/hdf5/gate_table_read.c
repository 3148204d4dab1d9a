/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of pandas: a row of HDF5 has `index` and blocks, values_block_0 and so on, of columns of one type. The names of
   a block's columns stand in its attribute values_block_0_kind, a list of Python's pickle as text. Members that are no
   blocks are columns of their own name. */
#include "file/hdf5/h5.h"
#include "core/size.h"
#include "file/in.h"
#include "io/gate_columns.h"
#include "io/gate_table.h"

#include <unistd.h>

enum {
	COLUMNS_MOST = 512,
	NAME_MOST = 64,
	KIND_MOST = 1 << 16, /* bytes of the attribute */
	ROWS = 4096,         /* read at a time */
	EVENT_BYTES = sizeof(struct iso_event) + sizeof(uint32_t),
};

struct column {
	char name[NAME_MOST];
	int at; /* doubles of a row before it */
};

struct reading {
	struct gate_table *t;
	struct iso_h5 h;
	struct iso_h5_set set;
	char where[NAME_MOST + 16]; /* the table's name in the file */
	int columns;
	struct column column[COLUMNS_MOST];
	hid_t row; /* all columns as doubles, one behind the other */
	struct gate_columns gate;
};

static int damaged(const struct reading *r)
{
	return iso_h5_fail(&r->h, ISO_EINPUT, "%s can't be read: a damaged file", r->where);
}

/* ---- columns ---- */

static int add_column(struct reading *r, const char *name, size_t length)
{
	struct column *c = &r->column[r->columns];

	if (r->columns == COLUMNS_MOST)
		return iso_refuse(r->t->path, "%s has more than %d columns", r->where, COLUMNS_MOST);
	c->at = r->columns++;
	snprintf(c->name, sizeof c->name, "%.*s", (int)(length < NAME_MOST ? length : NAME_MOST - 1), name);
	return ISO_OK;
}

/* The text of an attribute of the table, of fixed length; false: there is none. */
static bool read_kind(char text[KIND_MOST], const struct reading *r, const char *block)
{
	char name[NAME_MOST + 8];
	bool good = false;
	hid_t a = -1, type = -1;

	snprintf(name, sizeof name, "%s_kind", block);
	if (H5Aexists(r->set.id, name) > 0) a = H5Aopen(r->set.id, name, H5P_DEFAULT);
	if (a >= 0) type = H5Aget_type(a);
	memset(text, 0, KIND_MOST);
	if (type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
	    H5Aget_storage_size(a) < KIND_MOST && H5Tget_size(type) < KIND_MOST)
		good = H5Aread(a, type, text) >= 0;
	if (type >= 0) H5Tclose(type);
	if (a >= 0) H5Aclose(a);
	return good;
}

/* Names of n columns: what stands behind a V, or aV, at the beginning of a line. */
static int add_block(struct reading *r, const char *block, int n)
{
	char *text = malloc(KIND_MOST);
	int st = ISO_OK, found = 0;

	if (!text) return iso_fail_memory(r->t->path, KIND_MOST);
	bool there = read_kind(text, r, block);

	for (const char *p = text, *end; there && !st && (end = strchr(p, '\n')); p = end + 1) {
		if (*p == 'a') p++;
		if (*p != 'V' || found++ >= n) continue;
		st = add_column(r, p + 1, (size_t)(end - p - 1));
	}
	free(text);
	if (!st && found != n)
		st = iso_h5_fail(&r->h, ISO_EINPUT, "%s: %s_kind names %d columns, %s has %d", r->where,
		                 block, found, block, n);
	return st;
}

/* Numbers of a member: 1, or those of an array of one axis; 0: it holds others than numbers. */
static int numbers(hid_t type)
{
	H5T_class_t class = H5Tget_class(type);
	hsize_t dim[1] = { 1 };
	hid_t item = -1;

	if (class == H5T_ARRAY && H5Tget_array_ndims(type) == 1 && H5Tget_array_dims2(type, dim) == 1) {
		item = H5Tget_super(type);
		class = item >= 0 ? H5Tget_class(item) : H5T_NO_CLASS;
	}
	if (item >= 0) H5Tclose(item);
	return (class == H5T_INTEGER || class == H5T_FLOAT) && dim[0] >= 1 && dim[0] <= COLUMNS_MOST
	               ? (int)dim[0]
	               : 0;
}

static int add_member(struct reading *r, hid_t table, unsigned i)
{
	char *name = H5Tget_member_name(table, i);
	hid_t type = H5Tget_member_type(table, i);
	int n = type >= 0 && name ? numbers(type) : 0, st = ISO_OK;
	bool block = name && strncmp(name, "values_block_", 13) == 0 && strlen(name) < NAME_MOST;

	if (!name || type < 0)
		st = damaged(r);
	else if (block && n > 0)
		st = add_block(r, name, n);
	else if (n == 1)
		st = add_column(r, name, strlen(name));
	if (type >= 0) H5Tclose(type);
	H5free_memory(name);
	return st;
}

/* A member of the rows in memory, at the same columns that add_member gave it. */
static bool insert_member(const struct reading *r, hid_t table, unsigned i, int *at)
{
	char *name = H5Tget_member_name(table, i);
	hid_t type = H5Tget_member_type(table, i), doubles = -1;
	int n = type >= 0 && name ? numbers(type) : 0;
	bool array = type >= 0 && H5Tget_class(type) == H5T_ARRAY, good = name && type >= 0;
	bool taken = n > 0 && (n == 1 || strncmp(name, "values_block_", 13) == 0);

	if (taken && good) {
		doubles = array ? H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &(hsize_t){ (hsize_t)n })
		                : H5Tcopy(H5T_NATIVE_DOUBLE);
		good = *at + n <= r->columns && doubles >= 0 &&
		       H5Tinsert(r->row, name, (size_t)*at * sizeof(double), doubles) >= 0;
		*at += n;
	}
	if (doubles >= 0) H5Tclose(doubles);
	if (type >= 0) H5Tclose(type);
	H5free_memory(name);
	return good;
}

static int find_columns(struct reading *r)
{
	hid_t table = H5Dget_type(r->set.id);
	int n = table >= 0 && H5Tget_class(table) == H5T_COMPOUND ? H5Tget_nmembers(table) : 0, at = 0,
	    st = ISO_OK;

	if (n <= 0) st = iso_h5_fail(&r->h, ISO_EINPUT, "%s is no table with named columns", r->where);
	for (int i = 0; i < n && !st; i++) st = add_member(r, table, (unsigned)i);
	if (!st && r->columns == 0) st = iso_refuse(r->t->path, "%s has no columns of numbers", r->where);
	if (!st && (r->row = H5Tcreate(H5T_COMPOUND, (size_t)r->columns * sizeof(double))) < 0)
		st = damaged(r);
	for (int i = 0; i < n && !st; i++)
		if (!insert_member(r, table, (unsigned)i, &at)) st = damaged(r);
	if (table >= 0) H5Tclose(table);
	return st;
}

static const void *find_column(const void *arg, const char *name)
{
	const struct reading *r = arg;

	for (int i = 0; i < r->columns; i++)
		if (strcmp(r->column[i].name, name) == 0) return &r->column[i];
	return NULL;
}

/* ---- rows ---- */

static double value(const struct reading *r, const double *row, int c)
{
	return row[((const struct column *)r->gate.column[c])->at];
}

static bool is_true(const struct reading *r, const double *row)
{
	bool one = value(r, row, GATE_EVENT1) == value(r, row, GATE_EVENT2);

	for (int c = GATE_COMPTON1; c < GATE_COLUMNS; c++) one = one && value(r, row, c) == 0;
	return one;
}

static void add_row(struct reading *r, const double *row)
{
	struct iso_events *e = &r->t->e;
	struct iso_event v = { .dt_ps = 0 };

	if (r->t->trues_only && !is_true(r, row)) {
		r->t->left_out++;
		return;
	}
	for (int a = 0; a < 3; a++) {
		v.p1[a] = (float)value(r, row, GATE_X1 + a);
		v.p2[a] = (float)value(r, row, GATE_X2 + a);
	}
	if (e->time_ms)
		gate_times(&v, &e->time_ms[e->n], &r->gate, value(r, row, GATE_T1), value(r, row, GATE_T2));
	e->v[e->n++] = v;
}

static int read_rows(struct reading *r, double *rows, int64_t first, int64_t n)
{
	hsize_t start = (hsize_t)first, count = (hsize_t)n;
	hid_t space = H5Dget_space(r->set.id), memory = H5Screate_simple(1, &count, NULL);
	int st = ISO_OK;

	if (space < 0 || memory < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
	    H5Dread(r->set.id, r->row, memory, space, H5P_DEFAULT, rows) < 0)
		st = damaged(r);
	if (space >= 0) H5Sclose(space);
	if (memory >= 0) H5Sclose(memory);
	for (int64_t i = 0; i < n && !st; i++) add_row(r, rows + i * r->columns);
	return st;
}

static int read_events(struct reading *r)
{
	int64_t n = r->set.n;
	double *rows = size_alloc(ROWS, r->columns * (int64_t)sizeof *rows);
	bool times = r->gate.column[GATE_T1];
	int st = ISO_OK;

	r->t->e.v = size_alloc(n, sizeof *r->t->e.v);
	if (times) r->t->e.time_ms = size_alloc(n, sizeof *r->t->e.time_ms);
	if (!rows || !r->t->e.v || (times && !r->t->e.time_ms))
		st = iso_fail_memory(r->t->path, n * EVENT_BYTES);
	for (int64_t i = 0; i < n && !st; i += ROWS) st = read_rows(r, rows, i, n - i < ROWS ? n - i : ROWS);
	free(rows);
	return st;
}

/* ---- the file ---- */

static int find_table(struct reading *r)
{
	int st = iso_h5_find_any(&r->set, &r->h, r->where);

	if (st) return st;
	if (r->set.id < 0)
		return iso_refuse(r->t->path, "has no table %s, as GATE 10 writes it ('tree' names another)",
		                  r->where);
	if (r->set.rank != 1)
		return iso_refuse(r->t->path, "%s has %d axes, expected 1", r->where, r->set.rank);
	if (r->set.n > r->h.bytes)
		return iso_refuse(r->t->path, "%s claims %" PRId64 " rows, in a file of %" PRId64 " bytes",
		                  r->where, r->set.n, r->h.bytes);
	return iso_h5_chunk(&r->h, &r->set, r->where, 0);
}

int gate_table_read_here(struct gate_table *t)
{
	struct reading *r = calloc(1, sizeof *r);
	int st;

	if (!r) return iso_fail_memory(t->path, sizeof *r);
	r->t = t;
	r->row = r->set.id = -1;
	if (snprintf(r->where, sizeof r->where, "/%s/table", t->name) >= (int)sizeof r->where)
		st = iso_fail(ISO_EARG, "'tree' has a name of %zu bytes, at most %d", strlen(t->name),
		              NAME_MOST);
	else {
		st = iso_h5_open(&r->h, t->path);
		if (!st) st = find_table(r);
		if (!st) st = find_columns(r);
		if (!st) st = gate_columns_find(&r->gate, t->path, r->where, t->trues_only, find_column, r);
		if (!st) st = read_events(r);
		if (r->row >= 0) H5Tclose(r->row);
		iso_h5_release(&r->set);
		iso_h5_close(&r->h);
	}
	free(r);
	return st;
}

/* ---- in a process of its own ---- */

static int read_there(void *arg)
{
	return gate_table_read_here(arg);
}

/* Counts first, then events and times. */
static int pass_events(void *arg, struct iso_pipe p)
{
	struct gate_table *t = arg;
	struct iso_events *e = &t->e;
	int64_t count[3] = { e->n, t->left_out, e->time_ms != NULL }, bytes, ms;
	int st = ISO_OK;

	if (!iso_apart_pass(p, count, sizeof count) || !size_mul(&bytes, count[0], sizeof *e->v) ||
	    !size_mul(&ms, count[0], sizeof *e->time_ms))
		return iso_refuse(t->path, "a damaged file");
	if (!p.sends) {
		if (t->ctx && (st = iso_memory_check(t->ctx, t->path, bytes + ms))) return st;
		e->n = count[0];
		t->left_out = count[1];
		e->v = size_alloc(bytes, 1);
		if (count[2]) e->time_ms = size_alloc(ms, 1);
		if (!e->v || (count[2] && !e->time_ms)) return iso_fail_memory(t->path, bytes + ms);
	}
	if (!iso_apart_pass(p, e->v, bytes) || (count[2] && !iso_apart_pass(p, e->time_ms, ms)))
		st = iso_refuse(t->path, "a damaged file");
	return st;
}

int gate_table_read(struct gate_table *t)
{
	enum { CHUNKS = 1 << 27 }; /* bytes: two of the largest, packed and not */
	struct iso_apart a = { .work = read_there, .pass = pass_events, .arg = t, .ctx = t->ctx };
	int64_t bytes;
	int fd, st = iso_regular_open(&fd, &bytes, t->path);

	if (st) return st;
	close(fd);
	a.memory = CHUNKS + (int64_t)EVENT_BYTES * bytes; /* rows are no more than bytes */
	return iso_apart(t->path, &a, bytes);
}
