/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of penalties, and those that are quadratic as operators, y = L x, their own adjoints. */
#include "penalty_kern.h"

#include "core/op.h"
#include "core/size.h"

/* `proximal`: it has no operator, but a proximal map in iso_fista. */
static const struct {
	struct iso_penalty is;
	enum penalty_kind kind;
} table[] = {
	{ { "quadratic", "the sum of squared differences between neighbours", false }, PENALTY_SMOOTHNESS },
	{ { "tikhonov", "the sum of squares", false }, PENALTY_SIZE },
	{ { "tv", "the sum of the gradient's size", true }, 0 },
};

enum { N_PENALTIES = sizeof table / sizeof *table };

const struct iso_penalty *iso_penalty(int i)
{
	return i >= 0 && i < N_PENALTIES ? &table[i].is : NULL;
}

static int apply(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct penalty *p = op->data;

	(void)sub; /* one subset only */
#pragma omp parallel for collapse(2) num_threads(op->ctx->threads)
	for (int64_t iz = 0; iz < p->n[2]; iz++)
		for (int64_t iy = 0; iy < p->n[1]; iy++)
			for (int64_t ix = 0; ix < p->n[0]; ix++)
				y[(iz * p->n[1] + iy) * p->n[0] + ix] = penalty_at(p, x, ix, iy, iz);
	return ISO_OK;
}

static const struct iso_op_fn penalty_fn = { .forward = apply,
	                                     .adjoint = apply,
	                                     .to_cuda = "iso_penalty_to_cuda" };

static int make_penalty(iso_op **op, iso_ctx *ctx, const char *name, const struct iso_grid *g)
{
	int i = 0, st = iso_grid_check(g);

	if (st) return st;
	while (i < N_PENALTIES && (table[i].is.proximal || strcmp(table[i].is.name, name))) i++;
	if (i == N_PENALTIES) return iso_fail(ISO_EARG, "penalty: '%.60s' is none that is quadratic", name);
	struct penalty *p = size_alloc(1, sizeof *p);

	if (!p) return iso_fail_memory("penalty", sizeof *p);
	*p = (struct penalty){ table[i].kind, { g->n[0], g->n[1], g->n[2] } };
	return iso_op_create(op, ctx, &penalty_fn, iso_grid_voxels(g), iso_grid_voxels(g), 1, p);
}

int iso_penalty_create(iso_op **op, iso_ctx *ctx, const char *name, const struct iso_grid *g)
{
	if (!op || !ctx || !name || !g) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_penalty(&made, ctx, name, g);

	return iso_op_agree(op, made, ctx, st);
}

int iso_smoothness_create(iso_op **op, iso_ctx *ctx, const struct iso_grid *g)
{
	return iso_penalty_create(op, ctx, "quadratic", g);
}
