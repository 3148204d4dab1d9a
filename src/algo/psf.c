/* SPDX-License-Identifier: BSD-3-Clause */
/* Image-space point spread function: y = P x with a separable Gaussian. Its matrix along each axis
   is a band of equal weights w[|i - j|], cut off at the border of the image: symmetric, so P is
   its own adjoint. Columns near the border sum to less than 1: what is blurred out of the image is
   lost. An axis of one voxel is left alone. */
#include "image_filter.h"

#include "core/op.h"
#include "core/size.h"

struct psf {
	struct iso_filter filter;
	struct iso_grid grid;
};

static int psf_apply(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct psf *p = op->data;

	(void)sub; /* one subset only */
	return iso_filter_bordered(y, op->ctx, &p->filter, &p->grid, FILTER_ZERO, x);
}

static const struct iso_op_fn psf_fn = {
	.forward = psf_apply,
	.adjoint = psf_apply,
};

int iso_psf_create(iso_op **op, iso_ctx *ctx, const struct iso_grid *g, const double fwhm[3])
{
	if (!op || !ctx || !g || !fwhm) return iso_fail_null(__func__);
	struct psf psf = { .filter = { ISO_GAUSSIAN, { fwhm[0], fwhm[1], fwhm[2] }, 0 }, .grid = *g };
	int st = iso_grid_check(g);

	if (!st) st = iso_filter_check(&psf.filter);
	if (st) return st;
	struct psf *p = size_alloc(1, sizeof *p);

	if (!p) return iso_fail_memory("psf", sizeof *p);
	*p = psf;
	return iso_op_create(op, ctx, &psf_fn, iso_grid_voxels(g), iso_grid_voxels(g), 1, p);
}

void iso_psf_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_grid *g)
{
	const struct iso_filter f = { .kind = ISO_GAUSSIAN };

	iso_plan_add(plan, "images before and behind the PSF", iso_grid_voxels(g), 3 * sizeof(iso_real),
	             iso_ctx_is_cuda(ctx));
	iso_filter_plan(plan, ctx, &f, g);
}
