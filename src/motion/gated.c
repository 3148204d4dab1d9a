/* SPDX-License-Identifier: BSD-3-Clause */
/* One image of all gates, y_g = A_g P W_g x: a stack of the model behind the warps, whose subsets are dealt to the gates. */
#include "warp.h"
#include "core/comm.h"
#include "core/sized.h"

static int check(const iso_op *model, const struct iso_gated *p)
{
	int64_t n = model->n_in;

	if (p->gates < 1 || !p->warp)
		return iso_fail(ISO_EARG, "gates: %d gates, must be at least 1, with a warp each", p->gates);
	if (model->n_sub % p->gates)
		return iso_fail(ISO_EARG, "gates: the model has %d subsets, must be a multiple of %d gates",
		                model->n_sub, p->gates);
	for (int g = 0; g < p->gates; g++)
		if (iso_grid_voxels(&p->warp[g].grid) != n)
			return iso_fail(ISO_EARG,
			                "gates: the warp of gate %d has %" PRId64
			                " voxels, the model's image %" PRId64,
			                g, iso_grid_voxels(&p->warp[g].grid), n);
	if (p->psf && (p->psf->n_in != n || p->psf->n_out != n || p->psf->ctx != model->ctx))
		return iso_fail(ISO_EARG, "gates: the point spread function is of another image or context");
	return ISO_OK;
}

/* A P, whose own handle is called by nobody: clones of it have work space. */
static int blurred(iso_op **op, iso_op *model, iso_op *psf)
{
	int st = ISO_OK;

	if (!psf)
		*op = iso_op_keep(model);
	else if (!(st = iso_chain_create(op, model, psf)))
		iso_op_rest(*op);
	return st;
}

int iso_gated_create(iso_op **op, iso_op *model, const struct iso_gated *theirs)
{
	if (!op || !model || !theirs) return iso_fail_null(__func__);
	struct iso_gated p;
	iso_op *warps = NULL, *outer = NULL;
	int st = iso_sized_take(&p, "iso_gated", sizeof p, theirs);

	if (!st) st = check(model, &p);
	if (!(st = iso_comm_agree(model->ctx, st)) &&
	    !(st = iso_warps_create(&warps, model->ctx, p.gates, p.warp)) &&
	    !(st = blurred(&outer, model, p.psf))) {
		iso_op_rest(warps);
		st = iso_stack_create(op, outer, warps, true);
	}
	iso_op_free(warps);
	iso_op_free(outer);
	return st;
}

void iso_gated_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_gated *theirs)
{
	struct iso_gated p;

	if (!plan || !ctx || !theirs || iso_sized_take(&p, "iso_gated", sizeof p, theirs) || p.gates < 1 ||
	    !p.warp)
		return;
	iso_warps_plan(plan, ctx, p.gates, p.warp);
	iso_stack_plan(plan, ctx, iso_grid_voxels(&p.warp[0].grid));
}
