/* SPDX-License-Identifier: BSD-3-Clause */
/* The preamble of a .npy file, for arrays and for events; pieces and tables of such files. */
#ifndef ISO_NPY_H
#define ISO_NPY_H

#include "element.h"
#include "out.h"

enum { ISO_NPY_FIELDS = 64, ISO_NPY_RECORD = 1 << 16 };

/* A field of the records of a structured array. */
struct iso_npy_field {
	char name[64];
	struct iso_element element; /* kind 0: no numbers that we know */
	int n;                      /* numbers, one after the other */
	int at;                     /* bytes from the start of the record */
};

struct iso_npy {
	struct iso_element element; /* of records: kind 0, and their size */
	bool fortran;               /* first axis fastest */
	bool complex;               /* pairs: the last axis, of 2, is always fastest */
	int n_dim;
	int64_t dim[8];
	int64_t bytes; /* of the elements, which follow and end the file */
	int n_fields;  /* 0: plain numbers */
	struct iso_npy_field field[ISO_NPY_FIELDS];
};

/* Opens and reads up to the first element; the file is as long as the preamble says. Complex numbers
   are refused without `pairs`. After a failure the file is closed. */
int iso_npy_open(struct iso_npy *npy, struct iso_in *in, const char *path, bool pairs);

/* The same, and of records too, of up to ISO_NPY_RECORD bytes each. */
int iso_npy_open_records(struct iso_npy *npy, struct iso_in *in, const char *path);

/* The preamble of such a file in memory, of which n bytes are there; *at: of the first element. Plain real numbers alone. */
int iso_npy_parse(struct iso_npy *npy, int64_t *at, const uint8_t *bytes, int64_t n, const char *path);

/* ISO_EINPUT if the array (n, columns) of an open file is stored column by column (Fortran order). */
int iso_npy_rows(const struct iso_npy *npy, const char *path);

/* Elements of a file; 0 if they do not stand in C order. */
int iso_npy_count(int64_t *n, const char *path);

/* Elements first ... first + n - 1 of such a file, read alone. */
int iso_npy_piece(iso_real *dst, const char *path, int64_t first, int64_t n);

/* A table of a description, such as positions: (rows, columns) of finite values, in double whatever
   iso_real is; one column may also be an array (rows). Free *v with free(). */
int iso_table_read(double **v, int64_t *rows, int columns, const char *path);

#define ISO_NPY_LEAD 512

/* Makes the preamble of numbers of `size` bytes in C order, kind 'f' or 'u'; returns its length. */
int iso_npy_lead(char head[ISO_NPY_LEAD], char kind, int size, int n_dim, const int64_t *dim);

/* A file of records that grows: begin opens it, then records are written to it as they are, and end tells their fields,
   "('a', '<u8'), ('b', '<f4')", and how many they are, and closes the file; the caller commits it. */
int iso_npy_records_begin(struct iso_out *o, const char *path);
int iso_npy_records_end(struct iso_out *o, const char *fields, int64_t n);

/* A whole file of n bytes, as NumPy's uint8. */
int iso_npy_bytes(const char *path, const uint8_t *v, int64_t n);

/* Before and after (n, columns) floats are written by rows: keep the place of the preamble, and fill it. */
int iso_npy_begin_rows(struct iso_out *o);
int iso_npy_end_rows(struct iso_out *o, int64_t n, int columns);

#endif
