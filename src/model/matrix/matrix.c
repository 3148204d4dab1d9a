/* SPDX-License-Identifier: BSD-3-Clause */
/* Model matrix: from a sparse matrix to the operator, and its loops on the CPU. A rank makes its share of the results. */
#include "matrix.h"
#include "core/comm.h"

/* ---- making the operator ---- */

static int check_elements(const struct iso_matrix *p)
{
	const struct matrix_lines *l = &p->by_rows;

	if (l->start[0] != 0) return iso_fail(ISO_EARG, "matrix: the first row does not begin at element 0");
	for (int64_t i = 0; i < p->rows; i++)
		if (l->start[i] > l->start[i + 1])
			return iso_fail(ISO_EARG, "matrix: row %" PRId64 " ends before it begins", i);
	for (int64_t k = 0; k < l->start[p->rows]; k++)
		if (l->at[k] < 0 || l->at[k] >= p->columns)
			return iso_fail(ISO_EARG, "matrix: element %" PRId64 " is in column %d of %" PRId64,
			                k, (int)l->at[k], p->columns);
	for (int64_t k = 0; k < l->start[p->rows]; k++)
		if (!(l->w[k] >= 0) || !isfinite(l->w[k]))
			return iso_fail(ISO_EARG, "matrix: element %" PRId64 " is %g, must be 0 or above", k,
			                (double)l->w[k]);
	return ISO_OK;
}

static int check(const struct iso_matrix *p)
{
	if (p->rows < 1 || p->columns < 1 || p->rows > INT32_MAX || p->columns > INT32_MAX)
		return iso_fail(ISO_EARG,
		                "matrix: %" PRId64 " rows and %" PRId64 " columns, must be 1 to %d each",
		                p->rows, p->columns, INT32_MAX);
	if (p->n_sub < 1 || p->n_sub > p->rows)
		return iso_fail(ISO_EARG,
		                "matrix: %d subsets of %" PRId64 " rows; must be 1 to the number of rows",
		                p->n_sub, p->rows);
	if (p->rule != ISO_INTERLEAVED && p->rule != ISO_BLOCKS && p->rule != ISO_RANDOM)
		return iso_fail(ISO_EARG, "matrix: there is no subset rule %d", (int)p->rule);
	return check_elements(p);
}

void iso_matrix_transpose(struct matrix_lines *to, int64_t places, const struct matrix_lines *from,
                          int64_t lines)
{
	int64_t n = from->start[lines];

	memset(to->start, 0, (size_t)(places + 1) * sizeof *to->start);
	for (int64_t k = 0; k < n; k++) to->start[from->at[k] + 1]++;
	for (int64_t j = 0; j < places; j++) to->start[j + 1] += to->start[j];
	for (int64_t i = 0; i < lines; i++)
		for (int64_t k = from->start[i]; k < from->start[i + 1]; k++) {
			int64_t place = to->start[from->at[k]]++;

			to->at[place] = (int32_t)i;
			to->w[place] = from->w[k];
		}
	/* each start has moved to the end of its line, where the next begins */
	memmove(to->start + 1, to->start, (size_t)places * sizeof *to->start);
	to->start[0] = 0;
}

/* The caller's rows in the order of the operator. */
static void deal(struct matrix_model *m, const struct matrix_lines *from)
{
	struct matrix_lines *to = &m->by_rows;
	int64_t n = 0;

	for (int64_t row = 0; row < m->rows; row++) {
		int64_t own = order_event(&m->order, row), k = from->start[own];
		int64_t length = from->start[own + 1] - k;

		to->start[row] = n;
		memcpy(to->at + n, from->at + k, (size_t)length * sizeof *to->at);
		memcpy(to->w + n, from->w + k, (size_t)length * sizeof *to->w);
		n += length;
	}
	to->start[m->rows] = n;
}

static void take_lines(struct matrix_lines *l, struct iso_room *room, int64_t lines, int64_t elements)
{
	ISO_HOST(room, l->start, lines + 1);
	ISO_HOST(room, l->at, elements + 1);
	ISO_HOST(room, l->w, elements + 1);
}

