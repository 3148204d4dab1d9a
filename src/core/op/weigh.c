/* SPDX-License-Identifier: BSD-3-Clause */
/* The diagonal operator, y = d * x, its own adjoint; and what it serves for: rows that count by weights in
   least squares. The sum of w (y - A x)^2 is |sqrt(w) y - sqrt(w) A x|^2, that of a diagonal operator
   behind A and of data multiplied alike. */
#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"

#include <math.h>

static int diag_apply(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	(void)sub; /* one subset only */
	return op->ctx->vec->mul(op->ctx, op->n_in, y, x, op->data);
}

static const struct iso_op_fn diag_fn = {
	.forward = diag_apply,
	.adjoint = diag_apply,
};

static int make_diag(iso_op **op, iso_ctx *ctx, int64_t n, const iso_real *d)
{
	if (n < 1) return iso_fail(ISO_EARG, "diagonal: n is %" PRId64 ", must be at least 1", n);
	struct iso_room room = { .ctx = ctx, .what = "diagonal" };
	iso_real *on_device;

	ISO_UPLOAD(&room, on_device, d, n);
	return iso_op_create_in(op, ctx, &diag_fn, n, n, 1, &room, on_device);
}

int iso_diag_create(iso_op **op, iso_ctx *ctx, int64_t n, const iso_real *d)
{
	if (!op || !ctx || !d) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_diag(&made, ctx, n, d);

	return iso_op_agree(op, made, ctx, st);
}

/* ---- weights ---- */

/* Each run of rows / n rows times sqrt(weight / mean weight): with a mean of 1 a penalty keeps its strength. */
int iso_weigh_data(iso_real *y, int64_t rows, int64_t n, const double *weight)
{
	if (!y || !weight) return iso_fail_null(__func__);
	double sum = 0;

	if (n < 1 || rows % n != 0)
		return iso_fail(ISO_EARG,
		                "weights: %" PRId64 " for %" PRId64 " rows, which they do not divide", n,
		                rows);
	for (int64_t i = 0; i < n; i++) {
		if (!(weight[i] >= 0 && isfinite(weight[i])))
			return iso_fail(ISO_EARG,
			                "weights: number %" PRId64 " is %g, must be finite, 0 or above", i,
			                weight[i]);
		sum += weight[i];
	}
	if (!(sum > 0)) return iso_fail(ISO_EARG, "weights: all are 0");
	for (int64_t i = 0; i < n; i++) {
		double factor = sqrt(weight[i] * (double)n / sum);

		for (int64_t j = 0; j < rows / n; j++, y++) *y = (iso_real)((double)*y * factor);
	}
	return ISO_OK;
}

/* Whether the rows of the operator are in the order of the file. */
static bool in_order(const iso_op *op)
{
	int64_t (*row)(const iso_op *, int64_t) = op->fn->file_row;

	for (int64_t i = 0; row && i < op->n_out; i++)
		if (row(op, i) != i) return false;
	return true;
}

int iso_weigh_rows(iso_op **op, int64_t n, const double *weight)
{
	if (!op || !weight) return iso_fail_null(__func__);
	if (!in_order(*op))
		return iso_fail(ISO_EARG, "weights: the operator has an order of rows of its own");
	int64_t rows = iso_op_n_out(*op);
	iso_real *d = size_alloc(rows, sizeof *d);
	iso_op *diag = NULL, *chain = NULL;
	int st = d ? ISO_OK : iso_fail_memory("weights", rows * (int64_t)sizeof *d);

	for (int64_t i = 0; i < rows && !st; i++) d[i] = 1;
	if (!st && !(st = iso_weigh_data(d, rows, n, weight)) &&
	    !(st = iso_diag_create(&diag, iso_op_ctx(*op), rows, d)) &&
	    !(st = iso_chain_create(&chain, diag, *op))) {
		iso_op_free(*op); /* the chain keeps it */
		*op = chain;
	}
	iso_op_free(diag);
	free(d);
	return iso_comm_agree(iso_op_ctx(*op), st);
}
