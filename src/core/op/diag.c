/* SPDX-License-Identifier: BSD-3-Clause */
/* The diagonal operator: y = d * x, its own adjoint. */
#include "core/op.h"

static int diag_apply(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	(void)sub; /* one subset only */
	return op->ctx->vec->mul(op->ctx, op->n_in, y, x, op->data);
}

static const struct iso_op_fn diag_fn = {
	.forward = diag_apply,
	.adjoint = diag_apply,
};

int iso_diag_create(iso_op **op, iso_ctx *ctx, int64_t n, const iso_real *d)
{
	if (!op || !ctx || !d) return iso_fail_null(__func__);
	if (n < 1) return iso_fail(ISO_EARG, "diagonal: n is %" PRId64 ", must be at least 1", n);
	struct iso_room room = { .ctx = ctx, .what = "diagonal" };
	iso_real *on_device;

	ISO_UPLOAD(&room, on_device, d, n);
	return iso_op_create_in(op, ctx, &diag_fn, n, n, 1, &room, on_device);
}