/* By way of the columns, so that elements of a row rise. */
static void make(struct iso_room *room, struct matrix_model *m, const struct iso_matrix *p)
{
	m->rows = p->rows;
	m->columns = p->columns;
	m->elements = p->by_rows.start[p->rows];
	m->order = (struct iso_order){ .n = p->rows, .n_sub = p->n_sub, .rule = p->rule, .seed = p->seed };
	take_lines(&m->by_rows, room, m->rows, m->elements);
	take_lines(&m->by_columns, room, m->columns, m->elements);
	if (room->status) return;
	deal(m, &p->by_rows);
	iso_matrix_transpose(&m->by_columns, m->columns, &m->by_rows, m->rows);
	iso_matrix_transpose(&m->by_rows, m->rows, &m->by_columns, m->columns);
}

struct iso_rows iso_matrix_rows(const iso_op *op, int sub)
{
	return order_rows(&((const struct matrix_model *)op->data)->order, sub);
}

int64_t iso_matrix_file_row(const iso_op *op, int64_t row)
{
	return order_event(&((const struct matrix_model *)op->data)->order, row);
}

/* ---- the loops ---- */

static iso_real dot(const struct matrix_lines *l, int64_t first, int64_t end, const iso_real *v)
{
	double sum = 0;

	for (int64_t k = first; k < end; k++) sum += (double)l->w[k] * (double)v[l->at[k]];
	return (iso_real)sum;
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct matrix_model *m = op->data;
	const struct iso_rows rows = iso_op_rows(op, sub), own = iso_share(op->ctx, rows.n);
	const int64_t *start = m->by_rows.start + rows.first;

	iso_op_counts(op, "project", "rows", own.n);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic, ORDER_CHUNK)
	for (int64_t i = own.first; i < own.first + own.n; i++) {
		if (iso_stopped(op->ctx)) continue;
		y[rows.first + i] = dot(&m->by_rows, start[i], start[i + 1], x);
	}
	iso_op_count(op, own.n);
	return iso_comm_gather(op->ctx, iso_ctx_poll(op->ctx), y + rows.first, rows.n, sizeof *y);
}

/* Rows of a subset are a range, and so are their elements of a column. */
static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct matrix_model *m = op->data;
	const struct matrix_lines *l = &m->by_columns;
	const struct iso_rows rows = iso_op_rows(op, sub), own = iso_share(op->ctx, m->columns);

	iso_op_counts(op, "backproject", "voxels", own.n);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic, ORDER_CHUNK)
	for (int64_t j = own.first; j < own.first + own.n; j++) {
		if (iso_stopped(op->ctx)) continue;
		int64_t first = matrix_from(l->at, l->start[j], l->start[j + 1], rows.first);

		x[j] = dot(l, first, matrix_from(l->at, first, l->start[j + 1], rows.first + rows.n), y);
	}
	iso_op_count(op, own.n);
	return iso_comm_gather(op->ctx, iso_ctx_poll(op->ctx), x, m->columns, sizeof *x);
}

static const struct iso_op_fn matrix_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.rows = iso_matrix_rows,
	.file_row = iso_matrix_file_row,
	.to_cuda = "iso_matrix_to_cuda",
};

int iso_matrix_create(iso_op **op, iso_ctx *ctx, const struct iso_matrix *p)
{
	struct iso_room room = { .ctx = ctx, .what = "system matrix" };
	struct matrix_model *m;
	iso_op *made = NULL;
	int st = check(p);

	if (!st) {
		if (ISO_HOST(&room, m, 1)) make(&room, m, p);
		st = iso_op_create_in(&made, ctx, &matrix_fn, p->columns, p->rows, p->n_sub, &room, m);
	}
	return iso_op_agree(op, made, ctx, st);
}

void iso_matrix_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t rows, int64_t columns,
                     int64_t elements)
{
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "matrix by rows and by columns", elements, 2 * (4 + sizeof(iso_real)), false);
	iso_plan_add(plan, "places of rows and columns", rows + columns + 2, sizeof(int64_t), false);
	if (cuda) iso_plan_add(plan, "matrix on the device", elements, 2 * (4 + sizeof(iso_real)), true);
	if (cuda) iso_plan_add(plan, "places on the device", rows + columns + 2, sizeof(int64_t), true);
}
