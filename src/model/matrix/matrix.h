/* SPDX-License-Identifier: BSD-3-Clause */
/* Model matrix: any sparse matrix, the rows of which are data and the columns voxels. It is kept twice, by rows for y = A x
   and by columns for x = A* y, so that no two threads add to one value. Sums are double, in the order of the elements. */
#ifndef ISO_MATRIX_H
#define ISO_MATRIX_H

#include "core/op.h"
#include "core/loop/order.h"

/* Elements by lines, rows or columns: those of line i are start[i] ... start[i + 1] - 1, by rising place. */
struct matrix_lines {
	int64_t *start;
	int32_t *at; /* place of each element in its line */
	iso_real *w;
};

/* What a caller has: rows in the file's order, columns of a row in any order. Borrowed. */
struct iso_matrix {
	int64_t rows, columns;
	struct matrix_lines by_rows;
	int n_sub;
	enum iso_subset_rule rule;
	uint64_t seed;
};

/* What the operator has: rows in its order. */
struct matrix_model {
	int64_t rows, columns, elements;
	struct iso_order order;
	struct matrix_lines by_rows, by_columns;
};

/* The first element of a column, from `first` up to `end`, that lies in row `row` or behind it. */
ISO_HD int64_t matrix_from(const int32_t *at, int64_t first, int64_t end, int64_t row)
{
	while (first < end) {
		int64_t middle = first + (end - first) / 2;

		if (at[middle] < row)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

ISO_BEGIN_C

/* ISO_EARG if the elements are not those of a matrix of that size, or subsets are more than rows. */
int iso_matrix_create(iso_op **op, iso_ctx *ctx, const struct iso_matrix *p);
void iso_matrix_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t rows, int64_t columns,
                     int64_t elements);

/* The transpose, with lines of rising places, whatever the order was in `from`, which has `lines` lines of places below `places`. */
void iso_matrix_transpose(struct matrix_lines *to, int64_t places, const struct matrix_lines *from,
                          int64_t lines);

struct iso_rows iso_matrix_rows(const iso_op *op, int sub);
int64_t iso_matrix_file_row(const iso_op *op, int64_t row);

ISO_END_C
#endif
