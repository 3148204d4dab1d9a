/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of a description, such as positions: .npy files kept in double whatever iso_real is. */
#ifndef ISO_TABLE_H
#define ISO_TABLE_H

#include "isotome.h"

/* (rows, columns) of finite values; one column may also be an array (rows). Free *v with free(). */
int iso_table_read(double **v, int64_t *rows, int columns, const char *path);

#endif
