/* SPDX-License-Identifier: BSD-3-Clause */
/* The quadratic smoothness penalty as an operator: y = Lap x, its own adjoint. */
#include "penalty_kern.h"

#include "core/op.h"
#include "core/size.h"

static int apply(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct penalty_grid *g = op->data;

	(void)sub; /* one subset only */
#pragma omp parallel for collapse(2) num_threads(op->ctx->threads)
	for (int64_t iz = 0; iz < g->n[2]; iz++)
		for (int64_t iy = 0; iy < g->n[1]; iy++)
			for (int64_t ix = 0; ix < g->n[0]; ix++)
				y[(iz * g->n[1] + iy) * g->n[0] + ix] = penalty_at(g, x, ix, iy, iz);
	return ISO_OK;
}

static const struct iso_op_fn penalty_fn = {
	.forward = apply,
	.adjoint = apply,
	.to_cuda = "iso_smoothness_to_cuda",
};

int iso_smoothness_create(iso_op **op, iso_ctx *ctx, const struct iso_grid *g)
{
	if (!op || !ctx || !g) return iso_fail_null(__func__);
	int st = iso_grid_check(g);

	if (st) return st;
	struct penalty_grid *p = size_alloc(1, sizeof *p);

	if (!p) return iso_fail_memory("penalty", sizeof *p);
	for (int a = 0; a < 3; a++) p->n[a] = g->n[a];
	return iso_op_create(op, ctx, &penalty_fn, iso_grid_voxels(g), iso_grid_voxels(g), 1, p);
}
