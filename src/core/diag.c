/* SPDX-License-Identifier: BSD-3-Clause */
/* The diagonal operator: y = d * x, its own adjoint. */
#include "op.h"
#include "size.h"
#include "vec.h"

struct diag {
	iso_real *d; /* on the device */
};

static int diag_apply(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct diag *p = op->data;

	(void)sub; /* one subset only */
	return op->ctx->vec->mul(op->ctx, op->n_in, y, x, p->d);
}

static void diag_free(iso_op *op)
{
	struct diag *p = op->data;

	op->ctx->vec->free(op->ctx, p->d);
	free(p);
}

static const struct iso_op_fn diag_fn = {
	.forward = diag_apply,
	.adjoint = diag_apply,
	.free = diag_free,
};

int iso_diag_create(iso_op **op, iso_ctx *ctx, int64_t n, const iso_real *d)
{
	if (!op || !ctx || !d) return iso_fail_null(__func__);
	if (n < 1) return iso_fail(ISO_EARG, "diagonal: n is %" PRId64 ", must be at least 1", n);
	struct diag *p = size_alloc(1, sizeof *p);
	int st;

	if (!p) return iso_fail_memory("diagonal", sizeof *p);
	if ((st = iso_vec_alloc(ctx, &p->d, n))) {
		free(p);
		return st;
	}
	if ((st = ctx->vec->upload(ctx, p->d, d, n * (int64_t)sizeof *d))) {
		ctx->vec->free(ctx, p->d);
		free(p);
		return st;
	}
	return iso_op_create(op, ctx, &diag_fn, n, n, 1, p);
}
