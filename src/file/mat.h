/* SPDX-License-Identifier: BSD-3-Clause */
/* MATLAB files of level 5 and 7.3: one variable as an array. A name FILE.mat:VARIABLE tells which; FILE.mat is the only
   numeric one with more than one row and more than one column. */
#ifndef ISO_MAT_H
#define ISO_MAT_H

#include "core/status.h"

#include <limits.h>

enum { MAT_DIMS = 8, MAT_LIST = 480 };

struct iso_mat {
	char file[PATH_MAX], variable[128];
	int n_dim;
	int64_t dim[MAT_DIMS]; /* as MATLAB has them: (Q, K) is (Q, K) */
	int64_t n;             /* values; of complex numbers two each */
	bool complex;
	int64_t bytes;       /* of the variable in memory, as the library has it */
	char list[MAT_LIST]; /* all variables with sizes and classes */
	double *values;      /* while they are read */
};

/* Finds the variable; ISO_EINPUT with a list of those that are there. */
int iso_mat_open(struct iso_mat *m, const char *path);

/* Its values, the last axis fastest; of complex numbers pairs. */
int iso_mat_read(double *v, const struct iso_mat *m, const iso_ctx *ctx);

/* As iso_table_read; vectors are (n, 1) or (1, n). */
int iso_mat_table(double **v, int64_t *rows, int columns, const char *path);

/* In this process, which a damaged file may take with it: matio/mat_library.c. */
int iso_mat_find_here(void *mat);
int iso_mat_read_here(void *mat);

#endif
